// SPDX-License-Identifier: Apache-2.0
// stencil, 2-D, blocked and step in registers: rows stream through a warp, which is `depth` steps deep.
//
// A warp has a strip of 32 lanes x 4 columns, and of it a chunk of rows. Row after row comes in from the top; level t
// holds the last 2 radius + 1 rows as they are after t steps, and each row that reaches level t makes one, `radius`
// rows back, of level t + 1. What leaves the last level is a result:
//
//   row y of `from` -> level 0 (2 radius + 1 rows) -> row y - radius, level 1 -> … -> row y - depth * radius of `to`
//
// A step costs `radius` columns on either side of a strip that ends inside the grid, and `radius` rows at either end of
// a chunk: strips overlap by that (in whole lanes), and a warp reads depth * radius rows above and below its chunk.
// Outside the grid a row of any level is 0, or a copy of the first or last one; above the first one it is made when
// that comes. The loop is unrolled 2 radius + 1 times, so that the rows of a level change places without being moved.
// No warp waits for another: there is no barrier.
//
// The last launch may have fewer steps. It has a loop of its own, with as many levels and the same strips and chunks.
#include "stencil.h"

enum { DEPTH_MAX = 32, WINDOW_MAX = 2 * RADIUS_MAX + 1 };

typedef struct stream {
    const kernel *k;
    uint32_t      window;            // rows of a level
    cj_reg        writes;            // whether the lane's columns are results
    cj_reg        chunk, chunk_end;  // rows of results
    cj_reg        pitch, from, to;   // bytes of a row; addresses of the lane's columns in row 0
    stencil_ends  ends;
    stencil_row   level[DEPTH_MAX][WINDOW_MAX], ahead[WINDOW_MAX], result;
} stream;

// ---- where the warp is

// The warp's strip and chunk. Returns the first column of the lane, and in *number the problem.
static cj_reg emit_chunk(stream *w, cj_label done, cj_reg *number) {
    cj_func       *f = w->k->f;
    const stencil *s = w->k->s;
    const uint64_t chunks = cj__ceil_div(s->n[1], s->tile);
    cj_step(f, "the warp's strip and chunk");
    cj_reg warp = cj_shr(f, "warp", w->k->thread, 5);
    *number = cj_mad(f, "number", w->k->block, s->warps, warp);
    cj_ptx(f, "@$1 bra $2;", cj_ge(f, "beyond", *number, s->batch * s->strips * chunks), done);
    cj_reg part = cj_rem(f, "strip", *number, s->strips);
    cj_update(f, *number, "div", s->strips);
    cj_reg x = cj_let(f, "s32", "x", "mul.lo.s32 $1, $2, $3;", part, s->strip);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $1;", x, w->k->lane, s->columns);
    cj_update(f, x, "sub", s->strip_margin);
    part = cj_rem(f, "chunk_number", *number, chunks);
    cj_update(f, *number, "div", chunks);
    w->chunk = cj_let(f, "s32", "chunk", "mul.lo.s32 $1, $2, $3;", part, s->tile);
    w->chunk_end = cj_add(f, "chunk_end", w->chunk, s->tile);
    cj_update(f, w->chunk_end, "min", s->n[1]);
    return x;
}

static void emit_place(stream *w, cj_label done) {
    const kernel         *k = w->k;
    cj_func              *f = k->f;
    const stencil        *s = k->s;
    cj_reg                number, x = emit_chunk(w, done, &number), column;
    const stencil_buffers buffers = cj__stencil_buffers(k, number);
    cj_step(f, "the lane's columns; which it reads where they are outside the grid, and whether they are results");
    w->ends = cj__stencil_row_ends(k, x);
    cj_reg in_grid = cj_let(f, "pred", "in_grid", "setp.lt.u32 $1, $2, $3;", x, s->n[0]);
    cj_reg lane = cj_sub(f, "result_lane", k->lane, s->strip_margin / s->columns);
    w->writes = cj_and(f, "writes", in_grid, cj_lt(f, "lane_results", lane, s->strip / s->columns));
    if (s->boundary == BOUNDARY_PERIODIC && s->strips > 1) {
        column = cj_add(f, "column", x, s->n[0]);
        cj_ptx(f, "rem.u32 $1, $1, $2;", column, s->n[0]);
    } else {
        column = cj_min(f, "column", cj_max(f, "column", x, 0), s->n[0] - s->columns);
    }
    w->pitch = cj_mov(f, "u64", "pitch", (uint64_t)s->n[0] * s->bytes);
    w->from = cj_mad_wide(f, "from_column", column, s->bytes, buffers.from);
    w->to = cj_mad_wide(f, "to_column", x, s->bytes, buffers.to);
}

