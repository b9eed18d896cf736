// SPDX-License-Identifier: Apache-2.0
// The stream form: blocks stay on their SMs and claim tile after tile, or row after row. One thread loads by bulk copies
// into stages of shared memory; other warps sum each tile as it comes; what stands before it becomes known; others
// scan it. scan.c tells why the barriers are needed and enough.
#include "scan.h"

#include <clusterjit/pipeline.h>

// In place of a row: the work counter has no more tiles.
#define NO_ROW UINT32_MAX

typedef struct stream {
    scan_kernel   *k;
    cj_pipeline    ring;
    cj_reg         pool, told, summed, known, befores, carries;  // addresses in shared memory, of stage 0
    cj_reg         lead;                                         // lane 0 of each warp
    cj_reg         member;                                       // of those that sum, or scan: which warp
    cj_pipeline_at at;                                           // of the warp
    unsigned       window;                                       // groups that are looked at at once
    cj_label       done;
} stream;

static bool looks(const stream *t) { return !t->k->s.whole_rows; }

static unsigned before_bytes(const scan_shape *s) { return s->warps * cj__scan_slot(s); }

// Of the warp's stage: a new register.
static cj_reg of_stage(stream *t, const char *name, cj_reg first, uint64_t bytes) {
    cj_reg at = cj_u32(t->k->f, name);
    cj_ptx(t->k->f, "mad.lo.u32 $1, $2, $3, $4;", at, t->at.stage, bytes, first);
    return at;
}

static void wait(stream *t, cj_reg mbarriers, const char *why) {
    cj_mbarrier_wait(t->k->f, of_stage(t, "mbarrier", mbarriers, 8), CJ_ARG(t->at.parity), CJ_SCOPE_BLOCK, why);
}

static void arrive(stream *t, cj_reg mbarriers, const char *why) {
    cj_mbarrier_arrive(t->k->f, cj_always(), of_stage(t, "mbarrier", mbarriers, 8), why);
}

static void emit_shared(stream *t) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    const unsigned    lanes = s->warps * SCAN_WARP, tell = (looks(t) ? 2 : 1) * SCAN_WARP;
    cj_reg            inits = cj_pred(f, "inits");
    cj_step(
        f, "shared memory: stages; mbarriers for what fills, empties, sums and completes each; and what is told of it");
    t->pool = cj__pool_address(f, "scan_pool");
    t->ring = cj_pipeline_declare(f, "tile", s->stages);
    t->summed = cj_shared_address(f, cj_shared(f, "b64", "summed", s->stages, 0));
    t->known = cj_shared_address(f, cj_shared(f, "b64", "known", s->stages, 0));
    t->told = cj_shared_address(f, cj_shared(f, "u32", "told", s->stages * SCAN_TOLD / 4, SCAN_TOLD));
    t->befores = cj_shared_address(f,
                                   cj_shared(f, s->type, "before_warps", s->stages * before_bytes(s) / s->computed, 0));
    t->carries = cj_shared_address(f, cj_shared(f, s->type, "before_tile", s->stages, 0));
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", inits, k->thread);
    for (unsigned i = 0; i < s->stages; i++) {
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], $4;", inits, t->summed, 8 * i, lanes);
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], $4;", inits, t->known, 8 * i, tell);
    }
    cj_pipeline_init(f, inits, &t->ring, CJ_ARG(lanes));
    t->lead = cj_pred(f, "lead");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", t->lead, k->lane);
    cj_ptx(f, "bar.sync 0; // S1: the mbarriers are there");
}

// ---- the thread that loads

// Where the row's first tile begins in x, in reverse where it ends, and how far it is from there to the next.
static cj_reg row_begin(stream *t, cj_reg x, cj_reg stride) {
    scan_kernel *k = t->k;
    cj_func     *f = k->f;
    cj_reg       at = cj_u64(f, "row_at"), row = cj_u64(f, "wide_row");
    cj_ptx(f, "cvt.u64.u32 $1, $2;", row, k->row);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", row, stride);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", at, row, k->s.bytes, x);
    if (k->reverse) cj_ptx(f, "add.u64 $1, $1, $2;", at, k->s.columns * k->s.bytes);
    return at;
}

