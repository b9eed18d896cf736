// SPDX-License-Identifier: Apache-2.0
// cp.reduce.async.bulk, red.async and st.async: every operation, type and direction, on edge values.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "semantics_async.h"
#include "test.h"

// ---- types, and the results of operations on them

typedef struct element {
    const char *name;
    unsigned    bytes, fraction;  // bits of the fraction; 0: an integer
    bool        is_signed;
} element;

static const element elements[] = {
    {"b32", 4, 0, false}, {"u32", 4, 0, false}, {"s32", 4, 0, true},  {"b64", 8, 0, false}, {"u64", 8, 0, false},
    {"s64", 8, 0, true},  {"f16", 2, 10, true}, {"bf16", 2, 7, true}, {"f32", 4, 23, true}, {"f64", 8, 52, true}};

static const element *element_named(const char *name) {
    for (size_t i = 0; i < CJ_TEST_COUNT(elements); i++)
        if (!strcmp(elements[i].name, name)) return &elements[i];
    fail_msg("there is no type %s", name);
    return NULL;
}

static uint64_t load(const element *e, const unsigned char *from) {
    uint64_t bits = 0;
    memcpy(&bits, from, e->bytes);
    return bits;
}

static int exponent_bits(const element *e) { return (int)(8 * e->bytes - 1 - e->fraction); }

static double number(const element *e, uint64_t bits) {
    const int    most = (1 << exponent_bits(e)) - 1, bias = most / 2, fraction = (int)e->fraction;
    const int    exponent = (int)(bits >> fraction) & most;
    const double low = (double)(bits & ((UINT64_C(1) << fraction) - 1));
    const double value = exponent == most ? low > 0 ? (double)NAN : (double)INFINITY
                         : exponent       ? ldexp(low + ldexp(1, fraction), exponent - bias - fraction)
                                          : ldexp(low, 1 - bias - fraction);
    return bits >> (8 * e->bytes - 1) & 1 ? -value : value;
}

// The nearest code, ties to even. NaN becomes the one that the hardware gives for f16, bf16 and f32.
static uint64_t code(const element *e, double value) {
    const int      bits = (int)(8 * e->bytes), fraction = (int)e->fraction, bias = (1 << (exponent_bits(e) - 1)) - 1;
    const uint64_t sign = signbit(value) ? UINT64_C(1) << (bits - 1) : 0, infinity = (2 * (uint64_t)bias + 1)
                                                                                     << fraction;
    if (isnan(value)) return UINT64_MAX >> (65 - bits);
    if (isinf(value)) return sign | infinity;
    const int      least = 1 - bias, exponent = value != 0 && ilogb(value) > least ? ilogb(value) : least;
    const uint64_t units = (uint64_t)nearbyint(ldexp(fabs(value), fraction - exponent));
    const uint64_t result = ((uint64_t)(exponent - least) << fraction) + units;  // a carry goes into the exponent
    return sign | (result > infinity ? infinity : result);
}

#define F64_INVALID (UINT64_C(0xfff8) << 48)

static uint64_t of_floats(const char *operation, const element *e, uint64_t old, uint64_t given) {
    const double a = number(e, old), b = number(e, given);
    const bool   smaller = !strcmp(operation, "min");
    if (e->bytes == 8 && isnan(a + b))
        return isnan(b) ? given : isnan(a) ? old : F64_INVALID;  // a NaN of f64 stays unchanged
    if (!strcmp(operation, "add")) return code(e, a + b);
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? code(e, (double)NAN) : isnan(a) ? given : old;
    if (a == b) return signbit(a) == smaller ? old : given;  // -0 is less than +0
    return (a < b) == smaller ? old : given;
}

static uint64_t of_integers(const char *operation, const element *e, uint64_t old, uint64_t given) {
    const uint64_t bias = e->is_signed ? UINT64_C(1) << (8 * e->bytes - 1) : 0;
    const bool     less = (old ^ bias) < (given ^ bias);
    switch (operation[0] == 'm' ? operation[1] : operation[0]) {
    case 'a':
        return !strcmp(operation, "max") ? less ? given : old : !strcmp(operation, "add") ? old + given : old & given;
    case 'i': return !strcmp(operation, "min") ? less ? old : given : old >= given ? 0 : old + 1;
    case 'd': return !old || old > given ? given : old - 1;
    case 'o': return old | given;
    default: return old ^ given;
    }
}

