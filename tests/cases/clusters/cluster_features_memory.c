// SPDX-License-Identifier: Apache-2.0
// Distributed shared memory: FEATURES rows 3, 6, 8 and 17.
#include "cluster_features.h"

#include <string.h>

#include "test.h"

// ---- loads and stores of every type

enum { ELEMENTS = 4, ROOM = 32 * 16 };  // at most, of a thread; bytes of all threads

// Types: the type in memory, the register, the number of elements. A value is the low bits of mark().
static const struct {
    const char *type, *reg;
    uint32_t    bytes, count;
} types[] = {
    {"u8", "u32", 1, 1},  {"b8", "b32", 1, 4},  {"u16", "u16", 2, 1}, {"b16", "b16", 2, 2}, {"b16", "b16", 2, 4},
    {"s32", "s32", 4, 1}, {"u32", "u32", 4, 2}, {"b32", "b32", 4, 4}, {"f32", "f32", 4, 1}, {"f32", "f32", 4, 4},
    {"s64", "s64", 8, 1}, {"u64", "u64", 8, 2}, {"b64", "b64", 8, 1}, {"f64", "f64", 8, 1}, {"f64", "f64", 8, 2},
    {"s8", "s32", 1, 1},  {"s16", "s16", 2, 1},
};

// The bits of element k of thread `thread` of rank `rank`, of which narrow types keep the low ones: never a sign bit or
// a NaN.
static uint32_t mark(uint32_t rank, uint32_t thread, uint32_t k) { return rank * 31 + thread + k * 7; }

// Converts the mark in a u32 register to a register of the type, or back.
static void convert(cj_func *f, const char *reg, cj_reg to, cj_reg from, bool back) {
    const uint32_t bits = reg[1] == '1' ? 16 : reg[1] == '3' ? 32 : 64;
    const char    *widths[] = {back ? "u32.u16" : "u16.u32", "", back ? "u32.u64" : "u64.u32"};
    if (bits == 32)
        cj_ptx(f, "mov.b32 $1, $2;", to, from);
    else if (*reg == 'f' && back)
        cj_ptx(f, "{ .reg .b64 %w; mov.b64 %w, $2; cvt.u32.u64 $1, %w; }", to, from);
    else if (*reg == 'f')
        cj_ptx(f, "{ .reg .b64 %w; cvt.u64.u32 %w, $2; mov.b64 $1, %w; }", to, from);
    else
        cj_ptx(f, "cvt.$1 $2, $3;", widths[bits / 32], to, from);
}

// number: the type; an even one pulls (ld), an odd one pushes (st). From or to the right neighbour.
static void write_access(const cj_feature_scene *s) {
    cj_func       *f = s->f;
    const uint32_t which = s->feature->number / 2, bytes = types[which].bytes * types[which].count;
    const bool     pushes = s->feature->number % 2;
    cj_var         box = cj_shared(f, "b8", "box", ROOM, 16);
    cj_reg own = cj_shared_address(f, box), value[ELEMENTS], bits = cj_u32(f, "bits"), rank = cj_cluster_rank(f);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", own, s->thread, bytes);
    cj_reg peer = cj_cluster_map_address(f, own, cj_feature_peer(s, 1));
    for (uint32_t k = 0; k < types[which].count; k++) {
        value[k] = cj_register(f, types[which].reg, "value");
        cj_ptx(f, "mad.lo.u32 $1, $2, 31, $3;", bits, rank, s->thread);
        cj_ptx(f, "add.u32 $1, $1, $2;", bits, k * 7);
        convert(f, types[which].reg, value[k], bits, false);
    }
    if (pushes) cj_cluster_sync(f, "everyone has started");
    cj_dsmem_store(f, cj_always(), types[which].type, value, types[which].count, pushes ? peer : own, 0);
    cj_cluster_sync(f, "everything is stored");
    cj_dsmem_load(f, cj_always(), types[which].type, value, types[which].count, pushes ? own : peer, 0);
    if (!pushes) cj_cluster_sync(f, "nobody leaves while it is read");
    for (uint32_t k = 0; k < ELEMENTS; k++) {
        if (k < types[which].count)
            convert(f, types[which].reg, bits, value[k], true);
        else
            cj_ptx(f, "mov.u32 $1, 0;", bits);
        cj_feature_put(s, k, bits);
    }
}

