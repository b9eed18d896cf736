// SPDX-License-Identifier: Apache-2.0
// From a warp's sums to D, and the sums of parts of K.
//
// A lane has of each 16 rows by 8 columns the elements (row, column) = (l / 4, 2 (l % 4)), the next column, and both of the row 8
// below. 16 rows at a time become values (value.c), are rounded and arranged in the warp's own shared memory; then each lane
// stores chunks of 16 bytes of a row (or of as many as D's address and lines are multiples of), and of the last chunk of a line only
// what D has of it.
//
// bar.warp.sync: all lanes have written the rows before others read them, and, once more, read them before the next 16 are
// written. The first one also orders the reads of C, which may be D, before the stores: a warp reads and writes the same elements.
#include "mma.h"

enum { ROWS = MMA_LINES, ROW_BELOW = 8, QUARTER = 2, EIGHTS_MAX = 8 };  // of a fragment; columns of a lane

typedef struct results {
    const mma_kernel *k;
    gemm_values       values;
    cj_reg            m, n;                  // s32
    cj_reg            row, column;           // of this lane's first sum, s32
    cj_reg            own;                   // the warp's shared memory
    cj_reg            bias[2 * EIGHTS_MAX];  // of columns
    cj_reg            c, c_pitch;            // of the warp's product
    cj_reg            d, d_pitch;
} results;

static uint32_t warp_rows(const mma_kernel *k) { return k->tile->m / k->tile->warps_m; }
static uint32_t warp_columns(const mma_kernel *k) { return k->tile->n / k->tile->warps_n; }
static uint32_t eights(const mma_kernel *k) { return warp_columns(k) / MMA_COLUMNS; }
static uint32_t row_sums(const mma_kernel *k) { return 4 * eights(k); }  // of a thread, in 16 rows
static uint32_t sum_bytes(const mma_kernel *k) { return GEMM_WARP * cj__gemm_sum_bytes(k->base.g); }  // of a sum of each lane
static uint32_t part_bytes(const mma_kernel *k) { return cj__mma_sums(k->tile) * sum_bytes(k); }

// ---- split-K

// Stores this part's sums; all but the warp that comes last leave. Returns where this lane's sums of part 0 are. The workspace
// has counters of the warps of all tiles, then the sums of warp 0 of tile 0: part 0, part 1, …, warp 1, ….
static cj_reg share_sums(const mma_kernel *k, const cj_reg *sum, cj_label done) {
    const gemm_kernel *b = &k->base;
    const uint32_t     bytes = part_bytes(k), warps = cj__mma_warps(k->tile);
    cj_func           *f = b->f;
    cj_step(f, "the sums of this part; the last warp that comes adds up those of all");
    cj_reg workspace = cj__load_pointer(f, b->workspace, "workspace"),
           number = cj_mad(f, "number", b->cluster, warps, b->warp);
    cj_reg counter = cj_mad_wide(f, "counter", number, 4, workspace);
    cj_reg sums = cj_mad_wide(f, "sums", b->count, warps * 4, workspace);
    cj_reg first = cj_let(f, "u64", "first", "mul.wide.u32 $1, $2, $3;", number, b->g->parts);
    first = cj_mad(f, "first", first, bytes, cj_mad_wide(f, "sums", b->lane, GEMM_LANE_BYTES, sums));
    cj__gemm_sums_store(b, sum, cj__mma_sums(k->tile), cj_mad_wide(f, "own", k->part, bytes, first));
    cj_reg last = cj__last_warp(f, b->leader, counter, b->g->parts);
    cj_ptx(f, "@!$1 bra.uni $2;", last, done);
    cj__last_warp_sees(f);
    return first;
}

// Some of a lane's sums: those of all parts, in their order. `at`: those of part 0. Of f64 ptxas would start the loads of several parts at once
// and spill, if it unrolled the loop.
static void add_parts(const mma_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at) {
    const gemm_kernel *b = &k->base;
    cj_func           *f = b->f;
    cj_reg             left = cj_mov(f, "u32", "parts_left", b->g->parts), summand[MMA_LINES];
    for (uint32_t i = 0; i < MMA_LINES; i++) summand[i] = cj__gemm_sum(b, "summand");
    for (uint32_t i = 0; i < count; i++) cj__gemm_sum_clear(b, sum[i]);
    CJ_COUNT_DOWN(f, "add_part", left, 1) {
        if (cj__gemm_is_f64(b->g->a.type)) cj_ptx(f, ".pragma \"nounroll\";");
        for (uint32_t i = 0; i < count; i += MMA_LINES) {
            cj__gemm_sums_load(b, "ld.global", summand, MMA_LINES, at, i * sum_bytes(k));
            cj__gemm_sums_add(b, sum + i, summand, MMA_LINES);
        }
        cj_update(f, at, "add", part_bytes(k));
    }
}

