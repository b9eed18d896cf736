// SPDX-License-Identifier: Apache-2.0
// Everything that cooperative_groups::cluster_group has, and the relaxed and split forms of its barrier.
// run: whole --grid 2,2 --block 4,2 --cluster 2,2 --arg u32[56]=zeros --print 0
// prints: 0 0 0 3 1 7 2 2 4 8 4 32 1 101 1 0 1 7 1 15 2 2 4 8 4 32 2 102 0 1 2 3 3 23 2 2 4 8 4 32 3 103 1 1 3 7 3 31 2 2 4 8 4 32 0 100
// run: split --grid 4 --block 64 --cluster 4 --arg u32[4]=zeros --print 0
// prints: 3 0 1 2
// run: masks --grid 16 --block 32 --cluster 16 --arg u32[16]=zeros --print 0
// prints: 1 3 7 15 31 63 127 255 511 1023 2047 4095 8191 16383 32767 65535
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <utility>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// The last thread of each block writes what its group says.
extern "C" __global__ void whole(unsigned *out) {
    __shared__ unsigned value;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    bool     is_last = cg::this_thread_block().thread_rank() + 1 == cg::this_thread_block().size();
    if (is_last) value = 100 + rank;
    auto token = cluster.barrier_arrive();
    unsigned *far = cluster.map_shared_rank(&value, next);
    cluster.barrier_wait(std::move(token));
    const unsigned said[14] = {
        cluster.block_index().x,  cluster.block_index().y,  rank,
        cluster.thread_index().x, cluster.thread_index().y, cluster.thread_rank(),
        cluster.dim_blocks().x,   cluster.dim_blocks().y,   cluster.num_blocks(),
        cluster.dim_threads().x,  cluster.dim_threads().y,  cluster.num_threads(),
        cluster.query_shared_rank(far), *far,
    };
    for (unsigned i = 0; is_last && i < 14; i++) out[14 * rank + i] = said[i];
    cluster.sync();
}

// An elected lane of each warp; the first of them writes.
__device__ bool elected() {
    unsigned is_elected;
    asm volatile("{ .reg .pred %%p; elect.sync _|%%p, 0xffffffff; selp.u32 %0, 1, 0, %%p; }" : "=r"(is_elected));
    return is_elected && threadIdx.x < 32;
}

// A relaxed arrival says that a block is there, a second barrier that its value is there.
extern "C" __global__ void split(unsigned *out) {
    __shared__ unsigned value;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    ptx::barrier_cluster_arrive(ptx::sem_relaxed);
    ptx::barrier_cluster_wait();
    if (elected()) *cluster.map_shared_rank(&value, next) = rank;
    ptx::barrier_cluster_arrive(ptx::sem_release);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
    if (elected()) out[rank] = value;
}

// Rank r sets its bit in the masks of the ranks from r on.
extern "C" __global__ void masks(unsigned *out) {
    __shared__ unsigned mask;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) mask = 0;
    cluster.sync();
    unsigned to = threadIdx.x;
    if (to >= cluster.block_rank() && to < cluster.num_blocks()) {
        atomicOr(cluster.map_shared_rank(&mask, to), 1u << cluster.block_rank());
    }
    cluster.sync();
    if (threadIdx.x == 0) out[cluster.block_rank()] = mask;
}
