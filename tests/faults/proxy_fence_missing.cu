// SPDX-License-Identifier: Apache-2.0
// Threads fill a buffer with ordinary stores, and a bulk store copies it out without fence.proxy.async between. On a GPU
// the copy may read what was there before.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ alignas(16) unsigned tile[32];
    tile[threadIdx.x] = threadIdx.x;  // !found
#ifdef FIXED
    ptx::fence_proxy_async(ptx::space_shared);
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile);  // !found
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
