// SPDX-License-Identifier: Apache-2.0
// form=warp: a row of few columns, sorted in the registers of a warp's lanes, or of part of them, so that a warp has several rows.
//
// A lane has 1, 2, 4 or 8 candidates side by side: place p of the row's is candidate p % each of lane p / each. All are sorted,
// the greatest first, by a bitonic network in which every pair is in the same order: runs of `size` come from the two runs of half
// of it by pairs that are mirrored in the run, and then by pairs of half the distance again and again. Pairs of a lane
// compare registers, others shuffle. Elements of 16 bits become candidates of 32: the key above the complement of the column.
// Nothing is in shared memory, and no barrier is needed. Columns out of bounds are the least candidate, and come last.
#include "topk.h"

typedef struct warp {
    const topk_kernel *k;
    bool               narrow;  // candidates of 32 bits
    cj_reg             candidate[TOPK_WARP_EACH];
    cj_reg             in_row, there;  // the lane in its row; whether the row is one of the matrix
    cj_reg             later[TOPK_WARP_BITS];  // whether bit i of in_row is set: of a pair that differs there, the later lane
} warp;

// ---- candidates

static cj_reg load_key(const warp *w, cj_reg inside, cj_reg column) {
    const topk_kernel *k = w->k;
    cj_func           *f = k->f;
    cj_reg             at = cj_mad_wide(f, "at", column, k->s.bytes, k->base);
    if (k->s.bytes == 4) {
        cj_reg word = cj_mov(f, "b32", "word", 0);
        cj_ptx(f, "@$1 $4.b32 $2, [$3];", inside, word, at, cj__load_given(k->plan));
        return word;
    }
    cj_reg half = cj_let(f, "b16", "half", "mov.b16 $1, 0;");
    cj_ptx(f, "@$1 $4.b16 $2, [$3];", inside, half, at, cj__load_given(k->plan));
    return cj_let(f, "b32", "word", "mov.b32 $1, {0, $2};", half);
}

static cj_reg make_candidate(const warp *w, cj_reg inside, cj_reg column, cj_reg word) {
    cj_func *f = w->k->f;
    cj_reg   key = cj__topk_key_of_bits(w->k, word), low = cj_let(f, "u32", "low", "not.b32 $1, $2;", column);
    if (w->narrow) {
        cj_reg both = cj_let(f, "u32", "both", "prmt.b32 $1, $2, $3, 0x7610; // the key's upper half above the column's",
                             low, key);
        return cj_select(f, "u32", "candidate", inside, both, 0);
    }
    cj_reg candidate = cj_let(f, "u64", "candidate", "mov.b64 $1, {$2, $3};", low, key);
    return cj_select(f, "u64", "candidate", inside, candidate, 0);
}

// Loads of neighbouring lanes are of neighbouring columns: before the sort any candidate may be in any place.
static void read_row(warp *w) {
    const topk_shape *s = &w->k->s;
    cj_func          *f = w->k->f;
    cj_reg            column[TOPK_WARP_EACH], inside[TOPK_WARP_EACH], word[TOPK_WARP_EACH];
    cj_step(f, "the row: %u element%s a lane, of %u lanes", s->each, s->each > 1 ? "s" : "", s->lanes);
    for (unsigned e = 0; e < s->each; e++) {
        column[e] = e ? cj_add(f, "column", w->in_row, e * s->lanes) : w->in_row;
        inside[e] = cj_let(f, "pred", "inside", "setp.lt.and.u32 $1, $2, $3, $4;", column[e], w->k->columns, w->there);
        word[e] = load_key(w, inside[e], column[e]);
    }
    for (unsigned e = 0; e < s->each; e++) w->candidate[e] = make_candidate(w, inside[e], column[e], word[e]);
}

// ---- the network

// Two of the lane's own: the greater one first.
static void order_own(warp *w, unsigned first, unsigned second) {
    cj_reg a = w->candidate[first], b = w->candidate[second];
    if (w->narrow) {
        w->candidate[first] = cj_max(w->k->f, "candidate", a, b);
        w->candidate[second] = cj_min(w->k->f, "candidate", a, b);
        return;
    }
    cj_reg less = cj_lt(w->k->f, "less", a, b);
    w->candidate[first] = cj_select(w->k->f, "u64", "candidate", less, b, a);
    w->candidate[second] = cj_select(w->k->f, "u64", "candidate", less, a, b);
}