// ---- rows

// The address of the lane's columns in row y (s32).
static cj_reg row_address(const stream *w, cj_reg y, cj_reg base) {
    cj_reg wide = cj_cvt(w->k->f, "s64", "row_wide", y);
    return cj_mad(w->k->f, "row_at", wide, w->pitch, base);
}

// Row `y` of `from` if it is before last_row, or what stands outside the grid in its place.
static void emit_load(const stream *w, const stencil_row *into, cj_reg y, cj_reg last_row, uint32_t reach) {
    const kernel  *k = w->k;
    const uint32_t n = k->s->n[1];
    CJ_ONCE(k->f, load, "have_row") {
        cj_leave(&load, cj_ge(k->f, "no_row", y, last_row));
        cj_reg at = cj_mov(k->f, "s32", "from_row", y);
        cj__stencil_enter_grid(k, at, n, reach);
        if (k->s->boundary == BOUNDARY_ZERO) {
            cj__stencil_row_zero(k, into);
            cj_leave(&load, cj_ne(k->f, "row_outside", at, y));
        }
        cj__stencil_row_load(k, "ld.global", into, row_address(w, at, w->from), VECTOR_BYTES);
    }
}

// A row that was made outside the grid becomes what the boundary says. `older` are the level's rows before it, the
// newest first.
static void emit_edge(const stream *w, const stencil_row *row, cj_reg y, const stencil_row *const *older) {
    const kernel  *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    if (s->boundary == BOUNDARY_ZERO) {
        cj_reg inside = cj_let(f, "pred", "row_inside", "setp.lt.u32 $1, $2, $3;", y, s->n[1]);
        CJ_UNLESS(f, inside, "row_inside") cj__stencil_row_zero(k, row);
    } else if (s->boundary == BOUNDARY_CLAMP) {
        CJ_UNLESS(f, cj_ne(f, "not_first", y, 0), "row_below") {
            for (uint32_t i = 0; i < s->radius; i++) cj__stencil_row_move(k, older[i], row, false);
        }
        CJ_UNLESS(f, cj_lt(f, "row_inside", y, s->n[1]), "row_inside") cj__stencil_row_move(k, row, older[0], false);
    }
}

// The rows of a level by age, 0 the newest, when a row has come in phase `phase` of the loop.
static const stencil_row *aged(const stream *w, uint32_t level, uint32_t phase, uint32_t age) {
    return &w->level[level][(phase + w->window - age) % w->window];
}

// Row y of the last level, if it is of the chunk.
static void emit_result(const stream *w, cj_reg y, const stencil_row *const *rows) {
    const kernel *k = w->k;
    CJ_ONCE(k->f, result, "no_result") {
        cj_leave(&result, cj_lt(k->f, "before_chunk", y, w->chunk));
        cj_leave(&result, cj_ge(k->f, "after_chunk", y, w->chunk_end));
        if (!k->s->box) cj__stencil_row_sides(k, &w->ends, rows[k->s->radius]);
        cj__stencil_row_sum(k, &w->result, rows);
        cj__stencil_row_store(k, w->writes, "st.global", &w->result, row_address(w, y, w->to), VECTOR_BYTES);
    }
}

