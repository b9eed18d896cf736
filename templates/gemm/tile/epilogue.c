// SPDX-License-Identifier: Apache-2.0
// From a tile's sums to D: values (value.c) are rounded to D's type, packed, and stored by tensor stores of 16 rows by a subtile
// of 64 columns (32 of f32, and of tiles whose columns are no multiple of 64) a warp. Those write whole units of 16 bytes: tail.c
// stores the end of a line that is none.
//
// A warp's buffer holds a subtile of C or of D, rows of 128 bytes (of 64 or 32 for narrow subtiles and 8-bit results), swizzled as
// its tensor map says.
// 16-bit elements pass it as fragments of 16 by 16 (ldmatrix, stmatrix). Of other types a thread has two neighbours of row
// lane / 4 and two of the row 8 below in every 8 columns; it writes and reads them itself, in cells of their own: for f32 the
// cells of C are those of D. Where D lies in columns of the product, a box has 16 columns of D and a row for each column of the subtile
// (turned.c).
#include "epilogue.h"

enum { FRAGMENT_REGISTERS = 4, FRAGMENT_COLUMNS = 16, CELL_COLUMNS = 8, CHUNK = 16, PACKED_MAX = 16 };

// Of a thread: pairs of sums of a subtile, and registers of packed results of so many pairs.
static uint32_t pairs_of(const gemm_shape *g) { return g->subtile / 4; }
static uint32_t pairs_in(const gemm_shape *g, uint32_t subtile) { return cj__gemm_columns_of(g, subtile) / 4; }
static uint32_t packed_of(const gemm_shape *g, uint32_t pairs) { return pairs * 2 * g->d_type->bytes / 4; }

// Where the first result register of a subtile is.
static uint32_t packed_at(const gemm_shape *g, uint32_t subtile) { return g->deferred ? subtile * packed_of(g, pairs_of(g)) : 0; }

static bool has_cells(const gemm_type *type) { return type->bytes != 2; }

static bool has_fragments(const gemm_shape *g) { return !has_cells(g->d_type) || (g->adds_c && !has_cells(g->c_type)); }

// Where a lane's cell of the first 8 columns lies in a buffer that begins at `own`: that of the columns 8 i has its
// address xor 8 i elements.
static cj_reg cell_address(const gemm_kernel *k, cj_reg own) {
    const uint32_t bytes = k->g->d_type->bytes, row_bytes = k->g->subtile * bytes;
    cj_func       *f = k->f;
    cj_reg         row = cj_shr(f, "cell_row", k->lane, 2);
    cj_reg         within = cj_mul(f, "cell_within", cj_and(f, "quarter", k->lane, 3), 2 * bytes);
    cj_reg         turn = cj_mul(f, "cell_turn", row, CHUNK * row_bytes / GEMM_ROW);
    turn = cj_let(f, "u32", "cell_turn", "and.b32 $1, $2, $3; // chunks turn by each row of 128 bytes", turn,
                  GEMM_ROW - CHUNK);
    within = cj_xor(f, "cell_within", within, turn);
    return cj_add(f, "cell", cj_mad(f, "cell_row_at", row, row_bytes, own), within);
}

static cj_reg cell_of(const gemm_kernel *k, cj_reg first, uint32_t index) {
    return index ? cj_xor(k->f, "cell", first, CELL_COLUMNS * k->g->d_type->bytes * index) : first;
}

// Bytes from a cell to that of the row 8 below.
static uint32_t cell_below(const gemm_shape *g) { return GEMM_WARP_ROWS / 2 * g->subtile * g->d_type->bytes; }

