// SPDX-License-Identifier: Apache-2.0
// Segments of a scan: where they begin, and what is cut off there (scan.c tells how). Without segments all of this
// writes nothing.
#include <stdio.h>

#include "scan.h"

enum { FLAG_WORD = 4 };  // flags, a byte each, in a register

static bool has_offsets(const scan_kernel *k) { return k->s.heads > SCAN_FLAGS; }

// ---- flags in memory: of each load as many bytes as it has elements

// Where they have come to shared memory, they are read there: the address is generic.
static void find_flags(scan_kernel *k, cj_reg at) {
    cj_reg here = cj__scan_in_stage(k, k->flags_stage, k->s.width, "flags_here"), wide = cj_u64(k->f, "flags_here");
    cj_ptx(k->f, "cvta.global.u64 $1, $1;", at);
    cj_ptx(k->f, "cvt.u64.u32 $1, $2;", wide, here);
    cj_ptx(k->f, "cvta.shared.u64 $1, $1;", wide);
    cj_ptx(k->f, "selp.b64 $1, $2, $1, $3;", at, wide, k->flags_come);
}

static void load_flags(scan_kernel *k) {
    static const char *const ways[] = {[1] = "u8 $2", [2] = "u16 $2", [4] = "u32 $2", [8] = "v2.u32 {$2, $5}"};
    const scan_shape        *s = &k->s;
    cj_func                 *f = k->f;
    cj_step(f, "the flags of the loads' elements");
    cj_reg at = cj__scan_address(k, k->heads, k->stride, 1, "flags_at");
    char   line[96];
    if (k->flags_stage.id) find_flags(k, at);
    snprintf(line, sizeof line, "@$1 ld%s.%s, [$3 + $4];", k->flags_stage.id ? "" : ".global.L1::no_allocate",
             ways[s->width]);
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg there = cj__scan_has_load(k, v);
        for (unsigned w = 0; w * FLAG_WORD < s->width; w++) {
            k->flags[v][w] = cj_u32(f, "flags");
            cj_ptx(f, "mov.u32 $1, 0;", k->flags[v][w]);
        }
        const cj_reg *to = k->flags[v];
        cj_ptx(f, line, there, to[0], at, cj__scan_offset(k, v, 1), to[s->width > FLAG_WORD]);
    }
}

// ---- offsets: those that lie in the tile become bits of it in shared memory

// An offset at `at`, as s64.
static void load_offset(scan_kernel *k, cj_reg when, cj_reg to, cj_reg at) {
    cj_reg narrow = cj_s32(k->f, "narrow");
    if (k->s.heads == SCAN_OFFSETS_I64) {
        cj_ptx(k->f, "@$1 ld.global.nc.s64 $2, [$3];", when, to, at);
        return;
    }
    cj_ptx(k->f, "@$1 ld.global.nc.s32 $2, [$3];", when, narrow, at);
    cj_ptx(k->f, "@$1 cvt.s64.s32 $2, $3;", when, to, narrow);
}

static unsigned offset_bytes(const scan_kernel *k) { return k->s.heads == SCAN_OFFSETS_I64 ? 8 : 4; }

// Warp 0: low = how many offsets are below `begin`. 32 places are looked at in each round, one a lane.
static void search(scan_kernel *k, cj_reg offsets, cj_reg begin, cj_reg low) {
    cj_func *f = k->f;
    cj_reg   left = cj_u32(f, "offsets_left"), step = cj_u32(f, "step"), place = cj_u32(f, "probe"),
           end = cj_u32(f, "probes_end"), inside = cj_pred(f, "inside"), below = cj_pred(f, "is_below"),
           lanes = cj_u32(f, "lanes_below"), more = cj_pred(f, "more"), at = cj_u64(f, "probe_at"),
           offset = cj_s64(f, "offset");
    cj_label next = cj_label_new(f, "next_probes");
    cj_ptx(f, "mov.u32 $1, 0;", low);
    cj_ptx(f, "mov.u32 $1, $2;", left, (uint32_t)k->s.segments + 1);
    cj_label_here(f, next);
    cj_ptx(f, "add.u32 $1, $2, $3;", step, left, SCAN_WARP - 1);
    cj_ptx(f, "shr.u32 $1, $1, 5;", step);
    cj_ptx(f, "add.u32 $1, $2, $3;", end, low, left);
    cj_ptx(f, "add.u32 $1, $2, 1;", place, k->lane);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", place, step, low);
    cj_ptx(f, "setp.le.u32 $1, $2, $3;", inside, place, end);
    cj_ptx(f, "sub.u32 $1, $1, 1;", place);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, place, offset_bytes(k), offsets);
    cj_ptx(f, "mov.s64 $1, $2;", offset, begin);
    load_offset(k, inside, offset, at);
    cj_ptx(f, "setp.lt.s64 $1, $2, $3;", below, offset, begin);
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", lanes, below);
    cj_ptx(f, "popc.b32 $1, $1;", lanes);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", lanes, step);
    cj_ptx(f, "add.u32 $1, $1, $2;", low, lanes);
    cj_ptx(f, "sub.u32 $1, $1, $2;", left, lanes);
    cj_ptx(f, "sub.u32 $1, $1, 1;", step);
    cj_ptx(f, "min.u32 $1, $1, $2;", left, step);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
}

