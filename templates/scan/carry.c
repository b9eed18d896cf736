// SPDX-License-Identifier: Apache-2.0
// Which tile a block has, and the prefix of a tile of a long row: by decoupled look-back in global memory, or from the other
// blocks of a cluster (scan.c has the algorithm).
#include "scan.h"

enum { HEAD_BYTES = 4 };  // beside a total, in a cluster: whether it has a head

cj_reg cj__scan_status(const scan_kernel *k, cj_reg workspace, cj_reg number) {
    cj_reg at = cj_mad_wide(k->f, "status_at", number, cj__status_bytes(k->p.combine), workspace);
    return cj_add(k->f, "status_at", at, SCAN_STATUS_AT);
}

// ---- which tile

// Thread 0 takes the next tile for the block.
static void take_tile(const scan_kernel *k, scan_tile *t, scan_exchange *e) {
    const uint32_t tiles = (uint32_t)k->s.tiles;
    cj_func       *f = k->f;
    cj_var         slot = cj_shared(f, "u32", "tile_of_block", 4, 16);
    cj_step(f, "thread 0 takes the next tile from the work counter");
    e->workspace = cj__load_pointer(f, k->workspace, "workspace");
    CJ_IF(f, cj_eq(f, "leader", k->thread, 0), "others") {
        const cj_work work = cj__work_take(f, e->workspace, cj_mov(f, "u32", "all_tiles", "%nctaid.x"));
        cj_reg        row = cj_div(f, "row", work.number, tiles);
        cj_reg        tile = cj_sub(f, "tile", work.number, cj_mul(f, "row_first", row, tiles));
        cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $3, $4, $5};", slot, work.number, work.epoch, row, tile);
    }
    cj_ptx(f, "bar.sync 0; // B0: the block's tile is known");
    e->work = (cj_work){cj_u32(f, "number"), cj_u32(f, "epoch")};
    t->row = cj_u32(f, "row"), t->number = cj_u32(f, "tile");
    cj_ptx(f, "ld.shared.v4.u32 {$1, $2, $3, $4}, [$5];", e->work.number, e->work.epoch, t->row, t->number, slot);
}

scan_exchange cj__scan_begin(const scan_kernel *k, scan_tile *t) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    scan_exchange     e = {.workspace = cj_none()};
    if (cj__scan_looks_back(s)) {
        take_tile(k, t, &e);
    } else if (s->cluster) {
        cj_step(f, "the row's cluster, and the block's rank there");
        t->row = cj__group_number(f, "row", s->cluster);
        t->number = cj_cluster_rank(f);
        cj_step(f, "an mbarrier counts the bytes of the totals before this rank's");
        e.push = cj__push_new(f, "arrived");
        cj_reg leader = cj_eq(f, "leader", k->thread, 0);
        cj__push_open(f, &e.push, leader, "publishes the mbarrier, at B3", "B3: this block has started");
    } else {
        cj_step(f, "%u rows a block", s->block / s->threads);
        cj_reg block = cj_mov(f, "u32", "block", "%ctaid.x"), row = cj_div(f, "row_of_block", k->thread, s->threads);
        t->row = cj_mad(f, "row", block, s->block / s->threads, row);
    }
    return e;
}

// ---- look-back

// Groups: their statuses come after those of all tiles.
static void look_at_groups(const scan_kernel *k, const scan_tile *t, const cj_lookback *l, cj_reg leader,
                           const cj_lookback_part *before, cj_reg workspace, cj_reg tag) {
    const scan_shape *s = &k->s;
    const unsigned    bytes = cj__status_bytes(k->p.combine);
    cj_func          *f = k->f;
    cj_step(f, "the groups before; the block of a group's last tile publishes the group's total, then the prefix after it");
    cj_reg group = cj_shr(f, "group", t->number, 5),
           index = cj_mad(f, "index", t->row, (uint32_t)cj__scan_groups(s), group);
    cj_reg at = cj_add(f, "group_at", cj_mad_wide(f, "group_at", index, bytes, workspace),
                       SCAN_STATUS_AT + s->rows * s->tiles * bytes);
    cj__lookback_groups(l, leader, before, group, at, t->total, t->headed, tag, t->carry);
}

