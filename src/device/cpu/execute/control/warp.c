// SPDX-License-Identifier: Apache-2.0
// Instructions that the lanes of a warp execute together (PTX ISA, "shfl.sync", "vote.sync", "activemask",
// "redux.sync", "elect.sync", "bar.warp.sync"): each waits until all living members of its mask are at the same
// instruction.
#include "exec.h"
#include "undefined.h"

// The lanes of `rest` with the same member mask as the first of them.
static uint32_t same_members(const lane_u32 *members, uint32_t rest) {
    const uint32_t wanted = members[cj__cpu_first(rest)];
    uint32_t       same = 0;
    for (unsigned i = 0; i < CJ_LANES; i++) same |= (uint32_t)(members[i] == wanted) << i;
    return same & rest;
}

// The lanes of `mask` all of whose members have arrived; the others go to w->waiting. False: a hazard was reported.
static bool gather(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const lane_u32 *members, uint32_t *ready) {
    *ready = 0;
    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        const uint32_t wanted = members[cj__cpu_first(rest)];
        same = same_members(members, rest);
        if (same & ~wanted) {
            cj__cpu_hazard(w, op, cj__cpu_first(same & ~wanted), CJ_HAZARD_MEMBER_MASK,
                           "lane %u is not in its own member mask 0x%08x", cj__cpu_first(same & ~wanted), wanted);
            return false;
        }
        if (!(wanted & w->live & ~same)) *ready |= same;
    }
    w->waiting = mask & ~*ready;
    return true;
}

static cj_cpu_step done(const cj_cpu_warp *w) { return w->waiting ? CJ_STEP_WAIT : CJ_STEP_NEXT; }

// ---- shfl.sync. Slots: d, p, a, b, c, members. c holds the last lane of a segment, and above it the segment's mask. A
// source lane that does not take part gives CJ_POISON.

#define SHUFFLE(name, source, inside)                                                          \
    CJ_EXEC(shfl_##name) {                                                                     \
        uint32_t ready;                                                                        \
        if (!gather(w, op, mask, CJ_LANES_OF(const lane_u32, 5), &ready)) return CJ_STEP_STOP; \
        lane_u32       *d = CJ_LANES_OF(lane_u32, 0);                                          \
        const lane_u32 *a = CJ_LANES_OF(const lane_u32, 2);                                    \
        const lane_u32 *b = CJ_LANES_OF(const lane_u32, 3);                                    \
        const lane_u32 *c = CJ_LANES_OF(const lane_u32, 4);                                    \
        uint32_t        given[CJ_LANES], bits = 0, absent = 0;                                 \
        CJ_EVERY_LANE(i) given[i] = a[i] | ((ready >> i & 1) - 1);                             \
        CJ_EACH_LANE(i, ready, {                                                               \
            const uint32_t segment = c[i] >> 8 & 31, by = b[i] & 31;                           \
            const uint32_t first = i & segment, last = first | (c[i] & 31 & ~segment);         \
            const uint32_t from = source;                                                      \
            const bool     valid = inside;                                                     \
            (void)last;                                                                        \
            bits |= (uint32_t)valid << i;                                                      \
            d[i] = given[valid ? from & 31 : i];                                               \
            absent |= (uint32_t)(valid && !(ready >> (from & 31) & 1)) << i;                   \
        });                                                                                    \
        if (absent && w->watch) cj__undefined_absent(w, op, absent);                           \
        cj__cpu_predicate_set(w->file + op->slot[1], ready, bits);                             \
        return done(w);                                                                        \
    }

SHUFFLE(up, i - by, (int32_t)from >= (int32_t)last)
SHUFFLE(down, i + by, from <= last)
SHUFFLE(bfly, i ^ by, from <= last)
SHUFFLE(idx, first | (by & ~segment), from <= last)

bool cj__cpu_select_shfl(cj_cpu_prepare *p) {
    p->op.run = cj__cpu_has(p, CJ_W_UP)     ? shfl_up
                : cj__cpu_has(p, CJ_W_DOWN) ? shfl_down
                : cj__cpu_has(p, CJ_W_BFLY) ? shfl_bfly
                                            : shfl_idx;
    return true;
}

// ---- one result for all lanes with the same members

// For each set of lanes with the same members: `same`.
#define TOGETHER(name, members, ...)                                   \
    CJ_EXEC(name) {                                                    \
        const lane_u32 *member = CJ_LANES_OF(const lane_u32, members); \
        uint32_t        ready, same;                                   \
        if (!gather(w, op, mask, member, &ready)) return CJ_STEP_STOP; \
        for (uint32_t rest = ready; rest; rest &= ~same) {             \
            same = same_members(member, rest);                         \
            __VA_ARGS__                                                \
        }                                                              \
        return done(w);                                                \
    }

#define VOTE(name, expression)                                                               \
    TOGETHER(vote_##name, 2, {                                                               \
        const uint32_t yes = cj__cpu_predicate(w, op, 1) & same;                             \
        cj__cpu_predicate_set(w->file + op->slot[0], same, (expression) ? CJ_ALL_LANES : 0); \
    })

VOTE(all, yes == same)
VOTE(any, yes != 0)
VOTE(uni, yes == same || yes == 0)

bool cj__cpu_select_vote(cj_cpu_prepare *p) {
    p->op.run = cj__cpu_has(p, CJ_W_ALL) ? vote_all : cj__cpu_has(p, CJ_W_ANY) ? vote_any : vote_uni;
    return true;
}

