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

// ---- elements

static bool is_half(const argmax_kernel *k) { return k->s.bytes == 2; }

// Of a load: the words of a vector, or one element.
static const char *word_type(const argmax_kernel *k) { return k->s.dtype == CJ_F32 ? "f32" : "b32"; }

static const char *element_type(const argmax_kernel *k) { return is_half(k) ? "b16" : word_type(k); }

// The key of an f32: all NaN are one, greater than any number, and -0 is 0.
static cj_reg key_of_f32(cj_func *f, cj_reg x) {
    cj_reg nan = cj_let(f, "pred", "is_nan", "setp.nan.f32 $1, $2, $2;", x);
    cj_reg plus = cj_let(f, "b32", "plus_zero", "add.f32 $1, $2, 0f00000000; // -0 becomes 0", x);
    cj_reg flip = cj_let(f, "b32", "flip", "shr.s32 $1, $2, 31;\nor.b32 $1, $1, 0x80000000;", plus);
    cj_reg number = cj_let(f, "u32", "number", "xor.b32 $1, $2, $3; // of the order of the floats", plus, flip);
    return cj_let(f, "u32", "key", "selp.u32 $1, 0xffffffff, $2, $3;", number, nan);
}

// Of f16 and bf16, as f32, the greater of best and x: a number, or the first NaN, which stays for good, as all NaN become the same bits.
static cj_reg greater_half(const argmax_kernel *k, cj_reg x, cj_reg best) {
    enum { TARGET_MAX_NAN = 80 };
    cj_func *f = k->f;
    cj_reg   plus = cj_let(f, "f32", "plus_zero", "add.f32 $1, $2, 0f00000000; // -0 becomes 0", x);
    if (cj__target_number(k->plan) >= TARGET_MAX_NAN) return cj_let(f, "f32", "most", "max.NaN.f32 $1, $2, $3;", best, plus);
    cj_reg most = cj_let(f, "f32", "most", "max.f32 $1, $2, $3; // but NaN", best, plus);
    cj_reg nan = cj_let(f, "pred", "is_nan", "setp.nan.f32 $1, $2, $3;", best, plus);
    cj_ptx(f, "@$1 mov.b32 $2, 0f7FFFFFFF;", nan, most);
    return most;
}

// best = x, column = that of element e after column first, if x is larger and `inside` holds. best is a key, of halves a number.
static void write_compare(const argmax_kernel *k, cj_reg inside, cj_reg x, cj_reg first, unsigned e, cj_reg best,
                          cj_reg column) {
    cj_func *f = k->f;
    cj_reg   value = is_half(k)               ? greater_half(k, x, best)
                     : k->s.dtype == CJ_F32 ? key_of_f32(f, x)
                                            : cj__key_of_integer(f, k->s.dtype, x);
    cj_reg   larger = is_half(k) ? cj_let(f, "pred", "larger", "setp.ne.and.b32 $1, $2, $3, $4;", value, best, inside)
                                 : cj_let(f, "pred", "larger", "setp.gt.and.u32 $1, $2, $3, $4;", value, best, inside);
    cj_set_if(f, larger, best, value);
    cj_ptx(f, "@$1 add.u32 $2, $3, $4;", larger, column, first, e);
}

// What no element is less than. A thread without elements has it at column 0, and so has a row of such elements alone.
static cj_reg least(const argmax_kernel *k, const char *name) {
    if (is_half(k)) return cj_let(k->f, "f32", name, "mov.b32 $1, 0fFF800000; // -infinity");
    return cj_mov(k->f, "u32", name, 0);
}

static cj_reg pack(const argmax_kernel *k, cj_reg best, cj_reg column) {
    cj_reg key = is_half(k) ? cj__key_of_float(k->f, best) : best;
    return cj_let(k->f, "u64", "value", "not.b32 $2, $2;\nmov.b64 $1, {$2, $3};", column, key);
}

// ---- long rows

static cj_reg load_number(const argmax_kernel *k, cj_var param, const char *name) {
    return cj_cvt(k->f, "u32", name, cj_let(k->f, "u64", name, "ld.param.u64 $1, [$2];", param));
}

static void write_peel(const argmax_kernel *k, row *r, cj_reg columns) {
    cj_func *f = k->f;
    cj_step(f, "the row is a head up to a multiple of 16 bytes, vectors, and a tail");
    cj_reg number = cj_shr(f, "number", cj_cvt(f, "u32", "low", r->at), cj__log2(k->s.bytes));
    cj_reg above = cj_let(f, "u32", "above", "neg.s32 $1, $2;\nand.b32 $1, $1, $3;", number, k->s.width - 1);
    r->head = cj_min(f, "head", above, columns);
    cj_reg after_head = cj_sub(f, "after_head", columns, r->head);
    r->vectors = cj_div(f, "vectors", after_head, k->s.width);
    r->edges = cj_add(f, "edges", r->head, cj_and(f, "tail", after_head, k->s.width - 1));
    r->body = cj_mad_wide(f, "body", r->head, k->s.bytes, r->at);
}

static row write_row(const argmax_kernel *k) {
    cj_func *f = k->f;
    row      r;
    cj_step(f, "the row");
    cj_reg x = cj__load_pointer(f, k->x, "x");
    cj_reg stride = cj_let(f, "u64", "stride", "ld.param.u64 $1, [$2];", k->stride);
    cj_reg columns = load_number(k, k->columns, "columns");
    if (k->lanes) columns = cj_select(f, "u32", "columns", k->there, columns, 0);
    cj_reg first = cj_mul(f, "first", cj_cvt(f, "u64", "row", k->row), stride);
    r.at = r.body = cj_mad(f, "row_at", first, k->s.bytes, x);
    if (k->s.peeled)
        write_peel(k, &r, columns);
    else
        r.vectors = cj_div(f, "vectors", columns, k->s.width);
    return r;
}

