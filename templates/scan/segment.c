// SPDX-License-Identifier: Apache-2.0
// Segments of a scan: where they begin, and what is cut off there (scan.c has the algorithm).
#include "scan.h"

enum { FLAG_WORD = 4, PROBES = SCAN_WARP };  // flags, a byte each, in a register; places that a search looks at at once

static bool has_offsets(const scan_kernel *k) { return k->s.heads > SCAN_FLAGS; }

// ---- flags in memory: of each load as many bytes as it has elements

// The generic address of the flags: in the stage if they were copied there, else in global memory.
static cj_reg find_flags(const scan_kernel *k, const scan_tile *t, cj_reg at) {
    cj_reg staged = cj__scan_in_stage(k, t, t->stage, k->s.width, "staged_flags");
    cj_reg global = cj_let(k->f, "u64", "flags_in_global", "cvta.global.u64 $1, $2;", at);
    cj_reg shared = cj_let(k->f, "u64", "flags_in_shared", "cvta.shared.u64 $1, $2;",
                           cj_cvt(k->f, "u64", "staged_flags", staged));
    return cj_let(k->f, "u64", "flags_at", "selp.b64 $1, $2, $3, $4;", shared, global, t->in_stage);
}

static void load_flags(const scan_kernel *k, scan_tile *t) {
    static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u32"};
    const scan_shape        *s = &k->s;
    const unsigned           words = s->width > FLAG_WORD ? 2 : 1;
    cj_step(k->f, "the flags of the loads' elements");
    cj_reg at = cj__scan_address(k, t, k->heads, k->stride, 1, "flags_at");
    if (t->staged) at = find_flags(k, t, at);
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg there = cj__scan_has_load(k, t, v);
        for (unsigned w = 0; w < words; w++) t->flags[v][w] = cj_mov(k->f, "u32", "flags", 0);
        cj__load(k->f, there, t->staged ? "ld" : "ld.global.L1::no_allocate", types[s->width], t->flags[v], words, at,
                 cj__scan_offset(k, v, 1));
    }
}

// ---- offsets: those that lie in the tile become bits of it in shared memory

static unsigned offset_bytes(const scan_kernel *k) { return k->s.heads == SCAN_OFFSETS_I64 ? 8 : 4; }

// offset = offsets[number] as s64, if `when`.
static void load_offset(const scan_kernel *k, cj_reg when, cj_reg offset, cj_reg at) {
    if (k->s.heads == SCAN_OFFSETS_I64) {
        cj_ptx(k->f, "@$1 $4.s64 $2, [$3];", when, offset, at, cj__load_given(k->plan));
        return;
    }
    cj_reg narrow = cj_let(k->f, "s32", "narrow", "@$2 $4.s32 $1, [$3];", when, at, cj__load_given(k->plan));
    cj_ptx(k->f, "@$1 cvt.s64.s32 $2, $3;", when, offset, narrow);
}

// By one warp: how many offsets are below `begin`. Each round looks at 32 places, one a lane.
static cj_reg search(const scan_kernel *k, cj_reg offsets, cj_reg begin) {
    cj_func *f = k->f;
    cj_reg   low = cj_mov(f, "u32", "low", 0), left = cj_mov(f, "u32", "offsets_left", (uint32_t)k->s.segments + 1);
    CJ_DO_UNI(f, "next_probes", cj_ne(f, "more", left, 0)) {
        cj_reg step = cj_shr(f, "step", cj_add(f, "rounded_up", left, PROBES - 1), 5),
               end = cj_add(f, "end", low, left);
        cj_reg probe = cj_mad(f, "probe", cj_add(f, "probes", k->p.lane, 1), step, low);
        cj_reg inside = cj_le(f, "inside", probe, end);
        cj_reg at = cj_mad_wide(f, "probe_at", cj_sub(f, "index", probe, 1), offset_bytes(k), offsets);
        cj_reg offset = cj_mov(f, "s64", "offset", begin);
        load_offset(k, inside, offset, at);
        cj_reg below = cj_let(f, "u32", "lanes_below", "vote.sync.ballot.b32 $1, $2, 0xffffffff;",
                              cj_lt(f, "is_below", offset, begin));
        cj_reg skipped = cj_mul(f, "skipped", cj_let(f, "u32", "probes_below", "popc.b32 $1, $2;", below), step);
        cj_update(f, low, "add", skipped);
        cj_update(f, left, "sub", skipped);
        cj_update(f, left, "min", cj_sub(f, "between", step, 1));
    }
    return low;
}

