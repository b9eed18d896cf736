// SPDX-License-Identifier: Apache-2.0
// Mistakes that stand in published examples of cluster kernels.
// run: leaves_early --grid 4 --block 256 --cluster 4 --arg u32[1024]=zeros
// finds: [peer-exited]
// run: stencil_edges --grid 8 --block 256 --cluster 4 --arg f32[2048]=iota --arg f32[2048]=zeros
// finds: [uninitialized]
// run: many_writers --grid 4 --block 256 --cluster 4 --arg f32[1024]=iota --arg f32[1]=zeros
// finds: [race-block]
// run: unpublished --grid 4 --block 64 --cluster 4 --arg u32[4]=zeros
// finds: [relaxed-arrive]
// run: unfenced --block 32 --arg u32[32]=zeros
// finds: [proxy-fence]
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// A halo exchange whose blocks do not wait for their readers before they exit.
extern "C" __global__ void leaves_early(unsigned *out) {
    __shared__ unsigned slot[256];
    cg::cluster_group cluster = cg::this_cluster();
    slot[threadIdx.x] = cluster.block_rank() * 1000 + threadIdx.x;
    cluster.sync();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    out[blockIdx.x * blockDim.x + threadIdx.x] = cluster.map_shared_rank(slot, next)[threadIdx.x];
}

// A stencil whose first and last block of a cluster have no halo from beyond it.
extern "C" __global__ void stencil_edges(const float *in, float *out) {
    __shared__ float tile[258];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), i = blockIdx.x * 256 + threadIdx.x, at = threadIdx.x + 1;
    tile[at] = in[i];
    cluster.sync();
    if (threadIdx.x == 0 && rank > 0) tile[0] = cluster.map_shared_rank(tile, rank - 1)[256];
    if (threadIdx.x == 255 && rank + 1 < cluster.num_blocks()) tile[257] = cluster.map_shared_rank(tile, rank + 1)[1];
    cluster.sync();
    out[i] = 0.25f * tile[at - 1] + 0.5f * tile[at] + 0.25f * tile[at + 1];
}

// One thread is elected in each warp, not in the block, so eight write the result.
extern "C" __global__ void many_writers(const float *in, float *out) {
    __shared__ float sum, all;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    if (threadIdx.x % 32 == 0) {
        all = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) all += *cluster.map_shared_rank(&sum, rank);
    }
    cluster.sync();
    if (cluster.thread_rank() == 0) *out = all;
}

// A relaxed arrival taken for one that publishes.
extern "C" __global__ void unpublished(unsigned *out) {
    __shared__ unsigned value;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    cluster.sync();
    if (threadIdx.x == 0) *cluster.map_shared_rank(&value, next) = rank;
    ptx::barrier_cluster_arrive(ptx::sem_relaxed);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
    if (threadIdx.x == 0) out[rank] = value;
}

// A bulk copy of what ordinary stores wrote, with no proxy fence between.
extern "C" __global__ void unfenced(unsigned *out) {
    __shared__ alignas(16) unsigned part[32];
    part[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, part, sizeof part);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
