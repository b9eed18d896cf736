// SPDX-License-Identifier: Apache-2.0
// Collectives of a cluster: broadcast, allgather, all-to-all, inclusive scan; a block may be two-dimensional.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ __forceinline__ unsigned me(cg::cluster_group &c) { return c.block_rank(); }

extern "C" __global__ void __cluster_dims__(2, 2, 1) broadcast(int4 *out, int root) {
    __shared__ int4 value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = make_int4(me(cluster), cluster.block_index().x, cluster.dim_blocks().y, clock());
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
