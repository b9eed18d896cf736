// SPDX-License-Identifier: Apache-2.0
// A row with a first threshold: the elements that are not less go to a list of rank 0, a few more than k. There the filters count and
// sum over the list, some lanes for one candidate.
//
//   list[]  order (key above the complement of the column), mass: 16 bytes a candidate
//   sums[]  masses of the greater candidates; then the candidate's own, or 0 if it is not kept
#include "sample.h"

enum { AT_COUNT = 4, AT_TOTAL = 8 };

// The candidate of a lane whose element may be one.
static void put(sample_kernel *k, cj_reg v, cj_reg column, cj_reg count_at, cj_reg list_at) {
    cj_func *f = k->f;
    cj_reg   mass = cj__sample_mass(k, cj__sample_exponent(k, v)), key = cj__sample_key(k, v);
    cj_reg   there = cj_ne(f, "there", mass, 0), place = cj_mov(f, "u32", "place", (unsigned)SAMPLE_LIST);
    if (k->s.cluster)
        cj_dsmem_atom(f, there, "add", "u32", place, count_at, 0, CJ_ARG(1));
    else
        cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3], 1;", there, place, count_at);
    cj_reg fits = cj_lt(f, "fits", place, (unsigned)SAMPLE_LIST),
           at = cj_mad(f, "entry_at", place, SAMPLE_ENTRY, list_at);
    cj_reg low = cj_let(f, "b32", "low", "not.b32 $1, $2;", column);
    cj_reg entry[] = {cj_let(f, "b64", "order", "mov.b64 $1, {$2, $3};", low, key), mass};
    if (k->s.cluster)
        cj_dsmem_store(f, fits, "b64", entry, 2, at, 0);
    else
        cj__store(f, fits, "st.shared", "b64", entry, 2, at, 0);
}

static void visit_list(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    cj_func *f = k->f;
    cj_reg  *address = own, best = cj_let(f, "f32", "best", "mov.b32 $1, $2;", v[0]);
    for (unsigned e = 1; e < k->s.width; e++) cj_ptx(f, "max.f32 $1, $1, $2;", best, v[e]);
    CJ_IF(f, cj_let(f, "pred", "any", "setp.ge.f32 $1, $2, $3;", best, k->guess), "none_passes") {
        for (unsigned e = 0; e < k->s.width; e++)
            CJ_IF(f, cj_let(f, "pred", "passes", "setp.ge.f32 $1, $2, $3;", v[e], k->guess), "next_element")
        put(k, v[e], e ? cj_add(f, "column", column, e) : column, address[0], address[1]);
    }
}

// A candidate is compared with all by SAMPLE_SHARE lanes, each with its part of them.
typedef struct turn {
    cj_reg i, inside, part;  // the candidate, if there is one; the lane's number among those that share it
} turn;

static turn begin_turn(const sample_kernel *k, cj_reg base, cj_reg count) {
    cj_func *f = k->f;
    turn     t;
    t.i = cj_add(f, "candidate", base, cj_div(f, "sharing", k->thread, SAMPLE_SHARE));
    t.inside = cj_lt(f, "inside", t.i, count);
    t.part = cj_and(f, "part", k->thread, SAMPLE_SHARE - 1);
    return t;
}

static cj_reg writes(const sample_kernel *k, const turn *t) {
    return cj_let(k->f, "pred", "writes", "setp.eq.and.u32 $1, $2, 0, $3;", t->part, t->inside);
}

// How many are greater than `order`, and the sum of their masses.
static void count_greater(const sample_kernel *k, const turn *t, cj_reg list, cj_reg count, cj_reg order, cj_reg rank,
                          cj_reg sum) {
    cj_func *f = k->f;
    cj_reg   j = cj_mov(f, "u32", "first_other", 0);
    CJ_COUNT_UNI(f, "next_others", j, SAMPLE_SHARE, count) {
        cj_reg number = cj_add(f, "other", j, t->part), there = cj_lt(f, "there", number, count);
        cj_reg other[] = {cj_mov(f, "u64", "other_order", 0), cj_mov(f, "u64", "other_mass", 0)};
        cj__load(f, there, "ld.shared", "u64", other, 2, cj_mad(f, "entry_at", number, SAMPLE_ENTRY, list), 0);
        cj_reg more = cj_gt(f, "more", other[0], order);
        cj_ptx(f, "@$1 add.u32 $2, $2, 1;\n@$1 add.u64 $3, $3, $4;", more, rank, sum, other[1]);
    }
    cj__sample_add_up(k, "u32", rank);
    cj__sample_add_up(k, "u64", sum);
}

