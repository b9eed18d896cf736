// SPDX-License-Identifier: Apache-2.0
// The stream form: a persistent kernel. One thread takes tile after tile, or row after row, from the work counter and loads
// by bulk copies into pipeline stages; other warps sum each tile, look back, and scan it. scan.c has the roles and barriers.
#include "scan.h"

// In place of a row: the work counter has no more tiles.
#define NO_ROW UINT32_MAX

// In a tile's number: its flags are in the stage.
#define STAGED (UINT32_C(1) << 31)

typedef struct stream {
    scan_kernel   *k;
    cj_pipeline    ring;
    cj_reg         pool, taken, summed, known, slots, carries;  // addresses in shared memory, of stage 0
    cj_reg         lead;                                        // lane 0 of each warp
    cj_pipeline_at at;                                          // of the role
    cj_label       done;
} stream;

// A tile that the work counter gave.
typedef struct work_tile {
    cj_work work;
    cj_reg  row, number;
} work_tile;

static bool looks_back(const stream *t) { return cj__scan_looks_back(&t->k->s); }

static unsigned slots_bytes(const scan_shape *s) { return s->warps * cj__scan_slot(s); }

// The address of the role's stage in an array of `bytes` a stage.
static cj_reg of_stage(const stream *t, const char *name, cj_reg first, uint64_t bytes) {
    return cj_mad(t->k->f, name, t->at.stage, bytes, first);
}

static void wait(const stream *t, cj_reg mbarriers, const char *why) {
    cj_mbarrier_wait(t->k->f, of_stage(t, "mbarrier", mbarriers, 8), CJ_ARG(t->at.parity), CJ_SCOPE_BLOCK, why);
}

static void arrive(const stream *t, cj_reg mbarriers, const char *why) {
    cj_mbarrier_arrive(t->k->f, cj_always(), of_stage(t, "mbarrier", mbarriers, 8), why);
}

static void emit_shared(stream *t) {
    const scan_kernel *k = t->k;
    const scan_shape  *s = &k->s;
    const unsigned     lanes = s->warps * SCAN_WARP, knowers = (looks_back(t) ? 2 : 1) * SCAN_WARP;
    cj_func           *f = k->f;
    cj_step(f, "shared memory: stages; mbarriers for full, empty, summed and known ones; which tile each stage has");
    t->pool = cj__pool_address(f, "scan_pool");
    t->ring = cj_pipeline_declare(f, "tile", s->stages);
    t->summed = cj_shared_address(f, cj_shared(f, "b64", "summed", s->stages, 0));
    t->known = cj_shared_address(f, cj_shared(f, "b64", "known", s->stages, 0));
    t->taken = cj_shared_address(f, cj_shared(f, "u32", "tile_of_stage", s->stages * SCAN_TAKEN / 4, SCAN_TAKEN));
    t->slots = cj_shared_address(f, cj_shared(f, s->type, "warp_prefix", s->stages * slots_bytes(s) / s->computed, 0));
    t->carries = cj_shared_address(f, cj_shared(f, s->type, "tile_prefix", s->stages, 0));
    cj_reg inits = cj_eq(f, "inits", k->thread, 0);
    for (unsigned i = 0; i < s->stages; i++) {
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], $4;", inits, t->summed, 8 * i, lanes);
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], $4;", inits, t->known, 8 * i, knowers);
    }
    cj_pipeline_init(f, inits, &t->ring, CJ_ARG(lanes));
    t->lead = cj_eq(f, "lead", k->p.lane, 0);
    cj_ptx(f, "bar.sync 0; // S1: the mbarriers are there");
}

// ---- producer: a thread

// Where the row's first tile begins in x; in reverse, where it ends.
static cj_reg row_begin(const scan_kernel *k, cj_reg row, cj_reg x, cj_reg stride) {
    cj_reg element = cj_mul(k->f, "row_begin", cj_cvt(k->f, "u64", "row", row), stride);
    cj_reg at = cj_mad(k->f, "row_at", element, k->s.bytes, x);
    return k->reverse ? cj_add(k->f, "row_at", at, k->s.columns * k->s.bytes) : at;
}

