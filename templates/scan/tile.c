// SPDX-License-Identifier: Apache-2.0
// A tile: its loads, their prefixes, and its stores.
#include "scan.h"

// ---- elements in memory

// A load or a store: 1, 2 or 4 registers. Halves are two a register, unless a load has one element.
typedef struct transfer {
    const char *type;  // of a register
    unsigned    words;
    cj_reg      word[4];
} transfer;

static bool is_half(const scan_kernel *k) { return k->s.bytes == 2; }
static bool is_bf16(const scan_kernel *k) { return k->plan->params.value[SCAN_DTYPE] == CJ_BF16; }

static transfer transfer_of(const scan_kernel *k, const cj_reg *element) {
    const scan_shape *s = &k->s;
    transfer          t = {.words = s->width, .type = s->type};
    if (is_half(k)) t.words = s->width > 1 ? s->width / 2 : 1, t.type = s->width > 1 ? "b32" : "b16";
    for (unsigned w = 0; w < t.words; w++)
        t.word[w] = is_half(k) ? cj_register(k->f, t.type, "word") : element[k->reverse ? t.words - 1 - w : w];
    return t;
}

// Accesses of a load, or of a store.
static unsigned accesses(const scan_kernel *k) { return k->s.width / k->s.access; }

// Whether each half of a word is an access.
static bool is_halved(const scan_kernel *k) { return is_half(k) && k->s.access == 1 && k->s.width > 1; }

static void unpack(const scan_kernel *k, const transfer *t, unsigned w, cj_reg low, cj_reg high) {
    if (k->s.width > 1)
        cj__unpack_halves(k->f, is_bf16(k) ? "bf16" : "f16", t->word[w], low, high);
    else
        cj_ptx(k->f, is_bf16(k) ? "mov.b32 $1, {0, $2};" : "cvt.f32.f16 $1, $2;", low, t->word[w]);
}

static void pack(const scan_kernel *k, const transfer *t, unsigned w, cj_reg low, cj_reg high) {
    const char *type = is_bf16(k) ? "bf16" : "f16";
    if (k->s.width == 1)
        cj_ptx(k->f, "cvt.rn.$1.f32 $2, $3;", type, t->word[w], low);
    else
        cj__pack_halves(k->plan, k->f, type, t->word[w], high, low);
}

// The two elements of each word of halves, as memory has them; element[] is in the order of the scan.
static void convert(const scan_kernel *k, const transfer *t, const cj_reg *element,
                    void (*each)(const scan_kernel *, const transfer *, unsigned, cj_reg, cj_reg)) {
    const unsigned last = k->s.width - 1;
    for (unsigned w = 0; w < t->words && is_half(k); w++) {
        const unsigned low = 2 * w, high = low + 1 > last ? low : low + 1;
        each(k, t, w, element[k->reverse ? last - low : low], element[k->reverse ? last - high : high]);
    }
}

// Load v in accesses.
static void fetch_load(const scan_kernel *k, const transfer *of, unsigned v, cj_reg there, const char *load, cj_reg at) {
    const scan_shape *s = &k->s;
    const unsigned    parts = s->head ? 1 : accesses(k), words = of->words / parts;  // a stage has whole ones
    for (unsigned a = 0; a < parts && !is_halved(k); a++)
        cj__load(k->f, there, load, of->type, of->word + a * words, words, at,
                 cj__scan_offset(k, v, s->bytes) + (int)(a * s->access * s->bytes));
    for (unsigned w = 0; w < of->words && is_halved(k); w++) {
        cj_reg half[2];
        for (unsigned e = 0; e < 2; e++) {
            half[e] = cj_mov(k->f, "b16", "half", 0);
            cj__load(k->f, there, load, "b16", &half[e], 1, at, cj__scan_offset(k, v, s->bytes) + (int)((2 * w + e) * s->bytes));
        }
        cj_ptx(k->f, "mov.b32 $1, {$2, $3};", of->word[w], half[0], half[1]);
    }
}

// The first elements of a load that the row ends in, one by one.
static void fetch_part(const scan_kernel *k, const scan_tile *t, const transfer *of, unsigned v, const char *load, cj_reg at) {
    cj_func *f = k->f;
    cj_reg   part = cj_eq(f, "is_last", t->left, v * k->s.lanes), half[SCAN_WIDTH_MAX];
    for (unsigned e = 0; e < k->s.remainder; e++) {
        const int offset = cj__scan_offset(k, v, k->s.bytes) + (int)(e * k->s.bytes);
        if (is_half(k)) half[e] = cj_let(f, "b16", "half", "mov.b16 $1, 0;");
        cj__load(f, part, load, is_half(k) ? "b16" : of->type, is_half(k) ? &half[e] : &of->word[e], 1, at, offset);
    }
    for (unsigned e = 0; e < k->s.remainder && is_half(k); e += 2) {
        if (e + 1 < k->s.remainder)
            cj_ptx(f, "@$1 mov.b32 $2, {$3, $4};", part, of->word[e / 2], half[e], half[e + 1]);
        else
            cj_ptx(f, "@$1 mov.b32 $2, {$3, 0};", part, of->word[e / 2], half[e]);
    }
}

