// SPDX-License-Identifier: Apache-2.0
// The part of the row that has the goal. A block counts keys of each of some parts of what it has, one after the other in the row's order, so once the
// last kept key is known the counts say the mass of each part; the draw goes through the elements of one part alone.
//
//   bins[part][]   counts of keys          own block
//   upto[part][]   a warp's sums over its bins, of each part
//   parts[]        the sums of all parts of the row, every block
#include "sample.h"

typedef struct part_sums {
    cj_reg mass[SAMPLE_PARTS_MOST], ties[SAMPLE_PARTS_MOST];
} part_sums;

// What is kept of a bin, of each part.
static void add_bin(const sample_kernel *k, cj_reg bin, const cj_reg *count, const part_sums *s) {
    cj_func *f = k->f;
    cj_reg   value = cj__sample_count_value(k, bin), kept = cj_let(f, "pred", "kept", "setp.gt.f32 $1, $2, $3;", value, k->dropped);
    cj_reg   equal = cj_let(f, "pred", "equal", "setp.ge.and.f32 $1, $2, $3, !$4;", value, k->tied, kept);
    CJ_IF(f, kept, "is_not_kept") {
        cj_reg mass = cj__sample_mass(k, cj__sample_exponent(k, value));
        if (k->s.min_p) cj_ptx(f, "@$1 mov.u64 $2, 0;", cj_lt(f, "drops", mass, k->least_mass), mass);
        for (unsigned p = 0; p < k->s.parts; p++)
            cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", s->mass[p], mass, cj_cvt(f, "u64", "count_wide", count[p]));
    }
    for (unsigned p = 0; p < k->s.parts; p++) cj_ptx(f, "@$1 add.u32 $2, $2, $3;", equal, s->ties[p], count[p]);
}