// Of an array with a head: what is left of its whole loads, up to a tile of them.
static cj_reg bytes_after_head(const scan_kernel *k, const work_tile *tile) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            count = cj_sub(f, "body", s->columns, k->skipped);
    cj_reg            body = cj_mul(f, "body_bytes", cj_div(f, "body_loads", count, s->width), SCAN_LOAD);
    cj_reg            before = cj_mul_wide(f, "bytes_before", tile->number, cj__scan_tile_bytes(s));
    cj_reg            left = cj_let(f, "s64", "bytes_left", "sub.s64 $1, $2, $3;", body, before);
    cj_update(f, left, "max", 0);
    cj_update(f, left, "min", cj__scan_tile_bytes(s));
    return cj_cvt(f, "u32", "tile_bytes", left);
}

// How many bytes of the tile are copied: none after the last tile, nor of the tail.
static cj_reg bytes_of(const scan_kernel *k, const work_tile *tile, cj_reg over) {
    const scan_shape *s = &k->s;
    const uint64_t    last = (s->columns - s->tail) * s->bytes % cj__scan_tile_bytes(s);
    cj_func          *f = k->f;
    cj_reg            bytes = s->head ? bytes_after_head(k, tile) : cj_mov(f, "u32", "tile_bytes", cj__scan_tile_bytes(s));
    if (last && !s->head) cj_set_if(f, cj_eq(f, "is_last", tile->number, s->tiles - 1), bytes, last);
    if (s->tail) cj_set_if(f, cj_eq(f, "is_tail", tile->number, s->tiles), bytes, 0);
    cj_set_if(f, over, tile->row, NO_ROW);
    cj_set_if(f, over, bytes, 0);
    return bytes;
}

// Where the tile begins in x. In reverse it is at the stage's end.
static cj_reg tile_begin(const scan_kernel *k, const work_tile *tile, cj_reg row_at, cj_reg bytes) {
    const uint64_t tile_bytes = cj__scan_tile_bytes(&k->s);
    if (!k->reverse) return cj_mad_wide(k->f, "tile_at", tile->number, tile_bytes, row_at);
    cj_reg end = cj_sub(k->f, "tile_at", row_at, cj_cvt(k->f, "u64", "bytes", bytes));
    return cj_sub(k->f, "tile_at", end, cj_mul_wide(k->f, "skipped", tile->number, tile_bytes));
}

// The tile's flags, as x has its elements, and how many are copied: all of them if they begin and end at multiples of 16
// bytes, else none; their warps then read them in global memory.
static cj_reg find_flags(const scan_kernel *k, const work_tile *tile, cj_reg x, cj_reg from, cj_reg bytes,
                         cj_reg *count) {
    cj_func *f = k->f;
    cj_reg   base = cj__load_pointer(f, k->heads, "flags"), distance = cj_sub(f, "distance", from, x);
    cj_update(f, distance, "div", k->s.bytes);
    cj_reg flags = cj_add(f, "flags_at", distance, base), all = cj_div(f, "flag_count", bytes, k->s.bytes);
    cj_reg low = cj_and(f, "low_bits", cj_or(f, "low_bits", cj_cvt(f, "u32", "low_word", flags), all), 15);
    cj_reg aligned = cj_eq(f, "aligned", low, 0);
    *count = cj_select(f, "u32", "flag_bytes", aligned, all, 0);
    cj_ptx(f, "@$1 or.b32 $2, $2, $3;", aligned, tile->number, STAGED);
    return flags;
}

