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

// Quotient and remainder of an item's number by `width`.
typedef struct place {
    cj_reg quotient, remainder;
} place;

static place place_of(cj_func *f, cj_reg item, uint64_t width) {
    place  p = {.quotient = cj_div(f, "quotient", item, width)};
    cj_reg before = cj_mul(f, "before", p.quotient, width);
    p.remainder = cj_sub(f, "remainder", item, before);
    return p;
}

// Where the values of a share of k->row are: of the first, without `share`.
static cj_reg values_at(row_kernel *k, const cj_reg *share) {
    const unsigned bytes = 4 * k->op->values;
    cj_reg         workspace = cj__load_pointer(k->f, k->workspace, "workspace");
    cj_reg         all = cj_add(k->f, "values", workspace, cj__row_values_offset(k->plan, k->s));
    cj_reg         row = cj_mad_wide(k->f, "values_at", k->row, k->s->shares * bytes, all);
    return share ? cj_mad_wide(k->f, "share_at", *share, bytes, row) : row;
}

static void emit_values(row_kernel *k) {
    cj_func       *f = k->f;
    const uint64_t pieces = cj__ceil_div(k->s->pieces, k->s->shares);
    const row_part own = k->part;
    cj__row_exchange_open(k, true);
    cj_reg count = cj__row_load_rows(k);
    cj_step(f, "the first launch: the values of every row, or of its shares");
    cj_update(f, count, "mul", k->s->shares);
    CJ_BLOCKS(f, item, "item", count) {
        const place p = place_of(f, item, k->s->shares);
        cj_set(f, k->row, p.quotient);
        if (k->op->prepare) k->op->prepare(k);
        cj_reg piece = cj_mul(f, "piece", p.remainder, pieces), last = cj_add(f, "last_piece", piece, pieces);
        cj_update(f, last, "min", k->s->pieces);
        k->part = cj__row_values(k, piece, last);
        cj__row_exchange(k);
        cj_reg at = values_at(k, &p.remainder);
        for (unsigned v = 0; v < k->op->values; v++)
            cj_ptx(f, "@$1 st.global.f32 [$2 + $3], $4;", k->first, at, 4 * v, k->part.value[v]);
        k->part = own;
    }
    cj_ptx(f, "ret;");
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
    CJ_BLOCKS(f, item, "item", count) {
        const place p = place_of(f, item, k->s->pieces);
        cj__row_set_piece(k, p.remainder);
        cj__row_sums_clear(k);
        cj_set(f, k->row, p.quotient);
        CJ_STRIDE(f, row, k->row, k->s->strips, rows) {
            cj__row_place(k, true);
            cj__row_load_piece(k);
            if (k->op->prepare) k->op->prepare(k);
            load_values(k);
            k->op->finish(k);
            cj__row_write(k);
        }
        cj__row_sums_store(k, p.quotient);
    }
    cj_ptx(f, "ret;");
}

void cj__row_emit_sums_twice(row_kernel *k) {
    cj_reg turn = cj_let(k->f, "u64", "turn", "ld.param.u64 $1, [$2];", k->turn);
    CJ_UNLESS(k->f, cj_eq(k->f, "second_turn", turn, 1), "tiles") emit_values(k);
    emit_tiles(k);
}
