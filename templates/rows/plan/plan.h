// SPDX-License-Identifier: Apache-2.0
// What the plans of the forms share (choice.c): plan.c chooses a form, direct.c, spread.c and stream.c its shape.
#ifndef CJ_TEMPLATES_ROW_PLAN_H
#define CJ_TEMPLATES_ROW_PLAN_H

#include "engine.h"

typedef struct choice {
    cj_plan         *plan;
    const row_op    *op;
    const cj_limits *limits;
    row_shape       *s;
    bool             clusters;   // whether the target has them
    uint64_t         rows;       // of the matrix
    uint64_t         row_bytes;  // of a row of all inputs
    unsigned         registers;  // that a thread of spread rows needs
} choice;

static inline bool is_asked(const choice *c, unsigned param) { return cj__is_asked(c->plan, param); }

static inline bool is_yes(const choice *c, unsigned param) { return c->plan->params.value[param] == ROW_YES; }

// What the caller asks for, or 0.
static inline unsigned asked(const choice *c, unsigned param) { return cj__asked_or(c->plan, param, 0); }

static inline unsigned asked_or(const choice *c, unsigned param, uint64_t otherwise) {
    return asked(c, param) ? asked(c, param) : (unsigned)otherwise;
}

// ---- choice.c

bool     cj__row_is_few(const choice *c);     // rows are too few for persistent clusters
unsigned cj__row_held_most(const choice *c);  // vectors that a thread may hold
unsigned cj__row_warps_most(const row_shape *s);
unsigned cj__row_sums_registers(const choice *c, unsigned held);  // that a thread with sums over rows takes, about
void cj__row_set_grid(choice *c, uint64_t groups);  // of persistent blocks: what is asked for, or so many rows at once

// Whether three of four SMs, or more, have a row.
static inline bool cj__row_has_its_sm(const choice *c) { return 4 * c->rows >= 3 * (uint64_t)c->limits->sm_count; }

// SMs that a cluster takes: of the largest, few leave some of a GPC's unused.
static inline uint64_t cj__row_places(unsigned cluster) { return cluster < CROWDED_CLUSTER ? cluster : cluster + cluster / 8; }

// Whether nothing is written but a value a row: pieces pass through registers.
static inline bool cj__row_is_passing(const choice *c) {
    return !c->op->outputs && !c->s->totals && (cj__row_has_its_sm(c) || !cj__row_is_few(c));
}

// Whether pieces of f16 or bf16 pass whose elements are taken one by one, not in pairs, of many rows: threads then hold half as much.
static inline bool cj__row_passes_singly(const choice *c) {
    enum { ELEMENTS = 4 };
    const bool many = c->rows >= PASSING_MANY * (uint64_t)c->limits->sm_count;
    return cj__row_is_passing(c) && many && c->s->in_bytes == 2 && c->s->elements >= ELEMENTS && !c->op->in_pairs;
}

// Whether a parameter is set that streams have.
static inline bool cj__row_asks_stream(const choice *c) {
    return asked(c, ROW_STAGES) || is_asked(c, ROW_GRID) || is_yes(c, ROW_RESIDENT);
}

// Whether vectors of so many elements, of pointers that may begin beside one, may all turn out whole in what is read, too.
static inline bool cj__row_may_be_whole(const choice *c, const row_shape *s, unsigned elements) {
    return c->plan->params.value[ROW_ALIGN] && cj__row_keeps_apart(s, elements);
}

// Vectors that a thread should hold of a piece of several, or of a stage.
static inline unsigned cj__row_piece_held(const choice *c) {
    return asked_or(c, ROW_VECTORS, ROW_HELD / (cj__row_passes_singly(c) ? 2 : c->op->inputs));
}

// ---- the forms

void     cj__row_plan_direct(choice *c);
bool     cj__row_is_better_spread(const choice *c);  // whether a row so planned is
uint64_t cj__row_cluster_holds(const choice *c, unsigned blocks);  // vectors

bool      cj__row_is_spread(const choice *c);  // whether the spread form is best
void      cj__row_plan_spread(choice *c);
unsigned  cj__row_spread_held_most(const choice *c);
cj_status cj__row_plan_spread_grid(choice *c, cj_error *error);

bool     cj__row_is_streamed(const choice *c);  // whether a stream is better than the direct form
bool     cj__row_plan_stream(choice *c);        // false: it does not fit
uint32_t cj__row_pool_bytes(const choice *c);
void     cj__row_occupancy(const choice *c, unsigned registers, cj_occupancy *o);

#endif