// Into the stage, after the tile; in reverse at their end, too.
static void copy_flags(const stream *t, const work_tile *tile, cj_reg flags, cj_reg count, cj_reg full) {
    const scan_kernel *k = t->k;
    cj_reg             stage = of_stage(t, "stage_at", t->pool, cj__scan_stage_bytes(&k->s));
    cj_reg             copies = cj_ne(k->f, "flags_come", count, 0);
    cj_reg             into = cj_add(k->f, "into", stage, cj__scan_tile_bytes(&k->s) + (k->reverse ? k->s.tile : 0));
    if (k->reverse) into = cj_sub(k->f, "into", into, count);
    cj_bulk_load(k->f, copies, into, flags, CJ_ARG(count), full);
    cj_update(k->f, tile->number, "and", ~STAGED);
}

// No hints to the L2 cache (evict_first, .cs): they make the load and the store of the same data slower together.
static void emit_copy(stream *t, const work_tile *tile, cj_reg over, cj_reg x, cj_reg row_at) {
    const scan_kernel *k = t->k;
    cj_func           *f = k->f;
    cj_reg full = of_stage(t, "full", t->ring.full, 8), taken = of_stage(t, "taken_at", t->taken, SCAN_TAKEN);
    cj_reg into = of_stage(t, "into", t->pool, cj__scan_stage_bytes(&k->s));
    cj_reg bytes = bytes_of(k, tile, over), from = tile_begin(k, tile, row_at, bytes);
    cj_reg all = bytes, copies = cj_always(), flags = cj_none(), count = cj_none();
    if (k->p.segmented) {
        flags = find_flags(k, tile, x, from, bytes, &count);
        all = cj_add(f, "all_bytes", bytes, count);
    }
    cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $3, $4, $5};", taken, tile->work.number, tile->work.epoch, tile->row,
           tile->number);
    cj_mbarrier_arrive_expect(f, cj_always(), full, CJ_ARG(all),
                              "S3: so many bytes will come; the stage's tile is told");
    cj_ptx(f, "@$1 bra $2;", over, t->done);
    if (k->s.tail) copies = cj_ne(f, "copies", bytes, 0);
    if (k->reverse) into = cj_sub(f, "into", cj_add(f, "into", into, cj__scan_tile_bytes(&k->s)), bytes);
    cj_bulk_load(f, copies, into, from, CJ_ARG(bytes), full);
    if (k->p.segmented) copy_flags(t, tile, flags, count, full);
    cj_pipeline_next(f, &t->ring, &t->at);
}

// The next number of the work counter as a tile, or as a row's first tile.
static work_tile take_work(const scan_kernel *k, cj_reg workspace, cj_reg all, uint64_t numbers, cj_reg *over) {
    const uint64_t tiles = numbers / k->s.rows;
    cj_func       *f = k->f;
    work_tile      tile = {.work = cj__work_take(f, workspace, all)};
    *over = cj_ge(f, "over", tile.work.number, numbers);
    if (k->s.whole_rows) {
        tile.row = cj_mov(f, "u32", "row", tile.work.number);
        tile.number = cj_mov(f, "u32", "tile", 0);
    } else {
        tile.row = cj_div(f, "row", tile.work.number, tiles);
        tile.number = cj_sub(f, "tile", tile.work.number, cj_mul(f, "row_first", tile.row, tiles));
    }
    return tile;
}

