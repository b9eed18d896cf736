// SPDX-License-Identifier: Apache-2.0
// Float arithmetic (PTX ISA, "Floating Point Instructions"): IEEE in the rounding mode asked for; .ftz takes subnormal
// sources and results of f32 for zeros; .sat clamps to [0, 1], NaN to 0. As on the hardware an f32 result that is not a
// number is 0x7fffffff. Built without contraction or other liberties.
#include <fenv.h>
#include <string.h>

#include "exec.h"

static inline float canonical(float x) {
    const uint32_t bits = 0x7fffffff;
    float          nan;
    memcpy(&nan, &bits, sizeof nan);
    return x != x ? nan : x;
}

static inline float finished(float x, bool ftz, bool sat) {
    if (sat) return x > 1.0f ? 1.0f : x > 0.0f ? ftz ? cj__cpu_flush(x) : x : 0.0f;
    return canonical(ftz ? cj__cpu_flush(x) : x);
}

// The four forms of an f32 operation on up to three sources a, b, c; missing ones repeat the first.
#define F32(name, sources, expression)                                                               \
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
            d[i] = finished(expression, ftz, sat);                                                   \
        });                                                                                          \
        return CJ_STEP_NEXT;                                                                         \
    }                                                                                                \
    CJ_EXEC(name##_f32) { return name##_any(w, op, mask, false, false); }                            \
    CJ_EXEC(name##_ftz_f32) { return name##_any(w, op, mask, true, false); }

#define F32_SAT(name, sources, expression)                                   \
    F32(name, sources, expression)                                           \
    CJ_EXEC(name##_sat_f32) { return name##_any(w, op, mask, false, true); } \
    CJ_EXEC(name##_ftz_sat_f32) { return name##_any(w, op, mask, true, true); }

#define F64(name, sources, expression)                                               \
    CJ_EXEC(name##_f64) {                                                            \
        lane_f64       *d = CJ_LANES_OF(lane_f64, 0);                                \
        const lane_f64 *from_a = CJ_LANES_OF(const lane_f64, 1);                     \
        const lane_f64 *from_b = CJ_LANES_OF(const lane_f64, (sources) > 1 ? 2 : 1); \
        const lane_f64 *from_c = CJ_LANES_OF(const lane_f64, (sources) > 2 ? 3 : 1); \
        CJ_EACH_LANE(i, mask, {                                                      \
            const double a = from_a[i], b = from_b[i], c = from_c[i];                \
            (void)b, (void)c;                                                        \
            d[i] = expression;                                                       \
        });                                                                          \
        return CJ_STEP_NEXT;                                                         \
    }

F32_SAT(add, 2, a + b)
F32_SAT(sub, 2, a - b)
F32_SAT(mul, 2, a *b)
F32_SAT(fma, 3, fmaf(a, b, c))
F32(div, 2, a / b)
F64(add, 2, a + b)
F64(sub, 2, a - b)
F64(mul, 2, a *b)
F64(fma, 3, fma(a, b, c))
F64(div, 2, a / b)

// A number wins over NaN, and -0 is less than +0.
#define SMALLER(a, b) ((a) != (a) ? (b) : (b) != (b) ? (a) : (a) < (b) || ((a) == (b) && signbit(a)) ? (a) : (b))
#define LARGER(a, b) ((a) != (a) ? (b) : (b) != (b) ? (a) : (a) > (b) || ((a) == (b) && !signbit(a)) ? (a) : (b))

F32(min, 2, SMALLER(a, b))
F32(max, 2, LARGER(a, b))
F32(min_nan, 2, a != a || b != b ? NAN : SMALLER(a, b))
F32(max_nan, 2, a != a || b != b ? NAN : LARGER(a, b))
F64(min, 2, SMALLER(a, b))
F64(max, 2, LARGER(a, b))
F32(neg, 1, -a)
F32(abs, 1, fabsf(a))
F64(neg, 1, -a)
F64(abs, 1, fabs(a))

// ---- directed rounding: the same executors in another mode of the host

CJ_EXEC(rounded) {
    fesetround(op->mode == CJ_W_RZ ? FE_TOWARDZERO : op->mode == CJ_W_RM ? FE_DOWNWARD : FE_UPWARD);
    const cj_cpu_step step = op->inner(w, op, mask);
    fesetround(FE_TONEAREST);
    return step;
}

void cj__cpu_round(cj_cpu_prepare *p) {
    static const cj_word directed[] = {CJ_W_RZ, CJ_W_RM, CJ_W_RP};
    for (unsigned i = 0; i < sizeof directed / sizeof *directed; i++) {
        if (!cj__cpu_has(p, directed[i])) continue;
        p->op.mode = (uint16_t)directed[i];
        p->op.inner = p->op.run;
        p->op.run = rounded;
    }
}

// ---- selection

typedef struct float_forms {
    cj_cpu_exec plain, ftz, sat, ftz_sat, f64;
} float_forms;

static bool select_float(cj_cpu_prepare *p, const float_forms *forms) {
    const bool     ftz = cj__cpu_has(p, CJ_W_FTZ), sat = cj__cpu_has(p, CJ_W_SAT);
    const uint16_t type = p->mnemonic->type_last;
    if (type == CJ_W_F64)
        p->op.run = forms->f64;
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
#define SAT_FORMS(name) FORMS(name), .sat = name##_sat_f32, .ftz_sat = name##_ftz_sat_f32

#define SELECT(name, ...)                               \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) {     \
        static const float_forms forms = {__VA_ARGS__}; \
        return select_float(p, &forms);                 \
    }

SELECT(add_float, SAT_FORMS(add), .f64 = add_f64)
SELECT(sub_float, SAT_FORMS(sub), .f64 = sub_f64)
SELECT(mul_float, SAT_FORMS(mul), .f64 = mul_f64)
SELECT(fma, SAT_FORMS(fma), .f64 = fma_f64)
SELECT(div_float, FORMS(div), .f64 = div_f64)
SELECT(neg_float, FORMS(neg), .f64 = neg_f64)
SELECT(abs_float, FORMS(abs), .f64 = abs_f64)

bool cj__cpu_select_min_float(cj_cpu_prepare *p) {
    static const float_forms number = {FORMS(min), .f64 = min_f64}, nan = {FORMS(min_nan)};
    return select_float(p, cj__cpu_has(p, CJ_W_NAN) ? &nan : &number);
}

bool cj__cpu_select_max_float(cj_cpu_prepare *p) {
    static const float_forms number = {FORMS(max), .f64 = max_f64}, nan = {FORMS(max_nan)};
    return select_float(p, cj__cpu_has(p, CJ_W_NAN) ? &nan : &number);
}
