// SPDX-License-Identifier: Apache-2.0
// From memory to one partial a thread: | head | body | tail |. The body begins and ends at multiples of 16 bytes and is read
// with vector loads; head and tail are each shorter than 16 bytes, and one scalar load by each of the first threads covers
// them.
#include "reduce.h"

enum { ELEMENTS_MAX = 16 };  // that are combined together

// ---- the share: which part of x is this block's

// number: this thread's among those of the share; stride: bytes from one of its loads to the next.
typedef struct share {
    cj_span in;
    cj_reg  number, stride;
} share;

// All of x: its loads are dealt to the whole grid one by one. Wherever in x the blocks have come to, together they read it
// as one stream.
static share share_all(const reduce_kernel *k, cj_reg n) {
    cj_func *f = k->f;
    share    s;
    cj_step(f, "x is [begin, end) in bytes, its aligned part [body, tail); the grid's threads take load after load");
    s.in.begin = cj_mov(f, "u64", "begin", k->base);
    s.in.end = cj_mad(f, "end", n, k->bytes, k->base);
    cj_reg thread = cj_cvt(f, "u64", "thread", k->thread);
    s.number = cj_mad_wide(f, "number", k->block, k->plan->block.x, thread);
    cj_reg blocks = cj_mov(f, "u32", "blocks", "%nctaid.x");
    s.stride = cj_mul_wide(f, "stride", blocks, k->plan->block.x * REDUCE_LOAD);
    return s;
}

// The block's slice: n / blocks elements, and one more in each of the first n mod blocks.
static share share_slice(const reduce_kernel *k, cj_reg n) {
    cj_func *f = k->f;
    share    s;
    cj_reg   slice = cj__load_param(f, "u64", k->slice, "slice");
    cj_step(f, "the block's slice: its elements, its bytes [begin, end), and their aligned part [body, tail)");
    cj_reg blocks = cj_cvt(f, "u64", "blocks", cj_mov(f, "u32", "blocks", "%nctaid.x"));
    cj_reg even = cj_mul(f, "even", blocks, slice);
    cj_reg remainder = cj_let(f, "u64", "remainder", "sub.u64 $1, $2, $3; // as many blocks have one element more", n, even);
    cj_reg block = cj_cvt(f, "u64", "block", k->block);
    cj_reg more = cj_lt(f, "more", block, remainder), before = cj_min(f, "before", block, remainder);
    cj_reg first = cj_mad(f, "first", block, slice, before), next = cj_add(f, "next", first, slice);
    cj_ptx(f, "@$1 add.u64 $2, $2, 1;", more, next);
    s.in.begin = cj_mad(f, "begin", first, k->bytes, k->base);
    s.in.end = cj_mad(f, "end", next, k->bytes, k->base);
    s.number = cj_cvt(f, "u64", "number", k->thread);
    s.stride = cj_mov(f, "u64", "stride", k->plan->block.x * REDUCE_LOAD);
    return s;
}

// ---- loads and what becomes of them

// The registers of a load: elements, or words of narrow ones.
typedef struct load {
    cj_reg word[4];
} load;

static bool        is_narrow(const reduce_kernel *k) { return k->bytes < 4; }
static unsigned    words_of(const reduce_kernel *k) { return k->bytes == 8 ? 2 : 4; }
static const char *word_type(const reduce_kernel *k) { return is_narrow(k) ? "b32" : k->type; }

// Partials that a thread keeps apart while it loads: one for each load in flight, or one alone where several loads are
// combined together.
static unsigned partials_of(const reduce_kernel *k) { return k->op->kind == REDUCE_MOMENTS ? 1 : REDUCE_FLIGHT; }

// Loads that are combined together: as many as 16 elements fill.
static unsigned together(const reduce_kernel *k) {
    return partials_of(k) > 1 ? 1 : (unsigned)cj__least(ELEMENTS_MAX / k->vector, REDUCE_FLIGHT);
}

// Load number `u` of those in flight.
static load load_vector(const reduce_kernel *k, unsigned u, cj_reg at, cj_reg when) {
    const char name[] = {'v', (char)('0' + u), 0};
    load       l;
    cj_registers(k->f, word_type(k), name, words_of(k), l.word);
    cj__load(k->f, when, k->load, word_type(k), l.word, words_of(k), at, 0);
    return l;
}

// The elements of a word, as values of the type that is computed in.
static void unpack_word(const reduce_kernel *k, cj_reg word, cj_reg *element) {
    const unsigned bits = 8 * k->bytes;
    if (*k->type == 'f') {
        for (unsigned i = 0; i < 2; i++) element[i] = cj_f32(k->f, "element");
        cj__unpack_halves(k->f, CJ_PARAM_WORD(k->plan, "dtype"), word, element[0], element[1]);
    } else {
        for (unsigned i = 0; i < 32 / bits; i++)
            element[i] = cj_let(k->f, k->type, "element", "bfe.$5 $1, $2, $3, $4;", word, i * bits, bits, k->type);
    }
}

