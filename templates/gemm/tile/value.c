// SPDX-License-Identifier: Apache-2.0
// What becomes of a sum before it is rounded: value = activation(alpha sum + beta C + bias), and for 8-bit results
// times their scale. alpha has the scales of A and B in it. All of it is f32, of f64 f64. Sums of integers are converted to f32 first; in i32
// they leave as they are.
//
// The bias of a tile is loaded during the tile's products and waits in registers: of columns each lane has two of every
// 64 (of a tile that ends within them, also some that are none of its), and a shuffle brings them (two of 16 bits at once) to the
// lanes whose sums need them.
//
// e^x and a reciprocal are 8 clocks of a warp each, as long as all other instructions of a value together: two values share a
// reciprocal.
#include "epilogue.h"

// gelu(x) = x / 2 (1 + tanh(u)) = x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): the form that cuBLASLt has.
// silu(x) = x / (1 + e^-x). As powers of two:
#define GELU_X (-2.30220819F)    // -2 sqrt(2 / pi) log2 e
#define GELU_X3 (-0.102943240F)  // 0.044715 times that

// 1 + 2^this is infinite to the precision of a value, and the product of two of them is a normal number.
#define POWER_MAX 60.0F

enum { LANES = 32, COLUMNS = 8, EIGHTS = 2 * LANES / COLUMNS };

// ---- scales

// factor *= the number that a parameter points to; NULL stands for 1.
static void multiply_by(const gemm_kernel *k, cj_reg factor, cj_var param, const char *name) {
    cj_reg at = cj__load_param(k->f, "u64", param, name), given = cj_ne(k->f, "given", at, 0);
    cj_reg scale = cj_mov(k->f, "f32", "scale", 1.0F);
    cj_ptx(k->f, "@$1 cvta.to.global.u64 $2, $2;", given, at);
    cj_ptx(k->f, "@$1 ld.global.f32 $2, [$3];", given, scale, at);
    cj_ptx(k->f, "mul.rn.f32 $1, $1, $2;", factor, scale);
}

// Of the bias of columns, a lane.
static uint32_t values_of_columns(const gemm_shape *g) { return 2 * (uint32_t)cj__ceil_div(g->tile_n, 2 * LANES); }

void cj__gemm_values_begin(const gemm_kernel *k, gemm_values *v) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    if (cj__gemm_is_exact(g)) return;
    v->alpha = cj__load_param(f, cj__gemm_factor_type(g), k->alpha, "alpha");
    if (cj__gemm_is_scaled(g)) {
        multiply_by(k, v->alpha, k->scale_a, "scale_a");
        multiply_by(k, v->alpha, k->scale_b, "scale_b");
    }
    if (cj__gemm_is_d_scaled(g)) {
        v->scale_d = cj_mov(f, "f32", "scale_d", 1.0F);
        multiply_by(k, v->scale_d, k->scale_d, "scale_d");
    }
    if (g->adds_c) v->beta = cj__load_param(f, cj__gemm_factor_type(g), k->beta, "beta");
    if (!g->bias) return;
    const bool waits_as_loaded = g->bias == GEMM_BIAS_COLUMNS && g->c_type->bytes == 2;
    for (uint32_t i = 0; i < (g->bias == GEMM_BIAS_ROWS ? 2 : values_of_columns(g)); i++)
        v->bias[i] = cj_register(f, waits_as_loaded ? "b16" : "f32", "bias");
}

// ---- bias

// Loads `count` elements of the bias: to[i] = the element offset(i) after `first`, or 0 out of bounds.
static void load_bias(const gemm_kernel *k, cj_reg first, uint32_t count, uint32_t (*offset)(uint32_t),
                      const cj_reg *to) {
    const gemm_type *type = k->g->c_type;
    const bool       wide = type->bytes == 4;
    cj_func         *f = k->f;
    cj_reg           at = cj__load_pointer(f, k->bias, "bias_at");
    cj_reg           length = cj__load_param(f, "u32", k->bias_length, "bias_length");
    at = cj_let(f, "u64", "bias_at", "mad.wide.s32 $1, $2, $3, $4;", first, type->bytes, at);
    for (uint32_t i = 0; i < count; i++) {
        cj_reg index = offset(i) ? cj_add(f, "bias_index", first, offset(i)) : first;
        cj_reg inside = cj_lt(f, "inside", index, length);
        cj_ptx(f, wide ? "mov.f32 $1, 0f00000000;" : "mov.b16 $1, 0;", to[i]);
        cj_ptx(f, "@$1 ld.global.$2 $3, [$4 + $5];", inside, wide ? "f32" : "b16", to[i], at, offset(i) * type->bytes);
    }
}

