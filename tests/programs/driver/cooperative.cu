// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Steps of a ring: every element becomes the sum of itself and its left neighbour, of the step before.
extern "C" __global__ void ring(int *x, int *y, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int s = 0; s < steps; s++) {
        for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size()) y[i] = x[i] + x[(i + n - 1) % n];  // found here
#ifndef FAULT
        grid.sync();
#endif
        int *t = x;
        x = y;
        y = t;
    }
}
