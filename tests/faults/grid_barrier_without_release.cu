// SPDX-License-Identifier: Apache-2.0
// Each thread reads what a thread of the next block has written, but each block only waits for its own threads: __syncthreads where
// grid.sync() is meant. On a GPU threads read old values, sometimes.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {  // [thread]: its number; [512 + thread]: another's
    cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank();
    out[i] = i;  // !found
#ifdef FIXED
    grid.sync();
#else
    __syncthreads();
#endif
    out[512 + i] = out[(i + 64) % 512];  // !found
}
