// SPDX-License-Identifier: Apache-2.0
// From memory to one part a thread: | head | body | tail |. The body begins and ends at multiples of 16 bytes and is
// read with vector loads; head and tail are each shorter than 16 bytes, and one scalar load by the first threads covers
// each.
#include <stdio.h>

#include "reduce.h"
#include "user_function.h"

enum { ELEMENTS_MAX = 16 };  // that are taken at once

// ---- the share

static cj_reg load_u64(reduce_kernel *k, cj_var param, const char *name) {
    cj_reg value = cj_u64(k->f, name);
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", value, param);
    return value;
}

// [first, last) is all of x, and its loads are dealt out to the whole grid one by one: whatever part of x the blocks
// have come to, together they read it as one stream.
static void share_all(reduce_kernel *k, cj_reg n) {
    cj_func *f = k->f;
    cj_reg   blocks = cj_u32(f, "blocks");
    cj_step(f, "x is [first, last) in bytes, its aligned part [body, tail); the grid's threads take load after load");
    cj_ptx(f, "mov.u64 $1, $2;", k->first, k->base);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", k->last, n, k->dtype->bytes, k->base);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", k->number, k->thread);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", k->number, k->block, k->plan->block.x);
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", blocks);
    cj_ptx(f, "mul.wide.u32 $1, $2, $3;", k->stride, blocks, k->plan->block.x * REDUCE_LOAD);
}

static void share_slice(reduce_kernel *k, cj_reg n) {
    cj_func *f = k->f;
    cj_reg   slice = load_u64(k, k->slice, "slice"), begin = cj_u64(f, "begin"), end = cj_u64(f, "end");
    cj_reg   blocks = cj_u32(f, "blocks"), rest = cj_u64(f, "rest"), before = cj_u64(f, "before"),
           more = cj_pred(f, "more");
    cj_step(f, "the block's slice, [begin, end) in elements, [first, last) in bytes; its aligned part is [body, tail)");
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", blocks);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", rest, blocks);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", rest, slice);
    cj_ptx(f, "sub.u64 $1, $2, $1; // as many blocks have one element more", rest, n);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", begin, k->block);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", more, begin, rest);
    cj_ptx(f, "min.u64 $1, $2, $3;", before, begin, rest);
    cj_ptx(f, "mad.lo.u64 $1, $1, $2, $3;", begin, slice, before);
    cj_ptx(f, "add.u64 $1, $2, $3;", end, begin, slice);
    cj_ptx(f, "@$1 add.u64 $2, $2, 1;", more, end);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", k->first, begin, k->dtype->bytes, k->base);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", k->last, end, k->dtype->bytes, k->base);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", k->number, k->thread);
    cj_ptx(f, "mov.u64 $1, $2;", k->stride, k->plan->block.x * REDUCE_LOAD);
}

void cj__reduce_share(reduce_kernel *k) {
    cj_func *f = k->f;
    k->base = load_u64(k, k->x, "x");
    cj_reg n = load_u64(k, k->n, "n");
    k->first = cj_u64(f, "first");
    k->body = cj_u64(f, "body");
    k->tail = cj_u64(f, "tail");
    k->last = cj_u64(f, "last");
    k->number = cj_u64(f, "number");
    k->stride = cj_u64(f, "stride");
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", k->base);
    if (k->sliced)
        share_slice(k, n);
    else
        share_all(k, n);
    cj_ptx(f, "add.u64 $1, $2, $3;", k->body, k->first, REDUCE_LOAD - 1);
    cj_ptx(f, "and.b64 $1, $1, $2;", k->body, -REDUCE_LOAD);
    cj_ptx(f, "min.u64 $1, $1, $2;", k->body, k->last);
    cj_ptx(f, "and.b64 $1, $2, $3;", k->tail, k->last, -REDUCE_LOAD);
    cj_ptx(f, "max.u64 $1, $1, $2;", k->tail, k->body);
}

// ---- loads and what becomes of them

// Where the elements of a load go on their way.
typedef struct registers {
    unsigned words;                                     // registers of a load
    cj_reg   raw[REDUCE_FLIGHT][4];                     // as loaded: elements, or words of narrow ones
    cj_reg   element[ELEMENTS_MAX], met[ELEMENTS_MAX];  // as computed with; in the meeting type
    cj_reg   half, upper;                               // of a word with two f16
} registers;

static bool is_narrow(const reduce_kernel *k) { return k->dtype->bytes < 4; }
static bool is_converted(const reduce_kernel *k) { return k->type[0] != k->dtype->ptx; }

