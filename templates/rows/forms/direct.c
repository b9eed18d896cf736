// SPDX-License-Identifier: Apache-2.0
// The direct form: a block or a cluster has one row, or each warp of a block one of its own, and the hardware deals out
// rows. Loads go straight to registers.
#include "engine.h"

// ---- short rows

// Groups of a warp's lanes have a row each, or a few, whose loads are all in flight before the first is worked on.
//
//   block   group 0 | group 1 | …   first rows
//           group 0 | group 1 | …   second rows, …
//
// All lanes of a warp take part in each shuffle. So a group after the last row works on that one, and writes nothing.

// What one row has of its own, the family's values among it.
typedef struct short_row {
    row_kernel k;
    row_op     op;
} short_row;

static row_kernel *new_row(short_row *r, const row_kernel *k) {
    *r = (short_row){*k, *k->op};
    r->k.op = &r->op;
    return &r->k;
}

// The n-th row of the thread's group.
static void begin_row(row_kernel *k, cj_reg first_row, unsigned n, cj_reg rows) {
    cj_func       *f = k->f;
    const unsigned groups = k->s->rows_per_block / k->s->unroll;
    k->row = cj_add(f, "row", first_row, n * groups);
    if (k->op->by_first)
        k->first = cj_let(f, "pred", "first", "setp.lt.and.u32 $1, $2, $3, $4;", k->row, rows, k->first);
    if (k->s->peeled) {
        k->no_row = cj_ge(f, "no_row", k->row, rows);
    } else if (k->op->outputs) {
        k->written = cj_mov(f, "s32", "written", k->left);
        cj_set_if(f, cj_ge(f, "no_row", k->row, rows), k->written, 0);
    }
    cj_update(f, k->row, "min", cj_sub(f, "last_row", rows, 1));
}

static void emit_short(row_kernel *k) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    short_row        each[ROW_AHEAD];
    cj__row_exchange_open(k, false);
    cj_step(f, "the group's first row, and the thread's share of it");
    cj_reg rows = cj__row_load_rows(k), block = cj_mov(f, "u32", "block", "%ctaid.x");
    cj_reg group = cj_shr(f, "group", cj_mov(f, "u32", "block_thread", "%tid.x"), cj__log2(s->lanes));
    cj_reg first_row = cj_mad(f, "first_row", block, s->rows_per_block, group);
    cj__row_set_share(k);
    if (s->transposed) cj__row_image_open(k, first_row, rows);
    if (s->unroll > 1 && !s->peeled) cj__row_keep_columns(k);
    for (unsigned n = 0; n < s->unroll; n++) {
        row_kernel *row = new_row(&each[n], k);
        if (n) cj__row_new_registers(row);
        cj_step(f, "its row %u goes into registers", n);
        begin_row(row, first_row, n, rows);
        cj__row_load(row);
    }
    for (unsigned n = 0; n < s->unroll && k->op->prepare; n++) k->op->prepare(&each[n].k);
    for (unsigned n = 0; n < s->unroll; n++) cj__row_work(&each[n].k);
    if (s->transposed && k->op->outputs) cj__row_image_store(&each[0].k);
    cj_ptx(f, "ret;");
}

// ---- rows of a warp, a block or a cluster

// The row's number; a warp after the last one leaves.
static void emit_row_number(row_kernel *k, cj_label done) {
    cj_step(k->f, "the row");
    if (k->s->rows_per_block == 1) {
        cj_ptx(k->f, "mov.u32 $1, %$2;", k->row, k->s->cluster > 1 ? "clusterid.x" : "ctaid.x");
        return;
    }
    cj_reg count = cj__row_load_rows(k), block = cj_mov(k->f, "u32", "block", "%ctaid.x");
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $4;", k->row, block, k->s->rows_per_block, k->warp);
    cj_ptx(k->f, "@$1 bra $2;", cj_ge(k->f, "past", k->row, count), done);
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
