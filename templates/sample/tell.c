// SPDX-License-Identifier: Apache-2.0
// What else a launch tells of a row: the token's log-probability, the most probable tokens, the distribution. All are of what the
// filters keep.
#include "sample.h"

// Where what is told of the row begins: element row * each of an array of 4 bytes each.
static cj_reg row_of(const sample_kernel *k, cj_var array, const char *name, cj_reg each) {
    cj_func *f = k->f;
    cj_reg   row = cj_cvt(f, "u64", "row_number", k->row), first = cj_mul(f, "first", row, cj_cvt(f, "u64", "each", each));
    return cj_mad(f, name, first, 4, cj__load_pointer(f, array, name));
}

// ln p = (y - log2 of the mass in units of the greatest) * ln 2: of the exponent, for masses are rounded.
static cj_reg log_probability(const sample_kernel *k, cj_reg v, cj_reg mass) {
    cj_reg y = cj__sample_exponent(k, v);
    cj_reg log = cj_let(k->f, "f32", "log_mass", "cvt.rn.f32.u64 $1, $2;\nlg2.approx.f32 $1, $1;", mass);
    cj_ptx(k->f, "sub.rn.f32 $1, $2, $1; add.rn.f32 $1, $3, $1;", log, (float)SAMPLE_UNIT, y);
    cj_ptx(k->f, "mul.rn.f32 $1, $1, 0f3f317218; // ln 2", log);
    return log;
}

static cj_reg minus_infinity(const sample_kernel *k) { return cj_let(k->f, "f32", "never", "mov.b32 $1, 0fff800000;"); }

void cj__sample_tell(const sample_kernel *k, cj_reg when, cj_reg token, cj_reg v, cj_reg mass) {
    cj_reg tokens = cj__load_pointer(k->f, k->tokens, "tokens");
    cj_ptx(k->f, "@$1 st.global.u32 [$2], $3;", when, cj_mad_wide(k->f, "token_at", k->row, 4, tokens), token);
    if (!k->s.log_probability) return;
    cj_reg log = cj_is_none(v) ? minus_infinity(k) : log_probability(k, v, mass);
    cj_reg at = row_of(k, k->log_at, "log_probability_at", cj_mov(k->f, "u32", "one", 1));
    cj_ptx(k->f, "@$1 st.global.f32 [$2], $3;", when, at, log);
}

// ---- the most probable tokens

// Slot `slot` of the row's; `when` holds for the thread that writes.
static void put_top(const sample_kernel *k, cj_reg when, cj_reg slot, cj_reg token, cj_reg log) {
    cj_func *f = k->f;
    cj_reg   each = cj_mov(f, "u32", "top_each", k->s.top);
    cj_reg   tokens = row_of(k, k->top_tokens_at, "top_tokens_row", each), logs = row_of(k, k->top_logs_at, "top_logs_row", each);
    cj_ptx(f, "@$1 st.global.u32 [$2], $3;", when, cj_mad_wide(f, "top_token_at", slot, 4, tokens), token);
    cj_ptx(f, "@$1 st.global.f32 [$2], $3;", when, cj_mad_wide(f, "top_log_at", slot, 4, logs), log);
}

void cj__sample_top_clear(const sample_kernel *k) {
    cj_reg in = cj_lt(k->f, "has_slot", cj_mad(k->f, "row_thread", k->record, SAMPLE_WARP, k->lane), k->s.top);
    cj_reg never = minus_infinity(k), none = cj_mov(k->f, "u32", "no_token", "0xffffffff");
    put_top(k, in, k->thread, none, never);
}

void cj__sample_top_put(const sample_kernel *k, cj_reg when, cj_reg slot, cj_reg token, cj_reg v, cj_reg mass) {
    cj_reg inside = cj_let(k->f, "pred", "in_top", "setp.lt.and.u32 $1, $2, $3, $4;", slot, k->s.top, when);
    put_top(k, inside, slot, token, log_probability(k, v, mass));
}

// An order is a key above the complement of a column: no two elements have one order. A lane has its two greatest that are below `limit`.
typedef struct best {
    cj_reg first, second, limit;  // u64, 0: none
} best;