// Parts that a thread keeps apart while it loads: one for each load in flight, or one alone where several loads are
// taken together.
static unsigned parts_of(const reduce_kernel *k) { return k->op->kind == REDUCE_MOMENTS ? 1 : REDUCE_FLIGHT; }

// Loads that are taken together: as many as 16 elements fill.
static unsigned together(const reduce_kernel *k) {
    unsigned fit = ELEMENTS_MAX / k->vector;
    return parts_of(k) > 1 ? 1 : fit < REDUCE_FLIGHT ? fit : REDUCE_FLIGHT;
}

static registers make_registers(reduce_kernel *k) {
    cj_func  *f = k->f;
    registers r = {.words = k->dtype->bytes == 8 ? 2 : 4};
    for (unsigned u = 0; u < REDUCE_FLIGHT; u++)
        for (unsigned i = 0; i < r.words; i++) {
            char name[8];
            snprintf(name, sizeof name, "v%u%c", u, "xyzw"[i]);
            r.raw[u][i] = cj_register(f, is_narrow(k) ? "b32" : k->dtype->ptx, name);
        }
    for (unsigned i = 0; i < k->vector * together(k); i++) {
        if (is_narrow(k)) r.element[i] = cj_register(f, k->dtype->ptx, "element");
        if (is_converted(k)) r.met[i] = cj_register(f, k->type[0], "met");
    }
    if (k->plan->params.value[REDUCE_DTYPE] == CJ_F16) r.half = cj_register(f, "b16", "half");
    if (k->plan->params.value[REDUCE_DTYPE] == CJ_F16) r.upper = cj_register(f, "b16", "upper");
    return r;
}

// Load u of those in flight, from `at`; `when` may be cj_always().
static void load_vector(const reduce_kernel *k, const registers *r, unsigned u, cj_reg at, cj_reg when) {
    const cj_reg *v = r->raw[u];
    const char   *type = is_narrow(k) ? "b32" : k->dtype->ptx;
    if (when.id && r->words == 4)
        cj_ptx(k->f, "@$1 $2.v4.$3 {$4, $5, $6, $7}, [$8];", when, k->load, type, v[0], v[1], v[2], v[3], at);
    else if (when.id)
        cj_ptx(k->f, "@$1 $2.v2.$3 {$4, $5}, [$6];", when, k->load, type, v[0], v[1], at);
    else if (r->words == 4)
        cj_ptx(k->f, "$1.v4.$2 {$3, $4, $5, $6}, [$7];", k->load, type, v[0], v[1], v[2], v[3], at);
    else
        cj_ptx(k->f, "$1.v2.$2 {$3, $4}, [$5];", k->load, type, v[0], v[1], at);
}

// The elements of a word, as values of the type that is computed in.
static void unpack_word(const reduce_kernel *k, const registers *r, cj_reg word, const cj_reg *to) {
    cj_func *f = k->f;
    unsigned bits = 8 * k->dtype->bytes;
    if (k->plan->params.value[REDUCE_DTYPE] == CJ_BF16) {
        cj_ptx(f, "shl.b32 $1, $2, 16;", to[0], word);
        cj_ptx(f, "and.b32 $1, $2, 0xffff0000;", to[1], word);
    } else if (*k->dtype->ptx == 'f') {
        cj_ptx(f, "mov.b32 {$1, $2}, $3;", r->half, r->upper, word);
        cj_ptx(f, "cvt.f32.f16 $1, $2;", to[0], r->half);
        cj_ptx(f, "cvt.f32.f16 $1, $2;", to[1], r->upper);
    } else {
        for (unsigned i = 0; i < 32 / bits; i++)
            cj_ptx(f, "bfe.$1 $2, $3, $4, $5;", k->dtype->ptx, to[i], word, i * bits, bits);
    }
}

// What the user's map and the meeting type make of elements; the result stands in *of.
static void meet(const reduce_kernel *k, const registers *r, cj_reg *of, unsigned count) {
    for (unsigned i = 0; k->maps && i < count; i++) cj_call(k->f, k->map, of[i], of[i]);
    for (unsigned i = 0; is_converted(k) && i < count; i++) {
        cj_ptx(k->f, "cvt.rn.$1.$2 $3, $4;", k->type[0], k->dtype->ptx, r->met[i], of[i]);
        of[i] = r->met[i];
    }
}

