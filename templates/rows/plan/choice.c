// SPDX-License-Identifier: Apache-2.0
// What the plans of all forms ask: what a thread may hold, and what kind of rows these are.
#include "plan.h"

// Vectors that a thread may hold, of all inputs together. Sums over rows need registers too, for which blocks are
// smaller.
unsigned cj__row_held_most(const choice *c) {
    const row_shape *s = c->s;
    const unsigned   words = (unsigned)cj__most(s->elements * s->in_bytes / 4, 1);
    const bool       taken = s->across || (cj__row_has_head(s) && c->op->columns);
    const bool       shifted = taken && cj__most(s->in_bytes, s->out_bytes) == 4;
    const unsigned   registers = s->totals          ? HELD_SUMS
                                 : shifted          ? HELD_SHIFTED
                                 : s->in_bytes == 4 ? HELD_WIDE
                                                    : HELD_NARROW;
    return (unsigned)cj__least(cj__most(registers / (words * c->op->inputs + s->totals * s->elements), 1), ROW_HELD);
}

// With sums over rows more warps, in a stream with the producer's, would have too few registers for these.
unsigned cj__row_warps_most(const row_shape *s) {
    if (s->peeled && s->slot_words > 2) return MANY_WARPS;  // moments beside an edge
    return !s->totals ? ALONE_WARPS : s->form == ROW_STREAM ? SUMS_WARPS - 1 : SUMS_ALONE_WARPS;
}

unsigned cj__row_sums_registers(const choice *c, unsigned held) {
    enum { OTHER_REGISTERS = 16 };
    const row_shape *s = c->s;
    const unsigned   words = (unsigned)cj__most(s->elements * s->in_bytes / 4, 1);
    const unsigned   loads = s->form == ROW_STREAM ? 0 : s->unroll * c->op->inputs * words;
    return OTHER_REGISTERS + held * (s->elements * s->totals + loads);
}

bool cj__row_is_few(const choice *c) {
    return c->rows * cj__least(cj__ceil_div(c->row_bytes, STAGE_BYTES), FEW_STAGES) <
           FEW_WAVES * (uint64_t)c->limits->sm_count;
}

void cj__row_set_grid(choice *c, uint64_t groups) {
    const uint64_t grid = asked(c, ROW_GRID), blocks = cj__row_blocks(c->s);
    c->plan->grid = (cj_dim3){(uint32_t)(grid ? grid : groups * blocks), 1, 1};
    c->plan->resident = grid ? 0 : (uint32_t)blocks;
}
