// SPDX-License-Identifier: Apache-2.0
// From a tile's sums to D: values (gemm_value.c) are rounded to D's type, packed, and sent on by tensor stores of 16 rows
// by a piece of 64 columns (32 of f32) a warp. Those write whole units of 16 bytes: the end of a line that is none is
// gemm_tail.c's.
//
// A warp's buffer holds a piece of C or of D, rows of 128 bytes (of 64 for 8-bit results), swizzled as its tensor map
// says. 16-bit elements pass it as fragments of 16 by 16. A thread's neighbours of other types, two elements of row
// lane / 4 and two of the row 8 below in every 8 columns, have cells of their own there, which it writes and reads
// alone: for f32 the cells of C are those of D.
#include "epilogue.h"

enum { FRAGMENT_REGISTERS = 4, FRAGMENT_COLUMNS = 16, CELL_COLUMNS = 8, CHUNK = 16, PACKED_MAX = 16 };

// Of a piece and a thread: pairs of sums, and registers of packed results.
static uint32_t pairs_of(const gemm_shape *g) { return g->subtile / 4; }
static uint32_t packed_of(const gemm_shape *g) { return pairs_of(g) * 2 * g->d_type->bytes / 4; }

// Where the first result register of a piece is.
static uint32_t packed_at(const gemm_shape *g, uint32_t piece) { return g->deferred ? piece * packed_of(g) : 0; }

static bool has_cells(const gemm_type *type) { return type->bytes != 2; }

// Where a lane's cell of the first 8 columns lies in a buffer that begins at `own`: that of the columns 8 i has its
// address xor 8 i elements.
static cj_reg cell_address(const gemm_kernel *k, cj_reg own) {
    const uint32_t bytes = k->g->d_type->bytes, row_bytes = k->g->subtile * bytes;
    cj_func       *f = k->f;
    cj_reg         row = cj_u32(f, "cell_row"), within = cj_u32(f, "cell_within"), turn = cj_u32(f, "cell_turn"),
           at = cj_u32(f, "cell");
    cj_ptx(f, "shr.u32 $1, $2, 2;", row, k->lane);
    cj_ptx(f, "and.b32 $1, $2, 3;", within, k->lane);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", within, 2 * bytes);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", turn, row, CHUNK * row_bytes / GEMM_ROW);
    cj_ptx(f, "and.b32 $1, $1, $2; // chunks turn by each row of 128 bytes", turn, GEMM_ROW - CHUNK);
    cj_ptx(f, "xor.b32 $1, $1, $2;", within, turn);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", at, row, row_bytes, own);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, within);
    return at;
}

static cj_reg cell_of(const gemm_kernel *k, cj_reg first, uint32_t index) {
    if (!index) return first;
    cj_reg at = cj_u32(k->f, "cell");
    cj_ptx(k->f, "xor.b32 $1, $2, $3;", at, first, CELL_COLUMNS * k->g->d_type->bytes * index);
    return at;
}

// Bytes from a cell to that of the row 8 below.
static uint32_t cell_below(const gemm_shape *g) { return GEMM_WARP_ROWS / 2 * g->subtile * g->d_type->bytes; }

