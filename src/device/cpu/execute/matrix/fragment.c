// SPDX-License-Identifier: Apache-2.0
#include "fragment.h"

#include <stdio.h>
#include <string.h>

#include "exec.h"

enum { LANE_BITS = 5, ELEMENT_BITS = 7, QUAD = 4, GROUPS = 8 };

// ---- layouts

static uint16_t place(unsigned index, const uint16_t *step) {
    unsigned sum = 0;
    for (; index; index >>= 1, step++) sum += (index & 1) * *step;
    return (uint16_t)sum;
}

void cj__fragment_make_by_bits(cj_fragment *f, unsigned bits, unsigned elements, const uint16_t lane_step[LANE_BITS],
                               const uint16_t *element_step) {
    *f = (cj_fragment){.bits = (uint8_t)bits, .elements = (uint16_t)elements};
    f->registers = (uint16_t)(bits == 64 ? elements : elements * bits / 32);
    for (unsigned i = 0; i < CJ_LANES; i++) f->lane[i] = place(i, lane_step);
    for (unsigned i = 0; i < elements; i++) f->element[i] = place(i, element_step);
}

void cj__fragment_make(cj_fragment *f, unsigned bits, unsigned elements, unsigned run, cj_axis along, cj_axis across) {
    uint16_t lane_step[LANE_BITS], element_step[ELEMENT_BITS] = {0}, *next = element_step;
    for (unsigned i = 1; i < run; i *= 2) *next++ = (uint16_t)(i * along.step);
    for (unsigned i = 0; i < 2; i++) lane_step[i] = (uint16_t)((run << i) * along.step);
    for (unsigned i = 0; i < 3; i++) lane_step[2 + i] = (uint16_t)((1u << i) * across.step);
    for (unsigned i = GROUPS; i < across.extent; i *= 2) *next++ = (uint16_t)(i * across.step);
    for (unsigned i = QUAD * run; i < along.extent; i *= 2) *next++ = (uint16_t)(i * along.step);
    cj__fragment_make_by_bits(f, bits, elements, lane_step, element_step);
}

// ---- registers

void cj__fragment_get(const cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, uint64_t *matrix) {
    const unsigned packed = f->elements / f->registers;
    const uint64_t mask = UINT64_MAX >> (64 - f->bits);
    for (unsigned e = 0; e < f->elements; e++) {
        const void    *from = w->file + slot[e / packed];
        uint64_t      *to = matrix + f->element[e];
        const unsigned shift = e % packed * f->bits;
        if (f->bits == 64) {
            CJ_EVERY_LANE(i) to[f->lane[i]] = ((const lane_u64 *)from)[i];
        } else {
            CJ_EVERY_LANE(i) to[f->lane[i]] = ((const lane_u32 *)from)[i] >> shift & mask;
        }
    }
}

void cj__fragment_put(cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, const uint64_t *matrix) {
    const unsigned packed = f->elements / f->registers;
    for (unsigned r = 0; r < f->registers; r++) {
        uint64_t value[CJ_LANES] = {0};
        for (unsigned e = 0; e < packed; e++) {
            const uint64_t *from = matrix + f->element[r * packed + e];
            CJ_EVERY_LANE(i) value[i] |= from[f->lane[i]] << (e * f->bits);
        }
        void *to = w->file + slot[r];
        if (f->bits == 64) {
            CJ_EVERY_LANE(i)((lane_u64 *)to)[i] = value[i];
        } else {
            CJ_EVERY_LANE(i)((lane_u32 *)to)[i] = (uint32_t)value[i];
        }
    }
}

// ---- products

static unsigned at_least(unsigned count, unsigned least) { return count < least ? least : count; }

static void make_a(cj_product *product, unsigned least) {
    const unsigned m = product->shape.m, k = product->stored, bits = product->a_type->bits;
    cj__fragment_make(&product->a, bits, at_least(m * k / CJ_LANES, least), at_least(32 / bits, 1), (cj_axis){k, 1},
                      (cj_axis){m, k});
}

