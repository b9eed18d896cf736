// SPDX-License-Identifier: Apache-2.0
// What stands before a tile of a long row: by posts in global memory, or by the blocks of a cluster (scan.c tells how).
#include "scan.h"

enum { WORDS_MAX = 2, HEAD_BYTES = 4 };  // of 32 bits, in a value; of whether a total has a head, where ranks meet

static bool grouped(const scan_kernel *k) { return cj__scan_groups(&k->s) > 0; }

unsigned cj__scan_post_bytes(const scan_kernel *k) { return 2 * k->s.computed; }  // a word and its tag are 8 bytes

// ---- which tile

// The counter's low half counts the tiles of this launch that are claimed, its high half launches: one atomic tells
// both.
void cj__scan_claim(scan_kernel *k, cj_reg all) {
    cj_func *f = k->f;
    cj_reg   ticket = cj_u64(f, "ticket"), is_last = cj_pred(f, "is_last"), last = cj_u32(f, "last");
    cj_reg   anew = cj_u64(f, "anew"), number = cj_u64(f, "number");
    cj_ptx(f, "atom.relaxed.gpu.global.add.u64 $1, [$2], 1;", ticket, k->space);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", k->claim, k->tag, ticket);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", number, all);
    cj_ptx(f, "mov.u64 $1, 0x100000000;", anew);
    cj_ptx(f, "sub.u64 $1, $1, $2;", anew, number);
    cj_ptx(f, "sub.u32 $1, $2, 1;", last, all);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", is_last, k->claim, last);
    cj_ptx(f, "@$1 red.relaxed.gpu.global.add.u64 [$2], $3;", is_last, k->space, anew);
    cj_ptx(f, "mad.lo.u32 $1, $1, 2, 2;", k->tag);
}

static void claim_tile(scan_kernel *k) {
    cj_func *f = k->f;
    cj_var   slot = cj_shared(f, "u32", "claimed", 4, 16);
    cj_reg   leader = cj_pred(f, "leader"), all = cj_u32(f, "all_tiles");
    cj_label others = cj_label_new(f, "others");
    k->claim = cj_u32(f, "claim");
    k->tag = cj_u32(f, "tag");
    k->space = cj_u64(f, "space");
    cj_step(f, "thread 0 claims the next tile; who gets the last one sets the counter for the next launch");
    cj_ptx(f, "ld.param.u64 $1, [$2];", k->space, k->workspace);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", k->space);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "@!$1 bra $2;", leader, others);
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", all);
    cj__scan_claim(k, all);
    cj_ptx(f, "div.u32 $1, $2, $3;", k->row, k->claim, (uint32_t)k->s.tiles);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->tile, k->row, (uint32_t)k->s.tiles);
    cj_ptx(f, "sub.u32 $1, $2, $1;", k->tile, k->claim);
    cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $3, $4, $5};", slot, k->claim, k->tag, k->row, k->tile);
    cj_label_here(f, others);
    cj_ptx(f, "bar.sync 0; // B0: the tile is claimed");
    cj_ptx(f, "ld.shared.v4.u32 {$1, $2, $3, $4}, [$5];", k->claim, k->tag, k->row, k->tile, slot);
}

static void open_mbarrier(scan_kernel *k) {
    cj_func *f = k->f;
    cj_reg   leader = cj_pred(f, "leader");
    cj_step(f, "an mbarrier that will count the bytes of the totals before this rank's");
    k->arrived = cj_shared_address(f, cj_shared(f, "b64", "arrived", 1, 0));
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_mbarrier_init(f, leader, k->arrived, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, "publishes the mbarrier, at B3");
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "B3: this block has started");
}

void cj__scan_place(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    k->row = cj_u32(f, "row");
    k->tile = cj_u32(f, "tile");
    if (cj__scan_posts(s)) {
        claim_tile(k);
    } else if (s->cluster) {
        k->row = cj_cluster_index(f);
        k->tile = cj_cluster_rank(f);
        open_mbarrier(k);
    } else {
        cj_reg block = cj_u32(f, "block"), member = cj_u32(f, "row_of_block");
        cj_step(f, "%u rows a block", s->block / s->threads);
        cj_ptx(f, "mov.u32 $1, %ctaid.x;", block);
        cj_ptx(f, "div.u32 $1, $2, $3;", member, k->thread, s->threads);
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", k->row, block, s->block / s->threads, member);
    }
}

// ---- posts

static void pack(scan_kernel *k, const cj_reg word[WORDS_MAX], cj_reg value) {
    if (k->s.computed == 8)
        cj_ptx(k->f, "mov.b64 {$1, $2}, $3;", word[0], word[1], value);
    else
        cj_ptx(k->f, "mov.b32 $1, $2;", word[0], value);
}

