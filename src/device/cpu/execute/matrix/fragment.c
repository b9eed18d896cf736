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

static void make(cj_fragment *f, unsigned bits, unsigned elements, unsigned run, cj_axis along, cj_axis across) {
    uint16_t lane_step[LANE_BITS], element_step[ELEMENT_BITS] = {0}, *next = element_step;
    for (unsigned i = 1; i < run; i *= 2) *next++ = (uint16_t)(i * along.step);
    for (unsigned i = 0; i < 2; i++) lane_step[i] = (uint16_t)((run << i) * along.step);
    for (unsigned i = 0; i < 3; i++) lane_step[2 + i] = (uint16_t)((1u << i) * across.step);
    for (unsigned i = GROUPS; i < across.extent; i *= 2) *next++ = (uint16_t)(i * across.step);
    for (unsigned i = QUAD * run; i < along.extent; i *= 2) *next++ = (uint16_t)(i * along.step);
    *f = (cj_fragment){.bits = (uint8_t)bits, .elements = (uint16_t)elements};
    f->registers = (uint16_t)(bits == 64 ? elements : elements * bits / 32);
    for (unsigned i = 0; i < CJ_LANES; i++) f->lane[i] = place(i, lane_step);
    for (unsigned i = 0; i < elements; i++) f->element[i] = place(i, element_step);
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
    make(&product->a, bits, at_least(m * k / CJ_LANES, least), at_least(32 / bits, 1), (cj_axis){k, 1},
         (cj_axis){m, k});
}

static void make_fragments(cj_product *product, unsigned least) {
    const unsigned m = product->shape.m, n = product->shape.n, k = product->shape.k;
    const unsigned b_bits = product->b_type->bits;
    const cj_axis  rows = {m, n}, columns = {n, 1};
    make_a(product, least);
    make(&product->b, b_bits, at_least(n * k / CJ_LANES, least), at_least(32 / b_bits, 1), (cj_axis){k, n}, columns);
    make(&product->c, product->c_type->bits, m * n / CJ_LANES, 2, columns, rows);
    make(&product->d, product->d_type->bits, m * n / CJ_LANES, 2, columns, rows);
}

static void make_tiling(cj_product *product) {
    const unsigned bits = product->a_type->bits, chunk = QUAD * (bits == 64 ? 64u : 32u) / bits;  // elements along k
    const cj_tile_set *set = cj__tile_set();
    product->tiling = (cj_tiling){.set = set,
                                  .a = cj__tile_type(set, product->a_type->type),
                                  .b = cj__tile_type(set, product->b_type->type),
                                  .columns = (uint16_t)(product->shape.n / CJ_TILE),
                                  .stored = (uint16_t)(product->shape.k / chunk)};
    product->tiling.panel = (cj_tile_panel){.how = product->how,
                                            .c = cj__tile_sum(product->c_type->type),
                                            .d = cj__tile_sum(product->d_type->type),
                                            .rows = (uint16_t)(product->shape.m / CJ_TILE),
                                            .chunks = (uint16_t)(product->shape.k / chunk),
                                            .length = (uint16_t)(bits == 1 ? QUAD : chunk),
                                            .saturate = product->saturate};
    cj_tiling *t = &product->tiling;
    t->of_b = (uint16_t)(t->panel.chunks * CJ_TILE * t->panel.length);
    t->of_c = (uint16_t)(t->panel.rows * cj__tile_sum_registers(t->panel.c));
    t->of_d = (uint16_t)(t->panel.rows * cj__tile_sum_registers(t->panel.d));
}

cj_product cj__product_make(const cj_mnemonic *mnemonic, cj_shape shape, const cj_element *d, const cj_element *a,
                            const cj_element *b, const cj_element *c, unsigned least) {
    cj_product product = {.shape = shape, .stored = shape.k, .a_type = a, .b_type = b, .c_type = c, .d_type = d};
    product.saturate = cj__mnemonic_has(mnemonic, CJ_W_SATFINITE);
    product.how = cj__mnemonic_has(mnemonic, CJ_W_XOR) ? CJ_MULTIPLY_XOR
                  : a->bits == 1                       ? CJ_MULTIPLY_AND
                  : a->bits == 64                      ? CJ_MULTIPLY_FMA
                                                       : CJ_MULTIPLY_SUM;
    make_fragments(&product, least);
    make_tiling(&product);
    return product;
}

