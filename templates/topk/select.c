// SPDX-License-Identifier: Apache-2.0
// Of more than k candidates the first k: those that were together before, in the pool's first places, and what every
// warp has found since then, in places of its own.
//
// The greatest number t that at least k candidates are not below is searched bit by bit, from the highest bit in which
// the greatest key and the threshold differ. Candidates differ from each other, so at the latest with the last bit
// exactly k are not below t, mostly long before; bits that are the same in all indices of the row, and in all keys of
// 16-bit elements, are left out. These move together, to the pool's first places. With k or fewer
// candidates all do.
//
// What warps tell each other is in one of two meetings, { greatest key, most of a warp, found by all, places taken },
// which take turns: while one is used, the other is cleared for the next selection.
//
// Barriers, and why each is needed and enough:
//   B1   bar.warp.sync: a warp's candidates have been read before the next round's take their places.
//   B7   bar.sync: all warps have told what they have, those that were together have got to their places, and the
//        other meeting, which all have left (by B2 or B6), is clear.
//   B8   bar.red of each look: counts.
//   B9   bar.sync: candidates that were together have been read, a block of them at a time, before what stays of them
//        is written, to a place that was read by then.
// A warp's candidates, which it alone reads, are there: B2 or B10 comes before. Nothing follows the last move: who reads
// the candidates has a barrier before (B5, B6, B7).
#include "topk.h"

enum { MEETING_BYTES = 16 };

// One of the places first, first + step, … below an end, in turns; which, is up to the thread.
typedef struct places {
    cj_reg   at, first, end, turns_end;  // at: address of place 0; turns_end: the same for all threads
    unsigned step;
} places;

static places together(topk_kernel *k) { return (places){k->pool, k->thread, k->count, k->count, k->s.block}; }

static places own(topk_kernel *k) { return (places){k->own_at, k->lane, k->mine, k->most, TOPK_WARP}; }

// candidate = the thread's of the turn that begins at place `base`; 0 where it has none.
static void load_candidate(topk_kernel *k, const places *p, cj_reg base, cj_reg candidate) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), inside = cj_pred(f, "inside"), at = cj_u32(f, "candidate_at");
    cj_ptx(f, "add.u32 $1, $2, $3;", i, base, p->first);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside, i, p->end);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, p->at);
    cj_ptx(f, "mov.u64 $1, 0;", candidate);
    cj_ptx(f, "@$1 ld.shared.u64 $2, [$3];", inside, candidate, at);
}

// for each turn: between turns_begin and turns_end `base` is its first place.
typedef struct turns {
    cj_label next, done;
    cj_reg   base;
} turns;

static turns turns_begin(topk_kernel *k, const places *p) {
    turns  t = {cj_label_new(k->f, "next_turn"), cj_label_new(k->f, "turns_done"), cj_u32(k->f, "base")};
    cj_reg past = cj_pred(k->f, "past");
    cj_ptx(k->f, "mov.u32 $1, 0;", t.base);
    cj_label_here(k->f, t.next);
    cj_ptx(k->f, "setp.ge.u32 $1, $2, $3;", past, t.base, p->turns_end);
    cj_ptx(k->f, "@$1 bra.uni $2;", past, t.done);
    return t;
}

static void turns_end(topk_kernel *k, const places *p, const turns *t) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", t->base, p->step);
    cj_ptx(k->f, "bra.uni $1;", t->next);
    cj_label_here(k->f, t->done);
}

// greatest = the greatest key of all candidates; k->most = the most that a warp has found; total = how many there are.
static void meet(topk_kernel *k, cj_reg greatest, cj_reg total) {
    cj_func *f = k->f;
    cj_reg   low = cj_b32(f, "low"), key = cj_u32(f, "key"), first = cj_pred(f, "first_lane"),
           leader = cj_pred(f, "leader"), candidate = cj_u64(f, "candidate"), other = cj_u32(f, "other_meeting");
    cj_step(f, "the greatest key, the most candidates of a warp, and how many there are");
    cj_ptx(f, "xor.b32 $1, $1, $2; // the meetings take turns", k->meeting, MEETING_BYTES);
    cj_ptx(f, "mov.u32 $1, 0;", greatest);
    for (int i = 0; i < 2; i++) {
        places p = i ? own(k) : together(k);
        p.turns_end = p.end;
        const turns t = turns_begin(k, &p);
        load_candidate(k, &p, t.base, candidate);
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, key, candidate);
        cj_ptx(f, "max.u32 $1, $1, $2;", greatest, key);
        turns_end(k, &p, &t);
    }
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_MAX, .type = "u32"}, greatest, TOPK_WARP);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->lane);
    cj_ptx(f, "@$1 red.shared.max.u32 [$2], $3;", first, k->meeting, greatest);
    cj_ptx(f, "@$1 red.shared.max.u32 [$2 + 4], $3;", first, k->meeting, k->mine);
    cj_ptx(f, "@$1 red.shared.add.u32 [$2 + 8], $3;", first, k->meeting, k->mine);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "xor.b32 $1, $2, $3;", other, k->meeting, MEETING_BYTES);
    cj_ptx(f, "@$1 st.shared.v4.u32 [$2], {0, 0, 0, 0};", leader, other);
    cj_ptx(f, "bar.sync 0; // B7: what all warps have is told");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", greatest, k->meeting);
    cj_ptx(f, "ld.shared.u32 $1, [$2 + 4];", k->most, k->meeting);
    cj_ptx(f, "ld.shared.u32 $1, [$2 + 8];", total, k->meeting);
    cj_ptx(f, "add.u32 $1, $1, $2;", total, k->count);
}