// Takes loads u to u + loads - 1, the first of which came from `at`.
static void take_loads(reduce_kernel *k, const registers *r, const reduce_part *part, unsigned u, unsigned loads,
                       cj_reg at) {
    cj_reg   element[ELEMENTS_MAX];
    unsigned count = 0;
    for (unsigned l = u; l < u + loads; l++) {
        const unsigned each = k->vector / r->words;
        for (unsigned i = 0; i < r->words; i++, count += each) {
            element[count] = r->raw[l][i];
            if (!is_narrow(k)) continue;
            for (unsigned e = 0; e < each; e++) element[count + e] = r->element[count + e];
            unpack_word(k, r, r->raw[l][i], &element[count]);
        }
    }
    meet(k, r, element, count);
    cj__reduce_take(k, part, element, count, at);
}

// One element, as memory has it.
static void load_element(const reduce_kernel *k, cj_reg to, cj_reg at, cj_reg when) {
    cj_func    *f = k->f;
    const char *type = k->dtype->element;
    bool        is_half = *type == 'b', is_bf16 = k->plan->params.value[REDUCE_DTYPE] == CJ_BF16;
    cj_reg      loaded = is_half ? cj_register(f, "b16", "half") : to;
    cj_ptx(f, "@$1 $2.$3 $4, [$5];", when, k->load, type, loaded, at);
    if (is_bf16) cj_ptx(f, "mov.b32 $1, {$2, $2}; and.b32 $1, $1, 0xffff0000;", to, loaded);
    else if (is_half) cj_ptx(f, "cvt.f32.f16 $1, $2;", to, loaded);
}

// ---- a thread's part

static const reduce_part *part_at(const reduce_kernel *k, const reduce_part *part, unsigned u) {
    return &part[u % parts_of(k)];
}

// Rows of loads, one a thread of the block, that are fetched ahead: as many as there are, or as the memory gives while the
// kernel before ends. More would keep that one waiting.
static unsigned rows_ahead(const reduce_kernel *k) {
    const uint64_t row = (uint64_t)k->plan->grid.x * k->plan->block.x * REDUCE_LOAD;
    const uint64_t all = (k->plan->params.value[REDUCE_N] * k->dtype->bytes + row - 1) / row,
                   ahead = REDUCE_PREFETCH_BYTES / row;
    const uint64_t rows = all < ahead ? all : ahead ? ahead : 1;
    return rows < REDUCE_PREFETCH_ROWS ? (unsigned)rows : REDUCE_PREFETCH_ROWS;
}

// A kernel that starts beside the one before it fetches what it loads first into L2 while it waits. That reads nothing: L2 is
// where the other's writes arrive, too. One thread for each of the block's rows of loads.
static void emit_prefetch(reduce_kernel *k, cj_reg at) {
    cj_func *f = k->f;
    cj_reg   row = cj_u64(f, "row"), step = cj_u64(f, "row_step"), left = cj_u64(f, "left"),
           bytes = cj_u32(f, "row_bytes");
    cj_reg fetches = cj_pred(f, "fetches");
    cj_step(f, "meanwhile the block's first loads are fetched into L2: a row of them by a thread");
    cj_ptx(f, "cvt.u64.u32 $1, $2;", row, k->thread);
    cj_ptx(f, "sub.u64 $1, $2, $3;", step, k->stride, REDUCE_LOAD);
    cj_ptx(f, "mad.lo.u64 $1, $1, $2, $3;", row, step, at);
    cj_ptx(f, "sub.u64 $1, $2, $3;", left, k->tail, row);
    cj_ptx(f, "min.u64 $1, $1, $2;", left, REDUCE_LOAD * k->plan->block.x);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", bytes, left);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", fetches, row, k->tail);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", fetches, k->thread, rows_ahead(k));
    cj_ptx(f, "@$1 cp.async.bulk.prefetch.L2.global [$2], $3;", fetches, row, bytes);
}

// Four loads in flight, while four are left.
static void emit_body(reduce_kernel *k, const registers *r, const reduce_part *part, cj_reg at) {
    cj_func *f = k->f;
    cj_reg   more = cj_pred(f, "more"), limit = cj_s64(f, "limit"), from[REDUCE_FLIGHT];
    cj_label next = cj_label_new(f, "next_four"), end = cj_label_new(f, "last_loads");
    for (unsigned u = 0; u < REDUCE_FLIGHT; u++) from[u] = k->op->kind == REDUCE_BEST ? cj_u64(f, "from") : at;
    cj_step(f, "where the thread's loads begin, and from where on fewer than four are left");
    cj_ptx(f, "shl.b64 $1, $2, 4;", at, k->number);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, k->body);
    cj_ptx(f, "mul.lo.s64 $1, $2, $3;", limit, k->stride, REDUCE_FLIGHT - 1);
    cj_ptx(f, "sub.s64 $1, $2, $1;", limit, k->tail);
    cj_ptx(f, "setp.lt.s64 $1, $2, $3;", more, at, limit);
    if (k->plan->programmatic) emit_prefetch(k, at);
    cj__reduce_wait(k);
    cj_step(f, "body: four loads in flight a thread, while four are left");
    cj_ptx(f, "@!$1 bra $2;", more, end);
    cj_label_here(f, next);
    for (unsigned u = 0; u < REDUCE_FLIGHT; u++) {
        load_vector(k, r, u, at, cj_always());
        if (k->op->kind == REDUCE_BEST) cj_ptx(f, "mov.u64 $1, $2;", from[u], at);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, k->stride);
    }
    for (unsigned u = 0; u < REDUCE_FLIGHT; u += together(k))
        take_loads(k, r, part_at(k, part, u), u, together(k), from[u]);
    cj_ptx(f, "setp.lt.s64 $1, $2, $3;", more, at, limit);
    cj_ptx(f, "@$1 bra $2;", more, next);
    cj_label_here(f, end);
}