// Every thread takes one offset of as many as the block has threads, until they lie behind the tile.
static void mark(scan_kernel *k, cj_reg offsets, cj_reg begin, cj_reg first, cj_reg bits) {
    cj_func *f = k->f;
    cj_reg   number = cj_u32(f, "number"), past = cj_pred(f, "past"), inside = cj_pred(f, "inside"),
           at = cj_u64(f, "offset_at"), offset = cj_s64(f, "offset"), bit = cj_u32(f, "bit"), word = cj_u32(f, "word");
    cj_label next = cj_label_new(f, "next_offset"), done = cj_label_new(f, "marked");
    cj_ptx(f, "add.u32 $1, $2, $3;", number, first, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.le.u32 $1, $2, $3;", inside, number, (uint32_t)k->s.segments);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, number, offset_bytes(k), offsets);
    cj_ptx(f, "add.s64 $1, $2, $3;", offset, begin, k->s.tile);
    load_offset(k, inside, offset, at);
    cj_ptx(f, "sub.s64 $1, $1, $2;", offset, begin);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3;", past, offset, k->s.tile);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "cvt.u32.s64 $1, $2;", bit, offset);
    cj_ptx(f, "shr.u32 $1, $2, 5;", word, bit);
    cj_ptx(f, "mad.lo.u32 $1, $1, 4, $2;", word, bits);
    cj_ptx(f, "and.b32 $1, $1, 31;", bit);
    cj_ptx(f, "shl.b32 $1, 1, $1;", bit);
    cj_ptx(f, "red.shared.or.b32 [$1], $2;", word, bit);
    cj_ptx(f, "add.u32 $1, $1, $2;", number, k->s.block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
}

// begin = where the tile begins in memory, in elements; in reverse it may lie before the array.
static void find_begin(scan_kernel *k, cj_reg begin) {
    cj_func *f = k->f;
    if (k->s.tiles > 1)
        cj_ptx(f, "mul.wide.u32 $1, $2, $3;", begin, k->tile, (uint32_t)k->s.tile);
    else
        cj_ptx(f, "mov.s64 $1, 0;", begin);
    if (!k->reverse) return;
    cj_reg columns = cj_s64(f, "columns");
    cj_ptx(f, "ld.param.u64 $1, [$2];", columns, k->columns);
    cj_ptx(f, "sub.s64 $1, $2, $1;", begin, columns);
    cj_ptx(f, "sub.s64 $1, $1, $2;", begin, k->s.tile);
}

// The bits of each load, the first element's lowest.
static void read_bits(scan_kernel *k, cj_reg bits) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            at = cj_u32(f, "bits_at"), shift = cj_u32(f, "shift");
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg there = cj__scan_has_load(k, v);
        cj_ptx(f, "add.u32 $1, $2, $3;", shift, k->place, v * s->lanes + (k->reverse ? 1 : 0));
        cj_ptx(f, "mul.lo.u32 $1, $1, $2;", shift, s->width);
        if (k->reverse) cj_ptx(f, "sub.u32 $1, $2, $1;", shift, (uint32_t)s->tile);
        cj_ptx(f, "shr.u32 $1, $2, 5;", at, shift);
        cj_ptx(f, "mad.lo.u32 $1, $1, 4, $2;", at, bits);
        cj_ptx(f, "and.b32 $1, $1, 31;", shift);
        k->flags[v][0] = cj_u32(f, "flags");
        cj_ptx(f, "mov.u32 $1, 0;", k->flags[v][0]);
        cj_ptx(f, "@$1 ld.shared.u32 $2, [$3];", there, k->flags[v][0], at);
        cj_ptx(f, "shr.u32 $1, $1, $2;", k->flags[v][0], shift);
        cj_ptx(f, "and.b32 $1, $1, $2;", k->flags[v][0], (1u << s->width) - 1);
    }
}