// all = how many candidates are not below `probe`.
static void count(topk_kernel *k, cj_reg probe, cj_reg all) {
    cj_func *f = k->f;
    cj_reg   part = cj_u32(f, "part"), passes = cj_pred(f, "passes"), candidate = cj_u64(f, "candidate");
    cj_ptx(f, "mov.u32 $1, 0;", all);
    for (int i = 0; i < 2; i++) {
        const places p = i ? own(k) : together(k);
        const turns  t = turns_begin(k, &p);
        load_candidate(k, &p, t.base, candidate);
        cj_ptx(f, "setp.ge.u64 $1, $2, $3;", passes, candidate, probe);
        cj_ptx(f, "bar.red.popc.u32 $1, 0, $2; // B8: how many of these are not below", part, passes);
        cj_ptx(f, "add.u32 $1, $1, $2;", all, part);
        turns_end(k, &p, &t);
    }
}

// ones = what the bits of a key are that follow from its others: all ones below the sign bit 0, else zeros.
static void find_key_ones(topk_kernel *k, cj_reg ones, cj_reg key) {
    cj_ptx(k->f, "shr.s32 $1, $2, 31;", ones, key);
    cj_ptx(k->f, "not.b32 $1, $1;", ones);
    cj_ptx(k->f, "and.b32 $1, $1, $2;", ones, (1u << cj__topk_key_low(k)) - 1);
}

// From the last bit of the key that counts, the search goes on at the first one of the index: the bits between are the
// same in all candidates that have those before, ones in the index' complement.
static void skip_to_index(topk_kernel *k, cj_reg mask, cj_reg least) {
    cj_func       *f = k->f;
    const unsigned low = cj__topk_key_low(k);
    cj_reg         past = cj_pred(f, "past_key"), bit = cj_u32(f, "index_bit"), index = cj_b32(f, "index_ones"),
           key = cj_b32(f, "key_ones");
    cj_label on = cj_label_new(f, "not_past_key");
    cj_ptx(f, "setp.eq.u64 $1, $2, $3; // all that counts of the key is known", past, mask, UINT64_C(1) << (31 + low));
    cj_ptx(f, "@!$1 bra.uni $2;", past, on);
    cj_ptx(f, "bfind.u32 $1, $2;", bit, k->columns);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", index, key, least);
    if (low) {
        cj_reg ones = cj_b32(f, "ones");
        find_key_ones(k, ones, key);
        cj_ptx(f, "or.b32 $1, $1, $2;", key, ones);
    }
    cj_ptx(f, "shl.b32 $1, 0xfffffffe, $2;", index, bit);
    cj_ptx(f, "mov.b64 $1, {$2, $3};", least, index, key);
    cj_ptx(f, "mov.u64 $1, 1;", mask);
    cj_ptx(f, "shl.b64 $1, $1, $2;", mask, bit);
    cj_label_here(f, on);
}

