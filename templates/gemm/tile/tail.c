// SPDX-License-Identifier: Apache-2.0
// The ends of D's lines, where a line is no whole multiple of 16 bytes long.
//
// A tensor store writes units of 16 bytes, the last one of a line as a whole: what lies after the line's end in it, which may be
// a neighbour's, would be overwritten (with what is there in the box). So D's tensor map ends at the last whole unit of a line,
// and the warp whose box goes over that end stores the rest, at most 15 bytes of each of its rows, 16 rows at a time, element by
// element out of the buffer from which the box is stored:
//
//   line of D    | box           | box          :ttt|          :  the map's end: what stores of boxes write
//                                                            t  stored by lanes, 8 bytes of the unit each, two a row
//
// A line of less than 16 bytes has no whole unit, and no tensor map has no columns: its map has a unit, and no box is
// stored. Loads are exact: C's map ends where its lines do.
#include "epilogue.h"

enum { UNIT = GEMM_STORED_UNIT, LANES_A_ROW = 2, LANE_BYTES = UNIT / LANES_A_ROW, ROWS_AT_ONCE = GEMM_WARP / LANES_A_ROW };

gemm_tail cj__gemm_tail_begin(const gemm_kernel *k) {
    gemm_tail t = {.columns = cj__load_param(k->f, "u32", k->d_columns, "columns_of_d"),
                   .sends = cj_pred(k->f, "sends")};
    t.whole = cj_let(k->f, "s32", "whole_columns", "and.b32 $1, $2, $3; // of whole 16 bytes", t.columns,
                     -(UNIT / (int)k->g->d_type->bytes));
    return t;
}

cj_reg cj__gemm_tail_sender(const gemm_kernel *k, const gemm_tail *t, const gemm_place *box) {
    cj_ptx(k->f, "setp.lt.and.s32 $1, $2, $3, $4; // something of the box is in the map", t->sends, box->column, t->whole,
           k->leader);
    return t->sends;
}

// A lane's part: its row and the first of its columns in D, s32, and the elements there, of which `count` are D's.
typedef struct part {
    cj_reg row, column, count, element[LANE_BYTES];
} part;

// Where this lane reads its half of a row's unit, which begins `inside` columns into the box: chunks of a row are swizzled.
static cj_reg address_in_buffer(const gemm_kernel *k, cj_reg buffer, cj_reg inside, cj_reg row, cj_reg half) {
    const uint32_t bytes = k->g->d_type->bytes, row_bytes = cj__gemm_box_columns(k->g) * bytes;
    cj_func       *f = k->f;
    cj_reg         at = cj_let(f, "u32", "tail_row_at", "mul.lo.u32 $1, $2, $3;", row, row_bytes);
    at = cj_let(f, "u32", "tail_from", "mad.lo.u32 $1, $2, $3, $4;", inside, bytes, at);
    cj_reg turn = cj_let(f, "u32", "tail_turn", "and.b32 $1, $2, $3; // chunks turn by each row of 128 bytes",
                         cj_shr(f, "tail_turn", at, 3), row_bytes - UNIT);
    at = cj_mad(f, "tail_from", half, LANE_BYTES, cj_xor(f, "tail_from", at, turn));
    return cj_add(f, "tail_from", at, buffer);
}

static void load_elements(const gemm_kernel *k, cj_reg at, cj_reg element[LANE_BYTES]) {
    const uint32_t bytes = k->g->d_type->bytes, count = LANE_BYTES / bytes, vector = count < 4 ? count : 4;
    const char    *type = bytes == 4 ? "b32" : bytes == 2 ? "b16" : "b8";
    for (uint32_t i = 0; i < count; i++) element[i] = cj_register(k->f, bytes == 4 ? "b32" : "b16", "tail");
    for (uint32_t i = 0; i < count; i += vector)
        cj__load(k->f, cj_always(), "ld.shared", type, element + i, vector, at, i * bytes);
}

