// SPDX-License-Identifier: Apache-2.0
// A histogram whose bins are spread over the shared memory of a cluster (CUDA C++ Programming Guide, "Distributed
// Shared Memory").
// run: histogram --grid 8 --block 128 --cluster 4 --smem 16 --arg s32[16]=zeros --arg s32=16 --arg s32=4 --arg s32[4096]=mod:18:1 --arg u64=4096 --print 0
// prints: 228 228 228 228 228 228 228 228 228 228 227 227 227 227 227 681
// run: histogram --grid 6 --block 96 --cluster 2 --smem 24 --arg s32[12]=zeros --arg s32=12 --arg s32=6 --arg s32[1000]=mod:13:1 --arg u64=1000 --print 0
// prints: 77 77 77 77 77 77 77 77 77 77 77 153
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void histogram(int *bins, int bin_count, int bins_per_block, const int *__restrict__ input,
                                     size_t size) {
    extern __shared__ int part[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) part[i] = 0;
    cluster.sync();
    for (size_t i = cg::this_grid().thread_rank(); i < size; i += blockDim.x * gridDim.x) {
        int bin = input[i] < 0 ? 0 : input[i] >= bin_count ? bin_count - 1 : input[i];
        int *owner = cluster.map_shared_rank(part, bin / bins_per_block);
        atomicAdd(owner + bin % bins_per_block, 1);
    }
    cluster.sync();
    int *mine = bins + cluster.block_rank() * bins_per_block;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(&mine[i], part[i]);
}
