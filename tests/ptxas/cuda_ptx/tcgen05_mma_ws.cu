// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in tcgen05_mma_ws.h, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // tcgen05_mma_ws.h
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b0_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b0_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b1_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b1_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b2_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b2_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_fill);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_use);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_lastuse);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint64_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_collector_b3_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         uint64_t)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_f16_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_tf32_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_f8f6f4_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
    form<void(cta_group_1_t, kind_i8_t, uint32_t, uint32_t, uint64_t, uint32_t,
         bool)>(ptx::tcgen05_mma_ws_tmem_a_collector_b3_discard);
}
