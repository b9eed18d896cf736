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
    // cp_async_mbarrier_arrive.h
    form<void(uint64_t*)>(ptx::cp_async_mbarrier_arrive);
    // cp_async_mbarrier_arrive_noinc.h
    form<void(uint64_t*)>(ptx::cp_async_mbarrier_arrive_noinc);
    // mbarrier_arrive.h
    form<uint64_t(uint64_t*)>(ptx::mbarrier_arrive);
    form<uint64_t(uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_release_t, scope_cta_t, space_shared_t, uint64_t*)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_release_t, scope_cluster_t, space_shared_t, uint64_t*)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_release_t, scope_cta_t, space_shared_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_release_t, scope_cluster_t, space_shared_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<void(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t*)>(ptx::mbarrier_arrive);
    form<void(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_relaxed_t, scope_cta_t, space_shared_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_relaxed_t, scope_cluster_t, space_shared_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_relaxed_t, scope_cta_t, space_shared_t, uint64_t*)>(ptx::mbarrier_arrive);
    form<uint64_t(sem_relaxed_t, scope_cluster_t, space_shared_t, uint64_t*)>(ptx::mbarrier_arrive);
    form<void(sem_relaxed_t, scope_cluster_t, space_cluster_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive);
    form<void(sem_relaxed_t, scope_cluster_t, space_cluster_t, uint64_t*)>(ptx::mbarrier_arrive);
    // mbarrier_arrive_expect_tx.h
    form<uint64_t(sem_release_t, scope_cta_t, space_shared_t, uint64_t*,
         const uint32_t&)>(ptx::mbarrier_arrive_expect_tx);
    form<uint64_t(sem_release_t, scope_cluster_t, space_shared_t, uint64_t*,
         const uint32_t&)>(ptx::mbarrier_arrive_expect_tx);
    form<void(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t*,
         const uint32_t&)>(ptx::mbarrier_arrive_expect_tx);
    form<uint64_t(sem_relaxed_t, scope_cta_t, space_shared_t, uint64_t*,
         const uint32_t&)>(ptx::mbarrier_arrive_expect_tx);
    form<uint64_t(sem_relaxed_t, scope_cluster_t, space_shared_t, uint64_t*,
         const uint32_t&)>(ptx::mbarrier_arrive_expect_tx);
    form<void(sem_relaxed_t, scope_cluster_t, space_cluster_t, uint64_t*,
         const uint32_t&)>(ptx::mbarrier_arrive_expect_tx);
    // mbarrier_arrive_no_complete.h
    form<uint64_t(uint64_t*, const uint32_t&)>(ptx::mbarrier_arrive_no_complete);
    // mbarrier_expect_tx.h
    form<void(sem_relaxed_t, scope_cta_t, space_shared_t, uint64_t*, uint32_t)>(ptx::mbarrier_expect_tx);
    form<void(sem_relaxed_t, scope_cluster_t, space_shared_t, uint64_t*, uint32_t)>(ptx::mbarrier_expect_tx);
    form<void(sem_relaxed_t, scope_cta_t, space_cluster_t, uint64_t*, uint32_t)>(ptx::mbarrier_expect_tx);
    form<void(sem_relaxed_t, scope_cluster_t, space_cluster_t, uint64_t*, uint32_t)>(ptx::mbarrier_expect_tx);
    // mbarrier_init.h
    form<void(uint64_t*, const uint32_t&)>(ptx::mbarrier_init);
    // mbarrier_test_wait.h
    form<bool(uint64_t*, const uint64_t&)>(ptx::mbarrier_test_wait);
    form<bool(sem_acquire_t, scope_cta_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_test_wait);
    form<bool(sem_acquire_t, scope_cluster_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_test_wait);
    form<bool(sem_relaxed_t, scope_cta_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_test_wait);
    form<bool(sem_relaxed_t, scope_cluster_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_test_wait);
    // mbarrier_test_wait_parity.h
    form<bool(uint64_t*, const uint32_t&)>(ptx::mbarrier_test_wait_parity);
    form<bool(sem_acquire_t, scope_cta_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_test_wait_parity);
    form<bool(sem_acquire_t, scope_cluster_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_test_wait_parity);
    form<bool(sem_relaxed_t, scope_cta_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_test_wait_parity);
    form<bool(sem_relaxed_t, scope_cluster_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_test_wait_parity);
    // mbarrier_try_wait.h
    form<bool(uint64_t*, const uint64_t&)>(ptx::mbarrier_try_wait);
    form<bool(uint64_t*, const uint64_t&, const uint32_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_acquire_t, scope_cta_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_acquire_t, scope_cluster_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_acquire_t, scope_cta_t, uint64_t*, const uint64_t&, const uint32_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_acquire_t, scope_cluster_t, uint64_t*, const uint64_t&, const uint32_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_relaxed_t, scope_cta_t, uint64_t*, const uint64_t&, const uint32_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_relaxed_t, scope_cluster_t, uint64_t*, const uint64_t&, const uint32_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_relaxed_t, scope_cta_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_try_wait);
    form<bool(sem_relaxed_t, scope_cluster_t, uint64_t*, const uint64_t&)>(ptx::mbarrier_try_wait);
    // mbarrier_try_wait_parity.h
    form<bool(uint64_t*, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(uint64_t*, const uint32_t&, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_acquire_t, scope_cta_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_acquire_t, scope_cluster_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_acquire_t, scope_cta_t, uint64_t*, const uint32_t&, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_acquire_t, scope_cluster_t, uint64_t*, const uint32_t&,
         const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_relaxed_t, scope_cta_t, uint64_t*, const uint32_t&, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_relaxed_t, scope_cluster_t, uint64_t*, const uint32_t&,
         const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_relaxed_t, scope_cta_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
    form<bool(sem_relaxed_t, scope_cluster_t, uint64_t*, const uint32_t&)>(ptx::mbarrier_try_wait_parity);
}