// Where a lane reads and writes its rows of the first fragment: rows of 128 bytes, or of 64, two of which are a row of the swizzle.
static cj_reg fragment_address(const gemm_kernel *k, cj_reg own) {
    const uint32_t row_bytes = k->g->subtile * k->g->c_type->bytes;
    cj_func       *f = k->f;
    if (row_bytes == GEMM_ROW) return cj_fragment_address(f, own, k->lane);
    cj_reg row = cj_and(f, "fragment_row", k->lane, GEMM_WARP_ROWS - 1);
    cj_reg at = cj_mad(f, "fragment", row, row_bytes, own);
    cj_reg turn = cj_shr(f, "fragment_turn", row, 1), piece = cj_shr(f, "fragment_piece", k->lane, 4);
    piece = cj_let(f, "u32", "fragment_piece", "xor.b32 $1, $2, $3; // chunks turn by each row of 128 bytes", piece, turn);
    return cj_mad(f, "fragment", cj_and(f, "fragment_piece", piece, row_bytes / CHUNK - 1), CHUNK, at);
}

void cj__gemm_results_begin(const gemm_kernel *k, gemm_results *r) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const uint32_t    packed = packed_of(g, g->deferred ? g->tile_n / 4 : pairs_of(g));
    cj_reg            own = cj_sub(f, "consumer_warp", k->warp, GEMM_WARPS);
    r->buffer = cj_mad(f, "results", own, cj__gemm_stores(g) * GEMM_STORE_BYTES, k->shared);
    r->buffer = cj_add(f, "results", r->buffer, g->stages * cj__gemm_stage_bytes(g));
    if (g->turned) r->turned = cj__gemm_turned_address(k, r->buffer);
    if (!g->turned && has_fragments(g)) r->fragment = fragment_address(k, r->buffer);
    if (!g->turned && has_cells(g->d_type)) r->cell = cell_address(k, r->buffer);
    r->place.row = cj_mov(f, "s32", "result_row", 0);
    r->place.column = cj_mov(f, "s32", "result_column", 0);
    if (g->batches > 1) r->place.batch = cj_mov(f, "s32", "result_batch", 0);
    for (uint32_t i = 0; i < packed; i++) r->packed[i] = cj_mov(f, "b32", "packed", 0);
    r->map = cj__gemm_map_address(k, GEMM_MAP_D);
    if (cj__gemm_has_last(g)) r->map_last = cj__gemm_map_address(k, GEMM_MAP_C);
    if (cj__gemm_has_tail(g)) r->tail = cj__gemm_tail_begin(k);
    if (g->deferred) r->some = cj_ne(f, "some", own, own);
    cj__gemm_values_begin(k, &r->values);
    if (g->bias == GEMM_BIAS_COLUMNS) r->values.quarter = cj_and(f, "quarter", k->lane, 3);
    if (!g->adds_c) return;
    r->map_c = cj__gemm_map_address(k, GEMM_MAP_C);
    r->c_ready = cj_mad(f, "c_ready", own, 8, k->c_ready);
    r->c_parity = cj_mov(f, "u32", "c_parity", 0);
}

// Subtiles take the warp's buffers in turns. A tile of one subtile has one buffer, for the next tile's would follow in it.
static uint32_t buffers_of(const gemm_shape *g) {
    return g->subtiles < cj__gemm_stores(g) ? g->subtiles : cj__gemm_stores(g);
}

// Whether a subtile has the buffer of the one that is stored before it: of the same tile, or of the tile before.
static bool follows_in_buffer(const gemm_shape *g, uint32_t subtile) {
    const uint32_t before = (subtile ? subtile : g->subtiles) - 1;
    return before % buffers_of(g) == subtile % buffers_of(g);
}

// Copies that may still read when a subtile takes its buffer: those from the other buffer.
static uint32_t copies_beside(const gemm_shape *g, uint32_t subtile) {
    return follows_in_buffer(g, subtile) ? 0 : buffers_of(g) - 1;
}

static cj_reg in_buffer(const gemm_kernel *k, cj_reg first, uint32_t subtile) {
    const uint32_t buffer = subtile % buffers_of(k->g);
    return buffer ? cj_add(k->f, "buffer", first, buffer * GEMM_STORE_BYTES) : first;
}

// The box of D, or of C, that is a subtile.
static gemm_place box_of(const gemm_kernel *k, const gemm_results *r, uint32_t subtile) {
    cj_reg column = r->place.column;
    if (subtile) column = cj_add(k->f, "subtile_column", column, subtile * k->g->subtile);
    return k->g->turned ? (gemm_place){column, r->place.row, r->place.batch} : (gemm_place){r->place.row, column, r->place.batch};
}

