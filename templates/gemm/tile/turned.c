// SPDX-License-Identifier: Apache-2.0
// Subtiles of a product of which D lies in columns: a warp's 16 rows are 16 neighbours of each line of D.
//
// So the warp's buffer holds a line of D for each of the subtile's columns, as D's tensor map has its boxes: of 16-bit elements 32 bytes
// whose two pieces of 16 are exchanged in every other group of four lines, of f32 64 bytes whose four pieces turn by each two lines.
//
//   sums           column 0 1 2 …                  buffer, f32      rows 0-3 | 4-7 | 8-11 | 12-15
//     row 0        lane 0 0 1 …      ------>         column 0, 1      0         1     2      3
//     row 1        lane 4 4 5 …                      column 2, 3      1         0     3      2
//     …                                              column 4, 5      2         3     0      1
//     row 8        lane 0 0 1 …                      …
//
// 16-bit elements pass it as matrices of 8 by 8 that stmatrix and ldmatrix transpose, four of them (16 rows by 16 columns) or, where the
// subtile ends, two. Each lane writes and reads its f32 by itself: two lanes of a store share a bank.
#include "epilogue.h"

enum { COLUMNS = 8, MATRICES = 4, PIECE = 16, LOWER_ROWS = 2 * PIECE };

static uint32_t line_bytes(const gemm_shape *g) { return GEMM_WARP_ROWS * g->d_type->bytes; }

// The line and the piece of it that this lane names of four matrices: rows 0 to 7 and 8 to 15 of 8 columns, then of the next 8.
static cj_reg address_of_matrices(const gemm_kernel *k, cj_reg own) {
    cj_func *f = k->f;
    cj_reg   line = cj_and(f, "line", k->lane, COLUMNS - 1), next = cj_shr(f, "next_columns", k->lane, 4);
    line = cj_mad(f, "line", next, COLUMNS, line);
    cj_reg piece = cj_shr(f, "piece", k->lane, 3);
    piece = cj_and(f, "piece", cj_xor(f, "piece", piece, cj_shr(f, "turn", k->lane, 2)), 1);
    return cj_mad(f, "turned", piece, PIECE, cj_mad(f, "turned", line, line_bytes(k->g), own));
}

// This lane's element of the first of its two columns: row lane / 4; that of the row 8 below has its address xor LOWER_ROWS.
static cj_reg address_of_elements(const gemm_kernel *k, cj_reg own) {
    cj_func *f = k->f;
    cj_reg   row = cj_shr(f, "row_of_warp", k->lane, 2), pair = cj_and(f, "pair_of_columns", k->lane, 3);
    cj_reg   piece = cj_xor(f, "piece", cj_shr(f, "piece", row, 2), pair);
    cj_reg   at = cj_mad(f, "turned", pair, 2 * line_bytes(k->g), own);
    at = cj_mad(f, "turned", piece, PIECE, at);
    return cj_mad(f, "turned", cj_and(f, "within_piece", row, 3), (uint32_t)sizeof(float), at);
}

cj_reg cj__gemm_turned_address(const gemm_kernel *k, cj_reg own) {
    return (k->g->d_type->bytes == 4 ? address_of_elements : address_of_matrices)(k, own);
}

// Where the i-th of a lane's f32 lies, in the order of sums: from which of two addresses, and how far from it.
static uint32_t half_of(uint32_t i) { return i / 2 % 2; }
static uint32_t offset_of(const gemm_kernel *k, uint32_t i) { return (i / 4 * COLUMNS + i % 2) * line_bytes(k->g); }

static void write_elements(const gemm_kernel *k, const cj_reg at[2], const cj_reg *element, uint32_t columns) {
    for (uint32_t i = 0; i < columns / 2; i++)
        cj_ptx(k->f, "st.shared.b32 [$1 + $2], $3;", at[half_of(i)], offset_of(k, i), element[i]);
}

static void read_elements(const gemm_kernel *k, const cj_reg at[2], const cj_reg *element) {
    for (uint32_t i = 0; i < k->g->subtile / 2; i++)
        cj_ptx(k->f, "ld.shared.f32 $1, [$2 + $3];", element[i], at[half_of(i)], offset_of(k, i));
}

// Matrices that pass at a time, from register `i` of the subtile's on: one for each 8 rows and 8 columns.
static bool     is_whole(uint32_t i, uint32_t columns) { return i + MATRICES <= columns / 4; }
static uint32_t matrices_offset(const gemm_kernel *k, uint32_t i) { return i / 2 * COLUMNS * line_bytes(k->g); }

static void write_matrices(const gemm_kernel *k, cj_reg at, const cj_reg *r, uint32_t columns) {
    for (uint32_t i = 0; i < columns / 4; i += MATRICES)
        if (is_whole(i, columns))
            cj_ptx(k->f, "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$1 + $2], {$3, $4, $5, $6};", at, matrices_offset(k, i), r[i],
                   r[i + 1], r[i + 2], r[i + 3]);
        else
            cj_ptx(k->f, "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [$1 + $2], {$3, $4};", at, matrices_offset(k, i), r[i], r[i + 1]);
}

static void read_matrices(const gemm_kernel *k, cj_reg at, const cj_reg *r) {
    for (uint32_t i = 0; i < k->g->subtile / 4; i += MATRICES)
        if (is_whole(i, k->g->subtile))
            cj_ptx(k->f, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$1, $2, $3, $4}, [$5 + $6];", r[i], r[i + 1], r[i + 2], r[i + 3], at,
                   matrices_offset(k, i));
        else
            cj_ptx(k->f, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$1, $2}, [$3 + $4];", r[i], r[i + 1], at, matrices_offset(k, i));
}

static bool has_matrices(const gemm_kernel *k) { return k->g->d_type->bytes == 2; }

// The addresses of f32 in a buffer whose first one is at `at`.
#define HALVES(k, at) {at, cj_xor((k)->f, "turned_below", at, LOWER_ROWS)}

void cj__gemm_turned_write(const gemm_kernel *k, cj_reg at, const cj_reg *packed, uint32_t columns) {
    if (has_matrices(k)) {
        write_matrices(k, at, packed, columns);
        return;
    }
    const cj_reg half[] = HALVES(k, at);
    write_elements(k, half, packed, columns);
}

void cj__gemm_turned_read(const gemm_kernel *k, cj_reg at, const cj_reg *packed) {
    if (has_matrices(k)) {
        read_matrices(k, at, packed);
        return;
    }
    const cj_reg half[] = HALVES(k, at);
    read_elements(k, half, packed);
}