static void unpack(scan_kernel *k, cj_reg value, const cj_reg word[WORDS_MAX]) {
    if (k->s.computed == 8)
        cj_ptx(k->f, "mov.b64 $1, {$2, $3};", value, word[0], word[1]);
    else
        cj_ptx(k->f, "mov.b32 $1, $2;", value, word[0]);
}

static unsigned words_of(const scan_kernel *k) { return k->s.computed / 4; }

static void new_words(scan_kernel *k, cj_reg word[WORDS_MAX]) {
    for (unsigned w = 0; w < words_of(k); w++) word[w] = cj_b32(k->f, "word");
}

void cj__scan_post(scan_kernel *k, cj_reg when, cj_reg at, cj_reg value, cj_reg tag) {
    cj_reg word[WORDS_MAX], tagged = cj_b64(k->f, "tagged");
    new_words(k, word);
    pack(k, word, value);
    for (unsigned w = 0; w < words_of(k); w++) {
        cj_ptx(k->f, "mov.b64 $1, {$2, $3};", tagged, word[w], tag);
        cj_ptx(k->f, "@$1 st.relaxed.gpu.global.b64 [$2 + $3], $4;", when, at, 8 * w, tagged);
    }
}

// Where the tags of a post's words differ, it is being written.
void cj__scan_look(scan_kernel *k, cj_reg when, cj_reg at, int offset, cj_reg value, cj_reg tag) {
    cj_func *f = k->f;
    cj_reg   word[WORDS_MAX], tagged = cj_b64(f, "tagged"), other = cj_b32(f, "other_tag"), torn = cj_pred(f, "torn");
    new_words(k, word);
    for (unsigned w = 0; w < words_of(k); w++) {
        cj_ptx(f, "mov.b64 $1, 0;", tagged);
        cj_ptx(f, "@$1 ld.relaxed.gpu.global.b64 $2, [$3 + $4];", when, tagged, at, offset + 8 * (int)w);
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", word[w], w ? other : tag, tagged);
        if (!w) continue;
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", torn, other, tag);
        cj_ptx(f, "@$1 mov.u32 $2, 0;", torn, tag);
    }
    unpack(k, value, word);
}

void cj__scan_take_head(scan_kernel *k, cj_reg head, cj_reg tag) {
    if (!cj__scan_segmented(&k->s)) return;
    cj_ptx(k->f, "and.b32 $1, $2, 1;", head, tag);
    cj_ptx(k->f, "xor.b32 $1, $1, $2;", tag, head);
}

scan_cut cj__scan_cut_tiles(scan_kernel *k, cj_reg head) {
    if (!cj__scan_segmented(&k->s)) return (scan_cut){0};
    cj_reg begins = cj_pred(k->f, "begins");
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", begins, head);
    return cj__scan_cut(k, begins, SCAN_WARP);
}

// The tiles before this one in its group: lane i waits for that of tile i. total of them in every lane, from the last
// head on; *heads: the tiles that have one.
static cj_reg gather_tiles(scan_kernel *k, cj_reg place, cj_reg at, cj_reg *heads) {
    cj_func *f = k->f;
    cj_reg   head = cj_u32(f, "head");
    cj_reg   value = cj__scan_value(k, "posted"), tag = cj_u32(f, "found"), earlier = cj_pred(f, "earlier_tile");
    cj_reg   late = cj_pred(f, "late"), from = cj_u64(f, "post_at"), back = cj_s32(f, "back"),
           result = cj__scan_value(k, "in_group");
    cj_label again = cj_label_new(f, "tiles_not_posted");
    cj_step(f, "lane i waits for the total of tile i of the group, as far as these stand before");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", earlier, k->lane, place);
    cj_ptx(f, "sub.s32 $1, $2, $3;", back, k->lane, place);
    cj_ptx(f, "mad.wide.s32 $1, $2, $3, $4;", from, back, cj__scan_post_bytes(k), at);
    cj_label_here(f, again);
    cj__scan_look(k, earlier, from, 0, value, tag);
    cj__scan_take_head(k, head, tag);
    cj_ptx(f, "setp.ne.and.u32 $1, $2, $3, $4;", late, tag, k->tag, earlier);
    cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", late);
    cj_ptx(f, "@$1 bra $2;", late, again);
    cj_ptx(f, "@!$1 mov.$2 $3, $4;", earlier, k->s.type, value, cj_combine_identity(k->combine));
    scan_cut cut = cj__scan_cut_tiles(k, head);
    cj__scan_lanes(k, value, cut.reach, SCAN_WARP);
    cj__scan_pick(k, result, value, CJ_ARG(SCAN_WARP - 1), SCAN_WARP);
    *heads = cut.heads;
    return result;
}