static void load_offsets(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    words = (unsigned)(s->tile + 31) / 32;
    cj_reg bits = cj_shared_address(f, cj_shared(f, "u32", "segment_bits", words, 0)), at = cj_u32(f, "bits_at"),
           i = cj_u32(f, "word"), more = cj_pred(f, "more"), begin = cj_s64(f, "tile_begin"),
           low = cj_u32(f, "first_offset"), leader = cj_pred(f, "leader"), other = cj_pred(f, "other_warp");
    cj_var   slot = cj_shared(f, "u32", "found_offset", 1, 0);
    cj_label next = cj_label_new(f, "next_word"), cleared = cj_label_new(f, "cleared"),
             found = cj_label_new(f, "found");
    cj_step(f, "offsets: the tile's bits are cleared, while warp 0 looks for the first offset that is in it");
    cj_reg offsets = cj__load_pointer(f, k->heads, "offsets");
    find_begin(k, begin);
    cj_ptx(f, "mov.u32 $1, $2;", i, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, i, words);
    cj_ptx(f, "@!$1 bra $2;", more, cleared);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", at, i, bits);
    cj_ptx(f, "st.shared.u32 [$1], 0;", at);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, s->block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, cleared);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->warp);
    cj_ptx(f, "@$1 bra.uni $2;", other, found);
    search(k, offsets, begin, low);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", leader, slot, low);
    cj_label_here(f, found);
    cj_ptx(f, "bar.sync 0; // B5: the bits are clear, and the first offset is known");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", low, slot);
    mark(k, offsets, begin, low, bits);
    cj_ptx(f, "bar.sync 0; // B6: all offsets in the tile are marked");
    read_bits(k, bits);
}

void cj__scan_find_masks(scan_kernel *k) {
    k->below = cj_u32(k->f, "lanes_below");
    k->upto = cj_u32(k->f, "lanes_upto");
    cj_step(k->f, "masks of the lanes before this one, and with it");
    cj_ptx(k->f, "mov.u32 $1, %lanemask_lt;", k->below);
    cj_ptx(k->f, "mov.u32 $1, %lanemask_le;", k->upto);
}

void cj__scan_find_heads(scan_kernel *k) {
    if (!cj__scan_segmented(&k->s)) return;
    cj__scan_find_masks(k);
    if (has_offsets(k))
        load_offsets(k);
    else
        load_flags(k);
}

// ---- elements

void cj__scan_restart(scan_kernel *k, cj_reg value, unsigned load, unsigned element) {
    if (!cj__scan_segmented(&k->s)) return;
    cj_func       *f = k->f;
    const unsigned place = k->reverse ? k->s.width - 1 - element : element;  // in memory
    const unsigned word = has_offsets(k) ? 0 : place / FLAG_WORD;
    const unsigned mask = has_offsets(k) ? 1u << place : 0xffu << 8 * (place % FLAG_WORD);
    cj_reg         bit = cj_u32(f, "flag"), begins = cj_pred(f, "begins");
    cj_ptx(f, "and.b32 $1, $2, $3;", bit, k->flags[load][word], mask);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", begins, bit);
    cj_ptx(f, "@$1 mov.$2 $3, $4;", begins, k->s.type, value, cj_combine_identity(k->combine));
}

static cj_reg load_begins(scan_kernel *k, unsigned load) {
    cj_reg begins = cj_pred(k->f, "begins"), all = k->flags[load][0];
    if (!has_offsets(k) && k->s.width > FLAG_WORD) {
        all = cj_u32(k->f, "any_flag");
        cj_ptx(k->f, "or.b32 $1, $2, $3;", all, k->flags[load][0], k->flags[load][1]);
    }
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", begins, all);
    return begins;
}

// ---- lanes

// Those of `heads` that lie in the own `lanes` lanes.
static cj_reg heads_within(scan_kernel *k, cj_reg heads, unsigned lanes) {
    if (lanes == SCAN_WARP) return heads;
    cj_func *f = k->f;
    cj_reg   from = cj_u32(f, "first_lane"), within = cj_u32(f, "heads_within");
    cj_ptx(f, "and.b32 $1, $2, $3;", from, k->lane, SCAN_WARP - lanes);
    cj_ptx(f, "shl.b32 $1, $2, $3;", within, (1u << lanes) - 1, from);
    cj_ptx(f, "and.b32 $1, $1, $2;", within, heads);
    return within;
}

