// SPDX-License-Identifier: Apache-2.0
// A tile: its loads, their prefixes, and its stores.
#include <stdio.h>

#include "scan.h"

// ---- elements in memory

// How a load or a store is written: of 1, 2 or 4 registers.
typedef struct transfer {
    const char *vector;  // ".v4", or ""
    const char *type;    // of a register
    unsigned    words;
    cj_reg      word[4];
} transfer;

static bool is_half(const scan_kernel *k) { return k->s.bytes == 2; }
static bool is_bf16(const scan_kernel *k) { return k->plan->params.value[SCAN_DTYPE] == CJ_BF16; }

static transfer transfer_of(scan_kernel *k, const cj_reg *element) {
    const scan_shape *s = &k->s;
    transfer          t = {.words = s->width, .type = s->type};
    if (is_half(k)) t.words = s->width > 1 ? s->width / 2 : 1, t.type = s->width > 1 ? "b32" : "b16";
    t.vector = t.words == 4 ? ".v4" : t.words == 2 ? ".v2" : "";
    for (unsigned w = 0; w < t.words; w++)
        t.word[w] = is_half(k) ? cj_register(k->f, t.type, "word") : element[k->reverse ? t.words - 1 - w : w];
    return t;
}

typedef enum way { FROM_GLOBAL, FROM_SHARED, TO_GLOBAL, TO_GLOBAL_ONCE } way;

static void move(scan_kernel *k, const transfer *t, cj_reg when, cj_reg at, int offset, way which) {
    static const char *const instruction[] = {"ld.global.L1::no_allocate", "ld.shared", "st.global", "st.global.cs"};
    const cj_reg            *w = t->word;
    const char              *list = t->words == 4 ? "{$5, $6, $7, $8}" : t->words == 2 ? "{$5, $6}" : "$5";
    char                     line[96];
    if (which >= TO_GLOBAL)
        snprintf(line, sizeof line, "@$1 %s%s.$2 [$3 + $4], %s;", instruction[which], t->vector, list);
    else
        snprintf(line, sizeof line, "@$1 %s%s.$2 %s, [$3 + $4];", instruction[which], t->vector, list);
    cj_ptx(k->f, line, when, t->type, at, offset, w[0], w[1 % t->words], w[2 % t->words], w[3 % t->words]);
}

static void unpack(scan_kernel *k, const transfer *t, unsigned w, cj_reg low, cj_reg high) {
    cj_func *f = k->f;
    if (k->s.width == 1) {
        if (is_bf16(k))
            cj_ptx(f, "mov.b32 $1, {0, $2};", low, t->word[w]);
        else
            cj_ptx(f, "cvt.f32.f16 $1, $2;", low, t->word[w]);
    } else if (is_bf16(k)) {
        cj_ptx(f, "shl.b32 $1, $2, 16;", low, t->word[w]);
        cj_ptx(f, "and.b32 $1, $2, 0xffff0000;", high, t->word[w]);
    } else {
        cj_reg half[2] = {cj_register(f, "b16", "half"), cj_register(f, "b16", "upper")};
        cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], t->word[w]);
        cj_ptx(f, "cvt.f32.f16 $1, $2;", low, half[0]);
        cj_ptx(f, "cvt.f32.f16 $1, $2;", high, half[1]);
    }
}

static void pack(scan_kernel *k, const transfer *t, unsigned w, cj_reg low, cj_reg high) {
    const char *type = is_bf16(k) ? "bf16" : "f16";
    if (k->s.width == 1)
        cj_ptx(k->f, "cvt.rn.$1.f32 $2, $3;", type, t->word[w], low);
    else
        cj__pack_halves(k->plan, k->f, type, t->word[w], high, low);
}

// The two elements of word w, as memory has them; element[] is in the order of the scan.
static void convert(scan_kernel *k, const transfer *t, const cj_reg *element,
                    void (*each)(scan_kernel *, const transfer *, unsigned, cj_reg, cj_reg)) {
    const unsigned last = k->s.width - 1;
    for (unsigned w = 0; w < t->words && is_half(k); w++) {
        const unsigned low = 2 * w, high = low + 1 > last ? low : low + 1;
        each(k, t, w, element[k->reverse ? last - low : low], element[k->reverse ? last - high : high]);
    }
}

