// SPDX-License-Identifier: Apache-2.0
// From parameters to a plan: model.c predicts what a shape would take, choose.c chooses the shape that takes least, plan.c
// refuses what cannot run and makes the launch.
#ifndef CJ_TEMPLATES_GEMM_PLAN_H
#define CJ_TEMPLATES_GEMM_PLAN_H

#include "gemm.h"

// ---- the cost model (model.c); "The cost model" in docs/maintaining/gemm.md derives it

// Clusters of the shape's blocks that the GPU holds at once, one block an SM.
uint64_t cj__gemm_room(const gemm_shape *g, const cj_limits *limits);

// The clocks that a shape takes; `room` is cj__gemm_room.
double cj__gemm_cost(const gemm_shape *g, uint64_t room);

// ---- the choice (choose.c)

// Tile, cluster, splits, and where split-K sums go: as the parameters say, or what the model predicts to take least. The shape
// has its problem.
void cj__gemm_choose(const cj_params *params, const cj_limits *limits, gemm_shape *g);

// ---- the plan (plan.c)

cj_status cj__gemm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

#endif
