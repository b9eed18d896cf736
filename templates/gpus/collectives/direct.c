// SPDX-License-Identifier: Apache-2.0
// Collectives of arrays that all GPUs reach (registered memory): units of 16 bytes, or single elements, go from array to array
// without mail. Half the bytes of messages cross the links, and no mail limits the size.
//
//   begin:  flag to block b of each peer, its flags awaited    x of all is complete, out of all may be written
//   allgather, alltoall        own x  --ld-->  --st-->  out of each GPU
//   reducescatter              x of each GPU  --ld-->  combine  --st-->  own out
//   allreduce, broadcast       GPU r does so with part r alone: x of each (of the root)  --ld--> …  --st-->  out of each
//   end:    flag to block b of each peer, its flags awaited    out is complete, x of all has been read
//
// Pull what is combined: pushing it would need room for the parts of all GPUs. 66 blocks load 360 GB/s from a peer as they store
// 367 (4 x H200); what loads cost more is latency, once a launch. x may be out of allreduce and broadcast: a unit is read and
// written by one thread of one GPU.
//
// memory=multicast: the same copies of all-reduce and reduce-scatter, by multimem instructions. Each GPU's part of x of all GPUs is one load, which combines, and
// its result one store to all; the flags are the same.
//
// Flags (flags.c) take the place of hellos:
//
//   begin  earlier kernels' writes -> flag (release) …> flag seen (acquire) -> D1 -> loads from and stores to peers
//   end    loads and stores -> D2 -> flag (release) …> flag seen (acquire) -> the end of the block -> later kernels
//
// One flag of each block suffices: a launch has ended when its blocks have, so each block of each peer has. A block that misses a
// flag, or finds another checksum, touches no array.
#include "collectives.h"

static bool loads_from_all(const gpus_shape *s) { return s->op->combines || s->op->from_root; }
static bool stores_to_all(const gpus_shape *s) { return !s->op->combines || !s->op->by_rank; }
static bool is_by_parts(const gpus_shape *s) { return !s->op->by_rank && !s->op->gathers; }

// How many arrays there are for x or out: one multicast address stands for those of all GPUs.
static uint32_t arrays_of(const gpus_shape *s, bool of_all) { return of_all && !s->multicast ? s->gpus : 1; }

// Whether GPU q's x is read; the only one is its own, in place 0.
static bool loads_from(const gpus_shape *s, uint32_t q) {
    if (s->op->from_root) return q == s->root;
    return !q || s->op->combines;
}

// ---- arrays

static void declare_all(gpus_kernel *k, bool of_all, const char *name, cj_var *param) {
    const bool of_each = of_all && !k->s.multicast;
    for (uint32_t q = 0; q < arrays_of(&k->s, of_all); q++) {
        char text[16], what[48];
        snprintf(text, sizeof text, of_each ? "%s_%u" : "%s", name, q);
        snprintf(what, sizeof what, of_each ? "%s of GPU %u" : of_all ? "%s of all GPUs, a multicast address" : "%s of this GPU", name, q);
        param[q] = cj_param(k->f, "u64", text, what);
    }
}

void cj__gpus_declare_arrays(gpus_kernel *k) {
    declare_all(k, loads_from_all(&k->s), "x", k->from_param);
    declare_all(k, stores_to_all(&k->s), "out", k->to_param);
    k->what_param = cj_param(k->f, "u64", "arrays", "a hash of where x and out lie in registered memory: the same on all GPUs");
}

void cj__gpus_open_arrays(gpus_kernel *k) {
    cj_func *f = k->f;
    for (uint32_t q = 0; q < (k->s.multicast ? 1 : k->s.gpus); q++)
        if (loads_from(&k->s, q)) k->from[q] = cj__load_pointer(f, k->from_param[q], "x");
    for (uint32_t q = 0; q < arrays_of(&k->s, stores_to_all(&k->s)); q++) k->to[q] = cj__load_pointer(f, k->to_param[q], "out");
    k->what = cj__load_param(f, "u32", k->what_param, "what");
    cj_update(f, k->what, "xor", k->checksum);
}

// ---- units

static uint32_t unit_bytes(const gpus_shape *s) { return s->each * s->bytes; }