void cj_async_apply(const char *operation, const char *type, unsigned char *to, const unsigned char *from,
                    unsigned bytes) {
    const element *e = element_named(type);
    for (unsigned at = 0; at < bytes; at += e->bytes) {
        const uint64_t old = load(e, to + at), given = load(e, from + at);
        const uint64_t result = e->fraction ? of_floats(operation, e, old, given)
                                            : of_integers(operation, e, old, given);
        memcpy(to + at, &result, e->bytes);
    }
}

// ---- edge values: each one of the destination with each one of the source

static const uint64_t integers[] = {0,
                                    1,
                                    2,
                                    0x7f,
                                    0xffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0x80000001,
                                    0xffffffff,
                                    0x100000000,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    6,
                                    7,
                                    8};

// Codes of the greatest exponents and the least, and of numbers near 1.
static uint64_t float_edge(const element *e, unsigned i) {
    const unsigned fraction = e->fraction;
    const uint64_t one = ((UINT64_C(1) << (exponent_bits(e) - 1)) - 1) << fraction;
    const uint64_t infinity = 2 * one + (UINT64_C(1) << fraction);
    const uint64_t codes[] = {0,
                              1,
                              (UINT64_C(1) << fraction) - 1,
                              UINT64_C(1) << fraction,
                              one,
                              one + 1,
                              one - 1,
                              one - ((uint64_t)(fraction + 1) << fraction),
                              infinity - 1,
                              infinity,
                              infinity + 1,
                              infinity + (UINT64_C(1) << (fraction - 1))};
    const uint64_t sign = i & 1 ? UINT64_C(1) << (8 * e->bytes - 1) : 0;
    return sign | codes[i / 2 % CJ_TEST_COUNT(codes)];
}

static void fill_edges(const element *e, unsigned first, unsigned char *to, unsigned char *from, unsigned count) {
    const unsigned edges = e->fraction ? 24 : CJ_TEST_COUNT(integers);
    for (unsigned i = 0; i < count; i++) {
        const unsigned pair = first + i, x = pair % edges, y = (pair / edges + pair) % edges;
        const uint64_t a = e->fraction ? float_edge(e, x) : integers[x],
                       b = e->fraction ? float_edge(e, y) : integers[y];
        memcpy(to + i * e->bytes, &a, e->bytes);
        memcpy(from + i * e->bytes, &b, e->bytes);
    }
}

// ---- cp.reduce.async.bulk

typedef enum target { OWN, PEER, GLOBAL, TARGETS } target;

static const struct {
    const char *operation, *type;
    bool        shared;  // also into shared memory
} reductions[] = {
    {"and", "b32", true},   {"or", "b32", true},         {"xor", "b32", true},        {"add", "u32", true},
    {"add", "s32", true},   {"min", "u32", true},        {"min", "s32", true},        {"max", "u32", true},
    {"max", "s32", true},   {"inc", "u32", true},        {"dec", "u32", true},        {"add", "u64", true},
    {"and", "b64", false},  {"or", "b64", false},        {"xor", "b64", false},       {"min", "u64", false},
    {"max", "u64", false},  {"min", "s64", false},       {"max", "s64", false},       {"add", "f32", false},
    {"add", "f64", false},  {"min", "f16", false},       {"max", "f16", false},       {"min", "bf16", false},
    {"max", "bf16", false}, {"add.noftz", "f16", false}, {"add.noftz", "bf16", false}};

enum {
    SHARED_COUNT = 12,
    REDUCTIONS = CJ_TEST_COUNT(reductions),
    EDGE_BYTES = 768,
    REGION = CJ_ASYNC_GLOBAL / CJ_ASYNC_BLOCKS
};

static unsigned reductions_count(void) { return REDUCTIONS + 2 * SHARED_COUNT; }

static target target_of(unsigned index, unsigned *row) {
    *row = index < REDUCTIONS ? index : (index - REDUCTIONS) % SHARED_COUNT;
    return index < REDUCTIONS ? GLOBAL : index < REDUCTIONS + SHARED_COUNT ? OWN : PEER;
}

static void operation_of(unsigned row, char operation[8]) {
    snprintf(operation, 8, "%.*s", (int)strcspn(reductions[row].operation, "."), reductions[row].operation);
}

static void reductions_make(unsigned index, cj_async_case *c) {
    unsigned     row;
    const target t = target_of(index, &row);
    assert_true(reductions[row].shared || t == GLOBAL);
    c->blocks = CJ_ASYNC_BLOCKS;
    snprintf(c->name, sizeof c->name, "cp.reduce.async.bulk.%s%s.%s.%s%s",
             t == GLOBAL ? "global.shared::cta.bulk_group" : "shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
             t == GLOBAL && row % 2 ? ".L2::cache_hint" : "", reductions[row].operation, reductions[row].type,
             t == PEER ? " to a peer" : "");
}