static void widen(const gemm_kernel *k, cj_reg bias, cj_reg half) {
    cj_ptx(k->f, "cvt.f32.$1 $2, $3;", k->g->c_type->in_ptx, bias, half);
}

static uint32_t row_of(uint32_t i) { return i * GEMM_WARP_ROWS / 2; }
static uint32_t column_of(uint32_t i) { return i / 2 * 2 * LANES + i % 2; }

static void load_bias_of_rows(const gemm_kernel *k, const gemm_values *v, const gemm_place *place) {
    cj_func *f = k->f;
    cj_step(f, "the bias of this thread's two rows");
    cj_reg     warp = cj__gemm_warp_of_tile(k), half[2];
    cj_reg     down = cj_mad(f, "row_of_tile", warp, GEMM_WARP_ROWS, cj_shr(f, "row_of_warp", k->lane, 2));
    const bool wide = k->g->c_type->bytes == 4;
    for (uint32_t i = 0; i < 2; i++) half[i] = wide ? v->bias[i] : cj_register(f, "b16", "half");
    load_bias(k, cj_add(f, "bias_first", place->row, down), 2, row_of, half);
    for (uint32_t i = 0; !wide && i < 2; i++) widen(k, v->bias[i], half[i]);
}

void cj__gemm_values_bias(const gemm_kernel *k, const gemm_values *v, const gemm_place *place) {
    if (!k->g->bias) return;
    if (k->g->bias == GEMM_BIAS_ROWS) {
        load_bias_of_rows(k, v, place);
        return;
    }
    cj_step(k->f, "the tile's bias: of every 64 columns two a lane");
    cj_reg first = cj_let(k->f, "s32", "bias_first", "mad.lo.s32 $1, $2, 2, $3;", k->lane, place->column);
    load_bias(k, first, values_of_columns(k->g), column_of, v->bias);
}

static cj_reg shuffled(cj_func *f, cj_reg value, cj_reg from) {
    return cj_let(f, "b32", "column_bias", "shfl.sync.idx.b32 $1, $2, $3, 31, -1;", value, from);
}

void cj__gemm_values_columns(const gemm_kernel *k, const gemm_values *v, uint32_t eight, cj_reg bias[2]) {
    const uint32_t lane = eight % EIGHTS * (COLUMNS / 2);
    const cj_reg  *own = v->bias + eight / EIGHTS * 2;
    cj_func       *f = k->f;
    cj_reg         from = lane ? cj_add(f, "from_lane", v->quarter, lane) : v->quarter;
    for (uint32_t i = 0; i < 2; i++) bias[i] = cj_f32(f, "column_bias");
    if (k->g->c_type->bytes == 4) {
        for (uint32_t i = 0; i < 2; i++) cj_ptx(f, "mov.b32 $1, $2;", bias[i], shuffled(f, own[i], from));
        return;
    }
    cj_reg both = cj_let(f, "b32", "both", "mov.b32 $1, {$2, $3};", own[0], own[1]), half[2];
    for (uint32_t i = 0; i < 2; i++) half[i] = cj_register(f, "b16", "half");
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], shuffled(f, both, from));
    for (uint32_t i = 0; i < 2; i++) widen(k, bias[i], half[i]);
}

// ---- values

// 1 + 2^power, in its place. It is a finite number, also where the power is infinite or NaN: x stays infinite or NaN then, but
// no other value becomes that with it.
static void add_power(cj_func *f, cj_reg power) {
    cj_ptx(f, "min.f32 $1, $1, $2;", power, POWER_MAX);
    cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", power);
    cj_ptx(f, "add.rn.f32 $1, $1, $2;", power, 1.0F);
}

// Each x = x / (1 + 2^power).
static void apply_sigmoid(cj_func *f, const cj_reg *x, const cj_reg *power, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) add_power(f, power[i]);
    if (count == 1) {
        cj_ptx(f, "rcp.approx.ftz.f32 $1, $1;", power[0]);
        cj_ptx(f, "mul.rn.f32 $1, $1, $2;", x[0], power[0]);
        return;
    }
    cj_reg both = cj_let(f, "f32", "both", "mul.rn.f32 $1, $2, $3;", power[0], power[1]);
    cj_ptx(f, "rcp.approx.ftz.f32 $1, $1;", both);
    for (uint32_t i = 0; i < 2; i++) {
        cj_reg share = cj_let(f, "f32", "share", "mul.rn.f32 $1, $2, $3;", both, power[1 - i]);
        cj_ptx(f, "mul.rn.f32 $1, $1, $2;", x[i], share);
    }
}