// least = a number that exactly k candidates are not below, of more than k.
static void find_least(topk_kernel *k, cj_reg greatest, cj_reg least) {
    cj_func *f = k->f;
    cj_reg   mask = cj_u64(f, "mask"), probe = cj_u64(f, "probe"), bit = cj_u32(f, "bit"), all = cj_u32(f, "not_below"),
           enough = cj_pred(f, "enough"), exact = cj_pred(f, "exact"), more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_bit"), done = cj_label_new(f, "found");
    cj_step(f, "the greatest number that %u candidates are not below, bit by bit, until it is exactly so many", k->s.k);
    cj_ptx(f, "xor.b32 $1, $2, $3;", bit, greatest, k->threshold);
    cj_ptx(f, "bfind.u32 $1, $1;", bit);
    cj_ptx(f, "add.u32 $1, $1, 32; // the key's bits, above the index's", bit);
    cj_ptx(f, "mov.u64 $1, 1;", mask);
    cj_ptx(f, "shl.b64 $1, $1, $2;", mask, bit);
    cj_ptx(f, "mov.b64 $1, {0, $2};", least, greatest);
    cj_ptx(f, "neg.s64 $1, $2;", probe, mask);
    cj_ptx(f, "shl.b64 $1, $1, 1;", probe);
    cj_ptx(f, "and.b64 $1, $1, $2; // the bits above are the same in all", least, probe);
    cj_label_here(f, next);
    cj_ptx(f, "or.b64 $1, $2, $3;", probe, least, mask);
    count(k, probe, all);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", enough, all, k->s.k);
    cj_ptx(f, "@$1 mov.u64 $2, $3;", enough, least, probe);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", exact, all, k->s.k);
    cj_ptx(f, "@$1 bra.uni $2;", exact, done);
    cj_ptx(f, "shr.u64 $1, $1, 1;", mask);
    skip_to_index(k, mask, least);
    cj_ptx(f, "setp.ne.u64 $1, $2, 0;", more, mask);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
    cj_label_here(f, done);
}

// Where `stays`, the lane's candidate goes to the next free place at the pool's beginning.
static void put(topk_kernel *k, cj_reg stays, cj_reg candidate) {
    cj_func *f = k->f;
    cj_reg   ballot = cj_b32(f, "ballot"), all = cj_u32(f, "all"), place = cj_u32(f, "place"),
           rank = cj_u32(f, "place_in_warp"), at = cj_u32(f, "candidate_at"), first = cj_pred(f, "first_lane");
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", ballot, stays);
    cj_ptx(f, "popc.b32 $1, $2;", all, ballot);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->lane);
    cj_ptx(f, "mov.u32 $1, 0;", place);
    cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3 + 12], $4;", first, place, k->meeting, all);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, 0xffffffff;", place);
    cj_ptx(f, "and.b32 $1, $2, $3;", rank, ballot, k->below);
    cj_ptx(f, "popc.b32 $1, $1;", rank);
    cj_ptx(f, "add.u32 $1, $1, $2;", place, rank);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, place, k->pool);
    cj_ptx(f, "@$1 st.shared.b64 [$2], $3;", stays, at, candidate);
}

// Those that are not below `least` go to the pool's beginning.
static void move_together(topk_kernel *k, cj_reg least) {
    cj_func *f = k->f;
    cj_reg   candidate = cj_u64(f, "candidate"), stays = cj_pred(f, "stays");
    cj_step(f, "they move together");
    for (int i = 0; i < 2; i++) {
        places p = i ? own(k) : together(k);
        p.turns_end = p.end;
        const turns t = turns_begin(k, &p);
        load_candidate(k, &p, t.base, candidate);
        cj_ptx(f, "setp.ge.u64 $1, $2, $3;", stays, candidate, least);
        if (!i) cj_ptx(f, "bar.sync 0; // B9: these have been read");
        put(k, stays, candidate);
        turns_end(k, &p, &t);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B1: the warp's own have been read");
    cj_ptx(f, "mov.u32 $1, 0;", k->mine);
}

void cj__topk_select(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   few = cj_pred(f, "are_few"), greatest = cj_u32(f, "greatest_key"), total = cj_u32(f, "total"),
           least = cj_u64(f, "least"), low = cj_b32(f, "low");
    cj_label all_stay = cj_label_new(f, "all_stay");
    cj_step(f, "of more than %u candidates the first %u stay, in any order", k->s.k, k->s.k);
    cj_label_here(f, k->select);
    k->most = cj_u32(f, "most");
    meet(k, greatest, total);
    cj_ptx(f, "mov.u64 $1, 1; // no candidate is below", least);
    cj_ptx(f, "setp.le.u32 $1, $2, $3;", few, total, k->s.k);
    cj_ptx(f, "@$1 bra.uni $2;", few, all_stay);
    find_least(k, greatest, least);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, k->threshold, least);
    if (cj__topk_key_low(k)) {
        cj_reg ones = cj_b32(f, "ones");
        find_key_ones(k, ones, k->threshold);
        cj_ptx(f, "or.b32 $1, $1, $2;", k->threshold, ones);
    }
    cj_ptx(f, "setp.ne.u32 $1, 0, 0;", k->filling);
    cj__topk_set_bound(k);
    cj_label_here(f, all_stay);
    move_together(k, least);
    cj_ptx(f, "min.u32 $1, $2, $3;", k->count, total, k->s.k);
}
