// SPDX-License-Identifier: Apache-2.0
// The direct form: a block or a cluster has one row, or each warp of a block one of its own, and the hardware deals out
// rows. Loads go straight to registers.
#include "engine.h"

// ---- short rows, each of lanes of a warp

static void emit_short(row_kernel *k) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    cj__row_exchange_open(k, false);
    cj_step(f, "the group's first row, and the thread's share of it");
    cj_reg rows = cj__row_load_rows(k), block = cj_mov(f, "u32", "block", "%ctaid.x");
    cj_reg group = cj_shr(f, "group", cj_mov(f, "u32", "block_thread", "%tid.x"), cj__log2(s->lanes));
    cj_reg first_row = cj_mad(f, "first_row", block, s->rows_per_block, group);
    cj__row_set_share(k);
    if (s->transposed) cj__row_image_open(k, first_row, rows);
    if (s->unroll > 1 && !s->peeled) cj__row_keep_columns(k);
    cj__row_short(k, first_row, rows);
    cj_ptx(f, "ret;");
}

// ---- rows of a warp, a block or a cluster

// The row's number; a warp after the last one leaves.
static void emit_row_number(row_kernel *k, cj_label done) {
    cj_step(k->f, "the row");
    if (k->s->rows_per_block == 1) {
        cj__group_number_to(k->f, k->row, k->s->cluster);
        return;
    }
    cj_reg count = cj__row_load_rows(k), block = cj_mov(k->f, "u32", "block", "%ctaid.x");
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $4;", k->row, block, k->s->rows_per_block, k->warp);
    cj_ptx(k->f, "@$1 bra $2;", cj_ge(k->f, "out_of_bounds", k->row, count), done);
}

static void emit_alone(row_kernel *k) {
    cj_label done = cj_label_new(k->f, "done");
    cj__row_exchange_open(k, false);
    emit_row_number(k, done);
    if (k->s->pieces == 1) {
        cj_step(k->f, "the thread's share of the row, in registers");
        cj__row_set_share(k);
    }
    cj__row_pass(k);
    cj_label_here(k->f, done);
    cj_ptx(k->f, "ret;");
}

void cj__row_emit_direct(row_kernel *k) {
    if (k->s->strips)
        cj__row_emit_sums_twice(k);
    else if (k->s->totals)
        cj__row_emit_sums_held(k);
    else if (cj__row_is_short(k->s))
        emit_short(k);
    else
        emit_alone(k);
}
