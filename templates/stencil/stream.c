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
#include <stdio.h>

#include "stencil.h"

enum { DEPTH_MAX = 32, WINDOW_MAX = 2 * RADIUS_MAX + 1 };

typedef struct stream {
    kernel     *k;
    uint32_t    window, depth;     // rows of a level; levels
    cj_reg      x, column;         // the lane's first column in the grid; the one that it reads
    cj_reg      chunk, chunk_end;  // rows of results
    cj_reg      writes;            // whether the lane's columns are results
    cj_reg      row, last_row;     // the one that comes in next; the first that does not
    cj_reg      pitch;             // bytes of a row, u64
    cj_reg      from, to;          // addresses of the lane's columns in row 0
    stencil_row level[DEPTH_MAX][WINDOW_MAX], ahead[WINDOW_MAX], result;
} stream;

// ---- where the warp is

static void emit_place(stream *w, cj_label done) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    const uint32_t lanes = s->columns, chunks = (s->n[1] + s->tile - 1) / s->tile, whole = s->strips == 1;
    const uint32_t margin = whole ? 0 : (s->margin + lanes - 1) / lanes * lanes, width = WARP * lanes - 2 * margin;
    cj_reg         number = cj_u32(f, "number"), part = cj_u32(f, "part"), past = cj_pred(f, "past");
    cj_step(f, "the warp's strip and chunk");
    cj_ptx(f, "shr.u32 $1, $2, 5;", part, k->thread);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", number, k->block, s->warps, part);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, number, s->batch * s->strips * chunks);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "rem.u32 $1, $2, $3;", part, number, s->strips);
    cj_ptx(f, "div.u32 $1, $1, $2;", number, s->strips);
    cj_ptx(f, "mul.lo.s32 $1, $2, $3;", w->x, part, width);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $1;", w->x, k->lane, lanes);
    cj_ptx(f, "sub.s32 $1, $1, $2;", w->x, margin);
    cj_ptx(f, "rem.u32 $1, $2, $3;", part, number, chunks);
    cj_ptx(f, "div.u32 $1, $1, $2;", number, chunks);
    cj_ptx(f, "mul.lo.s32 $1, $2, $3;", w->chunk, part, s->tile);
    cj_ptx(f, "add.s32 $1, $2, $3;", w->chunk_end, w->chunk, s->tile);
    cj_ptx(f, "min.s32 $1, $1, $2;", w->chunk_end, s->n[1]);
    cj__stencil_buffers(k, number);

    cj_reg lane_results = cj_pred(f, "lane_results");
    cj_step(f, "the lane's columns; which it reads where they are outside the grid, and whether they are results");
    cj__stencil_row_ends(k, w->x);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", w->writes, w->x, s->n[0]);
    cj_ptx(f, "sub.u32 $1, $2, $3;", part, k->lane, margin / lanes);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", lane_results, part, width / lanes);
    cj_ptx(f, "and.pred $1, $1, $2;", w->writes, lane_results);
    if (s->boundary == BOUNDARY_PERIODIC && !whole) {
        cj_ptx(f, "add.s32 $1, $2, $3;", w->column, w->x, s->n[0]);
        cj_ptx(f, "rem.u32 $1, $1, $2;", w->column, s->n[0]);
    } else {
        cj_ptx(f, "max.s32 $1, $2, 0;", w->column, w->x);
        cj_ptx(f, "min.s32 $1, $1, $2;", w->column, s->n[0] - lanes);
    }
    cj_ptx(f, "mov.u64 $1, $2;", w->pitch, (uint64_t)s->n[0] * s->bytes);
    cj_ptx(f, "mad.wide.s32 $1, $2, $3, $4;", w->from, w->column, s->bytes, k->from);
    cj_ptx(f, "mad.wide.s32 $1, $2, $3, $4;", w->to, w->x, s->bytes, k->to);
}

// ---- rows

