// SPDX-License-Identifier: Apache-2.0
// A grid without a barrier of the grid, one with barriers of blocks alone, and one that is not launched for one.
// run: never --cooperative --grid 5 --block 8 --arg u32[40]=zeros --arg u32[40]=zeros
// finds: [race-grid]
// run: blocks --cooperative --grid 5 --block 8 --arg u32[40]=zeros --arg u32[40]=zeros
// finds: [race-grid]
// run: together --grid 5 --block 8 --arg u32[40]=zeros --arg u32[40]=zeros
// finds: [trap]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void never(unsigned *x, unsigned *y) {
    cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank(), n = grid.size();
    x[i] = i;
    y[i] = x[(i + 11) % n];
}

extern "C" __global__ void blocks(unsigned *x, unsigned *y) {
    cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank(), n = grid.size();
    x[i] = i;
    cg::this_thread_block().sync();
    y[i] = x[(i + 11) % n];
}

extern "C" __global__ void together(unsigned *x, unsigned *y) {
    cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank(), n = grid.size();
    x[i] = i;
    grid.sync();
    y[i] = x[(i + 11) % n];
}
