// SPDX-License-Identifier: Apache-2.0
// The draw: each warp sums the masses that are kept of its elements, and tells all blocks of the row. Every warp then knows the mass
// before its own, and one of them has the goal; it goes through its elements again, in order.
#include "sample.h"

typedef struct sums {
    cj_reg mass, ties;
} sums;

// The mass, 0 if the element is not kept, or a tie; counts it as a tie.
static cj_reg kept_mass(sample_kernel *k, cj_reg v, cj_reg ties, cj_reg *equal) {
    cj_func *f = k->f;
    cj_reg   key = cj__sample_key(k, v), mass = cj__sample_mass(k, cj__sample_exponent(k, v));
    cj_reg   there = cj_ne(f, "there", mass, 0), drops = cj_le(f, "drops", key, k->least);
    *equal = cj_let(f, "pred", "equal", "setp.eq.and.u32 $1, $2, $3, $4; // but NaN", key, k->least, there);
    if (k->s.min_p) cj_ptx(f, "setp.lt.or.u64 $1, $2, $3, $1;", drops, mass, k->least_mass);
    cj_ptx(f, "@$1 add.u32 $2, $2, 1;\n@$3 mov.u64 $4, 0;", *equal, ties, drops, mass);
    return mass;
}

static void visit_draw(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    sums  *s = own;
    cj_reg equal;
    (void)column;
    for (unsigned e = 0; e < k->s.width; e++) cj_update(k->f, s->mass, "add", kept_mass(k, v[e], s->ties, &equal));
}

// mass + ties * tie, where of all ties so many are the first that are kept.
static cj_reg with_ties(const sample_kernel *k, const char *name, cj_reg mass, cj_reg ties) {
    return cj_let(k->f, "u64", name, "mul.lo.u64 $1, $2, $3;\nadd.u64 $1, $1, $4;",
                  cj_cvt(k->f, "u64", "ties_wide", ties), k->tie, mass);
}

// One vector a lane: the lane whose element has what is left of the goal writes it, and `found` says that there is one.
static void seek(sample_kernel *k, cj_reg vector, cj_reg left, cj_reg seen, cj_reg found) {
    cj_func        *f = k->f;
    const cj_prefix wide = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u64"}, .lane = k->lane};
    const cj_prefix narrow = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj_reg v[SAMPLE_WIDTH], weight[SAMPLE_WIDTH], equal[SAMPLE_WIDTH], column, ties = cj_mov(f, "u32", "ties", 0);
    cj__sample_load(k, vector, v, &column);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    cj_reg upto = cj_u32(f, "ties_upto"), own = cj_mov(f, "u64", "own", 0), place = cj_u32(f, "tie_place");
    for (unsigned e = 0; e < k->s.width; e++) weight[e] = kept_mass(k, v[e], ties, &equal[e]);
    cj_set(f, upto, ties);
    cj__prefix_lanes(&narrow, upto, NULL, SAMPLE_WARP);
    cj_ptx(f, "sub.u32 $1, $2, $3;\nadd.u32 $1, $1, $4;", place, upto, ties, seen);
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg kept = cj_let(f, "pred", "kept_tie", "setp.lt.and.u32 $1, $2, $3, $4;", place, k->ties, equal[e]);
        cj_ptx(f, "@$1 mov.u64 $2, $3;\n@$4 add.u32 $5, $5, 1;", kept, weight[e], k->tie, equal[e], place);
        cj_update(f, own, "add", weight[e]);
    }
    cj_reg sum = cj_mov(f, "u64", "sum", own);
    cj__prefix_lanes(&wide, sum, NULL, SAMPLE_WARP);
    cj_reg before = cj_sub(f, "before", sum, own), has = cj_lt(f, "has", left, sum);
    cj_ptx(f, "vote.sync.any.pred $1, $2, 0xffffffff;\nsetp.ge.and.u64 $2, $3, $4, $2;", found, has, left, before);
    CJ_IF(f, has, "goal_is_elsewhere") {
        cj_reg rest = cj_sub(f, "rest", left, before), token = cj_mov(f, "u32", "token", column);
        CJ_ONCE(f, walk, "token_is_found") for (unsigned e = 0; e + 1 < k->s.width; e++) {
            cj_leave(&walk, cj_lt(f, "is_it", rest, weight[e]));
            cj_update(f, rest, "sub", weight[e]);
            cj_update(f, token, "add", 1);
        }
        cj__sample_write(k, cj_always(), token);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    cj_reg all = cj__prefix_pick(&wide, "all", sum, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP);
    cj_update(f, left, "sub", all);
    cj_update(f, seen, "add", cj__prefix_pick(&narrow, "all_ties", upto, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP));
}