static uint32_t expect_access(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t size = cj_feature_size(feature->cluster), rank = cj_feature_rank(feature, block);
    const uint32_t from = (rank + (feature->number % 2 ? size - 1 : 1)) % size;
    return i < types[feature->number / 2].count ? mark(from, thread, i) : 0;
}

// ---- direct access: the block's own window is part of the cluster's

static void write_direct(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   slot = cj_shared(f, "u32", "slot", 32, 0);
    cj_reg   own = cj_shared_address(f, slot), value = cj_u32(f, "value");
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $1;", own, s->thread);
    cj_ptx(f, "add.u32 $1, $2, 7;", value, s->thread);
    cj_dsmem_store(f, cj_always(), "u32", &value, 1, own, 0);
    cj_ptx(f, "ld.shared::cluster.u32 $1, [$2];", value, own);
    cj_feature_put(s, 0, value);
}

static uint32_t expect_direct(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    (void)feature, (void)block, (void)i;
    return thread + 7;
}

// ---- atomics and reductions: every thread of the cluster, on one counter of rank 0

static const struct {
    const char *op, *type;
    uint32_t    first;    // the counter's first value
    bool        returns;  // atom, not red
} atomics[] = {
    {"add", "u32", 5, false}, {"add", "u32", 5, true},  {"min", "u32", 99, false},  {"max", "s32", 0, true},
    {"inc", "u32", 0, false}, {"dec", "u32", 0, true},  {"and", "b32", 255, false}, {"or", "b32", 0, true},
    {"xor", "b32", 0, false}, {"exch", "b32", 7, true},
};

// The operand is the same for all threads. For counts: 3, and the limit 1000 of inc and dec.
static uint32_t operand(const char *op) { return !strcmp(op, "inc") || !strcmp(op, "dec") ? 1000 : 3; }

static void write_atomic(const cj_feature_scene *s) {
    cj_func       *f = s->f;
    const uint32_t which = s->feature->number;
    cj_var         counter = cj_shared(f, "u32", "counter", 1, 0);
    cj_reg         zero = cj_u32(f, "zero"), old = cj_register(f, atomics[which].type, "old"), seen = cj_u32(f, "seen");
    cj_reg         first = cj_pred(f, "first");
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, s->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", first, counter, atomics[which].first);
    cj_cluster_sync(f, "the counter is there");
    cj_reg peer = cj_cluster_map(f, counter, zero);
    cj_arg value = CJ_ARG(operand(atomics[which].op));
    if (atomics[which].returns)
        cj_dsmem_atom(f, cj_always(), atomics[which].op, atomics[which].type, old, peer, 0, value);
    else
        cj_dsmem_red(f, cj_always(), atomics[which].op, atomics[which].type, peer, 0, value);
    cj_cluster_sync(f, "everyone has counted");
    cj_dsmem_load(f, cj_always(), "u32", &seen, 1, peer, 0);
    cj_cluster_sync(f, "nobody leaves while it is read");
    cj_feature_put(s, 0, seen);
}

static uint32_t expect_atomic(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const char    *op = atomics[feature->number].op;
    const uint32_t times = cj_feature_size(feature->cluster) * cj_feature_size(feature->block);
    uint32_t       counter = atomics[feature->number].first;
    (void)block, (void)thread, (void)i;
    for (uint32_t k = 0; k < times; k++) {
        const uint32_t value = operand(op);
        if (!strcmp(op, "add")) counter += value;
        if (!strcmp(op, "min")) counter = counter < value ? counter : value;
        if (!strcmp(op, "max")) counter = counter > value ? counter : value;
        if (!strcmp(op, "inc")) counter = counter >= value ? 0 : counter + 1;
        if (!strcmp(op, "dec")) counter = !counter || counter > value ? value : counter - 1;
        if (!strcmp(op, "and")) counter &= value;
        if (!strcmp(op, "or")) counter |= value;
        if (!strcmp(op, "xor")) counter ^= value;
        if (!strcmp(op, "exch")) counter = value;
    }
    return counter;
}

