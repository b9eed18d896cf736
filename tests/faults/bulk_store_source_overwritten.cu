// SPDX-License-Identifier: Apache-2.0
// The buffer of a bulk store is filled again before the store has read it: cp.async.bulk.wait_group.read is missing. On a
// GPU the first part of the result has values of the second, sometimes.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

extern "C" __global__ void __launch_bounds__(32) kernel(uint4 *out) {
    __shared__ uint4 tile;
    if (threadIdx.x != 0) return;
    for (unsigned i = 0; i < 4; i++) {
        tile = make_uint4(i, i, i, i);  // !found
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i, &tile, sizeof tile);  // !found
        ptx::cp_async_bulk_commit_group();
#ifdef FIXED
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
    }
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
