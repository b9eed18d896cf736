// SPDX-License-Identifier: Apache-2.0
// What becomes of a sum before it is rounded: value = activation(alpha sum + beta C + bias), and for 8-bit results
// times their scale. alpha has the scales of A and B in it.
//
// The bias of a tile is loaded before the tile's products and waits in registers: of columns each lane has two of every
// 64, and a shuffle brings them to the lanes whose sums need them.
#include "epilogue.h"

// gelu(x) = x / 2 (1 + tanh(u)) = x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): the form that cuBLASLt has.
// silu(x) = x / (1 + e^-x). As powers of two:
#define LOG2E 1.44269504F
#define GELU_X (-2.30220819F)    // -2 sqrt(2 / pi) log2 e
#define GELU_X3 (-0.102943240F)  // 0.044715 times that

enum { LANES = 32, COLUMNS = 8 };

// ---- scales

// alpha times the number that a parameter points to; NULL stands for 1.
static void multiply_by(const gemm_kernel *k, cj_reg factor, cj_var param, const char *name) {
    cj_func *f = k->f;
    cj_reg   at = cj_u64(f, name), given = cj_pred(f, "given"), scale = cj_f32(f, "scale");
    cj_ptx(f, "ld.param.u64 $1, [$2];", at, param);
    cj_ptx(f, "setp.ne.u64 $1, $2, 0;", given, at);
    cj_ptx(f, "mov.f32 $1, $2;", scale, 1.0F);
    cj_ptx(f, "@$1 cvta.to.global.u64 $2, $2;", given, at);
    cj_ptx(f, "@$1 ld.global.f32 $2, [$3];", given, scale, at);
    cj_ptx(f, "mul.rn.f32 $1, $1, $2;", factor, scale);
}

void cj__gemm_values_begin(const gemm_kernel *k, gemm_values *v) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    v->alpha = cj_f32(f, "alpha");
    cj_ptx(f, "ld.param.f32 $1, [$2];", v->alpha, k->alpha);
    if (cj__gemm_is_scaled(g)) {
        multiply_by(k, v->alpha, k->scale_a, "scale_a");
        multiply_by(k, v->alpha, k->scale_b, "scale_b");
    }
    if (cj__gemm_is_d_scaled(g)) {
        v->scale_d = cj_f32(f, "scale_d");
        cj_ptx(f, "mov.f32 $1, $2;", v->scale_d, 1.0F);
        multiply_by(k, v->scale_d, k->scale_d, "scale_d");
    }
    if (g->adds_c) {
        v->beta = cj_f32(f, "beta");
        cj_ptx(f, "ld.param.f32 $1, [$2];", v->beta, k->beta);
    }
    if (!g->bias) return;
    v->quarter = cj_u32(f, "quarter");
    cj_ptx(f, "and.b32 $1, $2, 3;", v->quarter, k->lane);
    for (uint32_t i = 0; i < (g->bias == GEMM_BIAS_ROWS ? 2 : g->tile_n / LANES); i++) v->bias[i] = cj_f32(f, "bias");
}

// ---- bias

typedef struct bias_at {
    cj_reg first, address, length;  // index of the lane's first element (s32), where it is; how many there are
} bias_at;

static bias_at find_bias(const gemm_kernel *k, cj_reg first) {
    cj_func *f = k->f;
    bias_at  at = {first, cj__load_pointer(f, k->bias, "bias_at"), cj__gemm_load_u32(k, k->bias_length, "bias_length")};
    cj_ptx(f, "mad.wide.s32 $1, $2, $3, $1;", at.address, first, k->g->c_type->bytes);
    return at;
}

// to = the element `offset` behind the first one, or 0 where there is none.
static void load_bias(const gemm_kernel *k, const bias_at *at, uint32_t offset, cj_reg to) {
    const gemm_type *type = k->g->c_type;
    cj_func         *f = k->f;
    cj_reg           index = at->first, there = cj_pred(f, "there");
    if (offset) {
        index = cj_s32(f, "bias_index");
        cj_ptx(f, "add.s32 $1, $2, $3;", index, at->first, offset);
    }
    cj_ptx(f, "setp.lt.s32 $1, $2, $3;", there, index, at->length);
    if (type->bytes == 4) {
        cj_ptx(f, "mov.f32 $1, $2;", to, 0.0F);
        cj_ptx(f, "@$1 ld.global.f32 $2, [$3 + $4];", there, to, at->address, offset * type->bytes);
        return;
    }
    cj_reg half = cj_register(f, "b16", "bias_half");
    cj_ptx(f, "mov.b16 $1, 0;", half);
    cj_ptx(f, "@$1 ld.global.b16 $2, [$3 + $4];", there, half, at->address, offset * type->bytes);
    cj_ptx(f, "cvt.f32.$1 $2, $3;", type->name, to, half);
}