// The loads' elements; out of bounds they are the identity, halves once they are unpacked.
static void fetch(const scan_kernel *k, scan_tile *t, transfer transfers[SCAN_LOADS_MAX], const char *load, cj_reg at) {
    for (unsigned v = 0; v < k->s.loads; v++) {
        cj_reg there = cj__scan_has_load(k, t, v);
        for (unsigned e = 0; e < k->s.width; e++) t->element[v][e] = cj__prefix_value(&k->p, "element");
        const transfer of = transfers[v] = transfer_of(k, t->element[v]);
        for (unsigned w = 0; w < of.words; w++)
            cj_set(k->f, of.word[w], is_half(k) ? "0" : cj_combine_identity(k->p.combine));
        fetch_load(k, &of, v, there, load, at);
        if (k->s.remainder) fetch_part(k, t, &of, v, load, at);
    }
}

static void widen(const scan_kernel *k, const scan_tile *t, const transfer transfers[SCAN_LOADS_MAX]) {
    for (unsigned v = 0; v < k->s.loads && is_half(k); v++) {
        cj_reg there = cj__scan_has_load(k, t, v);
        convert(k, &transfers[v], t->element[v], unpack);
        cj_reg first = k->s.remainder ? cj_ge(k->f, "begins", t->left, v * k->s.lanes) : there;
        for (unsigned e = 0; e < k->s.width; e++)
            cj__prefix_clear_unless(&k->p, e < k->s.remainder ? first : there, t->element[v][e]);
    }
}

void cj__scan_load_found(scan_kernel *k, scan_tile *t) {
    const scan_shape *s = &k->s;
    const bool        many = s->loads > SCAN_LOADS_TOGETHER && s->width * s->bytes < SCAN_LOAD;
    transfer          transfers[SCAN_LOADS_MAX];
    cj_step(k->f, "%u loads of %u bytes; out of bounds elements are the identity", s->loads, s->width * s->bytes);
    cj_reg from = cj__scan_address(k, t, k->x, k->stride, s->bytes, "from");
    fetch(k, t, transfers, accesses(k) > 1 ? "ld.global" : "ld.global.L1::no_allocate", from);
    cj__scan_load_heads(k, t, s->loads > 1 || cj__scan_has_before(s));
    if (s->form == SCAN_DIRECT && many && !s->cluster)  // a cluster's blocks may not end between its barrier's arrival and the wait
        cj__keep_loads(k->f, cj_let(k->f, "pred", "never", "setp.lt.s32 $1, $2, $3;", t->left, INT32_MIN / 2), NULL, NULL, 0);
    widen(k, t, transfers);
}

// left is 0 if there is no such row.
static void find_row(const scan_kernel *k, scan_tile *t) {
    if (k->s.block == k->s.threads) return;
    cj_reg rows = cj__load_param(k->f, "u64", k->rows, "rows");
    cj_set_if(k->f, cj_ge(k->f, "no_row", cj_cvt(k->f, "u64", "row", t->row), rows), t->left, k->s.remainder ? -1 : 0);
}

void cj__scan_load(scan_kernel *k, scan_tile *t) {
    cj_step(k->f, "the thread's first load of its row, and how many are left from there to the row's end");
    t->place = cj__scan_place(k);
    cj__scan_find_left(k, t);
    find_row(k, t);
    cj__scan_load_found(k, t);
}

void cj__scan_load_stage(const scan_kernel *k, scan_tile *t, cj_reg stage) {
    transfer transfers[SCAN_LOADS_MAX];
    fetch(k, t, transfers, "ld.shared", cj__scan_in_stage(k, t, stage, k->s.width * k->s.bytes, "from_stage"));
    widen(k, t, transfers);
}

// ---- prefixes

// The load's total, from its last head on, into `total`.
static void fold_load(const scan_kernel *k, const scan_tile *t, unsigned load, cj_reg total) {
    for (unsigned e = 0; e < k->s.width; e++) {
        if (e && !k->reverse) cj__scan_restart(k, t, total, load, e);
        if (e)
            cj_combine_into(k->f, k->p.combine, total, t->element[load][e]);
        else
            cj_set(k->f, total, t->element[load][0]);
        if (k->reverse) cj__scan_restart(k, t, total, load, e);
    }
}

