// SPDX-License-Identifier: Apache-2.0
// The product that the parameters describe: its types, layouts, and what is done to its sums.
#include "gemm.h"

// In the order of the words of `dtype`, then what D alone can be.
enum { BF16, F16, TF32, E4M3, E5M2, I8, U8, F64, F32, I32 };

static const gemm_type types[] = {
    [BF16] = {"bf16", "bf16", 2, CJ_TENSORMAP_BF16, 0x1p-8, 0},
    [F16] = {"f16", "f16", 2, CJ_TENSORMAP_F16, 0x1p-11, 0},
    [TF32] = {"tf32", "tf32", 4, CJ_TENSORMAP_TF32, 0x1p-11, 0},
    [E4M3] = {"e4m3", "e4m3", 1, CJ_TENSORMAP_U8, 0x1p-4, 0},
    [E5M2] = {"e5m2", "e5m2", 1, CJ_TENSORMAP_U8, 0x1p-3, 0},
    [I8] = {"i8", "s8", 1, CJ_TENSORMAP_U8, 0, 128},
    [U8] = {"u8", "u8", 1, CJ_TENSORMAP_U8, 0, 255},
    [F64] = {"f64", "f64", 8, CJ_TENSORMAP_F64, 0x1p-53, 0},
    [F32] = {"f32", "f32", 4, CJ_TENSORMAP_F32, 0x1p-24, 0},
    [I32] = {"i32", "s32", 4, CJ_TENSORMAP_S32, 0, INT32_MAX},
};

// In the order of the words of `dtype-b` and `out`; what those choose by themselves follows the type of A.
static const unsigned of_b[] = {0, E4M3, E5M2, I8, U8}, of_out[] = {0, BF16, F16, F32, E4M3, E5M2, I8, I32, F64};
static const unsigned default_out[] = {[BF16] = BF16, [F16] = F16, [TF32] = F32, [E4M3] = BF16, [E5M2] = BF16, [I8] = I32, [U8] = I32, [F64] = F64};

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

static bool is_cut(uint64_t lines, const gemm_operand *o, uint64_t k, uint64_t leading) {
    const uint64_t length = leading ? leading : o->order == CJ_BY_K ? k : o->extent;
    return lines == GEMM_LINES_CUT || (lines == GEMM_LINES_AUTO && length * o->type->bytes % GEMM_ROW != 0);
}

// What align says of all matrices is of none less than an element.
static uint32_t align_of(const cj_params *p, unsigned param, uint32_t bytes) {
    const uint64_t own = p->value[param];
    return own ? 2u * GEMM_ALIGN >> own : (uint32_t)cj__most(GEMM_ALIGN >> p->value[GEMM_ALIGN_ALL], bytes);
}

static unsigned type_of_d(const cj_params *p) {
    const uint64_t out = p->value[GEMM_OUT];
    return out ? of_out[out] : default_out[p->value[GEMM_DTYPE]];
}

bool cj__gemm_keeps_sums(const cj_params *p) { return type_of_d(p) == I32; }

bool cj__gemm_multiplies_f64(const cj_params *p) { return p->value[GEMM_DTYPE] == F64; }