void cj__product_make_sparse(cj_product *product) {
    product->stored = product->shape.k / 2;
    product->tiling.stored /= 2;
    make_a(product, 0);
}

void cj__product_make_quads(cj_product *product, bool a_by_rows, bool b_by_rows) {
    product->in_quads = true;
    product->quads = (cj_tile_quads){product->tiling.panel.c, product->tiling.panel.d, a_by_rows, b_by_rows};
    product->a.registers = product->b.registers = 2;
    product->c.registers = (uint16_t)(product->c_type->bits / 4);
    product->d.registers = (uint16_t)(product->d_type->bits / 4);
}

// Whether a register of D is one of A, B or C that may be read after it was written: not the one of C in its own place.
static bool is_crossed(const uint32_t *slot, const cj_product *p) {
    const unsigned d = p->d.registers, operands = 0u + p->a.registers + p->b.registers + p->c.registers;
    const unsigned first = d == p->c.registers ? d + p->a.registers + p->b.registers : d + operands;
    for (unsigned i = 0; i < d; i++) {
        for (unsigned k = d; k < d + operands; k++) {
            if (slot[i] == slot[k] && k != first + i) return true;
        }
    }
    return false;
}

// Registers of wmma may hold elements twice.
static bool is_in_one_call(const cj_product *p) {
    const cj_tiling *t = &p->tiling;
    return p->how == CJ_MULTIPLY_SUM && t->a == t->b && t->columns == 1 && t->panel.rows <= CJ_TILE_PRODUCT_ROWS &&
           t->panel.chunks <= CJ_TILE_PRODUCT_CHUNKS && p->a.registers == t->panel.rows * t->stored &&
           p->b.registers == t->panel.chunks;
}

bool cj__product_fits(cj_cpu_prepare *p, cj_product *product, unsigned more) {
    const uint32_t wanted = (uint32_t)product->d.registers + product->a.registers + product->b.registers +
                            product->c.registers;
    if (p->slot_count == wanted + more) {
        product->tiling.crossed = is_crossed(p->slot, product);
        product->tiling.in_one_call = is_in_one_call(product);
        return true;
    }
    cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: %u registers where its matrices take %u", p->mnemonic->text,
                   p->slot_count - more, wanted);
    return false;
}

// ---- products by tiles

unsigned cj__tiling_numbers(const cj_tiling *t) { return t->a->in_word * CJ_TILE_WORDS; }

// If some elements are there twice, the last ones count.
void cj__product_get_a(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, double *a) {
    const cj_tiling *t = &p->tiling;
    slot += p->a.registers - (unsigned)t->panel.rows * t->stored;
    t->a->read_a((cj_tile_registers){w->file, slot}, t->panel.rows, t->stored, a);
}

static void get_b(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, double *b) {
    const cj_tiling *t = &p->tiling;
    slot += p->b.registers - (unsigned)t->columns * t->panel.chunks;
    t->b->read_b((cj_tile_registers){w->file, slot}, t->columns, t->panel.chunks, b);
}

enum { D_REGISTERS_MAX = 8, REGISTER_MAX = CJ_LANES * 8 };  // REGISTER_MAX: bytes

// Where D is written: to its registers, or to a copy if they are crossed, which put_d writes to them.
typedef struct result {
    CJ_TILE_ALIGNED unsigned char copy[D_REGISTERS_MAX * REGISTER_MAX];
} result;

static cj_tile_registers place_d(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, result *r) {
    static const uint32_t copy_slot[D_REGISTERS_MAX] = {0,
                                                        REGISTER_MAX,
                                                        2 * REGISTER_MAX,
                                                        3 * REGISTER_MAX,
                                                        4 * REGISTER_MAX,
                                                        5 * REGISTER_MAX,
                                                        6 * REGISTER_MAX,
                                                        7 * REGISTER_MAX};
    return p->tiling.crossed ? (cj_tile_registers){r->copy, copy_slot} : (cj_tile_registers){w->file, slot};
}

