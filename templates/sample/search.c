// SPDX-License-Identifier: Apache-2.0
// The last kept key of top-k and then of top-p, digit by digit.
//
// Both keep the fewest greatest logits whose weights sum to what is needed: for top-k each weighs 1, for top-p its mass. The
// first digit is of the exponent y, so that logits spread over the bins; the others are of what the key exceeds the first key by that such an
// element may have. Of a digit the weights of all elements that agree in what is known are summed in bins; from the greatest bin down the sums are added, and the bin that reaches what is
// needed has the next digit. In the end one key is known, and of those that equal it how many are kept: the first ones.
//
//   low[], high[]  halves of the bins' sums of 64 bits: a carry of the lower half is added to the upper one
#include "sample.h"

enum { AT_LEFT = 8, EACH_MOST = SAMPLE_BINS, Y_OCTAVES = 41 };

typedef struct search {
    cj_reg by_mass;  // else each weighs 1
    cj_reg level, known, open, shift;
    cj_reg y_digit, needed, total;
    cj_reg low, high, record, sums;
} search;

static unsigned bins_of(const sample_kernel *k) { return 1u << k->s.digit; }

static void clear_bins(const sample_kernel *k, const search *s) {
    CJ_SHARE(k->f, i, "i", k->thread, 16, k->s.block, 4 * bins_of(k)) {
        cj_ptx(k->f, "st.shared.v4.u32 [$1], {0, 0, 0, 0};", cj_add(k->f, "low_at", s->low, i));
        cj_ptx(k->f, "st.shared.v4.u32 [$1], {0, 0, 0, 0};", cj_add(k->f, "high_at", s->high, i));
    }
    cj_ptx(k->f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

// From the exponent: the greatest bin has those next to the greatest logit.
static cj_reg digit_of_y(const sample_kernel *k, cj_reg y) {
    cj_func *f = k->f;
    cj_reg   steps = cj_let(f, "f32", "steps", "mul.rn.f32 $1, $2, $3;", y, -(float)(bins_of(k) / Y_OCTAVES));
    cj_reg   digit = cj_let(f, "u32", "y_digit", "cvt.rzi.u32.f32 $1, $2;\nmin.u32 $1, $1, $3;", steps, bins_of(k) - 1);
    return cj_let(f, "u32", "y_digit", "sub.u32 $1, $2, $3;", bins_of(k) - 1, digit);
}

// The weight of an element goes to the bin of its digit.
static void add_weight(const sample_kernel *k, const search *s, cj_reg digit, cj_reg mass) {
    cj_func *f = k->f;
    cj_ptx(f, "@!$1 mov.u64 $2, 1;", s->by_mass, mass);
    cj_reg low = cj_u32(f, "mass_low"), high = cj_u32(f, "mass_high"), before = cj_u32(f, "bin_before");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, high, mass);
    cj_reg low_at = cj_mad(f, "low_at", digit, 4, s->low);
    cj_ptx(f, "atom.shared.add.u32 $1, [$2], $3;", before, low_at, low);
    cj_ptx(f, "add.cc.u32 $1, $1, $2;\naddc.u32 $3, $3, 0;", before, low, high);
    cj_reg high_at = cj_mad(f, "high_at", digit, 4, s->high);
    cj_ptx(f, "@$1 red.shared.add.u32 [$2], $3;", cj_ne(f, "carries", high, 0), high_at, high);
}

// The first digit, of all elements above `least`; only top-k has found one before.
static void visit_first(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    cj_func *f = k->f;
    (void)column;
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg y = cj__sample_exponent(k, v[e]), mass = cj__sample_mass(k, y), counts = cj_ne(f, "counts", mass, 0);
        if (k->s.top_k) cj_ptx(f, "setp.gt.and.u32 $1, $2, $3, $1;", counts, cj__sample_key(k, v[e]), k->least);
        CJ_IF(f, counts, "has_no_weight") add_weight(k, own, digit_of_y(k, y), mass);
    }
}