// sums[i] = the mass of greater candidates, all bits if it is not among the first k; the last of these tells the mass of all of them.
static void filter_k(const sample_kernel *k, cj_reg list, cj_reg sums, cj_reg told, cj_reg count) {
    cj_func *f = k->f;
    cj_reg   last = cj_min(f, "last", k->k, count), base = cj_mov(f, "u32", "first_candidate", 0);
    CJ_COUNT_UNI(f, "next_candidates", base, k->s.block / SAMPLE_SHARE, count) {
        const turn t = begin_turn(k, base, count);
        cj_reg     own[] = {cj_mov(f, "u64", "order", 0), cj_mov(f, "u64", "mass", 0)};
        cj__load(f, t.inside, "ld.shared", "u64", own, 2, cj_mad(f, "entry_at", t.i, SAMPLE_ENTRY, list), 0);
        cj_reg rank = cj_mov(f, "u32", "rank", 0), sum = cj_mov(f, "u64", "sum", 0);
        count_greater(k, &t, list, count, own[0], rank, sum);
        cj_reg kept = cj_lt(f, "kept", rank, k->k), upto = cj_add(f, "upto", sum, own[1]), one = writes(k, &t);
        cj_ptx(f, "add.u32 $1, $1, 1;", rank);
        cj_reg is_last = cj_let(f, "pred", "is_last", "setp.eq.and.u32 $1, $2, $3, $4;", rank, last, one);
        cj_ptx(f, "@$1 st.shared.u64 [$2 + $3], $4;", is_last, told, (int)AT_TOTAL, upto);
        cj_ptx(f, "@!$1 mov.u64 $2, 0xffffffffffffffff;", kept, sum);
        cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", one, cj_mad(f, "sum_at", t.i, 8, sums), sum);
    }
}

// sums[i] = the mass of the candidate, 0 if it is not kept.
static void filter_p(const sample_kernel *k, cj_reg list, cj_reg sums, cj_reg told, cj_reg count) {
    cj_func *f = k->f;
    cj_reg   all = cj_let(f, "u64", "all", "ld.shared.u64 $1, [$2 + $3];", told, (int)AT_TOTAL), share = all;
    if (k->s.top_p) {
        share = cj__sample_share(k, all);
        cj_ptx(f, "@!$1 mov.u64 $2, $3;", k->p_active, share, all);
        cj_ptx(f, "max.u64 $1, $1, 1;", share);
    }
    CJ_FOR(f, i, "u32", "candidate", k->thread, count, k->s.block) {
        cj_reg at = cj_mad(f, "entry_at", i, SAMPLE_ENTRY, list), to = cj_mad(f, "sum_at", i, 8, sums);
        cj_reg mass = cj_let(f, "u64", "mass", "ld.shared.u64 $1, [$2 + 8];", at);
        cj_reg sum = cj_let(f, "u64", "sum", "ld.shared.u64 $1, [$2];", to), kept = cj_lt(f, "kept", sum, share);
        if (k->s.min_p) cj_ptx(f, "setp.ge.and.u64 $1, $2, $3, $1;", kept, mass, k->least_mass);
        cj_ptx(f, "@!$1 mov.u64 $2, 0;\nst.shared.u64 [$3], $2;", kept, mass, to);
    }
}

// The masses of all candidates, and of those in columns before the candidate's.
static void sum_earlier(const sample_kernel *k, const turn *t, cj_reg list, cj_reg sums, cj_reg count, cj_reg low,
                        cj_reg all, cj_reg before) {
    cj_func *f = k->f;
    cj_reg   j = cj_mov(f, "u32", "first_other", 0);
    CJ_COUNT_UNI(f, "next_others", j, SAMPLE_SHARE, count) {
        cj_reg number = cj_add(f, "other", j, t->part), there = cj_lt(f, "there", number, count);
        cj_reg other = cj_mov(f, "u32", "other_low", 0), mass = cj_mov(f, "u64", "other_mass", 0);
        cj__load(f, there, "ld.shared", "u32", &other, 1, cj_mad(f, "entry_at", number, SAMPLE_ENTRY, list), 0);
        cj__load(f, there, "ld.shared", "u64", &mass, 1, cj_mad(f, "sum_at", number, 8, sums), 0);
        cj_reg earlier = cj_gt(f, "earlier", other, low);
        cj_ptx(f, "add.u64 $1, $1, $2;\n@$3 add.u64 $4, $4, $2;", all, mass, earlier, before);
    }
    cj__sample_add_up(k, "u64", all);
    cj__sample_add_up(k, "u64", before);
}

// The logit of a candidate.
static cj_reg value_of(const sample_kernel *k, cj_reg list, cj_reg i, cj_reg inside) {
    cj_reg key = cj_mov(k->f, "u32", "key", 0);
    cj__load(k->f, inside, "ld.shared", "u32", &key, 1, cj_mad(k->f, "entry_at", i, SAMPLE_ENTRY, list), 4);
    return cj__sample_value(k, key);
}

