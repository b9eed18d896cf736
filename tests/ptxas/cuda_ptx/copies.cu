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
    // cp_async_bulk.h
    form<void(space_cluster_t, space_global_t, void*, const void*, const uint32_t&, uint64_t*)>(ptx::cp_async_bulk);
    form<void(space_shared_t, space_global_t, void*, const void*, const uint32_t&, uint64_t*)>(ptx::cp_async_bulk);
    form<void(space_cluster_t, space_shared_t, void*, const void*, const uint32_t&, uint64_t*)>(ptx::cp_async_bulk);
    form<void(space_global_t, space_shared_t, void*, const void*, const uint32_t&)>(ptx::cp_async_bulk);
    // cp_async_bulk_commit_group.h
    form<void()>(ptx::cp_async_bulk_commit_group);
    // cp_async_bulk_multicast.h
    form<void(space_cluster_t, space_global_t, void*, const void*, const uint32_t&, uint64_t*,
         const uint16_t&)>(ptx::cp_async_bulk);
    // cp_async_bulk_wait_group.h
    form<void(n32_t<1>)>(ptx::cp_async_bulk_wait_group);
    form<void(n32_t<1>)>(ptx::cp_async_bulk_wait_group_read);
    // cp_reduce_async_bulk.h
    form<void(space_cluster_t, space_shared_t, op_and_op_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_or_op_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_xor_op_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_min_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_max_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_add_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_inc_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_dec_t, uint32_t*, const uint32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_min_t, int32_t*, const int32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_max_t, int32_t*, const int32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_add_t, int32_t*, const int32_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_add_t, uint64_t*, const uint64_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_cluster_t, space_shared_t, op_add_t, int64_t*, const int64_t*, uint32_t,
         uint64_t*)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_and_op_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_and_op_t, uint64_t*, const uint64_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_or_op_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_or_op_t, uint64_t*, const uint64_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_xor_op_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_xor_op_t, uint64_t*, const uint64_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_min_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_max_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_inc_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_dec_t, uint32_t*, const uint32_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_min_t, int32_t*, const int32_t*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_max_t, int32_t*, const int32_t*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, int32_t*, const int32_t*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_min_t, uint64_t*, const uint64_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_max_t, uint64_t*, const uint64_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, uint64_t*, const uint64_t*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_min_t, int64_t*, const int64_t*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_max_t, int64_t*, const int64_t*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, float*, const float*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, double*, const double*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, int64_t*, const int64_t*, uint32_t)>(ptx::cp_reduce_async_bulk);
    // cp_reduce_async_bulk_bf16.h
    form<void(space_global_t, space_shared_t, op_min_t, __nv_bfloat16*, const __nv_bfloat16*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_max_t, __nv_bfloat16*, const __nv_bfloat16*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, __nv_bfloat16*, const __nv_bfloat16*,
         uint32_t)>(ptx::cp_reduce_async_bulk);
    // cp_reduce_async_bulk_f16.h
    form<void(space_global_t, space_shared_t, op_min_t, __half*, const __half*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_max_t, __half*, const __half*, uint32_t)>(ptx::cp_reduce_async_bulk);
    form<void(space_global_t, space_shared_t, op_add_t, __half*, const __half*, uint32_t)>(ptx::cp_reduce_async_bulk);
}
