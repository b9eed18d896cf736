// SPDX-License-Identifier: Apache-2.0
// The direct form with sums over rows: rows that a block or a warp holds, and those of sums_twice.c.
#include "engine.h"

// Each warp of a block with rows of their own adds what the warp before it has left; the last one has the sums of all.
static void add_warps(row_kernel *k) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   each = s->totals * s->held * s->elements;
    cj_reg           sums = cj_shared_address(f, cj_shared(f, "f32", "sums", each * ROW_WARP, 0));
    cj_step(f, "the sums of the block's warps, one after the other");
    cj_reg at = cj_mad(f, "at", k->lane, 4, sums), turn = cj_mov(f, "u32", "warp_turn", 0);
    cj_reg adds = cj_ne(f, "adds", k->warp, 0);
    CJ_COUNT(f, "next_warp", turn, 1, s->rows_per_block) {
        CJ_UNLESS(f, cj_ne(f, "other_turn", k->warp, turn), "other_warp")
        for (unsigned i = 0; i < each; i++) {
            cj_reg total = k->total[i / (s->held * s->elements)][i / s->elements % s->held][i % s->elements];
            cj_reg before = cj_let(f, "f32", "before", "@$2 ld.shared.f32 $1, [$3 + $4];", adds, at, i * ROW_WARP * 4);
            cj_ptx(f, "@$1 add.f32 $2, $2, $3;", adds, total, before);
            cj_ptx(f, "st.shared.f32 [$1 + $2], $3;", at, i * ROW_WARP * 4, total);
        }
        cj_ptx(f, "bar.sync 0; // T1: this warp's sums are there");
    }
}

void cj__row_emit_sums_held(row_kernel *k) {
    cj_func           *f = k->f;
    const unsigned     each = k->s->rows_per_block;
    cj__row_exchange_open(k, true);
    cj_reg             rows = cj__row_load_rows(k);
    cj_step(f, "every n-th row, from the block's number on");
    cj__row_set_piece(k, cj_mov(f, "u32", "piece", 0));
    cj__row_sums_clear(k);
    cj_reg partial = cj_mov(f, "u32", "own_partial", "%ctaid.x");
    cj_set(f, k->row, partial);
    if (each > 1) cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", k->row, each, k->warp);
    cj_reg step = cj_mov(f, "u32", "rows_step", "%nctaid.x");
    if (each > 1) cj_update(f, step, "mul", each);
    CJ_STRIDE(f, row, k->row, step, rows)
    cj__row_held(k);
    if (each > 1) {
        add_warps(k);
        CJ_UNLESS(f, cj_ne(f, "leaves", k->warp, each - 1), "done") cj__row_sums_store(k, partial);
    } else {
        cj__row_sums_store(k, partial);
    }
    cj_ptx(f, "ret;");
}