// Elements without a mask are not of those that are kept, but their keys are the least.
static void visit_best(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    cj_func    *f = k->f;
    const best *b = own;
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg mass = cj__sample_mass(k, cj__sample_exponent(k, v[e])), there = cj_ne(f, "there", mass, 0);
        if (k->s.min_p) cj_ptx(f, "setp.ge.and.u64 $1, $2, $3, $1;", there, mass, k->least_mass);
        cj_reg low = cj_let(f, "b32", "low", "not.b32 $1, $2;", e ? cj_add(f, "column", column, e) : column);
        cj_reg order = cj_let(f, "u64", "order", "mov.b64 $1, {$2, $3};", low, cj__sample_key(k, v[e]));
        cj_ptx(f, "setp.lt.and.u64 $1, $2, $3, $1;", there, order, b->limit);
        cj_ptx(f, "@$1 max.u64 $2, $2, $3; // the less of the first and this one is next", there, b->second, cj_min(f, "less", b->first, order));
        cj_ptx(f, "@$1 max.u64 $2, $2, $3;", there, b->first, order);
    }
}

// The greatest order of all warps, of `most` of each lane: two words of the records take turns, slot by slot, so one barrier a round is enough.
static cj_reg of_all(const sample_kernel *k, cj_reg most, cj_reg slot) {
    cj_func            *f = k->f;
    const cj_combine    greatest = {.op = CJ_COMBINE_MAX, .type = "u64"};
    cj_reg              all = cj_mov(f, "u64", "all_best", most);
    cj_warp_reduce(f, greatest, all, SAMPLE_WARP);
    if (k->s.records == 1) return all;
    cj_reg turn = cj_and(f, "turn", slot, 1), records = cj_shared_address(f, k->records);
    cj_reg table = cj_mad(f, "turn_at", turn, 8, records), leads = cj_eq(f, "leads", k->lane, 0);
    cj__sample_push(k, leads, "b64", &all, 1, cj_mad(f, "record_at", k->record, SAMPLE_RECORD, table));
    cj__sample_sync(k, "S13: every block has all warps' best of the round");
    CJ_FOR(f, i, "u32", "record_number", k->lane, k->s.records, SAMPLE_WARP) {
        cj_reg part = cj_let(f, "u64", "part", "ld.shared.u64 $1, [$2];", cj_mad(f, "record_at", i, SAMPLE_RECORD, table));
        cj_ptx(f, "max.u64 $1, $1, $2;", all, part);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    cj_warp_reduce(f, greatest, all, SAMPLE_WARP);
    return all;
}

// The lane whose first one was told goes on to its second. Where that was told, too, there may be more below: the warp looks again.
static void go_on(const sample_kernel *k, const best *b, cj_reg found, cj_reg looks) {
    cj_func *f = k->f;
    cj_reg   told = cj_eq(f, "is_told", b->first, b->limit);
    cj_ptx(f, "@$1 mov.u64 $2, $3;\n@$1 mov.u64 $3, 0;", told, b->first, b->second);
    cj_ptx(f, "setp.eq.and.u64 $1, $2, 0, $1;\nsetp.ne.and.u64 $1, $3, 0, $1;", told, b->first, found);
    cj_ptx(f, "vote.sync.any.pred $1, $2, 0xffffffff;", looks, told);
}

// Whether the element of order `limit` is one of those that are kept, of which orders descend: ties are counted.
static cj_reg is_kept(const sample_kernel *k, cj_reg key, cj_reg limit, cj_reg ties) {
    cj_func *f = k->f;
    cj_reg   kept = cj_gt(f, "kept", key, k->least), tie = cj_lt(f, "tie_is_kept", ties, k->ties);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $1;\n@$1 add.u32 $4, $4, 1;\nor.pred $5, $5, $1;", tie, key, k->least, ties, kept);
    cj_ptx(f, "setp.ne.and.u64 $1, $2, 0, $1;", kept, limit);
    return kept;
}

void cj__sample_top(sample_kernel *k, cj_reg mass) {
    cj_func *f = k->f;
    cj_step(f, "the %u most probable tokens: the greatest of all lanes' first ones, one after the other", k->s.top);
    cj__sample_top_clear(k);
    cj__sample_sync(k, "S12: all blocks have read the masses, and all slots are clear");
    best   b = {cj_mov(f, "u64", "first_order", 0), cj_mov(f, "u64", "second_order", 0), cj_mov(f, "u64", "order_limit", "0xffffffffffffffff")};
    cj_reg slot = cj_mov(f, "u32", "slot", 0), ties = cj_mov(f, "u32", "told_ties", 0), found = cj_mov(f, "u64", "found", 0);
    cj_reg looks = cj_let(f, "pred", "looks", "setp.eq.u32 $1, 0, 0;"), speaker = cj_or(f, "speaker", k->record, k->lane);
    CJ_COUNT_UNI(f, "next_slot", slot, 1, k->s.top) {
        CJ_IF_UNI(f, looks, "has_best") {
            cj_set(f, b.first, 0);
            cj_set(f, b.second, 0);
            cj__sample_pass(k, k->s.flight < 2 ? k->s.flight : 2, visit_best, &b);
            cj_set(f, found, b.second);
        }
        cj_set(f, b.limit, of_all(k, b.first, slot));
        go_on(k, &b, found, looks);
        cj_reg low = cj_u32(f, "low"), key = cj_u32(f, "key");
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, key, b.limit);
        cj_reg kept = is_kept(k, key, b.limit, ties), tells = cj_let(f, "pred", "tells", "setp.eq.and.u32 $1, $2, 0, $3;", speaker, kept);
        cj_reg log = log_probability(k, cj__sample_value(k, key), mass);
        put_top(k, tells, slot, cj_let(f, "u32", "top_token", "not.b32 $1, $2;", low), log);
        cj_ptx(f, "@!$1 mov.u32 $2, $3; // nor is any after it", kept, slot, k->s.top);
    }
}