// A later digit, of elements that agree in those before. Few have the first one, so the rest is for these alone.
static void visit_later(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    cj_func      *f = k->f;
    const search *s = own;
    (void)column;
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg y = cj__sample_exponent(k, v[e]);
        CJ_IF(f, cj_eq(f, "is_near", digit_of_y(k, y), s->y_digit), "is_far") {
            cj_reg key = cj__sample_key(k, v[e]), mass = cj__sample_mass(k, y), agrees = cj_ne(f, "agrees", mass, 0);
            cj_reg differs = cj_sub(f, "differs", key, s->known);
            cj_ptx(f, "setp.gt.and.u32 $1, $2, $3, $1;", agrees, key, k->least);
            cj_ptx(f, "setp.le.and.u32 $1, $2, $3, $1;", agrees, differs, s->open);
            CJ_IF(f, agrees, "disagrees") add_weight(k, s, cj_shr(f, "digit", differs, s->shift), mass);
        }
    }
}

static void weigh_all(sample_kernel *k, search *s) {
    const unsigned flight = k->s.flight < 2 ? k->s.flight : 2;
    CJ_IF_ELSE_UNI(k->f, cj_eq(k->f, "first_level", s->level, 0), "later_digit", "weighed") {
        cj__sample_pass(k, flight, visit_first, s);
    }
    else {
        cj__sample_pass(k, flight, visit_later, s);
    }
}

// ---- the bin

typedef struct thread_bins {
    unsigned all, each;  // of the search, and of a thread
    cj_reg   has, first, count[EACH_MOST], sum, before;
} thread_bins;

static void load_bins(const sample_kernel *k, cj_reg at, unsigned rank, unsigned first, unsigned width, cj_reg *part) {
    cj_reg peer = k->s.cluster ? cj__sample_peer(k, at, rank) : at;
    cj_registers(k->f, "u32", "part", width, part);
    if (k->s.cluster)
        cj_dsmem_load(k->f, cj_always(), "u32", part, width, peer, (int32_t)(4 * first));
    else
        cj__load(k->f, cj_always(), "ld.shared", "u32", part, width, peer, 4 * first);
}

// Both halves of each bin, of all blocks: the lower one carries into the upper one.
static void add_bins(const sample_kernel *k, const search *s, thread_bins *b) {
    cj_func       *f = k->f;
    const unsigned width = b->each < 4 ? b->each : 4;
    cj_reg         low[EACH_MOST], high[EACH_MOST], low_at = cj_mad(f, "low_at", b->first, 4, s->low);
    cj_reg         high_at = cj_mad(f, "high_at", b->first, 4, s->high);
    for (unsigned i = 0; i < b->each; i++) {
        low[i] = cj_mov(f, "u32", "bin_low", 0);
        high[i] = cj_mov(f, "u32", "bin_high", 0);
    }
    CJ_IF(f, b->has, "has_no_bins") for (unsigned rank = 0; rank < k->s.blocks; rank++)
        for (unsigned i = 0; i < b->each; i += width) {
            cj_reg low_part[4], high_part[4];
            load_bins(k, low_at, rank, i, width, low_part);
            load_bins(k, high_at, rank, i, width, high_part);
            for (unsigned j = 0; j < width; j++)
                cj_ptx(f, "add.cc.u32 $1, $1, $2;\naddc.u32 $3, $3, $4;", low[i + j], low_part[j], high[i + j], high_part[j]);
        }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    for (unsigned i = 0; i < b->each; i++) b->count[i] = cj_let(f, "u64", "bin", "mov.b64 $1, {$2, $3};", low[i], high[i]);
}

// The greatest bins are rank 0's, the next ones rank 1's: a block reads its slice of every block's bins. Were each block to read all, what a
// block of 8 reads of its peers would take longer than to sum the elements.
static void begin_bins(const sample_kernel *k, thread_bins *b) {
    cj_func       *f = k->f;
    const unsigned threads = 1u << cj__log2(k->s.block), slice = (unsigned)cj__power_from(cj__ceil_div(b->all, k->s.blocks));
    b->each = slice > threads ? slice / threads : 1;
    b->has = slice / b->each < k->s.block ? cj_lt(f, "has_bins", k->thread, slice / b->each) : cj_always();
    b->first = cj_mad(f, "first_bin", k->thread, -(int)b->each, cj_mov(f, "u32", "last", b->all - b->each));
    if (k->s.blocks == 1) return;
    cj_reg before = cj_mul(f, "bins_of_ranks_before", k->rank, slice), some = cj_lt(f, "has_slice", before, b->all);
    cj_update(f, b->first, "sub", before);
    if (slice / b->each < k->s.block) cj_ptx(f, "and.pred $1, $1, $2;", b->has, some);
    if (slice / b->each >= k->s.block) b->has = some;
}