// Where the tile begins in x, and how many bytes it has, 0 behind the last claim. In reverse it lies at the stage's end.
static void find_tile(stream *t, cj_reg over, cj_reg row_at, cj_reg from, cj_reg bytes) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    const uint64_t    last = (s->columns - s->tail) * s->bytes % cj__scan_tile_bytes(s);
    cj_reg            is = cj_pred(f, "is_last_tile");
    cj_ptx(f, "mov.u32 $1, $2;", bytes, cj__scan_tile_bytes(s));
    if (last) {
        cj_ptx(f, "setp.eq.u32 $1, $2, $3;", is, k->tile, s->tiles - 1);
        cj_ptx(f, "@$1 mov.u32 $2, $3;", is, bytes, last);
    }
    if (s->tail) {
        cj_ptx(f, "setp.eq.u32 $1, $2, $3;", is, k->tile, s->tiles);
        cj_ptx(f, "@$1 mov.u32 $2, 0; // what is behind the last whole load is not copied", is, bytes);
    }
    cj_ptx(f, "@$1 mov.u32 $2, $3;", over, k->row, NO_ROW);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", over, bytes);
    if (!k->reverse) {
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from, k->tile, cj__scan_tile_bytes(s), row_at);
        return;
    }
    cj_reg wide = cj_u64(f, "wide_bytes");
    cj_ptx(f, "cvt.u64.u32 $1, $2;", wide, bytes);
    cj_ptx(f, "sub.u64 $1, $2, $3;", from, row_at, wide);
    cj_ptx(f, "mul.wide.u32 $1, $2, $3;", wide, k->tile, cj__scan_tile_bytes(s));
    cj_ptx(f, "sub.u64 $1, $1, $2;", from, wide);
}

// The tile's flags lie in the array as the tile does in x. They come along where they begin and end at multiples of 16
// bytes, which need not be so; who needs the others reads them there, and waits. `tile` says which, in its upper bit.
static void find_flags(stream *t, cj_reg x, cj_reg from, cj_reg bytes, cj_reg flags, cj_reg count) {
    scan_kernel *k = t->k;
    cj_func     *f = k->f;
    cj_reg       base = cj_u64(f, "flags"), low = cj_u32(f, "low_bits"), here = cj_pred(f, "flags_come");
    cj_ptx(f, "ld.param.u64 $1, [$2];", base, k->heads);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", base);
    cj_ptx(f, "sub.u64 $1, $2, $3;", flags, from, x);
    cj_ptx(f, "div.u64 $1, $1, $2;", flags, k->s.bytes);
    cj_ptx(f, "add.u64 $1, $1, $2;", flags, base);
    cj_ptx(f, "div.u32 $1, $2, $3;", count, bytes, k->s.bytes);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", low, flags);
    cj_ptx(f, "or.b32 $1, $1, $2;", low, count);
    cj_ptx(f, "and.b32 $1, $1, 15;", low);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", here, low);
    cj_ptx(f, "selp.u32 $1, $1, 0, $2;", count, here);
    cj_ptx(f, "@$1 or.b32 $2, $2, 0x80000000;", here, k->tile);
}

// They lie behind the tile, in reverse at their end, too.
static void copy_flags(stream *t, cj_reg flags, cj_reg count, cj_reg full) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    cj_reg            into = of_stage(t, "stage_at", t->pool, cj__scan_stage_bytes(s)), come = cj_pred(f, "flags_come");
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", come, count);
    cj_ptx(f, "add.u32 $1, $1, $2;", into, cj__scan_tile_bytes(s) + (k->reverse ? s->tile : 0));
    if (k->reverse) cj_ptx(f, "sub.u32 $1, $1, $2;", into, count);
    cj_bulk_load(f, come, into, flags, CJ_ARG(count), full);
    cj_ptx(f, "and.b32 $1, $1, 0x7fffffff;", k->tile);
}