void cj__scan_warp(const scan_kernel *k, scan_tile *t, bool prefixes, bool total) {
    const scan_shape *s = &k->s;
    cj_reg            all[SCAN_LOADS_MAX] = {{0}}, first = cj_none();
    cj_heads          heads[SCAN_LOADS_MAX];
    cj_step(k->f, "warp: every load's total, scanned over the lanes; then the loads one after the other");
    const bool alone = s->lanes == 1;  // nothing of the load is before it
    const unsigned totals = total ? s->loads : s->loads - 1;  // of so many loads the total is asked for
    const bool     open = prefixes && cj__scan_has_before(s);
    if (prefixes && !alone) first = cj_eq(k->f, "first_lane", cj_and(k->f, "lane_of_row", k->p.lane, s->lanes - 1), 0);
    for (unsigned v = 0; v < (alone ? totals : s->loads); v++) fold_load(k, t, v, all[v] = cj__prefix_value(&k->p, "all"));
    for (unsigned v = 0; v < s->loads; v++) {
        heads[v] = cj__scan_heads_of_load(k, t, v, open || (prefixes && v) ? CJ_HEADS_BEFORE : CJ_HEADS_GROUP);
        cj__scan_open_load(k, t, v, &heads[v], open, total || (open && v < totals));
    }
    for (unsigned v = 0; v < s->loads; v++) cj__prefix_lanes(&k->p, all[v], &heads[v], s->lanes);
    for (unsigned v = 0; v < s->loads && prefixes; v++) {
        t->prefix[v] = alone ? cj__prefix_identity(&k->p, "prefix")
                             : cj__prefix_previous(&k->p, "prefix", all[v], s->lanes);
        if (!alone) cj__prefix_clear_if(&k->p, first, t->prefix[v]);
        if (!alone && v < totals) all[v] = cj__prefix_pick(&k->p, "all", all[v], CJ_ARG(s->lanes - 1), s->lanes);
    }
    t->total = all[0];
    for (unsigned v = 1; v < s->loads; v++) {
        if (prefixes) cj__prefix_before(&k->p, cj__prefix_no_head(&k->p, heads[v].before), t->prefix[v], t->total);
        if (v < totals) cj__prefix_append(&k->p, t->total, all[v], heads[v].group);
    }
}

// Where neither the order of operands nor segments matter, each lane sums what it has first.
void cj__scan_warp_total(const scan_kernel *k, scan_tile *t) {
    if (k->p.combine.op == CJ_COMBINE_USER || k->p.segmented) {
        cj__scan_warp(k, t, false, true);
        return;
    }
    cj_step(k->f, "warp: the total of every lane, then over the lanes");
    t->total = cj__prefix_value(&k->p, "all");
    fold_load(k, t, 0, t->total);
    for (unsigned v = 1; v < k->s.loads; v++) {
        cj_reg more = cj__prefix_value(&k->p, "more");
        fold_load(k, t, v, more);
        cj_combine_into(k->f, k->p.combine, t->total, more);
    }
    cj__prefix_lanes(&k->p, t->total, NULL, k->s.lanes);
}

// Every warp scans the totals of the tile's warps, a lane each.
static void scan_warps(const scan_kernel *k, scan_tile *t) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    bytes = cj__scan_slot(s);
    cj_var            warp_total = cj_shared(f, s->type, "warp_total", s->block / SCAN_WARP * bytes / s->computed, 0);
    cj_step(f, "tile: a slot a warp, scanned by every warp");
    cj_reg writes = cj_eq(f, "warp_leader", k->p.lane, 0), slots = cj_mov(f, "u32", "slots", warp_total);
    cj_reg slot = cj_mad(f, "slot", k->warp, bytes, slots);
    cj__scan_store_slot(k, writes, slot, t->total, t->headed);
    cj_ptx(f, "bar.sync 0; // B1: warp_total is written");
    cj_reg own = cj_and(f, "own_warp", k->warp, s->warps - 1), distance = cj_sub(f, "distance", k->p.lane, own);
    cj_reg from = cj_let(f, "u32", "slot", "mad.lo.s32 $1, $2, $3, $4;", distance, bytes, slot);
    cj_reg reads = cj_lt(f, "reads", k->p.lane, s->warps), part = cj__prefix_identity(&k->p, "part");
    const cj_heads heads = cj__scan_load_slots(k, reads, from, s->warps, part, CJ_HEADS_REACH);
    cj_reg later = cj_ne(f, "later_warp", own, 0);
    cj_reg before = cj_let(f, "u32", "warp_before", "max.s32 $1, $2, 0;", cj_sub(f, "warp_before", own, 1));
    cj_reg earlier = cj__prefix_pick(&k->p, "earlier", part, CJ_ARG(before), SCAN_WARP);
    cj__prefix_clear_unless(&k->p, later, earlier);
    for (unsigned v = 0; v < s->loads; v++) cj__prefix_before(&k->p, cj__scan_is_open(k, t, v), t->prefix[v], earlier);
    cj__scan_open_warp(k, t, own, &heads);
    if (s->tiles > 1) t->total = cj__prefix_pick(&k->p, "total", part, CJ_ARG(s->warps - 1), SCAN_WARP);
}

