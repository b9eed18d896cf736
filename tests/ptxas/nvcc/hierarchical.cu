// SPDX-License-Identifier: Apache-2.0
// Warp, block and cluster reduction in half, bfloat16 and float, with warp shuffles and redux.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

template <typename T> __device__ float widen(T x) { return float(x); }

template <typename T> __device__ void reduce(const T *in, float *out) {
    __shared__ float warps[32], block;
    cg::cluster_group cluster = cg::this_cluster();
    auto              warp = cg::tiled_partition<32>(cg::this_thread_block());
    float sum = cg::reduce(warp, widen(in[blockIdx.x * blockDim.x + threadIdx.x]), cg::plus<float>());
    if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = sum;
    __syncthreads();
    if (warp.meta_group_rank() == 0) {
        float part = warp.thread_rank() < warp.meta_group_size() ? warps[warp.thread_rank()] : 0;
        part = cg::reduce(warp, part, cg::plus<float>());
        if (warp.thread_rank() == 0) block = part;
    }
    cluster.sync();
    if (cluster.thread_rank() == 0) {
        float all = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) all += *cluster.map_shared_rank(&block, rank);
        *out = all;
    }
    cluster.sync();
}

extern "C" __global__ void reduce_half(const __half *in, float *out) { reduce(in, out); }
extern "C" __global__ void reduce_bfloat(const __nv_bfloat16 *in, float *out) { reduce(in, out); }
extern "C" __global__ void most(const unsigned *in, unsigned *out) {
    atomicMax(out, __reduce_max_sync(0xffffffff, in[blockIdx.x * blockDim.x + threadIdx.x]));
}