// What is read and written once is said to nobody: hints to the L2 cache (evict_first, .cs) make both slower together.
static void emit_copy(stream *t, cj_reg over, cj_reg x, cj_reg row_at) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    const bool        segmented = cj__scan_segmented(s);
    cj_reg            full = of_stage(t, "full", t->ring.full, 8), told = of_stage(t, "told_at", t->told, SCAN_TOLD);
    cj_reg            bytes = cj_u32(f, "tile_bytes"), from = cj_u64(f, "tile_at"),
           into = of_stage(t, "stage_at", t->pool, cj__scan_stage_bytes(s));
    cj_reg count = cj_u32(f, "flag_bytes"), flags = cj_u64(f, "flags_at"), all = bytes, copies = cj_always();
    find_tile(t, over, row_at, from, bytes);
    if (segmented) {
        all = cj_u32(f, "all_bytes");
        find_flags(t, x, from, bytes, flags, count);
        cj_ptx(f, "add.u32 $1, $2, $3;", all, bytes, count);
    }
    cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $3, $4, $5};", told, k->claim, k->tag, k->row, k->tile);
    cj_mbarrier_arrive_expect(f, cj_always(), full, CJ_ARG(all), "S3: this much is to come, and what it is is told");
    cj_ptx(f, "@$1 bra $2;", over, t->done);
    if (s->tail) {
        copies = cj_pred(f, "copies");
        cj_ptx(f, "setp.ne.u32 $1, $2, 0;", copies, bytes);
    }
    if (k->reverse) cj_ptx(f, "add.u32 $1, $1, $2;", into, cj__scan_tile_bytes(s));
    if (k->reverse) cj_ptx(f, "sub.u32 $1, $1, $2;", into, bytes);
    cj_bulk_load(f, copies, into, from, CJ_ARG(bytes), full);
    if (segmented) copy_flags(t, flags, count, full);
    cj_pipeline_next(f, &t->ring, &t->at);
}

static void emit_loader(stream *t) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    const uint64_t    claims = cj__scan_claims(s);
    cj_reg            stride = cj_u64(f, "stride"), all = cj_u32(f, "all_claims"), over = cj_pred(f, "over");
    cj_reg            more = cj_pred(f, "more"), other = cj_pred(f, "other_lane");
    cj_label          next = cj_label_new(f, "next_claim"), next_tile = cj_label_new(f, "next_tile");
    cj_step(f, "a thread claims and loads");
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->lane);
    cj_ptx(f, "@$1 bra $2;", other, t->done);
    k->space = cj__load_pointer(f, k->workspace, "space");
    cj_reg x = cj__load_pointer(f, k->x, "x");
    cj_ptx(f, "ld.param.u64 $1, [$2];", stride, k->stride);
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", all);
    cj_ptx(f, "add.u32 $1, $1, $2;", all, claims);
    t->at = cj_pipeline_begin(f, &t->ring, CJ_PRODUCER);
    cj_label_here(f, next);
    cj_step(f, "when there is room for it: the next %s; each block gets one number behind the last, too",
            s->whole_rows ? "row" : "tile");
    wait(t, t->ring.empty, "S2: the stage is free");
    cj__scan_claim(k, all);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", over, k->claim, claims);
    if (s->whole_rows) {
        cj_ptx(f, "mov.u32 $1, $2;", k->row, k->claim);
        cj_ptx(f, "mov.u32 $1, 0;", k->tile);
    } else {
        const uint64_t tiles = claims / s->rows;
        cj_ptx(f, "div.u32 $1, $2, $3;", k->row, k->claim, tiles);
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->tile, k->row, tiles);
        cj_ptx(f, "sub.u32 $1, $2, $1;", k->tile, k->claim);
    }
    cj_reg     row_at = row_begin(t, x, stride);
    const bool goes_on = s->whole_rows && s->tiles > 1;
    if (goes_on) cj_label_here(f, next_tile);
    emit_copy(t, over, x, row_at);
    if (goes_on) {
        cj_ptx(f, "add.u32 $1, $1, 1;", k->tile);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, k->tile, s->tiles);
        cj_ptx(f, "@!$1 bra $2;", more, next);
        wait(t, t->ring.empty, "S2: the stage is free");
        cj_ptx(f, "bra $1;", next_tile);
    } else {
        cj_ptx(f, "bra $1;", next);
    }
}

// ---- the others

static cj_label begin(stream *t, const char *step, const char *loop) {
    cj_func *f = t->k->f;
    cj_label next = cj_label_new(f, loop);
    cj_step(f, "%s", step);
    t->at = cj_pipeline_begin(f, &t->ring, CJ_CONSUMER);
    return next;
}

// The next tile that this block has, when it is there.
static void take_told(stream *t) {
    scan_kernel *k = t->k;
    cj_func     *f = k->f;
    cj_reg       over = cj_pred(f, "over");
    wait(t, t->ring.full, "S3: the tile and what is told of it are here");
    cj_ptx(f, "ld.shared.v4.u32 {$1, $2, $3, $4}, [$5];", k->claim, k->tag, k->row, k->tile,
           of_stage(t, "told_at", t->told, SCAN_TOLD));
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", over, k->row, NO_ROW);
    cj_ptx(f, "@$1 bra $2;", over, t->done);
    if (!cj__scan_segmented(&k->s)) return;
    k->flags_come = cj_pred(f, "flags_came");
    cj_ptx(f, "setp.lt.s32 $1, $2, 0;", k->flags_come, k->tile);
    cj_ptx(f, "and.b32 $1, $1, 0x7fffffff;", k->tile);
}

