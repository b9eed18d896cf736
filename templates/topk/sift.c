// SPDX-License-Identifier: Apache-2.0
// From elements to candidates: loads, a first look, which few elements outlast, and the first threshold.
//
// The first look is one comparison an element, as the number that it is; NaN passes. Where none of a warp's elements of
// a slice passes, that was all. Those that do are mapped to their keys and compared exactly.
//
// The first threshold is guessed, from below: of each thread's elements of the first round the greatest counts; at least
// k elements are not below the k-th greatest of those. It is searched bit by bit, until k to 9/8 k threads' are not
// below. In random order hardly more elements are: of 16 each of 512 threads 68, for k = 64.
//
// Barriers, and why each is needed and enough:
//   B0  bar.red of each bit: counts. Nothing is in shared memory.
#include "topk.h"

static unsigned each_of(const topk_kernel *k) { return k->s.loads * k->s.width; }
static unsigned blocks_of(const topk_kernel *k) { return k->s.cluster ? k->s.cluster : 1; }

static bool is_float(const topk_kernel *k) { return k->s.dtype != CJ_I32 && k->s.dtype != CJ_U32; }

unsigned cj__topk_round(const topk_kernel *k) { return TOPK_SLICES * k->s.slice * blocks_of(k); }

const char *cj__topk_register(const topk_kernel *k) {
    if (k->s.bytes == 2) return "b16";
    return is_float(k) ? "f32" : "b32";
}

// ---- elements

// Load l of slice i, whose first element is in `column`. A thread behind the row's end loads nothing: what it has stays.
static void load(topk_kernel *k, unsigned i, unsigned l) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    const cj_reg     *to = &k->element[i][l * s->width], column = k->column[i][l];
    cj_reg            at = cj_u64(f, "at"), when = cj_pred(f, "inside");
    const char       *op = "ld.global.nc.L1::no_allocate", *type = cj__topk_register(k);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", when, column, k->columns);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, column, s->bytes, k->base);
    if (s->width == 8) {
        cj_reg word[4];
        for (unsigned w = 0; w < 4; w++) {
            word[w] = cj_b32(f, "word");
            cj_ptx(f, "mov.b32 $1, {$2, $3};", word[w], to[2 * w], to[2 * w + 1]);
        }
        cj_ptx(f, "@$1 $2.v4.b32 {$3, $4, $5, $6}, [$7];", when, op, word[0], word[1], word[2], word[3], at);
        for (unsigned w = 0; w < 4; w++) cj_ptx(f, "mov.b32 {$1, $2}, $3;", to[2 * w], to[2 * w + 1], word[w]);
    } else if (s->width == 4) {
        cj_ptx(f, "@$1 $2.v4.$3 {$4, $5, $6, $7}, [$8];", when, op, type, to[0], to[1], to[2], to[3], at);
    } else if (s->width == 2) {
        cj_ptx(f, "@$1 $2.v2.$3 {$4, $5}, [$6];", when, op, type, to[0], to[1], at);
    } else {
        cj_ptx(f, "@$1 $2.$3 $4, [$5];", when, op, type, to[0], at);
    }
}

void cj__topk_load_first(topk_kernel *k) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            own = cj_u32(f, "own");
    cj_step(f, "the first %d slices of %u elements", TOPK_SLICES, s->slice);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", own, k->thread, s->width);
    if (s->cluster) cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", own, k->rank, s->slice);
    for (unsigned i = 0; i < TOPK_SLICES; i++) {
        for (unsigned e = 0; e < each_of(k); e++) {
            k->element[i][e] = cj_register(f, cj__topk_register(k), "element");
            cj_ptx(f, "mov.b$1 $2, 0;", 8 * s->bytes, k->element[i][e]);
        }
        for (unsigned l = 0; l < s->loads; l++) {
            k->column[i][l] = cj_u32(f, "column");
            cj_ptx(f, "add.u32 $1, $2, $3;", k->column[i][l], own,
                   i * s->slice * blocks_of(k) + l * s->block * s->width);
            load(k, i, l);
        }
    }
}

void cj__topk_load_next(topk_kernel *k, unsigned i) {
    for (unsigned l = 0; l < k->s.loads; l++) {
        cj_ptx(k->f, "add.u32 $1, $1, $2;", k->column[i][l], cj__topk_round(k));
        load(k, i, l);
    }
}

// ---- numbers and keys

static const char *number_type(const topk_kernel *k) {
    return is_float(k) ? "f32" : k->s.dtype == CJ_I32 ? "s32" : "u32";
}

cj_reg cj__topk_new_number(topk_kernel *k, const char *name) {
    return cj_register(k->f, is_float(k) ? "f32" : "b32", name);
}

