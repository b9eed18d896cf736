// SPDX-License-Identifier: Apache-2.0
// Every thread of a full block writes its number, and warp 0 adds up what the others wrote.
extern "C" __global__ void block_size(int *result) {
    extern __shared__ int seen[];
    seen[threadIdx.x] = 1;
#ifndef FAULT
    __syncthreads();
#endif
    int sum = 0;
    if (threadIdx.x < 32)
        for (unsigned i = threadIdx.x; i < blockDim.x; i += 32) sum += seen[i];  // found here
    if (threadIdx.x < 32) atomicAdd(result, sum);
}