// ---- begin

// C of f32, or of f64.
static cj_reg zero_of_c(const gemm_kernel *b, const char *name) {
    return cj__gemm_is_f64(b->g->c_type) ? cj_mov(b->f, "f64", name, 0.0) : cj_mov(b->f, "f32", name, 0.0F);
}

cj_reg cj__mma_element(const gemm_kernel *b, cj_reg when, cj_reg at, uint32_t offset, const char *name) {
    cj_func *f = b->f;
    if (b->g->c_type->bytes >= 4) {
        cj_reg x = zero_of_c(b, name);
        cj__load(f, when, "ld.global", b->g->c_type->in_ptx, &x, 1, at, offset);
        return x;
    }
    cj_reg half = cj_let(f, "b16", "half", "mov.b16 $1, 0;");
    cj__load(f, when, "ld.global", "b16", &half, 1, at, offset);
    return cj_let(f, "f32", name, "cvt.f32.$3 $1, $2;", half, b->g->c_type->in_ptx);
}

// Of f64, C and the bias are loaded for each row, 8 columns after the other, as registers do not hold more beside the sums. Lanes
// branch around rows that D has not: without branches ptxas starts the loads of all rows at once and spills.
static bool branches(const gemm_shape *g) { return cj__gemm_is_f64(g->d_type) && (g->adds_c || g->bias); }

// The bias of this lane's columns, the first of which is `first`, of the eights from `from` to `to`.
static void load_bias(const results *r, cj_reg first, uint32_t from, uint32_t to, cj_reg bias[2 * EIGHTS_MAX]) {
    const gemm_kernel *b = &r->k->base;
    const uint32_t     bytes = b->g->c_type->bytes;
    cj_reg at = cj_let(b->f, "u64", "bias_at", "mad.wide.u32 $1, $2, $3, $4;", first, bytes, cj__load_pointer(b->f, b->bias, "bias"));
    for (uint32_t i = 2 * from; i < 2 * to; i++) {
        const uint32_t column = i / 2 * MMA_COLUMNS + i % 2;
        cj_reg         inside = cj_gt(b->f, "inside", r->n, column ? cj_add(b->f, "bias_column", first, column) : first);
        bias[i] = cj__mma_element(&r->k->base, inside, at, column * bytes, "bias_of_column");
    }
}

static void begin(results *r) {
    const mma_kernel  *k = r->k;
    const gemm_kernel *b = &k->base;
    const gemm_shape  *g = b->g;
    cj_func           *f = b->f;
    cj_step(f, "where this warp's elements of D are");
    cj__gemm_values_begin(b, &r->values);
    r->m = cj__load_param(f, "s32", k->m, "m_end");
    r->n = cj__load_param(f, "s32", k->n, "n_end");
    r->row = cj_let(f, "s32", "row", "mad.lo.s32 $1, $2, $3, $4;", k->warp_m, warp_rows(k), k->place.row);
    r->column = cj_let(f, "s32", "column", "mad.lo.s32 $1, $2, $3, $4;", k->warp_n, warp_columns(k), k->place.column);
    r->own = cj_mad(f, "own", b->warp, cj__mma_result_bytes(g, k->tile), k->pool);
    r->d = cj__mma_matrix(k, GEMM_MAP_D, false, g->d_type->bytes);
    r->d_pitch = cj__mma_line_bytes(k, GEMM_MAP_D, g->d_type->bytes);
    if (!g->adds_c) return;
    r->c = cj__mma_matrix(k, GEMM_MAP_C, g->shared_c, g->c_type->bytes);
    r->c_pitch = cj__mma_line_bytes(k, GEMM_MAP_C, g->c_type->bytes);
}

// ---- 16 rows of values

cj_reg cj__mma_element_at(cj_func *f, cj_reg matrix, cj_reg row, cj_reg pitch, cj_reg column, uint32_t bytes) {
    cj_reg line = cj_mad(f, "line", cj_let(f, "u64", "line", "cvt.u64.u32 $1, $2;", row), pitch, matrix);
    return cj_let(f, "u64", "at", "mad.wide.u32 $1, $2, $3, $4;", column, bytes, line);
}

