// SPDX-License-Identifier: Apache-2.0
// cp.async: from global memory to the stages.
//
// An operand by K: lines of 128 bytes of K each. By line (16-bit elements): 64 lines of K, in boxes of 64 lines of the matrix,
// 128 bytes each. Chunk c of line l lies at chunk c ^ l % 8, so that the 8 chunks that ldmatrix takes from 8 lines lie in
// different banks. Of f64 rows have 16 lines of a box, and chunks lie in another order (f64.c).
//
//   by K                   line 0 | 0 1 2 3 4 5 6 7 |   by line     k 0 | 0 1 2 3 4 5 6 7 | box 1 …
//                          line 1 | 1 0 3 2 5 4 7 6 |               k 1 | 1 0 3 2 5 4 7 6 |
//
// A thread brings pieces of 16 bytes, whole chunks, or, of an operand whose address or lines are multiples of 8 or 4 bytes alone, pieces of
// so many: 2 or 4 threads have a chunk. Of elements of less aligned lines cp.async copies none: load.c brings those, as pieces of 4
// bytes. Where a pass of all threads has 4 lines, every other one lies 4 chunks further, or 4 chunks before: chunk ^ 4.
//
// Out of bounds. Beyond K there must be zeros, in both operands: the copy fills up its piece with them. What lies in lines that
// the matrix does not have reaches only elements that D does not have: by K the thread copies one of its other lines instead; by
// line the piece is filled up with zeros.
#include "mma.h"

static bool is_by_k(const mma_copies *c) { return c->operand->order == CJ_BY_K; }

static uint32_t threads_of(const mma_kernel *k) { return cj__mma_warps(k->tile) * GEMM_WARP; }

// A thread's place in a stage: its piece of the line and its first line.
typedef struct corner {
    cj_reg piece, line;
} corner;

// How far the chunks of a line of a stage are turned: chunk c lies at chunk c ^ this. Of f64 f64.c says why.
static cj_reg turn_of(const mma_kernel *k, const mma_copies *c, cj_reg line) {
    cj_func *f = k->base.f;
    if (!cj__gemm_is_f64(c->operand->type)) return cj_and(f, "turn", line, GEMM_ROW / MMA_CHUNK - 1);
    return cj_mul(f, "turn", cj_and(f, "turn", line, MMA_F64_LINES - 1), MMA_F64_TURN);
}

// Where a thread's first piece lies in stage 0.
static cj_reg place_of(const mma_kernel *k, const mma_copies *c, corner at) {
    cj_func       *f = k->base.f;
    const uint32_t pieces = MMA_CHUNK / c->piece;
    cj_reg         chunk = pieces > 1 ? cj_shr(f, "chunk", at.piece, cj__log2(pieces)) : at.piece;
    cj_reg         turned = cj_xor(f, "turned", chunk, turn_of(k, c, at.line));
    cj_reg         to = cj_mad(f, "to", at.line, GEMM_ROW, k->pool);
    if (c->wide) {
        to = cj_mad(f, "to", cj_shr(f, "box", turned, cj__log2(GEMM_ROW / MMA_CHUNK)), cj__mma_box_bytes(c->operand), to);
        turned = cj_and(f, "turned", turned, GEMM_ROW / MMA_CHUNK - 1);
    }
    to = cj_mad(f, "to", turned, MMA_CHUNK, to);
    if (pieces > 1) to = cj_mad(f, "to", cj_and(f, "within", at.piece, pieces - 1), c->piece, to);
    return c->first ? cj_add(f, "to", to, c->first) : to;
}