// The sum of numbers that lanes have read of a table; *before: of those of the lanes below `own`.
static cj_reg sum_table(const sample_kernel *k, cj_reg table, unsigned count, cj_reg own, cj_reg *before) {
    cj_func *f = k->f;
    cj_reg   there = cj_lt(f, "there", k->lane, count), part = cj_mov(f, "u64", "part_sum", 0);
    cj_ptx(f, "@$1 ld.shared.u64 $2, [$3];", there, part, cj_mad(f, "sum_at", k->lane, 8, table));
    cj_reg all = cj__sample_sum(k, "u64", part);
    cj_ptx(f, "@$1 mov.u64 $2, 0;", cj_ge(f, "not_before", k->lane, own), part);
    *before = cj__sample_sum(k, "u64", part);
    return all;
}

// What is in greater bins than the thread's; the total of all.
static void sum_bins(const sample_kernel *k, const search *s, thread_bins *b) {
    cj_func        *f = k->f;
    const cj_prefix lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u64"}, .lane = k->lane};
    b->sum = cj_mov(f, "u64", "sum", b->count[0]);
    for (unsigned i = 1; i < b->each; i++) cj_update(f, b->sum, "add", b->count[i]);
    cj_reg upto = cj_mov(f, "u64", "upto", b->sum), earlier;
    cj__prefix_lanes(&lanes, upto, NULL, SAMPLE_WARP);
    cj_reg last = cj_eq(f, "last_lane", k->lane, SAMPLE_WARP - 1);
    cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", last, cj_mad(f, "sum_at", k->warp, 8, s->sums), upto);
    cj_ptx(f, "bar.sync 0; // S9: the warps' sums are written");
    cj_set(f, s->total, sum_table(k, s->sums, k->s.warps, k->warp, &earlier));
    b->before = cj_sub(f, "before", cj_add(f, "before", earlier, upto), b->sum);
    if (k->s.blocks == 1) return;
    cj_reg slices = cj_shared_address(f, k->slices), at = cj_mad(f, "slice_at", k->rank, 8, slices);
    CJ_IF_UNI(f, cj_eq(f, "first_warp", k->warp, 0), "not_first_warp") cj__sample_spread(k, SAMPLE_WARP, "b64", &s->total, 1, at);
    cj__sample_sync(k, "S16: every block has the sums of all slices");
    cj_set(f, s->total, sum_table(k, slices, k->s.blocks, k->rank, &earlier));
    cj_update(f, b->before, "add", earlier);
}