// Row `y` of `from`, or what stands outside the grid in its place.
static void emit_load(stream *w, const stencil_row *into, cj_reg y) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    const uint32_t n = s->n[1];
    cj_reg         at = cj_s32(f, "from_row"), address = cj_u64(f, "row_at"), wide = cj_s64(f, "row_wide");
    cj_reg         none = cj_pred(f, "no_row");
    cj_label       have = cj_label_new(f, "have_row");
    cj_ptx(f, "setp.ge.s32 $1, $2, $3;", none, y, w->last_row);
    cj_ptx(f, "@$1 bra $2;", none, have);
    cj_ptx(f, "mov.s32 $1, $2;", at, y);
    if (s->boundary == BOUNDARY_PERIODIC) {
        cj_ptx(f, "add.s32 $1, $1, $2;", at, (w->depth * s->radius + n - 1) / n * n);
        cj_ptx(f, "rem.u32 $1, $1, $2;", at, n);
    } else {
        cj_ptx(f, "max.s32 $1, $1, 0;", at);
        cj_ptx(f, "min.s32 $1, $1, $2;", at, n - 1);
    }
    if (s->boundary == BOUNDARY_ZERO) {
        cj__stencil_row_zero(k, into);
        cj_ptx(f, "setp.ne.s32 $1, $2, $3;", none, at, y);
        cj_ptx(f, "@$1 bra $2;", none, have);
    }
    cj_ptx(f, "cvt.s64.s32 $1, $2;", wide, at);
    cj_ptx(f, "mad.lo.s64 $1, $2, $3, $4;", address, wide, w->pitch, w->from);
    cj__stencil_row_load(k, "ld.global", into, address, VECTOR_BYTES);
    cj_label_here(f, have);
}

// A row that was made outside the grid becomes what the boundary says. `older` are the level's rows before it, the
// newest first.
static void emit_edge(stream *w, const stencil_row *row, cj_reg y, const stencil_row *const *older) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    if (s->boundary == BOUNDARY_PERIODIC) return;
    cj_reg   outside = cj_pred(f, "row_outside");
    cj_label inside = cj_label_new(f, "row_inside");
    if (s->boundary == BOUNDARY_ZERO) {
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", outside, y, s->n[1]);
        cj_ptx(f, "@$1 bra $2;", outside, inside);
        cj__stencil_row_zero(k, row);
        cj_label_here(f, inside);
        return;
    }
    cj_label below = cj_label_new(f, "row_below");
    cj_ptx(f, "setp.ne.s32 $1, $2, 0;", outside, y);
    cj_ptx(f, "@$1 bra $2;", outside, below);
    for (uint32_t i = 0; i < s->radius; i++) cj__stencil_row_move(k, older[i], row);
    cj_label_here(f, below);
    cj_ptx(f, "setp.lt.s32 $1, $2, $3;", outside, y, s->n[1]);
    cj_ptx(f, "@$1 bra $2;", outside, inside);
    cj__stencil_row_move(k, row, older[0]);
    cj_label_here(f, inside);
}

// The rows of a level by age, 0 the newest, when a row has come in phase `phase` of the loop.
static const stencil_row *aged(const stream *w, uint32_t level, uint32_t phase, uint32_t age) {
    return &w->level[level][(phase + w->window - age) % w->window];
}

// Row y of the last level, if it is of the chunk.
static void emit_result(stream *w, cj_reg y, const stencil_row *const *rows) {
    kernel  *k = w->k;
    cj_func *f = k->f;
    cj_reg   none = cj_pred(f, "no_result"), wide = cj_s64(f, "row_wide"), address = cj_u64(f, "row_at");
    cj_label skip = cj_label_new(f, "no_result");
    cj_ptx(f, "setp.lt.s32 $1, $2, $3;", none, y, w->chunk);
    cj_ptx(f, "@$1 bra $2;", none, skip);
    cj_ptx(f, "setp.ge.s32 $1, $2, $3;", none, y, w->chunk_end);
    cj_ptx(f, "@$1 bra $2;", none, skip);
    if (!k->s->box) cj__stencil_row_sides(k, rows[k->s->radius]);
    cj__stencil_row_sum(k, &w->result, rows);
    cj_ptx(f, "cvt.s64.s32 $1, $2;", wide, y);
    cj_ptx(f, "mad.lo.s64 $1, $2, $3, $4;", address, wide, w->pitch, w->to);
    cj__stencil_row_store(k, w->writes, "st.global", &w->result, address, VECTOR_BYTES);
    cj_label_here(f, skip);
}

