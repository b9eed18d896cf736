// SPDX-License-Identifier: Apache-2.0
// mbarriers across the cluster: a producer block feeds a consumer block through its shared memory, arriving on the
// consumer's mbarrier; st.async carries a row of the sum with its own transaction count.
// run: produce --grid 4 --block 64 --cluster 2 --arg u32[128]=zeros --arg u32=5 --print 0:3
// prints: 10 20 30
// run: push_async --grid 4 --block 32 --cluster 4 --arg u32[4]=zeros --print 0
// prints: 10 10 10 10
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

__device__ void wait(std::uint64_t *mbarrier, unsigned phase) {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, mbarrier, phase & 1)) {}
}

__device__ void arrive(std::uint64_t *far) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, far);
}

// Rank 0 sends its numbers `rounds` times; rank 1 adds them up. `full` and `empty` hand the box to and fro.
extern "C" __global__ void produce(unsigned *out, unsigned rounds) {
    __shared__ unsigned      box[64];
    __shared__ std::uint64_t full, empty;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, blockDim.x);
        ptx::mbarrier_init(&empty, blockDim.x);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cluster.sync();
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds; round++) {
        if (cluster.block_rank() == 0) {
            if (round) wait(&empty, round - 1);
            cluster.map_shared_rank(box, 1)[threadIdx.x] = round * (threadIdx.x + 1);
            arrive(cluster.map_shared_rank(&full, 1));
        } else {
            wait(&full, round);
            sum += box[threadIdx.x];
            arrive(cluster.map_shared_rank(&empty, 0));
        }
    }
    if (cluster.block_rank() == 1) out[blockIdx.x / 2 * blockDim.x + threadIdx.x] = sum;
    cluster.sync();
}

// Every block gets (rank + 1) of every block, and adds them up once all the bytes are there.
extern "C" __global__ void push_async(unsigned *out) {
    __shared__ unsigned      got[4];
    __shared__ std::uint64_t arrived;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&arrived, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived, sizeof got);
    }
    cluster.sync();
    if (threadIdx.x < 4) {
        ptx::st_async(cluster.map_shared_rank(&got[cluster.block_rank()], threadIdx.x), cluster.block_rank() + 1,
                      cluster.map_shared_rank(&arrived, threadIdx.x));
    }
    wait(&arrived, 0);
    if (threadIdx.x == 0) out[blockIdx.x] = got[0] + got[1] + got[2] + got[3];
    cluster.sync();
}
