// SPDX-License-Identifier: Apache-2.0
// Distributed shared memory by its instructions: mapa and ld, st, atom and red.shared::cluster, each on the right
// neighbour, after a cluster barrier and with one before the exit.
// run: ring --grid 4 --block 32 --cluster 4 --arg u32[4]=zeros --print 0
// prints: 1001 1002 1003 1000
// run: push --grid 4 --block 32 --cluster 4 --arg f64[4]=zeros --print 0
// prints: 3.5 0.5 1.5 2.5
// run: count --grid 8 --block 32 --cluster 8 --arg u64[8]=zeros --print 0
// prints: 1000000000032 1000000000032 1000000000032 1000000000032 1000000000032 1000000000032 1000000000032 1000000000032
// run: total --grid 8 --block 32 --cluster 4 --arg u32[2]=zeros --print 0
// prints: 100 100
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// The address in the cluster's window of a variable of another block.
__device__ unsigned map(const void *shared, unsigned rank) {
    unsigned mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(mapped)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "r"(rank));
    return mapped;
}

__device__ unsigned next(const cg::cluster_group &cluster) { return (cluster.block_rank() + 1) % cluster.num_blocks(); }

extern "C" __global__ void ring(unsigned *out) {
    __shared__ unsigned value;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned          got;
    if (threadIdx.x == 0) value = 1000 + cluster.block_rank();
    cluster.sync();
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(map(&value, next(cluster))) : "memory");
    if (threadIdx.x == 0) out[blockIdx.x] = got;
    cluster.sync();
}

extern "C" __global__ void push(double *out) {
    __shared__ double slot;
    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    if (threadIdx.x == 0) {
        double value = cluster.block_rank() + 0.5;
        asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(map(&slot, next(cluster))), "d"(value) : "memory");
    }
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = slot;
}

extern "C" __global__ void count(unsigned long long *out) {
    __shared__ unsigned long long counter;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned long long before;
    if (threadIdx.x == 0) counter = 0;
    cluster.sync();
    unsigned at = map(&counter, next(cluster));
    asm volatile("atom.shared::cluster.add.u64 %0, [%1], 1;" : "=l"(before) : "r"(at) : "memory");
    if (before == 31) asm volatile("red.shared::cluster.add.u64 [%0], %1;" ::"r"(at), "l"(1000000000000) : "memory");
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = counter;
}

// Blocks of 10, 20, 30 and 40.
extern "C" __global__ void total(unsigned *out) {
    __shared__ unsigned value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = 10 * (cluster.block_rank() + 1);
    cluster.sync();
    unsigned sum = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) sum += *cluster.map_shared_rank(&value, rank);
    if (cluster.thread_rank() == 0) out[blockIdx.x / cluster.num_blocks()] = sum;
    cluster.sync();
}
