// SPDX-License-Identifier: Apache-2.0
// A histogram whose bins are distributed over the shared memory of a cluster's blocks, as in the CUDA guide: every block counts in its
// peers' bins. The fault: a block counts before its peer has cleared its bins.
#include <cooperative_groups.h>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void count(int *bins, int bin_count, int bins_per_block, const int *input, int n) {
    extern __shared__ int mine[];
    cg::cluster_group     cluster = cg::this_cluster();
    const int             rank = cluster.block_rank(), ranks = cluster.dim_blocks().x;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) mine[i] = 0;  // found here
#ifndef FAULT
    cluster.sync();
#endif
    for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) {
        int bin = input[i];
        bin = bin < 0 ? 0 : bin >= bin_count ? bin_count - 1 : bin;
        int *there = cluster.map_shared_rank(mine, bin / bins_per_block);
        atomicAdd(there + bin % bins_per_block, 1);  // found here
    }
    cluster.sync();
    int *to = bins + rank * bins_per_block;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
        if (rank < ranks) atomicAdd(&to[i], mine[i]);
}

int main() {
    const int        n = 4000, bin_count = 256, cluster = 2, threads = 64, blocks = 8, per_block = bin_count / cluster;
    std::vector<int> input(n), bins(bin_count), want(bin_count);
    for (int i = 0; i < n; i++) want[(input[i] = i * 7919 % 977 % bin_count)]++;
    int *in, *out;
    CHECK(cudaMalloc(&in, n * sizeof *in));
    CHECK(cudaMalloc(&out, bin_count * sizeof *out));
    CHECK(cudaMemcpy(in, input.data(), n * sizeof *in, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out, 0, bin_count * sizeof *out));

    cudaLaunchConfig_t    config = {};
    cudaLaunchAttribute   attribute[1];
    int                   fit;
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = per_block * sizeof(int);
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = cluster;
    attribute[0].val.clusterDim.y = 1;
    attribute[0].val.clusterDim.z = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    CHECK(cudaFuncSetAttribute((const void *)count, cudaFuncAttributeMaxDynamicSharedMemorySize, config.dynamicSmemBytes));
    CHECK(cudaOccupancyMaxActiveClusters(&fit, count, &config));
    REQUIRE(fit > 0);
    CHECK(cudaLaunchKernelEx(&config, count, out, bin_count, per_block, (const int *)in, n));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(bins.data(), out, bin_count * sizeof *out, cudaMemcpyDeviceToHost));
    REQUIRE(bins == want);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    puts("histogram: passed");
    return 0;
}