static void take_tile(stream *t) {
    scan_kernel *k = t->k;
    take_told(t);
    cj__scan_find_left(k);
    cj_reg stage = of_stage(t, "stage_at", t->pool, cj__scan_stage_bytes(&k->s));
    if (cj__scan_segmented(&k->s)) {
        k->flags_stage = cj_u32(k->f, "flags_stage");
        cj_ptx(k->f, "add.u32 $1, $2, $3;", k->flags_stage, stage, cj__scan_tile_bytes(&k->s));
    }
    cj__scan_find_heads(k);
    cj__scan_take(k, stage);
}

static void repeat(stream *t, cj_label next) {
    cj_pipeline_next(t->k->f, &t->ring, &t->at);
    cj_ptx(t->k->f, "bra $1;", next);
}

// Where the warp's own slot is, in what stands before warps.
static cj_reg own_slot(stream *t) {
    cj_func *f = t->k->f;
    cj_reg   at = of_stage(t, "slot", t->befores, before_bytes(&t->k->s));
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", at, t->member, cj__scan_slot(&t->k->s));
    return at;
}

static void find_member(stream *t) {
    t->member = cj_u32(t->k->f, "member_warp");
    cj_ptx(t->k->f, "and.b32 $1, $2, $3;", t->member, t->k->warp, t->k->s.warps - 1);
    cj__scan_find_place(t->k);
}

// Masks for cuts at lanes that hold warps or tiles.
static void begin_cuts(stream *t) {
    if (cj__scan_segmented(&t->k->s)) cj__scan_find_masks(t->k);
}

static void emit_summing(stream *t) {
    scan_kernel *k = t->k;
    cj_func     *f = k->f;
    cj_reg       last = cj_pred(f, "last_lane");
    cj_label     next = begin(t, "these warps sum each tile, a share each", "next_to_sum");
    find_member(t);
    cj_ptx(f, "setp.eq.u32 $1, $2, 31;", last, k->lane);
    cj_label_here(f, next);
    take_tile(t);
    cj__scan_sum_warp(k);
    cj_reg slot = own_slot(t);
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", last, k->s.type, slot, k->total);
    if (cj__scan_segmented(&k->s)) cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], $4;", last, slot, k->s.computed, k->headed);
    arrive(t, t->summed, "S4: this warp's sum is there");
    repeat(t, next);
}

// Lane i has warp i's sum: it becomes what stands before that warp in the tile, and whether a segment begins there. All
// lanes have the tile's.
static void emit_befores(stream *t) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    cj_reg            has = cj_pred(f, "has_warp"), slot = of_stage(t, "slot", t->befores, before_bytes(s)),
           sum = cj__scan_value(k, "warp_sum"), before = cj__scan_value(k, "before_warp");
    cj_step(f, "what stands before each warp in the tile; the tile's total");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", slot, k->lane, cj__scan_slot(s));
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", has, k->lane, s->warps);
    cj__scan_clear(k, sum);
    cj_ptx(f, "@$1 ld.shared.$2 $3, [$4];", has, s->type, sum, slot);
    const scan_cut cut = cj__scan_cut_slots(k, has, slot, SCAN_WARP);
    cj__scan_lanes(k, sum, cut.reach, SCAN_WARP);
    k->total = cj__scan_value(k, "total");
    k->headed = cut.heads;
    cj__scan_pick(k, k->total, sum, CJ_ARG(SCAN_WARP - 1), SCAN_WARP);
    cj__scan_previous(k, before, sum, SCAN_WARP);
    cj_ptx(f, "@$1 mov.$2 $3, $4;", t->lead, s->type, before, cj_combine_identity(k->combine));
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", has, s->type, slot, before);
    if (cut.before.id) cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], $4;", has, slot, s->computed, cut.before);
}

