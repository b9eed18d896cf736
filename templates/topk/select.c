// SPDX-License-Identifier: Apache-2.0
// Of more than k candidates the first k: those that were selected before, in the pool's first places, and what every warp has
// found since then, in places of its own.
//
// The greatest number t that at least k candidates are not less than is searched bit by bit, from the highest bit in which the
// greatest key and the threshold differ. Candidates differ from each other, so with the last bit exactly k are not less than
// t; mostly this is so long before. Bits that are the same in all indices of the row, and in all keys of 16-bit elements, are
// left out. The candidates that are not less than t move to the pool's first places. k or fewer candidates all move.
//
// Warps combine { greatest key, most candidates of a warp, candidates of all warps, places taken } in shared memory. There are
// two such records: while one is used, the other is cleared for the next selection.
//
// Barriers (docs/maintaining/topk.md):
//   B1  bar.warp.sync   the warp's candidates have been read before the next round's take their places
//   B7  bar.sync        all warps have combined what they have, and selected candidates have arrived in their places
//   B8  bar.red         counts, for each probe
//   B9  bar.sync        selected candidates have been read, a block of them at a time, before any is written to their places
#include "topk.h"

enum { RECORD_BYTES = 16 };

// Places first, first + step, … below `end`; `first` is the thread's. at: the address of place 0. Turns go up to `turns_end`,
// which is the same in all threads that take a turn at once.
typedef struct places {
    cj_reg   at, first, end, turns_end;
    unsigned step;
} places;

static places selected(const topk_kernel *k) { return (places){k->pool, k->thread, k->count, k->count, k->s.block}; }

static places own(const topk_kernel *k, cj_reg turns_end) {
    return (places){k->own_at, k->lane, k->mine, turns_end, TOPK_WARP};
}

cj_reg cj__topk_candidate(const topk_kernel *k, cj_reg there, cj_reg at) {
    cj_reg candidate = cj_mov(k->f, "u64", "candidate", 0);
    cj_ptx(k->f, "@$1 ld.shared.u64 $2, [$3];", there, candidate, at);
    return candidate;
}

// For each turn of the places: the thread's candidate, 0 if it has none. `base` is the turn's first place.
static cj_reg next_candidate(const topk_kernel *k, const cj_body *turns, const places *p, cj_reg base) {
    cj_leave(turns, cj_ge(k->f, "no_turn", base, p->turns_end));
    cj_reg i = cj_add(k->f, "i", base, p->first), inside = cj_lt(k->f, "inside", i, p->end);
    return cj__topk_candidate(k, inside, cj_mad(k->f, "candidate_at", i, TOPK_CANDIDATE, p->at));
}

#define EACH_CANDIDATE(k, p, base, turns)           \
    cj_reg base = cj_mov((k)->f, "u32", "base", 0); \
    CJ_LOOP_UNI((k)->f, turns, "next_turn", "turns_done")

// The greatest key of all candidates, the most that a warp has, and how many there are.
typedef struct census {
    cj_reg greatest, most, total;
} census;

static cj_reg greatest_of_warp(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   greatest = cj_mov(f, "u32", "greatest", 0), low = cj_b32(f, "low"), key = cj_u32(f, "key");
    for (int i = 0; i < 2; i++) {
        const places p = i ? own(k, k->mine) : selected(k);
        EACH_CANDIDATE(k, p, base, turns) {
            cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, key, next_candidate(k, &turns, &p, base));
            cj_update(f, greatest, "max", key);
            cj_update(f, base, "add", p.step);
        }
    }
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_MAX, .type = "u32"}, greatest, TOPK_WARP);
    return greatest;
}

