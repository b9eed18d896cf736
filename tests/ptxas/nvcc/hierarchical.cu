// SPDX-License-Identifier: Apache-2.0
// Warp, block and cluster reduction in half, bfloat16 and float, with warp shuffles and redux.
// run: reduce_half --grid 4 --block 256 --cluster 4 --arg f16[1024]=const:1 --arg f32[1]=zeros --print 1
// prints: 1024.0
// run: reduce_bfloat --grid 2 --block 96 --cluster 2 --arg bf16[192]=mod:3:0.5 --arg f32[1]=zeros --print 1
// prints: 96.0
// run: coordinate --grid 4 --block 256 --cluster 4 --arg f32[1024]=mod:10:0.1 --arg f32[5]=zeros --print 1
// prints: 114.0 231.2 345.6 459.2 1150.0
// run: coordinate --grid 4 --block 256 --cluster 4 --arg f32[1024]=mod:50:0.02 --arg f32[5]=zeros --print 1
// prints: 122.8 247.04 372.72 499.84 1242.4
// run: most --grid 4 --block 256 --arg u32[1024]=iota --arg u32[1]=zeros --print 1
// prints: 1023
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
// The same of values that grow with the rank; rank 0 gets all blocks' sums through its shared memory, and adds them up.
extern "C" __global__ void coordinate(const float *in, float *out) {
    __shared__ float warps[32], blocks[16];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), lane = threadIdx.x % 32;
    float    sum = in[cluster.thread_rank()] * (rank + 1);
    for (unsigned step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0) warps[threadIdx.x / 32] = sum;
    cluster.sync();  // of the block, too; and every block of the cluster is there
    if (threadIdx.x < 32) {
        sum = lane < blockDim.x / 32 ? warps[lane] : 0;
        for (unsigned step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0) cluster.map_shared_rank(blocks, 0)[rank] = sum;
    }
    cluster.sync();
    if (cluster.thread_rank()) return;
    sum = 0;
    for (unsigned of = 0; of < cluster.num_blocks(); of++) sum += out[of] = blocks[of];
    out[cluster.num_blocks()] = sum;
}

extern "C" __global__ void most(const unsigned *in, unsigned *out) {
    atomicMax(out, __reduce_max_sync(0xffffffff, in[blockIdx.x * blockDim.x + threadIdx.x]));
}
