// SPDX-License-Identifier: Apache-2.0
// Half of the warp shuffles, and takes values from lanes that do not take part. On a GPU these values are undefined.
extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {
#ifdef FIXED
    constexpr int width = 16;
#else
    constexpr int width = 32;
#endif
    if (threadIdx.x >= 16) return;
    const unsigned other = __shfl_down_sync(0xffff, threadIdx.x, 8, width);
    out[threadIdx.x] = threadIdx.x + other;  // !found
}