void cj__scan_tile(const scan_kernel *k, scan_tile *t) {
    cj__scan_warp(k, t, true, cj__scan_has_before(&k->s));
    if (k->s.warps > 1) scan_warps(k, t);
}

// ---- stores

static void store_load(const scan_kernel *k, const transfer *to, unsigned v, cj_reg there, const char *store, cj_reg at) {
    const scan_shape *s = &k->s;
    const unsigned    words = to->words / accesses(k);
    for (unsigned a = 0; a < accesses(k) && !is_halved(k); a++)
        cj__store(k->f, there, store, to->type, to->word + a * words, words, at,
                  cj__scan_offset(k, v, s->bytes) + (int)(a * s->access * s->bytes));
    for (unsigned w = 0; w < to->words && is_halved(k); w++) {
        cj_reg half[2] = {cj_register(k->f, "b16", "half")};
        half[1] = cj_register(k->f, "b16", "half");
        cj_ptx(k->f, "mov.b32 {$1, $2}, $3;", half[0], half[1], to->word[w]);
        for (unsigned e = 0; e < 2; e++)
            cj__store(k->f, there, store, "b16", &half[e], 1, at,
                      cj__scan_offset(k, v, s->bytes) + (int)((2 * w + e) * s->bytes));
    }
}

// The first elements of a load that the row ends in, one by one.
static void store_part(const scan_kernel *k, const scan_tile *t, const transfer *to, unsigned v, const char *store, cj_reg at) {
    cj_func *f = k->f;
    cj_reg   part = cj_eq(f, "is_last", t->left, v * k->s.lanes), half[SCAN_WIDTH_MAX];
    for (unsigned e = 0; e < k->s.remainder && is_half(k); e += 2) {
        half[e] = cj_register(f, "b16", "half"), half[e + 1] = cj_register(f, "b16", "half");
        cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[e], half[e + 1], to->word[e / 2]);
    }
    for (unsigned e = 0; e < k->s.remainder; e++) {
        const int offset = cj__scan_offset(k, v, k->s.bytes) + (int)(e * k->s.bytes);
        cj__store(f, part, store, is_half(k) ? "b16" : to->type, is_half(k) ? &half[e] : &to->word[e], 1, at, offset);
    }
}

// A whole store, where out has the head of x. A predicate: whether there is one in parts instead.
static cj_reg store_whole(const scan_kernel *k, const transfer *to, cj_reg there, cj_reg same, cj_reg at, unsigned v) {
    cj_reg whole = cj_and(k->f, "whole", there, same);
    cj__store(k->f, whole, "st.global", to->type, to->word, to->words, at, cj__scan_offset(k, v, k->s.bytes));
    return cj_let(k->f, "pred", "in_parts", "xor.pred $1, $2, $3;", there, whole);
}

void cj__scan_store(const scan_kernel *k, scan_tile *t) {
    const scan_shape *s = &k->s;
    const char       *store = s->form == SCAN_STREAM ? "st.global" : "st.global.cs";
    cj_step(k->f, "each load's prefix runs over its elements, which are stored");
    cj_reg at = cj__scan_address(k, t, k->out, k->out_stride, s->bytes, "to"), same = cj_none();
    if (s->head) same = cj_eq(k->f, "same_head", cj_and(k->f, "low_bits", cj_cvt(k->f, "u32", "low_word", at), SCAN_LOAD - 1), 0);
    for (unsigned v = 0; v < s->loads; v++) {
        cj_reg running = t->prefix[v], there = cj__scan_has_load(k, t, v);
        if (!cj_is_none(t->carry)) cj__prefix_before(&k->p, cj__scan_is_open(k, t, v), running, t->carry);
        for (unsigned e = 0; e < s->width; e++) {
            cj_reg result = running;
            if (!k->reverse) cj__scan_restart(k, t, running, v, e);
            if (k->exclusive) result = cj__prefix_copy(&k->p, "before", running);
            cj_combine_into(k->f, k->p.combine, running, t->element[v][e]);
            cj_set(k->f, t->element[v][e], result);
            if (k->reverse) cj__scan_restart(k, t, running, v, e);
        }
        const transfer to = transfer_of(k, t->element[v]);
        convert(k, &to, t->element[v], pack);
        if (s->head) there = store_whole(k, &to, there, same, at, v);
        store_load(k, &to, v, there, store, at);
        if (s->remainder) store_part(k, t, &to, v, store, at);
    }
}
