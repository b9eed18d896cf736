// SPDX-License-Identifier: Apache-2.0
// A row with a first threshold: the elements that are not less go to a list of rank 0, a few more than k. There the filters count and
// sum over the list, some lanes for one candidate.
//
//   list[]  order (key above the complement of the column), mass: 16 bytes a candidate
//   sums[]  masses of the greater candidates; then the candidate's own, or 0 if it is not kept
#include "sample.h"

// ---- the list is filled

typedef struct targets {
    cj_reg count, list;  // of rank 0
} targets;

static cj_reg passes(const sample_kernel *k, cj_reg v) {
    return cj_let(k->f, "pred", "passes", "setp.ge.f32 $1, $2, $3;", v, k->guess);
}

// How many elements of the lane's vectors are candidates.
static cj_reg count_candidates(sample_kernel *k, const sample_batch *b) {
    cj_func *f = k->f;
    cj_reg   v[SAMPLE_WIDTH], count = cj_mov(f, "u32", "own_candidates", 0);
    for (unsigned i = 0; i < b->count; i++)
        CJ_IF(f, passes(k, b->best[i]), "none_counts") {
            cj__sample_values(k, b, i, v);
            for (unsigned e = 0; e < k->s.width; e++) cj_ptx(f, "@$1 add.u32 $2, $2, 1;", passes(k, v[e]), count);
        }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    return count;
}

// Where the lane's candidates go: the last lane takes places for the warp. Candidates beyond the list are told to all blocks, which
// read their own count.
static cj_reg take_places(const sample_kernel *k, const targets *to, cj_reg count) {
    cj_func        *f = k->f;
    const cj_prefix lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj_reg          upto = cj_mov(f, "u32", "upto", count), base = cj_mov(f, "u32", "base", 0);
    cj__prefix_lanes(&lanes, upto, NULL, SAMPLE_WARP);
    cj_reg last = cj_eq(f, "last_lane", k->lane, SAMPLE_WARP - 1);
    if (!k->s.cluster) {
        cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3], $4;", last, base, to->count, upto);
    } else {
        cj_dsmem_atom(f, last, "add", "u32", base, to->count, 0, CJ_ARG(upto));
        cj_reg over = cj_gt(f, "too_many", cj_add(f, "taken", base, upto), (unsigned)SAMPLE_LIST);
        cj_ptx(f, "and.pred $1, $1, $2;", over, last);
        CJ_IF(f, over, "list_has_room") for (unsigned rank = 1; rank < k->s.cluster; rank++) {
            cj_reg peer = cj__sample_peer(k, cj_add(f, "own_count", cj_shared_address(f, k->told), (int)SAMPLE_AT_COUNT), rank);
            cj_dsmem_red(f, cj_always(), "add", "u32", peer, 0, CJ_ARG(SAMPLE_LIST + 1));
        }
        cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    }
    base = cj__prefix_pick(&lanes, "base", base, CJ_ARG(SAMPLE_WARP - 1), SAMPLE_WARP);
    return cj_add(f, "place", base, cj_sub(f, "before", upto, count));
}

static void put(sample_kernel *k, cj_reg v, cj_reg column, cj_reg list, cj_reg place) {
    cj_func *f = k->f;
    cj_reg   here = passes(k, v), key = cj__sample_key(k, v), low = cj_let(f, "b32", "low", "not.b32 $1, $2;", column);
    cj_reg   order = cj_let(f, "b64", "order", "mov.b64 $1, {$2, $3};", low, key), at = cj_mad(f, "entry_at", place, SAMPLE_ENTRY, list);
    cj_reg   fits = cj_let(f, "pred", "fits", "setp.lt.and.u32 $1, $2, $3, $4;", place, (unsigned)SAMPLE_LIST, here);
    if (k->s.cluster)
        cj_dsmem_store(f, fits, "b64", &order, 1, at, 0);
    else
        cj__store(f, fits, "st.shared", "b64", &order, 1, at, 0);
    cj_ptx(f, "@$1 add.u32 $2, $2, 1;", here, place);
}

static void collect(sample_kernel *k, sample_batch *b, void *own) {
    cj_func       *f = k->f;
    const targets *to = own;
    if (!k->s.keeps) cj__sample_best(k, b);
    cj_reg count = count_candidates(k, b), some = cj_ne(f, "some", count, 0), v[SAMPLE_WIDTH];
    cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", some);
    CJ_IF_UNI(f, some, "no_candidates") {
        cj_reg place = take_places(k, to, count);
        for (unsigned i = 0; i < b->count; i++)
            CJ_IF(f, passes(k, b->best[i]), "none_is_put") {
                cj__sample_values(k, b, i, v);
                for (unsigned e = 0; e < k->s.width; e++)
                    put(k, v[e], e ? cj_add(f, "column", b->column[i], e) : b->column[i], to->list, place);
            }
        cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    }
}

