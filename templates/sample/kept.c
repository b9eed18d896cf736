// SPDX-License-Identifier: Apache-2.0
// What the filters keep: the mass of an element, and passes over them with the first ties of the row. Ties, elements with the last kept
// key, are counted in the order of indices, over lanes and warps.
#include "sample.h"

// +infinity counts as the greatest number of the type, so of ties with that number it is one.
void cj__sample_limits(sample_kernel *k) {
    cj_reg all = cj_eq(k->f, "all_are_kept", k->least, 0);
    k->tied = cj__sample_value(k, k->least);
    cj_ptx(k->f, "@$1 mov.b32 $2, 0fff800000;", all, k->tied);
    k->dropped = cj_mov(k->f, "f32", "dropped", k->tied);
    cj__sample_cap_up(k, k->dropped);
}

cj_reg cj__sample_kept(sample_kernel *k, cj_reg v, cj_reg ties, cj_reg *equal, cj_reg *kept) {
    cj_func *f = k->f;
    cj_reg   mass = cj__sample_mass(k, cj__sample_exponent(k, v));
    *kept = cj_let(f, "pred", "kept", "setp.gt.f32 $1, $2, $3; // but NaN", v, k->dropped);
    *equal = cj_let(f, "pred", "equal", "setp.ge.and.f32 $1, $2, $3, !$4;", v, k->tied, *kept);
    if (k->s.min_p) cj_ptx(f, "setp.ge.and.u64 $1, $2, $3, $1;", *kept, mass, k->least_mass);
    cj_ptx(f, "@$1 add.u32 $2, $2, 1;", *equal, ties);
    return mass;
}

void cj__sample_weigh(sample_kernel *k, const cj_reg *v, cj_reg seen, cj_reg *weight) {
    cj_func        *f = k->f;
    const cj_prefix narrow = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj_reg          equal[SAMPLE_WIDTH], kept, ties = cj_mov(f, "u32", "ties", 0);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    cj_reg upto = cj_u32(f, "ties_upto"), place = cj_u32(f, "tie_place");
    for (unsigned e = 0; e < k->s.width; e++) {
        weight[e] = cj__sample_kept(k, v[e], ties, &equal[e], &kept);
        cj_ptx(f, "@!$1 mov.u64 $2, 0;", kept, weight[e]);
    }
    cj_set(f, upto, ties);
    cj__prefix_lanes(&narrow, upto, NULL, SAMPLE_WARP);
    cj_ptx(f, "sub.u32 $1, $2, $3;\nadd.u32 $1, $1, $4;", place, upto, ties, seen);
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg first = cj_let(f, "pred", "kept_tie", "setp.lt.and.u32 $1, $2, $3, $4;", place, k->ties, equal[e]);
        cj_ptx(f, "@$1 mov.u64 $2, $3;\n@$4 add.u32 $5, $5, 1;", first, weight[e], k->tie, equal[e], place);
    }
    cj_update(f, seen, "add", cj__prefix_pick(&narrow, "all_ties", upto, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP));
}

void cj__sample_walk(sample_kernel *k, cj_reg ties, sample_kept *visit, void *own) {
    cj_func *f = k->f;
    cj_reg   at = cj_add(f, "vector", k->first, k->lane), from = cj_mov(f, "u32", "from", k->first), seen = cj_mov(f, "u32", "seen", ties);
    CJ_LOOP_UNI(f, vectors, "walk", "walked") {
        cj_leave_unless(&vectors, cj_lt(f, "more", from, k->end));
        cj_reg v[SAMPLE_WIDTH], weight[SAMPLE_WIDTH], column;
        cj__sample_load(k, at, v, &column);
        cj__sample_weigh(k, v, seen, weight);
        visit(k, v, weight, column, cj_lt(f, "inside", at, k->end), own);
        cj_update(f, at, "add", SAMPLE_WARP);
        cj_update(f, from, "add", SAMPLE_WARP);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

cj_reg cj__sample_with_ties(const sample_kernel *k, const char *name, cj_reg mass, cj_reg ties) {
    return cj_let(k->f, "u64", name, "mul.lo.u64 $1, $2, $3;\nadd.u64 $1, $1, $4;",
                  cj_cvt(k->f, "u64", "ties_wide", ties), k->tie, mass);
}

void cj__sample_gather(const sample_kernel *k, cj_reg table, unsigned count, cj_reg own, sample_sums *all, sample_sums *before) {
    cj_func *f = k->f;
    *all = (sample_sums){cj_mov(f, "u64", "all_mass", 0), cj_mov(f, "u32", "all_ties", 0)};
    *before = (sample_sums){cj_mov(f, "u64", "mass_before", 0), cj_mov(f, "u32", "ties_before", 0)};
    CJ_FOR(f, i, "u32", "record_number", k->lane, count, SAMPLE_WARP) {
        cj_reg at = cj_mad(f, "record_at", i, SAMPLE_RECORD, table), earlier = cj_lt(f, "earlier", i, own);
        cj_reg words[] = {cj_u64(f, "mass"), cj_u64(f, "ties_word")};
        cj__load(f, cj_always(), "ld.shared", "b64", words, 2, at, 0);
        cj_reg mass = words[0], ties = cj_cvt(f, "u32", "ties", words[1]);
        cj_update(f, all->mass, "add", mass);
        cj_update(f, all->ties, "add", ties);
        cj_ptx(f, "@$1 add.u64 $2, $2, $3;\n@$1 add.u32 $4, $4, $5;", earlier, before->mass, mass, before->ties, ties);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    *all = (sample_sums){cj__sample_sum(k, "u64", all->mass), cj__sample_sum(k, "u32", all->ties)};
    *before = (sample_sums){cj__sample_sum(k, "u64", before->mass), cj__sample_sum(k, "u32", before->ties)};
}