// A warp: with rows to itself it knows what stands before the tile; else it posts what the tile is.
static void emit_telling(stream *t) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    cj_reg            first = cj_pred(f, "first_tile"), at = cj_u64(f, "post_at");
    cj_label next = begin(t, looks(t) ? "a warp posts each tile's total" : "a warp adds tiles up", "next_to_tell");
    k->carry = cj__scan_value(k, "carry");
    begin_cuts(t);
    if (looks(t))
        k->space = cj__load_pointer(f, k->workspace, "space");
    else
        cj__scan_clear(k, k->carry);
    cj_label_here(f, next);
    take_told(t);
    wait(t, t->summed, "S4: all sums of the tile are there");
    emit_befores(t);
    if (looks(t)) {
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->claim, cj__scan_post_bytes(k), k->space);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, SCAN_POSTS_AT);
        cj__scan_post(k, t->lead, at, k->total, cj__scan_tile_tag(k));
    } else {
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->tile);
        cj_ptx(f, "@$1 mov.$2 $3, $4;", first, s->type, k->carry, cj_combine_identity(k->combine));
        cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", t->lead, s->type, of_stage(t, "carry_at", t->carries, s->computed),
               k->carry);
        cj__scan_append(k, k->carry, k->total, k->headed);
    }
    arrive(t, t->known, "S5: what stands before is there");
    repeat(t, next);
}

// ---- the warp that looks at the tiles before

typedef struct looker {
    cj_reg row, groups, whole;  // `whole` is all of so many groups of that row
    cj_reg group, in_group;     // the tile's, and what stands before it there
    cj_reg own_heads;           // tiles before it there that have one
    cj_reg value[SCAN_WINDOW_MAX], there[SCAN_WINDOW_MAX], head[SCAN_WINDOW_MAX];
} looker;

// Lane i has tile i of each group of the window, as far as these stand before the tile: it waits for their posts.
static void await_posts(stream *t, looker *l, cj_reg row_at) {
    scan_kernel *k = t->k;
    cj_func     *f = k->f;
    cj_reg       first = cj_u32(f, "first"), at = cj_u64(f, "post_at"), late = cj_pred(f, "late"), tag[SCAN_WINDOW_MAX];
    cj_label     again = cj_label_new(f, "not_posted");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", first, l->groups, SCAN_GROUP, k->lane);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, first, cj__scan_post_bytes(k), row_at);
    for (unsigned j = 0; j < t->window; j++) {
        cj_reg index = cj_u32(f, "index");
        l->there[j] = cj_pred(f, "is_before");
        l->value[j] = cj__scan_value(k, "posted");
        l->head[j] = cj_u32(f, "head");
        tag[j] = cj_u32(f, "found");
        cj_ptx(f, "add.u32 $1, $2, $3;", index, first, j * SCAN_GROUP);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", l->there[j], index, k->tile);
    }
    cj_label_here(f, again);
    for (unsigned j = 0; j < t->window; j++)
        cj__scan_look(k, l->there[j], at, (int)(j * SCAN_GROUP * cj__scan_post_bytes(k)), l->value[j], tag[j]);
    for (unsigned j = 0; j < t->window; j++) cj__scan_take_head(k, l->head[j], tag[j]);
    cj_ptx(f, "setp.ne.and.u32 $1, $2, $3, $4;", late, tag[0], k->tag, l->there[0]);
    for (unsigned j = 1; j < t->window; j++) {
        cj_reg other = cj_pred(f, "late_too");
        cj_ptx(f, "setp.ne.and.u32 $1, $2, $3, $4;", other, tag[j], k->tag, l->there[j]);
        cj_ptx(f, "or.pred $1, $1, $2;", late, other);
    }
    cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", late);
    cj_ptx(f, "@$1 bra $2;", late, again);
}