static corner find_corner(const mma_kernel *k, mma_copies *c) {
    cj_func       *f = k->base.f;
    const uint32_t box = c->wide ? c->operand->lines : cj__mma_box(c->operand), of_box = c->operand->lines < box ? c->operand->lines : box;
    const uint32_t bytes = is_by_k(c) ? GEMM_ROW : of_box * c->operand->type->bytes, pieces = bytes / c->piece;
    const uint32_t lines = is_by_k(c) ? c->operand->lines : GEMM_ROW / c->operand->type->bytes;
    c->lines = threads_of(k) / pieces;
    c->count = lines / c->lines;
    c->boxes = is_by_k(c) ? 1 : c->operand->lines / of_box;
    corner at = {cj_and(f, "piece", k->base.thread, pieces - 1), cj_shr(f, "line", k->base.thread, cj__log2(pieces))};
    c->to = place_of(k, c, at);
    return at;
}

// base + line * pitch, of 64 bits; `line` is not negative.
static cj_reg at_line(cj_func *f, cj_reg base, cj_reg line, cj_reg pitch) {
    return cj_mad(f, "at", cj_let(f, "u64", "line", "cvt.u64.u32 $1, $2;", line), pitch, base);
}

// An index along K that is counted from where this block's part of K begins, counted from 0: s32.
static cj_reg from_part(const mma_kernel *k, cj_reg index) {
    cj_func *f = k->base.f;
    if (k->base.g->parts == 1) return cj_let(f, "s32", "k_index", "mov.b32 $1, $2;", index);
    cj_reg steps = cj_mul(f, "steps_before", k->part, cj__load_param(f, "u32", k->part_steps, "part_steps"));
    return cj_let(f, "s32", "k_index", "mad.lo.u32 $1, $2, $3, $4;", steps, k->base.g->step, index);
}

static void begin_by_k(const mma_kernel *k, mma_copies *c, corner at, cj_reg pitch) {
    cj_func       *f = k->base.f;
    const bool     is_a = c->operand == &k->base.g->a;
    const uint32_t bytes = c->operand->type->bytes;
    cj_reg         extent = cj__load_param(f, "s32", is_a ? k->m : k->n, "extent");
    cj_reg         piece = from_part(k, cj_mul(f, "k_piece", at.piece, c->piece / bytes));
    cj_reg line = cj_let(f, "s32", "line", "add.s32 $1, $2, $3;", at.line, is_a ? k->place.row : k->place.column);
    line = cj_min(f, "line", line, cj_sub(f, "last", extent, 1));
    if (c->count > 1) c->inside = cj_sub(f, "inside", extent, line);
    c->left = cj_sub(f, "k_left", cj__load_param(f, "s32", k->k, "k_end"), piece);
    c->at = at_line(f, c->at, line, pitch);
    c->at = cj_let(f, "u64", "at", "mad.wide.u32 $1, $2, $3, $4;", piece, bytes, c->at);
    c->next = cj_mov(f, "u64", "next", GEMM_ROW);
}

static void begin_by_line(const mma_kernel *k, mma_copies *c, corner at, cj_reg pitch) {
    cj_func       *f = k->base.f;
    const bool     is_a = c->operand == &k->base.g->a;
    const uint32_t bytes = c->operand->type->bytes, elements = c->piece / bytes;
    cj_reg         line = cj_let(f, "s32", "line", "mad.lo.s32 $1, $2, $3, $4;", at.piece, elements,
                         is_a ? k->place.row : k->place.column);
    cj_reg         left = cj_sub(f, "lines_left", cj__load_param(f, "s32", is_a ? k->m : k->n, "extent"), line);
    cj_reg         row = from_part(k, at.line);
    for (uint32_t i = 0; i < c->boxes; i++) {
        cj_reg size = cj_max(f, "size", i ? cj_sub(f, "lines_left", left, GEMM_BOX * i) : left, 0);
        size = cj_min(f, "size", size, elements);
        c->size[i] = cj_let(f, "u32", "size", "mul.lo.u32 $1, $2, $3;", size, bytes);
    }
    c->left = cj_sub(f, "k_left", cj__load_param(f, "s32", k->k, "k_end"), row);
    c->at = at_line(f, c->at, row, pitch);
    c->at = cj_let(f, "u64", "at", "mad.wide.u32 $1, $2, $3, $4;", line, bytes, c->at);
    c->next = cj_mul(f, "next", pitch, k->base.g->step);
}