// Row `row` goes through all `depth` levels, and out. A star needs the sides of the row in the middle; a box needs those of
// all rows, and gets them as soon as a row is made.
static void emit_row(const stream *w, uint32_t phase, uint32_t depth, cj_reg row) {
    const kernel  *k = w->k;
    const uint32_t r = k->s->radius;
    cj_reg         y = cj_mov(k->f, "s32", "made_row", row);
    if (k->s->box) cj__stencil_row_sides(k, &w->ends, aged(w, 0, phase, 0));
    for (uint32_t t = 0; t < depth; t++) {
        const stencil_row *rows[WINDOW_MAX], *older[RADIUS_MAX];
        for (uint32_t i = 0; i < w->window; i++) rows[i] = aged(w, t, phase, w->window - 1 - i);
        cj_note(k->f, "level %u", t + 1);
        cj_update(k->f, y, "sub", r);
        if (t + 1 == depth) {
            emit_result(w, y, rows);
            break;
        }
        const stencil_row *made = aged(w, t + 1, phase, 0);
        for (uint32_t i = 0; i < r; i++) older[i] = aged(w, t + 1, phase, i + 1);
        if (!k->s->box) cj__stencil_row_sides(k, &w->ends, rows[r]);
        cj__stencil_row_sum(k, made, rows);
        if (k->s->box) cj__stencil_row_sides(k, &w->ends, made);
        emit_edge(w, made, y, older);
    }
}

// All rows of the chunk, with `depth` levels. Rows are loaded `window` rows before they are needed.
static void emit_rows(const stream *w, uint32_t depth) {
    cj_func       *f = w->k->f;
    const uint32_t reach = depth * w->k->s->radius;
    cj_step(f, "%u step%s: rows in flight, and an empty history", depth, depth == 1 ? "" : "s");
    cj_reg row = cj_sub(f, "row", w->chunk, reach), last_row = cj_add(f, "last_row", w->chunk_end, reach);
    for (uint32_t i = 0; i < w->window; i++) {
        cj_reg next = cj_add(f, "next_row", row, i);
        cj__stencil_row_zero(w->k, &w->ahead[i]);  // rows that are never loaded go through the levels, too
        emit_load(w, &w->ahead[i], next, last_row, reach);
    }
    for (uint32_t t = 0; t < depth; t++)
        for (uint32_t i = 0; i < w->window; i++) cj__stencil_row_zero(w->k, &w->level[t][i]);
    CJ_DO(f, "next_rows", cj_let(f, "pred", "more_rows", "setp.lt.s32 $1, $2, $3;", row, last_row)) {
        for (uint32_t phase = 0; phase < w->window; phase++) {
            cj_step(f, "row %u of %u goes through the levels", phase + 1, w->window);
            cj__stencil_row_move(w->k, aged(w, 0, phase, 0), &w->ahead[phase], false);
            emit_load(w, &w->ahead[phase], cj_add(f, "next_row", row, w->window), last_row, reach);
            emit_row(w, phase, depth, row);
            cj_update(f, row, "add", 1);
        }
    }
}

static void new_rows(stream *w) {
    char name[32];
    for (uint32_t i = 0; i < w->window; i++) {
        for (uint32_t t = 0; t < w->k->s->depth; t++) {
            snprintf(name, sizeof name, "level%u_row%u", t, i);
            w->level[t][i] = cj__stencil_row(w->k, name);
        }
        snprintf(name, sizeof name, "ahead%u", i);
        w->ahead[i] = cj__stencil_row(w->k, name);
    }
    w->result = cj__stencil_row(w->k, "result");
}

void cj__stencil_emit_stream(const kernel *k) {
    const stencil *s = k->s;
    const uint32_t rest = s->launches > 1 ? (uint32_t)(s->steps % s->depth) : 0;
    stream         w = {.k = k, .window = 2 * s->radius + 1};
    cj_label       done = cj_label_new(k->f, "done");
    new_rows(&w);
    emit_place(&w, done);
    if (rest) {
        CJ_UNLESS(k->f, cj_ne(k->f, "has_fewer", cj__stencil_steps(k), s->depth), "fewer_steps") {
            emit_rows(&w, s->depth);
            cj_ptx(k->f, "bra $1;", done);
        }
    }
    emit_rows(&w, rest ? rest : s->depth);
    cj_label_here(k->f, done);
}