static void emit_producer(stream *t) {
    const scan_kernel *k = t->k;
    const scan_shape  *s = &k->s;
    const uint64_t     numbers = cj__scan_numbers(s);
    cj_func           *f = k->f;
    cj_step(f, "the producer, a thread");
    cj_ptx(f, "@$1 bra $2;", cj_ne(f, "other_lane", k->p.lane, 0), t->done);
    cj_reg workspace = cj__load_pointer(f, k->workspace, "workspace"), x = cj__load_pointer(f, k->x, "x");
    if (s->head) x = cj_mad(f, "x_body", k->skipped, s->bytes, x);
    cj_reg stride = cj__load_param(f, "u64", k->stride, "stride");
    cj_reg all = cj_add(f, "all_numbers", cj_mov(f, "u32", "takers", "%nctaid.x"), numbers), over;
    t->at = cj_pipeline_begin(f, &t->ring, CJ_PRODUCER);
    const bool     many = s->whole_rows && s->tiles > 1;
    const cj_label next = cj_label_new(f, "next_number"), next_tile = cj_label_new(f, "next_tile");
    cj_label_here(f, next);
    cj_step(f, "a free stage gets the next %s; each block takes one number beyond the last, too",
            s->whole_rows ? "row" : "tile");
    wait(t, t->ring.empty, "S2: the stage is free");
    const work_tile tile = take_work(k, workspace, all, numbers, &over);
    cj_reg          row_at = row_begin(k, tile.row, x, stride);
    cj_label_here(f, next_tile);
    emit_copy(t, &tile, over, x, row_at);
    if (many) {
        cj_update(f, tile.number, "add", 1);
        cj_ptx(f, "@!$1 bra $2;", cj_lt(f, "more", tile.number, s->tiles), next);
        wait(t, t->ring.empty, "S2: the stage is free");
    }
    cj_ptx(f, "bra $1;", many ? next_tile : next);
}

// ---- consumers

static void begin(stream *t, const char *step) {
    cj_step(t->k->f, "%s", step);
    t->at = cj_pipeline_begin(t->k->f, &t->ring, CJ_CONSUMER);
}

// The next stage's tile, when it is full. With segments its number says whether its flags are in the stage.
static work_tile next_tile(const stream *t) {
    cj_func  *f = t->k->f;
    work_tile tile = {{cj_u32(f, "number"), cj_u32(f, "epoch")}, cj_u32(f, "row"), cj_u32(f, "tile")};
    wait(t, t->ring.full, "S3: the tile is here, and which it is");
    cj_ptx(f, "ld.shared.v4.u32 {$1, $2, $3, $4}, [$5];", tile.work.number, tile.work.epoch, tile.row, tile.number,
           of_stage(t, "taken_at", t->taken, SCAN_TAKEN));
    cj_ptx(f, "@$1 bra $2;", cj_eq(f, "over", tile.row, NO_ROW), t->done);
    return tile;
}

// The number as it is without segments.
static void clear_staged(const stream *t, cj_reg number) {
    if (t->k->p.segmented) cj_update(t->k->f, number, "and", ~STAGED);
}

// Its elements, in registers; whether their prefixes are asked for.
static scan_tile load_tile(const stream *t, cj_reg place, bool prefixes) {
    scan_kernel    *k = t->k;
    scan_tile       tile = {.place = place};
    const work_tile next = next_tile(t);
    tile.row = next.row;
    tile.number = next.number;
    tile.staged = k->p.segmented;
    if (tile.staged) tile.in_stage = cj_let(k->f, "pred", "in_stage", "setp.lt.s32 $1, $2, 0;", tile.number);
    clear_staged(t, tile.number);
    cj__scan_find_left(k, &tile);
    cj_reg stage = of_stage(t, "stage_at", t->pool, cj__scan_stage_bytes(&k->s));
    if (tile.staged) tile.stage = cj_add(k->f, "flags_stage", stage, cj__scan_tile_bytes(&k->s));
    cj__scan_load_heads(k, &tile, prefixes);
    cj__scan_load_stage(k, &tile, stage);
    return tile;
}

// Which warp of the role this is, and the address of its slot.
static cj_reg find_member(const stream *t) { return cj_and(t->k->f, "member", t->k->warp, t->k->s.warps - 1); }

static cj_reg own_slot(const stream *t, cj_reg member) {
    cj_reg slots = of_stage(t, "slots", t->slots, slots_bytes(&t->k->s));
    return cj_mad(t->k->f, "slot", member, cj__scan_slot(&t->k->s), slots);
}

