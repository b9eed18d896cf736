// SPDX-License-Identifier: Apache-2.0
#include "exp.h"

static row_exp *own_of(const row_kernel *k) { return (row_exp *)k->op->own; }

// t of element e, if it is not in place already.
static cj_reg make_t(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask) {
    const row_exp *r = own_of(k);
    cj_reg         t = cj__row_in_place(k) ? v->in[0][e] : cj_f32(k->f, "t");
    if (mask)
        cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $4;", t, v->in[0][e], r->scale, mask[e]);
    else
        cj_ptx(k->f, "mul.f32 $1, $2, $3;", t, v->in[0][e], r->scale);
    return t;
}

const cj_reg *cj__row_exp_mask(row_kernel *k, const row_vector *v) {
    row_exp *r = own_of(k);
    if (!r->masked) return NULL;
    if (r->mask_rows) return v->in[1];
    cj__row_load_column(k, r->mask, v->number, r->masks);
    return r->masks;
}

static void before(row_kernel *k) {
    const bool bf16 = *cj__row_type(k->plan, ROW_DTYPE) == 'b';
    if (cj__row_in_pairs(k))
        own_of(k)->pair = cj_let(k->f, "b32", "pair", "mov.b32 $1, $2; // -infinity",
                                 bf16 ? "0xff80ff80" : "0xfc00fc00");
}

// Pairs are compared as they are: that takes a quarter of the instructions.
void cj__row_exp_largest(row_kernel *k, const row_vector *v) {
    const row_exp *r = own_of(k);
    if (cj__row_in_pairs(k)) {
        for (unsigned w = 0; w < k->s->elements / 2; w++)
            cj_ptx(k->f, "max.$1x2 $2, $2, $3;", cj__row_type(k->plan, ROW_DTYPE), r->pair, v->word[0][w]);
        return;
    }
    const cj_reg *masks = cj__row_exp_mask(k, v);
    for (unsigned e = 0; e < k->s->elements; e++)
        cj_update(k->f, k->part.value[0], "max", own_of(k)->prepared ? make_t(k, v, e, masks) : v->in[0][e]);
}

// k->part has the largest of a peeled row's edge already, or -FLT_MAX.
static void between(row_kernel *k) {
    if (!cj__row_in_pairs(k)) return;
    cj_reg even = cj_f32(k->f, "even"), odd = cj_f32(k->f, "odd");
    cj__unpack_halves(k->f, cj__row_type(k->plan, ROW_DTYPE), own_of(k)->pair, even, odd);
    cj_update(k->f, k->part.value[0], "max", even);
    cj_update(k->f, k->part.value[0], "max", odd);
}

void cj__row_exp_distance(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask, cj_reg from, cj_reg to) {
    const bool made = own_of(k)->prepared && !cj__row_in_place(k);
    cj_ptx(k->f, "sub.f32 $1, $2, $3;", to, made ? make_t(k, v, e, mask) : v->in[0][e], from);
}

// distance = the share of the row's sum that an element has so far from the largest.
static void share_of(row_kernel *k, cj_reg distance) {
    cj_ptx(k->f, "fma.rn.f32 $1, $1, $2, $3;", distance, (float)k->op->base, own_of(k)->log2_factor);
    cj_ptx(k->f, "ex2.approx.ftz.f32 $1, $1;", distance);
}

void cj__row_exp_share(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask, cj_reg to) {
    cj__row_exp_distance(k, v, e, mask, k->part.value[0], to);
    share_of(k, to);
}

static void add_powers(row_kernel *k, const row_vector *v) {
    const cj_reg *masks = cj__row_in_place(k) ? NULL : cj__row_exp_mask(k, v);
    const bool    stays = cj__row_in_place(k) && own_of(k)->stays;
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg power = stays ? v->in[0][e] : cj_f32(k->f, "power");
        cj__row_exp_distance(k, v, e, masks, k->part.value[0], power);
        cj_update(k->f, power, "mul", (float)k->op->base);
        cj_ptx(k->f, "ex2.approx.ftz.f32 $1, $1;", power);
        cj_update(k->f, k->part.value[1], "add", power);
    }
}

static void after(row_kernel *k) {
    row_exp *r = own_of(k);
    if (r->stays && k->op->outputs && cj__row_in_place(k)) r->own_largest = cj_mov(k->f, "f32", "own_largest", k->part.value[0]);
}

void cj__row_exp_describe(row_op *op) {
    const row_exp *r = (const row_exp *)op->own;
    op->base = r->prepared ? CJ_LOG2E : r->factor * CJ_LOG2E;
    op->fold = ROW_FOLD_EXP;
    op->values = 2;
    op->before = before;
    op->sweep[0] = cj__row_exp_largest;
    op->between = between;
    op->sweep[1] = add_powers;
    op->after = after;
}

void cj__row_exp_prepare(row_kernel *k) {
    row_exp *r = own_of(k);
    if (r->prepared) r->scale = cj__row_f32(k, "scale", r->factor);
}

void cj__row_exp_logarithm(row_kernel *k) {
    row_exp *r = own_of(k);
    r->log2_factor = cj_let(k->f, "f32", "log2_factor", "lg2.approx.ftz.f32 $1, $2;\nneg.f32 $1, $1;", k->part.value[1]);
}

cj_reg cj__row_exp_rebase(row_kernel *k) {
    cj_reg factor = cj_sub(k->f, "rebase", own_of(k)->own_largest, k->part.value[0]);
    share_of(k, factor);
    return factor;
}
