// SPDX-License-Identifier: Apache-2.0
// Matrices of a warp in memory of any layout (PTX ISA, "wmma.load", "wmma.store", "wmma.mma"). PTX does not define
// which lane has which element; here the fragments are those of mma.
#include "address.h"
#include "exec.h"
#include "fragment.h"
#include "watch.h"

enum { STRIDE_ALIGN = 16 };

// A matrix in memory: contiguous lines, rows or columns, `stride` elements apart.
typedef struct lines_plan {
    cj_fragment fragment;
    cj_axis     line, element;  // their steps in the dense matrix
    unsigned    bits, align;
    uint32_t    stride;  // slot of the stride between lines, or NONE: lines are contiguous
    cj_word     space;
} lines_plan;

static unsigned line_bytes(const lines_plan *plan) { return plan->element.extent * plan->bits / 8; }

// Finds line number `line`, by one lane's address and stride: PTX says that all lanes give the same ones.
static bool find_line(cj_cpu_warp *w, const cj_cpu_op *op, unsigned line, bool writes, cj_cpu_spot *spot) {
    const lines_plan *plan = op->plan;
    const unsigned    lane = line % CJ_LANES;
    const lane_u32   *given = plan->stride == CJ_SLOT_NONE ? NULL : (const lane_u32 *)(void *)(w->file + plan->stride);
    const uint64_t    stride = given ? given[lane] : plan->element.extent;
    const uint64_t    address = cj__cpu_address(w, op, 0, lane) + line * stride * plan->bits / 8;
    const cj_cpu_span span = {.bytes = line_bytes(plan), .align = plan->align, .writes = writes};
    if (!cj__cpu_locate(w, op, lane, plan->space, address, span, spot)) return false;
    const cj_watch_use   use = {.flags = writes ? CJ_USE_WRITE : CJ_USE_READ};
    const cj_watch_place place = {spot->block, spot->address, span.bytes};
    return cj__watch_access(w, op, lane, use, place) == CJ_STEP_NEXT;
}

CJ_EXEC(wmma_load) {
    const lines_plan *plan = op->plan;
    uint64_t          matrix[CJ_D_MAX * 2];
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    for (unsigned line = 0; line < plan->line.extent; line++) {
        cj_cpu_spot spot;
        if (!find_line(w, op, line, false, &spot)) return CJ_STEP_STOP;
        cj__elements_load(spot.host, plan->bits, plan->element.extent, matrix + line * plan->line.step,
                          plan->element.step);
    }
    cj__fragment_put(w, op->slot, &plan->fragment, matrix);
    return CJ_STEP_NEXT;
}

CJ_EXEC(wmma_store) {
    const lines_plan *plan = op->plan;
    uint64_t          matrix[CJ_D_MAX];
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    cj__fragment_get(w, op->slot, &plan->fragment, matrix);
    for (unsigned line = 0; line < plan->line.extent; line++) {
        cj_cpu_spot spot;
        if (!find_line(w, op, line, true, &spot)) return CJ_STEP_STOP;
        cj__elements_store(spot.host, plan->bits, plan->element.extent, matrix + line * plan->line.step,
                           plan->element.step);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(wmma_mma) {
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    cj__product_run(w, op->slot, op->plan);
    return CJ_STEP_NEXT;
}

// ---- selectors

// A lane has at least 16 elements of an f16 operand, in 8 registers, for every shape.
static unsigned least_elements(const cj_element *type) { return type->type == CJ_W_F16 ? 16 : 0; }

static cj_word space_of(const cj_mnemonic *mnemonic) {
    static const cj_word spaces[] = {CJ_W_GLOBAL, CJ_W_SHARED, CJ_W_SHARED_CTA, CJ_W_SHARED_CLUSTER};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (cj__mnemonic_has(mnemonic, spaces[i])) return spaces[i];
    }
    return CJ_WORD_NONE;
}

// wmma.load.a, wmma.store.d, …: a matrix of a product in which all have its type.
static bool select_lines(cj_cpu_prepare *p, cj_cpu_exec run) {
    const cj_mnemonic *mnemonic = p->mnemonic;
    const char         letter = *cj__words[mnemonic->word[1]].text;
    const cj_element  *type[CJ_ELEMENTS_MAX];
    lines_plan        *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan || cj__elements_of(mnemonic, type) < 1) return false;
    const cj_shape   shape = cj__shape_of(mnemonic);
    const cj_product product = cj__product_make(mnemonic, shape, type[0], type[0], type[0], type[0],
                                                least_elements(type[0]));
    const cj_axis    rows = letter == 'a'   ? (cj_axis){shape.m, shape.k}
                            : letter == 'b' ? (cj_axis){shape.k, shape.n}
                                            : (cj_axis){shape.m, shape.n};
    const cj_axis    columns = {letter == 'a' ? shape.k : shape.n, 1};
    const bool       by_rows = cj__cpu_has(p, CJ_W_ROW);
    plan->fragment = letter == 'a' ? product.a : letter == 'b' ? product.b : product.d;
    plan->line = by_rows ? rows : columns;
    plan->element = by_rows ? columns : rows;
    plan->bits = plan->fragment.bits;
    plan->align = (plan->bits == 64 ? 8u : 4u) * plan->fragment.registers;  // a lane's fragment
    if (plan->align > STRIDE_ALIGN) plan->align = STRIDE_ALIGN;
    plan->space = space_of(mnemonic);
    plan->stride = p->slot[plan->fragment.registers];
    p->op.plan = plan;
    p->op.run = run;
    return p->op.aligned = p->slot_count == plan->fragment.registers + 1u;
}

bool cj__cpu_select_wmma_load(cj_cpu_prepare *p) { return select_lines(p, wmma_load); }
bool cj__cpu_select_wmma_store(cj_cpu_prepare *p) { return select_lines(p, wmma_store); }

// The mnemonic has the types of D, A, B and C, or, if A and B are of f16, those of D and C.
bool cj__cpu_select_wmma_mma(cj_cpu_prepare *p) {
    const cj_mnemonic *mnemonic = p->mnemonic;
    const cj_element  *type[CJ_ELEMENTS_MAX], *half = cj__element(CJ_W_F16);
    cj_product        *product = cj__cpu_keep(p, sizeof *product);
    const unsigned     count = cj__elements_of(mnemonic, type);
    if (!product || count < 2) return false;
    const cj_element *a = count == 4 ? type[1] : half, *b = count == 4 ? type[2] : half;
    *product = cj__product_make(mnemonic, cj__shape_of(mnemonic), type[0], a, b, type[count - 1], least_elements(a));
    p->op.plan = product;
    p->op.run = wmma_mma;
    p->op.aligned = true;
    if (product->how == CJ_MULTIPLY_FMA) cj__cpu_round(p);
    return cj__product_fits(p, product, 0);
}
