// SPDX-License-Identifier: Apache-2.0
// From a tile's sums to D: scaled, C added, packed to 16 bits, and sent on by tensor stores of 16 rows by 64 columns.
#include "gemm.h"

enum { FRAGMENTS = GEMM_BOX / 16, FRAGMENT_REGISTERS = 4, PIECE_SUMS = GEMM_BOX / 2 };

void cj__gemm_results_begin(gemm_kernel *k, gemm_results *r) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            own = cj_u32(f, "consumer_warp");
    r->buffer = cj_u32(f, "results");
    cj_ptx(f, "sub.u32 $1, $2, $3;", own, k->warp, GEMM_WARPS);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", r->buffer, own, GEMM_STORES * GEMM_STORE_BYTES, k->shared);
    cj_ptx(f, "add.u32 $1, $1, $2;", r->buffer, g->stages * (g->a_bytes + g->b_bytes));
    r->fragment = cj_fragment_address(f, r->buffer, k->lane);
    r->place = (gemm_place){cj_s32(f, "result_row"), cj_s32(f, "result_column")};
    cj_ptx(f, "mov.s32 $1, 0;", r->place.row);
    cj_ptx(f, "mov.s32 $1, 0;", r->place.column);
    for (uint32_t i = 0; i < g->tile_n / 4; i++) {
        r->packed[i] = cj_b32(f, "packed");
        cj_ptx(f, "mov.b32 $1, 0;", r->packed[i]);
    }
    r->some = cj_pred(f, "some");
    r->map = cj__gemm_map_address(k, GEMM_MAP_D);
    r->alpha = cj_f32(f, "alpha");
    cj_ptx(f, "setp.ne.u32 $1, $2, $2;", r->some, own);
    cj_ptx(f, "ld.param.f32 $1, [$2];", r->alpha, k->alpha);
    if (!g->adds_c) return;
    r->map_c = cj__gemm_map_address(k, GEMM_MAP_C);
    r->beta = cj_f32(f, "beta");
    r->c_ready = cj_u32(f, "c_ready");
    r->c_parity = cj_u32(f, "c_parity");
    cj_ptx(f, "ld.param.f32 $1, [$2];", r->beta, k->beta);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", r->c_ready, own, k->c_ready);
    cj_ptx(f, "mov.u32 $1, 0;", r->c_parity);
}

// Pieces take the warp's buffers by turns. A tile of one piece has one buffer, for the next tile's piece would follow
// in it.
static uint32_t buffers_of(const gemm_shape *g) { return g->pieces < GEMM_STORES ? g->pieces : GEMM_STORES; }

static cj_reg in_buffer(const gemm_kernel *k, cj_reg first, uint32_t piece) {
    const uint32_t buffer = piece % buffers_of(k->g);
    if (!buffer) return first;
    cj_reg at = cj_u32(k->f, "buffer");
    cj_ptx(k->f, "add.u32 $1, $2, $3;", at, first, buffer * GEMM_STORE_BYTES);
    return at;
}

static cj_reg column_of(const gemm_kernel *k, cj_reg first, uint32_t piece) {
    if (!piece) return first;
    cj_reg column = cj_s32(k->f, "piece_column");
    cj_ptx(k->f, "add.s32 $1, $2, $3;", column, first, piece * GEMM_BOX);
    return column;
}

// ---- sums to results

// The piece of C becomes the piece's addends: loaded to the buffer, from there to registers as fragments, which lie
// as sums do.
static void load_addends(gemm_kernel *k, const gemm_results *r, uint32_t piece, cj_reg c[PIECE_SUMS / 2]) {
    cj_func     *f = k->f;
    const cj_reg at[2] = {column_of(k, r->place.column, piece), r->place.row};
    if (piece) cj_ptx(f, "bar.warp.sync -1; // all lanes have read the piece before");
    cj_mbarrier_arrive_expect(f, k->leader, r->c_ready, CJ_ARG((int)GEMM_STORE_BYTES), NULL);
    cj_tensor_load(f, k->leader, r->buffer, r->map_c, at, 2, r->c_ready);
    cj_mbarrier_wait(f, r->c_ready, CJ_ARG(r->c_parity), CJ_SCOPE_BLOCK, "C is there");
    cj_mbarrier_flip(f, r->c_parity);
    for (uint32_t i = 0; i < PIECE_SUMS / 2; i++) c[i] = cj_b32(f, "addends");
    for (uint32_t i = 0; i < FRAGMENTS; i++)
        cj_fragment_load(f, c + FRAGMENT_REGISTERS * i, cj_fragment_at(f, r->fragment, i));
}

