// SPDX-License-Identifier: Apache-2.0
// The collective family: its parameters, and what a plan makes of them.
#ifndef CJ_TEMPLATES_COLLECTIVE_H
#define CJ_TEMPLATES_COLLECTIVE_H

#include "kit.h"

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// Parameters, in the order of the table.
enum {
#define PARAM(id, ...) COLLECTIVE_##id,
#include "params.def"
};

// A type: what the collective calls it, how an element is loaded and stored, the register that holds it, its bits.
typedef struct collective_dtype {
    const char *type, *memory, *reg, *bits;
    uint32_t    bytes;
} collective_dtype;

// What a plan asks for, worked out.
typedef struct collective_shape {
    const collective_dtype *dtype;
    uint32_t                cluster, count;  // blocks that work together; elements of a part
    uint32_t                gives, gets;     // parts of a block's input and output
    uint32_t                part;            // bytes of a part in shared memory, a multiple of 16
    uint32_t                scratch;         // bytes
    cj_collective           what;
    cj_collectives_desc     desc;
} collective_shape;

enum { COLLECTIVE_UNIT = 16 };  // bytes that parts in shared memory are a multiple of

// ---- shape.c

static inline uint32_t cj__collective_param(const cj_plan *plan, int param) { return (uint32_t)plan->params.value[param]; }

collective_shape cj__collective_shape(const cj_plan *plan);
bool             cj__collective_combines(cj_collective_op op);

// Only root gets something. value = 0 in all other blocks.
bool cj__collective_is_to_root(const collective_shape *s);
void cj__collective_clear_others(cj_func *f, const collective_shape *s, cj_reg rank, cj_reg value);

// The part that a round's input part `part` of that rank begins with: rank + 1 parts after it, around.
cj_reg cj__collective_next_part(cj_func *f, const collective_shape *s, const char *name, cj_reg part, cj_reg rank);

// ---- the kernels, and the plan

void      cj__collective_emit_cluster(const cj_plan *plan, cj_builder *b);
void      cj__collective_emit_global(const cj_plan *plan, cj_builder *b);  // without clusters
cj_status cj__collective_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

#endif
