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
    // barrier_cluster.h
    form<void()>(ptx::barrier_cluster_arrive);
    form<void()>(ptx::barrier_cluster_wait);
    form<void(sem_release_t)>(ptx::barrier_cluster_arrive);
    form<void(sem_relaxed_t)>(ptx::barrier_cluster_arrive);
    form<void(sem_acquire_t)>(ptx::barrier_cluster_wait);
    // fence.h
    form<void(sem_sc_t, scope_cta_t)>(ptx::fence);
    form<void(sem_sc_t, scope_gpu_t)>(ptx::fence);
    form<void(sem_sc_t, scope_sys_t)>(ptx::fence);
    form<void(sem_sc_t, scope_cluster_t)>(ptx::fence);
    form<void(sem_acq_rel_t, scope_cta_t)>(ptx::fence);
    form<void(sem_acq_rel_t, scope_gpu_t)>(ptx::fence);
    form<void(sem_acq_rel_t, scope_sys_t)>(ptx::fence);
    form<void(sem_acq_rel_t, scope_cluster_t)>(ptx::fence);
    form<void(sem_acquire_t, scope_cta_t)>(ptx::fence);
    form<void(sem_acquire_t, scope_cluster_t)>(ptx::fence);
    form<void(sem_acquire_t, scope_gpu_t)>(ptx::fence);
    form<void(sem_acquire_t, scope_sys_t)>(ptx::fence);
    form<void(sem_release_t, scope_cta_t)>(ptx::fence);
    form<void(sem_release_t, scope_cluster_t)>(ptx::fence);
    form<void(sem_release_t, scope_gpu_t)>(ptx::fence);
    form<void(sem_release_t, scope_sys_t)>(ptx::fence);
    // fence_mbarrier_init.h
    form<void(sem_release_t, scope_cluster_t)>(ptx::fence_mbarrier_init);
    // fence_proxy_alias.h
    form<void()>(ptx::fence_proxy_alias);
    // fence_proxy_async.h
    form<void()>(ptx::fence_proxy_async);
    form<void(space_global_t)>(ptx::fence_proxy_async);
    form<void(space_cluster_t)>(ptx::fence_proxy_async);
    form<void(space_shared_t)>(ptx::fence_proxy_async);
    // fence_proxy_async_generic_sync_restrict.h
    form<void(sem_acquire_t, space_cluster_t, scope_cluster_t)>(ptx::fence_proxy_async_generic_sync_restrict);
    form<void(sem_release_t, space_shared_t, scope_cluster_t)>(ptx::fence_proxy_async_generic_sync_restrict);
    // fence_proxy_tensormap_generic.h
    form<void(sem_release_t, scope_cta_t)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_release_t, scope_cluster_t)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_release_t, scope_gpu_t)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_release_t, scope_sys_t)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_acquire_t, scope_cta_t, const void*, n32_t<128>)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_acquire_t, scope_cluster_t, const void*, n32_t<128>)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_acquire_t, scope_gpu_t, const void*, n32_t<128>)>(ptx::fence_proxy_tensormap_generic);
    form<void(sem_acquire_t, scope_sys_t, const void*, n32_t<128>)>(ptx::fence_proxy_tensormap_generic);
    // fence_sync_restrict.h
    form<void(sem_acquire_t, space_cluster_t, scope_cluster_t)>(ptx::fence_sync_restrict);
    form<void(sem_release_t, space_shared_t, scope_cluster_t)>(ptx::fence_sync_restrict);
    // getctarank.h
    form<uint32_t(space_cluster_t, const void*)>(ptx::getctarank);
    // red_async.h
    form<void(op_inc_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_dec_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_min_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_max_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_add_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_min_t, int32_t*, const int32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_max_t, int32_t*, const int32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_add_t, int32_t*, const int32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_and_op_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_or_op_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_xor_op_t, uint32_t*, const uint32_t&, uint64_t*)>(ptx::red_async);
    form<void(op_add_t, uint64_t*, const uint64_t&, uint64_t*)>(ptx::red_async);
    form<void(op_add_t, int64_t*, const int64_t&, int64_t*)>(ptx::red_async);
    // st_async.h
    form<void(uint32_t*, const uint32_t&, uint64_t*)>(ptx::st_async);
    form<void(uint64_t*, const uint64_t&, uint64_t*)>(ptx::st_async);
    form<void(uint32_t*, const uint32_t (&)[2], uint64_t*)>(ptx::st_async);
    form<void(uint64_t*, const uint64_t (&)[2], uint64_t*)>(ptx::st_async);
    form<void(uint32_t*, const uint32_t (&)[4], uint64_t*)>(ptx::st_async);
}