static census combine_warps(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the greatest key, the most candidates of a warp, and how many there are");
    cj_ptx(f, "xor.b32 $1, $1, $2; // the records take turns", k->exchange, RECORD_BYTES);
    cj_reg greatest = greatest_of_warp(k), first = cj_eq(f, "first_lane", k->lane, 0);
    cj_ptx(f, "@$1 red.shared.max.u32 [$2], $3;", first, k->exchange, greatest);
    cj_ptx(f, "@$1 red.shared.max.u32 [$2 + 4], $3;", first, k->exchange, k->mine);
    cj_ptx(f, "@$1 red.shared.add.u32 [$2 + 8], $3;", first, k->exchange, k->mine);
    cj_reg leader = cj_eq(f, "leader", k->thread, 0), other = cj_xor(f, "other_record", k->exchange, RECORD_BYTES);
    cj_ptx(f, "@$1 st.shared.v4.u32 [$2], {0, 0, 0, 0};", leader, other);
    cj_ptx(f, "bar.sync 0; // B7: all warps have combined what they have");
    census all = {.greatest = cj_let(f, "u32", "greatest_key", "ld.shared.u32 $1, [$2];", k->exchange)};
    all.most = cj_let(f, "u32", "most", "ld.shared.u32 $1, [$2 + 4];", k->exchange);
    cj_reg found = cj_let(f, "u32", "found", "ld.shared.u32 $1, [$2 + 8];", k->exchange);
    all.total = cj_add(f, "total", found, k->count);
    return all;
}

// How many candidates are not less than `probe`.
static cj_reg count(const topk_kernel *k, cj_reg most, cj_reg probe) {
    cj_func *f = k->f;
    cj_reg   all = cj_mov(f, "u32", "not_less", 0);
    for (int i = 0; i < 2; i++) {
        const places p = i ? own(k, most) : selected(k);
        EACH_CANDIDATE(k, p, base, turns) {
            cj_reg passes = cj_ge(f, "passes", next_candidate(k, &turns, &p, base), probe);
            cj_reg part = cj_let(f, "u32", "part", "bar.red.popc.u32 $1, 0, $2; // B8: how many of these are not less",
                                 passes);
            cj_update(f, all, "add", part);
            cj_update(f, base, "add", p.step);
        }
    }
    return all;
}

// The key with the bits that follow from its others: all ones if the sign bit is 0, else zeros.
static void fill_key(const topk_kernel *k, cj_reg key) {
    const unsigned low = cj__topk_key_low(k);
    if (!low) return;
    cj_reg same = cj_let(k->f, "b32", "same", "not.b32 $1, $2;",
                         cj_let(k->f, "b32", "sign", "shr.s32 $1, $2, 31;", key));
    cj_update(k->f, key, "or", cj_and(k->f, "key_ones", same, (1u << low) - 1));
}

// After the last bit of the key that counts, the search goes on at the index's first bit: the bits between are the same in all
// candidates that have the bits before, ones in the index's complement.
static void skip_to_index(const topk_kernel *k, cj_reg mask, cj_reg least) {
    cj_func *f = k->f;
    cj_reg past = cj_let(f, "pred", "past_key", "setp.eq.u64 $1, $2, $3; // all that counts of the key is known", mask,
                         UINT64_C(1) << (31 + cj__topk_key_low(k)));
    CJ_IF_UNI(f, past, "not_past_key") {
        cj_reg bit = cj_let(f, "u32", "index_bit", "bfind.u32 $1, $2;", k->columns);
        cj_reg index = cj_b32(f, "index"), key = cj_b32(f, "key");
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", index, key, least);
        fill_key(k, key);
        cj_reg ones = cj_let(f, "b32", "index_ones", "shl.b32 $1, 0xfffffffe, $2;", bit);
        cj_ptx(f, "mov.b64 $1, {$2, $3};", least, ones, key);
        cj_set(f, mask, 1);
        cj_update(f, mask, "shl", bit);
    }
}

// A number that exactly `wanted` candidates are not less than, of more than these.
static void find_least(const topk_kernel *k, const census *all, unsigned wanted, cj_reg least) {
    cj_func *f = k->f;
    cj_step(f, "the greatest number that %u candidates are not less than, bit by bit, until it is exactly so many",
            wanted);
    cj_reg differ = cj_let(f, "u32", "differ", "bfind.u32 $1, $2;", cj_xor(f, "differ", all->greatest, k->threshold));
    cj_reg bit = cj_let(f, "u32", "bit", "add.u32 $1, $2, 32; // the key's bits, above the index's", differ);
    cj_reg mask = cj_mov(f, "u64", "mask", 1);
    cj_update(f, mask, "shl", bit);
    cj_ptx(f, "mov.b64 $1, {0, $2};", least, all->greatest);
    cj_reg above = cj_shl(f, "above", cj_let(f, "u64", "upto", "neg.s64 $1, $2;", mask), 1);
    cj_ptx(f, "and.b64 $1, $1, $2; // the bits above are the same in all", least, above);
    CJ_ONCE_UNI(f, search, "found") CJ_DO_UNI(f, "next_bit", cj_ne(f, "more", mask, 0)) {
        cj_reg probe = cj_or(f, "probe", least, mask), passing = count(k, all->most, probe);
        cj_set_if(f, cj_ge(f, "enough", passing, wanted), least, probe);
        cj_leave(&search, cj_eq(f, "exact", passing, wanted));
        cj_update(f, mask, "shr", 1);
        skip_to_index(k, mask, least);
    }
}

