// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

enum { GROUP = CJ_LOOKBACK_GROUP, WORDS = 2 };

// ---- status

static unsigned words_of(cj_combine combine) { return strstr(combine.type, "64") ? 2 : 1; }

unsigned cj__status_bytes(cj_combine combine) { return CJ_MAIL_BYTES * words_of(combine); }

cj_reg cj__status_tag(const cj_lookback *l, cj_reg heads) {
    cj_func *f = l->p->f;
    if (!l->p->segmented) return l->epoch;
    cj_reg begins = cj_ne(f, "begins", heads, 0);
    return cj_or(f, "tile_tag", cj_select(f, "u32", "head_bit", begins, 1, 0), l->epoch);
}

void cj__status_publish(const cj_lookback *l, cj_reg when, cj_reg at, cj_reg total, cj_reg tag) {
    const cj_mailbox box = {.words = words_of(l->p->combine)};
    cj__mail_send(l->p->f, &box, when, at, 0, &total, 1, tag);
}

// The status at `at` + offset: its total and its tag, 0 while only one of its words is there.
static cj_reg load_status(const cj_lookback *l, cj_reg when, cj_reg at, unsigned offset, cj_reg *tag) {
    static const cj_mailbox one = {.words = 1};
    cj_func                *f = l->p->f;
    cj_reg                  word[WORDS], other;
    for (unsigned w = 0; w < words_of(l->p->combine); w++) {
        cj_reg sealed = cj_mov(f, "b64", "sealed", 0);
        cj__mail_load(f, &one, when, at, offset + CJ_MAIL_BYTES * w, &sealed);
        word[w] = cj__mail_split(f, sealed, w ? &other : tag);
        if (w) cj_set_if(f, cj_ne(f, "torn", other, *tag), *tag, 0);
    }
    return cj__mail_value(f, l->p->combine.type, "published", word);
}

// Takes the bit of a segment off a tile's tag.
static cj_reg take_head(const cj_lookback *l, cj_reg tag) {
    if (!l->p->segmented) return cj_none();
    cj_reg head = cj_and(l->p->f, "head", tag, 1);
    cj_update(l->p->f, tag, "xor", head);
    return head;
}

// All tiles of a group, one a lane, in *total; which have heads.
static cj_heads add_tiles(const cj_lookback *l, cj_reg there, cj_reg value, cj_reg head, cj_reg *total) {
    const cj_prefix *p = l->p;
    cj__prefix_clear_unless(p, there, value);
    cj_heads heads = {0};
    if (p->segmented) heads = cj__prefix_heads(p, cj_ne(p->f, "begins", head, 0), GROUP, CJ_HEADS_REACH);
    cj__prefix_lanes(p, value, &heads, GROUP);
    *total = cj__prefix_pick(p, "group_total", value, CJ_ARG(GROUP - 1), GROUP);
    return heads;
}

// ---- one tile a block

cj_lookback_part cj__lookback_tiles(const cj_lookback *l, cj_reg tile, cj_reg at) {
    cj_func         *f = l->p->f;
    cj_lookback_part part = {.place = cj_and(f, "place", tile, GROUP - 1)};
    cj_reg           value, head, tag, late = cj_pred(f, "late");
    cj_step(f, "look-back: lane i waits for the status of tile i of the group, if that is before this one");
    cj_reg before = cj_lt(f, "is_before", l->p->lane, part.place);
    cj_reg back = cj_let(f, "s32", "back", "sub.s32 $1, $2, $3;", l->p->lane, part.place);
    cj_reg from = cj_let(f, "u64", "status_at", "mad.wide.s32 $1, $2, $3, $4;", back, cj__status_bytes(l->p->combine),
                         at);
    CJ_DO(f, "not_published", late) {
        value = load_status(l, before, from, 0, &tag);
        head = take_head(l, tag);
        cj_ptx(f, "setp.ne.and.u32 $1, $2, $3, $4;", late, tag, l->epoch, before);
        cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", late);
    }
    part.heads = add_tiles(l, before, value, head, &part.total).warp;
    return part;
}