static cj_reg of_lane(const warp *w, cj_reg candidate, unsigned mask) {
    cj_func *f = w->k->f;
    if (w->narrow) return cj_let(f, "u32", "other", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", candidate, mask);
    cj_reg low = cj_u32(f, "low"), high = cj_u32(f, "high");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, high, candidate);
    cj_ptx(f, "shfl.sync.bfly.b32 $1, $1, $2, 31, 0xffffffff;", low, mask);
    cj_ptx(f, "shfl.sync.bfly.b32 $1, $1, $2, 31, 0xffffffff;", high, mask);
    return cj_let(f, "u64", "other", "mov.b64 $1, {$2, $3};", low, high);
}

// The lane keeps the less of the two if it is the later lane, else the greater.
static cj_reg keep(const warp *w, cj_reg own, cj_reg other, cj_reg is_later) {
    cj_func *f = w->k->f;
    if (w->narrow) {
        cj_reg greater = cj_max(f, "greater", own, other), less = cj_min(f, "less", own, other);
        return cj_select(f, "u32", "candidate", is_later, less, greater);
    }
    cj_reg takes = cj_let(f, "pred", "takes", "setp.lt.xor.u64 $1, $2, $3, $4;", own, other, is_later);
    return cj_select(f, "u64", "candidate", takes, other, own);
}

// Pairs of lanes that differ in the bits of `mask`, the highest of which says which is the later; mirrored: the last candidate of one with the first of the other.
static void order_lanes(warp *w, unsigned mask, bool mirrored) {
    const unsigned each = w->k->s.each;
    cj_reg         other[TOPK_WARP_EACH], is_later = w->later[cj__log2(mask)];
    for (unsigned e = 0; e < each; e++) other[e] = of_lane(w, w->candidate[mirrored ? each - 1 - e : e], mask);
    for (unsigned e = 0; e < each; e++) w->candidate[e] = keep(w, w->candidate[e], other[e], is_later);
}

// Pairs `mask` apart, in places of the row: mirrored in runs of mask + 1, or at a distance of mask.
static void order_pairs(warp *w, unsigned mask, bool mirrored) {
    const unsigned each = w->k->s.each;
    if (mask >= each) {
        order_lanes(w, mask / each, mirrored);
        return;
    }
    for (unsigned e = 0; e < each; e++)
        if ((e ^ mask) > e) order_own(w, e, e ^ mask);
}

static void sort_row(warp *w) {
    const unsigned places = w->k->s.lanes * w->k->s.each;
    cj_step(w->k->f, "its %u places in order, the greatest first", places);
    for (unsigned bit = 0; 1u << bit < w->k->s.lanes; bit++)
        w->later[bit] = cj_ne(w->k->f, "is_later", cj_and(w->k->f, "later", w->in_row, 1 << bit), 0);
    for (unsigned size = 2; size <= places; size *= 2) {
        order_pairs(w, size - 1, true);
        for (unsigned distance = size / 4; distance; distance /= 2) order_pairs(w, distance, false);
    }
}

// ---- results

static cj_reg column_of(const warp *w, cj_reg candidate) {
    cj_func *f = w->k->f;
    if (w->narrow) return cj_xor(f, "index", cj_and(f, "low", candidate, 0xffff), 0xffff);
    cj_reg low = cj_u32(f, "low"), key = cj_b32(f, "key");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, key, candidate);
    return cj_let(f, "u32", "index", "not.b32 $1, $2;", low);
}

static void write_row(const warp *w) {
    const topk_shape *s = &w->k->s;
    const unsigned    first = cj__topk_first(s);
    cj_func          *f = w->k->f;
    cj_step(f, "results, with the bits that x has");
    const topk_results r = cj__topk_results_open(w->k);
    cj_reg             own = s->each > 1 ? cj_mul(f, "own_place", w->in_row, s->each) : w->in_row;
    for (unsigned e = 0; e < s->each; e++) {
        cj_reg place = cj_sub(f, "place", e ? cj_add(f, "place", own, e) : own, first);
        cj_reg writes = cj_let(f, "pred", "writes", "setp.lt.and.u32 $1, $2, $3, $4;", place, s->k - first, w->there);
        CJ_IF(f, writes, "no_result") {
            cj__topk_write_result(w->k, &r, column_of(w, w->candidate[e]), place);
        }
    }
    cj_ptx(f, "ret;");
}

void cj__topk_warp(topk_kernel *k) {
    warp w = {.k = k, .narrow = k->s.bytes == 2};
    cj_step(k->f, "the lane's place in its row");
    w.in_row = cj_and(k->f, "in_row", k->lane, k->s.lanes - 1);
    w.there = cj_lt(k->f, "row_is_there", k->row, cj__load_param(k->f, "u32", k->rows_at, "rows"));
    read_row(&w);
    sort_row(&w);
    write_row(&w);
}
