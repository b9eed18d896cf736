// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cuda.h>

namespace cg = cooperative_groups;
enum { ROWS = 8, COLUMNS = 32, BYTES = ROWS * COLUMNS * 4 };

// Rank 0 of each cluster loads a tile into the shared memory of all blocks at once; each block writes it, plus its rank.
extern "C" __global__ void multicast(const __grid_constant__ CUtensorMap map, float *out) {
    __shared__ alignas(128) float tile[ROWS * COLUMNS];
    __shared__ alignas(8) unsigned long long barrier;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned    rank = cluster.block_rank(), ranks = cluster.num_blocks(), at = blockIdx.x / ranks;
    const unsigned    bar = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(BYTES) : "memory");
    }
    cluster.sync();
    if (rank == 0 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(&map), "r"(0), "r"((int)(at * ROWS)), "r"(bar),
                     "h"((unsigned short)((1 << ranks) - 1)) : "memory");
#ifndef FAULT
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}" ::"r"(bar)
                 : "memory");
#endif
    for (unsigned i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x)
        out[blockIdx.x * ROWS * COLUMNS + i] = tile[i] + (float)rank;  // found here
    cluster.sync();
}