// The head lies before all that a part has seen, and of equal elements the first is wanted: so it comes as a part of
// its own.
static void take_edge(reduce_kernel *k, const reduce_part *part, cj_reg element, cj_reg at) {
    if (k->op->kind != REDUCE_BEST) {
        cj__reduce_take(k, part, &element, 1, at);
        return;
    }
    reduce_part alone = cj__reduce_part_new(k, "edge");
    cj__reduce_part_clear(k, &alone);
    cj__reduce_take(k, &alone, &element, 1, at);
    cj__reduce_combine(k, part, &alone);
}

// The loads that are left, fewer than four, and an element of head and tail: all in flight at once.
static void emit_last(reduce_kernel *k, const registers *r, const reduce_part *part, cj_reg at) {
    cj_func    *f = k->f;
    cj_reg      there[REDUCE_FLIGHT - 1], edge[2], edge_at[2], edge_there[2], from = cj_u64(f, "from");
    cj_label    edges = cj_label_new(f, "edges");
    const char *names[] = {"head", "tail"};
    cj_step(f, "the last loads, fewer than four, and by the first threads an element of head and tail each");
    cj_ptx(f, "mov.u64 $1, $2;", from, at);
    for (unsigned u = 0; u < REDUCE_FLIGHT - 1; u++) {
        there[u] = cj_pred(f, "there");
        cj_ptx(f, "setp.lt.u64 $1, $2, $3;", there[u], at, k->tail);
        load_vector(k, r, u, at, there[u]);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, k->stride);
    }
    for (unsigned i = 0; i < 2; i++) {
        edge[i] = cj_register(f, k->dtype->ptx, names[i]);
        edge_at[i] = cj_u64(f, i ? "tail_at" : "head_at");
        edge_there[i] = cj_pred(f, "inside");
        cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", edge_at[i], k->number, k->dtype->bytes, i ? k->tail : k->first);
        cj_ptx(f, "setp.lt.u64 $1, $2, $3;", edge_there[i], edge_at[i], i ? k->last : k->body);
        load_element(k, edge[i], edge_at[i], edge_there[i]);
    }
    for (unsigned u = 0; u < REDUCE_FLIGHT - 1; u++) {
        cj_ptx(f, "@!$1 bra $2;", there[u], edges);
        take_loads(k, r, part_at(k, part, u), u, 1, from);
        cj_ptx(f, "add.u64 $1, $1, $2;", from, k->stride);
    }
    cj_label_here(f, edges);
    for (unsigned i = 0; i < 2; i++) {
        cj_label none = cj_label_new(f, "no_element");
        cj_ptx(f, "@!$1 bra $2;", edge_there[i], none);
        meet(k, r, &edge[i], 1);
        take_edge(k, part_at(k, part, REDUCE_FLIGHT - 1), edge[i], edge_at[i]);
        cj_label_here(f, none);
    }
}

void cj__reduce_thread(reduce_kernel *k) {
    cj_func        *f = k->f;
    reduce_part     part[REDUCE_FLIGHT];
    const registers r = make_registers(k);
    cj_reg          at = cj_u64(f, "at");
    cj_step(f, "each thread's parts start as the identity");
    for (unsigned u = 0; u < parts_of(k); u++) {
        part[u] = cj__reduce_part_new(k, (const char *const[]){"part", "part_1", "part_2", "part_3"}[u]);
        cj__reduce_part_clear(k, &part[u]);
    }
    emit_body(k, &r, part, at);
    emit_last(k, &r, part, at);
    for (unsigned distance = parts_of(k) / 2; distance; distance /= 2)
        for (unsigned u = 0; u < distance; u++) cj__reduce_combine(k, &part[u], &part[u + distance]);
    k->part = part[0];
}