// Rounded and stored side by side in shared memory.
static void arrange(const results *r, cj_reg at, uint32_t offset, const cj_reg value[2]) {
    const gemm_kernel *b = &r->k->base;
    const gemm_type   *type = b->g->d_type;
    if (type->bytes >= 4) {
        cj__store(b->f, cj_always(), "st.shared", cj__gemm_sum_type(b->g), value, 2, at, offset);
        return;
    }
    cj_reg packed = type->bytes == 1 ? cj__gemm_narrow(b, value[0], value[1])
                                     : cj_let(b->f, "b32", "packed", "cvt.rn.$4x2.f32 $1, $2, $3;", value[1], value[0], type->in_ptx);
    cj_ptx(b->f, "st.shared.b$1 [$2 + $3], $4;", 16 * type->bytes, at, offset, packed);
}

// Two elements of C side by side; 0 where `when` does not hold. The address is a multiple of their size.
static void load_pair(const results *r, cj_reg when, cj_reg at, uint32_t offset, cj_reg pair[2]) {
    cj_func         *f = r->k->base.f;
    const gemm_type *type = r->k->base.g->c_type;
    if (type->bytes >= 4) {
        for (uint32_t i = 0; i < 2; i++) pair[i] = zero_of_c(&r->k->base, "addend");
        cj__load(f, when, "ld.global", type->in_ptx, pair, 2, at, offset);
        return;
    }
    cj_reg half[2] = {cj_register(f, "b16", "low"), cj_register(f, "b16", "high")},
           both = cj_mov(f, "b32", "addends", 0);
    cj__load(f, when, "ld.global", "b32", &both, 1, at, offset);
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], both);
    for (uint32_t i = 0; i < 2; i++)
        pair[i] = cj_let(f, "f32", "addend", "cvt.f32.$3 $1, $2;", half[i], type->in_ptx);
}

// Whether two elements of C side by side are one load: none is half out of bounds, and they lie at a multiple of their size.
static bool has_pairs(const gemm_shape *g) {
    return !cj__mma_has_tail(g) && g->d_align >= 2 * g->d_type->bytes && g->c_align >= 2 * g->c_type->bytes;
}

// This lane's elements of a row of C, of the eights from `from` to `to`.
static void load_addends(const results *r, cj_reg is_row, cj_reg row, cj_reg column, uint32_t from, uint32_t to, cj_reg addend[2 * EIGHTS_MAX]) {
    cj_func       *f = r->k->base.f;
    const uint32_t bytes = r->k->base.g->c_type->bytes, step = has_pairs(r->k->base.g) ? 2 : 1;
    cj_reg         at = cj__mma_element_at(f, r->c, row, r->c_pitch, column, bytes);
    for (uint32_t i = 2 * from; i < 2 * to; i += step) {
        const uint32_t offset = i / 2 * MMA_COLUMNS + i % 2;
        cj_reg         inside = cj_gt(f, "is_column", r->n, offset ? cj_add(f, "c_column", column, offset) : column);
        inside = cj_and(f, "inside", is_row, inside);
        if (step == 1)
            addend[i] = cj__mma_element(&r->k->base, inside, at, offset * bytes, "addend");
        else
            load_pair(r, inside, at, offset * bytes, addend + i);
    }
}

// Whether a value depends on its row and column.
static bool asks_row(const gemm_shape *g) { return g->adds_c || g->bias == GEMM_BIAS_ROWS || branches(g); }
static bool asks_column(const gemm_shape *g) { return g->adds_c || g->bias == GEMM_BIAS_COLUMNS; }

// Of a row the eights from `from` to `to`.
static void take_columns(const results *r, cj_reg is_row, cj_reg row, cj_reg column, uint32_t from, uint32_t to, cj_reg bias_of_row,
                         const cj_reg *sum, cj_reg at) {
    const gemm_kernel *b = &r->k->base;
    const gemm_shape  *g = b->g;
    const bool         has_bias = g->bias == GEMM_BIAS_COLUMNS;
    cj_reg             addend[2 * EIGHTS_MAX] = {{0}}, bias[2 * EIGHTS_MAX];
    if (has_bias && branches(g)) load_bias(r, column, from, to, bias);
    if (g->adds_c) load_addends(r, is_row, row, column, from, to, addend);
    for (uint32_t i = 2 * from; i < 2 * to; i++)
        cj__gemm_value(b, &r->values, &sum[i / 2 * 4 + i % 2], &addend[i], !has_bias ? &bias_of_row : branches(g) ? &bias[i] : &r->bias[i], 1);
    for (uint32_t i = from; i < to; i++) arrange(r, at, i * MMA_COLUMNS * g->d_type->bytes, sum + 4 * i);
}