// The loads' elements; what lies behind the row's end is the identity, of halves once they are unpacked.
static void fetch(scan_kernel *k, transfer t[SCAN_LOADS_MAX], cj_reg at, way which) {
    const scan_shape *s = &k->s;
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg there = cj__scan_has_load(k, v);
        for (unsigned e = 0; e < s->width; e++) k->element[v][e] = cj__scan_value(k, "element");
        t[v] = transfer_of(k, k->element[v]);
        for (unsigned w = 0; w < t[v].words; w++)
            cj_ptx(k->f, "mov.$1 $2, $3;", t[v].type, t[v].word[w], is_half(k) ? "0" : cj_combine_identity(k->combine));
        move(k, &t[v], there, at, cj__scan_offset(k, v, s->bytes), which);
    }
}

static void widen(scan_kernel *k, const transfer t[SCAN_LOADS_MAX]) {
    const scan_shape *s = &k->s;
    for (unsigned v = 0; v < s->loads && is_half(k); v++) {
        cj_reg there = cj__scan_has_load(k, v);
        convert(k, &t[v], k->element[v], unpack);
        for (unsigned e = 0; e < s->width; e++)
            cj_ptx(k->f, "@!$1 mov.$2 $3, $4;", there, s->type, k->element[v][e], cj_combine_identity(k->combine));
    }
}

void cj__scan_load_found(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    transfer          t[SCAN_LOADS_MAX];
    cj_step(f, "%u loads of %u bytes; what lies behind the row's end is the identity", s->loads, s->width * s->bytes);
    fetch(k, t, cj__scan_address(k, k->x, k->stride, k->s.bytes, "from"), FROM_GLOBAL);
    cj__scan_find_heads(k);
    widen(k, t);
}

void cj__scan_load(scan_kernel *k) {
    cj_step(k->f, "the thread's first load of its row, and how many are left from there to the row's end");
    cj__scan_find_place(k);
    cj__scan_find_left(k);
    cj__scan_find_row(k);
    cj__scan_load_found(k);
}

void cj__scan_take(scan_kernel *k, cj_reg stage) {
    transfer t[SCAN_LOADS_MAX];
    fetch(k, t, cj__scan_in_stage(k, stage, k->s.width * k->s.bytes, "taken_from"), FROM_SHARED);
    widen(k, t);
}

// ---- sums

// all = op over the load's elements, from the last head on.
static void fold_load(scan_kernel *k, unsigned load, cj_reg all) {
    for (unsigned e = 0; e < k->s.width; e++) {
        if (e && !k->reverse) cj__scan_restart(k, all, load, e);
        if (e)
            cj_combine_into(k->f, k->combine, all, k->element[load][e]);
        else
            cj__scan_move(k, cj_always(), all, k->element[load][0]);
        if (k->reverse) cj__scan_restart(k, all, load, e);
    }
}

void cj__scan_fold_warp(scan_kernel *k, bool befores, bool total) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            all[SCAN_LOADS_MAX] = {{0}}, first = cj_pred(f, "first_lane"), lane = cj_u32(f, "lane_of_row");
    scan_cut          cut[SCAN_LOADS_MAX];
    cj_step(f, "warp: every load's sum, scanned over the lanes; then the loads one after the other");
    if (befores) {
        cj_ptx(f, "and.b32 $1, $2, $3;", lane, k->lane, s->lanes - 1);
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, lane);
    }
    for (unsigned v = 0; v < s->loads; v++) {
        all[v] = cj__scan_value(k, "all");
        k->before[v] = cj__scan_value(k, "before");
        fold_load(k, v, all[v]);
    }
    for (unsigned v = 0; v < s->loads; v++) {
        cut[v] = cj__scan_cut_load(k, v);
        cj__scan_open_load(k, v, &cut[v]);
    }
    for (unsigned v = 0; v < s->loads && s->lanes > 1; v++) cj__scan_lanes(k, all[v], cut[v].reach, s->lanes);
    for (unsigned v = 0; v < s->loads && befores; v++) {
        if (s->lanes > 1) cj__scan_previous(k, k->before[v], all[v], s->lanes);
        cj_ptx(f, "@$1 mov.$2 $3, $4;", first, s->type, k->before[v], cj_combine_identity(k->combine));
        if (s->lanes > 1) cj__scan_pick(k, all[v], all[v], CJ_ARG(s->lanes - 1), s->lanes);
    }
    k->total = all[0];
    for (unsigned v = 1; v < s->loads; v++) {
        if (befores) cj__scan_before(k, cj__scan_none(k, cut[v].before), k->before[v], k->total);
        if (total || v + 1 < s->loads) cj__scan_append(k, k->total, all[v], cut[v].within);
    }
}