// Each group by itself, then one after the other: those before the tile's are whole.
static void add_groups(stream *t, looker *l) {
    scan_kernel *k = t->k;
    cj_func     *f = k->f;
    cj_reg sum[SCAN_WINDOW_MAX], heads[SCAN_WINDOW_MAX], number = cj_u32(f, "number"), more = cj__scan_value(k, "more");
    cj_reg is_before = cj_pred(f, "group_before"), is_own = cj_pred(f, "own_group");
    for (unsigned j = 0; j < t->window; j++) {
        cj_ptx(f, "@!$1 mov.$2 $3, $4;", l->there[j], k->s.type, l->value[j], cj_combine_identity(k->combine));
        const scan_cut cut = cj__scan_cut_tiles(k, l->head[j]);
        cj__scan_lanes(k, l->value[j], cut.reach, SCAN_WARP);
        heads[j] = cut.heads;
        sum[j] = cj__scan_value(k, "group_sum");
        cj__scan_pick(k, sum[j], l->value[j], CJ_ARG(SCAN_WARP - 1), SCAN_WARP);
    }
    for (unsigned j = 0; j < t->window; j++) {
        cj_ptx(f, "add.u32 $1, $2, $3;", number, l->groups, j);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", is_before, number, l->group);
        cj_ptx(f, "setp.eq.u32 $1, $2, $3;", is_own, number, l->group);
        cj__scan_move(k, cj_always(), more, l->whole);
        cj__scan_append(k, more, sum[j], heads[j]);
        cj__scan_move(k, is_before, l->whole, more);
        cj__scan_move(k, is_own, l->in_group, sum[j]);
        if (heads[j].id) cj_ptx(f, "@$1 mov.u32 $2, $3;", is_own, l->own_heads, heads[j]);
    }
}

static void emit_looking(stream *t) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    looker            l = {.row = cj_u32(f, "known_row"),
                           .groups = cj_u32(f, "known_groups"),
                           .whole = cj__scan_value(k, "whole"),
                           .group = cj_u32(f, "group"),
                           .in_group = cj__scan_value(k, "in_group"),
                           .own_heads = cj_u32(f, "own_heads")};
    cj_reg other = cj_pred(f, "other_row"), row_at = cj_u64(f, "row_posts"), more = cj_pred(f, "more_groups"),
           first = cj_u32(f, "first_claim");
    cj_label next = begin(t, "a warp looks at the totals of the tiles before", "next_to_look"),
             window = cj_label_new(f, "next_groups");
    begin_cuts(t);
    k->space = cj__load_pointer(f, k->workspace, "space");
    cj_ptx(f, "mov.u32 $1, $2;", l.row, NO_ROW);
    cj_ptx(f, "mov.u32 $1, 0;", l.groups);
    cj__scan_clear(k, l.whole);
    cj_label_here(f, next);
    take_told(t);
    cj_step(f, "what is known of the row so far stays known");
    cj_ptx(f, "setp.ne.u32 $1, $2, $3;", other, k->row, l.row);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", other, l.groups);
    cj_ptx(f, "@$1 mov.$2 $3, $4;", other, s->type, l.whole, cj_combine_identity(k->combine));
    cj_ptx(f, "mov.u32 $1, $2;", l.row, k->row);
    cj_ptx(f, "shr.u32 $1, $2, 5;", l.group, k->tile);
    cj_ptx(f, "sub.u32 $1, $2, $3;", first, k->claim, k->tile);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", row_at, first, cj__scan_post_bytes(k), k->space);
    cj_ptx(f, "add.u64 $1, $1, $2;", row_at, SCAN_POSTS_AT);
    cj_label_here(f, window);
    cj_step(f, "%u groups of %d tiles: lane i waits for the total of tile i of each", t->window, SCAN_GROUP);
    await_posts(t, &l, row_at);
    cj_step(f, "groups before the tile's are added up; what stands before it in its own");
    add_groups(t, &l);
    cj_ptx(f, "add.u32 $1, $1, $2;", l.groups, t->window);
    cj_ptx(f, "setp.le.u32 $1, $2, $3;", more, l.groups, l.group);
    cj_ptx(f, "@$1 bra $2;", more, window);
    cj_ptx(f, "mov.u32 $1, $2;", l.groups, l.group);
    k->carry = cj__scan_value(k, "carry");
    cj__scan_move(k, cj_always(), k->carry, l.whole);
    cj__scan_append(k, k->carry, l.in_group, cj__scan_segmented(s) ? l.own_heads : (cj_reg){0});
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", t->lead, s->type, of_stage(t, "carry_at", t->carries, s->computed),
           k->carry);
    arrive(t, t->known, "S5: what stands before the tile is there");
    repeat(t, next);
}

