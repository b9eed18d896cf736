// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in tcgen05_mma.h, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // tcgen05_mma.h
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[4], bool,
         n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[4], bool,
         n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_f8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_i8_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, bool, n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, bool, n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_f8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_i8_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[4], bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[4], bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f8f6f4_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_i8_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[4],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f16_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f8f6f4_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_i8_t, cta_group_1_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_fill);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_fill);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_fill);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_fill);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_use);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_use);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_use);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_use);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_lastuse);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_lastuse);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_lastuse);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_lastuse);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_discard);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_discard);
    form<void(kind_mxf8f6f4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_discard);
    form<void(kind_mxf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_1_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_discard);
}
