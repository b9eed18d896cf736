// SPDX-License-Identifier: Apache-2.0
// One block's bulk copy into the shared memory of every block of a mask, over and over on one mbarrier.
// run: multicast --grid 4 --block 128 --cluster 4 --arg u32[16384]=iota --arg u32[4]=zeros --arg u32=4 --arg u16=15 --print 1
// prints: 134209536 134209536 134209536 134209536
// run: multicast --grid 8 --block 128 --cluster 4 --arg u32[65536]=const:1 --arg u32[8]=zeros --arg u32=16 --arg u16=5 --print 1
// prints: 65536 0 65536 0 65536 0 65536 0
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

constexpr unsigned TILE = 4096;

__device__ unsigned shared(const void *at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

// cuda::ptx offers this for sm_90a only, where it is fast; sm_90 has it.
__device__ void copy_to(unsigned short mask, unsigned *to, const unsigned *from, unsigned bytes, std::uint64_t *mbar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1], %2, [%3], %4;"
                 ::"r"(shared(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared(mbar)), "h"(mask)
                 : "memory");
}

extern "C" __global__ void multicast(const unsigned *in, unsigned *out, unsigned tiles, unsigned short mask) {
    __shared__ alignas(128) unsigned tile[TILE];
    __shared__ std::uint64_t         full;
    cg::cluster_group cluster = cg::this_cluster();
    bool              is_mine = mask >> cluster.block_rank() & 1;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    unsigned sum = 0;
    for (unsigned t = 0; t < tiles; t++) {
        if (is_mine && threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        }
        cluster.sync();  // every tile has been read, every mbarrier expects its bytes
        if (cluster.block_rank() == 0 && threadIdx.x == 0) {
            copy_to(mask, tile, in + t * TILE, sizeof tile, &full);
        }
        if (!is_mine) continue;
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, t & 1)) {}
        for (unsigned i = threadIdx.x; i < TILE; i += blockDim.x) sum += tile[i];
    }
    if (is_mine) atomicAdd(&out[blockIdx.x], sum);
    cluster.sync();
}