// What the lane has found goes to all blocks, from its whole warp.
static void tell_found(const sample_kernel *k, const search *s, cj_reg finds, cj_reg digit, cj_reg left) {
    cj_func        *f = k->f;
    const cj_prefix word = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    const cj_prefix wide = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u64"}, .lane = k->lane};
    cj_reg          finder = cj_let(f, "u32", "finder", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", finds);
    CJ_IF_UNI(f, cj_ne(f, "has_found", finder, 0), "found_by_another") {
        cj_ptx(f, "bfind.u32 $1, $1;", finder);
        cj_reg one = cj__prefix_pick(&word, "digit", digit, CJ_ARG(finder), SAMPLE_WARP), rest = cj__prefix_pick(&wide, "left", left, CJ_ARG(finder), SAMPLE_WARP);
        cj__sample_spread(k, SAMPLE_WARP, "u32", &one, 1, s->record);
        cj__sample_spread(k, SAMPLE_WARP, "u64", &rest, 1, cj_add(f, "left_at", s->record, (int)AT_LEFT));
    }
}

static void tell(const sample_kernel *k, const search *s, const thread_bins *b) {
    cj_func *f = k->f;
    cj_reg   finds = cj_lt(f, "finds", b->before, s->needed), reach = cj_add(f, "reach", b->before, b->sum);
    cj_reg   digit = cj_mov(f, "u32", "digit", 0), left = cj_mov(f, "u64", "left", 0);
    cj_ptx(f, "setp.ge.and.u64 $1, $2, $3, $1;", finds, reach, s->needed);
    CJ_IF(f, finds, "does_not_find") {
        cj_reg before = cj_mov(f, "u64", "before", b->before);
        CJ_ONCE(f, walk, "bin_is_found") for (unsigned i = b->each; i--;) {
            cj_ptx(f, "add.u32 $1, $2, $3;", digit, b->first, i);
            if (!i) break;
            cj_reg upto = cj_add(f, "upto", before, b->count[i]);
            cj_leave(&walk, cj_ge(f, "reaches", upto, s->needed));
            cj_set(f, before, upto);
        }
        cj_set(f, left, cj_sub(f, "left", s->needed, before));
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    tell_found(k, s, finds, digit, left);
}

// ---- one filter

// Of top-p, once the mass of all is known: what is needed of it.
static void need_mass(const sample_kernel *k, const search *s) {
    cj_func *f = k->f;
    if (!k->s.top_p) return;
    cj_reg first = cj_eq(f, "first_level", s->level, 0);
    cj_ptx(f, "and.pred $1, $1, $2;", first, s->by_mass);
    CJ_IF_UNI(f, first, "needed_is_known") {
        cj_reg ties = cj_mul(f, "ties_mass", cj_cvt(f, "u64", "ties_wide", k->ties), k->tie);
        cj_set(f, s->needed, cj__sample_share(k, cj_add(f, "whole", s->total, ties)));
        cj_ptx(f, "max.u64 $1, $1, 1;", s->needed);
    }
}

// a / b, where it is below 2^22: an estimate that is too small by 7 at most, another of what is left by 1, and that one.
static cj_reg small_quotient(const sample_kernel *k, cj_reg a, cj_reg b) {
    cj_func *f = k->f;
    cj_reg   one = cj_let(f, "f32", "reciprocal", "cvt.rn.f32.u64 $1, $2;\nrcp.approx.f32 $1, $1;\nmul.rn.f32 $1, $1, 0f3f7ffff0; // 1 - 2^-20", b);
    cj_reg   left = cj_mov(f, "u64", "left", a), all = cj_mov(f, "u32", "quotient", 0);
    for (unsigned turn = 0; turn < 2; turn++) {
        cj_reg real = cj_let(f, "f32", "estimate", "cvt.rn.f32.u64 $1, $2;\nmul.rn.f32 $1, $1, $3;", left, one);
        cj_reg part = cj_let(f, "u32", "estimate", "cvt.rzi.u32.f32 $1, $2;", real);
        cj_update(f, all, "add", part);
        cj_update(f, left, "sub", cj_mul(f, "taken", cj_cvt(f, "u64", "wide", part), b));
    }
    cj_ptx(f, "@$1 add.u32 $2, $2, 1;", cj_ge(f, "one_more", left, b), all);
    return all;
}

// ties = as many of mass `tie` as reach what is needed.
static void count_ties(const sample_kernel *k, const search *s, cj_reg needed) {
    cj_func *f = k->f;
    cj_reg   mass = cj_let(f, "u64", "weight", "selp.u64 $1, $2, 1, $3;", k->tie, s->by_mass);
    cj_ptx(f, "max.u64 $1, $1, 1;", mass);
    cj_reg above = cj_let(f, "u64", "above", "add.u64 $1, $2, $3;\nsub.u64 $1, $1, 1;", needed, mass);
    cj_set(f, k->ties, small_quotient(k, above, mass));
}

// known, open = an interval of keys that has all elements of the first digit. Its ends are estimates, the far one too far by more than all
// roundings, so it may be too long; later digits test the first one, too. Where the scale is beyond all use it is every key.
static void find_interval(const sample_kernel *k, const search *s) {
    cj_func       *f = k->f;
    const unsigned last = bins_of(k) - 1, low = (1u << cj__sample_low_bits(k)) - 1;
    cj_reg each = cj_let(f, "f32", "each", "mul.rn.f32 $1, $2, $3;\nrcp.approx.f32 $1, $1; // of a bin, in logits", k->scale,
                         (float)(bins_of(k) / Y_OCTAVES));
    cj_reg bins = cj_sub(f, "bins_above", cj_mov(f, "u32", "last_bin", last), s->y_digit);
    cj_reg number = cj_let(f, "f32", "bins_above", "cvt.rn.f32.u32 $1, $2;", bins);
    cj_reg near = cj_let(f, "f32", "near", "mul.rn.f32 $1, $2, $3;\nmul.rn.f32 $1, $1, 0f3f7fff00; // 1 - 2^-16", number, each);
    cj_reg far = cj_let(f, "f32", "far", "fma.rn.f32 $1, $2, $3, $3;\nmul.rn.f32 $1, $1, 0f3f800080; // 1 + 2^-16", number, each);
    cj_reg more = cj_let(f, "f32", "more", "abs.f32 $1, $2;\nadd.rn.f32 $1, $1, $3;", k->most, far);
    cj_ptx(f, "mul.rn.f32 $1, $1, 0f35800000; // 2^-20", more);
    cj_ptx(f, "sub.rn.f32 $1, $2, $1; add.rn.f32 $1, $1, $3;", near, k->most, more);
    cj_ptx(f, "sub.rn.f32 $1, $2, $1; sub.rn.f32 $1, $1, $3;", far, k->most, more);
    cj_reg first_key = cj__sample_key(k, far), last_key = cj__sample_key(k, near);
    cj_reg all = cj_let(f, "pred", "all_keys", "setp.lt.f32 $1, $2, 0f0da24260; // 1e-30", each);
    cj_ptx(f, "setp.gt.or.f32 $1, $2, 0f7149f2ca, $1; // 1e30", all, each);
    cj_reg lowest = cj_let(f, "pred", "is_lowest", "setp.eq.or.u32 $1, $2, 0, $3;", s->y_digit, all);
    cj_reg highest = cj_let(f, "pred", "is_highest", "setp.eq.or.u32 $1, $2, $3, $4;", s->y_digit, last, all);
    cj_ptx(f, "@$1 mov.u32 $2, 0;\n@$3 mov.u32 $4, 0xffffffff;", lowest, first_key, highest, last_key);
    if (low) cj_ptx(f, "and.b32 $1, $1, $2; or.b32 $3, $3, $4;", first_key, ~low, last_key, low);
    cj_set(f, s->known, first_key);
    cj_set(f, s->open, cj_sub(f, "keys", last_key, first_key));
}

// The next digit is of as many bits as bins have, or of those that are left.
static void next_level(const sample_kernel *k, const search *s) {
    cj_func *f = k->f;
    cj_reg   digit = cj_u32(f, "digit"), first = cj_eq(f, "first_level", s->level, 0);
    cj_ptx(f, "ld.shared.u32 $1, [$2];\nld.shared.u64 $3, [$2 + $4];", digit, s->record, s->needed, (int)AT_LEFT);
    CJ_IF_ELSE_UNI(f, first, "is_of_key", "is_known") {
        cj_set(f, s->y_digit, digit);
        find_interval(k, s);
    }
    else {
        cj_reg part = cj_let(f, "u32", "digit_first", "shl.b32 $1, $2, $3;", digit, s->shift), one = cj_mov(f, "u32", "one", 1);
        cj_update(f, s->known, "add", part);
        cj_ptx(f, "shl.b32 $1, $2, $3;\nsub.u32 $1, $1, 1;", s->open, one, s->shift);
    }
    cj_ptx(f, "bfind.u32 $1, $2;\nsub.s32 $1, $1, $3;\nmax.s32 $1, $1, $4;", s->shift, s->open, (int)k->s.digit - 1,
           (int)cj__sample_low_bits(k));
    cj_update(f, s->level, "add", 1);
}

// least, ties = those of this filter.
static void find_last(sample_kernel *k, search *s) {
    cj_func *f = k->f;
    cj_reg   ends = cj_pred(f, "ends");
    cj_set(f, s->level, 0);
    cj_set(f, s->known, 0);
    cj_ptx(f, "mov.u32 $1, 0xffffffff; mov.u32 $2, 0;", s->open, s->shift);
    CJ_LOOP_UNI(f, digits, "next_digit", "last_is_found") {
        thread_bins b = {.all = bins_of(k)};
        clear_bins(k, s);
        cj_ptx(f, "bar.sync 0; // S7: the bins are clear");
        weigh_all(k, s);
        cj__sample_sync(k, "S8: all blocks have summed");
        begin_bins(k, &b);
        add_bins(k, s, &b);
        sum_bins(k, s, &b);
        need_mass(k, s);
        tell(k, s, &b);
        cj__sample_sync(k, "S10: the digit is found, and all blocks have read the bins");
        cj_reg enough = cj_le(f, "enough", s->needed, s->total);
        CJ_UNLESS_UNI(f, enough, "in_bins") {
            cj_reg first = cj_let(f, "pred", "of_ties", "setp.ne.u32 $1, $2, 0;", k->ties);
            cj_ptx(f, "and.pred $1, $1, $2; // the ties of top-k", first, s->by_mass);
            CJ_IF_UNI(f, first, "without_ties") count_ties(k, s, cj_sub(f, "needed_of_ties", s->needed, s->total));
        }
        cj_leave_unless(&digits, enough);
        next_level(k, s);
        cj_ptx(f, "setp.eq.u32 $1, $2, $3;", ends, s->open, (1u << cj__sample_low_bits(k)) - 1);
        CJ_IF_UNI(f, ends, "more_digits") {
            cj_set(f, k->least, s->known);
            if (cj__sample_low_bits(k)) {
                cj_reg below = cj_let(f, "pred", "below_zero", "setp.ge.s32 $1, $2, 0; // its lowest bits are ones",
                                      s->known);
                cj_ptx(f, "@$1 or.b32 $2, $2, $3;", below, k->least, (1u << cj__sample_low_bits(k)) - 1);
            }
            cj_set(f, k->tie, cj__sample_mass(k, cj__sample_exponent(k, cj__sample_value(k, k->least))));
            count_ties(k, s, s->needed);
        }
        cj_leave(&digits, ends);
    }
}

// ---- counts of keys

// The counts of the thread's bins, of all blocks.
static void add_counts(const sample_kernel *k, const search *s, const thread_bins *b, cj_reg *count) {
    cj_func       *f = k->f;
    const unsigned width = b->each < 4 ? b->each : 4;
    cj_reg         at = cj_mad(f, "bins_at", b->first, 4, s->low), part[4];
    for (unsigned i = 0; i < b->each; i++) count[i] = cj_mov(f, "u32", "bin_count", 0);
    CJ_IF(f, b->has, "has_no_bins") for (unsigned rank = 0; rank < k->s.blocks; rank++)
        for (unsigned i = 0; i < b->each * k->s.parts; i += width) {
            load_bins(k, at, rank, i % b->each + i / b->each * 2 * SAMPLE_KEYS, width, part);
            for (unsigned j = 0; j < width; j++) cj_update(f, count[i % b->each + j], "add", part[j]);
        }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

// The masses of the thread's bins. A bin that has several tells all blocks so.
static void weigh_counts(const sample_kernel *k, const search *s, thread_bins *b) {
    cj_func *f = k->f;
    cj_reg   count[EACH_MOST], fails = cj_let(f, "pred", "fails", "setp.ne.u32 $1, 0, 0;");
    add_counts(k, s, b, count);
    for (unsigned i = 0; i < b->each; i++) {
        b->count[i] = cj_mov(f, "u64", "bin", 0);
        CJ_IF(f, cj_ne(f, "some", count[i], 0), "none") {
            cj_reg bin = i ? cj_add(f, "bin_number", b->first, i) : b->first;
            cj_reg mass = cj__sample_count_mass(k, bin, fails);
            cj_ptx(f, "mul.lo.u64 $1, $2, $3;", b->count[i], mass, cj_cvt(f, "u64", "count_wide", count[i]));
        }
    }
    cj__sample_count_fails(k, fails);
}

// least, ties = those of top-p; `digits`: the counts do not say them.
static void find_counted(sample_kernel *k, search *s, cj_reg digits) {
    cj_func    *f = k->f;
    thread_bins b = {.all = 2 * SAMPLE_KEYS};
    cj_reg      bin = cj_u32(f, "bin_number"), failed = cj_u32(f, "failed");
    begin_bins(k, &b);
    weigh_counts(k, s, &b);
    sum_bins(k, s, &b);
    cj_ptx(f, "ld.shared.u32 $1, [$2 + $3];\nsetp.ne.u32 $4, $1, 0;", failed, s->record, (int)SAMPLE_AT_FAILS, digits);
    cj_set(f, s->needed, cj__sample_share(k, s->total));
    cj_ptx(f, "max.u64 $1, $1, 1;", s->needed);
    tell(k, s, &b);
    cj__sample_sync(k, "S21: the bin is found, and all blocks have read the counts");
    cj_reg found = cj_let(f, "pred", "is_found", "setp.le.and.u64 $1, $2, $3, !$4;", s->needed, s->total, digits);
    CJ_IF_UNI(f, found, "is_not_found") {
        cj_ptx(f, "ld.shared.u32 $1, [$2];\nld.shared.u64 $3, [$2 + $4];", bin, s->record, s->needed, (int)AT_LEFT);
        cj_ptx(f, "setp.eq.u32 $1, $2, $3;", digits, bin, (int)SAMPLE_KEYS);
        cj_reg value = cj__sample_count_value(k, bin);
        CJ_UNLESS_UNI(f, digits, "has_several_keys") {
            cj_set(f, k->least, cj__sample_key(k, value));
            cj_set(f, k->tie, cj__sample_mass(k, cj__sample_exponent(k, value)));
            count_ties(k, s, s->needed);
        }
    }
}

// top-p alone, by counts or, where these do not say the last kept key, by digits.
static void search_counts(sample_kernel *k, search *s) {
    cj_func *f = k->f;
    cj_ptx(f, "setp.eq.u32 $1, 0, 0;\nnot.pred $2, $3;", s->by_mass, k->counted, k->p_active);
    CJ_IF_UNI(f, k->p_active, "not_active") {
        cj_reg digits = cj_pred(f, "digits");
        find_counted(k, s, digits);
        cj_ptx(f, "not.pred $1, $2;", k->counted, digits);
        CJ_IF_UNI(f, digits, "is_counted") {
            cj_step(f, "the last kept key, digit by digit, where the counts do not say it");
            find_last(k, s);
        }
    }
}

void cj__sample_search(sample_kernel *k) {
    cj_func *f = k->f;
    search   s = {.by_mass = cj_let(f, "pred", "by_mass", "setp.ne.u32 $1, 0, 0;")};
    cj_step(f, "the last kept key, digit by digit");
    s.low = k->s.counts ? k->bins_at : cj_shared_address(f, k->bins);
    s.high = cj_add(f, "high", s.low, 4 * bins_of(k));
    s.sums = cj_shared_address(f, k->sums);
    s.record = cj_shared_address(f, k->told);
    s.level = cj_u32(f, "level");
    s.known = cj_u32(f, "known");
    s.open = cj_u32(f, "open");
    s.shift = cj_u32(f, "shift");
    s.y_digit = cj_mov(f, "u32", "y_known", 0);
    s.needed = cj_mov(f, "u64", "needed", 0);
    s.total = cj_mov(f, "u64", "total", 0);
    if (k->s.counts) {
        search_counts(k, &s);
        return;
    }
    cj_reg active = cj_let(f, "pred", "active", "setp.ne.u32 $1, 0, 0;");
    if (k->s.top_k) { cj_ptx(f, "setp.ne.u32 $1, $2, 0;\ncvt.u64.u32 $3, $2;", active, k->k, s.needed); }
    CJ_LOOP_UNI(f, filters, "next_filter", "filters_done") {
        CJ_IF_UNI(f, active, "not_active") find_last(k, &s);
        if (!k->s.top_p) {
            cj_leave(&filters, cj_always());
        } else {
            cj_leave(&filters, s.by_mass);
            cj_ptx(f, "setp.eq.u32 $1, 0, 0;\nand.pred $2, $3, $3;", s.by_mass, active, k->p_active);
        }
    }
}
