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
        cj_reg rest = k->s.width > 1 ? cj_sub(f, "rest", left, before) : cj_none();
        cj_reg token = cj_mov(f, "u32", "token", column), value = v[0];
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

// The warp's kept mass and ties.
static sample_sums sum_own(sample_kernel *k) {
    sample_sums own = {cj_mov(k->f, "u64", "own_mass", 0), cj_mov(k->f, "u32", "own_ties", 0)};
    cj__sample_pass(k, k->s.flight < 2 ? k->s.flight : 2, visit_draw, &own);
    cj_reg mass = cj__sample_sum(k, "u64", own.mass), ties = cj__sample_sum(k, "u32", own.ties);
    return (sample_sums){mass, ties};
}

// Tells all blocks the warp's mass and ties, and waits for those of all warps.
static void exchange(sample_kernel *k, cj_reg table, const sample_sums *own) {
    static const char why[] = "S11: every block has all warps' masses";
    cj_func          *f = k->f;
    const cj_reg      words[] = {own->mass, cj_cvt(f, "u64", "ties_word", own->ties)};
    cj_reg            at = cj_mad(f, "record_at", k->record, SAMPLE_RECORD, table);
    if (!k->s.pushes) {
        cj__sample_spread(k, SAMPLE_WARP, "b64", words, 2, at);
        cj__sample_sync(k, why);
        return;
    }
    const sample_target t = cj__sample_target(k, SAMPLE_WARP, at);
    cj_st_async(f, t.writes, "b64", words, 2, t.at, 0, cj__push_gate(f, &k->push, t.rank));
    cj__push_wait(f, &k->push, why);
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

// The warp that has the goal goes through its elements in order: from `begin` to `end` are its masses, unless the token is `taken`.
static void seek_token(sample_kernel *k, cj_reg goal, cj_reg begin, cj_reg end, cj_reg taken, cj_reg ties, cj_reg mass) {
    cj_reg has = cj_ge(k->f, "has_goal", goal, begin);
    cj_ptx(k->f, "setp.lt.and.u64 $1, $2, $3, $1;", has, goal, end);
    if (!cj_is_none(taken)) cj_ptx(k->f, "@$1 setp.ne.u32 $2, 0, 0;", taken, has);
    cj_reg left = cj_sub(k->f, "left", goal, begin);
    CJ_IF_UNI(k->f, has, "done") {
        cj_step(k->f, "the warp that has the goal goes through its elements in order");
        if (k->s.keeps)
            seek_kept(k, left, ties, mass);
        else
            seek_read(k, left, ties, mass);
    }
}

static void tell_nobody(const sample_kernel *k, cj_reg mass) {
    cj_func *f = k->f;
    cj_reg   nobody = cj_eq(f, "nobody", mass, 0);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", nobody, cj_or(f, "record_or_lane", k->record, k->lane));
    cj__sample_tell(k, nobody, cj_mov(f, "u32", "token", "0xffffffff"), cj_none(), mass);
}

// The draw from the part that has the goal, by its block.
static void draw_from_part(sample_kernel *k, sample_part part) {
    cj_func *f = k->f;
    tell_nobody(k, part.all);
    CJ_IF_UNI(f, cj__sample_narrow(k, &part), "goal_is_of_another") {
        sample_sums all, before, own = sum_own(k);
        cj_reg       table = cj_shared_address(f, k->records), first_lane = cj_eq(f, "first_lane", k->lane, 0);
        const cj_reg words[] = {own.mass, cj_cvt(f, "u64", "ties_word", own.ties)};
        cj__store(f, first_lane, "st.shared", "b64", words, 2, cj_mad(f, "record_at", k->warp, SAMPLE_RECORD, table), 0);
        cj_ptx(f, "bar.sync 0; // S20: the records of the part's warps are written");
        cj__sample_gather(k, table, k->s.warps, k->warp, &all, &before);
        cj_reg ties = cj_add(f, "ties_before", before.ties, part.before.ties), mass = cj_add(f, "mass_before", before.mass, part.before.mass);
        cj_reg first = cj_min(f, "first_ties", ties, k->ties), upto = cj_min(f, "ties_upto", cj_add(f, "ties_upto", ties, own.ties), k->ties);
        cj_reg begin = cj__sample_with_ties(k, "begin", mass, first);
        cj_reg end = cj__sample_with_ties(k, "end", cj_add(f, "mass_upto", mass, own.mass), upto);
        seek_token(k, part.goal, begin, end, cj_none(), ties, part.all);
    }
    cj_ptx(f, "ret;");
}

void cj__sample_draw(sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   table = cj_shared_address(f, k->records);
    sample_sums own, all, before;
    cj__sample_limits(k);
    if (k->s.min_p) cj_ptx(f, "@$1 mov.u64 $2, 0;", cj_lt(f, "tie_drops", k->tie, k->least_mass), k->tie);
    if (k->s.parts > 1) CJ_IF_UNI(f, k->counted, "is_not_counted") {
        const sample_part part = cj__sample_part(k);
        CJ_UNLESS_UNI(f, part.failed, "counts_fail") draw_from_part(k, part);
    }
    cj_step(f, "the draw: every warp's kept mass");
    own = sum_own(k);
    exchange(k, table, &own);
    cj__sample_gather(k, table, k->s.records, k->record, &all, &before);
    cj_reg row_ties = cj_min(f, "row_ties", all.ties, k->ties), first = cj_min(f, "first_ties", before.ties, k->ties);
    cj_reg upto = cj_min(f, "ties_upto", cj_add(f, "ties_upto", before.ties, own.ties), k->ties);
    cj_reg mass = cj__sample_with_ties(k, "row_mass", all.mass, row_ties), begin = cj__sample_with_ties(k, "begin", before.mass, first);
    cj_reg end = cj__sample_with_ties(k, "end", cj_add(f, "mass_upto", before.mass, own.mass), upto);
    cj_reg goal = cj__sample_goal(k, mass), taken = cj_none();
    tell_nobody(k, mass);
    if (k->s.distribution) cj__sample_distribution(k, mass, before.ties);
    if (k->s.top) cj__sample_top(k, mass);
    if (k->s.draft) taken = cj__sample_draft(k, mass, before.ties, &goal, &begin, &end);
    seek_token(k, goal, begin, end, taken, before.ties, mass);
}
