// SPDX-License-Identifier: Apache-2.0
// Pair exchange: a cluster of two, out = mine + neighbour's; the cluster's shape comes with the launch.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <typename T> __global__ void pair(const T *in, T *out) {
    __shared__ T mine[256];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned          i = blockIdx.x * 256 + threadIdx.x;
    mine[threadIdx.x] = in[i];
    cluster.sync();
    T sum = mine[threadIdx.x] + cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
    out[i] = sum;
}
template __global__ void pair<float>(const float *, float *);
template __global__ void pair<double>(const double *, double *);
template __global__ void pair<unsigned long long>(const unsigned long long *, unsigned long long *);
