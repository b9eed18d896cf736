// SPDX-License-Identifier: Apache-2.0
// Float arithmetic (PTX ISA, "Floating Point Instructions"): IEEE in the instruction's rounding mode; .ftz replaces
// subnormal sources and results of f32 by zeros; .sat clamps to [0, 1], NaN to 0. As on the hardware an f32 NaN result
// is 0x7fffffff. Built without contraction or other relaxed float options.

#include "exec.h"

static inline float finished(float x, double exact, bool ftz, bool sat) {
    const float kept = ftz ? cj__cpu_flush_result(x, exact) : x;
    if (sat) return x > 1.0f ? 1.0f : x > 0.0f ? kept : 0.0f;
    return cj__cpu_canonical(kept);
}

// The four forms of an f32 operation on up to three sources a, b, c; missing ones repeat the first. `exact` is the
// result in double, of which `result` is rounded; only .ftz uses it.
#define F32_EXACT(name, sources, expression, exact)                                                  \
    static inline __attribute__((always_inline))                                                     \
    cj_cpu_step name##_any(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, bool ftz, bool sat) { \
        lane_f32       *d = CJ_LANES_OF(lane_f32, 0);                                                \
        const lane_f32 *from_a = CJ_LANES_OF(const lane_f32, 1);                                     \
        const lane_f32 *from_b = CJ_LANES_OF(const lane_f32, (sources) > 1 ? 2 : 1);                 \
        const lane_f32 *from_c = CJ_LANES_OF(const lane_f32, (sources) > 2 ? 3 : 1);                 \
        CJ_EACH_LANE(i, mask, {                                                                      \
            const float a = ftz ? cj__cpu_flush(from_a[i]) : from_a[i],                              \
                        b = ftz ? cj__cpu_flush(from_b[i]) : from_b[i],                              \
                        c = ftz ? cj__cpu_flush(from_c[i]) : from_c[i];                              \
            (void)b, (void)c;                                                                        \
            const float result = expression;                                                         \
            d[i] = finished(result, exact, ftz, sat);                                                \
        });                                                                                          \
        return CJ_STEP_NEXT;                                                                         \
    }                                                                                                \
    CJ_EXEC(name##_f32) { return name##_any(w, op, mask, false, false); }                            \
    CJ_EXEC(name##_ftz_f32) { return name##_any(w, op, mask, true, false); }

#define F32(name, sources, expression) F32_EXACT(name, sources, expression, (double)result)

#define F32_SAT(name, sources, expression, exact)                            \
    F32_EXACT(name, sources, expression, exact)                              \
    CJ_EXEC(name##_sat_f32) { return name##_any(w, op, mask, false, true); } \
    CJ_EXEC(name##_ftz_sat_f32) { return name##_any(w, op, mask, true, true); }

// On x86 hosts with AVX2 and FMA these executors are used, even in builds for older hosts: f64 takes twice the lanes of
// SSE2, and fma is an instruction instead of a call of the C library.
#if defined(__x86_64__) && !defined(__FMA__)
#define FAST __attribute__((target("avx2,fma")))
static bool is_fast(void) { return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"); }
#else
#define FAST
static bool is_fast(void) { return true; }
#endif

#define F64(name, sources, expression)                                               \
    static inline __attribute__((always_inline))                                     \
    cj_cpu_step name##_any_f64(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) { \
        lane_f64       *d = CJ_LANES_OF(lane_f64, 0);                                \
        const lane_f64 *from_a = CJ_LANES_OF(const lane_f64, 1);                     \
        const lane_f64 *from_b = CJ_LANES_OF(const lane_f64, (sources) > 1 ? 2 : 1); \
        const lane_f64 *from_c = CJ_LANES_OF(const lane_f64, (sources) > 2 ? 3 : 1); \
        CJ_EACH_LANE(i, mask, {                                                      \
            const double a = from_a[i], b = from_b[i], c = from_c[i];                \
            (void)b, (void)c;                                                        \
            d[i] = cj__cpu_made(expression, a != a || b != b || c != c);             \
        });                                                                          \
        return CJ_STEP_NEXT;                                                         \
    }                                                                                \
    CJ_EXEC(name##_f64) { return name##_any_f64(w, op, mask); }                      \
    FAST CJ_EXEC(fast_##name##_f64) { return name##_any_f64(w, op, mask); }

F32_SAT(add, 2, a + b, (double)result)
F32_SAT(sub, 2, a - b, (double)result)
F32_SAT(mul, 2, a *b, (double)a *(double)b)
F32_SAT(fma, 3, fmaf(a, b, c), (double)a *(double)b + (double)c)
F32(div, 2, a / b)
F32(rcp, 1, 1.0f / a)
F32(sqrt, 1, sqrtf(a))
// If several operands of f64 are NaN, the result is one of them, made quiet, in every rounding mode: b, then c, then a.
// A quotient, which ptxas expands into several instructions, keeps a, then b. On the host the choice would depend on
// the compiler's order of operands.
#define NAN_OR(x, otherwise) chosen((x) != (x), (x) + (x), otherwise)

// The first or the second, without a branch: so lanes become vectors.
static inline double chosen(bool first, double x, double y) {
    uint64_t       of_x, of_y;
    const uint64_t mask = 0 - (uint64_t)first;
    memcpy(&of_x, &x, sizeof x);
    memcpy(&of_y, &y, sizeof y);
    of_y = (of_x & mask) | (of_y & ~mask);
    memcpy(&y, &of_y, sizeof y);
    return y;
}

F64(add, 2, NAN_OR(b, a + b))
F64(sub, 2, NAN_OR(b, a - b))
F64(mul, 2, NAN_OR(b, a *b))
F64(fma, 3, NAN_OR(b, NAN_OR(c, fma(a, b, c))))
F64(div, 2, NAN_OR(a, a / b))
F64(rcp, 1, 1.0 / a)
F64(sqrt, 1, sqrt(a))

FAST CJ_EXEC(fast_fma_f32) { return fma_any(w, op, mask, false, false); }
FAST CJ_EXEC(fast_fma_ftz_f32) { return fma_any(w, op, mask, true, false); }
FAST CJ_EXEC(fast_fma_sat_f32) { return fma_any(w, op, mask, false, true); }
FAST CJ_EXEC(fast_fma_ftz_sat_f32) { return fma_any(w, op, mask, true, true); }

// Of a number and a NaN the result is the number, of two NaNs the second. -0 is less than +0.
#define QUIET(x) ((x) != (x) ? (x) + (x) : (x))
#define SMALLER(a, b) ((a) != (a) ? QUIET(b) : (b) != (b) ? (a) : (a) < (b) || ((a) == (b) && signbit(a)) ? (a) : (b))
#define LARGER(a, b) ((a) != (a) ? QUIET(b) : (b) != (b) ? (a) : (a) > (b) || ((a) == (b) && !signbit(a)) ? (a) : (b))

F32(min, 2, SMALLER(a, b))
F32(max, 2, LARGER(a, b))
F32(min_nan, 2, a != a || b != b ? NAN : SMALLER(a, b))
F32(max_nan, 2, a != a || b != b ? NAN : LARGER(a, b))

// .xorsign.abs: of the magnitudes, with the sign of the product.
static inline float signed_as(float x, float a, float b) {
    return copysignf(x, signbit(a) != signbit(b) ? -1.0f : 1.0f);
}

F32(min_xorsign, 2, signed_as(SMALLER(fabsf(a), fabsf(b)), a, b))
F32(max_xorsign, 2, signed_as(LARGER(fabsf(a), fabsf(b)), a, b))
F32(min_nan_xorsign, 2, a != a || b != b ? NAN : signed_as(SMALLER(fabsf(a), fabsf(b)), a, b))
F32(max_nan_xorsign, 2, a != a || b != b ? NAN : signed_as(LARGER(fabsf(a), fabsf(b)), a, b))
F64(min, 2, SMALLER(a, b))
F64(max, 2, LARGER(a, b))
F32(neg, 1, -a)
F32(abs, 1, fabsf(a))
F64(neg, 1, NAN_OR(a, -a))
F64(abs, 1, NAN_OR(a, fabs(a)))

// ---- bits of floats

#define COPYSIGN(type)                                                          \
    CJ_EXEC(copysign_##type) {                                                  \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);                     \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);               \
        const lane_##type *b = CJ_LANES_OF(const lane_##type, 2);               \
        const lane_##type  sign = (lane_##type)1 << (sizeof *d * 8 - 1);        \
        CJ_EACH_LANE(i, mask, { d[i] = (a[i] & sign) | (b[i] & (sign - 1)); }); \
        return CJ_STEP_NEXT;                                                    \
    }

COPYSIGN(u32)
COPYSIGN(u64)

// Zero counts as normal. `infinity` and `least` are infinity and the smallest normal number without their sign.
static inline bool tests(uint16_t mode, uint64_t magnitude, uint64_t infinity, uint64_t least) {
    switch (mode) {
    case CJ_W_FINITE: return magnitude < infinity;
    case CJ_W_INFINITE: return magnitude == infinity;
    case CJ_W_NUMBER: return magnitude <= infinity;
    case CJ_W_NOTANUMBER: return magnitude > infinity;
    case CJ_W_NORMAL: return !magnitude || (magnitude >= least && magnitude < infinity);
    default: return magnitude && magnitude < least;
    }
}

#define TESTP(type, infinity, least)                                                       \
    CJ_EXEC(testp_##type) {                                                                \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);                          \
        uint32_t           bits = 0;                                                       \
        CJ_SOME_LANES(i, mask) {                                                           \
            const lane_##type magnitude = a[i] & ~((lane_##type)1 << (sizeof *a * 8 - 1)); \
            bits |= (uint32_t)tests(op->mode, magnitude, infinity, least) << i;            \
        }                                                                                  \
        cj__cpu_predicate_set(w->file + op->slot[0], mask, bits);                          \
        return CJ_STEP_NEXT;                                                               \
    }

TESTP(u32, 0x7f800000, 0x00800000)
TESTP(u64, 0x7ff0000000000000, 0x0010000000000000)

// ---- selection

typedef struct float_forms {
    cj_cpu_exec plain, ftz, sat, ftz_sat, f64, fast_f64;
} float_forms;

static bool select_float(cj_cpu_prepare *p, const float_forms *forms) {
    const bool     ftz = cj__cpu_has(p, CJ_W_FTZ), sat = cj__cpu_has(p, CJ_W_SAT);
    const uint16_t type = p->mnemonic->type_last;
    if (type == CJ_W_F64)
        p->op.run = is_fast() ? forms->fast_f64 : forms->f64;
    else if (type != CJ_W_F32)
        return false;
    else if (sat)
        p->op.run = ftz ? forms->ftz_sat : forms->sat;
    else
        p->op.run = ftz ? forms->ftz : forms->plain;
    cj__cpu_round(p);
    return p->op.run != NULL;
}

#define FORMS(name) .plain = name##_f32, .ftz = name##_ftz_f32
#define F64_FORMS(name) .f64 = name##_f64, .fast_f64 = fast_##name##_f64
#define SAT_FORMS(name) FORMS(name), .sat = name##_sat_f32, .ftz_sat = name##_ftz_sat_f32

#define SELECT(name, ...)                               \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) {     \
        static const float_forms forms = {__VA_ARGS__}; \
        return select_float(p, &forms);                 \
    }

SELECT(add_float, SAT_FORMS(add), F64_FORMS(add))
SELECT(sub_float, SAT_FORMS(sub), F64_FORMS(sub))
SELECT(mul_float, SAT_FORMS(mul), F64_FORMS(mul))
bool cj__cpu_select_fma(cj_cpu_prepare *p) {
    static const float_forms portable = {SAT_FORMS(fma), F64_FORMS(fma)};
    static const float_forms fast = {SAT_FORMS(fast_fma), F64_FORMS(fma)};
    return select_float(p, is_fast() ? &fast : &portable);
}

SELECT(div_float, FORMS(div), F64_FORMS(div))
SELECT(rcp_float, FORMS(rcp), F64_FORMS(rcp))
SELECT(sqrt_float, FORMS(sqrt), F64_FORMS(sqrt))
SELECT(neg_float, FORMS(neg), F64_FORMS(neg))
SELECT(abs_float, FORMS(abs), F64_FORMS(abs))

#define SELECT_EXTREME(name)                                                                    \
    bool cj__cpu_select_##name##_float(cj_cpu_prepare *p) {                                     \
        static const float_forms forms[2][2] = {                                                \
            {{FORMS(name), F64_FORMS(name)}, {FORMS(name##_nan)}},                              \
            {{FORMS(name##_xorsign)}, {FORMS(name##_nan_xorsign)}},                             \
        };                                                                                      \
        return select_float(p, &forms[cj__cpu_has(p, CJ_W_XORSIGN)][cj__cpu_has(p, CJ_W_NAN)]); \
    }

SELECT_EXTREME(min)
SELECT_EXTREME(max)

bool cj__cpu_select_copysign(cj_cpu_prepare *p) {
    p->op.run = p->mnemonic->type_last == CJ_W_F64 ? copysign_u64 : copysign_u32;
    return true;
}

bool cj__cpu_select_testp(cj_cpu_prepare *p) {
    p->op.mode = p->mnemonic->word[0];
    p->op.run = p->mnemonic->type_last == CJ_W_F64 ? testp_u64 : testp_u32;
    return true;
}