// An element as what it is compared as.
static cj_reg number_of(topk_kernel *k, cj_reg element) {
    if (k->s.bytes == 4) return element;
    cj_reg number = cj_f32(k->f, "number");
    if (k->s.dtype == CJ_F16)
        cj_ptx(k->f, "cvt.f32.f16 $1, $2;", number, element);
    else
        cj_ptx(k->f, "mov.b32 $1, {0, $2};", number, element);
    return number;
}

unsigned cj__topk_key_low(const topk_kernel *k) { return k->s.dtype == CJ_BF16 ? 16 : k->s.dtype == CJ_F16 ? 13 : 0; }

// A u32 in the order of the numbers, or, for the smallest, in the opposite one.
static cj_reg key_of(topk_kernel *k, cj_reg number) {
    cj_func *f = k->f;
    cj_reg   key = cj_u32(f, "key");
    if (k->s.dtype == CJ_I32) {
        cj_ptx(f, "xor.b32 $1, $2, 0x80000000;", key, number);
    } else if (k->s.dtype == CJ_U32) {
        cj_ptx(f, "mov.b32 $1, $2;", key, number);
    } else {
        cj_reg sign = cj_b32(f, "sign"), real = cj_f32(f, "real"), nan = cj_pred(f, "is_nan");
        cj_ptx(f, "add.f32 $1, $2, 0f00000000; // -0 becomes 0", real, number);
        cj_ptx(f, "setp.nan.f32 $1, $2, $2;", nan, real);
        cj_ptx(f, "@$1 mov.b32 $2, 0x7fc00000; // NaN is the greatest, whatever its bits", nan, real);
        cj_ptx(f, "mov.b32 $1, $2;", key, real);
        cj_ptx(f, "shr.s32 $1, $2, 31;", sign, key);
        cj_ptx(f, "or.b32 $1, $1, 0x80000000;", sign);
        cj_ptx(f, "xor.b32 $1, $1, $2;", key, sign);
    }
    if (k->s.smallest) cj_ptx(f, "not.b32 $1, $1;", key);
    return key;
}

// The way back. No number has the key of -0: what goes with that is the next one below, since it equals 0.
void cj__topk_set_bound(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   key = cj_b32(f, "bound_key"), sign = cj_b32(f, "sign"), zero = cj_pred(f, "is_minus_zero");
    if (k->s.smallest)
        cj_ptx(f, "not.b32 $1, $2;", key, k->threshold);
    else
        cj_ptx(f, "mov.b32 $1, $2;", key, k->threshold);
    if (k->s.dtype == CJ_I32) cj_ptx(f, "xor.b32 $1, $1, 0x80000000;", key);
    if (is_float(k)) {
        cj_ptx(f, "shr.s32 $1, $2, 31;", sign, key);
        cj_ptx(f, "not.b32 $1, $1;", sign);
        cj_ptx(f, "or.b32 $1, $1, 0x80000000;", sign);
        cj_ptx(f, "xor.b32 $1, $1, $2;", key, sign);
        if (!k->s.smallest) {
            cj_ptx(f, "setp.eq.u32 $1, $2, 0x80000000;", zero, key);
            cj_ptx(f, "@$1 mov.b32 $2, 0x80000001; // -0, which 0 is not above", zero, key);
        }
    }
    cj_ptx(f, "mov.b32 $1, $2;", k->bound, key);
}

// passes = the number is beyond the bound, or `also`.
static void look(topk_kernel *k, cj_reg passes, cj_reg number, cj_reg also) {
    const char *comparison = k->s.smallest ? "lt" : "gt";
    cj_ptx(k->f, "setp.$1$2.or.$3 $4, $5, $6, $7;", comparison, is_float(k) ? "u" : "", number_type(k), passes, number,
           k->bound, also);
}

// ---- the first threshold

// best = the greater of both, where the load was inside of the row.
static void take_greater(topk_kernel *k, cj_reg best, cj_reg number, cj_reg inside) {
    const char *op = k->s.smallest ? "min" : "max";
    if (inside.id)
        cj_ptx(k->f, "@$1 $2.$3 $4, $4, $5;", inside, op, number_type(k), best, number);
    else
        cj_ptx(k->f, "$1.$2 $3, $3, $4;", op, number_type(k), best, number);
}

// The key of the thread's greatest element of the first round; 0 where it has none.
static cj_reg find_greatest(topk_kernel *k) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            best = cj__topk_new_number(k, "greatest"), past = cj_pred(f, "past");
    cj_ptx(f, "mov.b32 $1, $2;", best, number_of(k, k->element[0][0]));
    for (unsigned load = 0; load < TOPK_SLICES * s->loads; load++) {
        const unsigned i = load / s->loads, l = load % s->loads;
        cj_reg         inside = load ? cj_pred(f, "inside") : cj_always();
        if (load) cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside, k->column[i][l], k->columns);
        for (unsigned e = !load; e < s->width; e++)
            take_greater(k, best, number_of(k, k->element[i][l * s->width + e]), inside);
    }
    cj_reg key = key_of(k, best);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->column[0][0], k->columns);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", past, key);
    return key;
}