// What the user's map and the partials' type make of elements.
static void convert(const reduce_kernel *k, cj_reg *element, unsigned count) {
    const char *to = k->partials.type[0];
    for (unsigned i = 0; k->maps && i < count; i++) cj_call(k->f, k->map, element[i], element[i]);
    for (unsigned i = 0; to != k->type && i < count; i++)
        element[i] = cj_let(k->f, to, "converted", "cvt.rn.$3.$4 $1, $2;", element[i], to, k->type);
}

// Combines the elements of `count` loads, the first of which came from `at`.
static void take_loads(const reduce_kernel *k, const cj_partial *partial, const load *loads, unsigned count,
                       cj_reg at) {
    cj_reg         element[ELEMENTS_MAX];
    const unsigned each = k->vector / words_of(k);
    unsigned       elements = 0;
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < words_of(k); i++, elements += each) {
            if (is_narrow(k))
                unpack_word(k, loads[l].word[i], &element[elements]);
            else
                element[elements] = loads[l].word[i];
        }
    convert(k, element, elements);
    cj__reduce_take(k, partial, element, elements, at);
}

// One element, as memory has it, in the type that is computed in.
static cj_reg load_element(const reduce_kernel *k, const char *name, cj_reg at, cj_reg when) {
    static const char *const narrow[] = {[CJ_F16] = "b16", [CJ_BF16] = "b16", [CJ_I8] = "s8",
                                         [CJ_U8] = "u8",   [CJ_I16] = "s16",  [CJ_U16] = "u16"};
    const bool  is_half = k->bytes == 2 && *k->type == 'f';
    const char *type = is_narrow(k) ? narrow[cj__reduce_dtype(k->plan)] : k->type;
    cj_reg      raw = cj__load_value(k->f, when, k->load, type, is_half ? type : k->type, name, at);
    if (!is_half) return raw;
    cj_reg wide = cj_f32(k->f, name);
    cj__widen_half(k->f, CJ_PARAM_WORD(k->plan, "dtype"), wide, raw);
    return wide;
}

// ---- a thread's partial

static const cj_partial *partial_at(const reduce_kernel *k, const cj_partial *partial, unsigned u) {
    return &partial[u % partials_of(k)];
}

// Rows of loads, one a thread of the block, that are prefetched: as many as there are, or as HBM delivers while the kernel
// before ends. More would delay that kernel.
static unsigned rows_ahead(const reduce_kernel *k) {
    const uint64_t row = (uint64_t)k->plan->grid.x * k->plan->block.x * REDUCE_LOAD;
    const uint64_t all = cj__ceil_div(k->plan->params.value[REDUCE_N] * k->bytes, row);
    const uint64_t ahead = cj__least(all, cj__most(REDUCE_PREFETCH_BYTES / row, 1));
    return (unsigned)cj__least(ahead, REDUCE_PREFETCH_ROWS);
}

// A kernel that starts beside the one before it prefetches its first loads into L2 while it waits. A prefetch reads nothing:
// L2 is where the other kernel's writes arrive, too. One thread for each of the block's rows of loads.
static void emit_prefetch(const reduce_kernel *k, const share *s, cj_reg at) {
    cj_func *f = k->f;
    cj_step(f, "meanwhile the block's first loads are fetched into L2: a row of them by a thread");
    cj_reg number = cj_cvt(f, "u64", "row", k->thread), step = cj_sub(f, "row_step", s->stride, REDUCE_LOAD);
    cj_reg row = cj_mad(f, "row", number, step, at), left = cj_sub(f, "left", s->in.tail, row);
    cj_reg bytes = cj_cvt(f, "u32", "row_bytes", cj_min(f, "left", left, REDUCE_LOAD * k->plan->block.x));
    cj_reg inside = cj_lt(f, "inside", row, s->in.tail);
    cj_reg fetches = cj_let(f, "pred", "fetches", "setp.lt.and.u32 $1, $2, $3, $4;", k->thread, rows_ahead(k), inside);
    cj_ptx(f, "@$1 cp.async.bulk.prefetch.L2.global [$2], $3;", fetches, row, bytes);
}

static void four_loads(const reduce_kernel *k, const share *s, const cj_partial *partial, cj_reg at) {
    load     loads[REDUCE_FLIGHT];
    cj_reg   from[REDUCE_FLIGHT];
    for (unsigned u = 0; u < REDUCE_FLIGHT; u++) {
        loads[u] = load_vector(k, u, at, cj_always());
        from[u] = k->op->kind == REDUCE_BEST ? cj_mov(k->f, "u64", "from", at) : at;
        cj_ptx(k->f, "add.u64 $1, $1, $2;", at, s->stride);
    }
    for (unsigned u = 0; u < REDUCE_FLIGHT; u += together(k))
        take_loads(k, partial_at(k, partial, u), &loads[u], together(k), from[u]);
}

