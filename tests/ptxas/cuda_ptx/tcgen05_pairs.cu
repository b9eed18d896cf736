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
    form<void(cta_group_2_t, uint32_t*, const uint32_t&)>(ptx::tcgen05_alloc);
    form<void(cta_group_2_t, uint32_t, const uint32_t&)>(ptx::tcgen05_dealloc);
    form<void(cta_group_2_t)>(ptx::tcgen05_relinquish_alloc_permit);
    // tcgen05_commit.h
    form<void(cta_group_2_t, uint64_t*)>(ptx::tcgen05_commit);
    form<void(cta_group_2_t, uint64_t*, uint16_t)>(ptx::tcgen05_commit_multicast);
    // tcgen05_cp.h
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x256b);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_4x256b);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x128b);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_02_13);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_01_23);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_32x128b_warpx4);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x256b_b8x16_b6x16_p32);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_4x256b_b8x16_b6x16_p32);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x128b_b8x16_b6x16_p32);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_02_13_b8x16_b6x16_p32);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_01_23_b8x16_b6x16_p32);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_32x128b_warpx4_b8x16_b6x16_p32);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x256b_b8x16_b4x16_p64);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_4x256b_b8x16_b4x16_p64);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_128x128b_b8x16_b4x16_p64);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_02_13_b8x16_b4x16_p64);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_64x128b_warpx2_01_23_b8x16_b4x16_p64);
    form<void(cta_group_2_t, uint32_t, uint64_t)>(ptx::tcgen05_cp_32x128b_warpx4_b8x16_b4x16_p64);
    // tcgen05_mma.h
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[8], bool,
         n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[8], bool,
         n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_f8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_i8_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, bool, n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, bool, n32_t<1>)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_f8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_i8_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[8], bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[8], bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f8f6f4_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_i8_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t (&)[8],
         bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, bool,
         n32_t<1>)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f16_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_tf32_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_f8f6f4_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_i8_t, cta_group_2_t, uint32_t, uint32_t, uint64_t, uint32_t, bool)>(ptx::tcgen05_mma_tmem_a);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_fill);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_fill);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_fill);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_fill);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_fill);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_use);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_use);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_use);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_use);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_use);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_lastuse);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_lastuse);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_lastuse);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_lastuse);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_lastuse);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_collector_a_discard);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2x_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_collector_a_discard);
    form<void(kind_mxf8f6f4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_1x_tmem_a_collector_a_discard);
    form<void(kind_mxf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_2_tmem_a_collector_a_discard);
    form<void(kind_mxf4nvf4_t, cta_group_2_t, uint32_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t,
         bool)>(ptx::tcgen05_mma_block_scale_vec_4x_tmem_a_collector_a_discard);
    // tcgen05_shift.h
    form<void(cta_group_2_t, uint32_t)>(ptx::tcgen05_shift_down);
}