// sum = sum + beta * the two elements of `c`.
static void add_pair(const gemm_kernel *k, const gemm_results *r, const cj_reg sum[2], cj_reg c) {
    cj_func *f = k->f;
    cj_reg   half[2] = {cj_register(f, "b16", "low"), cj_register(f, "b16", "high")};
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], c);
    for (int i = 0; i < 2; i++) {
        cj_reg wide = cj_f32(f, "addend");
        cj_ptx(f, "cvt.f32.$1 $2, $3;", k->g->type, wide, half[i]);
        cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", sum[i], r->beta, wide);
    }
}

static void take_piece(gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t piece) {
    cj_func *f = k->f;
    cj_reg   c[PIECE_SUMS / 2];
    if (k->g->adds_c) load_addends(k, r, piece, c);
    for (uint32_t i = 0; i < PIECE_SUMS / 2; i++) {
        const cj_reg *pair = sum + PIECE_SUMS * piece + 2 * i;
        cj_ptx(f, "mul.rn.f32 $1, $1, $2;", pair[0], r->alpha);
        cj_ptx(f, "mul.rn.f32 $1, $1, $2;", pair[1], r->alpha);
        if (k->g->adds_c) add_pair(k, r, pair, c[i]);
        cj_ptx(f, "cvt.rn.$1x2.f32 $2, $3, $4;", k->g->type, r->packed[PIECE_SUMS / 2 * piece + i], pair[1], pair[0]);
    }
}

void cj__gemm_results_take(gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place) {
    cj_func *f = k->f;
    cj_reg   down = cj_u32(f, "rows_above");
    cj_step(f, "the sums become results, which leave behind the next tile's first steps");
    cj_ptx(f, "sub.u32 $1, $2, $3;", down, k->warp, GEMM_WARPS);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", r->place.row, down, GEMM_WARP_ROWS, place->row);
    cj_ptx(f, "mov.s32 $1, $2;", r->place.column, place->column);
    cj_ptx(f, "setp.eq.u32 $1, $2, $2;", r->some, down);
    if (k->g->adds_c) cj_bulk_wait_read(f, buffers_of(k->g) - 1, "the first buffer is free for C");
    for (uint32_t piece = 0; piece < k->g->pieces; piece++) take_piece(k, r, sum, piece);
}

// ---- results to D

// The first buffer was waited for before C came into it.
void cj__gemm_results_store(gemm_kernel *k, const gemm_results *r, uint32_t piece) {
    cj_func      *f = k->f;
    cj_reg        buffer = in_buffer(k, r->buffer, piece), fragment = in_buffer(k, r->fragment, piece);
    const cj_reg *packed = r->packed + PIECE_SUMS / 2 * piece;
    const cj_reg  at[2] = {column_of(k, r->place.column, piece), r->place.row};
    if (piece || !k->g->adds_c) {
        cj_bulk_wait_read(f, buffers_of(k->g) - 1, "the buffer's last copy has read it,");
        cj_ptx(f, "bar.warp.sync -1; // which lane 0 says to all");
    }
    for (uint32_t i = 0; i < FRAGMENTS; i++)
        cj_fragment_store(f, cj_fragment_at(f, fragment, i), packed + FRAGMENT_REGISTERS * i);
    cj_async_fence(f, "what this lane wrote is there for the copy,");
    cj_ptx(f, "bar.warp.sync -1; // and what all lanes wrote");
    cj_tensor_store(f, k->leader, r->map, at, 2, buffer);
    cj_bulk_commit(f);
}
