// SPDX-License-Identifier: Apache-2.0
// A row by direct loads: held in registers, or, if it does not fit, read twice, piece by piece: once for its values and
// once for what is written.
#include "engine.h"

// For each piece from `piece`, which is counted up, to `last`: where it is, and what `body` writes for it.
static void emit_pieces(row_kernel *k, const char *name, cj_reg piece, cj_reg last,
                        void (*body)(row_kernel *k, const row_part *all), const row_part *all) {
    cj_func *f = k->f;
    cj_reg   more = cj_pred(f, "more");
    CJ_DO(f, name, more) {
        cj__row_set_piece(k, piece);
        cj__row_place(k);
        cj__row_load_piece(k);
        body(k, all);
        cj_update(f, piece, "add", 1);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, piece, last);
    }
}

static void add_piece(row_kernel *k, const row_part *all) {
    const row_part both[2] = {*all, k->part};
    cj__row_sweep(k);
    cj__row_fold(k, all, both, 2, false);
}

static void write_piece(row_kernel *k, const row_part *all) {
    (void)all;
    cj__row_write(k);
}

row_part cj__row_values(row_kernel *k, cj_reg piece, cj_reg last) {
    row_part all = cj__row_part_new(k, "all");
    cj_step(k->f, "the row is read piece by piece, for its values");
    cj__row_part_clear(k, &all);
    emit_pieces(k, "next_piece", piece, last, add_piece, &all);
    return all;
}

static cj_reg last_piece(row_kernel *k, cj_reg first) { return cj_add(k->f, "last_piece", first, k->s->pieces); }

void cj__row_twice(row_kernel *k, const row_exchange *x) {
    if (k->op->prepare) k->op->prepare(k);
    cj_reg piece = cj__row_first_piece(k);
    k->part = cj__row_values(k, piece, last_piece(k, piece));
    cj__row_exchange(k, x);
    k->op->finish(k);
    if (!k->op->outputs) return;
    cj_step(k->f, "and once more, for what is written");
    piece = cj__row_first_piece(k);
    emit_pieces(k, "next_written", piece, last_piece(k, piece), write_piece, NULL);
}

void cj__row_held(row_kernel *k, const row_exchange *x) {
    cj__row_place(k);
    cj__row_load_piece(k);
    if (k->s->blocks) cj__row_keep_late(k, true);
    if (k->op->prepare) k->op->prepare(k);
    k->in_place = k->s->in_bytes == 4;
    cj_step(k->f, "its part of the row's values");
    cj__row_sweep(k);
    cj__row_exchange(k, x);
    k->op->finish(k);
    if (!k->op->outputs) return;
    cj_step(k->f, "what is written");
    cj__row_write(k);
}