// Whether a copy that was started before may still read the subtile's buffer: one of this tile, or (several a block) of
// the tile before; where the first subtile waits for all of these, not before the second one.
static bool may_be_read(const gemm_shape *g, uint32_t subtile) {
    const bool is_waited_for = subtile && follows_in_buffer(g, 0);
    return subtile >= buffers_of(g) || (!cj__gemm_is_split(g) && !is_waited_for);
}

// ---- sums to results

// C comes into the first buffer, or, where subtiles are not deferred, into the one that the subtile of D will take.
static uint32_t c_buffer_of(const gemm_shape *g, uint32_t subtile) { return g->deferred ? 0 : subtile; }

static void read_cells(const gemm_kernel *k, cj_reg first, cj_reg *c) {
    for (uint32_t i = 0; i < 2 * pairs_of(k->g); i++) c[i] = cj_f32(k->f, "addend");
    if (k->g->turned) {
        cj__gemm_turned_read(k, first, c);
        return;
    }
    for (uint32_t pair = 0; pair < pairs_of(k->g); pair++)
        cj__load(k->f, cj_always(), "ld.shared", "f32", c + 2 * pair, 2, cell_of(k, first, pair / 2),
                 pair % 2 * cell_below(k->g));
}

static void load_fragments(const gemm_kernel *k, cj_reg first, const cj_reg *packed) {
    for (uint32_t i = 0; i < k->g->subtile / FRAGMENT_COLUMNS; i++)
        cj_fragment_load(k->f, packed + FRAGMENT_REGISTERS * i, cj_fragment_at(k->f, first, i));
}

// Two 16-bit elements a register, from where the lane's first ones lie.
static void read_packed(const gemm_kernel *k, cj_reg first, cj_reg *c) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            packed[PACKED_MAX];
    for (uint32_t i = 0; i < pairs_of(g); i++) packed[i] = cj_b32(f, "addends");
    (g->turned ? cj__gemm_turned_read : load_fragments)(k, first, packed);
    for (uint32_t i = 0; i < pairs_of(g); i++) {
        cj_reg low = cj_register(f, "b16", "low"), high = cj_register(f, "b16", "high");
        cj_ptx(f, "mov.b32 {$1, $2}, $3;", low, high, packed[i]);
        c[2 * i] = cj_let(f, "f32", "addend", "cvt.f32.$3 $1, $2;", low, g->c_type->in_ptx);
        c[2 * i + 1] = cj_let(f, "f32", "addend", "cvt.f32.$3 $1, $2;", high, g->c_type->in_ptx);
    }
}

// C may come to where lanes read the ends of lines of the subtile before. Of those before that one a barrier says that they have
// read them, as consumers' turns do.
static void await_buffer_for_c(const gemm_kernel *k, uint32_t subtile, const char *why) {
    cj_bulk_wait_read(k->f, copies_beside(k->g, subtile), why);
    if (follows_in_buffer(k->g, subtile) && cj__gemm_has_tail(k->g) && k->g->teams == 1)
        cj_ptx(k->f, "bar.warp.sync -1; // all lanes have read the ends of their lines there");
}