scan_cut cj__scan_cut(scan_kernel *k, cj_reg begins, unsigned lanes) {
    const uint32_t firsts = UINT32_MAX / (uint32_t)((UINT64_C(1) << lanes) - 1);  // of each `lanes` lanes
    cj_func       *f = k->f;
    scan_cut       cut = {.heads = cj_u32(f, "heads"), .before = cj_u32(f, "heads_before")};
    cj_reg         last = cj_u32(f, "last_head");
    cut.reach = cj_u32(f, "reach");
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff; // where segments begin", cut.heads, begins);
    cut.within = heads_within(k, cut.heads, lanes);
    cj_ptx(f, "and.b32 $1, $2, $3;", cut.before, cut.within, k->below);
    cj_ptx(f, "or.b32 $1, $2, $3;", last, cut.heads, firsts);
    cj_ptx(f, "and.b32 $1, $1, $2;", last, k->upto);
    cj_ptx(f, "bfind.u32 $1, $1;", last);
    cj_ptx(f, "sub.u32 $1, $2, $3; // so many lanes back this one's segment goes", cut.reach, k->lane, last);
    return cut;
}

scan_cut cj__scan_cut_load(scan_kernel *k, unsigned load) {
    return cj__scan_segmented(&k->s) ? cj__scan_cut(k, load_begins(k, load), k->s.lanes) : (scan_cut){0};
}

scan_cut cj__scan_cut_slots(scan_kernel *k, cj_reg reads, cj_reg slot, unsigned lanes) {
    if (!cj__scan_segmented(&k->s)) return (scan_cut){0};
    cj_reg headed = cj_u32(k->f, "has_head"), begins = cj_pred(k->f, "begins");
    cj_ptx(k->f, "mov.u32 $1, 0;", headed);
    cj_ptx(k->f, "@$1 ld.shared.u32 $2, [$3 + $4];", reads, headed, slot, k->s.computed);
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", begins, headed);
    return cj__scan_cut(k, begins, lanes);
}

cj_reg cj__scan_none(scan_kernel *k, cj_reg heads) {
    if (!heads.id) return cj_always();
    cj_reg none = cj_pred(k->f, "none_begins");
    cj_ptx(k->f, "setp.eq.u32 $1, $2, 0;", none, heads);
    return none;
}

void cj__scan_append(scan_kernel *k, cj_reg total, cj_reg next, cj_reg heads) {
    cj_combine_into(k->f, k->combine, total, next);
    if (!heads.id) return;
    cj_reg begins = cj_pred(k->f, "begins");
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", begins, heads);
    cj__scan_move(k, begins, total, next);
}

// ---- what of a tile the tiles before belong to

void cj__scan_open_load(scan_kernel *k, unsigned load, const scan_cut *cut) {
    if (!cj__scan_segmented(&k->s)) return;
    cj_func *f = k->f;
    cj_reg   all = cj_u32(f, "cut"), open = cj_pred(f, "is_open");
    if (!load) {
        k->open = cj_u32(f, "open_loads");
        k->headed = cj_u32(f, "headed");
        cj_ptx(f, "mov.u32 $1, 0;", k->open);
        cj_ptx(f, "mov.u32 $1, 0;", k->headed);
    }
    cj_ptx(f, "or.b32 $1, $2, $3;", all, cut->before, k->headed);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", open, all);
    cj_ptx(f, "@$1 or.b32 $2, $2, $3;", open, k->open, 1u << load);
    cj_ptx(f, "or.b32 $1, $1, $2;", k->headed, cut->within);
}

void cj__scan_open_warp(scan_kernel *k, cj_reg warp, const scan_cut *cut) {
    if (!cj__scan_segmented(&k->s)) return;
    cj_func *f = k->f;
    cj_reg   all = cj_u32(f, "warps_before"), cuts = cj_pred(f, "cuts");
    cj_ptx(f, "shl.b32 $1, 1, $2;", all, warp);
    cj_ptx(f, "sub.u32 $1, $1, 1;", all);
    cj_ptx(f, "and.b32 $1, $1, $2;", all, cut->heads);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", cuts, all);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", cuts, k->open);
    cj_ptx(f, "mov.u32 $1, $2;", k->headed, cut->heads);
}

cj_reg cj__scan_is_open(scan_kernel *k, unsigned load) {
    if (!cj__scan_segmented(&k->s)) return cj_always();
    cj_reg bit = cj_u32(k->f, "open_bit"), open = cj_pred(k->f, "is_open");
    cj_ptx(k->f, "and.b32 $1, $2, $3;", bit, k->open, 1u << load);
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", open, bit);
    return open;
}
