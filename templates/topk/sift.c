// SPDX-License-Identifier: Apache-2.0
// From elements to candidates: loads, a first comparison, which few elements pass, and the first threshold.
//
// The first comparison compares elements as numbers; NaN passes. If no element of a warp's slice passes, nothing else is done.
// Those that pass are mapped to their keys and compared exactly.
//
// The first threshold is guessed, from below: of each thread's elements of the first round the greatest counts, and at least k
// elements are not less than the k-th greatest of these. It is searched bit by bit, until at least k and at most 9/8 k threads'
// are not less. In random order hardly more elements are: of 16 each of 512 threads 68, for k = 64.
//
// Barriers:
//   B0  bar.red of each bit: counts. Nothing is in shared memory.
//   B12 bar.sync after the tail: a selection follows, and another may have come just before.
#include "topk.h"

static unsigned each_of(const topk_kernel *k) { return k->s.loads * k->s.width; }
static unsigned blocks_of(const topk_kernel *k) { return k->s.cluster ? k->s.cluster : 1; }

unsigned cj__topk_round(const topk_kernel *k) { return TOPK_SLICES * k->s.slice * blocks_of(k); }

const char *cj__topk_register(const topk_kernel *k) {
    if (k->s.bytes == 2) return "b16";
    return cj__is_float(k->s.dtype) ? "f32" : "b32";
}

const char *cj__topk_number(const topk_kernel *k) { return cj__is_float(k->s.dtype) ? "f32" : "b32"; }

// ---- elements

// 16-bit elements that are loaded side by side stay two in a word until they are compared: ptxas 13.0 moves halves of words right after
// their load, and so waits for it.
static bool is_packed(const topk_kernel *k) { return k->s.bytes == 2 && k->s.width > 1; }

static unsigned in_register(const topk_kernel *k) { return is_packed(k) ? 2 : 1; }

static const char *slice_register(const topk_kernel *k) { return is_packed(k) ? "b32" : cj__topk_register(k); }

// Load l of slice i, whose first element is in `column`. Out of bounds a thread loads nothing, and keeps what it has.
static void load(const topk_kernel *k, unsigned i, unsigned l) {
    const topk_shape *s = &k->s;
    const unsigned    count = s->width / in_register(k);
    const cj_reg      column = k->column[i][l], inside = cj_lt(k->f, "inside", column, k->end);
    cj_reg            at = cj_mad_wide(k->f, "at", column, s->bytes, k->base);
    cj__load(k->f, inside, cj__load_given_once(k->plan), slice_register(k), &k->element[i][l * count], count, at, 0);
}

void cj__topk_load_first(topk_kernel *k) {
    const topk_shape *s = &k->s;
    cj_step(k->f, "the first %d slices of %u elements", TOPK_SLICES, s->slice);
    cj_reg own = cj_mul(k->f, "own", k->thread, s->width);
    if (s->cluster) own = cj_mad(k->f, "own", k->rank, s->slice, own);
    if (s->parts > 1) own = cj_add(k->f, "own", own, k->from);
    for (unsigned i = 0; i < TOPK_SLICES; i++) {
        for (unsigned e = 0; e < each_of(k) / in_register(k); e++) {
            k->element[i][e] = cj_register(k->f, slice_register(k), "element");
            cj_ptx(k->f, "mov.b$1 $2, 0;", 8 * s->bytes * in_register(k), k->element[i][e]);
        }
        for (unsigned l = 0; l < s->loads; l++) {
            k->column[i][l] = cj_add(k->f, "column", own, i * s->slice * blocks_of(k) + l * s->block * s->width);
            load(k, i, l);
        }
    }
}

void cj__topk_load_next(const topk_kernel *k, unsigned i) {
    for (unsigned l = 0; l < k->s.loads; l++) {
        cj_update(k->f, k->column[i][l], "add", cj__topk_round(k));
        load(k, i, l);
    }
}

// ---- numbers and keys

// Elements of slice i, `count` from `first` on: whole loads.
static void numbers_of(const topk_kernel *k, unsigned i, unsigned first, unsigned count, cj_reg *number) {
    const cj_reg *from = &k->element[i][first / in_register(k)];
    for (unsigned e = 0; e < count; e += in_register(k), from++)
        if (is_packed(k))
            cj__numbers_of_word(k->f, k->s.dtype, *from, &number[e]);
        else
            number[e] = cj__number_of(k->f, k->s.dtype, *from);
}

unsigned cj__topk_key_low(const topk_kernel *k) { return k->s.dtype == CJ_BF16 ? 16 : k->s.dtype == CJ_F16 ? 13 : 0; }

static cj_reg key_of_real(const topk_kernel *k, cj_reg real, cj_reg nan) {
    cj_ptx(k->f, "@$1 mov.b32 $2, 0x7fc00000; // NaN is the greatest, whatever its bits", nan, real);
    return cj__key_of_float(k->f, real);
}

static cj_reg ordered(const topk_kernel *k, cj_reg key) {
    return k->s.smallest ? cj_let(k->f, "u32", "key", "not.b32 $1, $2;", key) : key;
}