// carry = the prefix of `group`: lane i reads the status of group - 32 + i until one lane has a whole prefix and all lanes after it have
// totals; these follow one by one.
static void add_groups(const cj_lookback *l, cj_reg carry, cj_reg group, cj_reg at, cj_reg whole_tag) {
    const cj_prefix *p = l->p;
    cj_func         *f = p->f;
    cj_reg           value, tag, whole, missing, lanes = cj_u32(f, "whole_lanes"), more = cj_pred(f, "more");
    cj_reg           back = cj_let(f, "s32", "back", "sub.s32 $1, $2, $3;", p->lane, GROUP);
    cj_reg           number = cj_let(f, "s32", "number", "add.s32 $1, $2, $3;", back, group),
           exists = cj_ge(f, "exists", number, 0);
    cj_reg from = cj_let(f, "u64", "status_at", "mad.wide.s32 $1, $2, $3, $4;", back, cj__status_bytes(p->combine), at);
    CJ_DO(f, "groups_not_published", more) {
        value = load_status(l, exists, from, 0, &tag);
        whole = cj_let(f, "pred", "is_whole", "setp.eq.and.u32 $1, $2, $3, $4;", tag, whole_tag, exists);
        cj_update(f, tag, "or", 1);
        missing = cj_ne(f, "missing", tag, whole_tag);
        cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", lanes, whole);
        cj_reg absent = cj_let(f, "u32", "missing_lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", missing);
        cj_ptx(f, "setp.le.u32 $1, $2, $3; // until the last whole prefix comes after the last missing total", more,
               lanes, absent);
    }
    cj_reg next = cj_let(f, "u32", "next", "bfind.u32 $1, $2;", lanes);
    cj__prefix_pick_into(p, carry, value, CJ_ARG(next), GROUP);
    CJ_LOOP(f, follow, "follow", "followed") {
        cj_update(f, next, "add", 1);
        cj_leave(&follow, cj_ge(f, "no_more", next, GROUP));
        cj_combine_into(f, p->combine, carry, cj__prefix_pick(p, "one", value, CJ_ARG(next), GROUP));
    }
}

// A segment that begins in a tile before this one cuts off the groups before. One that begins in the group's last tile cuts
// them off for later groups alone; the group's total, which is published first, is then its whole prefix.
void cj__lookback_groups(const cj_lookback *l, cj_reg leader, const cj_lookback_part *before, cj_reg group,
                         cj_reg group_at, cj_reg total, cj_reg heads, cj_reg tag, cj_reg carry) {
    const cj_prefix *p = l->p;
    cj_reg           whole = cj_or(p->f, "whole_tag", l->epoch, 1);
    cj_reg closes = cj_let(p->f, "pred", "closes", "setp.eq.and.u32 $1, $2, $3, $4;", before->place, GROUP - 1, leader);
    cj_reg first = cj_eq(p->f, "first_group", group, 0);
    if (p->segmented) cj_ptx(p->f, "setp.ne.or.u32 $1, $2, 0, $1;", first, before->heads);
    cj_reg sum = cj__prefix_copy(p, "group_total", before->total);
    cj__prefix_append(p, sum, total, heads);
    CJ_UNLESS(p->f, first, "prefix_known") {
        cj__status_publish(l, closes, group_at, sum, tag);
        add_groups(l, carry, group, group_at, whole);
        cj__prefix_before(p, cj__prefix_no_head(p, heads), sum, carry);
    }
    cj__status_publish(l, closes, group_at, sum, whole);
    cj_combine_into(p->f, p->combine, carry, before->total);
}

// ---- many tiles a block

cj_lookback_known cj__lookback_begin(const cj_lookback *l) {
    cj_func          *f = l->p->f;
    cj_lookback_known known = {.row = cj_mov(f, "u32", "known_row", UINT32_MAX)};
    known.groups = cj_mov(f, "u32", "known_groups", 0);
    known.prefix = cj__prefix_identity(l->p, "known_prefix");
    return known;
}

cj_reg cj__lookback_enter(const cj_lookback *l, const cj_lookback_known *known, cj_reg row, cj_reg tile) {
    cj_func *f = l->p->f;
    cj_step(f, "of the same row the known prefix is kept");
    cj_reg other = cj_ne(f, "other_row", row, known->row);
    cj_set_if(f, other, known->groups, 0);
    cj__prefix_clear_if(l->p, other, known->prefix);
    cj_set(f, known->row, row);
    return cj_shr(f, "group", tile, 5);
}

typedef struct window {
    unsigned groups;
    cj_reg   there[CJ_LOOKBACK_WINDOW], value[CJ_LOOKBACK_WINDOW], head[CJ_LOOKBACK_WINDOW];
} window;