static void reductions_write(const cj_async_case *c, cj_text *text) {
    unsigned     row;
    const target t = target_of(c->index, &row);
    const int    length = (int)strcspn(c->name, " ");
    cj__text_printf(text,
                    "    mad.wide.u32 %%l1, %%rank, %d, %%out;\n    add.u32 %%r1, %%rank, %d;\n"
                    "    and.b32 %%r1, %%r1, %d;\n    @%%first mbarrier.init.shared::cta.b64 [bar], 1;\n"
                    "    @%%first mbarrier.arrive.expect_tx.shared::cta.b64 %%l2, [bar], %d;\n",
                    REGION, t == PEER, CJ_ASYNC_BLOCKS - 1, t == GLOBAL ? 0 : EDGE_BYTES);
    cj_async_map(text, "%r2", "tile", 0, "%r1");
    cj_async_map(text, "%r3", "bar", 0, "%r1");
    cj_async_barrier(c, text);
    if (t == GLOBAL) {
        cj__text_printf(text,
                        "    @%%first %.*s [%%l1], [from], %d%s;\n    @%%first cp.async.bulk.commit_group;\n"
                        "    @%%first cp.async.bulk.wait_group 0;\n",
                        length, c->name, EDGE_BYTES, row % 2 ? ", %policy" : "");
    } else {
        cj__text_printf(text, "    @%%first %.*s [%%r2], [from], %d, [%%r3];\n", length, c->name, EDGE_BYTES);
        cj_async_wait(text, "wait", "bar", 0);
    }
}

// The destination of a block's reduction: rank, and the bytes of that rank.
static unsigned char *destination(cj_async_state *state, target t, unsigned rank) {
    return t == GLOBAL ? state->global + rank * REGION : state->block[(rank + (t == PEER)) % CJ_ASYNC_BLOCKS].tile;
}

static void reductions_fill(const cj_async_case *c, cj_async_state *in, uint64_t *random) {
    unsigned       row;
    const target   t = target_of(c->index, &row);
    const element *e = element_named(reductions[row].type);
    (void)random;
    const unsigned count = EDGE_BYTES / e->bytes;
    for (unsigned rank = 0; rank + 1 < CJ_ASYNC_BLOCKS; rank++)  // the last stays random
        fill_edges(e, rank * count, destination(in, t, rank), in->block[rank].from, count);
}

static void reductions_model(const cj_async_case *c, const cj_async_state *in, cj_async_state *out) {
    unsigned     row;
    char         operation[8];
    const target t = target_of(c->index, &row);
    operation_of(row, operation);
    for (unsigned rank = 0; rank < CJ_ASYNC_BLOCKS; rank++)
        cj_async_apply(operation, reductions[row].type, destination(out, t, rank), in->block[rank].from, EDGE_BYTES);
}

const cj_async_family cj_async_reductions = {"cp.reduce.async.bulk", reductions_count, reductions_make,
                                             reductions_write,       reductions_fill,  reductions_model};

// ---- st.async and red.async: every lane of every block sends to the next rank, or to its own block

static const struct {
    const char *operation, *type;  // operation: of red.async; "" for st.async
    unsigned    vector;
} sends[] = {{"", "b32", 1},    {"", "u32", 1},    {"", "s32", 1},    {"", "f32", 1},    {"", "b64", 1},
             {"", "u64", 1},    {"", "s64", 1},    {"", "f64", 1},    {"", "b32", 2},    {"", "u32", 2},
             {"", "s32", 2},    {"", "f32", 2},    {"", "b64", 2},    {"", "u64", 2},    {"", "s64", 2},
             {"", "f64", 2},    {"", "b32", 4},    {"", "u32", 4},    {"", "s32", 4},    {"", "f32", 4},
             {"inc", "u32", 1}, {"dec", "u32", 1}, {"add", "u32", 1}, {"add", "s32", 1}, {"min", "u32", 1},
             {"min", "s32", 1}, {"max", "u32", 1}, {"max", "s32", 1}, {"and", "b32", 1}, {"or", "b32", 1},
             {"xor", "b32", 1}, {"add", "u64", 1}};

// For each row: to the block itself and to the next rank; .shared::cluster and generic addresses.
static unsigned stores_count(void) { return CJ_TEST_COUNT(sends) * 4; }
static unsigned send_of(const cj_async_case *c) { return c->index / 4; }
static bool     to_peer(const cj_async_case *c) { return c->index & 1; }
static bool     is_generic(const cj_async_case *c) { return c->index & 2; }

static unsigned send_bytes(unsigned row) { return element_named(sends[row].type)->bytes * sends[row].vector; }