void cj__gemm_problem(const cj_params *p, gemm_shape *g) {
    const uint64_t *value = p->value;
    const unsigned  a = (unsigned)value[GEMM_DTYPE], b = value[GEMM_DTYPE_B] ? of_b[value[GEMM_DTYPE_B]] : a;
    const unsigned  d = type_of_d(p);
    *g = (gemm_shape){.a = {.type = &types[a],
                            .order = value[GEMM_A] ? CJ_BY_LINE : CJ_BY_K,
                            .shared = shared[value[GEMM_SHARED]].a,
                            .extent = value[GEMM_M],
                            .align = align_of(p, GEMM_ALIGN_A, types[a].bytes)},
                      .b = {.type = &types[b],
                            .order = value[GEMM_B] ? CJ_BY_K : CJ_BY_LINE,
                            .shared = shared[value[GEMM_SHARED]].b,
                            .extent = value[GEMM_N],
                            .align = align_of(p, GEMM_ALIGN_B, types[b].bytes)},
                      .c_type = &types[types[d].bytes == 1 ? BF16 : d],
                      .d_type = &types[d],
                      .c_align = align_of(p, GEMM_ALIGN_C, types[types[d].bytes == 1 ? BF16 : d].bytes),
                      .d_align = align_of(p, GEMM_ALIGN_D, types[d].bytes),
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
                      .cluster_n = 1,
                      .split = 1,
                      .parts = 1};
    g->a.is_cut = is_cut(value[GEMM_LINES], &g->a, g->k, value[GEMM_LDA]);
    g->b.is_cut = is_cut(value[GEMM_LINES], &g->b, g->k, value[GEMM_LDB]);
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

// A matrix as the parameters describe it.
typedef struct said {
    unsigned         align, leading;  // parameters
    const gemm_type *type;
    uint32_t         bytes;   // of which its address and lines are multiples
    uint64_t         length;  // of a line
    bool             used;
} said;

// A, B, C and D as they are called, not as the kernel computes them.
static void find_said(const cj_params *p, const gemm_shape *g, said x[GEMM_MAPS]) {
    const uint64_t     *value = p->value;
    const gemm_operand *a = g->flipped ? &g->b : &g->a, *b = g->flipped ? &g->a : &g->b;
    const uint64_t      line = value[GEMM_D] ? value[GEMM_M] : value[GEMM_N];
    x[0] = (said){GEMM_ALIGN_A, GEMM_LDA, a->type, a->align, value[GEMM_A] ? value[GEMM_M] : value[GEMM_K], true};
    x[1] = (said){GEMM_ALIGN_B, GEMM_LDB, b->type, b->align, value[GEMM_B] ? value[GEMM_K] : value[GEMM_N], true};
    x[2] = (said){GEMM_ALIGN_C, GEMM_LDC, g->c_type, g->c_align, line, g->adds_c};
    x[3] = (said){GEMM_ALIGN_D, GEMM_LDD, g->d_type, g->d_align, line, true};
}

const char *cj__gemm_unaligned(const cj_params *p, uint32_t *align) {
    gemm_shape g;
    said       x[GEMM_MAPS];
    cj__gemm_problem(p, &g);
    find_said(p, &g, x);
    for (unsigned i = 0; i < GEMM_MAPS; i++) {
        *align = x[i].bytes;
        if (x[i].used && x[i].bytes < GEMM_ALIGN)
            return cj_family_param(p->family, p->value[x[i].align] ? x[i].align : GEMM_ALIGN_ALL)->name;
    }
    return NULL;
}

static cj_status check_lines(const cj_params *p, const gemm_shape *g, cj_error *error) {
    said x[GEMM_MAPS];
    find_said(p, g, x);
    for (unsigned i = 0; i < GEMM_MAPS; i++) {
        const uint64_t    leading = p->value[x[i].leading];
        const char *const align = cj_family_param(p->family, x[i].align)->name;
        const char *const name = cj_family_param(p->family, x[i].leading)->name;
        REFUSE_IF(x[i].bytes < x[i].type->bytes, "%s: %u bytes are less than an element of %s, %u" CJ_HINT "leave %s at its default",
                  align, x[i].bytes, x[i].type->name, x[i].type->bytes, align);
        if (!leading) continue;
        REFUSE_IF(leading < x[i].length, "%s: %" PRIu64 " elements are less than the %" PRIu64 " that follow each other" CJ_HINT
                  "leave %s at its default for lines without gaps", name, leading, x[i].length, name);
        REFUSE_IF(leading * x[i].type->bytes % x[i].bytes,
                  "%s: %" PRIu64 " elements of %u bytes are not a multiple of %u bytes" CJ_HINT
                  "say in %s what they are multiples of", name, leading, x[i].type->bytes, x[i].bytes, align);
    }
    return CJ_OK;
}

// Of integers: what may leave the range of the sums, s32, and what sums that leave as they are have no place for.
static cj_status check_integers(const gemm_shape *g, cj_error *error) {
    const gemm_type *a = g->flipped ? g->b.type : g->a.type, *b = g->flipped ? g->a.type : g->b.type;
    REFUSE_IF(!a->most != !b->most, "dtype-b: %s elements of B, but those of A are %s" CJ_HINT
              "e4m3 and e5m2 go together, and i8 and u8", b->name, a->name);
    REFUSE_IF(cj__gemm_is_exact(g) && !a->most, "out: i32 is the sums of i8 and u8; those of %s are f32" CJ_HINT "leave out at its default",
              a->name);
    if (!a->most) return CJ_OK;
    const uint64_t most = INT32_MAX / (a->most * b->most);
    REFUSE_IF(g->k > most, "k: %" PRIu64 " products of %s and %s may leave the range of their sums, s32; at most %" PRIu64 " never do" CJ_HINT
              "multiply parts of k by themselves, and add up the results in f32", g->k, a->name, b->name, most);
    REFUSE_IF(cj__gemm_is_exact(g) && (g->adds_c || g->bias || g->activation),
              "out: i32, but %s; D of i32 is the sums as they are" CJ_HINT "out=f32, bf16, f16, i8 have alpha, C, bias and activation",
              g->adds_c ? "C is added (c=yes)" : g->bias ? "there is a bias" : "there is an activation");
    return CJ_OK;
}

// Of f64: D and C are f64 and nothing else is; the powers of GELU and SiLU are those of f32.
static cj_status check_f64(const gemm_shape *g, cj_error *error) {
    const bool is_f64 = cj__gemm_is_f64(g->a.type);
    REFUSE_IF(is_f64 != cj__gemm_is_f64(g->d_type), "out: %s, but the sums of %s are %s" CJ_HINT "leave out at its default%s", g->d_type->name,
              g->a.type->name, is_f64 ? "f64, and so is D" : cj__gemm_is_integer(g) ? "s32" : "f32", is_f64 ? "" : "; dtype=f64 has it");
    REFUSE_IF(is_f64 && (g->activation == GEMM_GELU || g->activation == GEMM_SILU),
              "activation: %s takes its power of e in f32, and values are f64" CJ_HINT "relu is exact; or apply another one to D afterwards",
              g->activation == GEMM_GELU ? "gelu" : "silu");
    return CJ_OK;
}

#define SHARED_HINT CJ_HINT "shared says which matrices all products of a batch have in common"

cj_status cj__gemm_check_problem(const cj_params *p, const gemm_shape *g, cj_error *error) {
    const uint64_t  *value = p->value;
    const gemm_type *a = &types[value[GEMM_DTYPE]];
    const bool       by_k = a->bytes != 2 && !cj__gemm_is_f64(a);
    TRY(check_order(by_k && value[GEMM_A], "a", "column", a, "row", error));
    TRY(check_order(by_k && !value[GEMM_B], "b", "row", g->b.type, "column", error));
    TRY(check_integers(g, error));
    TRY(check_f64(g, error));
    TRY(check_lines(p, g, error));
    REFUSE_IF(value[GEMM_SHARED] && g->batches == 1, "shared: with batch 1 there is nobody to share with" SHARED_HINT);
    REFUSE_IF(shared[value[GEMM_SHARED]].c && !value[GEMM_C],
              "shared: names C, which there is none of with c=no" SHARED_HINT);
    return CJ_OK;
}

// ---- errors

// Of the sums. Tensor maps of tf32 round an f32 to the nearest with 10 bits of fraction, on its way to shared memory.
// At each 32 of k of 8-bit elements the hardware cuts every product and the sum off below 2^-13 of the largest one's power of two:
// where signs are mixed, what is cut off cancels but for about 2^-10 ("Sums of 8-bit floats" in docs/maintaining/gemm.md).
// Sums of integers are exact; as f32 they are rounded once, and once more by alpha. A sum of f64 is rounded by 2^-53 at each product
// (mma.sync is as fma in order of K's elements, whichever that is) and where parts are added, which are k / 16 at most; alpha, C and bias round
// three times.
static double sum_error(const gemm_shape *g) {
    if (cj__gemm_is_integer(g)) return cj__gemm_is_exact(g) ? 0 : 0x1p-22;
    if (cj__gemm_is_f64(g->a.type)) return 0x1p-51 + (double)g->k * 0x1p-52;
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
