// SPDX-License-Identifier: Apache-2.0
// Adds the peer's values to ours, in the other order.
extern "C" __global__ void add_peer(int *x, const int *peer, int n) {
    extern __shared__ int values[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = peer[i];
#ifndef FAULT
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += values[n - 1 - i];  // found here
}