// Whether a row of the box is one of D: lanes may name some that the box has not, and the box some that D has not.
static cj_reg is_row(const gemm_kernel *k, cj_reg row, cj_reg row_of_box, uint32_t rows) {
    cj_reg inside = cj_lt(k->f, "is_row", row, cj__load_param(k->f, "u32", k->d_rows, "rows_of_d"));
    if (rows % ROWS_AT_ONCE == 0) return inside;
    return cj_let(k->f, "pred", "is_row", "setp.lt.and.s32 $1, $2, $3, $4;", row_of_box, rows, inside);
}

// Of the rows of the box from `first` on.
static part load_part(const gemm_kernel *k, const gemm_tail *t, const gemm_place *box, uint32_t rows, uint32_t first, cj_reg buffer,
                      cj_reg inside) {
    cj_func *f = k->f;
    part     p;
    cj_reg row = cj_let(f, "s32", "tail_row", "shr.u32 $1, $2, 1;", k->lane), half = cj_and(f, "tail_half", k->lane, 1);
    if (first) row = cj_add(f, "tail_row", row, first);
    load_elements(k, address_in_buffer(k, buffer, inside, row, half), p.element);
    p.column = cj_let(f, "s32", "tail_column", "mad.lo.s32 $1, $2, $3, $4;", half, LANE_BYTES / k->g->d_type->bytes,
                      t->whole);
    p.row = cj_add(f, "tail_row", row, box->row);
    cj_reg left = cj_let(f, "s32", "tail_left", "sub.s32 $1, $2, $3;", t->columns, p.column);
    p.count = cj_let(f, "s32", "tail_count", "selp.b32 $1, $2, 0, $3;", left, is_row(k, p.row, row, rows));
    return p;
}

static cj_reg address_in_d(const gemm_kernel *k, const gemm_place *box, const part *p) {
    const uint32_t bytes = k->g->d_type->bytes;
    cj_func       *f = k->f;
    cj_reg         to = cj__load_pointer(f, k->d, "tail_to"),
           row = cj_let(f, "u64", "tail_line", "cvt.u64.s32 $1, $2;", p->row);
    cj_reg line = cj_mul(f, "tail_line", row, cj__load_param(f, "u64", k->d_leading, "leading"));
    if (k->g->batches > 1) {
        cj_reg product = cj_let(f, "u64", "tail_product", "cvt.u64.s32 $1, $2;", box->batch);
        line = cj_mad(f, "tail_line", product, cj__load_param(f, "u64", k->d_stride, "stride"), line);
    }
    to = cj_mad(f, "tail_to", line, bytes, to);
    return cj_let(f, "u64", "tail_to", "mad.wide.s32 $1, $2, $3, $4;", p->column, bytes, to);
}

void cj__gemm_tail_store(const gemm_kernel *k, const gemm_tail *t, const gemm_place *box, uint32_t rows, cj_reg buffer) {
    const uint32_t bytes = k->g->d_type->bytes;
    cj_func       *f = k->f;
    cj_step(f, "the ends of lines, which are no whole 16 bytes: lanes store them if they are in this box");
    cj_reg inside = cj_let(f, "s32", "tail_in_box", "sub.s32 $1, $2, $3;", t->whole, box->column);
    cj_reg other = cj_let(f, "pred", "no_tail", "setp.ge.u32 $1, $2, $3;", inside, cj__gemm_box_columns(k->g));
    CJ_UNLESS(f, other, "without_tail") {
        for (uint32_t first = 0; first < rows; first += ROWS_AT_ONCE) {
            const part p = load_part(k, t, box, rows, first, buffer, inside);
            cj_reg     to = address_in_d(k, box, &p);
            for (uint32_t i = 0; i < LANE_BYTES / bytes; i++)
                cj_ptx(f, "@$1 st.global.b$2 [$3 + $4], $5;", cj_gt(f, "is_column", p.count, i), 8 * bytes, to, i * bytes,
                       p.element[i]);
        }
    }
}
