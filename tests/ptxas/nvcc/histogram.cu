// SPDX-License-Identifier: Apache-2.0
// A histogram whose bins are spread over the shared memory of a cluster (CUDA C++ Programming Guide, "Distributed Shared
// Memory").
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