// The row's mass and ties, and those of the warps before this one.
static void gather(const sample_kernel *k, cj_reg table, sums *all, sums *before) {
    cj_func *f = k->f;
    *all = (sums){cj_mov(f, "u64", "all_mass", 0), cj_mov(f, "u32", "all_ties", 0)};
    *before = (sums){cj_mov(f, "u64", "mass_before", 0), cj_mov(f, "u32", "ties_before", 0)};
    CJ_FOR(f, i, "u32", "record_number", k->lane, k->s.records, SAMPLE_WARP) {
        cj_reg at = cj_mad(f, "record_at", i, SAMPLE_RECORD, table), earlier = cj_lt(f, "earlier", i, k->record);
        cj_reg mass = cj_let(f, "u64", "mass", "ld.shared.u64 $1, [$2];", at);
        cj_reg ties = cj_let(f, "u32", "ties", "ld.shared.u32 $1, [$2 + 8];", at);
        cj_update(f, all->mass, "add", mass);
        cj_update(f, all->ties, "add", ties);
        cj_ptx(f, "@$1 add.u64 $2, $2, $3;\n@$1 add.u32 $4, $4, $5;", earlier, before->mass, mass, before->ties, ties);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    *all = (sums){cj__sample_sum(k, "u64", all->mass), cj__sample_sum(k, "u32", all->ties)};
    *before = (sums){cj__sample_sum(k, "u64", before->mass), cj__sample_sum(k, "u32", before->ties)};
}

static void sum_and_tell(sample_kernel *k, cj_reg table, sums *own) {
    cj_func *f = k->f;
    *own = (sums){cj_mov(f, "u64", "own_mass", 0), cj_mov(f, "u32", "own_ties", 0)};
    cj__sample_pass(k, k->s.flight < 2 ? k->s.flight : 2, visit_draw, own);
    const sums   total = {cj__sample_sum(k, "u64", own->mass), cj__sample_sum(k, "u32", own->ties)};
    const cj_reg words[] = {total.mass, cj_cvt(f, "u64", "ties_word", total.ties)};
    cj_reg       at = cj_mad(f, "record_at", k->record, SAMPLE_RECORD, table),
           first_lane = cj_eq(f, "first_lane", k->lane, 0);
    cj__sample_push(k, first_lane, "b64", words, 2, at);
    *own = total;
}

void cj__sample_draw(sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   table = cj_shared_address(f, k->records);
    sums     own, all, before;
    cj_step(f, "the draw: every warp's kept mass");
    if (k->s.min_p) cj_ptx(f, "@$1 mov.u64 $2, 0;", cj_lt(f, "tie_drops", k->tie, k->least_mass), k->tie);
    sum_and_tell(k, table, &own);
    cj__sample_sync(k, "S11: every block has all warps' masses");
    gather(k, table, &all, &before);
    cj_reg row_ties = cj_min(f, "row_ties", all.ties, k->ties), first = cj_min(f, "first_ties", before.ties, k->ties);
    cj_reg upto = cj_min(f, "ties_upto", cj_add(f, "ties_upto", before.ties, own.ties), k->ties);
    cj_reg mass = with_ties(k, "row_mass", all.mass, row_ties), begin = with_ties(k, "begin", before.mass, first);
    cj_reg end = with_ties(k, "end", cj_add(f, "mass_upto", before.mass, own.mass), upto);
    cj_reg goal = cj__sample_goal(k, mass), nobody = cj_eq(f, "nobody", mass, 0);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", nobody, cj_or(f, "record_or_lane", k->record, k->lane));
    cj__sample_write(k, nobody, cj_mov(f, "u32", "token", "0xffffffff"));
    cj_reg has = cj_ge(f, "has_goal", goal, begin);
    cj_ptx(f, "setp.lt.and.u64 $1, $2, $3, $1;", has, goal, end);
    CJ_IF_UNI(f, has, "done") {
        cj_step(f, "the warp that has the goal goes through its elements in order");
        cj_reg left = cj_sub(f, "left", goal, begin), at = cj_add(f, "vector", k->first, k->lane),
               found = cj_pred(f, "found");
        CJ_LOOP_UNI(f, vectors, "seek", "found") {
            seek(k, at, left, before.ties, found);
            cj_leave(&vectors, found);
            cj_update(f, at, "add", SAMPLE_WARP);
        }
    }
}
