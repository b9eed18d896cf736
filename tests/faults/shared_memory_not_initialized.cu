// SPDX-License-Identifier: Apache-2.0
// Shared memory is added to before anybody has written it. On a GPU it holds what an earlier block left there.
extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
#ifdef FIXED
    tile[threadIdx.x] = 0;
#endif
    tile[threadIdx.x] += threadIdx.x;
    out[threadIdx.x] = tile[threadIdx.x];  // !found
}