// The subtile of C becomes addends, which lie as sums do.
static void load_addends(const gemm_kernel *k, const gemm_results *r, uint32_t subtile, cj_reg c[2 * PACKED_MAX]) {
    const gemm_shape *g = k->g;
    const uint32_t    bytes = GEMM_WARP_ROWS * g->subtile * g->c_type->bytes, buffer = c_buffer_of(g, subtile);
    const gemm_place  box = box_of(k, r, subtile);
    cj_reg            at[3], to = in_buffer(k, r->buffer, buffer);
    const uint32_t    rank = cj__gemm_at(k, at, box.column, box.row, box.batch, g->shared_c);
    if (!g->deferred && may_be_read(g, subtile)) await_buffer_for_c(k, subtile, "the buffer is free for C");
    if (g->deferred && subtile) cj_ptx(k->f, "bar.warp.sync -1; // all lanes have read the subtile before");
    cj_mbarrier_arrive_expect(k->f, k->leader, r->c_ready, CJ_ARG((int)bytes), NULL);
    cj_tensor_load(k->f, k->leader, to, r->map_c, at, rank, r->c_ready);
    cj_mbarrier_wait(k->f, r->c_ready, CJ_ARG(r->c_parity), CJ_SCOPE_BLOCK, "C is there");
    cj_mbarrier_flip(k->f, r->c_parity);
    const bool cells = has_cells(g->c_type);
    (cells ? read_cells : read_packed)(k, in_buffer(k, g->turned ? r->turned : cells ? r->cell : r->fragment, buffer), c);
}

// Two values to their place among the subtile's results; 8-bit ones share a register with those of the row 8 below.
static void pack(const gemm_kernel *k, const cj_reg *packed, uint32_t pair, const cj_reg value[2], cj_reg *above) {
    const gemm_type *type = k->g->d_type;
    if (type->bytes == 2) {
        cj_ptx(k->f, "cvt.rn.$1x2.f32 $2, $3, $4;", type->in_ptx, packed[pair], value[1], value[0]);
    } else if (type->bytes == 4) {
        cj_ptx(k->f, "mov.b32 $1, $2;", packed[2 * pair], value[0]);
        cj_ptx(k->f, "mov.b32 $1, $2;", packed[2 * pair + 1], value[1]);
    } else {
        cj_reg narrow = cj__gemm_narrow(k, value[0], value[1]);
        if (pair % 2) cj_ptx(k->f, "mov.b32 $1, {$2, $3};", packed[pair / 2], *above, narrow);
        *above = narrow;
    }
}

void cj__gemm_results_take_subtile(const gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t subtile) {
    const gemm_shape *g = k->g;
    cj_reg            c[2 * PACKED_MAX] = {{0}}, column_bias[2] = {{0}}, above = {0};
    sum += subtile * 2 * pairs_of(g);
    if (g->adds_c) load_addends(k, r, subtile, c);
    for (uint32_t pair = 0; pair < pairs_in(g, subtile); pair++) {
        const uint32_t group = subtile * (g->subtile / CELL_COLUMNS) + pair / 2;
        if (g->bias == GEMM_BIAS_COLUMNS && pair % 2 == 0) cj__gemm_values_columns(k, &r->values, group, column_bias);
        const cj_reg *own = r->values.bias, row_bias[] = {own[pair % 2], own[pair % 2]};
        cj__gemm_value(k, &r->values, sum + 2 * pair, c + 2 * pair,
                       g->bias == GEMM_BIAS_ROWS ? row_bias : column_bias, 2);
        pack(k, r->packed + packed_at(g, subtile), pair, sum + 2 * pair, &above);
    }
}

void cj__gemm_results_place(const gemm_kernel *k, gemm_results *r, const gemm_place *place) {
    cj_reg own = cj__gemm_warp_of_tile(k);
    cj_ptx(k->f, "mad.lo.s32 $1, $2, $3, $4;", r->place.row, own, GEMM_WARP_ROWS, place->row);
    if (k->g->rows < k->g->tile_m)
        cj_ptx(k->f, "@$1 mov.b32 $2, $3; // rows of the next tile: beyond D, where nothing is stored",
               cj_ge(k->f, "is_next", own, k->g->rows / GEMM_WARP_ROWS), r->place.row, GEMM_BEYOND);
    cj_set(k->f, r->place.column, place->column);
    if (k->g->batches > 1) cj_set(k->f, r->place.batch, place->batch);
    if (k->g->deferred) cj_ptx(k->f, "setp.eq.u32 $1, $2, $2;", r->some, own);
}