void cj__topk_guess(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   least = cj_u32(f, "least"), mask = cj_u32(f, "mask"), probe = cj_u32(f, "probe"),
           all = cj_u32(f, "not_below");
    cj_reg passes = cj_pred(f, "passes"), enough = cj_pred(f, "enough"), close = cj_pred(f, "close"),
           more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_bit_of_guess");
    cj_step(f, "a first threshold: what the greatest elements of %u threads are not below, or of a few more", k->s.k);
    cj_reg greatest = find_greatest(k);
    cj_ptx(f, "mov.u32 $1, 0;", least);
    cj_ptx(f, "mov.u32 $1, 0x80000000;", mask);
    cj_label_here(f, next);
    cj_ptx(f, "or.b32 $1, $2, $3;", probe, least, mask);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", passes, greatest, probe);
    cj_ptx(f, "bar.red.popc.u32 $1, 0, $2; // B0: how many are not below", all, passes);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", enough, all, k->s.k);
    cj_ptx(f, "@$1 mov.u32 $2, $3;", enough, least, probe);
    cj_ptx(f, "setp.le.and.u32 $1, $2, $3, $4;", close, all, k->s.k + k->s.k / TOPK_CLOSE, enough);
    cj_ptx(f, "shr.u32 $1, $1, 1;", mask);
    cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, !$4;", more, mask, 1u << cj__topk_key_low(k), close);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0; // too few threads have elements", k->filling, least);
    cj_ptx(f, "@!$1 sub.u32 $2, $3, 1;", k->filling, k->threshold, least);
    cj__topk_set_bound(k);
}

// ---- candidates

// The warp's elements e of slice i that are above the threshold become its candidates.
static void sift_element(topk_kernel *k, unsigned i, unsigned e, cj_reg number) {
    cj_func *f = k->f;
    cj_reg   passes = cj_pred(f, "passes"), any = cj_pred(f, "any"), inside = cj_pred(f, "inside");
    cj_reg   ballot = cj_b32(f, "ballot"), place = cj_u32(f, "place"), index = cj_u32(f, "index");
    cj_reg   candidate = cj_b64(f, "candidate"), at = cj_u32(f, "candidate_at"), column = k->column[i][e / k->s.width];
    cj_label next = cj_label_new(f, "next_element");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside, column, k->columns);
    look(k, passes, number, k->filling);
    cj_ptx(f, "and.pred $1, $1, $2;", passes, inside);
    cj_ptx(f, "vote.sync.any.pred $1, $2, 0xffffffff;", any, passes);
    cj_ptx(f, "@!$1 bra.uni $2;", any, next);
    cj_reg key = key_of(k, number);
    cj_ptx(f, "setp.gt.or.u32 $1, $2, $3, $4;", passes, key, k->threshold, k->filling);
    cj_ptx(f, "and.pred $1, $1, $2;", passes, inside);
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", ballot, passes);
    cj_ptx(f, "and.b32 $1, $2, $3;", place, ballot, k->below);
    cj_ptx(f, "popc.b32 $1, $1;", place);
    cj_ptx(f, "add.u32 $1, $1, $2;", place, k->mine);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, place, k->own_at);
    cj_ptx(f, "add.u32 $1, $2, $3;", index, column, e % k->s.width);
    cj_ptx(f, "not.b32 $1, $1;", index);
    cj_ptx(f, "mov.b64 $1, {$2, $3};", candidate, index, key);
    cj_ptx(f, "@$1 st.shared.b64 [$2], $3;", passes, at, candidate);
    cj_ptx(f, "popc.b32 $1, $1;", ballot);
    cj_ptx(f, "add.u32 $1, $1, $2;", k->mine, ballot);
    cj_label_here(f, next);
}

void cj__topk_sift(topk_kernel *k, unsigned i) {
    cj_func *f = k->f;
    cj_reg   number[TOPK_EACH_MAX], any = cj_pred(f, "any");
    cj_label none = cj_label_new(f, "no_candidate");
    cj_step(f, "slice %u: what is above the threshold becomes a candidate", i);
    for (unsigned e = 0; e < each_of(k); e++) {
        number[e] = number_of(k, k->element[i][e]);
        look(k, any, number[e], e ? any : k->filling);
    }
    cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", any);
    cj_ptx(f, "@!$1 bra.uni $2;", any, none);
    for (unsigned e = 0; e < each_of(k); e++) sift_element(k, i, e, number[e]);
    cj_label_here(f, none);
}