void cj__gemm_values_bias(const gemm_kernel *k, const gemm_values *v, const gemm_place *place) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            first = cj_s32(f, "bias_first");
    if (g->bias == GEMM_BIAS_ROWS) {
        cj_reg down = cj_u32(f, "down");
        cj_step(f, "the bias of this thread's two rows");
        cj_ptx(f, "shr.u32 $1, $2, 2;", down, k->lane);
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", down, k->warp, GEMM_WARP_ROWS);
        cj_ptx(f, "sub.u32 $1, $1, $2;", down, GEMM_WARPS * GEMM_WARP_ROWS);
        cj_ptx(f, "add.s32 $1, $2, $3;", first, place->row, down);
        const bias_at at = find_bias(k, first);
        for (uint32_t i = 0; i < 2; i++) load_bias(k, &at, i * GEMM_WARP_ROWS / 2, v->bias[i]);
        return;
    }
    cj_step(f, "the tile's bias: of every 64 columns two a lane");
    cj_ptx(f, "mad.lo.s32 $1, $2, 2, $3;", first, k->lane, place->column);
    const bias_at at = find_bias(k, first);
    for (uint32_t i = 0; i < g->tile_n / LANES; i++) load_bias(k, &at, i / 2 * 2 * LANES + i % 2, v->bias[i]);
}

void cj__gemm_values_columns(const gemm_kernel *k, const gemm_values *v, uint32_t group, cj_reg bias[2]) {
    enum { GROUPS = 2 * LANES / COLUMNS };
    cj_func *f = k->f;
    cj_reg   from = v->quarter;
    if (group % GROUPS) {
        from = cj_u32(f, "from_lane");
        cj_ptx(f, "add.u32 $1, $2, $3;", from, v->quarter, group % GROUPS * (COLUMNS / 2));
    }
    for (uint32_t i = 0; i < 2; i++) {
        bias[i] = cj_f32(f, "column_bias");
        cj_ptx(f, "shfl.sync.idx.b32 $1, $2, $3, 31, -1;", bias[i], v->bias[group / GROUPS * 2 + i], from);
    }
}

// ---- values

// x = x / (1 + 2^power).
static void apply_sigmoid(cj_func *f, cj_reg x, cj_reg power) {
    cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", power);
    cj_ptx(f, "add.rn.f32 $1, $1, $2;", power, 1.0F);
    cj_ptx(f, "rcp.approx.ftz.f32 $1, $1;", power);
    cj_ptx(f, "mul.rn.f32 $1, $1, $2;", x, power);
}

static void activate(const gemm_kernel *k, cj_reg x) {
    cj_func *f = k->f;
    cj_reg   power = cj_f32(f, "power");
    switch (k->g->activation) {
    case GEMM_NO_ACTIVATION: return;
    case GEMM_RELU: cj_ptx(f, "max.NaN.f32 $1, $1, $2;", x, 0.0F); return;
    case GEMM_SILU:
        cj_ptx(f, "mul.rn.f32 $1, $2, $3;", power, x, -LOG2E);
        apply_sigmoid(f, x, power);
        return;
    case GEMM_GELU:
        cj_ptx(f, "mul.rn.f32 $1, $2, $2;", power, x);
        cj_ptx(f, "fma.rn.f32 $1, $1, $2, $3;", power, GELU_X3, GELU_X);
        cj_ptx(f, "mul.rn.f32 $1, $1, $2;", power, x);
        apply_sigmoid(f, x, power);
        return;
    }
}

void cj__gemm_value(const gemm_kernel *k, const gemm_values *v, cj_reg sum, cj_reg addend, cj_reg bias) {
    cj_func *f = k->f;
    cj_ptx(f, "mul.rn.f32 $1, $1, $2;", sum, v->alpha);
    if (addend.id) cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", sum, v->beta, addend);
    if (bias.id) cj_ptx(f, "add.rn.f32 $1, $1, $2;", sum, bias);
    activate(k, sum);
    if (cj__gemm_is_d_scaled(k->g)) cj_ptx(f, "mul.rn.f32 $1, $1, $2;", sum, v->scale_d);
}
