// SPDX-License-Identifier: Apache-2.0
#include "exp.h"

static row_exp *own_of(const row_kernel *k) { return (row_exp *)k->op->own; }

// t of element e, if it is not in place already.
static cj_reg make_t(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask) {
    const row_exp *r = own_of(k);
    cj_reg         t = cj__row_in_place(k) ? v->in[0][e] : cj_f32(k->f, "t");
    cj_ptx(k->f, "mul.f32 $1, $2, $3;", t, v->in[0][e], r->scale);
    if (mask) cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $1;", t, mask[e], r->log2e);
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

// Without masks the largest x is scaled once.
static void between(row_kernel *k) {
    const row_exp *r = own_of(k);
    if (own_of(k)->prepared) return;
    if (cj__row_in_pairs(k)) {
        cj_reg both[2] = {cj_f32(k->f, "even"), cj_f32(k->f, "odd")};
        cj__unpack_halves(k->f, cj__row_type(k->plan, ROW_DTYPE), r->pair, both[0], both[1]);
        if (k->s->peeled) cj_update(k->f, both[0], "max", k->part.value[0]);
        cj_ptx(k->f, "max.f32 $1, $2, $3;", k->part.value[0], both[0], both[1]);
    }
    cj_update(k->f, k->part.value[0], "mul", r->scale);
    cj_ptx(k->f, "max.f32 $1, $1, 0fFF7FFFFF;", k->part.value[0]);
}

void cj__row_exp_distance(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask, cj_reg from, cj_reg to) {
    const row_exp *r = own_of(k);
    if (own_of(k)->prepared) {
        cj_ptx(k->f, "sub.f32 $1, $2, $3;", to, cj__row_in_place(k) ? v->in[0][e] : make_t(k, v, e, mask), from);
        return;
    }
    cj_reg negative = cj_let(k->f, "f32", "negative", "neg.f32 $1, $2;", from);
    cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $4;", to, v->in[0][e], r->scale, negative);
}

static void add_powers(row_kernel *k, const row_vector *v) {
    const cj_reg *masks = cj__row_in_place(k) ? NULL : cj__row_exp_mask(k, v);
    const bool    stays = cj__row_in_place(k) && own_of(k)->stays;
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg power = stays ? v->in[0][e] : cj_f32(k->f, "power");
        cj__row_exp_distance(k, v, e, masks, k->part.value[0], power);
        cj_ptx(k->f, "ex2.approx.ftz.f32 $1, $1;", power);
        cj_update(k->f, k->part.value[1], "add", power);
    }
}

static void after(row_kernel *k) {
    row_exp *r = own_of(k);
    if (r->stays && k->op->outputs && cj__row_in_place(k)) r->own_largest = cj_mov(k->f, "f32", "own_largest", k->part.value[0]);
}

void cj__row_exp_describe(row_op *op) {
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
    r->scale = cj__row_f32(k, "scale", r->factor * ROW_LOG2E);
    if (own_of(k)->masked) r->log2e = cj__row_f32(k, "log2e", ROW_LOG2E);
}

void cj__row_exp_logarithm(row_kernel *k) {
    row_exp *r = own_of(k);
    r->shift = cj_let(k->f, "f32", "shift", "lg2.approx.ftz.f32 $1, $2;", k->part.value[1]);
    cj_update(k->f, r->shift, "add", k->part.value[0]);
}

cj_reg cj__row_exp_rebase(row_kernel *k) {
    const row_exp *r = own_of(k);
    cj_reg         factor = cj_sub(k->f, "rebase", r->own_largest, r->shift);
    cj_ptx(k->f, "ex2.approx.ftz.f32 $1, $1;", factor);
    return factor;
}
