// SPDX-License-Identifier: Apache-2.0
// Each block leaves a value in global memory and counts up; the last reads all values, but __threadfence is missing before
// the count and after it. On a GPU the last block may read old values.
extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {  // count; a value a block; [32]: their sum
    if (threadIdx.x != 0) return;
    out[1 + blockIdx.x] = blockIdx.x;  // !found
#ifdef FIXED
    __threadfence();
#endif
    if (atomicAdd(out, 1) != gridDim.x - 1) return;
#ifdef FIXED
    __threadfence();
#endif
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += out[1 + i];  // !found
    out[32] = sum;
}