// What is behind the last whole load, element by element: by one lane, of which the first warp's others know nothing.
static void emit_tail(stream *t) {
    scan_kernel tail = *t->k;
    cj_func    *f = tail.f;
    cj_label    none = cj_label_new(f, "no_tail");
    cj_reg      skips = cj_pred(f, "skips"), other = cj_pred(f, "other_lane");
    tail.s.lanes = tail.s.width = 1;
    tail.s.loads = tail.s.tail;
    tail.flags_stage = (cj_reg){0};
    tail.first = cj_u64(f, "first");
    tail.left = cj_s32(f, "left");
    cj_step(f, "behind the last tile: the array's last %u elements, by the first lane", tail.s.tail);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", skips, tail.tile, tail.s.tiles);
    cj_ptx(f, "setp.ne.or.u32 $1, $2, 0, $1;", skips, tail.warp);
    cj_ptx(f, "@$1 bra $2;", skips, none);
    cj_ptx(f, "mov.u64 $1, $2;", tail.first, tail.s.columns - tail.s.tail);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, tail.lane);
    cj_ptx(f, "selp.s32 $1, 0, $2, $3;", tail.left, tail.s.tail, other);
    cj__scan_load_found(&tail);
    cj__scan_fold_warp(&tail, true, false);
    cj__scan_give(&tail);
    cj_label_here(f, none);
}

static void emit_scanning(stream *t) {
    scan_kernel      *k = t->k;
    cj_func          *f = k->f;
    const scan_shape *s = &k->s;
    cj_reg            before = cj__scan_value(k, "before_warp");
    cj_label          next = begin(t, "these warps scan each tile, a share each", "next_to_scan");
    find_member(t);
    cj_label_here(f, next);
    take_tile(t);
    cj__scan_fold_warp(k, true, false);
    cj_step(f, "what stands before the share");
    wait(t, t->known, "S5: what stands before is there");
    k->carry = cj__scan_value(k, "carry");
    cj_reg slot = own_slot(t), heads = cj__scan_segmented(s) ? cj_u32(f, "heads_before_warp") : (cj_reg){0};
    cj_ptx(f, "ld.shared.$1 $2, [$3];", s->type, k->carry, of_stage(t, "carry_at", t->carries, s->computed));
    cj_ptx(f, "ld.shared.$1 $2, [$3];", s->type, before, slot);
    if (heads.id) cj_ptx(f, "ld.shared.u32 $1, [$2 + $3];", heads, slot, s->computed);
    arrive(t, t->ring.empty, "S2: this warp has read it");
    cj__scan_append(k, k->carry, before, heads);
    cj__scan_give(k);
    if (s->tail) emit_tail(t);
    repeat(t, next);
}

static void branch(stream *t, const char *compare, unsigned warp, cj_label to) {
    cj_func *f = t->k->f;
    cj_reg   is = cj_pred(f, "is_role");
    cj_ptx(f, "setp.$1.u32 $2, $3, $4;", compare, is, t->k->warp, warp);
    cj_ptx(f, "@$1 bra $2;", is, to);
}

// All that the grid's blocks claim between two tiles of one of them, which may begin and end anywhere in a group; but
// no more than the row has. A few blocks look at one after the other.
static unsigned window_of(const scan_kernel *k) {
    const uint64_t blocks = k->plan->grid.x, meanwhile = blocks > SCAN_GROUP ? blocks / SCAN_GROUP + 2 : 1;
    const uint64_t groups = (k->s.tiles + SCAN_GROUP - 1) / SCAN_GROUP,
                   wanted = groups < meanwhile ? groups : meanwhile;
    return (unsigned)(wanted < SCAN_WINDOW_MAX ? wanted : SCAN_WINDOW_MAX);
}

void cj__scan_stream(scan_kernel *k) {
    cj_func       *f = k->f;
    const unsigned warps = k->s.warps;
    stream         t = {.k = k, .done = cj_label_new(f, "done"), .window = window_of(k)};
    cj_label       scanning = cj_label_new(f, "scanning"), summing = cj_label_new(f, "summing"),
             telling = cj_label_new(f, "telling"), looking = cj_label_new(f, "looking");
    k->row = cj_u32(f, "row");
    k->tile = cj_u32(f, "tile");
    k->claim = cj_u32(f, "claim");
    k->tag = cj_u32(f, "tag");
    emit_shared(&t);
    branch(&t, "lt", warps, scanning);
    branch(&t, "lt", 2 * warps, summing);
    branch(&t, "eq", 2 * warps + 1, telling);
    if (looks(&t)) branch(&t, "eq", 2 * warps + 2, looking);
    emit_loader(&t);
    cj_label_here(f, scanning);
    emit_scanning(&t);
    cj_label_here(f, summing);
    emit_summing(&t);
    cj_label_here(f, telling);
    emit_telling(&t);
    if (looks(&t)) {
        cj_label_here(f, looking);
        emit_looking(&t);
    }
    cj_label_here(f, t.done);
}