// Every thread marks one offset of as many as the block has threads, until they are beyond the tile.
static void mark(const scan_kernel *k, cj_reg offsets, cj_reg begin, cj_reg first, cj_reg bits) {
    cj_func *f = k->f;
    cj_reg   number = cj_add(f, "number", first, k->thread);
    CJ_LOOP(f, marks, "next_offset", "marked") {
        cj_reg inside = cj_le(f, "inside", number, (uint32_t)k->s.segments);
        cj_reg at = cj_mad_wide(f, "offset_at", number, offset_bytes(k), offsets);
        cj_reg offset = cj_add(f, "offset", begin, k->s.tile);
        load_offset(k, inside, offset, at);
        cj_reg element = cj_sub(f, "element", offset, begin);
        cj_leave(&marks, cj_let(f, "pred", "beyond", "setp.ge.u64 $1, $2, $3;", element, k->s.tile));
        cj_reg bit = cj_cvt(f, "u32", "bit", element), word = cj_mad(f, "word", cj_shr(f, "word", bit, 5), 4, bits);
        cj_reg mask = cj_let(f, "u32", "mask", "shl.b32 $1, 1, $2;", cj_and(f, "bit_of_word", bit, 31));
        cj_ptx(f, "red.shared.or.b32 [$1], $2;", word, mask);
        cj_update(f, number, "add", k->s.block);
    }
}

// The tile's first element in memory; in reverse it may be before the array.
static cj_reg find_begin(const scan_kernel *k, const scan_tile *t) {
    cj_reg begin = k->s.tiles > 1
                       ? cj_let(k->f, "s64", "begin", "mul.wide.u32 $1, $2, $3;", t->number, (uint32_t)k->s.tile)
                       : cj_mov(k->f, "s64", "begin", 0);
    if (!k->reverse) return begin;
    cj_reg columns = cj_let(k->f, "s64", "columns", "ld.param.u64 $1, [$2];", k->columns);
    return cj_sub(k->f, "begin", cj_sub(k->f, "end", columns, begin), k->s.tile);
}

// The bits of each load, the first element's lowest.
static void read_bits(const scan_kernel *k, scan_tile *t, cj_reg bits) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg there = cj__scan_has_load(k, t, v),
               bit = cj_add(f, "bit", t->place, v * s->lanes + (k->reverse ? 1 : 0));
        cj_update(f, bit, "mul", s->width);
        if (k->reverse) bit = cj_sub(f, "bit", (uint32_t)s->tile, bit);
        cj_reg at = cj_mad(f, "word", cj_shr(f, "word", bit, 5), 4, bits), shift = cj_and(f, "shift", bit, 31);
        cj_reg word = cj_mov(f, "u32", "flags", 0);
        cj_ptx(f, "@$1 ld.shared.u32 $2, [$3];", there, word, at);
        t->flags[v][0] = cj_and(f, "flags", cj_shr(f, "shifted", word, shift), (1u << s->width) - 1);
    }
}

static void clear_bits(const scan_kernel *k, cj_reg bits, unsigned words) {
    cj_reg i = cj_mov(k->f, "u32", "word", k->thread);
    CJ_LOOP(k->f, clears, "next_word", "cleared") {
        cj_leave_unless(&clears, cj_lt(k->f, "more", i, words));
        cj_ptx(k->f, "st.shared.u32 [$1], 0;", cj_mad(k->f, "word_at", i, 4, bits));
        cj_update(k->f, i, "add", k->s.block);
    }
}

static void load_offsets(const scan_kernel *k, scan_tile *t) {
    cj_func       *f = k->f;
    const unsigned words = (unsigned)(k->s.tile + 31) / 32;
    cj_reg         bits = cj_shared_address(f, cj_shared(f, "u32", "segment_bits", words, 0));
    cj_var         slot = cj_shared(f, "u32", "found_offset", 1, 0);
    cj_step(f, "offsets: the tile's bits are cleared, while warp 0 searches for the first offset in the tile");
    cj_reg offsets = cj__load_pointer(f, k->heads, "offsets"), begin = find_begin(k, t);
    clear_bits(k, bits, words);
    CJ_UNLESS_UNI(f, cj_ne(f, "other_warp", k->warp, 0), "found") {
        cj_reg low = search(k, offsets, begin);
        cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", cj_eq(f, "leader", k->thread, 0), slot, low);
    }
    cj_ptx(f, "bar.sync 0; // B5: the bits are clear, and the first offset is known");
    mark(k, offsets, begin, cj_let(f, "u32", "first_offset", "ld.shared.u32 $1, [$2];", slot), bits);
    cj_ptx(f, "bar.sync 0; // B6: all offsets in the tile are marked");
    read_bits(k, t, bits);
}