// The largest thread rank, by compare and swap.
static void write_swap(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   best = cj_shared(f, "u32", "best", 1, 0);
    cj_reg   zero = cj_u32(f, "zero"), mine = cj_u32(f, "mine"), seen = cj_u32(f, "seen"), old = cj_b32(f, "old"),
           first = cj_pred(f, "first");
    cj_reg   done = cj_pred(f, "done");
    cj_label again = cj_label_new(f, "again"), end = cj_label_new(f, "end");
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, s->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", first, best);
    cj_cluster_sync(f, "it is there");
    cj_reg peer = cj_cluster_map(f, best, zero);
    cj_ptx(f, "mov.u32 $1, $2;", mine, cj_cluster_thread_rank(f));
    cj_ptx(f, "mov.u32 $1, 0;", seen);
    cj_label_here(f, again);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", done, seen, mine);
    cj_ptx(f, "@$1 bra $2;", done, end);
    cj_dsmem_cas(f, cj_always(), "b32", old, peer, 0, CJ_ARG(seen), CJ_ARG(mine));
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", done, old, seen);
    cj_ptx(f, "mov.b32 $1, $2;", seen, old);
    cj_ptx(f, "@!$1 bra $2;", done, again);
    cj_label_here(f, end);
    cj_ptx(f, "bar.warp.sync 0xffffffff;");
    cj_cluster_sync(f, "everyone has tried");
    cj_dsmem_load(f, cj_always(), "u32", &seen, 1, peer, 0);
    cj_cluster_sync(f, "nobody leaves while it is read");
    cj_feature_put(s, 0, seen);
}

static uint32_t expect_swap(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    (void)block, (void)thread, (void)i;
    return cj_feature_size(feature->cluster) * cj_feature_size(feature->block) - 1;
}

// ---- exchanges

// Each thread's value is in its block's shared memory; it reads the neighbour's. number: 0, the halo's slots; 1, the
// ring's 1000 + rank by every thread; 2, a pair whose values are floats that are added.
static void write_neighbour(const cj_feature_scene *s) {
    cj_func   *f = s->f;
    const bool is_pair = s->feature->number == 2;
    cj_var     slot = cj_shared(f, is_pair ? "f32" : "u32", "slot", cj_feature_size(s->feature->block), 0);
    cj_reg     own = cj_shared_address(f, slot), rank = cj_cluster_rank(f), bits = cj_u32(f, "bits");
    cj_reg     mine = cj_register(f, is_pair ? "f32" : "u32", "mine"),
           theirs = cj_register(f, is_pair ? "f32" : "u32", "theirs");
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $1;", own, s->thread);
    if (s->feature->number == 1)
        cj_ptx(f, "add.u32 $1, $2, 1000;", bits, rank);
    else
        cj_ptx(f, "mad.lo.u32 $1, $2, 1000, $3;", bits, rank, s->thread);
    if (is_pair)
        cj_ptx(f, "cvt.rn.f32.u32 $1, $2;", mine, bits);
    else
        cj_ptx(f, "mov.u32 $1, $2;", mine, bits);
    cj_ptx(f, "st.shared.$1 [$2], $3;", is_pair ? "f32" : "u32", own, mine);
    cj_cluster_sync(f, "everyone's slots are written");
    cj_dsmem_load(f, cj_always(), is_pair ? "f32" : "u32", &theirs, 1,
                  cj_cluster_map_address(f, own, cj_feature_peer(s, 1)), 0);
    cj_cluster_sync(f, "nobody leaves while it is read");
    if (is_pair) cj_ptx(f, "add.f32 $1, $1, $2;", theirs, mine);
    cj_ptx(f, "mov.b32 $1, $2;", bits, theirs);
    cj_feature_put(s, 0, bits);
}