// carry = all groups before `group`: lane i looks at group - 32 + i until one has all up to it and those behind it are
// there; then these follow, one by one. A group's tag is the launch's, and one more with all that was before.
static void gather_groups(scan_kernel *k, cj_reg carry, cj_reg group, cj_reg at, cj_reg whole_tag) {
    cj_func *f = k->f;
    cj_reg   value = cj__scan_value(k, "posted"), tag = cj_u32(f, "found"), number = cj_s32(f, "number");
    cj_reg   there = cj_pred(f, "group_exists"), from = cj_u64(f, "post_at"), back = cj_s32(f, "back");
    cj_reg   whole = cj_pred(f, "is_whole"), missing = cj_pred(f, "missing"), lanes = cj_u32(f, "whole_lanes");
    cj_reg   absent = cj_u32(f, "missing_lanes"), next = cj_u32(f, "next"), more = cj_pred(f, "more"),
           one = cj__scan_value(k, "one");
    cj_label again = cj_label_new(f, "groups_not_posted"), follow = cj_label_new(f, "follow"),
             done = cj_label_new(f, "followed");
    cj_ptx(f, "sub.s32 $1, $2, $3;", back, k->lane, SCAN_WARP);
    cj_ptx(f, "add.s32 $1, $2, $3;", number, back, group);
    cj_ptx(f, "setp.ge.s32 $1, $2, 0;", there, number);
    cj_ptx(f, "mad.wide.s32 $1, $2, $3, $4;", from, back, cj__scan_post_bytes(k), at);
    cj_label_here(f, again);
    cj__scan_look(k, there, from, 0, value, tag);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $4;", whole, tag, whole_tag, there);
    cj_ptx(f, "or.b32 $1, $1, 1;", tag);
    cj_ptx(f, "setp.ne.u32 $1, $2, $3;", missing, tag, whole_tag);
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", lanes, whole);
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", absent, missing);
    cj_ptx(f, "setp.le.u32 $1, $2, $3; // the last that is whole stands behind the last that is missing", more, lanes,
           absent);
    cj_ptx(f, "@$1 bra $2;", more, again);
    cj_ptx(f, "bfind.u32 $1, $2;", next, lanes);
    cj__scan_pick(k, carry, value, CJ_ARG(next), SCAN_WARP);
    cj_label_here(f, follow);
    cj_ptx(f, "add.u32 $1, $1, 1;", next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", more, next, SCAN_WARP);
    cj_ptx(f, "@$1 bra $2;", more, done);
    cj__scan_pick(k, one, value, CJ_ARG(next), SCAN_WARP);
    cj_combine_into(f, k->combine, carry, one);
    cj_ptx(f, "bra $1;", follow);
    cj_label_here(f, done);
}

// carry = groups before, then the tiles before in the group. The group's last tile posts for it. Where a segment begins
// in one of these tiles, the groups before are of no concern; where one begins in the last tile, they are to this tile
// alone, and what is posted first, with the tile's tag, is all there is to say of the group.
static void gather_all(scan_kernel *k, cj_reg leader, cj_reg place, cj_reg in_group, cj_reg heads, cj_reg tag) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            group = cj_u32(f, "group"), index = cj_u32(f, "index"), at = cj_u64(f, "group_at"),
           closes = cj_pred(f, "closes");
    cj_reg   sum = cj__scan_value(k, "group_total"), whole = cj_u32(f, "whole_tag"), first = cj_pred(f, "first_group");
    cj_label known = cj_label_new(f, "groups_known");
    cj_step(f, "the groups before; the last tile of a group posts its total, and then that of all up to it");
    cj_ptx(f, "shr.u32 $1, $2, 5;", group, k->tile);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", index, k->row, (uint32_t)cj__scan_groups(s), group);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, index, cj__scan_post_bytes(k), k->space);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, SCAN_POSTS_AT + s->rows * s->tiles * cj__scan_post_bytes(k));
    cj_ptx(f, "or.b32 $1, $2, 1;", whole, k->tag);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 31, $3;", closes, place, leader);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, group);
    if (heads.id) cj_ptx(f, "setp.ne.or.u32 $1, $2, 0, $1;", first, heads);
    cj__scan_move(k, cj_always(), sum, in_group);
    cj__scan_append(k, sum, k->total, k->headed);
    cj_ptx(f, "@$1 bra $2;", first, known);
    cj__scan_post(k, closes, at, sum, tag);
    gather_groups(k, k->carry, group, at, whole);
    cj__scan_before(k, cj__scan_none(k, k->headed), sum, k->carry);
    cj_label_here(f, known);
    cj__scan_post(k, closes, at, sum, whole);
    cj_combine_into(f, k->combine, k->carry, in_group);
}