// Of the first tile, by its first warp: the head's elements, one by one, by one lane. All lanes get their total.
static cj_reg scan_head(const stream *t, const scan_tile *of, bool stores) {
    scan_kernel k = *t->k;
    scan_tile   tile = {.row = of->row, .number = of->number, .carry = cj_none()};
    cj_func    *f = k.f;
    k.s.lanes = k.s.width = k.s.access = 1;
    k.s.loads = k.s.head;
    k.s.head = 0;
    cj_step(f, "before the first tile: the array's first elements, at most %u, by the first lane", k.s.loads);
    tile.first = cj_mov(f, "u64", "first", 0);
    cj_reg other = cj_ne(f, "other_lane", k.p.lane, 0), count = cj_cvt(f, "u32", "count", k.skipped);
    tile.left = cj_let(f, "s32", "left", "selp.s32 $1, 0, $2, $3;", count, other);
    cj__scan_load_found(&k, &tile);
    cj__scan_warp(&k, &tile, stores, true);
    cj_reg total = cj__prefix_pick(&k.p, "head_total", tile.total, CJ_ARG(0), SCAN_WARP);
    if (stores) cj__scan_store(&k, &tile);
    return total;
}

// A predicate: the warp has the first elements of the array's first tile.
static cj_reg has_head(const stream *t, const scan_tile *tile, cj_reg member) {
    return cj_eq(t->k->f, "has_head", cj_or(t->k->f, "tile_or_member", tile->number, member), 0);
}

static void emit_summing(stream *t) {
    const scan_kernel *k = t->k;
    begin(t, "warps that sum each tile");
    cj_reg member = find_member(t), place = cj__scan_place(k),
           last = cj_eq(k->f, "last_lane", k->p.lane, SCAN_WARP - 1);
    CJ_LOOP(k->f, tiles, "next_to_sum", "no_tile") {
        scan_tile tile = load_tile(t, place, false);
        cj__scan_warp_total(k, &tile);
        if (k->s.head) CJ_IF_UNI(k->f, has_head(t, &tile, member), "no_head")
            cj__prefix_before(&k->p, cj_always(), tile.total, scan_head(t, &tile, false));
        cj_reg slot = own_slot(t, member);
        cj__scan_store_slot(k, last, slot, tile.total, tile.headed);
        arrive(t, t->summed, "S4: this warp's total is in its slot");
        cj_pipeline_next(k->f, &t->ring, &t->at);
    }
}

// Lane i has warp i's total: it becomes the prefix of that warp in the tile, beside whether a segment begins before it. All
// lanes get the tile's total; returns its heads.
static cj_reg scan_slots(const stream *t, cj_reg *total) {
    const scan_kernel *k = t->k;
    const scan_shape  *s = &k->s;
    cj_reg             slots = of_stage(t, "slots", t->slots, slots_bytes(s));
    cj_step(k->f, "the prefix of each warp in the tile; the tile's total");
    cj_reg slot = cj_mad(k->f, "slot", k->p.lane, cj__scan_slot(s), slots),
           has = cj_lt(k->f, "has_warp", k->p.lane, s->warps);
    cj_reg sum = cj__prefix_identity(&k->p, "warp_total");
    const cj_heads heads = cj__scan_load_slots(k, has, slot, SCAN_WARP, sum, CJ_HEADS_BEFORE);
    *total = cj__prefix_pick(&k->p, "total", sum, CJ_ARG(SCAN_WARP - 1), SCAN_WARP);
    cj_reg prefix = cj__prefix_previous(&k->p, "warp_prefix", sum, SCAN_WARP);
    cj__prefix_clear_if(&k->p, t->lead, prefix);
    cj__scan_store_slot(k, has, slot, prefix, heads.before);
    return heads.warp;
}

static void store_carry(const stream *t, cj_reg carry) {
    cj_reg at = of_stage(t, "carry_at", t->carries, t->k->s.computed);
    cj_ptx(t->k->f, "@$1 st.shared.$2 [$3], $4;", t->lead, t->k->s.type, at, carry);
}