// One row goes through all the levels, and out. A star looks at the sides of the row in the middle, a box at those of
// all rows, which therefore get them as soon as they are made.
static void emit_row(stream *w, uint32_t phase) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const uint32_t r = k->s->radius;
    cj_reg         y = cj_s32(f, "made_row");
    cj_ptx(f, "mov.s32 $1, $2;", y, w->row);
    if (k->s->box) cj__stencil_row_sides(k, aged(w, 0, phase, 0));
    for (uint32_t t = 0; t < w->depth; t++) {
        const stencil_row *rows[WINDOW_MAX], *older[RADIUS_MAX];
        for (uint32_t i = 0; i < w->window; i++) rows[i] = aged(w, t, phase, w->window - 1 - i);
        cj_note(f, "level %u", t + 1);
        cj_ptx(f, "sub.s32 $1, $1, $2;", y, r);
        if (t + 1 == w->depth) {
            emit_result(w, y, rows);
            break;
        }
        const stencil_row *made = aged(w, t + 1, phase, 0);
        for (uint32_t i = 0; i < r; i++) older[i] = aged(w, t + 1, phase, i + 1);
        if (!k->s->box) cj__stencil_row_sides(k, rows[r]);
        cj__stencil_row_sum(k, made, rows);
        if (k->s->box) cj__stencil_row_sides(k, made);
        emit_edge(w, made, y, older);
    }
}

// All rows of the chunk, with `depth` levels. Rows are loaded `window` rows before they are needed.
static void emit_rows(stream *w, uint32_t depth) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const uint32_t r = k->s->radius, reach = depth * r;
    cj_reg         past = cj_pred(f, "past"), next = cj_s32(f, "next_row");
    cj_label       more = cj_label_new(f, "next_rows");
    w->depth = depth;
    cj_step(f, "%u step%s: rows in flight, and an empty history", depth, depth == 1 ? "" : "s");
    cj_ptx(f, "sub.s32 $1, $2, $3;", w->row, w->chunk, reach);
    cj_ptx(f, "add.s32 $1, $2, $3;", w->last_row, w->chunk_end, reach);
    for (uint32_t i = 0; i < w->window; i++) {
        cj_ptx(f, "add.s32 $1, $2, $3;", next, w->row, i);
        cj__stencil_row_zero(k, &w->ahead[i]);  // rows that are never loaded go through too
        emit_load(w, &w->ahead[i], next);
    }
    for (uint32_t t = 0; t < depth; t++)
        for (uint32_t i = 0; i < w->window; i++) cj__stencil_row_zero(k, &w->level[t][i]);
    cj_label_here(f, more);
    for (uint32_t phase = 0; phase < w->window; phase++) {
        cj_step(f, "row %u of %u goes through", phase + 1, w->window);
        cj__stencil_row_move(k, aged(w, 0, phase, 0), &w->ahead[phase]);
        cj_ptx(f, "add.s32 $1, $2, $3;", next, w->row, w->window);
        emit_load(w, &w->ahead[phase], next);
        emit_row(w, phase);
        cj_ptx(f, "add.s32 $1, $1, 1;", w->row);
    }
    cj_ptx(f, "setp.lt.s32 $1, $2, $3;", past, w->row, w->last_row);
    cj_ptx(f, "@$1 bra $2;", past, more);
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

void cj__stencil_emit_stream(kernel *k) {
    cj_func       *f = k->f;
    const stencil *s = k->s;
    const uint32_t rest = (uint32_t)(s->steps % s->depth);
    stream         w = {.k = k, .window = 2 * s->radius + 1};
    cj_label       done = cj_label_new(f, "done"), short_one = cj_label_new(f, "fewer_steps");
    w.x = cj_s32(f, "x");
    w.column = cj_s32(f, "column");
    w.chunk = cj_s32(f, "chunk");
    w.chunk_end = cj_s32(f, "chunk_end");
    w.writes = cj_pred(f, "writes");
    w.row = cj_s32(f, "row");
    w.last_row = cj_s32(f, "last_row");
    w.pitch = cj_u64(f, "pitch");
    w.from = cj_u64(f, "from_column");
    w.to = cj_u64(f, "to_column");
    new_rows(&w);
    emit_place(&w, done);
    if (rest && s->launches > 1) {
        cj_reg is_short = cj_pred(f, "is_short"), steps = cj__stencil_steps(k);
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", is_short, steps, s->depth);
        cj_ptx(f, "@$1 bra $2;", is_short, short_one);
    }
    emit_rows(&w, s->depth);
    if (rest && s->launches > 1) {
        cj_ptx(f, "bra $1;", done);
        cj_label_here(f, short_one);
        emit_rows(&w, rest);
    }
    cj_label_here(f, done);
}
