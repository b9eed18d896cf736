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
    // cp_async_bulk_tensor.h
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[1],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, void*, const void*, const int32_t (&)[1],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[2],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, void*, const void*, const int32_t (&)[2],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[3],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, void*, const void*, const int32_t (&)[3],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[4],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, void*, const void*, const int32_t (&)[4],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_shared_t, space_global_t, void*, const void*, const int32_t (&)[5],
         uint64_t*)>(ptx::cp_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_async_bulk_tensor);
    // cp_async_bulk_tensor_multicast.h
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[1], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[2], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[3], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[4], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    form<void(space_cluster_t, space_global_t, void*, const void*, const int32_t (&)[5], uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk_tensor);
    // cp_reduce_async_bulk_tensor.h
    form<void(space_global_t, space_shared_t, op_add_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_min_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_max_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_inc_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_dec_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_and_op_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_or_op_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_xor_op_t, const void*, const int32_t (&)[1],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_add_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_min_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_max_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_inc_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_dec_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_and_op_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_or_op_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_xor_op_t, const void*, const int32_t (&)[2],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_add_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_min_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_max_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_inc_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_dec_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_and_op_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_or_op_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_xor_op_t, const void*, const int32_t (&)[3],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_add_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_min_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_max_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_inc_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_dec_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_and_op_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_or_op_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_xor_op_t, const void*, const int32_t (&)[4],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_add_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_min_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_max_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_inc_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_dec_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_and_op_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_or_op_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    form<void(space_global_t, space_shared_t, op_xor_op_t, const void*, const int32_t (&)[5],
         const void*)>(ptx::cp_reduce_async_bulk_tensor);
    // tensormap_cp_fenceproxy.h
    form<void(sem_release_t, scope_cta_t, void*, const void*, n32_t<128>)>(ptx::tensormap_cp_fenceproxy);
    form<void(sem_release_t, scope_cluster_t, void*, const void*, n32_t<128>)>(ptx::tensormap_cp_fenceproxy);
    form<void(sem_release_t, scope_gpu_t, void*, const void*, n32_t<128>)>(ptx::tensormap_cp_fenceproxy);
    form<void(sem_release_t, scope_sys_t, void*, const void*, n32_t<128>)>(ptx::tensormap_cp_fenceproxy);
    // tensormap_replace.h
    form<void(space_global_t, void*, uint64_t)>(ptx::tensormap_replace_global_address);
    form<void(space_shared_t, void*, uint64_t)>(ptx::tensormap_replace_global_address);
    form<void(space_global_t, void*, uint32_t)>(ptx::tensormap_replace_rank);
    form<void(space_shared_t, void*, uint32_t)>(ptx::tensormap_replace_rank);
    form<void(space_global_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_box_dim);
    form<void(space_shared_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_box_dim);
    form<void(space_global_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_global_dim);
    form<void(space_shared_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_global_dim);
    form<void(space_global_t, void*, n32_t<1>, uint64_t)>(ptx::tensormap_replace_global_stride);
    form<void(space_shared_t, void*, n32_t<1>, uint64_t)>(ptx::tensormap_replace_global_stride);
    form<void(space_global_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_element_stride);
    form<void(space_shared_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_element_stride);
    form<void(space_global_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_element_size);
    form<void(space_shared_t, void*, n32_t<1>, uint32_t)>(ptx::tensormap_replace_element_size);
    form<void(space_global_t, void*, n32_t<1>)>(ptx::tensormap_replace_elemtype);
    form<void(space_shared_t, void*, n32_t<1>)>(ptx::tensormap_replace_elemtype);
    form<void(space_global_t, void*, n32_t<1>)>(ptx::tensormap_replace_interleave_layout);
    form<void(space_shared_t, void*, n32_t<1>)>(ptx::tensormap_replace_interleave_layout);
    form<void(space_global_t, void*, n32_t<1>)>(ptx::tensormap_replace_swizzle_mode);
    form<void(space_shared_t, void*, n32_t<1>)>(ptx::tensormap_replace_swizzle_mode);
    form<void(space_global_t, void*, n32_t<1>)>(ptx::tensormap_replace_fill_mode);
    form<void(space_shared_t, void*, n32_t<1>)>(ptx::tensormap_replace_fill_mode);
}
