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
    // tcgen05_alloc.h
    form<void(cta_group_1_t, uint32_t*, const uint32_t&)>(ptx::tcgen05_alloc);
    form<void(cta_group_1_t, uint32_t, const uint32_t&)>(ptx::tcgen05_dealloc);
    form<void(cta_group_1_t)>(ptx::tcgen05_relinquish_alloc_permit);
    // tcgen05_commit.h
    form<void(cta_group_1_t, uint64_t*)>(ptx::tcgen05_commit);
    form<void(cta_group_1_t, uint64_t*, uint16_t)>(ptx::tcgen05_commit_multicast);
    // tcgen05_cp.h
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x256b);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_4x256b);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x128b);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_02_13);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_01_23);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_32x128b_warpx4);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x256b_b8x16_b6x16_p32);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_4x256b_b8x16_b6x16_p32);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x128b_b8x16_b6x16_p32);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_02_13_b8x16_b6x16_p32);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_01_23_b8x16_b6x16_p32);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_32x128b_warpx4_b8x16_b6x16_p32);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x256b_b8x16_b4x16_p64);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_4x256b_b8x16_b4x16_p64);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x128b_b8x16_b4x16_p64);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_02_13_b8x16_b4x16_p64);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_01_23_b8x16_b4x16_p64);
    form<void(cta_group_1_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_32x128b_warpx4_b8x16_b4x16_p64);
    // tcgen05_fence.h
    form<void()>(ptx::tcgen05_fence_before_thread_sync);
    form<void()>(ptx::tcgen05_fence_after_thread_sync);
    // tcgen05_shift.h
    form<void(cta_group_1_t, uint32_t)>(ptx::tcgen05_shift_down);
    // tcgen05_wait.h
    form<void()>(ptx::tcgen05_wait_ld);
    form<void()>(ptx::tcgen05_wait_st);
}
