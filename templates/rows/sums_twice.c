// SPDX-License-Identifier: Apache-2.0
// Sums over rows that no block holds. A row is read twice, but not in one go:
//
//   turn 0  the values of every row, or of shares of it if rows are few                --> workspace
//   turn 1  a block takes a piece of columns, and of a strip of rows, every strips-th row, this piece: what is written
//           follows from the row's values, the sums are in registers as in sums.c      --> workspace
//   turn 2  as turn 1 of sums.c
//
//   workspace: | partial[partials][sums][columns] f32 | value[rows][shares][values] f32 |
#include "engine.h"
#include "loop.h"

// What a block takes, one after the other: quotient and remainder of its number by `width`.
typedef struct items {
    cj_reg  number, step, quotient, remainder;
    cj_body loop;
} items;

static items begin_items(row_kernel *k, const char *name, const char *done, uint64_t width, cj_reg count) {
    cj_func *f = k->f;
    items    i = {.number = cj_mov(f, "u32", "item", "%ctaid.x"), .step = cj_mov(f, "u32", "items_step", "%nctaid.x")};
    i.loop = cj_loop_begin(f, name, done, 0);
    cj_leave(&i.loop, cj_ge(f, "past", i.number, count));
    i.quotient = cj_div(f, "quotient", i.number, width);
    cj_reg before = cj_mul(f, "before", i.quotient, width);
    i.remainder = cj_sub(f, "remainder", i.number, before);
    return i;
}

static void end_items(row_kernel *k, items *i) {
    cj_update(k->f, i->number, "add", i->step);
    cj_body_end(&i->loop);
    cj_ptx(k->f, "ret;");
}

// Where the values of a share of k->row are: of the first, without `share`.
static cj_reg values_at(row_kernel *k, const cj_reg *share) {
    const unsigned bytes = 4 * k->op->values;
    cj_reg         all = cj_add(k->f, "values", cj__row_workspace(k), cj__row_values_offset(k->plan, k->s));
    cj_reg         row = cj_mad_wide(k->f, "values_at", k->row, k->s->shares * bytes, all);
    return share ? cj_mad_wide(k->f, "share_at", *share, bytes, row) : row;
}

static void emit_values(row_kernel *k) {
    cj_func           *f = k->f;
    const uint64_t     pieces = cj__ceil_div(k->s->pieces, k->s->shares);
    const row_part     own = k->part;
    cj__row_exchange_open(k, true);
    cj_reg             count = cj__row_load_rows(k);
    cj_step(f, "the first launch: the values of every row, or of its shares");
    cj_update(f, count, "mul", k->s->shares);
    items i = begin_items(k, "next_values", "values_done", k->s->shares, count);
    cj_set(f, k->row, i.quotient);
    if (k->op->prepare) k->op->prepare(k);
    cj_reg piece = cj_mul(f, "piece", i.remainder, pieces), last = cj_add(f, "last_piece", piece, pieces);
    cj_update(f, last, "min", k->s->pieces);
    k->part = cj__row_values(k, piece, last);
    cj__row_exchange(k);
    cj_reg at = values_at(k, &i.remainder);
    for (unsigned v = 0; v < k->op->values; v++)
        cj_ptx(f, "@$1 st.global.f32 [$2 + $3], $4;", k->first, at, 4 * v, k->part.value[v]);
    k->part = own;
    end_items(k, &i);
}

// k->part = that of the row, from its shares.
static void load_values(row_kernel *k) {
    cj_reg at = values_at(k, NULL);
    for (unsigned v = 0; v < k->op->values; v++)
        for (unsigned share = 0; share < k->s->shares; share++) {
            cj_reg value = share ? cj_f32(k->f, "share_value") : k->part.value[v];
            cj_ptx(k->f, "ld.global.f32 $1, [$2 + $3];", value, at, 4 * (share * k->op->values + v));
            if (share) cj_update(k->f, k->part.value[v], "add", value);
        }
}

static void emit_tiles(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   rows = cj__row_load_rows(k);
    cj_step(f, "the second launch: pieces of columns, of every n-th row");
    cj_reg count = cj_mov(f, "u32", "tiles", k->s->pieces * k->s->strips);
    items  i = begin_items(k, "next_tile", "tiles_done", k->s->pieces, count);
    cj__row_set_piece(k, i.remainder);
    cj__row_sums_clear(k);
    cj_set(f, k->row, i.quotient);
    CJ_STRIDE(f, row, k->row, k->s->strips, rows) {
        cj__row_place(k);
        cj__row_load_piece(k);
        if (k->op->prepare) k->op->prepare(k);
        load_values(k);
        k->op->finish(k);
        cj__row_write(k);
    }
    cj__row_sums_store(k, i.quotient);
    end_items(k, &i);
}

void cj__row_emit_sums_twice(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   turn = cj_let(f, "u64", "turn", "ld.param.u64 $1, [$2];", k->turn);
    CJ_UNLESS(f, cj_eq(f, "second_turn", turn, 1), "tiles") emit_values(k);
    emit_tiles(k);
}