// The launch's tag, and of segments one more where one begins in the tile.
cj_reg cj__scan_tile_tag(scan_kernel *k) {
    if (!cj__scan_segmented(&k->s)) return k->tag;
    cj_reg tag = cj_u32(k->f, "tile_tag"), begins = cj_pred(k->f, "begins");
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", begins, k->headed);
    cj_ptx(k->f, "selp.u32 $1, 1, 0, $2;", tag, begins);
    cj_ptx(k->f, "or.b32 $1, $1, $2;", tag, k->tag);
    return tag;
}

// Warp 0 looks, for all.
static void gather_posts(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            leader = cj_pred(f, "leader"), other = cj_pred(f, "other_warp"), at = cj_u64(f, "tile_at"),
           place = cj_u32(f, "place");
    cj_label known = cj_label_new(f, "known");
    cj_var   slot = cj_shared(f, s->type, "carried", 1, 0);
    cj_step(f, "the tile's total is posted");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->claim, cj__scan_post_bytes(k), k->space);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, SCAN_POSTS_AT);
    cj_reg tag = cj__scan_tile_tag(k);
    cj__scan_post(k, leader, at, k->total, tag);
    if (s->warps > 1) {
        cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->warp);
        cj_ptx(f, "@$1 bra $2;", other, known);
    }
    cj_ptx(f, "and.b32 $1, $2, $3;", place, k->tile, SCAN_GROUP - 1);
    cj_reg heads, in_group = gather_tiles(k, place, at, &heads);
    cj__scan_clear(k, k->carry);
    if (grouped(k))
        gather_all(k, leader, place, in_group, heads, tag);
    else
        cj__scan_move(k, cj_always(), k->carry, in_group);
    if (s->warps == 1) return;
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", leader, s->type, slot, k->carry);
    cj_label_here(f, known);
    cj_ptx(f, "bar.sync 0; // B2: what stands before the tile is known");
    cj_ptx(f, "ld.shared.$1 $2, [$3];", s->type, k->carry, slot);
}

// ---- cluster

// Lane i of warp 0 pushes the total to rank i, if that is behind; every warp waits, and combines what came.
static void gather_cluster(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg sends = cj_pred(f, "sends"), reads = cj_pred(f, "reads"), slot = cj_u32(f, "slot"), peer = cj_u32(f, "peer");
    cj_reg value = cj__scan_value(k, "sent"), first = cj_pred(f, "first_warp"), leader = cj_pred(f, "leader"),
           bytes = cj_u32(f, "expected");
    cj_reg slots = cj_shared_address(
        f, cj_shared(f, s->type, "cluster_total", s->cluster * cj__scan_slot(s) / s->computed, 16));
    cj_step(f, "the total is pushed to the ranks behind, and those of the ranks before are waited for");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->warp);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $4;", sends, k->lane, s->cluster, first);
    cj_ptx(f, "min.u32 $1, $2, $3;", peer, k->lane, s->cluster - 1);
    cj_ptx(f, "setp.gt.and.u32 $1, $2, $3, $1;", sends, k->lane, k->tile);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->tile, cj__scan_slot(s), slots);
    cj_cluster_wait(f, "B3: the ranks behind have started");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", bytes, k->tile, s->computed + (cj__scan_segmented(s) ? HEAD_BYTES : 0));
    cj_mbarrier_arrive_expect(f, leader, k->arrived, CJ_ARG(bytes), "B4: the totals of all ranks below");
    cj_reg to = cj_cluster_map_address(f, slot, peer), gate = cj_cluster_map_address(f, k->arrived, peer);
    cj_st_async(f, sends, s->type, &k->total, 1, to, 0, gate);
    if (cj__scan_segmented(s)) cj_st_async(f, sends, "u32", &k->headed, 1, to, (int32_t)s->computed, gate);
    cj_mbarrier_wait(f, k->arrived, CJ_ARG(0), CJ_SCOPE_CLUSTER, "B4: all totals before are here");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", reads, k->lane, k->tile);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->lane, cj__scan_slot(s), slots);
    cj__scan_clear(k, value);
    cj_ptx(f, "@$1 ld.shared.$2 $3, [$4];", reads, s->type, value, slot);
    cj__scan_lanes(k, value, cj__scan_cut_slots(k, reads, slot, SCAN_WARP).reach, SCAN_WARP);
    cj__scan_pick(k, k->carry, value, CJ_ARG(SCAN_WARP - 1), SCAN_WARP);
}

void cj__scan_meet(scan_kernel *k) {
    if (k->s.tiles == 1) return;
    k->carry = cj__scan_value(k, "carry");
    if (k->s.cluster)
        gather_cluster(k);
    else
        gather_posts(k);
}
