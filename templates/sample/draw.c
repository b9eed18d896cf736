// SPDX-License-Identifier: Apache-2.0
// The draw: each warp sums the masses that are kept of its elements, and tells all blocks of the row. Every warp then knows the mass
// before its own, and one of them has the goal; it goes through its elements again, in order.
#include "sample.h"

static void visit_draw(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    sample_sums *s = own;
    cj_reg       equal, kept;
    (void)column;
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg mass = cj__sample_kept(k, v[e], s->ties, &equal, &kept);
        cj_ptx(k->f, "@$1 add.u64 $2, $2, $3;", kept, s->mass, mass);
    }
}

// mass + ties * tie, where of all ties so many are the first that are kept.
static cj_reg with_ties(const sample_kernel *k, const char *name, cj_reg mass, cj_reg ties) {
    return cj_let(k->f, "u64", name, "mul.lo.u64 $1, $2, $3;\nadd.u64 $1, $1, $4;",
                  cj_cvt(k->f, "u64", "ties_wide", ties), k->tie, mass);
}

// The lane whose element has what is left of the goal tells it, and `found` says that there is one. `mass` is the row's.
static void seek(sample_kernel *k, cj_reg vector, const cj_reg *v, cj_reg column, cj_reg left, cj_reg seen, cj_reg found, cj_reg mass) {
    cj_func        *f = k->f;
    const cj_prefix wide = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u64"}, .lane = k->lane};
    cj_reg          weight[SAMPLE_WIDTH], own = cj_mov(f, "u64", "own", 0);
    cj__sample_weigh(k, v, seen, weight);
    if (k->s.draft) {
        cj_reg inside = cj_let(f, "pred", "rest_is_drawn", "setp.lt.and.u32 $1, $2, $3, $4;", vector, k->end, k->residual);
        cj__sample_rest(k, weight, column, inside, mass, NULL);
    }
    for (unsigned e = 0; e < k->s.width; e++) cj_update(f, own, "add", weight[e]);
    cj_reg sum = cj_mov(f, "u64", "sum", own);
    cj__prefix_lanes(&wide, sum, NULL, SAMPLE_WARP);
    cj_reg before = cj_sub(f, "before", sum, own), has = cj_lt(f, "has", left, sum);
    cj_ptx(f, "vote.sync.any.pred $1, $2, 0xffffffff;\nsetp.ge.and.u64 $2, $3, $4, $2;", found, has, left, before);
    CJ_IF(f, has, "goal_is_elsewhere") {
        cj_reg rest = cj_sub(f, "rest", left, before), token = cj_mov(f, "u32", "token", column), value = v[0];
        if (k->s.log_probability) value = cj_mov(f, "f32", "logit", v[0]);
        CJ_ONCE(f, walk, "token_is_found") for (unsigned e = 0; e + 1 < k->s.width; e++) {
            cj_leave(&walk, cj_lt(f, "is_it", rest, weight[e]));
            cj_update(f, rest, "sub", weight[e]);
            cj_update(f, token, "add", 1);
            if (k->s.log_probability) cj_set(f, value, v[e + 1]);
        }
        cj__sample_tell(k, cj_always(), token, value, mass);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    cj_update(f, left, "sub", cj__prefix_pick(&wide, "all", sum, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP));
}

static void sum_and_tell(sample_kernel *k, cj_reg table, sample_sums *own) {
    cj_func *f = k->f;
    *own = (sample_sums){cj_mov(f, "u64", "own_mass", 0), cj_mov(f, "u32", "own_ties", 0)};
    cj__sample_pass(k, k->s.flight < 2 ? k->s.flight : 2, visit_draw, own);
    const sample_sums total = {cj__sample_sum(k, "u64", own->mass), cj__sample_sum(k, "u32", own->ties)};
    const cj_reg words[] = {total.mass, cj_cvt(f, "u64", "ties_word", total.ties)};
    cj_reg       at = cj_mad(f, "record_at", k->record, SAMPLE_RECORD, table),
           first_lane = cj_eq(f, "first_lane", k->lane, 0);
    cj__sample_push(k, first_lane, "b64", words, 2, at);
    *own = total;
}

static void seek_kept(sample_kernel *k, cj_reg left, cj_reg ties, cj_reg mass) {
    const sample_batch *b = &k->kept;
    cj_reg              v[SAMPLE_WIDTH], found = cj_pred(k->f, "found");
    CJ_ONCE(k->f, vectors, "found") for (unsigned i = 0; i < b->count; i++) {
        cj__sample_values(k, b, i, v);
        seek(k, b->vector[i], v, b->column[i], left, ties, found, mass);
        if (i + 1 < b->count) cj_leave(&vectors, found);
    }
}

static void seek_read(sample_kernel *k, cj_reg left, cj_reg ties, cj_reg mass) {
    cj_func *f = k->f;
    cj_reg   at = cj_add(f, "vector", k->first, k->lane), found = cj_pred(f, "found"), v[SAMPLE_WIDTH], column;
    CJ_LOOP_UNI(f, vectors, "seek", "found") {
        cj__sample_load(k, at, v, &column);
        seek(k, at, v, column, left, ties, found, mass);
        cj_leave(&vectors, found);
        cj_update(f, at, "add", SAMPLE_WARP);
    }
}

// The warp that has the goal goes through its elements in order.
static void seek_token(sample_kernel *k, cj_reg has, cj_reg left, cj_reg ties, cj_reg mass) {
    CJ_IF_UNI(k->f, has, "done") {
        cj_step(k->f, "the warp that has the goal goes through its elements in order");
        if (k->s.keeps)
            seek_kept(k, left, ties, mass);
        else
            seek_read(k, left, ties, mass);
    }
}

void cj__sample_draw(sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   table = cj_shared_address(f, k->records);
    sample_sums own, all, before;
    cj_step(f, "the draw: every warp's kept mass");
    cj__sample_limits(k);
    if (k->s.min_p) cj_ptx(f, "@$1 mov.u64 $2, 0;", cj_lt(f, "tie_drops", k->tie, k->least_mass), k->tie);
    sum_and_tell(k, table, &own);
    cj__sample_sync(k, "S11: every block has all warps' masses");
    cj__sample_gather(k, table, &all, &before);
    cj_reg row_ties = cj_min(f, "row_ties", all.ties, k->ties), first = cj_min(f, "first_ties", before.ties, k->ties);
    cj_reg upto = cj_min(f, "ties_upto", cj_add(f, "ties_upto", before.ties, own.ties), k->ties);
    cj_reg mass = with_ties(k, "row_mass", all.mass, row_ties), begin = with_ties(k, "begin", before.mass, first);
    cj_reg end = with_ties(k, "end", cj_add(f, "mass_upto", before.mass, own.mass), upto);
    cj_reg goal = cj__sample_goal(k, mass), nobody = cj_eq(f, "nobody", mass, 0), taken = cj_none();
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", nobody, cj_or(f, "record_or_lane", k->record, k->lane));
    cj__sample_tell(k, nobody, cj_mov(f, "u32", "token", "0xffffffff"), cj_none(), mass);
    if (k->s.distribution) cj__sample_distribution(k, mass, before.ties);
    if (k->s.top) cj__sample_top(k, mass);
    if (k->s.draft) taken = cj__sample_draft(k, mass, before.ties, &goal, &begin, &end);
    cj_reg has = cj_ge(f, "has_goal", goal, begin);
    cj_ptx(f, "setp.lt.and.u64 $1, $2, $3, $1;", has, goal, end);
    if (k->s.draft) cj_ptx(f, "@$1 setp.ne.u32 $2, 0, 0;", taken, has);
    seek_token(k, has, cj_sub(f, "left", goal, begin), before.ties, mass);
}
