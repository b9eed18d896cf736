// SPDX-License-Identifier: Apache-2.0
// The selected candidates in order. Of a few each counts how many are greater, which is its place; more take a bitonic
// sort.
//
// A warp has a run of the pool in registers: each lane 2, 4 or 8 candidates side by side. It sorts its run there, by
// selections within a lane and shuffles between lanes. Then runs double: the pairs of a step that are a run or more
// apart are compared in shared memory, and the steps below it take each warp's run into registers again.
//
//   pool   | run of warp 0 | run of warp 1 | …     size of a run: 32 lanes of 2, 4 or 8 candidates
//          | lane 0 | lane 1 | …
//
// Barriers:
//   B3  bar.sync   the places after the candidates are filled, and candidates written, before warps read their runs
//   B4  bar.sync   what a step, or the steps in registers, have written is there before other warps read it
#include "topk.h"

enum { SORT_EACH_LEAST = 2, SORT_EACH_MOST = 8, SORT_VECTOR = 2 };  // candidates of a lane; of an access

typedef struct sort {
    const topk_kernel *k;
    unsigned           each, run, places;  // candidates of a lane, of a warp, of the pool
    cj_reg             candidate[SORT_EACH_MOST];
} sort;

// ---- steps in shared memory

// One step: pairs `stride` apart, one a thread in turns; runs of `size` are in order afterwards, every second one in
// reverse.
static void emit_step(const sort *s, cj_reg size, cj_reg stride) {
    const topk_kernel *k = s->k;
    cj_func           *f = k->f;
    CJ_STRIDE(f, pair, cj_mov(f, "u32", "pair", k->thread), k->s.block, s->places / 2) {
        cj_reg within = cj_and(f, "within", cj_sub(f, "mask", stride, 1), pair);
        cj_reg place = cj_sub(f, "place", cj_shl(f, "twice", pair, 1), within);
        cj_reg rises = cj_ne(f, "rises", cj_and(f, "run", place, size), 0);
        cj_reg at = cj_mad(f, "pair_at", place, TOPK_CANDIDATE, k->pool);
        cj_reg to = cj_mad(f, "partner_at", stride, TOPK_CANDIDATE, at);
        cj_reg a = cj_let(f, "u64", "a", "ld.shared.u64 $1, [$2];", at),
               b = cj_let(f, "u64", "b", "ld.shared.u64 $1, [$2];", to);
        cj_reg swaps = cj_let(f, "pred", "swaps", "setp.lt.xor.u64 $1, $2, $3, $4;", a, b, rises);
        cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", swaps, at, b);
        cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", swaps, to, a);
    }
}

// ---- steps in registers

// Two of the lane's own: the greater one first, or last where `rises` holds.
static void order_own(cj_func *f, cj_reg first, cj_reg second, cj_reg rises) {
    cj_reg swaps = cj_let(f, "pred", "swaps", "setp.lt.xor.u64 $1, $2, $3, $4;", first, second, rises);
    cj_reg old = cj_mov(f, "b64", "old", first);
    cj_ptx(f, "selp.b64 $1, $2, $1, $3;", first, second, swaps);
    cj_ptx(f, "selp.b64 $1, $2, $1, $3;", second, old, swaps);
}

// This lane's and that of the lane `lanes` away: this one keeps the less where `less` holds, else the greater.
static void order_with_lane(cj_func *f, cj_reg own, unsigned lanes, cj_reg less) {
    cj_reg half[2] = {cj_b32(f, "low"), cj_b32(f, "high")}, other = cj_register(f, "b64", "other");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", half[0], half[1], own);
    for (unsigned i = 0; i < 2; i++) cj_ptx(f, "shfl.sync.bfly.b32 $1, $1, $2, 31, 0xffffffff;", half[i], lanes);
    cj_ptx(f, "mov.b64 $1, {$2, $3};", other, half[0], half[1]);
    cj_reg takes = cj_let(f, "pred", "takes", "setp.lt.xor.u64 $1, $2, $3, $4;", own, other, less);
    cj_ptx(f, "selp.b64 $1, $2, $1, $3;", own, other, takes);
}

// A step of pairs `stride` apart; `rises`: of each of the lane's candidates.
static void emit_own_step(const sort *s, unsigned stride, const cj_reg *rises) {
    cj_func *f = s->k->f;
    if (stride < s->each) {
        for (unsigned i = 0; i < s->each; i++)
            if (!(i & stride)) order_own(f, s->candidate[i], s->candidate[i + stride], rises[i]);
        return;
    }
    const unsigned lanes = stride / s->each;
    cj_reg         is_second = cj_ne(f, "is_second", cj_and(f, "second", s->k->lane, lanes), 0);
    cj_reg         less = cj_let(f, "pred", "less", "xor.pred $1, $2, $3;", is_second, rises[0]);
    for (unsigned i = 0; i < s->each; i++) order_with_lane(f, s->candidate[i], lanes, less);
}

