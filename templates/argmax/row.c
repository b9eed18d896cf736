// SPDX-License-Identifier: Apache-2.0
// From memory to one value a thread: | head | body | tail |. The body begins and ends at multiples of 16 bytes and is read with
// vector loads. Head and tail are each shorter than 16 bytes: the first threads of the row load an element each.
#include "argmax.h"

// A row: its address and that of its body; the body's vectors, elements of the head, and of head and tail.
typedef struct row {
    cj_reg at, body, vectors, head, edges;
} row;

// The thread's element of head or tail.
typedef struct edge {
    cj_reg inside, column, x;
} edge;

static cj_reg load_number(const argmax_kernel *k, cj_var param, const char *name) {
    return cj_cvt(k->f, "u32", name, cj_let(k->f, "u64", name, "ld.param.u64 $1, [$2];", param));
}

static void write_peel(const argmax_kernel *k, row *r, cj_reg columns) {
    cj_func *f = k->f;
    cj_step(f, "the row is a head up to a multiple of 16 bytes, vectors, and a tail");
    cj_reg number = cj_shr(f, "number", cj_cvt(f, "u32", "low", r->at), 2);
    cj_reg above = cj_let(f, "u32", "above", "neg.s32 $1, $2;\nand.b32 $1, $1, 3;", number);
    r->head = cj_min(f, "head", above, columns);
    cj_reg after_head = cj_sub(f, "after_head", columns, r->head);
    r->vectors = cj_div(f, "vectors", after_head, ARGMAX_WIDTH);
    r->edges = cj_add(f, "edges", r->head, cj_and(f, "tail", after_head, ARGMAX_WIDTH - 1));
    r->body = cj_mad_wide(f, "body", r->head, ARGMAX_BYTES, r->at);
}

static row write_row(const argmax_kernel *k) {
    cj_func *f = k->f;
    row      r;
    cj_reg   x = cj__load_pointer(f, k->x, "x");
    cj_reg   stride = cj_let(f, "u64", "stride", "ld.param.u64 $1, [$2];", k->stride);
    cj_reg   columns = load_number(k, k->columns, "columns");
    if (k->lanes) columns = cj_select(f, "u32", "columns", k->there, columns, 0);
    cj_reg first = cj_mul(f, "first", cj_cvt(f, "u64", "row", k->row), stride);
    r.at = r.body = cj_mad(f, "row_at", first, ARGMAX_BYTES, x);
    if (k->peeled)
        write_peel(k, &r, columns);
    else
        r.vectors = cj_div(f, "vectors", columns, ARGMAX_WIDTH);
    return r;
}

// Loaded first, compared last: it arrives meanwhile.
static edge load_edge(const argmax_kernel *k, const row *r) {
    cj_func *f = k->f;
    edge     e = {.x = cj_f32(f, "edge")};
    cj_step(f, "the first threads of the row load its head and tail, an element each");
    cj_reg number = k->in_row;
    if (k->parts > 1) {
        cj_reg before = cj_mul(f, "before", k->part, k->block * (k->cluster ? k->cluster : 1));
        number = cj_add(f, "in_parts", before, number);
    }
    cj_reg in_tail = cj_ge(f, "in_tail", number, r->head);
    e.inside = cj_lt(f, "has_edge", number, r->edges);
    e.column = cj_mov(f, "u32", "edge_column", number);
    cj_ptx(f, "@$1 mad.lo.u32 $2, $3, $4, $2;", in_tail, e.column, r->vectors, ARGMAX_WIDTH);
    cj_reg at = cj_mad_wide(f, "edge_at", e.column, ARGMAX_BYTES, r->at);
    cj__load(f, e.inside, "ld.global.nc", "f32", &e.x, 1, at, 0);
    return e;
}

// best, column = those of element x at column first + e, if its key is larger and `inside` holds.
static void write_compare(const argmax_kernel *k, cj_reg inside, cj_reg x, cj_reg first, unsigned e, cj_reg best,
                          cj_reg column) {
    cj_func *f = k->f;
    cj_reg   nan = cj_let(f, "pred", "is_nan", "setp.nan.f32 $1, $2, $2;", x);
    cj_reg   plus = cj_let(f, "b32", "plus_zero", "add.f32 $1, $2, 0f00000000; // -0 becomes 0", x);
    cj_reg   flip = cj_let(f, "b32", "flip", "shr.s32 $1, $2, 31;\nor.b32 $1, $1, 0x80000000;", plus);
    cj_reg   number = cj_let(f, "u32", "number", "xor.b32 $1, $2, $3; // of the order of the floats", plus, flip);
    cj_reg   key = cj_let(f, "u32", "key", "selp.u32 $1, 0xffffffff, $2, $3;", number, nan);
    cj_reg   larger = cj_let(f, "pred", "larger", "setp.gt.and.u32 $1, $2, $3, $4;", key, best, inside);
    cj_set_if(f, larger, best, key);
    cj_ptx(f, "@$1 add.u32 $2, $3, $4;", larger, column, first, e);
}

// Vectors of a thread that are in flight: lanes of a row have no more than it takes.
static unsigned flight_of(const argmax_kernel *k) {
    const uint64_t vectors = cj__ceil_div(k->plan->params.value[ARGMAX_COLUMNS], ARGMAX_WIDTH);
    return k->lanes ? (unsigned)cj__least(cj__ceil_div(vectors, k->lanes), ARGMAX_FLIGHT) : ARGMAX_FLIGHT;
}

