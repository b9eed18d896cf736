// SPDX-License-Identifier: Apache-2.0
// A row by direct loads: held in registers, or, if it does not fit, read twice, piece by piece: once for its values and
// once for what is written.
#include "engine.h"

static void load_piece(row_kernel *k, cj_reg piece, bool written) {
    cj__row_set_piece(k, piece);
    cj__row_place(k, written);
    cj__row_load_piece(k);
}

row_part cj__row_values(row_kernel *k, cj_reg piece, cj_reg last) {
    const row_part all = cj__row_part_new(k, "all"), both[2] = {all, k->part};
    cj_step(k->f, "the row is read piece by piece, for its values");
    cj__row_part_clear(k, &all);
    k->skipped = k->op->swept;
    CJ_COUNT(k->f, "next_piece", piece, 1, last) {
        load_piece(k, piece, false);
        cj__row_sweep(k);
        cj__row_fold(k, &all, both, 2, false);
    }
    k->skipped = 0;
    return all;
}

static cj_reg last_piece(row_kernel *k, cj_reg first) { return cj_add(k->f, "last_piece", first, k->s->pieces); }

static void read_twice(row_kernel *k) {
    if (k->op->prepare) k->op->prepare(k);
    cj_reg piece = cj__row_first_piece(k);
    k->part = cj__row_values(k, piece, last_piece(k, piece));
    cj__row_exchange(k);
    k->op->finish(k);
    if (!k->op->outputs) return;
    cj_step(k->f, "and once more, for what is written");
    piece = cj__row_first_piece(k);
    cj_reg last = last_piece(k, piece);
    CJ_COUNT(k->f, "next_written", piece, 1, last) {
        load_piece(k, piece, true);
        cj__row_write(k);
    }
}

// Whether weight and bias are loaded with the row, so that a thread waits for memory once: where it has one row. Where blocks are so many that
// some work while others wait, registers are better spent on more of them.
static bool has_columns_early(const row_kernel *k) {
    const row_shape *s = k->s;
    const bool       one = s->form == ROW_DIRECT && s->pieces == 1 && s->unroll == 1 && !s->transposed && !s->totals;
    return k->op->columns && one && (s->rows_per_block > 1 || k->plan->grid.x <= KEPT_BLOCKS);
}

// ptxas would move these loads down, after the row's values.
static void bring_columns(row_kernel *k) {
    cj_reg   loaded[ROW_OPERANDS * ROW_HELD];
    unsigned count = 0;
    cj__row_keep_columns(k);
    for (unsigned n = 0; n < k->op->columns; n++)
        for (unsigned v = 0; v < k->s->held; v++) loaded[count++] = k->kept[k->op->nth[ROW_COLUMN][n]][v][0];
    if (k->keeps && !k->s->cluster)
        cj__keep_loads(k->f, cj_eq(k->f, "no_rows", cj__row_load_rows(k), 0), cj__row_word_type(k), loaded, count);
}

static void load(row_kernel *k) {
    if (k->s->transposed) {
        cj__row_image_load(k);
        cj__row_fetch_piece(k);
        if (k->op->outputs && k->s->in_bytes != k->s->out_bytes)
            cj_ptx(k->f, "bar.warp.sync 0xffffffff; // I2: all lanes have read their rows, which may be written over");
        return;
    }
    cj__row_place(k, true);
    cj__row_load_piece(k);
    if (k->s->blocks) cj__row_keep_late(k, true);
    if (has_columns_early(k)) bring_columns(k);
}

static void work(row_kernel *k) {
    cj_step(k->f, "its part of the row's values");
    cj__row_sweep(k);
    cj__row_exchange(k);
    k->op->finish(k);
    if (!k->op->outputs) return;
    cj_step(k->f, "what is written");
    cj__row_write(k);
}

void cj__row_held(row_kernel *k) {
    load(k);
    if (k->op->prepare) k->op->prepare(k);
    work(k);
}

void cj__row_pass(row_kernel *k) {
    (k->s->pieces > 1 ? read_twice : cj__row_held)(k);
}

// ---- short rows: groups of a warp's lanes have a row each, or a few, whose loads are all in flight before the first is worked on
//
//   block   group 0 | group 1 | …   first rows
//           group 0 | group 1 | …   second rows, …
//
// All lanes of a warp take part in each shuffle. So a group after the last row works on that one, and writes nothing: no output,
// and no sum over rows.

// What one row has of its own, the family's values among it.
typedef struct short_row {
    row_kernel k;
    row_op     op;
} short_row;

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

void cj__row_short(row_kernel *k, cj_reg first_row, cj_reg rows) {
    const row_shape *s = k->s;
    short_row        each[ROW_AHEAD];
    for (unsigned n = 0; n < s->unroll; n++) {
        row_kernel *row = &each[n].k;
        each[n] = (short_row){*k, *k->op};
        row->op = &each[n].op;
        if (n) cj__row_new_registers(row);
        cj_step(k->f, "its row %u goes into registers", n);
        begin_row(row, first_row, n, rows);
        load(row);
    }
    for (unsigned n = 0; n < s->unroll && k->op->prepare; n++) k->op->prepare(&each[n].k);
    if (s->unroll > 1)  // in a loop ptxas moves the loads of all rows but the first after the work on that one
        cj__keep_loads(k->f, cj_eq(k->f, "no_rows", rows, 0), cj__row_word_type(k), each[s->unroll - 1].k.raw[0][0], 1);
    for (unsigned n = 0; n < s->unroll; n++) work(&each[n].k);
    if (s->transposed && k->op->outputs) cj__row_image_store(&each[0].k);
}