void cj__gemm_results_begin(const gemm_kernel *k, gemm_results *r) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            own = cj_u32(f, "consumer_warp");
    const uint32_t    packed = (g->deferred ? g->subtiles : 1) * packed_of(g);
    r->buffer = cj_u32(f, "results");
    cj_ptx(f, "sub.u32 $1, $2, $3;", own, k->warp, GEMM_WARPS);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", r->buffer, own, GEMM_STORES * GEMM_STORE_BYTES, k->shared);
    cj_ptx(f, "add.u32 $1, $1, $2;", r->buffer, g->stages * (g->a_bytes + g->b_bytes));
    r->fragment = cj_fragment_address(f, r->buffer, k->lane);
    if (has_cells(g->d_type)) r->cell = cell_address(k, r->buffer);
    r->place = (gemm_place){cj_s32(f, "result_row"), cj_s32(f, "result_column"), cj_s32(f, "result_batch")};
    cj_ptx(f, "mov.s32 $1, 0;", r->place.row);
    cj_ptx(f, "mov.s32 $1, 0;", r->place.column);
    if (g->batches > 1) cj_ptx(f, "mov.s32 $1, 0;", r->place.batch);
    for (uint32_t i = 0; i < packed; i++) {
        r->packed[i] = cj_b32(f, "packed");
        cj_ptx(f, "mov.b32 $1, 0;", r->packed[i]);
    }
    r->some = cj_pred(f, "some");
    r->map = cj__gemm_map_address(k, GEMM_MAP_D);
    if (cj__gemm_is_ragged(g)) r->tail = cj__gemm_tail_begin(k);
    cj_ptx(f, "setp.ne.u32 $1, $2, $2;", r->some, own);
    cj__gemm_values_begin(k, &r->values);
    if (!g->adds_c) return;
    r->map_c = cj__gemm_map_address(k, GEMM_MAP_C);
    r->c_ready = cj_u32(f, "c_ready");
    r->c_parity = cj_u32(f, "c_parity");
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", r->c_ready, own, k->c_ready);
    cj_ptx(f, "mov.u32 $1, 0;", r->c_parity);
}

// Pieces take the warp's buffers by turns. A tile of one piece has one buffer, for the next tile's piece would follow
// in it.
static uint32_t buffers_of(const gemm_shape *g) { return g->subtiles < GEMM_STORES ? g->subtiles : GEMM_STORES; }

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
    cj_ptx(k->f, "add.s32 $1, $2, $3;", column, first, piece * k->g->subtile);
    return column;
}

// Whether a copy that was started before may still read the piece's buffer: one of this tile, or (several a block) of
// the tile before.
static bool may_be_read(const gemm_shape *g, uint32_t piece) { return !cj__gemm_is_split(g) || piece >= buffers_of(g); }

// ---- sums to results

// C comes into the first buffer, or, where pieces are not kept, into the one that the piece of D will take.
static uint32_t c_buffer_of(const gemm_shape *g, uint32_t piece) { return g->deferred ? 0 : piece; }

static void read_addends(const gemm_kernel *k, const gemm_results *r, uint32_t buffer, cj_reg c[2 * PACKED_MAX]) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    if (has_cells(g->c_type)) {
        cj_reg first = in_buffer(k, r->cell, buffer);
        for (uint32_t i = 0; i < 2 * pairs_of(g); i++) c[i] = cj_f32(f, "addend");
        for (uint32_t pair = 0; pair < pairs_of(g); pair++)
            cj_ptx(f, "ld.shared.v2.f32 {$1, $2}, [$3 + $4];", c[2 * pair], c[2 * pair + 1],
                   cell_of(k, first, pair / 2), pair % 2 * cell_below(g));
        return;
    }
    cj_reg packed[PACKED_MAX], first = in_buffer(k, r->fragment, buffer);
    for (uint32_t i = 0; i < pairs_of(g); i++) packed[i] = cj_b32(f, "addends");
    for (uint32_t i = 0; i < g->subtile / FRAGMENT_COLUMNS; i++)
        cj_fragment_load(f, packed + FRAGMENT_REGISTERS * i, cj_fragment_at(f, first, i));
    for (uint32_t i = 0; i < pairs_of(g); i++) {
        cj_reg half[2] = {cj_register(f, "b16", "low"), cj_register(f, "b16", "high")};
        cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], packed[i]);
        for (uint32_t j = 0; j < 2; j++) {
            c[2 * i + j] = cj_f32(f, "addend");
            cj_ptx(f, "cvt.f32.$1 $2, $3;", g->c_type->name, c[2 * i + j], half[j]);
        }
    }
}