// A single half, or byte, is the lowest one of its word, beside 0.
static const char *type_apart(const gpus_shape *s) { return unit_bytes(s) == 2 ? "b16" : "b8"; }

static void load_unit(const gpus_kernel *k, cj_reg at, cj_reg *words) {
    cj_func *f = k->f;
    if (unit_bytes(&k->s) > 2) {
        cj_registers(f, "b32", "word", k->s.words, words);
        cj__load(f, cj_always(), "ld.global", "b32", words, k->s.words, at, 0);
        return;
    }
    cj_reg half = cj_register(f, "b16", "half");
    cj__load(f, cj_always(), "ld.global", type_apart(&k->s), &half, 1, at, 0);
    words[0] = cj_let(f, "b32", "word", "cvt.u32.u16 $1, $2;", half);
}

static void store_unit(const gpus_kernel *k, cj_reg at, const cj_reg *words) {
    if (unit_bytes(&k->s) > 2) {
        cj__store(k->f, cj_always(), "st.global", "b32", words, k->s.words, at, 0);
        return;
    }
    cj_reg half = cj_let(k->f, "b16", "half", "cvt.u16.u32 $1, $2;", words[0]);
    cj__store(k->f, cj_always(), "st.global", type_apart(&k->s), &half, 1, at, 0);
}

// ---- the loop

// array[i] is that of peer i from here on.
static void turn(const gpus_kernel *k, const char *name, cj_reg array[CJ_BOX_GPUS]) {
    cj_reg of_peer[CJ_BOX_GPUS];
    cj__gpus_by_peer(k, name, array, of_peer);
    memcpy(array, of_peer, k->s.gpus * sizeof *array);
}

// Where unit 0 of this GPU's work lies in the arrays: of the parts that belong to it, or of all.
//
// What is combined may come in the order of paired peers alone: neighbours are combined first, and peers 2 i and 2 i + 1 are neighbours then,
// so that results have the same bits as through mail. Else it is loaded in the order of ranks.
static void place_arrays(gpus_kernel *k) {
    cj_func       *f = k->f;
    const uint64_t part = is_by_parts(&k->s) ? (uint64_t)k->s.units * unit_bytes(&k->s) : (uint64_t)k->s.stride * k->s.bytes;
    cj_reg         own = cj_mul_wide(f, "own_part", k->rank, part);
    for (uint32_t q = 0; q < arrays_of(&k->s, loads_from_all(&k->s)) && loads_from_all(&k->s); q++)
        if (loads_from(&k->s, q)) cj_update(f, k->from[q], "add", own);
    for (uint32_t q = 0; q < arrays_of(&k->s, stores_to_all(&k->s)); q++)
        if (stores_to_all(&k->s)) cj_update(f, k->to[q], "add", own);
    if (k->s.multicast) return;
    const bool moves_parts = k->s.op->by_rank && !k->s.op->combines;
    for (uint32_t q = 1; q < k->s.gpus && moves_parts; q++) k->from[q] = cj_add(f, "x_part", k->from[0], q * part);
    if (moves_parts || (k->s.op->combines && cj__gpus_are_paired(k))) turn(k, "x_of_peer", k->from);
    if (stores_to_all(&k->s)) turn(k, "out_of_peer", k->to);
}

// How many units this GPU works on: the last parts may be shorter, or empty.
static cj_reg units_here(const gpus_kernel *k) {
    cj_func *f = k->f;
    if (!is_by_parts(&k->s)) return cj_mov(f, "u32", "units", (uint64_t)k->s.units);
    cj_reg before = cj_mul(f, "before", k->rank, k->s.units);
    cj_reg units = cj_let(f, "u32", "units", "sub.u32 $1, $2, $3;", k->s.all, before);
    cj_ptx(f, "max.s32 $1, $1, 0;", units);
    cj_update(f, units, "min", k->s.units);
    return units;
}

enum { AT_ONCE = 4 };  // units of a thread, at most

