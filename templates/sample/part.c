// SPDX-License-Identifier: Apache-2.0
// The part of the row that has the goal. A block counts keys of each of some parts of what it has, one after the other in the row's order, so once the
// last kept key is known the counts say the mass of each part; the draw goes through the elements of one part alone.
//
//   bins[part][]   counts of keys          own block
//   upto[part][]   a warp's sums over its bins, of each part
//   parts[]        the sums of all parts of the row, every block
#include "sample.h"

typedef struct part_sums {
    cj_reg mass[SAMPLE_PARTS_MOST], ties[SAMPLE_PARTS_MOST], fails;
} part_sums;

// What is kept of a bin, of each part.
static void add_bin(const sample_kernel *k, cj_reg bin, const cj_reg *count, part_sums *s) {
    cj_func *f = k->f;
    cj_reg   value = cj__sample_count_value(k, bin), kept = cj_let(f, "pred", "kept", "setp.gt.f32 $1, $2, $3;", value, k->dropped);
    cj_reg   equal = cj_let(f, "pred", "equal", "setp.ge.and.f32 $1, $2, $3, !$4;", value, k->tied, kept);
    cj_reg   mass = cj__sample_count_mass(k, bin, s->fails);
    cj_ptx(f, "@!$1 mov.u64 $2, 0;", kept, mass);
    if (k->s.min_p) cj_ptx(f, "@$1 mov.u64 $2, 0;", cj_lt(f, "drops", mass, k->least_mass), mass);
    for (unsigned p = 0; p < k->s.parts; p++)
        cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", s->mass[p], mass, cj_cvt(f, "u64", "count_wide", count[p]));
    for (unsigned p = 0; p < k->s.parts; p++) cj_ptx(f, "@$1 add.u32 $2, $2, $3;", equal, s->ties[p], count[p]);
}

// The thread's sums over its bins of the block.
static void add_bins(const sample_kernel *k, part_sums *s) {
    cj_func *f = k->f;
    cj_reg   size = cj_let(f, "f32", "tied_size", "abs.f32 $1, $2;", k->tied), some_are = cj_ne(f, "not_all_are_kept", k->least, 0);
    s->fails = cj_let(f, "pred", "fails", "setp.lt.and.f32 $1, $2, 0f33800000, $3; // 2^-24: ties are in the middle bin", size, some_are);
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
    cj__sample_count_fails(k, s.fails);
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
        cj__sample_spread(k, SAMPLE_WARP, "b64", sums, 2, cj_mad(f, "part_at", number, SAMPLE_RECORD, table));
    }
    cj__sample_sync(k, "S19: every block has the sums of all parts");
    cj_reg words[] = {cj_mov(f, "u64", "mass", 0), cj_mov(f, "u64", "ties_word", 0)};
    cj_reg is_part = cj_lt(f, "is_part", k->lane, k->s.parts * k->s.blocks);
    cj__load(f, is_part, "ld.shared", "b64", words, 2, cj_mad(f, "part_at", k->lane, SAMPLE_RECORD, table), 0);
    return (sample_sums){words[0], cj_cvt(f, "u32", "ties", words[1])};
}

cj_reg cj__sample_narrow(sample_kernel *k, const sample_part *part) {
    cj_func       *f = k->f;
    const unsigned warps = k->s.warps / k->s.parts;
    cj_reg first = cj_min(f, "part_first", cj_mul(f, "part_first", cj_mul(f, "first_record", part->number, warps), k->each), k->vectors);
    cj_reg end = cj_min(f, "part_end", cj_add(f, "part_end", first, cj_mul(f, "part_each", k->each, warps)), k->vectors);
    cj_reg each = cj__sample_quotient(k, "each", cj_add(f, "rounded", cj_sub(f, "part_vectors", end, first), k->s.warps - 1), k->s.warps);
    cj_set(f, k->first, cj_min(f, "first", cj_mad(f, "first", k->warp, each, first), end));
    cj_set(f, k->end, cj_min(f, "end", cj_add(f, "end", k->first, each), end));
    if (!k->s.cluster) return cj_let(f, "pred", "is_here", "setp.eq.u32 $1, 0, 0;");
    return cj_eq(f, "is_here", cj__sample_quotient(k, "part_rank", part->number, k->s.parts), k->rank);
}

// Lane i has the sums of part i: the first part that does not end before the goal has it.
sample_part cj__sample_part(sample_kernel *k) {
    cj_func        *f = k->f;
    const cj_prefix wide = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u64"}, .lane = k->lane};
    const cj_prefix word = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj_step(f, "the part of the row that has the goal, by the counts of keys");
    const sample_sums own = sum_parts(k);
    sample_part part = {.number = cj_u32(f, "part_number"), .failed = cj_pred(f, "failed")};
    cj_reg flag = cj_let(f, "u32", "flag", "ld.shared.u32 $1, [$2 + $3];", cj_shared_address(f, k->told), (int)SAMPLE_AT_FAILS);
    cj_set(f, part.failed, cj_ne(f, "failed", flag, 0));
    cj_reg mass = cj_mov(f, "u64", "mass_upto", own.mass), ties = cj_mov(f, "u32", "ties_upto", own.ties);
    cj__prefix_lanes(&wide, mass, NULL, SAMPLE_WARP);
    cj__prefix_lanes(&word, ties, NULL, SAMPLE_WARP);
    cj_reg upto = cj__sample_with_ties(k, "upto", mass, cj_min(f, "first_ties", ties, k->ties));
    part.all = cj__prefix_pick(&wide, "row_mass", upto, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP);
    part.goal = cj__sample_goal(k, part.all);
    cj_reg before = cj_le(f, "is_before", upto, part.goal);
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;\npopc.b32 $1, $1; min.u32 $1, $1, $3;", part.number, before, SAMPLE_WARP - 1);
    cj_reg mass_before = cj_sub(f, "mass_before", mass, own.mass), ties_before = cj_sub(f, "ties_before", ties, own.ties);
    part.before.mass = cj__prefix_pick(&wide, "mass_before", mass_before, CJ_ARG(part.number), SAMPLE_WARP);
    part.before.ties = cj__prefix_pick(&word, "ties_before", ties_before, CJ_ARG(part.number), SAMPLE_WARP);
    return part;
}