// The piece of C becomes the piece's addends, which lie as sums do.
static void load_addends(const gemm_kernel *k, const gemm_results *r, uint32_t piece, cj_reg c[2 * PACKED_MAX]) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const uint32_t    bytes = GEMM_WARP_ROWS * g->subtile * g->c_type->bytes;
    cj_reg            at[3];
    const uint32_t    rank = cj__gemm_at(k, at, column_of(k, r->place.column, piece), r->place.row, r->place.batch,
                                         g->shared_c);
    cj_reg            to = in_buffer(k, r->buffer, c_buffer_of(g, piece));
    if (!g->deferred && may_be_read(g, piece)) cj_bulk_wait_read(f, buffers_of(g) - 1, "the buffer is free for C");
    if (g->deferred && piece) cj_ptx(f, "bar.warp.sync -1; // all lanes have read the piece before");
    cj_mbarrier_arrive_expect(f, k->leader, r->c_ready, CJ_ARG((int)bytes), NULL);
    cj_tensor_load(f, k->leader, to, r->map_c, at, rank, r->c_ready);
    cj_mbarrier_wait(f, r->c_ready, CJ_ARG(r->c_parity), CJ_SCOPE_BLOCK, "C is there");
    cj_mbarrier_flip(f, r->c_parity);
    read_addends(k, r, c_buffer_of(g, piece), c);
}

// Two values to their place among the piece's results; 8-bit ones share a register with those of the row 8 below.
static void pack(const gemm_kernel *k, const cj_reg *packed, uint32_t pair, const cj_reg value[2], cj_reg *above) {
    const gemm_type *type = k->g->d_type;
    cj_func         *f = k->f;
    if (type->bytes == 2) {
        cj_ptx(f, "cvt.rn.$1x2.f32 $2, $3, $4;", type->name, packed[pair], value[1], value[0]);
    } else if (type->bytes == 4) {
        cj_ptx(f, "mov.b32 $1, $2;", packed[2 * pair], value[0]);
        cj_ptx(f, "mov.b32 $1, $2;", packed[2 * pair + 1], value[1]);
    } else {
        cj_reg narrow = cj_register(f, "b16", "narrow");
        cj_ptx(f, "cvt.rn.satfinite.$1x2.f32 $2, $3, $4;", type->name, narrow, value[1], value[0]);
        if (pair % 2) cj_ptx(f, "mov.b32 $1, {$2, $3};", packed[pair / 2], *above, narrow);
        *above = narrow;
    }
}

void cj__gemm_results_take_subtile(const gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t piece) {
    const gemm_shape *g = k->g;
    cj_reg            c[2 * PACKED_MAX] = {{0}}, column_bias[2] = {{0}}, above = {0};
    sum += piece * 2 * pairs_of(g);
    if (g->adds_c) load_addends(k, r, piece, c);
    for (uint32_t pair = 0; pair < pairs_of(g); pair++) {
        const uint32_t group = piece * (g->subtile / CELL_COLUMNS) + pair / 2;
        if (g->bias == GEMM_BIAS_COLUMNS && pair % 2 == 0) cj__gemm_values_columns(k, &r->values, group, column_bias);
        for (uint32_t i = 0; i < 2; i++) {
            const cj_reg bias = g->bias == GEMM_BIAS_ROWS ? r->values.bias[pair % 2] : column_bias[i];
            cj__gemm_value(k, &r->values, sum[2 * pair + i], c[2 * pair + i], bias);
        }
        pack(k, r->packed + packed_at(g, piece), pair, sum + 2 * pair, &above);
    }
}

void cj__gemm_results_place(const gemm_kernel *k, gemm_results *r, const gemm_place *place) {
    cj_func *f = k->f;
    cj_reg   down = cj_u32(f, "rows_above");
    cj_ptx(f, "sub.u32 $1, $2, $3;", down, k->warp, GEMM_WARPS);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", r->place.row, down, GEMM_WARP_ROWS, place->row);
    cj_ptx(f, "mov.s32 $1, $2;", r->place.column, place->column);
    if (k->g->batches > 1) cj_ptx(f, "mov.s32 $1, $2;", r->place.batch, place->batch);
    if (k->g->deferred) cj_ptx(f, "setp.eq.u32 $1, $2, $2;", r->some, down);
}

