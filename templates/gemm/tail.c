// SPDX-License-Identifier: Apache-2.0
// The ends of D's lines, where a line is no whole multiple of 16 bytes long.
//
// A tensor store writes units of 16 bytes, the last one of a line as a whole: what lies behind the line's end in it,
// which may be a neighbour's, would be overwritten (with what is behind it in the box). So D's tensor map ends at the
// last whole unit of a line, and the warp whose box goes over that end stores the rest, at most 15 bytes of each of its
// 16 rows, element by element out of the buffer from which the box leaves:
//
//   line of D    | box           | box          :ttt|          :  the map's end: what stores of boxes write
//                                                            t  stored by lanes, 8 bytes of the unit each, two a row
//
// A line of less than 16 bytes has no whole unit, and no tensor map has no columns: its map has a unit, and no box is
// stored. Loads are exact: C's map ends where its lines do.
#include "epilogue.h"

enum { UNIT = 16, LANES_A_ROW = 2, LANE_BYTES = UNIT / LANES_A_ROW };

gemm_tail cj__gemm_tail_begin(const gemm_kernel *k) {
    cj_func  *f = k->f;
    gemm_tail t = {0};
    t.columns = cj__gemm_load_u32(k, k->d_columns, "columns_of_d");
    t.whole = cj_s32(f, "whole_columns");
    t.sends = cj_pred(f, "sends");
    cj_ptx(f, "and.b32 $1, $2, $3; // of whole 16 bytes", t.whole, t.columns, -(UNIT / (int)k->g->d_type->bytes));
    return t;
}

cj_reg cj__gemm_tail_sender(const gemm_kernel *k, const gemm_tail *t, cj_reg column) {
    cj_ptx(k->f, "setp.lt.and.s32 $1, $2, $3, $4; // something of the box is in the map", t->sends, column, t->whole,
           k->leader);
    return t->sends;
}

// A lane's share: which half of its row's unit (0, 1), the row, its first column, and its elements, so many D's.
typedef struct share {
    cj_reg half, row, column, count, element[LANE_BYTES];
} share;

// Its part of the unit that begins `inside` columns into the box, from the buffer, where chunks of a row are swizzled.
static void read_share(const gemm_kernel *k, cj_reg buffer, cj_reg inside, share *s) {
    const uint32_t bytes = k->g->d_type->bytes, row_bytes = k->g->subtile * bytes;
    cj_func       *f = k->f;
    cj_reg         turn = cj_u32(f, "tail_turn"), at = cj_u32(f, "tail_from");
    s->half = cj_u32(f, "tail_half");
    s->row = cj_s32(f, "tail_row");
    cj_ptx(f, "shr.u32 $1, $2, 1;", s->row, k->lane);
    cj_ptx(f, "and.b32 $1, $2, 1;", s->half, k->lane);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", at, s->row, row_bytes);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", at, inside, bytes);
    cj_ptx(f, "shr.u32 $1, $2, 3;", turn, at);
    cj_ptx(f, "and.b32 $1, $1, $2; // chunks turn by each row of 128 bytes", turn, row_bytes - UNIT);
    cj_ptx(f, "xor.b32 $1, $1, $2;", at, turn);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", at, s->half, LANE_BYTES);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, buffer);
    const cj_reg *e = s->element;
    for (uint32_t i = 0; i < LANE_BYTES / bytes; i++)
        s->element[i] = cj_register(f, bytes == 4 ? "b32" : "b16", "tail");
    if (bytes == 4) cj_ptx(f, "ld.shared.v2.b32 {$1, $2}, [$3];", e[0], e[1], at);
    for (uint32_t i = 0; bytes < 4 && i < LANE_BYTES / bytes; i += 4)
        cj_ptx(f, "ld.shared.v4.$1 {$2, $3, $4, $5}, [$6 + $7];", bytes == 1 ? "b8" : "b16", e[i], e[i + 1], e[i + 2],
               e[i + 3], at, i * bytes);
}

// How many of its elements are D's, which its row may not be.
static void count_share(const gemm_kernel *k, const gemm_tail *t, const gemm_place *place, share *s) {
    cj_func *f = k->f;
    cj_reg   there = cj_pred(f, "tail_there");
    s->column = cj_s32(f, "tail_column");
    s->count = cj_s32(f, "tail_count");
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", s->column, s->half, LANE_BYTES / k->g->d_type->bytes, t->whole);
    cj_ptx(f, "add.s32 $1, $1, $2;", s->row, place->row);
    cj_ptx(f, "sub.s32 $1, $2, $3;", s->count, t->columns, s->column);
    cj_ptx(f, "setp.lt.s32 $1, $2, $3;", there, s->row, cj__gemm_load_u32(k, k->d_rows, "rows_of_d"));
    cj_ptx(f, "selp.b32 $1, $1, 0, $2;", s->count, there);
}

static cj_reg load_u64(const gemm_kernel *k, cj_var param, const char *name) {
    cj_reg value = cj_u64(k->f, name);
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", value, param);
    return value;
}

static cj_reg address_of_share(const gemm_kernel *k, const gemm_place *place, const share *s) {
    const uint32_t bytes = k->g->d_type->bytes;
    cj_func       *f = k->f;
    cj_reg         to = cj__load_pointer(f, k->d, "tail_to"), line = cj_u64(f, "tail_line");
    cj_ptx(f, "cvt.u64.s32 $1, $2;", line, s->row);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", line, load_u64(k, k->d_leading, "leading"));
    if (k->g->batches > 1) {
        cj_reg product = cj_u64(f, "tail_product");
        cj_ptx(f, "cvt.u64.s32 $1, $2;", product, place->batch);
        cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", line, product, load_u64(k, k->d_stride, "stride"));
    }
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", to, line, bytes);
    cj_ptx(f, "mad.wide.s32 $1, $2, $3, $1;", to, s->column, bytes);
    return to;
}

void cj__gemm_tail_store(const gemm_kernel *k, const gemm_tail *t, const gemm_place *place, cj_reg column,
                         cj_reg buffer) {
    const uint32_t bytes = k->g->d_type->bytes;
    cj_func       *f = k->f;
    cj_reg         inside = cj_s32(f, "tail_in_box"), other = cj_pred(f, "no_tail");
    cj_label       done = cj_label_new(f, "without_tail");
    share          s;
    cj_step(f, "the ends of lines, which are no whole 16 bytes: lanes store them if they are in this box");
    cj_ptx(f, "sub.s32 $1, $2, $3;", inside, t->whole, column);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", other, inside, k->g->subtile);
    cj_ptx(f, "@$1 bra $2;", other, done);
    read_share(k, buffer, inside, &s);
    count_share(k, t, place, &s);
    cj_reg to = address_of_share(k, place, &s);
    for (uint32_t i = 0; i < LANE_BYTES / bytes; i++) {
        cj_reg own = cj_pred(f, "tail_own");
        cj_ptx(f, "setp.gt.s32 $1, $2, $3;", own, s.count, i);
        cj_ptx(f, "@$1 st.global.b$2 [$3 + $4], $5;", own, 8 * bytes, to, i * bytes, s.element[i]);
    }
    cj_label_here(f, done);
}