// One of the two rows that a lane has of 16: `sum` are those of its row in the first 8 columns.
static void take_row(const results *r, cj_reg row, cj_reg column, const cj_reg *sum, cj_reg to) {
    const gemm_kernel *b = &r->k->base;
    const gemm_shape  *g = b->g;
    cj_reg             is_row = cj_none(), bias = cj_none();
    if (asks_row(g)) is_row = cj_lt(b->f, "is_row", row, r->m);
    if (g->bias == GEMM_BIAS_ROWS) {
        cj_reg at = cj__load_pointer(b->f, b->bias, "bias");
        at = cj_let(b->f, "u64", "bias_at", "mad.wide.u32 $1, $2, $3, $4;", row, g->c_type->bytes, at);
        bias = cj__mma_element(&r->k->base, is_row, at, 0, "bias_of_row");
    }
    if (!branches(g)) {
        take_columns(r, is_row, row, column, 0, eights(r->k), bias, sum, to);
        return;
    }
    CJ_IF(b->f, is_row, "row_done")
    for (uint32_t i = 0; i < eights(r->k); i++) take_columns(r, is_row, row, column, i, i + 1, bias, sum, to);
}

// ---- 16 rows to D

// The elements of a chunk that D has, where it has not all.
static void store_end(const results *r, cj_reg left, cj_reg from, cj_reg to) {
    const uint32_t bytes = r->k->base.g->d_type->bytes;
    cj_func       *f = r->k->base.f;
    for (uint32_t i = 0; i < r->k->base.g->d_align / bytes - 1; i++) {
        cj_reg x = cj_register(f, bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16", "end"), is_there = cj_gt(f, "is_there", left, i);
        cj_ptx(f, "@$1 ld.shared.b$2 $3, [$4 + $5];", is_there, 8 * bytes, x, from, i * bytes);
        cj_ptx(f, "@$1 st.global.b$2 [$3 + $4], $5;", is_there, 8 * bytes, to, i * bytes, x);
    }
}

// A whole chunk from shared memory to D.
static void store_chunk(const results *r, cj_reg is_row, cj_reg is_whole, cj_reg from, uint32_t offset, cj_reg to) {
    const uint32_t    bytes = r->k->base.g->d_align, words = bytes > 4 ? bytes / 4 : 1;
    const char *const type = bytes == 1 ? "b8" : bytes == 2 ? "b16" : "b32";
    cj_func          *f = r->k->base.f;
    cj_reg            x[4];
    for (uint32_t j = 0; j < words; j++) x[j] = cj_register(f, bytes < 4 ? "b16" : "b32", "chunk_of_d");
    cj__load(f, cj_always(), "ld.shared", type, x, words, from, offset);
    cj__store(f, cj_and(f, "stores", is_row, is_whole), "st.global", type, x, words, to, 0);
}

// A lane's chunk of every row that is `rows` after another, from row `down` after `first` on: of this one it lies at `from`.
static void store_column(const results *r, cj_reg from, cj_reg down, cj_reg first, cj_reg column, uint32_t rows) {
    const mma_kernel *k = r->k;
    const gemm_shape *g = k->base.g;
    const uint32_t    bytes = g->d_type->bytes, elements = g->d_align / bytes;
    cj_func          *f = k->base.f;
    cj_reg            left = cj_sub(f, "columns_left", r->n, column);
    cj_reg            row = cj_let(f, "s32", "store_row", "add.s32 $1, $2, $3;", down, first);
    cj_reg            to = cj__mma_element_at(f, r->d, row, r->d_pitch, column, bytes);
    cj_reg            is_whole = cj_ge(f, "is_whole", left, elements), pass = cj_mul(f, "pass", r->d_pitch, rows);
    for (uint32_t i = 0; i < ROWS; i += rows) {
        cj_reg is_row = cj_gt(f, "is_row", r->m, i ? cj_add(f, "store_row", row, i) : row);
        store_chunk(r, is_row, is_whole, from, i * cj__mma_result_row(g, k->tile), to);
        if (cj__mma_has_tail(g)) {
            cj_reg end = cj_let(f, "pred", "is_end", "setp.lt.and.s32 $1, $2, $3, $4;", left, elements, is_row);
            CJ_IF(f, end, "stored")
            store_end(r, left, i ? cj_add(f, "end_from", from, i * cj__mma_result_row(g, k->tile)) : from, to);
        }
        if (i + rows < ROWS) to = cj_add(f, "to", to, pass);
    }
}

// Each lane's chunks of the rows from `first` on: where a row has more chunks than the warp has lanes, several of each row.
static void store_rows(const results *r, cj_reg first) {
    const mma_kernel *k = r->k;
    const gemm_shape *g = k->base.g;
    const uint32_t    elements = g->d_align / g->d_type->bytes, all = warp_columns(k) / elements;
    const uint32_t    chunks = all < GEMM_WARP ? all : GEMM_WARP, rows = GEMM_WARP / chunks;
    cj_func          *f = k->base.f;
    cj_reg            chunk = cj_and(f, "chunk", k->base.lane, chunks - 1),
           down = cj_shr(f, "down", k->base.lane, cj__log2(chunks));
    cj_reg from = cj_mad(f, "from", chunk, g->d_align, cj_mad(f, "from", down, cj__mma_result_row(g, k->tile), r->own));
    cj_reg column = cj_let(f, "s32", "chunk_column", "mad.lo.s32 $1, $2, $3, $4;", chunk, elements, r->column);
    for (uint32_t i = 0; i < all; i += chunks) {
        cj_reg own = i ? cj_add(f, "chunk_from", from, i * g->d_align) : from;
        store_column(r, own, down, first, i ? cj_add(f, "chunk_column", column, i * elements) : column, rows);
    }
}

// 16 rows of the warp's, the i-th time: `sum` are the lane's sums of them, `to` its place in shared memory.
static void emit_rows(const results *r, uint32_t i, const cj_reg *sum, cj_reg row, cj_reg column, cj_reg to) {
    cj_func       *f = r->k->base.f;
    const uint32_t below = ROW_BELOW * cj__mma_result_row(r->k->base.g, r->k->tile);
    if (i) cj_ptx(f, "bar.warp.sync -1; // all lanes have read the rows before");
    for (uint32_t j = 0; j < 2; j++) {
        const uint32_t offset = i * ROWS + j * ROW_BELOW;
        // Each compiler evaluates arguments in an order of its own, so only one of them may emit.
        const cj_reg place = j ? cj_add(f, "row_below", to, below) : to;
        take_row(r, offset && asks_row(r->k->base.g) ? cj_add(f, "value_row", row, offset) : row, column, sum + 2 * j, place);
    }
    cj_ptx(f, "bar.warp.sync -1; // all lanes have written theirs");
    store_rows(r, i ? cj_add(f, "first_row", r->row, i * ROWS) : r->row);
}

void cj__mma_results(const mma_kernel *k, const cj_reg sum[MMA_SUMS_MAX], cj_label done) {
    const gemm_shape *g = k->base.g;
    cj_func          *f = k->base.f;
    results           r = {.k = k};
    cj_reg            parts = g->parts > 1 ? share_sums(k, sum, done) : cj_none();
    begin(&r);
    cj_reg quarter = cj_and(f, "quarter", k->base.lane, 3), down = cj_shr(f, "down", k->base.lane, 2), first = r.column;
    cj_reg to = cj_mad(f, "to", down, cj__mma_result_row(g, k->tile), r.own);
    to = cj_mad(f, "to", quarter, QUARTER * g->d_type->bytes, to);
    cj_reg column = cj_none(), own_row = cj_none();
    if (asks_column(g)) column = cj_let(f, "s32", "own_column", "mad.lo.s32 $1, $2, $3, $4;", quarter, QUARTER, first);
    if (asks_row(g)) own_row = cj_let(f, "s32", "own_row", "add.s32 $1, $2, $3;", down, r.row);
    r.column = column;
    if (g->bias == GEMM_BIAS_COLUMNS && !branches(g)) load_bias(&r, r.column, 0, eights(k), r.bias);
    r.column = first;
    const uint32_t count = cj__mma_sums(k->tile);
    const uint32_t pass = (uint32_t)cj__least(count, (uint64_t)cj__gemm_constants.mma_pass_sums * 4 / cj__gemm_sum_bytes(g));
    for (uint32_t i = 0; i < count; i += row_sums(k)) {
        const uint32_t rows = i / row_sums(k) * ROWS;
        cj_step(f, "rows %u to %u of the warp's", (unsigned)rows, (unsigned)(rows + ROWS - 1));
        if (g->parts > 1 && i % pass == 0) add_parts(k, sum + i, pass, cj_add(f, "of_part", parts, i * sum_bytes(k)));
        emit_rows(&r, rows / ROWS, sum + i, own_row, column, to);
    }
}
