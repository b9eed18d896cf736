// SPDX-License-Identifier: Apache-2.0
// Pair exchange: a cluster of two, out = mine + neighbour's; the cluster's shape comes with the launch.
// run: pair_float --grid 2 --block 256 --cluster 2 --arg f32[512]=iota --arg f32[512]=zeros --print 1:3
// prints: 256.0 258.0 260.0
// run: pair_double --grid 8 --block 256 --cluster 2 --arg f64[2048]=mod:10:0.1 --arg f64[2048]=zeros --print 1:4
// prints: 0.6 0.8 1.0 1.2
// run: pair_long --grid 4 --block 256 --cluster 2 --arg u64[1024]=const:4000000000000 --arg u64[1024]=zeros --print 1:2
// prints: 8000000000000 8000000000000
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <typename T> __device__ void pair(const T *in, T *out) {
    __shared__ T mine[256];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned          i = blockIdx.x * 256 + threadIdx.x;
    mine[threadIdx.x] = in[i];
    cluster.sync();
    T sum = mine[threadIdx.x] + cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
    out[i] = sum;
}
extern "C" __global__ void pair_float(const float *in, float *out) { pair(in, out); }
extern "C" __global__ void pair_double(const double *in, double *out) { pair(in, out); }
using u64 = unsigned long long;
extern "C" __global__ void pair_long(const u64 *in, u64 *out) { pair(in, out); }
