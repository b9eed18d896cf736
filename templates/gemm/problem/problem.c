// SPDX-License-Identifier: Apache-2.0
// The product that the parameters describe: its types, layouts, and what is done to its sums.
#include "gemm.h"

// In the order of the words of `dtype`, then what D alone can be.
enum { BF16, F16, TF32, E4M3, E5M2, F32 };

static const gemm_type types[] = {
    [BF16] = {"bf16", 2, CJ_TENSORMAP_BF16, 0x1p-8},  [F16] = {"f16", 2, CJ_TENSORMAP_F16, 0x1p-11},
    [TF32] = {"tf32", 4, CJ_TENSORMAP_TF32, 0x1p-11}, [E4M3] = {"e4m3", 1, CJ_TENSORMAP_U8, 0x1p-4},
    [E5M2] = {"e5m2", 1, CJ_TENSORMAP_U8, 0x1p-3},    [F32] = {"f32", 4, CJ_TENSORMAP_F32, 0x1p-24},
};

// In the order of the words of `dtype-b` and `out`; what those choose by themselves follows the type of A.
static const unsigned of_b[] = {0, E4M3, E5M2}, of_out[] = {0, BF16, F16, F32, E4M3, E5M2};
static const unsigned default_out[] = {[BF16] = BF16, [F16] = F16, [TF32] = F32, [E4M3] = BF16, [E5M2] = BF16};

// In the order of the words of `shared`.
static const struct { bool a, b, c; } shared[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}};

// D' = B' A'.
static void transpose(gemm_shape *g) {
    const gemm_shape asked = *g;
    g->a = asked.b;
    g->b = asked.a;
    g->m = asked.n;
    g->n = asked.m;
    if (g->bias) g->bias = g->bias == GEMM_BIAS_ROWS ? GEMM_BIAS_COLUMNS : GEMM_BIAS_ROWS;
}

void cj__gemm_swap(gemm_shape *g) {
    transpose(g);
    g->flipped = !g->flipped;
    g->turned = true;
}

// 8-bit results have no fragments that are transposed, and lines of 16 bytes a warp.
bool cj__gemm_can_swap(const gemm_shape *g) { return g->d_type->bytes > 1; }

static bool is_cut(uint64_t lines, const gemm_operand *o, uint64_t k) {
    const uint64_t length = o->order == CJ_BY_K ? k : o->extent;
    return lines == GEMM_LINES_CUT || (lines == GEMM_LINES_AUTO && length * o->type->bytes % GEMM_ROW != 0);
}

void cj__gemm_problem(const cj_params *p, gemm_shape *g) {
    const uint64_t *value = p->value;
    const unsigned  a = (unsigned)value[GEMM_DTYPE], b = value[GEMM_DTYPE_B] ? of_b[value[GEMM_DTYPE_B]] : a;
    const unsigned  d = value[GEMM_OUT] ? of_out[value[GEMM_OUT]] : default_out[a];
    *g = (gemm_shape){.a = {.type = &types[a],
                            .order = value[GEMM_A] ? CJ_BY_LINE : CJ_BY_K,
                            .shared = shared[value[GEMM_SHARED]].a,
                            .extent = value[GEMM_M]},
                      .b = {.type = &types[b],
                            .order = value[GEMM_B] ? CJ_BY_K : CJ_BY_LINE,
                            .shared = shared[value[GEMM_SHARED]].b,
                            .extent = value[GEMM_N]},
                      .c_type = &types[types[d].bytes == 1 ? BF16 : d],
                      .d_type = &types[d],
                      .m = value[GEMM_M],
                      .n = value[GEMM_N],
                      .k = value[GEMM_K],
                      .batches = value[GEMM_BATCH],
                      .flipped = value[GEMM_D],
                      .adds_c = value[GEMM_C],
                      .shared_c = shared[value[GEMM_SHARED]].c,
                      .bias = (gemm_bias)value[GEMM_BIAS],
                      .activation = (gemm_activation)value[GEMM_ACTIVATION],
                      .in_turn = value[GEMM_CONSUMERS] == GEMM_CONSUMERS_IN_TURN,
                      .teams = 1,
                      .cluster_m = 1,
                      .cluster_n = 1};
    g->a.is_cut = is_cut(value[GEMM_LINES], &g->a, g->k);
    g->b.is_cut = is_cut(value[GEMM_LINES], &g->b, g->k);
    g->step = GEMM_ROW / g->a.type->bytes;
    g->steps = cj__ceil_div(g->k, g->step);
    if (g->flipped) transpose(g);
    if (value[GEMM_SWAP] == GEMM_SWAP_YES) cj__gemm_swap(g);
}

static cj_status check_order(bool refused, const char *which, const char *order, const gemm_type *type,
                             const char *other, cj_error *error) {
    REFUSE_IF(refused,
              "%s: %s; elements of %s are multiplied only where those of K follow each other" CJ_HINT
              "store %s by %ss (%s=%s)",
              which, order, type->name, which, other, which, other);
    return CJ_OK;
}

#define SHARED_HINT CJ_HINT "shared says which matrices all products of a batch have in common"

cj_status cj__gemm_check_problem(const cj_params *p, const gemm_shape *g, cj_error *error) {
    const uint64_t  *value = p->value;
    const gemm_type *a = &types[value[GEMM_DTYPE]];
    TRY(check_order(a->bytes != 2 && value[GEMM_A], "a", "column", a, "row", error));
    TRY(check_order(a->bytes != 2 && !value[GEMM_B], "b", "row", g->b.type, "column", error));
    REFUSE_IF(value[GEMM_SHARED] && g->batches == 1, "shared: with batch 1 there is nobody to share with" SHARED_HINT);
    REFUSE_IF(shared[value[GEMM_SHARED]].c && !value[GEMM_C],
              "shared: names C, which there is none of with c=no" SHARED_HINT);
    return CJ_OK;
}

// ---- errors

// Of the sums. Tensor maps of tf32 round an f32 to the nearest with 10 bits of fraction, on its way to shared memory.
// At each 32 of k of 8-bit elements the hardware cuts every product and the sum off below 2^-13 of the largest one's power of two:
// where signs are mixed, what is cut off cancels but for about 2^-10 ("Sums of 8-bit floats" in docs/maintaining/gemm.md).
static double sum_error(const gemm_shape *g) {
    switch (g->a.type->bytes) {
    case 1: return 0x1p-10 + (double)g->k * 0x1p-18;
    case 4: return 0x1p-10 + (double)g->k * 0x1p-22;
    default: return (double)g->k * 0x1p-22;
    }
}

// An activation is nowhere steeper than 1.13, and its own error is that of a few roundings.
double cj__gemm_error_bound(const gemm_shape *g) {
    const bool steep = g->activation == GEMM_GELU || g->activation == GEMM_SILU;
    return g->d_type->rounding + (steep ? 1.13 * sum_error(g) + 0x1p-20 : sum_error(g));
}