// ---- the distribution

typedef struct distribution {
    cj_reg row, mass;  // f32
} distribution;

static void visit_distribution(sample_kernel *k, const cj_reg *v, const cj_reg *weight, cj_reg column, cj_reg inside, void *own) {
    (void)v;
    const distribution *d = own;
    cj_reg              at = cj_mad_wide(k->f, "probability_at", column, 4, d->row);
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg p = cj_let(k->f, "f32", "p", "cvt.rn.f32.u64 $1, $2;\ndiv.rn.f32 $1, $1, $3;", weight[e], d->mass);
        cj_ptx(k->f, "@$1 st.global.f32 [$2 + $3], $4;", inside, at, (int)(4 * e), p);
    }
}

void cj__sample_distribution(sample_kernel *k, cj_reg mass, cj_reg ties) {
    cj_step(k->f, "the distribution: every kept mass by their sum");
    cj_reg       most = cj_let(k->f, "u64", "at_least_1", "max.u64 $1, $2, 1;", mass);
    distribution d = {row_of(k, k->distribution_at, "probabilities_row", k->columns),
                      cj_let(k->f, "f32", "mass_of_all", "cvt.rn.f32.u64 $1, $2;", most)};
    cj__sample_walk(k, ties, visit_distribution, &d);
}

// ---- speculative sampling

// What the draft gives a token: its probability, in steps of 2^-32, of the mass.
static cj_reg draft_share(const sample_kernel *k, cj_reg p, cj_reg mass) {
    cj_func *f = k->f;
    cj_reg   units = cj_let(f, "f32", "draft_units", "mul.f32 $1, $2, 0f4f800000; // 2^32", p);
    cj_reg   whole = cj_let(f, "u32", "draft_units", "cvt.rni.u32.f32 $1, $2; // at most 2^32 - 1", units);
    cj_reg   wide = cj_let(f, "u64", "draft_units", "mov.b64 $1, {$2, $3};", cj_mov(f, "u32", "zero", 0), whole);
    return cj_let(f, "u64", "draft_share", "mul.hi.u64 $1, $2, $3;", mass, wide);
}

void cj__sample_rest(sample_kernel *k, cj_reg *weight, cj_reg column, cj_reg inside, cj_reg mass, cj_reg *share) {
    cj_func *f = k->f;
    cj_reg   at = cj_mad_wide(f, "draft_at", column, 4, k->draft_row);
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg p = cj_mov(f, "f32", "draft_p", 0.0f);
        cj__load(f, inside, cj__load_given(k->plan), "f32", &p, 1, at, 4 * e);
        cj_reg t = draft_share(k, p, mass);
        if (share) share[e] = t;
        cj_reg taken = cj_min(f, "taken", weight[e], t);
        cj_update(f, weight[e], "sub", taken);
    }
}

typedef struct sums {
    cj_reg rest, accepts, token, number, mass;
} sums;