// The lane's candidate goes to the next free place at the pool's beginning, if it `stays`.
static void put(const topk_kernel *k, cj_reg stays, cj_reg candidate) {
    cj_func *f = k->f;
    cj_reg   ballot = cj_let(f, "b32", "ballot", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", stays);
    cj_reg   all = cj_let(f, "u32", "all", "popc.b32 $1, $2;", ballot), first = cj_eq(f, "first_lane", k->lane, 0);
    cj_reg   taken = cj_mov(f, "u32", "taken", 0);
    cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3 + 12], $4;", first, taken, k->exchange, all);
    cj_reg begin = cj_let(f, "u32", "begin", "shfl.sync.idx.b32 $1, $2, 0, 31, 0xffffffff;", taken);
    cj_reg before = cj_let(f, "u32", "before", "popc.b32 $1, $2;", cj_and(f, "lanes_before", ballot, k->below));
    cj_reg at = cj_mad(f, "candidate_at", cj_add(f, "place", begin, before), TOPK_CANDIDATE, k->pool);
    cj_ptx(f, "@$1 st.shared.b64 [$2], $3;", stays, at, candidate);
}

// Candidates that are not less than `least` move to the pool's beginning.
static void move_selected(const topk_kernel *k, cj_reg least) {
    cj_step(k->f, "they move to the pool's beginning");
    for (int i = 0; i < 2; i++) {
        const places p = i ? own(k, k->mine) : selected(k);
        EACH_CANDIDATE(k, p, base, turns) {
            cj_reg candidate = next_candidate(k, &turns, &p, base), stays = cj_ge(k->f, "stays", candidate, least);
            if (!i) cj_ptx(k->f, "bar.sync 0; // B9: these have been read");
            put(k, stays, candidate);
            cj_update(k->f, base, "add", p.step);
        }
    }
    cj_ptx(k->f, "bar.warp.sync 0xffffffff; // B1: the warp's own have been read");
    cj_set(k->f, k->mine, 0);
}

void cj__topk_select(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   low = cj_b32(f, "low");
    cj_step(f, "of more than %u candidates the first %u stay, in any order", k->s.k, k->s.k);
    cj_label_here(f, k->select);
    const census all = combine_warps(k);
    cj_reg       least = cj_let(f, "u64", "least", "mov.u64 $1, 1; // no candidate is less");
    CJ_UNLESS_UNI(f, cj_le(f, "are_few", all.total, k->s.k), "all_stay") {
        find_least(k, &all, k->s.k, least);
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, k->threshold, least);
        fill_key(k, k->threshold);
        cj_ptx(f, "setp.ne.u32 $1, 0, 0;", k->filling);
        cj__topk_set_bound(k);
        if (k->s.parts > 1) cj_set(f, k->least, least);
    }
    move_selected(k, least);
    cj_ptx(f, "min.u32 $1, $2, $3;", k->count, all.total, k->s.k);
}

void cj__topk_select_if_full(const topk_kernel *k, cj_reg full, unsigned way) {
    cj_func *f = k->f;
    cj_step(f, "a warp with more than %u candidates may lack room for the next round's", k->s.slack);
    cj_ptx(f, "setp.gt.u32 $1, $2, $3;", full, k->mine, k->s.slack);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B11: lanes whose elements are out of bounds are with the others again");
    cj_ptx(f, "bar.red.or.pred $1, 0, $1; // B2: all threads learn it", full);
    cj_set(f, k->resume, way);
    cj_ptx(f, "@$1 bra.uni $2;", full, k->select);
    cj_label_here(f, k->after[way]);
}

void cj__topk_find_bound(const topk_kernel *k, unsigned wanted, cj_reg bound) {
    const census all = combine_warps(k);
    CJ_UNLESS_UNI(k->f, cj_le(k->f, "are_few", all.total, wanted), "no_bound") find_least(k, &all, wanted, bound);
}