static void stores_make(unsigned index, cj_async_case *c) {
    const unsigned row = index / 4;
    const bool     stores = !*sends[row].operation;
    c->index = index;
    c->blocks = CJ_ASYNC_BLOCKS;
    snprintf(c->name, sizeof c->name, "%s%s.mbarrier::complete_tx::bytes%s%s%s.%s%s",
             stores ? row % 2 ? "st.async.weak" : "st.async" : "red.async.relaxed.cluster",
             is_generic(c) ? "" : ".shared::cluster", stores ? "" : ".", sends[row].operation,
             sends[row].vector == 4   ? ".v4"
             : sends[row].vector == 2 ? ".v2"
                                      : "",
             sends[row].type, to_peer(c) ? " to a peer" : "");
}

static void write_operands(unsigned row, cj_text *text) {
    static const char *const lists[] = {"", "%s1", "{%s1, %s2}", "", "{%s1, %s2, %s3, %s4}"};
    const char               kind = element_named(sends[row].type)->bytes == 8 ? 'l' : 'r';
    for (const char *at = lists[sends[row].vector]; *at; at++) {
        const char one[2] = {*at == 's' ? kind : *at, 0};
        cj__text_puts(text, one);
    }
}

static void stores_write(const cj_async_case *c, cj_text *text) {
    const unsigned row = send_of(c), bytes = send_bytes(row);
    const char     vector[4] = {'.', 'v', (char)('0' + sends[row].vector), 0};
    cj__text_printf(text,
                    "    add.u32 %%r10, %%rank, %d;\n    and.b32 %%r10, %%r10, %d;\n"
                    "    @%%first mbarrier.init.shared::cta.b64 [bar], 1;\n    fence.mbarrier_init.release.cluster;\n"
                    "    @%%first mbarrier.arrive.expect_tx.shared::cta.b64 %%l10, [bar], %u;\n",
                    to_peer(c), CJ_ASYNC_BLOCKS - 1, bytes * c->threads);
    cj__text_printf(text,
                    "    mov.u32 %%r11, from;\n    mad.lo.u32 %%r11, %%thread, %u, %%r11;\n    bar.sync 0;\n"
                    "    ld.shared%s.b%u ",
                    bytes, sends[row].vector > 1 ? vector : "", 8 * bytes / sends[row].vector);
    write_operands(row, text);
    cj__text_puts(text, ", [%r11];\n");
    cj_async_map(text, "%r12", "tile", 0, "%r10");
    cj_async_map(text, "%r13", "bar", 0, "%r10");
    cj__text_printf(text,
                    "    mad.lo.u32 %%r12, %%thread, %u, %%r12;\n    cvt.u64.u32 %%l12, %%r12;\n"
                    "    cvta.shared::cluster.u64 %%l12, %%l12;\n    cvt.u64.u32 %%l13, %%r13;\n"
                    "    cvta.shared::cluster.u64 %%l13, %%l13;\n",
                    bytes);
    cj_async_barrier(c, text);
    cj__text_printf(text, "    %.*s [%s], ", (int)strcspn(c->name, " "), c->name, is_generic(c) ? "%l12" : "%r12");
    write_operands(row, text);
    cj__text_printf(text, ", [%s];\n", is_generic(c) ? "%l13" : "%r13");
    cj_async_wait(text, "wait", "bar", 0);
}

static void stores_fill(const cj_async_case *c, cj_async_state *in, uint64_t *random) {
    const unsigned row = send_of(c);
    const element *e = element_named(sends[row].type);
    (void)random;
    const unsigned count = c->threads * sends[row].vector;
    for (unsigned rank = 0; rank < CJ_ASYNC_BLOCKS; rank++)
        fill_edges(e, rank * count, in->block[(rank + to_peer(c)) % CJ_ASYNC_BLOCKS].tile, in->block[rank].from, count);
}

static void stores_model(const cj_async_case *c, const cj_async_state *in, cj_async_state *out) {
    const unsigned row = send_of(c), bytes = send_bytes(row) * c->threads;
    for (unsigned rank = 0; rank < CJ_ASYNC_BLOCKS; rank++) {
        unsigned char *to = out->block[(rank + to_peer(c)) % CJ_ASYNC_BLOCKS].tile;
        if (*sends[row].operation)
            cj_async_apply(sends[row].operation, sends[row].type, to, in->block[rank].from, bytes);
        else
            memcpy(to, in->block[rank].from, bytes);
    }
}

const cj_async_family cj_async_stores = {"st.async, red.async", stores_count, stores_make,
                                         stores_write,          stores_fill,  stores_model};