// A u32 in the order of the numbers; for the smallest, in the opposite order.
static cj_reg key_of(const topk_kernel *k, cj_reg number) {
    cj_func *f = k->f;
    cj_reg   key;
    if (!cj__is_float(k->s.dtype)) {
        key = cj__key_of_integer(f, k->s.dtype, number);
    } else {
        cj_reg real = cj_let(f, "f32", "real", "add.f32 $1, $2, 0f00000000; // -0 becomes 0", number);
        cj_reg nan = cj_let(f, "pred", "is_nan", "setp.nan.f32 $1, $2, $2;", real);
        key = key_of_real(k, real, nan);
    }
    return ordered(k, key);
}

// An f16 above zeros is read as an f32 here: their order is the same, but NaN and infinity are numbers of f32.
cj_reg cj__topk_key_of_bits(const topk_kernel *k, cj_reg bits) {
    cj_func *f = k->f;
    if (!cj__is_float(k->s.dtype)) return key_of(k, bits);
    cj_reg number = cj_let(f, "f32", "number", "mov.b32 $1, $2;", bits);
    if (k->s.dtype != CJ_F16) return key_of(k, number);
    cj_reg real = cj_let(f, "f32", "real", "add.f32 $1, $2, 0f00000000; // -0 becomes 0", number);
    cj_reg size = cj_let(f, "f32", "size", "abs.f32 $1, $2;", real);
    cj_reg nan = cj_let(f, "pred", "is_nan", "setp.gtu.f32 $1, $2, 0f7c000000;", size);
    return ordered(k, key_of_real(k, real, nan));
}

// The way back. No number has the key of -0: its bound is the next number below, since -0 equals 0.
void cj__topk_set_bound(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   key = cj_let(f, "b32", "bound_key", k->s.smallest ? "not.b32 $1, $2;" : "mov.b32 $1, $2;", k->threshold);
    if (k->s.dtype == CJ_I32) key = cj_xor(f, "bound_bits", key, 0x80000000);
    if (cj__is_float(k->s.dtype)) {
        cj_reg sign = cj_let(f, "b32", "sign", "shr.s32 $1, $2, 31;", key);
        cj_reg flips = cj_or(f, "flips", cj_let(f, "b32", "same", "not.b32 $1, $2;", sign), 0x80000000);
        key = cj_xor(f, "bound_bits", key, flips);
        if (!k->s.smallest) {
            cj_reg zero = cj_let(f, "pred", "is_minus_zero", "setp.eq.u32 $1, $2, 0x80000000;", key);
            cj_ptx(f, "@$1 mov.b32 $2, 0x80000001; // -0, which 0 is not greater than", zero, key);
        }
    }
    cj_ptx(f, "mov.b32 $1, $2;", k->bound, key);
}

// A predicate: the number is beyond the bound, or `also`.
static cj_reg passes_bound(const topk_kernel *k, cj_reg number, cj_reg also) {
    const char *comparison = k->s.smallest ? "lt" : "gt";
    return cj_let(k->f, "pred", "passes", "setp.$5$6.or.$7 $1, $2, $3, $4;", number, k->bound, also, comparison,
                  cj__is_float(k->s.dtype) ? "u" : "", cj__number_type(k->s.dtype));
}

// ---- the first threshold

// The key of the thread's greatest element of the first round; 0 if it has none.
static cj_reg find_greatest(const topk_kernel *k) {
    const topk_shape *s = &k->s;
    const char       *op = s->smallest ? "min" : "max";
    cj_reg            number[TOPK_EACH_MAX], best = cj_register(k->f, cj__topk_number(k), "greatest");
    for (unsigned l = 0; l < TOPK_SLICES * s->loads; l++) {
        const unsigned slice = l / s->loads, of_slice = l % s->loads;
        cj_reg         inside = l ? cj_lt(k->f, "inside", k->column[slice][of_slice], k->end) : cj_always();
        numbers_of(k, slice, of_slice * s->width, s->width, number);
        if (!l) cj_ptx(k->f, "mov.b32 $1, $2;", best, number[0]);
        for (unsigned e = !l; e < s->width; e++)
            cj_ptx(k->f, l ? "@$1 $2.$3 $4, $4, $5;" : "$2.$3 $4, $4, $5;", inside, op, cj__number_type(k->s.dtype), best, number[e]);
    }
    cj_reg key = key_of(k, best);
    cj_set_if(k->f, cj_ge(k->f, "none", k->column[0][0], k->end), key, 0);
    return key;
}