// Loaded first, compared last: it arrives meanwhile.
static edge load_edge(const argmax_kernel *k, const row *r) {
    cj_func *f = k->f;
    edge     e = {.x = cj_register(f, element_type(k), "edge")};
    cj_step(f, "the first threads of the row load its head and tail, an element each");
    cj_reg number = k->in_row;
    if (k->parts > 1) {
        cj_reg before = cj_mul(f, "before", k->part, k->block * (k->cluster ? k->cluster : 1));
        number = cj_add(f, "in_parts", before, number);
    }
    cj_reg in_tail = cj_ge(f, "in_tail", number, r->head);
    e.inside = cj_lt(f, "has_edge", number, r->edges);
    e.column = cj_mov(f, "u32", "edge_column", number);
    cj_ptx(f, "@$1 mad.lo.u32 $2, $3, $4, $2;", in_tail, e.column, r->vectors, k->s.width);
    cj_reg at = cj_mad_wide(f, "edge_at", e.column, k->s.bytes, r->at);
    cj__load(f, e.inside, cj__load_given(k->plan), element_type(k), &e.x, 1, at, 0);
    return e;
}

// Vectors of a thread that are in flight: lanes of a row have no more than it takes.
static unsigned flight_of(const argmax_kernel *k) {
    const uint64_t vectors = cj__ceil_div(k->plan->params.value[ARGMAX_COLUMNS], k->s.width);
    return k->lanes ? (unsigned)cj__least(cj__ceil_div(vectors, k->lanes), ARGMAX_FLIGHT) : ARGMAX_FLIGHT;
}

static void numbers_of(const argmax_kernel *k, const cj_reg word[ARGMAX_LOADED], cj_reg x[ARGMAX_WIDTH_MOST]) {
    for (unsigned w = 0; w < ARGMAX_LOADED; w++)
        if (is_half(k))
            cj__numbers_of_word(k->f, k->s.dtype, word[w], &x[2 * w]);
        else
            x[w] = word[w];
}

// One round of a thread's vectors, `step` vectors apart; first: the thread's first vector; end: that of none.
static void write_round(const argmax_kernel *k, const row *r, cj_reg first, cj_reg end, unsigned step, cj_reg best,
                        cj_reg column) {
    cj_func       *f = k->f;
    const unsigned flight = flight_of(k);
    cj_reg         inside[ARGMAX_FLIGHT], vector[ARGMAX_FLIGHT], word[ARGMAX_FLIGHT][ARGMAX_LOADED], x[ARGMAX_WIDTH_MOST];
    for (unsigned j = 0; j < flight; j++) {
        vector[j] = cj_add(f, "vector", first, j * step);
        inside[j] = cj_lt(f, "inside", vector[j], end);
        cj_reg at = cj_mad_wide(f, "at", vector[j], ARGMAX_LOAD, r->body);
        for (unsigned w = 0; w < ARGMAX_LOADED; w++) word[j][w] = cj_register(f, word_type(k), "x");
        cj__load(f, inside[j], cj__load_given(k->plan), word_type(k), word[j], ARGMAX_LOADED, at, 0);
    }
    for (unsigned j = 0; j < flight; j++) {
        cj_reg before = k->s.peeled ? cj_mad(f, "column", vector[j], k->s.width, r->head)
                                    : cj_mul(f, "column", vector[j], k->s.width);
        numbers_of(k, word[j], x);
        for (unsigned e = 0; e < k->s.width; e++) write_compare(k, inside[j], x[e], before, e, best, column);
    }
}

// ---- short rows

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
    cj_reg row_at = cj_mad(f, "row_at", first, k->s.bytes, cj__load_pointer(f, k->x, "x"));
    cj_reg at = cj_mad_wide(f, "at", k->in_row, k->s.bytes, row_at);
    if (columns % k->lanes)
        inside = cj_let(f, "pred", "inside", "setp.lt.and.u32 $1, $2, $3, $4;", k->in_row, columns % k->lanes, k->there);
    for (unsigned j = 0; j < loads; j++) {
        x[j] = cj_register(f, element_type(k), "x");
        cj__load(f, j + 1 < loads ? k->there : inside, cj__load_given(k->plan), element_type(k), &x[j], 1, at, j * k->lanes * k->s.bytes);
    }
    cj_reg best = least(k, "best"), column = cj_mov(f, "u32", "best_column", 0);
    for (unsigned j = 0; j < loads; j++) {
        cj_reg number = cj__number_of(f, k->s.dtype, x[j]);
        write_compare(k, j + 1 < loads ? k->there : inside, number, k->in_row, j * k->lanes, best, column);
    }
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
    cj_reg         best = least(k, "best"), column = cj_mov(k->f, "u32", "best_column", 0), first, end;
    if (k->s.peeled) last = load_edge(k, &r);
    cj_step(k->f, "each thread takes every %uth vector of %u elements; %u are in flight", step, k->s.width,
            flight_of(k));
    write_piece(k, &r, &first, &end);
    CJ_FOR(k->f, i, "u32", "i", first, end, step * flight_of(k)) write_round(k, &r, i, end, step, best, column);
    const cj_partial body = {{pack(k, best, column)}};
    if (!k->s.peeled) return body.value[0];
    cj_reg edge_best = least(k, "edge_best"), x = cj__number_of(k->f, k->s.dtype, last.x);
    write_compare(k, last.inside, x, last.column, 0, edge_best, last.column);
    const cj_partial beside = {{pack(k, edge_best, last.column)}};
    kind->combine(kind, &body, &beside);
    return body.value[0];
}