// A warp publishes each tile's status. If its block has whole rows, it knows the prefixes of tiles instead.
static void emit_publishing(stream *t) {
    scan_kernel *k = t->k;
    cj_reg       workspace = cj_none(), carry = cj_none(), total;
    begin(t, looks_back(t) ? "a warp publishes each tile's status" : "a warp adds a row's tiles");
    cj__prefix_masks(&k->p, true);
    if (looks_back(t))
        workspace = cj__load_pointer(k->f, k->workspace, "workspace");
    else
        carry = cj__prefix_identity(&k->p, "carry");
    CJ_LOOP(k->f, tiles, "next_to_publish", "no_tile") {
        const work_tile tile = next_tile(t);
        if (!looks_back(t)) clear_staged(t, tile.number);
        wait(t, t->summed, "S4: all totals of the tile are in their slots");
        cj_reg heads = scan_slots(t, &total);
        if (looks_back(t)) {
            const cj_lookback l = {.p = &k->p, .epoch = tile.work.epoch};
            cj_reg            at = cj__scan_status(k, workspace, tile.work.number), tag = cj__status_tag(&l, heads);
            cj__status_publish(&l, t->lead, at, total, tag);
        } else {
            cj__prefix_clear_if(&k->p, cj_eq(k->f, "first_tile", tile.number, 0), carry);
            store_carry(t, carry);
            cj__prefix_append(&k->p, carry, total, heads);
        }
        arrive(t, t->known, "S5: the prefixes of warps are known");
        cj_pipeline_next(k->f, &t->ring, &t->at);
    }
}

// Groups in one look-back: what the grid's blocks take between two tiles of one of them, which may begin and end anywhere in
// a group; no more than the row has. A few blocks look at one group after the other.
static unsigned window_of(const scan_kernel *k) {
    const uint64_t blocks = k->plan->grid.x,
                   meanwhile = blocks > CJ_LOOKBACK_GROUP ? blocks / CJ_LOOKBACK_GROUP + 2 : 1;
    const uint64_t groups = cj__ceil_div(k->s.tiles, CJ_LOOKBACK_GROUP);
    return (unsigned)cj__least(cj__least(groups, meanwhile), SCAN_WINDOW_MAX);
}

static void emit_look_back(stream *t) {
    scan_kernel *k = t->k;
    cj_lookback  l = {.p = &k->p};
    begin(t, "a warp looks back");
    cj__prefix_masks(&k->p, false);
    cj_reg                  workspace = cj__load_pointer(k->f, k->workspace, "workspace");
    const cj_lookback_known known = cj__lookback_begin(&l);
    CJ_LOOP(k->f, tiles, "next_to_know", "no_tile") {
        const work_tile tile = next_tile(t);
        clear_staged(t, tile.number);
        l.epoch = tile.work.epoch;
        cj_reg group = cj__lookback_enter(&l, &known, tile.row, tile.number);
        cj_reg row_at = cj__scan_status(k, workspace, cj_sub(k->f, "row_first", tile.work.number, tile.number));
        store_carry(t, cj__lookback_window(&l, &known, group, tile.number, row_at, window_of(k)));
        arrive(t, t->known, "S5: the tile's prefix is known");
        cj_pipeline_next(k->f, &t->ring, &t->at);
    }
}

// Where the tail is, and of how many elements.
static cj_reg tail_of(const stream *t, scan_tile *tile) {
    const scan_kernel *k = t->k;
    cj_func           *f = k->f;
    if (!k->s.head) {
        tile->first = cj_mov(f, "u64", "first", k->s.columns - k->s.tail);
        return cj_mov(f, "u32", "count", k->s.tail);
    }
    cj_reg body = cj_sub(f, "body", k->s.columns, k->skipped);
    tile->first = cj_and(f, "first", body, -(int64_t)k->s.width);
    return cj_cvt(f, "u32", "count", cj_sub(f, "remainder", body, tile->first));
}

