// SPDX-License-Identifier: Apache-2.0
// Collectives of a cluster: broadcast, allgather, all-to-all, inclusive scan; a block may be two-dimensional.
// run: broadcast --grid 2,2 --block 2 --arg s32[32]=zeros --arg s32=2 --print 0:12
// prints: 2 0 2 4 2 0 2 4 2 0 2 4
// run: all_to_all --grid 4 --block 32 --cluster 4 --arg u8[64]=iota --print 0:24
// prints: 0 16 32 48 4 5 6 7 8 9 10 11 12 13 14 15 1 17 33 49 20 21 22 23
// run: gather --grid 4 --block 2 --cluster 4 --arg u32[32]=zeros --print 0
// prints: 0 1 100 101 200 201 300 301 0 1 100 101 200 201 300 301 0 1 100 101 200 201 300 301 0 1 100 101 200 201 300 301
// run: scan --grid 2 --block 32 --cluster 2 --arg s16[64]=mod:7:1 --print 0:36
// prints: 0 1 3 6 10 15 21 21 22 24 27 31 36 42 42 43 45 48 52 57 63 63 64 66 69 73 78 84 84 85 87 90 94 99 105 105
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ __forceinline__ unsigned me(cg::cluster_group &c) { return c.block_rank(); }

extern "C" __global__ void __cluster_dims__(2, 2, 1) broadcast(int4 *out, int root) {
    __shared__ int4 value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = make_int4(me(cluster), cluster.block_index().x, cluster.dim_blocks().y, 4);
    cluster.sync();
    int4 got = *cluster.map_shared_rank(&value, root);
    out[cluster.thread_rank()] = got;
    cluster.sync();
}

extern "C" __global__ void all_to_all(unsigned char *data) {
    __shared__ unsigned char box[16];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned          rank = me(cluster), size = cluster.num_blocks();
    cluster.sync();
    if (threadIdx.x < size) cluster.map_shared_rank(box, threadIdx.x)[rank] = data[rank * 16 + threadIdx.x];
    cluster.sync();
    if (threadIdx.x < size) data[rank * 16 + threadIdx.x] = box[threadIdx.x];
}

// Each block gets the blocks of all, in their order.
extern "C" __global__ void gather(unsigned *out) {
    __shared__ unsigned all[64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned          at = cluster.thread_rank();
    cluster.sync();
    for (unsigned to = 0; to < cluster.num_blocks(); to++) {
        cluster.map_shared_rank(all, to)[at] = 100 * me(cluster) + threadIdx.x;
    }
    cluster.sync();
    for (unsigned i = threadIdx.x; i < cluster.num_threads(); i += blockDim.x) {
        out[me(cluster) * cluster.num_threads() + i] = all[i];
    }
}

extern "C" __global__ void scan(short *data) {
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned lane = threadIdx.x % 32;
    int      sum = data[cluster.thread_rank()];
    for (unsigned step = 1; step < 32; step *= 2) {
        int below = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step) sum += below;
    }
    if (threadIdx.x == blockDim.x - 1) total = sum;
    cluster.sync();
    for (unsigned rank = 0; rank < me(cluster); rank++) sum += *cluster.map_shared_rank(&total, rank);
    cluster.sync();
    data[cluster.thread_rank()] = static_cast<short>(sum);
}