void cj__mma_copies_begin(const mma_kernel *k, mma_copies *c, const gemm_operand *operand) {
    cj_func       *f = k->base.f;
    const bool     is_a = operand == &k->base.g->a;
    const unsigned which = is_a ? GEMM_MAP_A : GEMM_MAP_B;
    const uint32_t bytes = operand->type->bytes;
    *c = (mma_copies){.operand = operand,
                      .first = is_a ? 0 : k->base.g->a.bytes,
                      .piece = cj__mma_piece(operand),
                      .loads = cj__mma_piece_loads(operand),
                      .wide = operand->order == CJ_BY_LINE && cj__gemm_is_f64(operand->type)};
    cj_step(f, "this thread's pieces of %s", is_a ? "A" : "B");
    corner at = find_corner(k, c);
    c->at = cj__mma_matrix(k, which, operand->shared, bytes);
    cj_reg pitch = cj__mma_line_bytes(k, which, bytes);
    (is_by_k(c) ? begin_by_k : begin_by_line)(k, c, at, pitch);
    if (c->count > 1) c->pass = cj_mul(f, "pass", pitch, c->lines);
    c->from = cj_u64(f, "from");
    c->bytes = cj_u32(f, "bytes");
    c->line_to = cj_u32(f, "line_to");
    for (uint32_t i = 0; i < c->count * c->boxes * c->loads; i++) c->loaded[i] = cj_register(f, bytes == 2 ? "b16" : "b32", "loaded");
}

// ---- a stage

void cj__mma_copies_stage(const mma_kernel *k, const mma_copies *c, cj_reg stage) {
    cj_func       *f = k->base.f;
    const uint32_t bytes = c->operand->type->bytes;
    cj_set(f, c->from, c->at);
    cj_ptx(f, "add.u32 $1, $2, $3;", c->line_to, c->to, stage);
    if (!is_by_k(c)) return;
    cj_reg left = cj_min(f, "elements", cj_max(f, "elements", c->left, 0), c->piece / bytes);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", c->bytes, left, bytes);
}

// Copies of 16 bytes go past the L1 cache (.cg). Smaller ones go through it (.ca), where a thread finds the sectors that others have loaded.
static void copy(const mma_kernel *k, const mma_copies *c, cj_reg when, uint32_t i, uint32_t box, cj_reg size) {
    if (c->loads) {
        cj__mma_load(k, c, when, i, box, size);
        return;
    }
    cj_ptx(k->base.f, "@$1 cp.async.$8.shared.global [$2 + $3], [$4 + $5], $6, $7;", when, cj__mma_line_at(k, c, i),
           cj__mma_line_offset(c, i, box), c->from, box * GEMM_ROW, c->piece, size, c->piece == MMA_CHUNK ? "cg" : "ca");
}

void cj__mma_copies_line(const mma_kernel *k, const mma_copies *c, cj_reg when, uint32_t i) {
    cj_func *f = k->base.f;
    if (is_by_k(c)) {
        if (i) cj_ptx(f, "@$1 add.u64 $2, $2, $3;", cj_gt(f, "is_line", c->inside, i * c->lines), c->from, c->pass);
        copy(k, c, when, i, 0, c->bytes);
        return;
    }
    if (i) cj_update(f, c->from, "add", c->pass);
    cj_reg is_k = cj_gt(f, "is_k", c->left, i * c->lines);
    for (uint32_t box = 0; box < c->boxes; box++)
        copy(k, c, when, i, box, cj_select(f, "u32", "piece_bytes", is_k, c->size[box], 0));
}

void cj__mma_copies_next(const mma_kernel *k, const mma_copies *c) {
    cj_update(k->base.f, c->at, "add", c->next);
    cj_update(k->base.f, c->left, "sub", k->base.g->step);
}
