// SPDX-License-Identifier: Apache-2.0
// What the keys of a row have in common is no part of a prefix: a key becomes (key - least) << lead, where lead is the number of bits
// before the highest of most - least. Its highest bit then differs somewhere in the row, and the order stays. Small integers keep
// few bits, and take few passes.
//
//   a thread's least, most  --warp-->  ranges[warp]  --block-->  rank_ranges[rank] of every rank  --cluster-->  the row's
#include "sort.h"

static void combine_lanes(const sort_kernel *k) {
    cj_warp_reduce(k->f, (cj_combine){.op = CJ_COMBINE_MIN, .type = k->s.type}, k->least, SORT_WARP);
    cj_warp_reduce(k->f, (cj_combine){.op = CJ_COMBINE_MAX, .type = k->s.type}, k->most, SORT_WARP);
}

// Of `count` ranges a lane takes one.
static void combine_ranges(const sort_kernel *k, unsigned at, unsigned count) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    const cj_reg      range[] = {k->least, k->most};
    cj_reg            has_range = cj_lt(f, "has_range", k->lane, count);
    cj_set(f, k->least, cj__sort_greatest(k));
    cj_set(f, k->most, 0);
    cj__load(f, has_range, "ld.shared", s->type, range, 2, cj_mad(f, "range_at", k->lane, 2 * s->key_bytes, k->counts), at);
    combine_lanes(k);
}

static void combine_warps(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    const cj_reg      range[] = {k->least, k->most};
    cj_reg            first_lane = cj_eq(k->f, "first_lane", k->lane, 0);
    cj__store(k->f, first_lane, "st.shared", s->type, range, 2, cj_mad(k->f, "range_at", k->warp, 2 * s->key_bytes, k->counts), s->at.ranges);
    if (sort_warps(s) > 1) cj__sort_sync(k, "N1: the warps' ranges are written");  // else the lane that reads it wrote it
}

// Lane r of the first warp tells rank r.
static void combine_ranks(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    const cj_reg      range[] = {k->least, k->most};
    cj_reg            tells = cj_lt(f, "tells", k->thread, s->cluster);
    cj_reg            slot = cj_mad(f, "slot", k->rank, 2 * s->key_bytes, k->counts);
    CJ_IF(f, tells, "told") {
        cj_reg peer = cj_cluster_map_address(f, slot, k->thread);
        cj_dsmem_store(f, cj_always(), s->type, range, 2, peer, (int32_t)s->at.rank_ranges);
    }
    cj_cluster_sync(f, "N2: the ranges of all ranks are known");
}

// The first digit is the first of the prefix, or of all bits that differ where these are fewer digits; of equal keys it is one digit.
static void choose_start(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            range = cj_sub(f, "range", k->most, k->least);
    k->lead = cj_let(f, "u32", "lead", "clz.b$2 $1, $3;", s->bits, range);
    cj_reg differ = cj_sub(f, "bits_that_differ", cj_mov(f, "u32", "bits", s->bits), k->lead);
    cj_reg digits = cj_div(f, "digits", cj_add(f, "rounded_up", differ, s->digit - 1), s->digit);
    cj_ptx(f, "min.u32 $1, $1, $2; max.u32 $1, $1, 1;", digits, s->prefix);
    cj_reg sorted = cj_mul(f, "bits_of_digits", digits, s->digit);
    k->start = cj_let(f, "u32", "start", "sub.u32 $1, $2, $3;", s->bits, sorted);
}

void cj__sort_find_range(sort_kernel *k) {
    const sort_shape *s = &k->s;
    combine_ranges(k, s->cluster ? s->at.rank_ranges : s->at.ranges, s->cluster ? s->cluster : sort_warps(s));
    choose_start(k);
}

void cj__sort_fit(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_step(f, "keys without what they have in common");
    combine_lanes(k);
    combine_warps(k);
    if (s->cluster) {
        combine_ranges(k, s->at.ranges, sort_warps(s));
        combine_ranks(k);
    }
    cj__sort_find_range(k);
    for (unsigned i = 0; i < s->items; i++) cj_set(f, k->key[i], cj_shl(f, "key", cj_sub(f, "from_least", k->key[i], k->least), k->lead));
    const unsigned row = s->tile * (s->cluster ? s->cluster : 1);
    cj_reg         greatest = cj__sort_greatest(k);
    CJ_IF_UNI(f, cj_lt(f, "has_places_after", k->columns, row), "filled") {
        for (unsigned i = 0; i < s->items; i++) {
            cj_reg after = cj_ge(f, "after", cj_add(f, "place", k->first, SORT_WARP * i), k->columns);
            cj_set_if(f, after, k->key[i], greatest);
        }
    }
}