void cj__gemm_results_take(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place) {
    const gemm_shape *g = k->g;
    cj_step(k->f, g->deferred ? "the sums become results, which leave behind the next tile's steps"
                              : "the sums become results, which leave");
    cj__gemm_results_place(k, r, place);
    if (g->deferred && g->adds_c) {
        cj_bulk_wait_read(k->f, buffers_of(g) - 1, "the first buffer is free for C");
        // With several pieces, others have been sent since the ends of lines were read there, with such a barrier.
        if (cj__gemm_is_ragged(g) && g->subtiles == 1)
            cj_ptx(k->f, "bar.warp.sync -1; // all lanes have read the ends of their lines there");
    }
    for (uint32_t piece = 0; piece < g->subtiles; piece++) {
        cj__gemm_results_take_subtile(k, r, sum, piece);
        if (!g->deferred) cj__gemm_results_store(k, r, piece);
    }
}

// ---- results to D

static void write_results(const gemm_kernel *k, const gemm_results *r, uint32_t piece) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const cj_reg     *packed = r->packed + packed_at(g, piece);
    cj_reg            first = in_buffer(k, has_cells(g->d_type) ? r->cell : r->fragment, piece);
    if (!has_cells(g->d_type)) {
        for (uint32_t i = 0; i < g->subtile / FRAGMENT_COLUMNS; i++)
            cj_fragment_store(f, cj_fragment_at(f, first, i), packed + FRAGMENT_REGISTERS * i);
        return;
    }
    for (uint32_t i = 0; i < g->subtile / CELL_COLUMNS; i++) {
        cj_reg at = cell_of(k, first, i);
        if (g->d_type->bytes == 4) {
            cj_ptx(f, "st.shared.v2.b32 [$1], {$2, $3};", at, packed[4 * i], packed[4 * i + 1]);
            cj_ptx(f, "st.shared.v2.b32 [$1 + $2], {$3, $4};", at, cell_below(g), packed[4 * i + 2], packed[4 * i + 3]);
            continue;
        }
        cj_reg row[2] = {cj_register(f, "b16", "upper"), cj_register(f, "b16", "lower")};
        cj_ptx(f, "mov.b32 {$1, $2}, $3;", row[0], row[1], packed[i]);
        cj_ptx(f, "st.shared.b16 [$1], $2;", at, row[0]);
        cj_ptx(f, "st.shared.b16 [$1 + $2], $3;", at, cell_below(g), row[1]);
    }
}

// Where C came into the buffer, it was waited for before. Lanes that read C there as fragments write it as such; if they
// have cells for D, all must have read it.
static void claim_buffer(const gemm_kernel *k, uint32_t piece) {
    const gemm_shape *g = k->g;
    const bool        had_c = g->adds_c && (!piece || !g->deferred);
    if (had_c && has_cells(g->d_type) && !has_cells(g->c_type))
        cj_ptx(k->f, "bar.warp.sync -1; // all lanes have read C");
    if (had_c || !may_be_read(g, piece)) return;
    cj_bulk_wait_read(k->f, buffers_of(g) - 1, "the buffer's last copy has read it,");
    cj_ptx(k->f, "bar.warp.sync -1; // which lane 0 says to all");
}

void cj__gemm_results_store(const gemm_kernel *k, const gemm_results *r, uint32_t piece) {
    cj_func   *f = k->f;
    const bool ragged = cj__gemm_is_ragged(k->g);
    cj_reg     buffer = in_buffer(k, r->buffer, piece), column = column_of(k, r->place.column, piece), at[3];
    uint32_t   rank = cj__gemm_at(k, at, column, r->place.row, r->place.batch, false);
    claim_buffer(k, piece);
    write_results(k, r, piece);
    cj_async_fence(f, "what this lane wrote is there for the copy,");
    cj_ptx(f, "bar.warp.sync -1; // and what all lanes wrote");
    cj_tensor_store(f, ragged ? cj__gemm_tail_sender(k, &r->tail, column) : k->leader, r->map, at, rank, buffer);
    cj_bulk_commit(f);
    if (ragged) cj__gemm_tail_store(k, &r->tail, &r->place, column, buffer);
}
