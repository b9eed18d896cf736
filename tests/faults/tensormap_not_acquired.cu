// SPDX-License-Identifier: Apache-2.0
// A kernel changes a tensor map in global memory and copies with it, without fence.proxy.tensormap::generic.acquire. On a
// GPU the copy may use the map as it was before the change.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(64) tensor_map {
    unsigned words[32];
};

extern "C" __global__ void __launch_bounds__(32)
    kernel(unsigned *out, const __grid_constant__ tensor_map given, tensor_map *map, const unsigned *in) {
    __shared__ alignas(128) unsigned tile[32];
    __shared__ uint64_t full;
    map->words[threadIdx.x] = given.words[threadIdx.x];  // !found
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::tensormap_replace_global_address(ptx::space_global, map, in);  // !found
        ptx::fence_proxy_tensormap_generic(ptx::sem_release, ptx::scope_gpu);
#ifdef FIXED
        ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, map, ptx::n32_t<128>());
#endif
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        const int32_t at[] = {0};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, map, at, &full);  // !found
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
    out[threadIdx.x] = tile[threadIdx.x];
}