// Four loads in flight, while four are left.
static void emit_body(const reduce_kernel *k, const share *s, const cj_partial *partial, cj_reg at) {
    cj_func *f = k->f;
    cj_step(f, "where the thread's loads begin, and from where on fewer than four are left");
    cj_ptx(f, "shl.b64 $1, $2, 4;", at, s->number);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, s->in.body);
    cj_reg ahead = cj_let(f, "s64", "ahead", "mul.lo.s64 $1, $2, $3;", s->stride, REDUCE_FLIGHT - 1);
    cj_reg limit = cj_let(f, "s64", "limit", "sub.s64 $1, $2, $3;", s->in.tail, ahead);
    cj_reg some = cj_let(f, "pred", "some", "setp.lt.s64 $1, $2, $3;", at, limit);
    if (k->plan->programmatic) emit_prefetch(k, s, at);
    cj__wait_for_launches(k->plan, f);
    if (k->gathers) cj__gather_read_tag(&k->end.mail, k->end.reads);  // early: the loads hide its latency
    cj_step(f, "body: four loads in flight a thread, while four are left");
    CJ_IF(f, some, "last_loads") {
        CJ_DO(f, "next_four", cj_let(f, "pred", "more", "setp.lt.s64 $1, $2, $3;", at, limit))
        four_loads(k, s, partial, at);
    }
}

// The head precedes all that a partial has seen, and of equal elements the first is wanted: so it is a partial of its own.
static void take_edge(const reduce_kernel *k, const cj_partial *partial, cj_reg element, cj_reg at) {
    if (k->op->kind != REDUCE_BEST) {
        cj__reduce_take(k, partial, &element, 1, at);
        return;
    }
    const cj_partial alone = cj__partial_new(&k->partials, "edge");
    k->partials.clear(&k->partials, &alone);
    cj__reduce_take(k, &alone, &element, 1, at);
    k->partials.combine(&k->partials, partial, &alone);
}

// Combines load u and those after it, as far as they are there.
static void take_last(const reduce_kernel *k, const share *s, const cj_partial *partial, unsigned u, const load *loads,
                      const cj_reg *there, cj_reg from) {
    if (u == REDUCE_FLIGHT - 1) return;
    CJ_IF(k->f, there[u], "edges") {
        take_loads(k, partial_at(k, partial, u), &loads[u], 1, from);
        if (!cj_is_none(from)) cj_ptx(k->f, "add.u64 $1, $1, $2;", from, s->stride);
        take_last(k, s, partial, u + 1, loads, there, from);
    }
}

// The loads that are left, fewer than four, and an element of head and tail: all in flight at once.
static void emit_last(const reduce_kernel *k, const share *s, const cj_partial *partial, cj_reg at) {
    enum { LAST = REDUCE_FLIGHT - 1, EDGES = 2 };
    cj_func *f = k->f;
    load     loads[LAST];
    cj_reg   there[LAST], edge[EDGES], edge_at[EDGES], inside[EDGES];
    cj_step(f, "the last loads, fewer than four, and by the first threads an element of head and tail each");
    const bool asks = k->op->kind == REDUCE_BEST;  // where an element lies
    cj_reg     from = asks ? cj_mov(f, "u64", "from", at) : cj_none();
    for (unsigned u = 0; u < LAST; u++) {
        there[u] = cj_lt(f, "there", at, s->in.tail);
        loads[u] = load_vector(k, u, at, there[u]);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, s->stride);
    }
    for (unsigned i = 0; i < EDGES; i++) {
        edge_at[i] = cj_mad(f, i ? "tail_at" : "head_at", s->number, k->bytes, i ? s->in.tail : s->in.begin);
        inside[i] = cj_lt(f, "inside", edge_at[i], i ? s->in.end : s->in.body);
        edge[i] = load_element(k, i ? "tail" : "head", edge_at[i], inside[i]);
    }
    take_last(k, s, partial, 0, loads, there, from);
    for (unsigned i = 0; i < EDGES; i++) CJ_IF(f, inside[i], "no_element") {
            convert(k, &edge[i], 1);
            take_edge(k, partial_at(k, partial, REDUCE_FLIGHT - 1), edge[i], edge_at[i]);
        }
}

cj_partial cj__reduce_thread(reduce_kernel *k) {
    static const char *const names[REDUCE_FLIGHT] = {"partial", "part_1", "part_2", "part_3"};
    cj_partial               partial[REDUCE_FLIGHT];
    cj_reg                   x = cj__load_param(k->f, "u64", k->x, "x"), n = cj__load_param(k->f, "u64", k->n, "n");
    cj_reg                   at = cj_u64(k->f, "at");
    k->base = cj_let(k->f, "u64", "x", "cvta.to.global.u64 $1, $2;", x);
    share s = k->sliced ? share_slice(k, n) : share_all(k, n);
    s.in = cj__span(k->f, s.in.begin, s.in.end, REDUCE_LOAD);
    cj_step(k->f, "each thread's partials start as the identity");
    for (unsigned u = 0; u < partials_of(k); u++) {
        partial[u] = cj__partial_new(&k->partials, names[u]);
        k->partials.clear(&k->partials, &partial[u]);
    }
    emit_body(k, &s, partial, at);
    emit_last(k, &s, partial, at);
    for (unsigned distance = partials_of(k) / 2; distance; distance /= 2)
        for (unsigned u = 0; u < distance; u++) k->partials.combine(&k->partials, &partial[u], &partial[u + distance]);
    return partial[0];
}