// Runs of `size`, at most a warp's, are in order afterwards: the directions of runs follow from their places.
static void emit_own_size(const sort *s, unsigned size, cj_reg run_rises) {
    cj_func *f = s->k->f;
    cj_reg   rises[SORT_EACH_MOST];
    if (size < s->each) {
        cj_reg never = cj_ne(f, "never", s->k->lane, s->k->lane), always = cj_eq(f, "always", s->k->lane, s->k->lane);
        for (unsigned i = 0; i < s->each; i++) rises[i] = i & size ? always : never;
    } else {
        cj_reg one = size < s->run ? cj_ne(f, "rises", cj_and(f, "in_run", s->k->lane, size / s->each), 0) : run_rises;
        for (unsigned i = 0; i < s->each; i++) rises[i] = one;
    }
    for (unsigned stride = size / 2; stride; stride /= 2) emit_own_step(s, stride, rises);
}

// ---- runs

// Each warp's runs in turns: read, in order by the sizes from `from` to that of a run, written. `size`: of the runs that
// are in order afterwards, or of which a run is a part.
static void emit_runs(const sort *s, unsigned from, cj_reg size) {
    const topk_kernel *k = s->k;
    cj_func           *f = k->f;
    cj_reg             warp = cj_shr(f, "run", k->thread, 5);
    CJ_STRIDE(f, run, warp, k->s.block / TOPK_WARP, s->places / s->run) {
        cj_reg first = cj_mul(f, "first", run, s->run);
        cj_reg at = cj_mad(f, "run_at", first, TOPK_CANDIDATE, k->pool);
        at = cj_mad(f, "own_at", k->lane, s->each * TOPK_CANDIDATE, at);
        cj_reg rises = cj_ne(f, "run_rises", cj_and(f, "part", first, size), 0);
        for (unsigned i = 0; i < s->each; i += SORT_VECTOR)
            cj__load(f, cj_always(), "ld.shared", "b64", s->candidate + i, SORT_VECTOR, at, i * TOPK_CANDIDATE);
        for (unsigned own = from; own <= s->run; own *= 2) emit_own_size(s, own, rises);
        for (unsigned i = 0; i < s->each; i += SORT_VECTOR)
            cj__store(f, cj_always(), "st.shared", "b64", s->candidate + i, SORT_VECTOR, at, i * TOPK_CANDIDATE);
    }
    cj_ptx(f, "bar.sync 0; // B4: all runs are in order");
}

// Bitonic, the greatest first.
static void emit_network(const sort *s) {
    cj_func *f = s->k->f;
    cj_reg   size = cj_mov(f, "u32", "size", s->run);
    cj_note(f, "each warp's runs");
    emit_runs(s, 2, size);
    if (s->places == s->run) return;
    cj_note(f, "runs of twice the size, again and again");
    CJ_DO_UNI(f, "next_size", cj_lt(f, "more_sizes", size, s->places)) {
        cj_update(f, size, "shl", 1);
        cj_reg stride = cj_shr(f, "stride_of_pairs", size, 1);
        CJ_DO_UNI(f, "next_stride", cj_ge(f, "more_strides", stride, s->run)) {
            emit_step(s, size, stride);
            cj_ptx(f, "bar.sync 0; // B4: all pairs are in order");
            cj_update(f, stride, "shr", 1);
        }
        emit_runs(s, s->run, size);
    }
}

void cj__topk_sort(const topk_kernel *k) {
    cj_func       *f = k->f;
    const unsigned places = (unsigned)cj__most(cj__power_from(k->s.k), 2 * TOPK_WARP);
    const unsigned each = (unsigned)cj__most(SORT_EACH_LEAST,
                                             cj__least(1u << cj__log2(places / k->s.block), SORT_EACH_MOST));
    sort           s = {.k = k, .each = each, .run = each * TOPK_WARP, .places = places};
    cj_step(f, "sort: a power of two of places, filled with what is less than any candidate");
    CJ_STRIDE(f, i, cj_add(f, "i", k->count, k->thread), k->s.block, places) {
        cj_ptx(f, "st.shared.u64 [$1], 0;", cj_mad(f, "pad_at", i, TOPK_CANDIDATE, k->pool));
    }
    for (unsigned i = 0; i < each; i++) s.candidate[i] = cj_register(f, "b64", "candidate");
    cj_ptx(f, "bar.sync 0; // B3: every place is filled");
    emit_network(&s);
}