// Sums what is left of the masses; the lane that has the draft's token tells it, if it is taken.
static void visit_draft(sample_kernel *k, const cj_reg *v, const cj_reg *weight, cj_reg column, cj_reg inside, void *own) {
    cj_func    *f = k->f;
    const sums *s = own;
    cj_reg      rest[SAMPLE_WIDTH], share[SAMPLE_WIDTH];
    for (unsigned e = 0; e < k->s.width; e++) rest[e] = cj_mov(f, "u64", "rest", weight[e]);
    cj__sample_rest(k, rest, column, inside, s->mass, share);
    cj_reg here = cj_let(f, "pred", "here", "setp.ne.u32 $1, 0, 0;"), value = v[0];
    if (k->s.log_probability) value = cj_mov(f, "f32", "logit", v[0]);
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_update(f, s->rest, "add", rest[e]);
        cj_reg is_it = cj_let(f, "pred", "is_draft", "setp.eq.and.u32 $1, $2, $3, $4;", e ? cj_add(f, "column", column, e) : column,
                              s->token, inside);
        cj_reg bar = cj_let(f, "u64", "bar", "mul.hi.u64 $1, $2, $3;", s->number, share[e]);
        cj_ptx(f, "setp.lt.and.u64 $1, $2, $3, $1;\nor.pred $4, $4, $1;", is_it, bar, weight[e], here);
        if (k->s.log_probability) cj_set_if(f, is_it, value, v[e]);
    }
    cj_set_if(f, here, s->accepts, 1);
    cj__sample_tell(k, here, s->token, value, s->mass);
}

cj_reg cj__sample_draft(sample_kernel *k, cj_reg mass, cj_reg ties, cj_reg *goal, cj_reg *begin, cj_reg *end) {
    cj_func *f = k->f;
    cj_step(f, "the draft's token, and what is left of the masses without the draft's");
    cj_reg one = cj_mov(f, "u32", "one", 1), token = cj_u32(f, "draft_token"), table = cj_shared_address(f, k->records);
    k->draft_row = row_of(k, k->draft_p_at, "draft_row", k->columns);
    cj__load(f, cj_always(), cj__load_given(k->plan), "u32", &token, 1, row_of(k, k->draft_tokens_at, "draft_token_at", one), 0);
    cj_reg has = cj_lt(f, "has_draft", token, k->columns), probability = cj_mov(f, "f32", "draft_p_of_token", 0.0f);
    cj__load(f, has, cj__load_given(k->plan), "f32", &probability, 1, cj_mad_wide(f, "draft_p_at", token, 4, k->draft_row), 0);
    cj_ptx(f, "setp.eq.and.f32 $1, $2, $2, $1;", has, probability);
    cj_ptx(f, "@!$1 mov.u32 $2, 0xffffffff; // a token whose probability is NaN is not taken", has, token);
    sums   s = {cj_mov(f, "u64", "own_rest", 0), cj_mov(f, "u32", "own_accepts", 0), token, k->second, mass};
    cj_set_if(f, k->greedy, s.number, 0);
    cj__sample_sync(k, "S14: all blocks have read the records");
    cj__sample_walk(k, ties, visit_draft, &s);
    const cj_reg words[] = {cj__sample_sum(k, "u64", s.rest), cj_cvt(f, "u64", "accepts_word", cj__sample_sum(k, "u32", s.accepts))};
    cj_reg       leads = cj_eq(f, "leads", k->lane, 0);
    cj__sample_push(k, leads, "b64", words, 2, cj_mad(f, "record_at", k->record, SAMPLE_RECORD, table));
    cj__sample_sync(k, "S15: every block has what is left of all warps");
    sample_sums all, before;
    cj__sample_gather(k, table, k->s.records, k->record, &all, &before);
    cj_reg taken = cj_let(f, "pred", "is_taken", "setp.ne.and.u32 $1, $2, 0, $3;", all.ties, has), flag = cj_mov(f, "u32", "flag", 0);
    cj_reg some = cj_let(f, "pred", "some_is_left", "setp.ne.and.u64 $1, $2, 0, $3;", all.mass, has);
    k->residual = some;
    cj_set_if(f, some, *goal, cj__sample_goal(k, all.mass));
    cj_set_if(f, some, *begin, before.mass);
    cj_set_if(f, some, *end, cj_add(f, "rest_upto", before.mass, words[0]));
    cj_ptx(f, "@$1 mov.u32 $2, 1;\nsetp.eq.u32 $3, $4, 0;", taken, flag, leads, cj_or(f, "speaker", k->record, k->lane));
    cj_ptx(f, "@$1 st.global.u32 [$2], $3;", leads, row_of(k, k->accepted_at, "accepted_at", one), flag);
    return taken;
}