// A candidate that is kept goes to the slot of its rank.
static void tell_top(const sample_kernel *k, const turn *t, cj_reg list, cj_reg count, cj_reg own, cj_reg token, cj_reg v, cj_reg all) {
    cj_func *f = k->f;
    cj_reg   order = cj_mov(f, "u64", "order", 0), rank = cj_mov(f, "u32", "rank", 0), sum = cj_mov(f, "u64", "sum", 0);
    cj__load(f, t->inside, "ld.shared", "u64", &order, 1, cj_mad(f, "entry_at", t->i, SAMPLE_ENTRY, list), 0);
    count_greater(k, t, list, count, order, rank, sum);
    cj_reg kept = cj_let(f, "pred", "kept", "setp.ne.and.u64 $1, $2, 0, $3;", own, writes(k, t));
    cj__sample_top_put(k, kept, rank, token, v, all);
}

// The candidate whose interval, in the order of columns, has the goal.
static void choose(const sample_kernel *k, cj_reg list, cj_reg sums, cj_reg count) {
    cj_func *f = k->f;
    cj_reg   base = cj_mov(f, "u32", "first_candidate", 0);
    CJ_COUNT_UNI(f, "next_candidates", base, k->s.block / SAMPLE_SHARE, count) {
        const turn t = begin_turn(k, base, count);
        cj_reg     own = cj_mov(f, "u64", "own", 0), low = cj_mov(f, "u32", "low", 0);
        cj__load(f, t.inside, "ld.shared", "u64", &own, 1, cj_mad(f, "sum_at", t.i, 8, sums), 0);
        cj__load(f, t.inside, "ld.shared", "u32", &low, 1, cj_mad(f, "entry_at", t.i, SAMPLE_ENTRY, list), 0);
        cj_reg before = cj_mov(f, "u64", "before", 0), all = cj_mov(f, "u64", "all", 0);
        sum_earlier(k, &t, list, sums, count, low, all, before);
        cj_reg goal = cj__sample_goal(k, all), one = writes(k, &t);
        cj_reg chosen = cj_let(f, "pred", "chosen", "setp.ge.and.u64 $1, $2, $3, $4;", goal, before, one);
        cj_ptx(f, "setp.lt.and.u64 $1, $2, $3, $1;", chosen, goal, cj_add(f, "upto", before, own));
        cj_reg token = cj_let(f, "u32", "token", "not.b32 $1, $2;", low), v = cj_none();
        if (k->s.log_probability || k->s.top) v = value_of(k, list, t.i, t.inside);
        cj__sample_tell(k, chosen, token, v, all);
        if (k->s.top) tell_top(k, &t, list, count, own, token, v, all);
    }
}

static void finish(const sample_kernel *k, cj_reg list, cj_reg told, cj_reg count) {
    cj_func *f = k->f;
    cj_reg   sums = cj_shared_address(f, k->sums);
    cj_step(f, "the filters, and the draw, in the list");
    cj_reg nobody = cj_eq(f, "nobody", cj_or(f, "count_or_thread", count, k->thread), 0);
    cj__sample_tell(k, nobody, cj_mov(f, "u32", "token", "0xffffffff"), cj_none(), cj_none());
    if (k->s.top) cj__sample_top_clear(k);
    filter_k(k, list, sums, told, count);
    cj_ptx(f, "bar.sync 0; // S6: the mass of the first k is told");
    filter_p(k, list, sums, told, count);
    cj_ptx(f, "bar.sync 0; // S7: what each candidate counts is written");
    choose(k, list, sums, count);
}

void cj__sample_list(sample_kernel *k) {
    cj_func *f = k->f;
    CJ_IF_UNI(f, k->guessed, "no_list") {
        cj_step(f, "what is not less than the threshold goes to rank 0's list");
        cj_reg told = cj_shared_address(f, k->told), list = cj_shared_address(f, k->list);
        cj_reg count_at = cj_add(f, "count_at", told, AT_COUNT), count = cj_u32(f, "count");
        cj_reg address[] = {count_at, list};
        if (k->s.cluster) {
            address[0] = cj__sample_peer(k, count_at, 0);
            address[1] = cj__sample_peer(k, list, 0);
        }
        cj__sample_pass(k, k->s.flight, visit_list, address);
        cj__sample_sync(k, "S4: all candidates are in the list");
        if (k->s.cluster)
            cj_dsmem_load(f, cj_always(), "u32", &count, 1, address[0], 0);
        else
            cj_ptx(f, "ld.shared.u32 $1, [$2];", count, count_at);
        if (k->s.cluster) cj_cluster_arrive(f, CJ_ARRIVE_RELEASE, "S5: rank 0's number of candidates is read");
        cj_reg fits = cj_le(f, "list_fits", count, (unsigned)SAMPLE_LIST), works = fits;
        if (k->s.cluster) works = cj_let(f, "pred", "works", "setp.eq.and.u32 $1, $2, 0, $3;", k->rank, fits);
        CJ_IF_UNI(f, works, "finished") finish(k, list, told, count);
        if (k->s.cluster) cj_cluster_wait(f, "S5: all have read it, and rank 0 may exit");
        CJ_IF_UNI(f, fits, "too_many") cj_ptx(f, "ret;");
    }
}