TOGETHER(vote_ballot, 2, {
    const uint32_t yes = cj__cpu_predicate(w, op, 1) & same;
    lane_u32      *d = CJ_LANES_OF(lane_u32, 0);
    CJ_SOME_LANES(i, same) d[i] = yes;
})

bool cj__cpu_select_vote_ballot(cj_cpu_prepare *p) {
    p->op.run = vote_ballot;
    return true;
}

#define REDUX(name, type, expression)                             \
    TOGETHER(redux_##name##_##type, 2, {                          \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);       \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1); \
        lane_##type        x = a[cj__cpu_first(same)];            \
        CJ_SOME_LANES(i, same &(same - 1)) x = (expression);      \
        CJ_SOME_LANES(i, same) d[i] = x;                          \
    })

REDUX(add, u32, x + a[i])
REDUX(min, u32, a[i] < x ? a[i] : x)
REDUX(max, u32, a[i] > x ? a[i] : x)
REDUX(min, s32, a[i] < x ? a[i] : x)
REDUX(max, s32, a[i] > x ? a[i] : x)
REDUX(and, u32, x &a[i])
REDUX(or, u32, x | a[i])
REDUX(xor, u32, x ^ a[i])

bool cj__cpu_select_redux(cj_cpu_prepare *p) {
    static const struct {
        cj_word      word;
        cj_cpu_typed typed;
    } operations[] = {
        {CJ_W_ADD, {.u32 = redux_add_u32, .s32 = redux_add_u32}},
        {CJ_W_MIN, {.u32 = redux_min_u32, .s32 = redux_min_s32}},
        {CJ_W_MAX, {.u32 = redux_max_u32, .s32 = redux_max_s32}},
        {CJ_W_AND, {.u32 = redux_and_u32}},
        {CJ_W_OR, {.u32 = redux_or_u32}},
        {CJ_W_XOR, {.u32 = redux_xor_u32}},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (cj__cpu_has(p, operations[i].word)) return cj__cpu_choose(p, &operations[i].typed, p->mnemonic->type_last);
    }
    return false;
}

// The lanes of `same` with the same value as the first of `rest`.
#define ALIKE(type)                                                                           \
    static uint32_t alike_##type(const lane_##type *value, uint32_t same, uint32_t rest) {    \
        const lane_##type wanted = value[cj__cpu_first(rest)];                                \
        uint32_t          alike = 0;                                                          \
        for (unsigned i = 0; i < CJ_LANES; i++) alike |= (uint32_t)(value[i] == wanted) << i; \
        return alike & same;                                                                  \
    }

ALIKE(u32)
ALIKE(u64)

#define MATCH(type)                                                                 \
    TOGETHER(match_any_##type, 2, {                                                 \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);                   \
        lane_u32          *d = CJ_LANES_OF(lane_u32, 0);                            \
        uint32_t           given[CJ_LANES];                                         \
        for (uint32_t left = same, alike; left; left &= ~alike) {                   \
            alike = alike_##type(a, same, left);                                    \
            CJ_SOME_LANES(i, alike) given[i] = alike;                               \
        }                                                                           \
        CJ_SOME_LANES(i, same) d[i] = given[i];                                     \
    })                                                                              \
    TOGETHER(match_all_##type, 3, {                                                 \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 2);                   \
        lane_u32          *d = CJ_LANES_OF(lane_u32, 0);                            \
        const bool         all = alike_##type(a, same, same) == same;               \
        CJ_SOME_LANES(i, same) d[i] = all ? same : 0;                               \
        cj__cpu_predicate_set(w->file + op->slot[1], same, all ? CJ_ALL_LANES : 0); \
    })

MATCH(u32)
MATCH(u64)

bool cj__cpu_select_match_any(cj_cpu_prepare *p) {
    p->op.run = p->mnemonic->type_last == CJ_W_B64 ? match_any_u64 : match_any_u32;
    return true;
}

bool cj__cpu_select_match_all(cj_cpu_prepare *p) {
    p->op.run = p->mnemonic->type_last == CJ_W_B64 ? match_all_u64 : match_all_u32;
    return true;
}

// elect.sync: the leader is the lowest member. Slots: d, p, members.
TOGETHER(elect, 2, {
    const uint32_t leader = cj__cpu_first(same);
    lane_u32      *d = CJ_LANES_OF(lane_u32, 0);
    CJ_SOME_LANES(i, same) d[i] = leader;
    cj__cpu_predicate_set(w->file + op->slot[1], same, 1u << leader);
})

bool cj__cpu_select_elect(cj_cpu_prepare *p) {
    p->op.run = elect;
    return true;
}

// bar.warp.sync is the only one of these instructions that orders memory.
CJ_EXEC(bar_warp) {
    uint32_t        ready;
    const lane_u32 *members = CJ_LANES_OF(const lane_u32, 0);
    if (!gather(w, op, mask, members, &ready)) return CJ_STEP_STOP;
    for (uint32_t rest = ready, same; rest; rest &= ~same) {
        same = same_members(members, rest);
        cj__watch_converge(w, same);
    }
    return done(w);
}

bool cj__cpu_select_bar_warp(cj_cpu_prepare *p) {
    p->op.run = bar_warp;
    return true;
}

CJ_EXEC(activemask) {
    lane_u32 *d = CJ_LANES_OF(lane_u32, 0);
    CJ_SOME_LANES(i, mask) d[i] = mask;
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_activemask(cj_cpu_prepare *p) {
    p->op.run = activemask;
    return true;
}