// The elements after the last whole load, one by one, by one lane: for the first warp's other lanes they are out of bounds.
static void emit_tail(const stream *t, const scan_tile *last) {
    scan_kernel k = *t->k;
    scan_tile   tile = {.row = last->row, .number = last->number, .carry = last->carry};
    cj_func    *f = k.f;
    k.s.lanes = k.s.width = k.s.access = 1;
    k.s.loads = k.s.tail;
    cj_step(f, "after the last tile: the array's last %u elements, by the first lane", k.s.tail);
    cj_reg skips = cj_lt(f, "skips", tile.number, k.s.tiles);
    cj_ptx(f, "setp.ne.or.u32 $1, $2, 0, $1;", skips, k.warp);
    CJ_UNLESS(f, skips, "no_tail") {
        cj_reg count = tail_of(t, &tile), other = cj_ne(f, "other_lane", k.p.lane, 0);
        tile.left = cj_let(f, "s32", "left", "selp.s32 $1, 0, $2, $3;", count, other);
        cj__scan_load_found(&k, &tile);
        cj__scan_warp(&k, &tile, true, false);
        cj__scan_store(&k, &tile);
    }
}

static void emit_scanning(stream *t) {
    const scan_kernel *k = t->k;
    const char        *type = k->s.type;
    cj_reg             heads = cj_none();
    begin(t, "warps that scan each tile");
    cj_reg member = find_member(t), place = cj__scan_place(k);
    CJ_LOOP(k->f, tiles, "next_to_scan", "no_tile") {
        scan_tile tile = load_tile(t, place, true);
        cj__scan_warp(k, &tile, true, false);
        cj_step(k->f, "the prefix of the warp's elements");
        wait(t, t->known, "S5: prefixes are known");
        cj_reg slot = own_slot(t, member);
        tile.carry = cj_let(k->f, type, "carry", "ld.shared.$3 $1, [$2];",
                            of_stage(t, "carry_at", t->carries, k->s.computed), type);
        cj_reg prefix = cj_let(k->f, type, "warp_prefix", "ld.shared.$3 $1, [$2];", slot, type);
        if (k->p.segmented)
            heads = cj_let(k->f, "u32", "heads_before", "ld.shared.u32 $1, [$2 + $3];", slot, k->s.computed);
        arrive(t, t->ring.empty, "S2: this warp has read the stage");
        cj__prefix_append(&k->p, tile.carry, prefix, heads);
        if (k->s.head) CJ_IF_UNI(k->f, has_head(t, &tile, member), "no_head") cj_set(k->f, tile.carry, scan_head(t, &tile, true));
        cj__scan_store(k, &tile);
        if (k->s.tail) emit_tail(t, &tile);
        cj_pipeline_next(k->f, &t->ring, &t->at);
    }
}

static void branch(const stream *t, const char *compare, unsigned warp, cj_label to) {
    cj_ptx(t->k->f, "@$1 bra $2;",
           cj_let(t->k->f, "pred", "is_role", "setp.$4.u32 $1, $2, $3;", t->k->warp, warp, compare), to);
}

void cj__scan_stream(scan_kernel *k) {
    cj_func       *f = k->f;
    const unsigned warps = k->s.warps;
    stream         t = {.k = k, .done = cj_label_new(f, "done")};
    const cj_label scanning = cj_label_new(f, "scanning"), summing = cj_label_new(f, "summing"),
                   publishing = cj_label_new(f, "publishing"), look_back = cj_label_new(f, "look_back");
    emit_shared(&t);
    branch(&t, "lt", warps, scanning);
    branch(&t, "lt", 2 * warps, summing);
    branch(&t, "eq", 2 * warps + 1, publishing);
    if (looks_back(&t)) branch(&t, "eq", 2 * warps + 2, look_back);
    emit_producer(&t);
    cj_label_here(f, scanning);
    emit_scanning(&t);
    cj_label_here(f, summing);
    emit_summing(&t);
    cj_label_here(f, publishing);
    emit_publishing(&t);
    if (looks_back(&t)) {
        cj_label_here(f, look_back);
        emit_look_back(&t);
    }
    cj_label_here(f, t.done);
}