// One round of a thread's vectors, `step` vectors apart; first: the thread's first vector; end: that of none.
static void write_round(const argmax_kernel *k, const row *r, cj_reg first, cj_reg end, unsigned step, cj_reg best,
                        cj_reg column) {
    cj_func       *f = k->f;
    const unsigned flight = flight_of(k);
    cj_reg         inside[ARGMAX_FLIGHT], vector[ARGMAX_FLIGHT], x[ARGMAX_FLIGHT][ARGMAX_WIDTH];
    for (unsigned j = 0; j < flight; j++) {
        vector[j] = cj_add(f, "vector", first, j * step);
        inside[j] = cj_lt(f, "inside", vector[j], end);
        cj_reg at = cj_mad_wide(f, "at", vector[j], ARGMAX_WIDTH * ARGMAX_BYTES, r->body);
        for (unsigned e = 0; e < ARGMAX_WIDTH; e++) x[j][e] = cj_f32(f, "x");
        cj__load(f, inside[j], "ld.global.nc", "f32", x[j], ARGMAX_WIDTH, at, 0);
    }
    for (unsigned j = 0; j < flight; j++) {
        cj_reg before = k->peeled ? cj_mad(f, "column", vector[j], ARGMAX_WIDTH, r->head)
                                  : cj_mul(f, "column", vector[j], ARGMAX_WIDTH);
        for (unsigned e = 0; e < ARGMAX_WIDTH; e++) write_compare(k, inside[j], x[j][e], before, e, best, column);
    }
}

static cj_reg pack(const argmax_kernel *k, cj_reg best, cj_reg column) {
    return cj_let(k->f, "u64", "value", "not.b32 $2, $2;\nmov.b64 $1, {$2, $3};", column, best);
}

// A short row: every lane takes some of its elements, each by a load of its own, all of them in flight.
static cj_reg write_short(const argmax_kernel *k) {
    cj_func       *f = k->f;
    const uint64_t columns = k->plan->params.value[ARGMAX_COLUMNS];
    const unsigned loads = (unsigned)cj__ceil_div(columns, k->lanes);
    cj_reg         x[ARGMAX_EACH], inside = k->there;
    if (k->lanes > 1)
        cj_step(f, "each lane loads every %uth element of its row", k->lanes);
    else
        cj_step(f, "each lane loads the elements of its row");
    cj_reg stride = cj_let(f, "u64", "stride", "ld.param.u64 $1, [$2];", k->stride);
    cj_reg first = cj_mul(f, "first", cj_cvt(f, "u64", "row", k->row), stride);
    cj_reg row_at = cj_mad(f, "row_at", first, ARGMAX_BYTES, cj__load_pointer(f, k->x, "x"));
    cj_reg at = cj_mad_wide(f, "at", k->in_row, ARGMAX_BYTES, row_at);
    if (columns % k->lanes) {
        inside = cj_pred(f, "inside");
        cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $4;", inside, k->in_row, columns % k->lanes, k->there);
    }
    for (unsigned j = 0; j < loads; j++) {
        x[j] = cj_f32(f, "x");
        cj__load(f, j + 1 < loads ? k->there : inside, "ld.global.nc", "f32", &x[j], 1, at,
                 (int64_t)j * k->lanes * ARGMAX_BYTES);
    }
    cj_reg best = cj_mov(f, "u32", "best", 0), column = cj_mov(f, "u32", "best_column", 0);
    for (unsigned j = 0; j < loads; j++)
        write_compare(k, j + 1 < loads ? k->there : inside, x[j], k->in_row, j * k->lanes, best, column);
    return pack(k, best, column);
}

// The part's vectors: [first, end) of the thread's.
static void write_piece(const argmax_kernel *k, const row *r, cj_reg *first, cj_reg *end) {
    *first = k->in_row;
    *end = r->vectors;
    if (k->parts == 1) return;
    cj_reg piece = load_number(k, k->piece, "piece"), begin = cj_mul(k->f, "begin", k->part, piece);
    *first = cj_add(k->f, "first", begin, k->in_row);
    *end = cj_min(k->f, "end", cj_add(k->f, "end", begin, piece), r->vectors);
}

cj_reg cj__argmax_thread(const argmax_kernel *k, const cj_partials *kind) {
    if (cj__argmax_is_short(k->plan)) return write_short(k);
    const unsigned step = k->lanes ? k->lanes : k->block * (k->cluster ? k->cluster : 1);
    const row      r = write_row(k);
    edge           last = {.inside = cj_none()};
    cj_reg         best = cj_mov(k->f, "u32", "best", 0), column = cj_mov(k->f, "u32", "best_column", 0), first, end;
    if (k->peeled) last = load_edge(k, &r);
    cj_step(k->f, "each thread takes every %uth vector of %u elements; %u are in flight", step, ARGMAX_WIDTH,
            flight_of(k));
    write_piece(k, &r, &first, &end);
    CJ_FOR(k->f, i, "u32", "i", first, end, step * flight_of(k)) write_round(k, &r, i, end, step, best, column);
    const cj_partial body = {{pack(k, best, column)}};
    if (!k->peeled) return body.value[0];
    cj_reg edge_best = cj_mov(k->f, "u32", "edge_best", 0);
    write_compare(k, last.inside, last.x, last.column, 0, edge_best, last.column);
    const cj_partial beside = {{pack(k, edge_best, last.column)}};
    kind->combine(kind, &body, &beside);
    return body.value[0];
}