void cj__gemm_results_take(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place) {
    const gemm_shape *g = k->g;
    cj_step(k->f, g->deferred ? "the sums become results, which are stored during the next tile's mainloop"
                              : "the sums become results, which are stored");
    cj__gemm_results_place(k, r, place);
    if (g->deferred && g->adds_c) await_buffer_for_c(k, 0, "the first buffer is free for C");
    for (uint32_t i = 0; i < g->subtiles; i++) {
        cj__gemm_results_take_subtile(k, r, sum, i);
        if (!g->deferred) cj__gemm_results_store(k, r, i);
    }
}

// ---- results to D

static void write_cells(const gemm_kernel *k, cj_reg first, const cj_reg *packed) {
    const bool wide = k->g->d_type->bytes == 4;
    for (uint32_t i = 0; i < k->g->subtile / CELL_COLUMNS; i++) {
        cj_reg at = cell_of(k, first, i), half[2];
        for (uint32_t row = 0; !wide && row < 2; row++) half[row] = cj_register(k->f, "b16", row ? "lower" : "upper");
        if (!wide) cj_ptx(k->f, "mov.b32 {$1, $2}, $3;", half[0], half[1], packed[i]);
        for (uint32_t row = 0; row < 2; row++)
            cj__store(k->f, cj_always(), "st.shared", wide ? "b32" : "b16",
                      wide ? packed + 4 * i + 2 * row : half + row, wide ? 2 : 1, at, row * cell_below(k->g));
    }
}

static void write_results(const gemm_kernel *k, const gemm_results *r, uint32_t subtile) {
    const cj_reg *packed = r->packed + packed_at(k->g, subtile);
    if (k->g->turned) {
        cj__gemm_turned_write(k, in_buffer(k, r->turned, subtile), packed, cj__gemm_columns_of(k->g, subtile));
        return;
    }
    if (has_cells(k->g->d_type)) {
        write_cells(k, in_buffer(k, r->cell, subtile), packed);
        return;
    }
    cj_reg first = in_buffer(k, r->fragment, subtile);
    for (uint32_t i = 0; i < k->g->subtile / FRAGMENT_COLUMNS; i++)
        cj_fragment_store(k->f, cj_fragment_at(k->f, first, i), packed + FRAGMENT_REGISTERS * i);
}

// Where C came into the buffer, the warp has waited for the buffer before. Lanes that read C there as fragments write it as such; if they
// have cells for D, all must have read it.
static void await_buffer(const gemm_kernel *k, uint32_t subtile) {
    const gemm_shape *g = k->g;
    const bool        had_c = g->adds_c && (!subtile || !g->deferred);
    if (had_c && has_cells(g->d_type) && !has_cells(g->c_type))
        cj_ptx(k->f, "bar.warp.sync -1; // all lanes have read C");
    if (had_c || !may_be_read(g, subtile)) return;
    cj_bulk_wait_read(k->f, copies_beside(g, subtile), "the buffer's last copy has read it,");
    cj_ptx(k->f, "bar.warp.sync -1; // which lane 0 says to all");
}

void cj__gemm_results_store(const gemm_kernel *k, const gemm_results *r, uint32_t subtile) {
    const gemm_shape *g = k->g;
    const bool       has_tail = cj__gemm_has_tail(g);
    const uint32_t   columns = cj__gemm_columns_of(g, subtile);
    cj_reg           buffer = in_buffer(k, r->buffer, subtile), at[3];
    const gemm_place box = box_of(k, r, subtile);
    const uint32_t   rank = cj__gemm_at(k, at, box.column, box.row, box.batch, false);
    await_buffer(k, subtile);
    write_results(k, r, subtile);
    cj_async_fence(k->f, "what this lane wrote is there for the copy,");
    cj_ptx(k->f, "bar.warp.sync -1; // and what all lanes wrote");
    cj_tensor_store(k->f, has_tail ? cj__gemm_tail_sender(k, &r->tail, &box) : k->leader, columns < g->subtile ? r->map_last : r->map, at,
                    rank, buffer);
    cj_bulk_commit(k->f);
    if (has_tail) cj__gemm_tail_store(k, &r->tail, &box, cj__gemm_box_rows(g, columns), buffer);
}