// Lane i has tile i of each group of the window: it waits for the status of those before `tile`.
static void await(const cj_lookback *l, window *w, cj_reg first_group, cj_reg tile, cj_reg row_at) {
    const unsigned bytes = cj__status_bytes(l->p->combine);
    cj_func       *f = l->p->f;
    cj_reg         tag[CJ_LOOKBACK_WINDOW], late = cj_pred(f, "late");
    cj_reg         first = cj_mad(f, "first", first_group, GROUP, l->p->lane),
           at = cj_mad_wide(f, "status_at", first, bytes, row_at);
    for (unsigned j = 0; j < w->groups; j++)
        w->there[j] = cj_lt(f, "is_before", cj_add(f, "index", first, j * GROUP), tile);
    CJ_DO(f, "not_published", late) {
        for (unsigned j = 0; j < w->groups; j++) w->value[j] = load_status(l, w->there[j], at, j * GROUP * bytes, &tag[j]);
        for (unsigned j = 0; j < w->groups; j++) w->head[j] = take_head(l, tag[j]);
        for (unsigned j = 0; j < w->groups; j++) {
            cj_reg is_late = j ? cj_pred(f, "late_too") : late;
            cj_ptx(f, "setp.ne.and.u32 $1, $2, $3, $4;", is_late, tag[j], l->epoch, w->there[j]);
            if (j) cj_update(f, late, "or", is_late);
        }
        cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", late);
    }
}

cj_reg cj__lookback_window(const cj_lookback *l, const cj_lookback_known *known, cj_reg group, cj_reg tile,
                           cj_reg row_at, unsigned groups) {
    const cj_prefix *p = l->p;
    cj_func         *f = p->f;
    window           w = {.groups = groups};
    cj_reg           total[CJ_LOOKBACK_WINDOW], heads[CJ_LOOKBACK_WINDOW], more = cj_pred(f, "more_groups");
    cj_reg           in_group = cj__prefix_value(p, "in_group"), own_heads = cj_u32(f, "own_heads");
    CJ_DO(f, "next_groups", more) {
        cj_step(f, "look-back: %u groups of %d tiles, lane i waits for the status of tile i of each", groups, GROUP);
        await(l, &w, known->groups, tile, row_at);
        cj_step(f, "groups before the tile's, and the tiles before it in its own");
        for (unsigned j = 0; j < groups; j++)
            heads[j] = add_tiles(l, w.there[j], w.value[j], w.head[j], &total[j]).warp;
        for (unsigned j = 0; j < groups; j++) {
            cj_reg number = cj_add(f, "number", known->groups, j);
            cj_reg is_before = cj_lt(f, "group_before", number, group), is_own = cj_eq(f, "own_group", number, group);
            cj_reg longer = cj__prefix_copy(p, "longer", known->prefix);
            cj__prefix_append(p, longer, total[j], heads[j]);
            cj_set_if(f, is_before, known->prefix, longer);
            cj_set_if(f, is_own, in_group, total[j]);
            if (p->segmented) cj_set_if(f, is_own, own_heads, heads[j]);
        }
        cj_update(f, known->groups, "add", groups);
        cj_ptx(f, "setp.le.u32 $1, $2, $3;", more, known->groups, group);
    }
    cj_set(f, known->groups, group);
    cj_reg carry = cj__prefix_copy(p, "carry", known->prefix);
    cj__prefix_append(p, carry, in_group, own_heads);
    return carry;
}

// ---- words

enum { NUMBER = CJ_WORD_NUMBERS - 1, TOTAL = CJ_WORD_NUMBERS };  // 0: nothing is published
#define PREFIX UINT32_C(0x80000000)

cj_reg cj__word_total(cj_func *f, cj_reg total) { return cj_or(f, "status", total, (unsigned)TOTAL); }

cj_reg cj__word_prefix(cj_func *f, cj_reg before, cj_reg total) {
    cj_reg upto = cj_and(f, "upto", cj_add(f, "upto", before, total), (unsigned)NUMBER);
    return cj_or(f, "status", upto, PREFIX);
}

void cj__word_publish(cj_func *f, cj_reg when, cj_reg at, cj_reg word, const char *what) {
    cj_ptx(f, "@$1 st.relaxed.gpu.global.u32 [$2], $3; // $4", when, at, word, what);
}

void cj__lookback_words(cj_func *f, cj_reg at, unsigned stride, cj_reg before) {
    cj_reg from = cj_mov(f, "u64", "from", at), status = cj_u32(f, "published"), late = cj_pred(f, "late");
    cj_set(f, before, 0);
    CJ_LOOP(f, tiles, "tile_before", "all_before") {
        cj_update(f, from, "sub", stride);
        CJ_DO(f, "not_published", late) {
            cj_ptx(f, "ld.relaxed.gpu.global.u32 $1, [$2];\nsetp.eq.u32 $3, $1, 0;", status, from, late);
        }
        cj_update(f, before, "add", cj_and(f, "number", status, (unsigned)NUMBER));
        cj_leave(&tiles, cj_ge(f, "is_prefix", status, PREFIX));
    }
}