static void look_at_tiles(const scan_kernel *k, scan_tile *t, const cj_lookback *l, cj_reg leader, cj_reg at,
                          cj_reg workspace, cj_reg tag) {
    const cj_lookback_part before = cj__lookback_tiles(l, t->number, at);
    t->carry = cj__prefix_identity(&k->p, "carry");
    if (cj__scan_groups(&k->s))
        look_at_groups(k, t, l, leader, &before, workspace, tag);
    else
        cj_set(k->f, t->carry, before.total);
}

// Warp 0 looks back, for all.
static void look_back(const scan_kernel *k, scan_tile *t, const scan_exchange *e) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    const cj_lookback l = {.p = &k->p, .epoch = e->work.epoch};
    cj_var            slot = cj_shared(f, s->type, "carried", 1, 0);
    cj_step(f, "the tile's status");
    cj_reg leader = cj_eq(f, "leader", k->thread, 0), at = cj__scan_status(k, e->workspace, e->work.number);
    cj_reg tag = cj__status_tag(&l, t->headed);
    cj__status_publish(&l, leader, at, t->total, tag);
    if (s->warps == 1) {
        look_at_tiles(k, t, &l, leader, at, e->workspace, tag);
        return;
    }
    CJ_UNLESS(f, cj_ne(f, "other_warp", k->warp, 0), "known") {
        look_at_tiles(k, t, &l, leader, at, e->workspace, tag);
        cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", leader, s->type, slot, t->carry);
    }
    cj_ptx(f, "bar.sync 0; // B2: the tile's prefix is known");
    t->carry = cj_let(f, s->type, "carry", "ld.shared.$2 $1, [$3];", s->type, slot);
}

// ---- cluster

// Lane i of warp 0 pushes the total to rank i, if that is higher; every warp waits, and combines the totals of lower ranks.
static void exchange_totals(const scan_kernel *k, scan_tile *t, const scan_exchange *e) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    bytes = cj__scan_slot(s);
    cj_reg slots = cj_shared_address(f, cj_shared(f, s->type, "cluster_total", s->cluster * bytes / s->computed, 16));
    cj_step(f, "the total is pushed to higher ranks, and those of lower ranks are awaited");
    cj_reg first = cj_eq(f, "first_warp", k->warp, 0);
    cj_reg sends = cj_let(f, "pred", "sends", "setp.lt.and.u32 $1, $2, $3, $4;", k->p.lane, s->cluster, first);
    cj_reg peer = cj_min(f, "peer", k->p.lane, s->cluster - 1);
    cj_ptx(f, "setp.gt.and.u32 $1, $2, $3, $1;", sends, k->p.lane, t->number);
    cj_reg slot = cj_mad(f, "slot", t->number, bytes, slots);
    cj_reg leader = cj_eq(f, "leader", k->thread, 0);
    cj_reg expected = cj_mul(f, "expected", t->number, s->computed + (k->p.segmented ? HEAD_BYTES : 0));
    cj__push_expect(f, &e->push, "B3: higher ranks have started", leader, CJ_ARG(expected),
                    "B4: the totals of all lower ranks");
    cj_reg to = cj_cluster_map_address(f, slot, peer), gate = cj__push_gate(f, &e->push, peer);
    cj_st_async(f, sends, s->type, &t->total, 1, to, 0, gate);
    if (k->p.segmented) cj_st_async(f, sends, "u32", &t->headed, 1, to, (int32_t)s->computed, gate);
    cj__push_wait(f, &e->push, "B4: the totals of all lower ranks have arrived");
    cj_reg reads = cj_lt(f, "reads", k->p.lane, t->number), from = cj_mad(f, "slot", k->p.lane, bytes, slots);
    cj_reg value = cj__prefix_identity(&k->p, "sent");
    cj__scan_load_slots(k, reads, from, SCAN_WARP, value, CJ_HEADS_REACH);
    t->carry = cj__prefix_pick(&k->p, "carry", value, CJ_ARG(SCAN_WARP - 1), SCAN_WARP);
}

void cj__scan_carry(const scan_kernel *k, scan_tile *t, const scan_exchange *e) {
    if (k->s.tiles > 1) (k->s.cluster ? exchange_totals : look_back)(k, t, e);
}
