// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in the headers named below, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // clusterlaunchcontrol.h
    form<void(void*, uint64_t*)>(ptx::clusterlaunchcontrol_try_cancel);
    form<void(void*, uint64_t*)>(ptx::clusterlaunchcontrol_try_cancel_multicast);
    form<bool(longlong2)>(ptx::clusterlaunchcontrol_query_cancel_is_canceled);
    form<uint32_t(longlong2)>(ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x);
    form<uint32_t(longlong2)>(ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_y);
    form<uint32_t(longlong2)>(ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_z);
    form<void(uint32_t (&)[4], longlong2)>(ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid);
    // cp_async_bulk.h
    form<void(space_global_t, space_shared_t, void*, const void*, const uint32_t&,
         const uint16_t&)>(ptx::cp_async_bulk_cp_mask);
    // cp_async_bulk_tensor.h
    form<void(space_shared_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[1],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[1],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[2],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[2],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[3],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[3],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[4],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[4],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    // cp_async_bulk_tensor_gather_scatter.h
    form<void(space_shared_t, space_global_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor_tile_gather4);
    form<void(space_shared_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor_tile_gather4);
    form<void(space_shared_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor_tile_gather4);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[5], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor_tile_gather4);
    form<void(space_cluster_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[5], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor_tile_gather4);
    form<void(space_cluster_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[5], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor_tile_gather4);
    form<void(space_global_t, space_shared_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_async_bulk_tensor_tile_scatter4);
    // cp_async_bulk_tensor_multicast.h
    form<void(space_cluster_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[1], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[1], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[2], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[2], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[3], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[3], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[4], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[4], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_1_t, void*, const void*, const int32_t (&)[5], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, cta_group_2_t, void*, const void*, const int32_t (&)[5], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    // st_bulk.h
    form<void(void*, uint64_t, n32_t<0>)>(ptx::st_bulk);
    // tensormap_replace.h
    form<void(space_global_t, void*, n32_t<1>)>(ptx::tensormap_replace_swizzle_atomicity);
    form<void(space_shared_t, void*, n32_t<1>)>(ptx::tensormap_replace_swizzle_atomicity);
}
