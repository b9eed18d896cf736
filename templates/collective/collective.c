// SPDX-License-Identifier: Apache-2.0
// collective: one of the ten collectives of a cluster, as often in a row as wanted. A cluster works for itself, through
// distributed shared memory (cluster.c); blocks without clusters work in groups, through global memory (global.c).
//
//   x[block]: | part | part | …   --collective, `rounds` times-->   out[block]: | part | …
//
// A block gives `gives` parts and gets `gets` parts: 1, or as many as blocks work together, by the operation. Where a block
// gets nothing, out is zero. Each round but the first depends on the one before: a block's input part p then begins with the
// beginning of its output part (p + rank + 1) mod gets: 16 bytes of an array, or the value.
//
// cycles[block] is the time of the rounds by the SM's clock, in cycles.
#include "collective.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [COLLECTIVE_##id] = {__VA_ARGS__},
#include "params.def"
};

static void emit_collective(const cj_plan *plan, cj_builder *b) {
    (plan->cluster.x ? cj__collective_emit_cluster : cj__collective_emit_global)(plan, b);
}

const cj_family cj__family_collective = {
    CJ_FAMILY("collective", "one of the ten collectives of a cluster: broadcast, reduce, … , scan, shift", params,
              cj__collective_plan, emit_collective)};
