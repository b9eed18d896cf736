// SPDX-License-Identifier: Apache-2.0
// Of more than k candidates the first k, in any order: what a result without an order needs in place of a sort.
//
// The greatest number t that at least k candidates are not below is searched bit by bit, from the highest bit in which
// any two candidates differ. Candidates differ from each other, so at the latest with the last bit exactly k are not
// below t, mostly long before. These move together, a block of candidates at a time: each goes to a place that was read
// by then.
//
// Barriers, and why each is needed and enough:
//   B8   bar.sync: all warps have told in which bits their candidates differ.
//   B9   bar.red of each look: counts, and holds all until `differs` and the count have been read.
//   B10  bar.sync: a block of candidates has been read before what stays of it is written; the count is 0 by then.
//   B5   as of the sort: the new count stands and the candidates are together.
#include "topk.h"

// The highest bit that differs from the pool's first candidate, of any candidate.
static void find_bit(topk_kernel *k, cj_reg bit) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), past = cj_pred(f, "past"), at = cj_u32(f, "candidate_at"), own = cj_u32(f, "own_bit"),
           highest = cj_u32(f, "highest"), first = cj_pred(f, "first_lane");
    cj_reg   one = cj_b64(f, "first_candidate"), other = cj_b64(f, "candidate"), equal = cj_pred(f, "is_first");
    cj_label next = cj_label_new(f, "next_candidate"), done = cj_label_new(f, "compared");
    cj_step(f, "the highest bit in which candidates differ");
    cj_ptx(f, "ld.shared.u64 $1, [$2];", one, k->pool);
    cj_ptx(f, "mov.u32 $1, 0;", highest);
    cj_ptx(f, "mov.u32 $1, $2;", i, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i, k->count);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "ld.shared.u64 $1, [$2];", other, at);
    cj_ptx(f, "xor.b64 $1, $1, $2;", other, one);
    cj_ptx(f, "setp.eq.u64 $1, $2, 0;", equal, other);
    cj_ptx(f, "bfind.u64 $1, $2;", own, other);
    cj_ptx(f, "@!$1 max.u32 $2, $2, $3;", equal, highest, own);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, k->s.block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
    cj_ptx(f, "redux.sync.max.u32 $1, $1, 0xffffffff;", highest);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->lane);
    cj_ptx(f, "@$1 red.shared.max.u32 [$2], $3;", first, k->differs_at, highest);
    cj_ptx(f, "bar.sync 0; // B8: what all warps found is there");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", bit, k->differs_at);
}

// A block of candidates from `base` on, one a thread: 0 behind the last.
static void load_candidate(topk_kernel *k, cj_reg base, cj_reg candidate) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), inside = cj_pred(f, "inside"), at = cj_u32(f, "candidate_at");
    cj_ptx(f, "add.u32 $1, $2, $3;", i, base, k->thread);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside, i, k->count);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "mov.u64 $1, 0;", candidate);
    cj_ptx(f, "@$1 ld.shared.u64 $2, [$3];", inside, candidate, at);
}

// least = a number that exactly k candidates are not below.
static void find_least(topk_kernel *k, cj_reg bit, cj_reg least) {
    cj_func *f = k->f;
    cj_reg mask = cj_u64(f, "mask"), probe = cj_u64(f, "probe"), base = cj_u32(f, "base"), all = cj_u32(f, "not_below"),
           part = cj_u32(f, "part"), passes = cj_pred(f, "passes"), more = cj_pred(f, "more");
    cj_reg   candidate = cj_u64(f, "candidate"), enough = cj_pred(f, "enough"), exact = cj_pred(f, "exact");
    cj_label next = cj_label_new(f, "next_bit"), count = cj_label_new(f, "next_block"), done = cj_label_new(f, "found");
    cj_step(f, "the greatest number that %u candidates are not below, bit by bit, until it is exactly so many", k->s.k);
    cj_ptx(f, "mov.u64 $1, 1;", mask);
    cj_ptx(f, "shl.b64 $1, $1, $2;", mask, bit);
    cj_ptx(f, "ld.shared.u64 $1, [$2];", least, k->pool);
    cj_ptx(f, "neg.s64 $1, $2;", probe, mask);
    cj_ptx(f, "shl.b64 $1, $1, 1;", probe);
    cj_ptx(f, "and.b64 $1, $1, $2; // the bits above are the same in all", least, probe);
    cj_label_here(f, next);
    cj_ptx(f, "or.b64 $1, $2, $3;", probe, least, mask);
    cj_ptx(f, "mov.u32 $1, 0;", all);
    cj_ptx(f, "mov.u32 $1, 0;", base);
    cj_label_here(f, count);
    load_candidate(k, base, candidate);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3;", passes, candidate, probe);
    cj_ptx(f, "bar.red.popc.u32 $1, 0, $2; // B9: how many are not below", part, passes);
    cj_ptx(f, "add.u32 $1, $1, $2;", all, part);
    cj_ptx(f, "add.u32 $1, $1, $2;", base, k->s.block);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, base, k->count);
    cj_ptx(f, "@$1 bra.uni $2;", more, count);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", enough, all, k->s.k);
    cj_ptx(f, "@$1 mov.u64 $2, $3;", enough, least, probe);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", exact, all, k->s.k);
    cj_ptx(f, "@$1 bra.uni $2;", exact, done);
    cj_ptx(f, "shr.u64 $1, $1, 1;", mask);
    cj_ptx(f, "setp.ne.u64 $1, $2, 0;", more, mask);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
    cj_label_here(f, done);
}

// Those that are not below `least` go to the pool's beginning; the count becomes theirs.
static void move_together(topk_kernel *k, cj_reg least) {
    cj_func *f = k->f;
    cj_reg   leader = cj_pred(f, "leader"), base = cj_u32(f, "base"), candidate = cj_u64(f, "candidate"),
           stays = cj_pred(f, "stays"), more = cj_pred(f, "more"), ballot = {0}, place = cj_u32(f, "place"),
           all = cj_u32(f, "all");
    cj_label next = cj_label_new(f, "next_to_move");
    cj_step(f, "they move together, and the key of that number is the threshold");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", leader, k->count_at);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", leader, k->differs_at);
    cj_ptx(f, "mov.u32 $1, 0;", base);
    cj_label_here(f, next);
    load_candidate(k, base, candidate);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3;", stays, candidate, least);
    cj_ptx(f, "bar.sync 0; // B10: these candidates have been read");
    cj__topk_reserve(k, 1, &stays, &ballot, place, all);
    cj__topk_put(k, stays, ballot, place, candidate);
    cj_ptx(f, "add.u32 $1, $1, $2;", base, k->s.block);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, base, k->count);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
}

void cj__topk_select(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   few = cj_pred(f, "are_few"), bit = cj_u32(f, "bit"), least = cj_u64(f, "least"), low = cj_b32(f, "low");
    cj_label done = cj_label_new(f, "selected");
    cj_step(f, "of more than %u candidates the first %u stay, in any order", k->s.k, k->s.k);
    cj_label_here(f, k->sort);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", k->count, k->count_at);
    cj_ptx(f, "setp.le.u32 $1, $2, $3;", few, k->count, k->s.k);
    cj_ptx(f, "@$1 bra.uni $2;", few, done);
    find_bit(k, bit);
    find_least(k, bit, least);
    move_together(k, least);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, k->threshold, least);
    cj_ptx(f, "setp.ne.u32 $1, 0, 0;", k->filling);
    cj_ptx(f, "mov.u32 $1, $2;", k->count, k->s.k);
    cj_label_here(f, done);
    cj_ptx(f, "bar.sync 0; // B5: the new count stands");
}