// The power of 2 that the sigmoid of an activation takes of x.
static cj_reg power_of(const gemm_kernel *k, cj_reg x) {
    cj_func *f = k->f;
    if (k->g->activation == GEMM_SILU) return cj_let(f, "f32", "power", "mul.rn.f32 $1, $2, $3;", x, (float)-CJ_LOG2E);
    cj_reg square = cj_let(f, "f32", "square", "mul.rn.f32 $1, $2, $2;", x);
    cj_reg slope = cj_let(f, "f32", "slope", "fma.rn.f32 $1, $2, $3, $4;", square, GELU_X3, GELU_X);
    return cj_let(f, "f32", "power", "mul.rn.f32 $1, $2, $3;", slope, x);
}

// f64 has no max that keeps NaN: what compares with 0 becomes 0.
static void rectify(const gemm_kernel *k, cj_reg x) {
    if (!cj__gemm_is_f64(k->g->a.type)) {
        cj_ptx(k->f, "max.NaN.f32 $1, $1, $2;", x, 0.0F);
        return;
    }
    cj_reg is_negative = cj_let(k->f, "pred", "is_negative", "setp.le.f64 $1, $2, $3;", x, 0.0);
    cj_ptx(k->f, "@$1 mov.f64 $2, $3;", is_negative, x, 0.0);
}

static void activate(const gemm_kernel *k, const cj_reg *x, uint32_t count) {
    const gemm_activation activation = k->g->activation;
    cj_reg                power[2];
    for (uint32_t i = 0; activation == GEMM_RELU && i < count; i++) rectify(k, x[i]);
    if (activation != GEMM_GELU && activation != GEMM_SILU) return;
    for (uint32_t i = 0; i < count; i++) power[i] = power_of(k, x[i]);
    apply_sigmoid(k->f, x, power, count);
}

static void scale_and_add(const gemm_kernel *k, const gemm_values *v, cj_reg sum, cj_reg addend, cj_reg bias) {
    const bool        biased = k->g->bias != GEMM_NO_BIAS;
    const char *const type = cj__gemm_factor_type(k->g);
    if (biased && !k->g->adds_c) {
        cj_ptx(k->f, "fma.rn.$4 $1, $1, $2, $3;", sum, v->alpha, bias, type);
        return;
    }
    cj_ptx(k->f, "mul.rn.$3 $1, $1, $2;", sum, v->alpha, type);
    if (k->g->adds_c) cj_ptx(k->f, "fma.rn.$4 $1, $2, $3, $1;", sum, v->beta, addend, type);
    if (biased) cj_ptx(k->f, "add.rn.$3 $1, $1, $2;", sum, bias, type);
}

void cj__gemm_value(const gemm_kernel *k, const gemm_values *v, const cj_reg *sum, const cj_reg *addend,
                    const cj_reg *bias, uint32_t count) {
    if (cj__gemm_is_exact(k->g)) return;
    for (uint32_t i = 0; cj__gemm_is_integer(k->g) && i < count; i++) cj_ptx(k->f, "cvt.rn.f32.s32 $1, $1;", sum[i]);
    for (uint32_t i = 0; i < count; i++) scale_and_add(k, v, sum[i], addend[i], bias[i]);
    activate(k, sum, count);
    for (uint32_t i = 0; cj__gemm_is_d_scaled(k->g) && i < count; i++)
        cj_ptx(k->f, "mul.rn.f32 $1, $1, $2;", sum[i], v->scale_d);
}

// ---- results of 8 bits

static cj_reg rounded(cj_func *f, cj_reg value) { return cj_let(f, "s32", "rounded", "cvt.rni.s32.f32 $1, $2;", value); }

cj_reg cj__gemm_narrow(const gemm_kernel *k, cj_reg low, cj_reg high) {
    const gemm_type *type = k->g->d_type;
    cj_func         *f = k->f;
    if (!type->most) return cj_let(f, "b16", "narrow", "cvt.rn.satfinite.$4x2.f32 $1, $2, $3;", high, low, type->in_ptx);
    cj_reg first = rounded(f, low), second = rounded(f, high);
    cj_reg both = cj_let(f, "b32", "both", "cvt.pack.sat.s8.s32.b32 $1, $2, $3, 0;", second, first);
    return cj_let(f, "b16", "narrow", "cvt.u16.u32 $1, $2;", both);
}
