// SPDX-License-Identifier: Apache-2.0
// The plan of short rows: lanes a row, rows a thread. As few lanes as possible have a row, since what a thread does once a
// row (addresses, shuffles, logarithms) then serves more elements; but each load takes whole sectors of the row.
#include "plan.h"

static unsigned vector_bytes(const row_shape *s) { return s->elements * s->in_bytes; }

// Vectors that a thread should hold of a short row.
static unsigned short_held(const choice *c) {
    const uint64_t most = cj__least(cj__row_held_most(c), cj__most(SHORT_HELD_BYTES / vector_bytes(c->s), 1));
    return asked_or(c, ROW_VECTORS, most);
}

// Vectors that it may hold, of a row that a whole warp has. Sums over rows need registers, too.
static unsigned held_most(const choice *c) {
    const unsigned most = (unsigned)cj__least(cj__row_held_most(c), WARP_ROW_HELD);
    if (asked(c, ROW_LANES)) return asked_or(c, ROW_VECTORS, cj__row_held_most(c));
    return asked_or(c, ROW_VECTORS, c->s->totals ? most : cj__most(most, short_held(c)));
}

// With sums over rows a warp has a row: its lanes are different columns.
static unsigned choose_lanes(const choice *c) {
    const row_shape *s = c->s;
    unsigned         lanes = 1;
    if (s->totals) return ROW_WARP;
    if (asked(c, ROW_LANES)) return (unsigned)cj__power_from(asked(c, ROW_LANES));
    while (lanes < ROW_WARP && lanes < s->vectors &&
           (lanes * vector_bytes(s) < SHORT_RUN_BYTES || lanes * short_held(c) < s->vectors))
        lanes *= 2;
    return lanes;
}

// Rows that a thread loads ahead, if all SMs are full of threads anyhow.
static unsigned choose_unroll(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   threads = (uint64_t)c->limits->sm_count * c->limits->max_threads_per_sm;
    const unsigned   row = s->held * vector_bytes(s) * c->op->inputs;
    unsigned         unroll = 1;
    if (s->totals) return 1;
    if (asked(c, ROW_UNROLL)) return asked(c, ROW_UNROLL);
    while (2 * unroll <= ROW_AHEAD && 2 * unroll * row <= SHORT_FLIGHT_BYTES &&
           c->rows * s->lanes >= 2 * unroll * threads)
        unroll *= 2;
    return unroll;
}

bool cj__row_plan_short(choice *c) {
    row_shape     *s = c->s;
    const unsigned lanes = choose_lanes(c);
    if (s->cluster || asked(c, ROW_WARPS) || asked(c, ROW_PIECES) > 1 || s->vectors > (uint64_t)lanes * held_most(c))
        return false;
    s->warps = ROWS_PER_BLOCK;
    s->lanes = lanes;
    s->piece = s->vectors;
    s->held = (unsigned)cj__ceil_div(s->vectors, lanes);
    s->unroll = choose_unroll(c);
    s->rows_per_block = cj__row_block_rows(s);
    return true;
}