// The thread's sums over its bins of the block.
static void add_bins(const sample_kernel *k, part_sums *s) {
    cj_func *f = k->f;
    for (unsigned p = 0; p < k->s.parts; p++) {
        s->mass[p] = cj_mov(f, "u64", "part_mass", 0);
        s->ties[p] = cj_mov(f, "u32", "part_ties", 0);
    }
    CJ_FOR(f, bin, "u32", "bin_number", k->thread, 2 * SAMPLE_KEYS, k->s.block) {
        cj_reg count[SAMPLE_PARTS_MOST], at = cj_mad(f, "bin_at", bin, 4, k->bins_at), some = cj_mov(f, "u32", "some", 0);
        for (unsigned p = 0; p < k->s.parts; p++) {
            count[p] = cj_let(f, "u32", "bin_count", "ld.shared.u32 $1, [$2 + $3];", at, (int)(p * SAMPLE_BINS_BYTES));
            cj_update(f, some, "or", count[p]);
        }
        CJ_IF(f, cj_ne(f, "has_some", some, 0), "none") add_bin(k, bin, count, s);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

// The sums of all parts of the row: lane i's is that of part i.
static sample_sums sum_parts(const sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   upto = cj_shared_address(f, k->upto), table = cj_shared_address(f, k->parts), leads = cj_eq(f, "leads", k->lane, 0);
    part_sums s;
    add_bins(k, &s);
    for (unsigned p = 0; p < k->s.parts; p++) {
        cj_reg mass = cj__sample_sum(k, "u64", s.mass[p]), ties = cj_cvt(f, "u64", "ties_word", cj__sample_sum(k, "u32", s.ties[p]));
        const cj_reg words[] = {mass, ties};
        cj__store(f, leads, "st.shared", "b64", words, 2, cj_mad(f, "upto_at", k->warp, SAMPLE_RECORD, upto), p * SAMPLE_WARP * SAMPLE_RECORD);
    }
    cj_ptx(f, "bar.sync 0; // S18: the warps' sums of each part are written");
    CJ_IF_UNI(f, cj_lt(f, "has_part", k->warp, k->s.parts), "no_part") {
        cj_reg words[] = {cj_mov(f, "u64", "warp_mass", 0), cj_mov(f, "u64", "warp_ties", 0)};
        cj_reg at = cj_mad(f, "upto_at", cj_mad(f, "entry", k->warp, SAMPLE_WARP, k->lane), SAMPLE_RECORD, upto);
        cj__load(f, cj_lt(f, "has_warp", k->lane, k->s.warps), "ld.shared", "b64", words, 2, at, 0);
        const cj_reg sums[] = {cj__sample_sum(k, "u64", words[0]), cj__sample_sum(k, "u64", words[1])};
        cj_reg       number = k->s.cluster ? cj_mad(f, "part_number", k->rank, k->s.parts, k->warp) : k->warp;
        cj__sample_push(k, leads, "b64", sums, 2, cj_mad(f, "part_at", number, SAMPLE_RECORD, table));
    }
    cj__sample_sync(k, "S19: every block has the sums of all parts");
    cj_reg words[] = {cj_mov(f, "u64", "mass", 0), cj_mov(f, "u64", "ties_word", 0)};
    cj__load(f, cj_lt(f, "is_part", k->lane, k->s.parts * k->s.blocks), "ld.shared", "b64", words, 2, cj_mad(f, "part_at", k->lane, SAMPLE_RECORD, table), 0);
    return (sample_sums){words[0], cj_cvt(f, "u32", "ties", words[1])};
}

// The warps' vectors become those of the part, which is one of this block's.
static void narrow(sample_kernel *k, cj_reg part) {
    cj_func       *f = k->f;
    const unsigned warps = k->s.warps / k->s.parts;
    cj_reg first = cj_min(f, "part_first", cj_mul(f, "part_first", cj_mul(f, "first_record", part, warps), k->each), k->vectors);
    cj_reg end = cj_min(f, "part_end", cj_add(f, "part_end", first, cj_mul(f, "part_each", k->each, warps)), k->vectors);
    cj_reg each = cj__sample_quotient(k, "each", cj_add(f, "rounded", cj_sub(f, "part_vectors", end, first), k->s.warps - 1), k->s.warps);
    cj_set(f, k->first, cj_min(f, "first", cj_mad(f, "first", k->warp, each, first), end));
    cj_set(f, k->end, cj_min(f, "end", cj_add(f, "end", k->first, each), end));
}

sample_part cj__sample_part(sample_kernel *k) {
    cj_func        *f = k->f;
    const cj_prefix lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u64"}, .lane = k->lane};
    const cj_prefix narrow_lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj_step(f, "the part of the row that has the goal, by the counts of keys");
    const sample_sums own = sum_parts(k);
    cj_reg mass = cj_mov(f, "u64", "mass_upto", own.mass), ties = cj_mov(f, "u32", "ties_upto", own.ties);
    cj__prefix_lanes(&lanes, mass, NULL, SAMPLE_WARP);
    cj__prefix_lanes(&narrow_lanes, ties, NULL, SAMPLE_WARP);
    cj_reg upto = cj__sample_with_ties(k, "upto", mass, cj_min(f, "first_ties", ties, k->ties));
    sample_part part = {.all = cj__prefix_pick(&lanes, "row_mass", upto, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP)};
    part.goal = cj__sample_goal(k, part.all);
    cj_reg passed = cj_u32(f, "passed"), number = cj_u32(f, "part_number");
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;\npopc.b32 $3, $1; // parts that end before the goal", passed,
           cj_le(f, "is_before", upto, part.goal), number);
    cj_ptx(f, "min.u32 $1, $1, $2;", number, SAMPLE_WARP - 1);
    cj_reg before = cj_sub(f, "mass_before", mass, own.mass), ties_before = cj_sub(f, "ties_before", ties, own.ties);
    part.before.mass = cj__prefix_pick(&lanes, "mass_before", before, CJ_ARG(number), SAMPLE_WARP);
    part.before.ties = cj__prefix_pick(&narrow_lanes, "ties_before", ties_before, CJ_ARG(number), SAMPLE_WARP);
    part.here = k->s.cluster ? cj_eq(f, "is_here", cj__sample_quotient(k, "part_rank", number, k->s.parts), k->rank) : cj_let(f, "pred", "is_here", "setp.eq.u32 $1, 0, 0;");
    narrow(k, number);
    return part;
}