static void put_d(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, const result *r) {
    const size_t bytes = p->d.bits == 64 ? REGISTER_MAX : REGISTER_MAX / 2;
    for (unsigned i = 0; p->tiling.crossed && i < p->d.registers; i++)
        memcpy(w->file + slot[i], r->copy + i * REGISTER_MAX, bytes);
}

static void run_in_one_call(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, cj_tile_registers a) {
    result                 r;
    const uint32_t        *b = slot + p->d.registers + p->a.registers;
    const cj_tile_operands of = {a, {w->file, b}, {w->file, b + p->b.registers}, place_d(w, slot, p, &r)};
    p->tiling.a->product(&p->tiling.panel, &of);
    put_d(w, slot, p, &r);
}

static void run_tiles(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, const double *a) {
    const cj_tiling       *t = &p->tiling;
    const uint32_t        *b_slot = slot + p->d.registers + p->a.registers;
    cj_tile_registers      c = {w->file, b_slot + p->b.registers};
    CJ_TILE_ALIGNED double b[CJ_B_MAX];
    result                 r;
    cj_tile_registers      d = place_d(w, slot, p, &r);
    get_b(w, b_slot, p, b);
    for (unsigned i = 0; i < t->columns; i++, c.slot += t->of_c, d.slot += t->of_d) {
        t->set->multiply(&t->panel, 1, a, b + i * t->of_b, &c, &d);
    }
    put_d(w, slot, p, &r);
}

static void run_f64(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p) {
    result r;
    p->tiling.set->multiply_f64(&p->tiling.panel, w->file, slot, place_d(w, slot, p, &r));
    put_d(w, slot, p, &r);
}

static void run_dense(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p) {
    CJ_TILE_ALIGNED double a[CJ_A_MAX];
    cj__product_get_a(w, slot + p->d.registers, p, a);
    run_tiles(w, slot, p, a);
}

void cj__product_run(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p) {
    if (p->in_quads)
        p->tiling.set->multiply_quads(&p->quads, w->file, slot);
    else if (p->tiling.in_one_call)
        run_in_one_call(w, slot, p, (cj_tile_registers){w->file, slot + p->d.registers});
    else if (p->how == CJ_MULTIPLY_FMA)
        run_f64(w, slot, p);
    else
        run_dense(w, slot, p);
}

void cj__product_run_sparse(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p, cj_tile_registers a) {
    const cj_tiling       *t = &p->tiling;
    CJ_TILE_ALIGNED double tiles[CJ_A_MAX];
    if (t->in_one_call) {
        run_in_one_call(w, slot, p, a);
        return;
    }
    t->a->read_a(a, t->panel.rows, t->panel.chunks, tiles);
    run_tiles(w, slot, p, tiles);
}

// ---- undefined bits

void cj__product_undefined(cj_cpu_warp *w, const uint32_t *slot, const cj_product *p) {
    const unsigned  m = p->shape.m, n = p->shape.n, k = p->shape.k;
    const uint32_t *a_slot = slot + p->d.registers, *b_slot = a_slot + p->a.registers;
    uint64_t        a[CJ_A_MAX], b[CJ_B_MAX], sum[CJ_D_MAX];
    uint32_t        rows = 0, columns = 0;
    cj__fragment_get(w, a_slot, &p->a, a);
    cj__fragment_get(w, b_slot, &p->b, b);
    cj__fragment_get(w, b_slot + p->b.registers, &p->c, sum);
    for (unsigned i = 0; i < m * k; i++) rows |= (uint32_t)(a[i] != 0) << i / k;
    for (unsigned i = 0; i < k * n; i++) columns |= (uint32_t)(b[i] != 0) << i % n;
    for (unsigned i = 0; i < m * n; i++) {
        const bool is_undefined = sum[i] || rows >> i / n & 1 || columns >> i % n & 1;
        sum[i] = is_undefined ? UINT64_MAX >> (64 - p->d.bits) : 0;
    }
    cj__fragment_put(w, slot, &p->d, sum);
}

// ---- the warp

cj_cpu_step cj__cpu_whole_warp(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    if (mask == CJ_ALL_LANES) return CJ_STEP_NEXT;
    w->waiting = mask;
    if (mask != w->live) return CJ_STEP_WAIT;
    return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_DIVERGENT,
                          "takes all %d threads of a warp, but %u are there", CJ_LANES, cj__cpu_count(mask));
}