static uint32_t expect_neighbour(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t size = cj_feature_size(feature->cluster), rank = cj_feature_rank(feature, block),
                   right = (rank + 1) % size;
    const float sum = (float)(rank * 1000 + thread) + (float)(right * 1000 + thread);
    uint32_t    bits;
    (void)i;
    memcpy(&bits, &sum, sizeof bits);
    return feature->number == 2 ? bits : feature->number == 1 ? 1000 + right : right * 1000 + thread;
}

// Rank r adds 10 (r + 1) to rank 0's sum: 100 for four blocks.
static void write_sum(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   sum = cj_shared(f, "u32", "sum", 1, 0);
    cj_reg zero = cj_u32(f, "zero"), part = cj_u32(f, "part"), total = cj_u32(f, "total"), first = cj_pred(f, "first");
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, s->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", first, sum);
    cj_ptx(f, "mad.lo.u32 $1, $2, 10, 10;", part, cj_cluster_rank(f));
    cj_cluster_sync(f, "the sum begins at 0");
    cj_reg peer = cj_cluster_map(f, sum, zero);
    cj_dsmem_red(f, first, "add", "u32", peer, 0, CJ_ARG(part));
    cj_cluster_sync(f, "everyone has added");
    cj_dsmem_load(f, cj_always(), "u32", &total, 1, peer, 0);
    cj_cluster_sync(f, "nobody leaves while it is read");
    cj_feature_put(s, 0, total);
}

static uint32_t expect_sum(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    (void)feature, (void)block, (void)thread, (void)i;
    return 100;
}

#define FOUR \
    {8, 1, 1}, {32, 1, 1}, { 4, 1, 1 }
#define ACCESS(name, which)                                                                     \
    {"3_mapped_load_of_" name, FOUR, ELEMENTS, 2 * (which), write_access, expect_access}, {     \
        "3_mapped_store_of_" name, FOUR, ELEMENTS, 2 * (which) + 1, write_access, expect_access \
    }
#define ATOMIC(name, which) \
    { "3_" name, FOUR, 1, which, write_atomic, expect_atomic }

static const cj_feature features[] = {
    ACCESS("u8", 0),
    ACCESS("four_b8", 1),
    ACCESS("u16", 2),
    ACCESS("two_b16", 3),
    ACCESS("four_b16", 4),
    ACCESS("s32", 5),
    ACCESS("two_u32", 6),
    ACCESS("four_b32", 7),
    ACCESS("f32", 8),
    ACCESS("four_f32", 9),
    ACCESS("s64", 10),
    ACCESS("two_u64", 11),
    ACCESS("b64", 12),
    ACCESS("f64", 13),
    ACCESS("two_f64", 14),
    ACCESS("s8", 15),
    ACCESS("s16", 16),
    {"3_direct_access_of_the_own_window", FOUR, 1, 0, write_direct, expect_direct},
    ATOMIC("red_add", 0),
    ATOMIC("atom_add", 1),
    ATOMIC("red_min", 2),
    ATOMIC("atom_max", 3),
    ATOMIC("red_inc", 4),
    ATOMIC("atom_dec", 5),
    ATOMIC("red_and", 6),
    ATOMIC("atom_or", 7),
    ATOMIC("red_xor", 8),
    ATOMIC("atom_exch", 9),
    {"3_compare_and_swap", FOUR, 1, 0, write_swap, expect_swap},
    {"6_halo_of_4_blocks_by_256_slots", {8, 1, 1}, {256, 1, 1}, {4, 1, 1}, 1, 0, write_neighbour, expect_neighbour},
    {"8_ring_1001_1002_1003_1000", FOUR, 1, 1, write_neighbour, expect_neighbour},
    {"8_reduction_of_4_blocks_is_100", FOUR, 1, 0, write_sum, expect_sum},
    {"17_pairs_add_256_floats", {8, 1, 1}, {256, 1, 1}, {2, 1, 1}, 1, 2, write_neighbour, expect_neighbour},
};

const cj_features cj_features_memory = {features, CJ_TEST_COUNT(features)};