void cj__topk_guess(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   more = cj_pred(f, "more");
    cj_step(f, "a first threshold: what the greatest elements of %u threads are not less than, or of a few more",
            k->s.k);
    cj_reg greatest = find_greatest(k), least = cj_mov(f, "u32", "least", 0), mask = cj_mov(f, "u32", "mask", 1u << 31);
    CJ_DO_UNI(f, "next_bit_of_guess", more) {
        cj_reg probe = cj_or(f, "probe", least, mask), passes = cj_ge(f, "passes", greatest, probe);
        cj_reg all = cj_let(f, "u32", "not_less", "bar.red.popc.u32 $1, 0, $2; // B0: how many are not less", passes);
        cj_reg enough = cj_ge(f, "enough", all, k->s.k);
        cj_set_if(f, enough, least, probe);
        cj_reg close = cj_let(f, "pred", "close", "setp.le.and.u32 $1, $2, $3, $4;", all, k->s.k + k->s.k / TOPK_CLOSE,
                              enough);
        cj_update(f, mask, "shr", 1);
        cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, !$4;", more, mask, 1u << cj__topk_key_low(k), close);
    }
    cj_ptx(f, "setp.eq.u32 $1, $2, 0; // too few threads have elements", k->filling, least);
    cj_ptx(f, "@!$1 sub.u32 $2, $3, 1;", k->filling, k->threshold, least);
    cj__topk_set_bound(k);
}

// ---- candidates

topk_place cj__topk_take_place(const topk_kernel *k, cj_reg passes) {
    cj_func *f = k->f;
    cj_reg   ballot = cj_let(f, "b32", "ballot", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", passes);
    cj_reg   before = cj_let(f, "u32", "before", "popc.b32 $1, $2;", cj_and(f, "lanes_before", ballot, k->below));
    cj_reg   at = cj_mad(f, "candidate_at", cj_add(f, "place", before, k->mine), TOPK_CANDIDATE, k->own_at);
    return (topk_place){passes, ballot, at};
}

void cj__topk_put(const topk_kernel *k, const topk_place *place, cj_reg candidate) {
    cj_ptx(k->f, "@$1 st.shared.b64 [$2], $3;", place->passes, place->at, candidate);
    cj_update(k->f, k->mine, "add", cj_let(k->f, "u32", "found", "popc.b32 $1, $2;", place->ballot));
}

// An element of each lane, `offset` after `column`, becomes a candidate if it is greater than the threshold.
static void sift_element(const topk_kernel *k, cj_reg column, unsigned offset, cj_reg inside, cj_reg number) {
    cj_func *f = k->f;
    cj_reg   may = cj_and(f, "may_pass", passes_bound(k, number, k->filling), inside);
    CJ_IF_UNI(f, cj_let(f, "pred", "any", "vote.sync.any.pred $1, $2, 0xffffffff;", may), "next_element") {
        cj_reg key = key_of(k, number);
        cj_reg greater = cj_let(f, "pred", "is_greater", "setp.gt.or.u32 $1, $2, $3, $4;", key, k->threshold,
                                k->filling);
        cj_reg passes = cj_and(f, "passes", greater, inside);
        const topk_place place = cj__topk_take_place(k, passes);
        cj_reg index = cj_add(f, "index", column, offset);
        cj_reg low = cj_let(f, "u32", "low", "not.b32 $1, $2;", index);
        cj_reg candidate = cj_let(f, "b64", "candidate", "mov.b64 $1, {$2, $3};", low, key);
        cj__topk_put(k, &place, candidate);
    }
}

void cj__topk_sift(const topk_kernel *k, unsigned i) {
    cj_reg number[TOPK_EACH_MAX], any = k->filling;
    cj_step(k->f, "slice %u: elements greater than the threshold become candidates", i);
    numbers_of(k, i, 0, each_of(k), number);
    for (unsigned e = 0; e < each_of(k); e++) any = passes_bound(k, number[e], any);
    CJ_IF_UNI(k->f, cj_let(k->f, "pred", "any", "vote.sync.any.pred $1, $2, 0xffffffff;", any), "no_candidate") {
        for (unsigned e = 0; e < each_of(k); e++) {
            cj_reg column = k->column[i][e / k->s.width], inside = cj_lt(k->f, "inside", column, k->end);
            sift_element(k, column, e % k->s.width, inside, number[e]);
        }
    }
}

// A thread each, of the row's last block.
void cj__topk_sift_tail(const topk_kernel *k) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    const char       *type = cj__topk_register(k);
    cj_step(f, "the last elements, fewer than a load has, a thread each");
    cj_reg column = cj_add(f, "column", k->end, k->thread), inside = cj_lt(f, "inside", column, k->columns);
    cj_reg number_of_block = s->cluster ? k->rank : k->part;
    if (blocks_of(k) > 1 || s->parts > 1)
        cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $1; // of the last block", inside, number_of_block,
               (s->cluster ? s->cluster : s->parts) - 1);
    cj_reg at = cj_mad_wide(f, "at", column, s->bytes, k->base), element = cj_register(f, type, "element");
    cj_ptx(f, "mov.b$1 $2, 0;", 8 * s->bytes, element);
    cj_ptx(f, "@$1 $5.$2 $3, [$4];", inside, type, element, at, cj__load_given(k->plan));
    sift_element(k, column, 0, inside, cj__number_of(k->f, k->s.dtype, element));
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B11: lanes whose elements are out of bounds are with the others again");
    cj_ptx(f, "bar.sync 0; // B12: all threads are done with a selection after the last round");
}
