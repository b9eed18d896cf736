// SPDX-License-Identifier: Apache-2.0
// Approximate functions (PTX ISA, the .approx and .full forms): computed in double and rounded, so well within their
// documented error. The steps before and after the hardware's function unit (reduction of angles, scaling, flushes) are
// the hardware's.
#include "exec.h"
#include "small.h"

enum { FLUSH = 1 };  // op->mode

static float flushed(float x, uint16_t mode) { return mode & FLUSH ? cj__cpu_flush(x) : x; }

// ---- of one variable

typedef struct function {
    double (*of)(double x);
} function;

static double reciprocal(double x) { return 1.0 / x; }
static double reciprocal_root(double x) { return 1.0 / sqrt(x); }

// Turns, rounded to f32 by truncation before whole turns are subtracted: so angles above 2^24 turns lose their
// fraction, as on the hardware.
static double turns(double x) {
    const float  per_radian = 0x1.45f306p-3f;
    const double product = x * (double)per_radian;
    float        cut = (float)product;
    if (fabs((double)cut) > fabs(product)) cut = nextafterf(cut, 0.0f);
    return remainder((double)cut, 1.0);
}

#define TWO_PI 6.283185307179586
static double sine(double x) { return sin(TWO_PI * turns(x)); }
static double cosine(double x) { return cos(TWO_PI * turns(x)); }

CJ_EXEC(approximate_f32) {
    const function *f = op->plan;
    lane_f32       *d = CJ_LANES_OF(lane_f32, 0);
    const lane_f32 *a = CJ_LANES_OF(const lane_f32, 1);
    CJ_SOME_LANES(i, mask) {
        d[i] = cj__cpu_canonical(flushed((float)f->of((double)flushed(a[i], op->mode)), op->mode));
    }
    return CJ_STEP_NEXT;
}

// One f16 or bf16 in a register, or two of them; only bf16 is flushed.
CJ_EXEC(approximate_small) {
    const function       *f = op->plan;
    const cj_small_float *format = cj__small_float(op->inst->mnemonic->type_last);
    for (unsigned part = 0; part < op->count; part++) {
        lane_u16       *d = CJ_LANES_OF(lane_u16, 0);
        const lane_u16 *a = CJ_LANES_OF(const lane_u16, 1);
        CJ_SOME_LANES(i, mask) {
            const uint32_t at = i * op->count + part;
            const float    x = flushed((float)cj__small_unpack(format, a[at]), op->mode);
            const uint32_t code = cj__small_pack(format, f->of((double)x), CJ_W_RN, false);
            const bool     is_subnormal = (code & 0x7fff) < 1u << format->fraction;
            d[at] = (uint16_t)(op->mode & FLUSH && is_subnormal ? code & 0x8000 : code);
        }
    }
    return CJ_STEP_NEXT;
}

static uint64_t high_word(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits >> 52 & 0x7ff) == 0) bits &= (uint64_t)1 << 63;
    return bits & 0xffffffff00000000;
}

// The coarse forms of f64 (rcp.approx.ftz.f64, …): they neither read nor write the lower word; subnormals are zero.
CJ_EXEC(approximate_high) {
    const function *f = op->plan;
    lane_u64       *d = CJ_LANES_OF(lane_u64, 0);
    const lane_f64 *a = CJ_LANES_OF(const lane_f64, 1);
    CJ_SOME_LANES(i, mask) {
        const uint64_t bits = high_word(a[i]);
        double         x;
        memcpy(&x, &bits, sizeof x);
        x = f->of(x);
        d[i] = x != x ? 0x7fffffff00000000 : high_word(x);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(approximate_f64) {
    const function *f = op->plan;
    lane_f64       *d = CJ_LANES_OF(lane_f64, 0);
    const lane_f64 *a = CJ_LANES_OF(const lane_f64, 1);
    CJ_SOME_LANES(i, mask) d[i] = f->of(a[i]);
    return CJ_STEP_NEXT;
}

static bool select_function(cj_cpu_prepare *p, const function *f) {
    const uint16_t type = p->mnemonic->type_last;
    const bool     ftz = cj__cpu_has(p, CJ_W_FTZ);
    p->op.plan = f;
    p->op.mode = ftz ? FLUSH : 0;
    p->op.count = (uint8_t)(cj__words[type].bits / 16);
    if (type == CJ_W_F32)
        p->op.run = approximate_f32;
    else if (type == CJ_W_F64)
        p->op.run = ftz ? approximate_high : approximate_f64;
    else
        p->op.run = approximate_small;
    return true;
}

#define SELECT(name, function_of)                   \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) { \
        static const function f = {function_of};    \
        return select_function(p, &f);              \
    }

SELECT(rcp_approx, reciprocal)
SELECT(sqrt_approx, sqrt)
SELECT(rsqrt_approx, reciprocal_root)
SELECT(sin_approx, sine)
SELECT(cos_approx, cosine)
SELECT(lg2_approx, log2)
SELECT(ex2_approx, exp2)
SELECT(tanh_approx, tanh)

// ---- division: multiplies by a reciprocal, which is 0 for the largest divisors; .full scales both operands first

static inline float divided(float a, float b, uint16_t mode, bool full) {
    const float largest = 0x1p126f;
    a = flushed(a, mode), b = flushed(b, mode);
    if (full && fabsf(b) > largest) a = flushed(a * 0.25f, mode), b *= 0.25f;
    const float inverse = fabsf(b) > largest ? copysignf(0.0f, b) : (float)(1.0 / (double)b);
    const bool  tiny = fabsf(b) < FLT_MIN;  // its reciprocal may be infinite when the quotient is not
    const float quotient = tiny && b != 0 ? (float)((double)a / (double)b) : a * inverse;
    return cj__cpu_canonical(flushed(quotient, mode));
}

#define DIVIDE(name, full)                                                 \
    CJ_EXEC(name) {                                                        \
        lane_f32       *d = CJ_LANES_OF(lane_f32, 0);                      \
        const lane_f32 *a = CJ_LANES_OF(const lane_f32, 1);                \
        const lane_f32 *b = CJ_LANES_OF(const lane_f32, 2);                \
        CJ_SOME_LANES(i, mask) d[i] = divided(a[i], b[i], op->mode, full); \
        return CJ_STEP_NEXT;                                               \
    }

DIVIDE(divide_approx, false)
DIVIDE(divide_full, true)

bool cj__cpu_select_div_approx(cj_cpu_prepare *p) {
    p->op.run = cj__cpu_has(p, CJ_W_FULL) ? divide_full : divide_approx;
    p->op.mode = cj__cpu_has(p, CJ_W_FTZ) ? FLUSH : 0;
    return true;
}
