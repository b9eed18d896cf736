// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

enum { WARP = 32 };

void cj__prefix_masks(cj_prefix *p, bool below) {
    if (!p->segmented) return;
    cj_step(p->f, below ? "masks of the lanes before this one, and with it" : "the mask of the lanes up to this one");
    if (below) p->below = cj_mov(p->f, "u32", "lanes_below", "%lanemask_lt");
    p->upto = cj_mov(p->f, "u32", "lanes_upto", "%lanemask_le");
}

// ---- values

cj_reg cj__prefix_value(const cj_prefix *p, const char *name) { return cj_register(p->f, p->combine.type, name); }

cj_reg cj__prefix_copy(const cj_prefix *p, const char *name, cj_reg value) {
    return cj_mov(p->f, p->combine.type, name, value);
}

cj_reg cj__prefix_identity(const cj_prefix *p, const char *name) {
    return cj_mov(p->f, p->combine.type, name, cj_combine_identity(p->combine));
}

void cj__prefix_clear_if(const cj_prefix *p, cj_reg when, cj_reg value) {
    cj_set_if(p->f, when, value, cj_combine_identity(p->combine));
}

void cj__prefix_clear_unless(const cj_prefix *p, cj_reg when, cj_reg value) {
    cj_ptx(p->f, "@!$1 mov.$2 $3, $4;", when, p->combine.type, value, cj_combine_identity(p->combine));
}

void cj__prefix_before(const cj_prefix *p, cj_reg when, cj_reg value, cj_reg earlier) {
    cj_reg sum = cj__prefix_copy(p, "sum", earlier);
    cj_combine_into(p->f, p->combine, sum, value);
    cj_set_if(p->f, when, value, sum);
}

void cj__prefix_append(const cj_prefix *p, cj_reg total, cj_reg next, cj_reg heads) {
    cj_combine_into(p->f, p->combine, total, next);
    if (p->segmented) cj_set_if(p->f, cj_ne(p->f, "begins", heads, 0), total, next);
}

cj_reg cj__prefix_no_head(const cj_prefix *p, cj_reg heads) {
    return p->segmented ? cj_eq(p->f, "none_begins", heads, 0) : cj_always();
}

// ---- lanes

// A shuffle moves 32 bits: wider values go as two halves. there: the source is one of the group's lanes.
static void shuffle(const cj_prefix *p, const char *mode, cj_reg to, cj_reg there, cj_reg value, cj_arg source,
                    unsigned clamp) {
    if (!strstr(p->combine.type, "64")) {
        cj_ptx(p->f, "shfl.sync.$1.b32 $2|$3, $4, $5, $6, 0xffffffff;", mode, to, there, value, source, clamp);
        return;
    }
    cj_reg half[2] = {cj_b32(p->f, "low"), cj_b32(p->f, "high")};
    cj_ptx(p->f, "mov.b64 {$1, $2}, $3;", half[0], half[1], value);
    for (int i = 0; i < 2; i++)
        cj_ptx(p->f, "shfl.sync.$1.b32 $2|$3, $2, $4, $5, 0xffffffff;", mode, half[i], there, source, clamp);
    cj_ptx(p->f, "mov.b64 $1, {$2, $3};", to, half[0], half[1]);
}

static unsigned segment_mask(unsigned lanes) { return (WARP - lanes) << 8; }

void cj__prefix_pick_into(const cj_prefix *p, cj_reg to, cj_reg value, cj_arg source, unsigned lanes) {
    shuffle(p, "idx", to, cj_pred(p->f, "there"), value, source, segment_mask(lanes) | (WARP - 1));
}

cj_reg cj__prefix_pick(const cj_prefix *p, const char *name, cj_reg value, cj_arg source, unsigned lanes) {
    cj_reg to = cj__prefix_value(p, name);
    cj__prefix_pick_into(p, to, value, source, lanes);
    return to;
}

cj_reg cj__prefix_previous(const cj_prefix *p, const char *name, cj_reg value, unsigned lanes) {
    cj_reg to = cj__prefix_value(p, name);
    shuffle(p, "up", to, cj_pred(p->f, "there"), value, CJ_ARG(1), segment_mask(lanes));
    return to;
}

void cj__prefix_lanes(const cj_prefix *p, cj_reg value, const cj_heads *heads, unsigned lanes) {
    cj_reg other = cj__prefix_value(p, "other"), there = cj_pred(p->f, "there");
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
        shuffle(p, "up", other, there, value, CJ_ARG(distance), segment_mask(lanes));
        if (p->segmented) cj_ptx(p->f, "setp.ge.u32 $1, $2, $3;", there, heads->reach, distance);
        cj_combine_into(p->f, p->combine, other, value);
        cj_set_if(p->f, there, value, other);
    }
}

// Those of the warp's `heads` that lie in the own group.
static cj_reg heads_of_group(const cj_prefix *p, cj_reg heads, unsigned lanes) {
    if (lanes == WARP) return heads;
    cj_reg from = cj_and(p->f, "first_lane", p->lane, WARP - lanes);
    cj_reg group = cj_let(p->f, "u32", "group_lanes", "shl.b32 $1, $2, $3;", (1u << lanes) - 1, from);
    return cj_and(p->f, "heads_of_group", group, heads);
}

cj_heads cj__prefix_heads(const cj_prefix *p, cj_reg begins, unsigned lanes, cj_heads_asked asked) {
    if (!p->segmented) return (cj_heads){0};
    const uint32_t firsts = UINT32_MAX / (uint32_t)((UINT64_C(1) << lanes) - 1);  // the first lane of each group
    cj_heads       heads = {.warp = cj_let(p->f, "u32", "heads", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", begins)};
    if (asked >= CJ_HEADS_GROUP) heads.group = heads_of_group(p, heads.warp, lanes);
    if (asked == CJ_HEADS_BEFORE) heads.before = cj_and(p->f, "heads_before", heads.group, p->below);
    cj_reg begun = cj_and(p->f, "begun", cj_or(p->f, "begins_at", heads.warp, firsts), p->upto);
    heads.reach = cj_sub(p->f, "reach", p->lane, cj_let(p->f, "u32", "last_head", "bfind.u32 $1, $2;", begun));
    return heads;
}