void cj__scan_load_heads(scan_kernel *k, scan_tile *t, bool below) {
    if (!k->p.segmented) return;
    cj__prefix_masks(&k->p, below);
    (has_offsets(k) ? load_offsets : load_flags)(k, t);
}

// ---- elements, and lanes

void cj__scan_restart(const scan_kernel *k, const scan_tile *t, cj_reg value, unsigned load, unsigned element) {
    if (!k->p.segmented) return;
    const unsigned place = k->reverse ? k->s.width - 1 - element : element;  // in memory
    const unsigned word = has_offsets(k) ? 0 : place / FLAG_WORD;
    const unsigned mask = has_offsets(k) ? 1u << place : 0xffu << 8 * (place % FLAG_WORD);
    cj_reg         flag = cj_and(k->f, "flag", t->flags[load][word], mask);
    cj__prefix_clear_if(&k->p, cj_ne(k->f, "begins", flag, 0), value);
}

cj_heads cj__scan_heads_of_load(const scan_kernel *k, const scan_tile *t, unsigned load, cj_heads_asked asked) {
    if (!k->p.segmented) return (cj_heads){0};
    const cj_reg *flags = t->flags[load];
    cj_reg        all = flags[0];
    if (!has_offsets(k) && k->s.width > FLAG_WORD) all = cj_or(k->f, "any_flag", flags[0], flags[1]);
    return cj__prefix_heads(&k->p, cj_ne(k->f, "begins", all, 0), k->s.lanes, asked);
}

void cj__scan_store_slot(const scan_kernel *k, cj_reg when, cj_reg slot, cj_reg total, cj_reg headed) {
    cj_ptx(k->f, "@$1 st.shared.$2 [$3], $4;", when, k->s.type, slot, total);
    if (k->p.segmented) cj_ptx(k->f, "@$1 st.shared.u32 [$2 + $3], $4;", when, slot, k->s.computed, headed);
}

cj_heads cj__scan_load_slots(const scan_kernel *k, cj_reg when, cj_reg slot, unsigned lanes, cj_reg total,
                             cj_heads_asked asked) {
    cj_heads heads = {0};
    cj_ptx(k->f, "@$1 ld.shared.$2 $3, [$4];", when, k->s.type, total, slot);
    if (k->p.segmented) {
        cj_reg headed = cj_mov(k->f, "u32", "has_head", 0);
        cj_ptx(k->f, "@$1 ld.shared.u32 $2, [$3 + $4];", when, headed, slot, k->s.computed);
        heads = cj__prefix_heads(&k->p, cj_ne(k->f, "begins", headed, 0), lanes, asked);
    }
    cj__prefix_lanes(&k->p, total, &heads, lanes);
    return heads;
}

// ---- the loads that the tiles before belong to

void cj__scan_open_load(const scan_kernel *k, scan_tile *t, unsigned load, const cj_heads *heads, bool open, bool headed) {
    if (!k->p.segmented) return;
    if (!load && open) t->open = cj_mov(k->f, "u32", "open_loads", 0);
    if (!load && (open || headed)) t->headed = cj_mov(k->f, "u32", "headed", 0);
    if (open) {
        cj_reg none = cj_eq(k->f, "is_open", cj_or(k->f, "heads_so_far", heads->before, t->headed), 0);
        cj_ptx(k->f, "@$1 or.b32 $2, $2, $3;", none, t->open, 1u << load);
    }
    if (headed) t->headed = cj_or(k->f, "headed", t->headed, heads->group);
}

void cj__scan_open_warp(const scan_kernel *k, scan_tile *t, cj_reg warp, const cj_heads *heads) {
    if (!k->p.segmented) return;
    cj_reg before = cj_sub(k->f, "warps_before", cj_let(k->f, "u32", "own_warp", "shl.b32 $1, 1, $2;", warp), 1);
    cj_set_if(k->f, cj_ne(k->f, "cuts", cj_and(k->f, "heads_before", before, heads->warp), 0), t->open, 0);
    if (k->s.tiles > 1) t->headed = cj_mov(k->f, "u32", "headed", heads->warp);
}

cj_reg cj__scan_is_open(const scan_kernel *k, const scan_tile *t, unsigned load) {
    if (!k->p.segmented) return cj_always();
    return cj_ne(k->f, "is_open", cj_and(k->f, "open_bit", t->open, 1u << load), 0);
}