// A few blocks fill a link if each thread has several loads on their way, of as many GPUs as there are, within its registers.
static uint32_t units_at_once(const gpus_shape *s) {
    const uint32_t loads = (s->op->combines || s->op->by_rank) && !s->multicast ? s->gpus : 1;
    return loads <= 2 ? AT_ONCE : loads <= 4 ? AT_ONCE / 2 : 1;
}

static void load_sources(const gpus_kernel *k, cj_reg at, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS]) {
    const uint32_t sources = k->s.op->combines || k->s.op->by_rank ? k->s.gpus : 1;
    if (k->s.multicast) {
        cj__gpus_load_reduced(k, cj_add(k->f, "at", k->from[0], at), got[0]);
        return;
    }
    for (uint32_t i = 1; i <= sources; i++)
        load_unit(k, cj_add(k->f, "at", k->from[k->s.op->from_root ? k->s.root : i % sources], at), got[i % sources]);
}

static void store_targets(const gpus_kernel *k, cj_reg at, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS]) {
    const uint32_t targets = arrays_of(&k->s, stores_to_all(&k->s));
    const bool     moves_parts = k->s.op->by_rank && k->s.op->gathers;
    cj_reg         words[GPUS_WORDS];
    if (k->s.multicast && stores_to_all(&k->s)) {
        cj__gpus_store_to_all(k, cj_add(k->f, "at", k->to[0], at), got[0]);
        return;
    }
    if (k->s.multicast)
        memcpy(words, got[0], sizeof words);
    else if (k->s.op->combines)
        cj__gpus_fold(k, got, words);
    for (uint32_t i = 1; i <= targets; i++)
        store_unit(k, cj_add(k->f, "at", k->to[i % targets], at), k->s.op->combines ? words : got[moves_parts ? i % targets : 0]);
}

// `count` units, a step of the grid apart: all are loaded before one is stored.
static void copy_units(const gpus_kernel *k, cj_reg unit, uint32_t count) {
    cj_reg at[AT_ONCE], got[AT_ONCE][CJ_BOX_GPUS][GPUS_WORDS];
    for (uint32_t u = 0; u < count; u++) {
        at[u] = cj_mul_wide(k->f, "at_unit", unit, unit_bytes(&k->s));
        if (u) cj_update(k->f, at[u], "add", (uint64_t)u * k->s.grid * k->s.block * unit_bytes(&k->s));
        load_sources(k, at[u], got[u]);
    }
    for (uint32_t u = 0; u < count; u++) store_targets(k, at[u], got[u]);
}

static void copy_all(gpus_kernel *k) {
    cj_func       *f = k->f;
    const uint32_t step = k->s.grid * k->s.block, at_once = units_at_once(&k->s);
    place_arrays(k);
    cj_reg next = cj_mad(f, "next", k->block, k->s.block, k->thread);
    cj_reg units = units_here(k);
    if (at_once > 1) {
        cj_reg first = cj_mov(f, "u32", "first", next);
        cj_reg whole = cj_let(f, "u32", "whole", "sub.u32 $1, $2, $3;", units, (at_once - 1) * step);
        cj_ptx(f, "max.s32 $1, $1, 0;", whole);
        CJ_FOR(f, unit, "u32", "unit", first, whole, at_once * step) {
            copy_units(k, unit, at_once);
            cj_update(f, next, "add", at_once * step);
        }
    }
    CJ_FOR(f, unit, "u32", "unit", next, units, step) copy_units(k, unit, 1);
}

void cj__gpus_copy(gpus_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "begin: block b of all GPUs is there, with the same arrays");
    cj_reg wrong;
    cj__gpus_exchange_flags(k, GPUS_BEGIN, &wrong);
    cj_ptx(f, "bar.red.or.pred $1, 0, $1; // D1: the flags have come, for all threads; nobody goes on if one is wrong", wrong);
    cj_step(f, "copies of %u bytes, %u at once", unit_bytes(&k->s), units_at_once(&k->s));
    CJ_UNLESS_UNI(f, wrong, "nothing_copied") copy_all(k);
    cj_step(f, "end: block b of all GPUs has loaded and stored");
    cj_ptx(f, "bar.sync 0; // D2: so have all threads of this block");
    cj__gpus_exchange_flags(k, GPUS_END, NULL);
    k->has_barrier = true;
}