// ---- the filters

// A candidate is compared with all by k->s.share lanes, each with its part of them.
typedef struct turn {
    cj_reg i, inside, part;  // the candidate, if there is one; the lane's number among those that share it
} turn;

static turn begin_turn(const sample_kernel *k, cj_reg base, cj_reg count) {
    turn t;
    t.i = cj_add(k->f, "candidate", base, cj__sample_quotient(k, "in_warp", k->lane, k->s.share));
    t.inside = cj_lt(k->f, "inside", t.i, count);
    t.part = cj_and(k->f, "part", k->thread, k->s.share - 1);
    return t;
}

// The warp's first candidate: a warp has some in each turn, and turns only while there are candidates for it.
static cj_reg first_of_warp(const sample_kernel *k) {
    return cj_mul(k->f, "first_candidate", k->warp, SAMPLE_WARP / k->s.share);
}

static cj_reg writes(const sample_kernel *k, const turn *t) {
    return cj_let(k->f, "pred", "writes", "setp.eq.and.u32 $1, $2, 0, $3;", t->part, t->inside);
}

// Of every candidate, from its key.
static void find_masses(const sample_kernel *k, cj_reg list, cj_reg count) {
    cj_func *f = k->f;
    CJ_FOR(f, i, "u32", "candidate", k->thread, count, k->s.block) {
        cj_reg at = cj_mad(f, "entry_at", i, SAMPLE_ENTRY, list), key = cj_let(f, "u32", "key", "ld.shared.u32 $1, [$2 + 4];", at);
        cj_reg mass = cj__sample_mass(k, cj__sample_exponent(k, cj__sample_value(k, key)));
        cj_ptx(f, "st.shared.u64 [$1 + 8], $2;", at, mass);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

enum { AT_ONCE = 4 };  // loads of a lane that are on their way

static cj_reg other_number(const sample_kernel *k, const turn *t, cj_reg first, unsigned i) {
    cj_reg number = cj_add(k->f, "other", first, t->part);
    return i ? cj_add(k->f, "other", number, i * k->s.share) : number;
}

// How many are greater than `order`, and the sum of their masses.
static void count_greater(const sample_kernel *k, const turn *t, cj_reg list, cj_reg count, cj_reg order, cj_reg rank,
                          cj_reg sum) {
    cj_func *f = k->f;
    cj_reg   j = cj_mov(f, "u32", "first_other", 0);
    CJ_COUNT_UNI(f, "next_others", j, k->s.share * AT_ONCE, count) for (unsigned i = 0; i < AT_ONCE; i++) {
        cj_reg number = other_number(k, t, j, i), there = cj_lt(f, "there", number, count);
        cj_reg other[] = {cj_mov(f, "u64", "other_order", 0), cj_mov(f, "u64", "other_mass", 0)};
        cj__load(f, there, "ld.shared", "u64", other, 2, cj_mad(f, "entry_at", number, SAMPLE_ENTRY, list), 0);
        cj_reg more = cj_gt(f, "more", other[0], order);
        cj_ptx(f, "@$1 add.u32 $2, $2, 1;\n@$1 add.u64 $3, $3, $4;", more, rank, sum, other[1]);
    }
    cj__sample_add_up(k, k->s.share, "u32", rank);
    cj__sample_add_up(k, k->s.share, "u64", sum);
}

// sums[i] = the mass of greater candidates, all bits if it is not among the first k; the last of these tells the mass of all of them.
static void filter_k(const sample_kernel *k, cj_reg list, cj_reg sums, cj_reg told, cj_reg count) {
    cj_func *f = k->f;
    cj_reg   last = cj_min(f, "last", k->k, count), base = first_of_warp(k);
    CJ_COUNT_UNI(f, "next_candidates", base, k->s.block / k->s.share, count) {
        const turn t = begin_turn(k, base, count);
        cj_reg     own[] = {cj_mov(f, "u64", "order", 0), cj_mov(f, "u64", "mass", 0)};
        cj__load(f, t.inside, "ld.shared", "u64", own, 2, cj_mad(f, "entry_at", t.i, SAMPLE_ENTRY, list), 0);
        cj_reg rank = cj_mov(f, "u32", "rank", 0), sum = cj_mov(f, "u64", "sum", 0);
        count_greater(k, &t, list, count, own[0], rank, sum);
        cj_reg kept = cj_lt(f, "kept", rank, k->k), upto = cj_add(f, "upto", sum, own[1]), one = writes(k, &t);
        cj_ptx(f, "add.u32 $1, $1, 1;", rank);
        cj_reg is_last = cj_let(f, "pred", "is_last", "setp.eq.and.u32 $1, $2, $3, $4;", rank, last, one);
        cj_ptx(f, "@$1 st.shared.u64 [$2 + $3], $4;", is_last, told, (int)SAMPLE_AT_TOTAL, upto);
        cj_ptx(f, "@!$1 mov.u64 $2, 0xffffffffffffffff;", kept, sum);
        cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", one, cj_mad(f, "sum_at", t.i, 8, sums), sum);
    }
}

// sums[i] = the mass of the candidate, 0 if it is not kept.
static void filter_p(const sample_kernel *k, cj_reg list, cj_reg sums, cj_reg told, cj_reg count) {
    cj_func *f = k->f;
    cj_reg   all = cj_let(f, "u64", "all", "ld.shared.u64 $1, [$2 + $3];", told, (int)SAMPLE_AT_TOTAL), share = all;
    if (k->s.top_p) {
        share = cj__sample_share(k, all);
        cj_ptx(f, "@!$1 mov.u64 $2, $3;", k->p_active, share, all);
        cj_ptx(f, "max.u64 $1, $1, 1;", share);
    }
    cj_reg nobody = cj_let(f, "pred", "nobody", "setp.eq.u64 $1, $2, 0;", all);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", nobody, k->thread);
    cj__sample_tell(k, nobody, cj_mov(f, "u32", "token", "0xffffffff"), cj_none(), cj_none());
    CJ_FOR(f, i, "u32", "candidate", k->thread, count, k->s.block) {
        cj_reg at = cj_mad(f, "entry_at", i, SAMPLE_ENTRY, list), to = cj_mad(f, "sum_at", i, 8, sums);
        cj_reg mass = cj_let(f, "u64", "mass", "ld.shared.u64 $1, [$2 + 8];", at);
        cj_reg sum = cj_let(f, "u64", "sum", "ld.shared.u64 $1, [$2];", to), kept = cj_lt(f, "kept", sum, share);
        if (k->s.min_p) cj_ptx(f, "setp.ge.and.u64 $1, $2, $3, $1;", kept, mass, k->least_mass);
        cj_ptx(f, "@!$1 mov.u64 $2, 0;\nst.shared.u64 [$3], $2;", kept, mass, to);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

// The masses of all candidates, and of those in columns before the candidate's.
static void sum_earlier(const sample_kernel *k, const turn *t, cj_reg list, cj_reg sums, cj_reg count, cj_reg low,
                        cj_reg all, cj_reg before) {
    cj_func *f = k->f;
    cj_reg   j = cj_mov(f, "u32", "first_other", 0);
    CJ_COUNT_UNI(f, "next_others", j, k->s.share * AT_ONCE, count) for (unsigned i = 0; i < AT_ONCE; i++) {
        cj_reg number = other_number(k, t, j, i), there = cj_lt(f, "there", number, count);
        cj_reg other = cj_mov(f, "u32", "other_low", 0), mass = cj_mov(f, "u64", "other_mass", 0);
        cj__load(f, there, "ld.shared", "u32", &other, 1, cj_mad(f, "entry_at", number, SAMPLE_ENTRY, list), 0);
        cj__load(f, there, "ld.shared", "u64", &mass, 1, cj_mad(f, "sum_at", number, 8, sums), 0);
        cj_reg earlier = cj_gt(f, "earlier", other, low);
        cj_ptx(f, "add.u64 $1, $1, $2;\n@$3 add.u64 $4, $4, $2;", all, mass, earlier, before);
    }
    cj__sample_add_up(k, k->s.share, "u64", all);
    cj__sample_add_up(k, k->s.share, "u64", before);
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
    cj_reg   base = first_of_warp(k);
    CJ_COUNT_UNI(f, "next_candidates", base, k->s.block / k->s.share, count) {
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
    if (k->s.top) cj__sample_top_clear(k);
    find_masses(k, list, count);
    cj_ptx(f, "bar.sync 0; // S5: the masses of all candidates are written");
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
        cj_reg  told = cj_shared_address(f, k->told), list = cj_shared_address(f, k->list);
        targets to = {cj_add(f, "count_at", told, (int)SAMPLE_AT_COUNT), list};
        cj_reg  count = cj_u32(f, "count"), own_count = to.count;
        if (k->s.cluster) {
            to.count = cj__sample_peer(k, to.count, 0);
            to.list = cj__sample_peer(k, list, 0);
        }
        if (k->s.keeps)
            collect(k, &k->kept, &to);
        else
            cj__sample_batches(k, k->s.flight, collect, &to);
        cj__sample_sync(k, "S4: all candidates are in the list");
        cj_ptx(f, "ld.shared.u32 $1, [$2];", count, own_count);
        cj_reg fits = cj_le(f, "list_fits", count, (unsigned)SAMPLE_LIST);
        CJ_IF_UNI(f, fits, "too_many") {
            const cj_reg works = k->s.cluster ? cj_eq(f, "works", k->rank, 0) : cj_always();
            CJ_IF_UNI(f, works, "has_no_list") finish(k, list, told, count);
            cj_ptx(f, "ret;");
        }
    }
}
