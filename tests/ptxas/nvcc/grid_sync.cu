// SPDX-License-Identifier: Apache-2.0
// A barrier of the whole grid: each thread reads what another block has written before it.
// run: rotate --cooperative --grid 5 --block 8 --arg u32[40]=zeros --arg u32[40]=zeros --print 1
// prints: 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 0 1 2 3 4 5 6 7 8 9 10
// run: steps --cooperative --grid 4 --cluster 2 --block 8 --arg u32[64]=zeros --print 0:32
// prints: 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 0 1 2
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void rotate(unsigned *x, unsigned *y) {
    cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank(), n = grid.size();
    x[i] = i;
    grid.sync();
    y[i] = x[(i + 11) % n];
}

// Three rotations by one, back and forth between the halves of x, and back.
extern "C" __global__ void steps(unsigned *x) {
    cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank(), n = grid.size();
    x[i] = i;
    for (int step = 0; step < 3; step++) {
        grid.sync();
        x[(step + 1) % 2 * n + i] = x[step % 2 * n + (i + 1) % n];
    }
    grid.sync();
    x[i] = x[n + i];
}