// Where neither the order of operands nor segments are of concern, each lane sums what it has first.
void cj__scan_sum_warp(scan_kernel *k) {
    const scan_shape *s = &k->s;
    if (k->combine.op == CJ_COMBINE_USER || cj__scan_segmented(s)) {
        cj__scan_fold_warp(k, false, true);
        return;
    }
    cj_step(k->f, "warp: the sum of every lane, then over the lanes");
    cj_reg more = cj__scan_value(k, "all");
    k->total = cj__scan_value(k, "all");
    fold_load(k, 0, k->total);
    for (unsigned v = 1; v < s->loads; v++) {
        fold_load(k, v, more);
        cj_combine_into(k->f, k->combine, k->total, more);
    }
    cj__scan_lanes(k, k->total, (cj_reg){0}, s->lanes);
}

// The warps of a tile, each by every warp; before[] and total become those of the tile.
static void fold_tile(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    if (s->warps == 1) return;
    cj_reg slot = cj_u32(f, "slot"), own = cj_u32(f, "own_warp"), source = cj_u32(f, "source"),
           part = cj__scan_value(k, "part");
    cj_reg writes = cj_pred(f, "warp_leader"), reads = cj_pred(f, "reads"), later = cj_pred(f, "later_warp");
    cj_var warp_total = cj_shared(f, s->type, "warp_total", s->block / SCAN_WARP * cj__scan_slot(s) / s->computed, 0);
    cj_step(f, "tile: a slot a warp, scanned by every warp");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", writes, k->lane);
    cj_ptx(f, "mov.u32 $1, $2;", slot, warp_total);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", slot, k->warp, cj__scan_slot(s));
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", writes, s->type, slot, k->total);
    if (cj__scan_segmented(s)) cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], $4;", writes, slot, s->computed, k->headed);
    cj_ptx(f, "bar.sync 0; // B1: warp_total is written");
    cj_ptx(f, "and.b32 $1, $2, $3;", own, k->warp, s->warps - 1);
    cj_ptx(f, "sub.u32 $1, $2, $3;", source, k->lane, own);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $1;", slot, source, cj__scan_slot(s));
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", reads, k->lane, s->warps);
    cj__scan_clear(k, part);
    cj_ptx(f, "@$1 ld.shared.$2 $3, [$4];", reads, s->type, part, slot);
    scan_cut cut = cj__scan_cut_slots(k, reads, slot, s->warps);
    cj__scan_lanes(k, part, cut.reach, s->warps);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", later, own);
    cj_ptx(f, "sub.u32 $1, $2, 1;", source, own);
    cj_ptx(f, "max.s32 $1, $1, 0;", source);
    cj_reg earlier = cj__scan_value(k, "earlier");
    cj__scan_pick(k, earlier, part, CJ_ARG(source), SCAN_WARP);
    cj_ptx(f, "@!$1 mov.$2 $3, $4;", later, s->type, earlier, cj_combine_identity(k->combine));
    for (unsigned v = 0; v < s->loads; v++) cj__scan_before(k, cj__scan_is_open(k, v), k->before[v], earlier);
    cj__scan_open_warp(k, own, &cut);
    cj__scan_pick(k, k->total, part, CJ_ARG(s->warps - 1), SCAN_WARP);
}

void cj__scan_fold(scan_kernel *k) {
    cj__scan_fold_warp(k, true, true);
    fold_tile(k);
}

// ---- what is written

void cj__scan_give(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_step(f, "what stands before each load, element by element, is written");
    cj_reg at = cj__scan_address(k, k->out, k->out_stride, s->bytes, "to"), next = cj__scan_value(k, "next");
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg running = k->before[v], there = cj__scan_has_load(k, v);
        if (k->carry.id) cj__scan_before(k, cj__scan_is_open(k, v), running, k->carry);
        for (unsigned e = 0; e < s->width; e++) {
            if (!k->reverse) cj__scan_restart(k, running, v, e);
            if (k->exclusive) cj__scan_move(k, cj_always(), next, running);
            cj_combine_into(f, k->combine, running, k->element[v][e]);
            cj__scan_move(k, cj_always(), k->element[v][e], k->exclusive ? next : running);
            if (k->reverse) cj__scan_restart(k, running, v, e);
        }
        transfer t = transfer_of(k, k->element[v]);
        convert(k, &t, k->element[v], pack);
        move(k, &t, there, at, cj__scan_offset(k, v, s->bytes), s->form == SCAN_STREAM ? TO_GLOBAL : TO_GLOBAL_ONCE);
    }
}