static void make_fragments(cj_product *product, unsigned least) {
    const unsigned m = product->shape.m, n = product->shape.n, k = product->shape.k;
    const unsigned b_bits = product->b_type->bits;
    const cj_axis  rows = {m, n}, columns = {n, 1};
    make_a(product, least);
    cj__fragment_make(&product->b, b_bits, at_least(n * k / CJ_LANES, least), at_least(32 / b_bits, 1), (cj_axis){k, n},
                      columns);
    cj__fragment_make(&product->c, product->c_type->bits, m * n / CJ_LANES, 2, columns, rows);
    cj__fragment_make(&product->d, product->d_type->bits, m * n / CJ_LANES, 2, columns, rows);
}

cj_product cj__product_make(const cj_mnemonic *mnemonic, cj_shape shape, const cj_element *d, const cj_element *a,
                            const cj_element *b, const cj_element *c, unsigned least) {
    cj_product product = {
        .shape = shape, .stored = shape.k, .batches = 1, .a_type = a, .b_type = b, .c_type = c, .d_type = d};
    product.saturate = cj__mnemonic_has(mnemonic, CJ_W_SATFINITE);
    product.how = cj__mnemonic_has(mnemonic, CJ_W_XOR) ? CJ_MULTIPLY_XOR
                  : a->bits == 64                      ? CJ_MULTIPLY_FMA
                                                       : CJ_MULTIPLY_SUM;
    make_fragments(&product, least);
    return product;
}

void cj__product_make_sparse(cj_product *product) {
    product->stored = product->shape.k / 2;
    make_a(product, 0);
}

bool cj__product_fits(cj_cpu_prepare *p, const cj_product *product, unsigned more) {
    const uint32_t wanted = (uint32_t)product->d.registers + product->a.registers + product->b.registers +
                            product->c.registers;
    if (p->slot_count == wanted + more) return true;
    cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: %u registers where its matrices take %u", p->mnemonic->text,
                   p->slot_count - more, wanted);
    return false;
}

static void read_matrix(const cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, const cj_element *type,
                        unsigned count, double *matrix) {
    uint64_t bits[CJ_A_MAX];
    cj__fragment_get(w, slot, f, bits);
    type->decode(bits, count, matrix);
}

void cj__product_put(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, double *d) {
    const unsigned count = p->batches * p->shape.m * p->shape.n;
    uint64_t       bits[CJ_D_MAX];
    for (unsigned i = 0; p->saturate && i < count; i++) {
        d[i] = d[i] > INT32_MAX ? INT32_MAX : d[i] < INT32_MIN ? INT32_MIN : d[i];
    }
    p->d_type->encode(d, count, bits);
    cj__fragment_put(w, slot, &p->d, bits);
}

void cj__product_get(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, double *a, double *b, double *c) {
    const unsigned  m = p->shape.m, n = p->shape.n, k = p->shape.k;
    const uint32_t *a_slot = slot + p->d.registers, *b_slot = a_slot + p->a.registers;
    read_matrix(w, a_slot, &p->a, p->a_type, p->batches * m * p->stored, a);
    read_matrix(w, b_slot, &p->b, p->b_type, p->batches * k * n, b);
    read_matrix(w, b_slot + p->b.registers, &p->c, p->c_type, p->batches * m * n, c);
}

void cj__product_run(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p) {
    const unsigned m = p->shape.m, n = p->shape.n, k = p->shape.k;
    double         a[CJ_A_MAX], b[CJ_B_MAX], d[CJ_D_MAX];
    cj__product_get(w, slot, p, a, b, d);
    for (unsigned i = 0; i < p->batches; i++) {
        cj__multiply(p->how, m, n, k, a + i * m * k, b + i * k * n, d + i * m * n);
    }
    cj__product_put(w, slot, p, d);
}

// ---- the warp

cj_cpu_step cj__cpu_whole_warp(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    if (mask == CJ_ALL_LANES) return CJ_STEP_NEXT;
    w->waiting = mask;
    if (mask != w->live) return CJ_STEP_WAIT;
    return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_DIVERGENT,
                          "takes all %d threads of a warp, but %u are there", CJ_LANES, cj__cpu_count(mask));
}
