// SPDX-License-Identifier: Apache-2.0
// crossentropy along rows of logits: loss, log-sum-exp and gradient, in one reading. row.c tells how rows are worked
// on.
//
// With lse = ln sum e^x, p = e^(x - lse), s = smoothing, C columns:
//   loss = lse - (1 - s) * x[label] - s / C * sum x
//        = ln powers + (1 - s) * (largest - x[label]) + s * (largest - mean x)
//   dx   = scale * (p - (1 - s) * [column = label] - s / C)
// A row whose label is `ignore` has loss 0 and a gradient of zeros, or of NaN where its logits have no sum; any other label
// beyond the columns gives a loss of NaN.
#include "exp.h"

enum { LABEL = ROW_OWN, IGNORE, SMOOTHING, GRADIENT, SCALE };

static const cj_param_info params[] = {
#define PARAM(id, ...) [ROW_##id] = {__VA_ARGS__},
#include "params.def"
    [LABEL] = {CJ_CHOICE("label", "i64 i32", "i64", "type of the labels")},
    [IGNORE] = {CJ_REAL("ignore", "-100", "a whole number: rows with this label do not count")},
    [SMOOTHING] = {CJ_REAL("smoothing", "0", "0 to 1: the share that all columns have in the loss")},
    [GRADIENT] = {CJ_SWITCH("gradient", "yes: the gradient is written too")},
    [SCALE] = {CJ_REAL("scale", "1", "what the gradient is multiplied by: 1 / rows for a mean")},
};

typedef struct crossentropy {
    row_exp  exp;
    bool     gradient;
    double   smoothing, ignore, scale;
    unsigned x, label_of, loss, lse;          // operands
    cj_reg   label, ignored, target, factor;  // of a row; label: s64; target: x[label], of the first thread
} crossentropy;

_Static_assert(sizeof(crossentropy) <= ROW_OWN_BYTES, "each of the rows that are unrolled has one");

static crossentropy *own_of(const row_kernel *k) { return (crossentropy *)k->op->own; }

// The first thread loads x[label] while the row comes in; a NaN stands for a label that no column has.
static cj_reg load_target(row_kernel *k, cj_reg label) {
    const crossentropy *own = own_of(k);
    cj_func            *f = k->f;
    const bool          narrow = k->s->in_bytes == 2;
    cj_reg there = cj_let(f, "pred", "there", "setp.lt.and.u64 $1, $2, $3, $4;", label, k->s->columns, k->first);
    cj_reg at = cj_mad_wide(f, "target_at", k->row, k->s->stride * k->s->in_bytes, k->base[own->x]);
    cj_ptx(f, "mad.lo.s64 $1, $2, $3, $1;", at, label, k->s->in_bytes);
    cj_reg bits = cj_let(f, narrow ? "b16" : "f32", "target",
                         narrow ? "mov.b16 $1, 0x7fff;" : "mov.f32 $1, 0f7FFFFFFF;");
    cj_ptx(f, "@$1 $2.$3 $4, [$5];", there, cj__load_given(k->plan), narrow ? "b16" : "f32", bits, at);
    cj_reg target = narrow ? cj_f32(f, "target") : bits;
    if (narrow) cj__widen_half(f, cj__row_type(k->plan, ROW_DTYPE), target, bits);
    return target;
}

static void prepare(row_kernel *k) {
    crossentropy *r = own_of(k);
    const bool    wide = k->op->operand[r->label_of].type[1] == '6';
    cj_step(k->f, "the row's label, and x there");
    cj__row_exp_prepare(k);
    cj_reg label = cj__row_load_each(k, r->label_of);
    r->label = wide ? cj_mov(k->f, "s64", "wide_label", label) : cj_cvt(k->f, "s64", "wide_label", label);
    r->ignored = cj_eq(k->f, "ignored", r->label, (int64_t)r->ignore);
    r->target = load_target(k, r->label);
}

// With smoothing value 2 becomes half of the row's mean: each x is divided first, for the sum of all, and the mean itself once it is
// rounded, may be beyond f32.
static void find_largest(row_kernel *k, const row_vector *v) {
    cj__row_exp_largest(k, v);
    for (unsigned e = 0; e < k->s->elements && own_of(k)->smoothing > 0; e++)
        cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $1;", k->part.value[2], v->in[0][e], (float)(0.5 / (double)k->s->columns));
}

static void finish(row_kernel *k) {
    crossentropy *r = own_of(k);
    cj_func      *f = k->f;
    cj_step(f, "lse and loss");
    cj__row_exp_logarithm(k);
    cj_reg largest = k->part.value[0];
    cj_reg ln_powers = cj_mul(f, "ln_powers", r->exp.log2_factor, (float)-CJ_LN2);
    cj_reg lse = cj_add(f, "lse", largest, ln_powers), below = cj_sub(f, "below", largest, r->target);
    if (r->smoothing > 0) cj_update(f, below, "mul", (float)(1 - r->smoothing));
    cj_reg loss = cj_add(f, "loss", below, ln_powers);
    if (r->smoothing > 0) {
        cj_reg mean_below = cj_let(f, "f32", "mean_below", "fma.rn.f32 $1, $2, $3, $4;", k->part.value[2], -2.0f, largest);
        cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", loss, mean_below, (float)r->smoothing);
    }
    cj_ptx(f, "@$1 mov.f32 $2, 0f00000000;", r->ignored, loss);
    cj__row_store_each(k, r->loss, loss);
    cj__row_store_each(k, r->lse, lse);
    if (!r->gradient) return;
    r->factor = cj__row_f32(k, "factor", r->scale);
    cj_ptx(f, "@$1 mov.f32 $2, 0f00000000;", r->ignored, r->factor);
}

// dx[label] has 1 - s less; few vectors have it.
static void take_label_off(row_kernel *k, const row_vector *v) {
    const crossentropy *r = own_of(k);
    cj_func            *f = k->f;
    cj_reg column = cj_add(f, "vector_column", k->column, v->number * cj__row_threads(k->s) * k->s->elements);
    cj_reg distance = cj_sub(f, "distance", r->label, cj_cvt(f, "s64", "wide_column", column));
    cj_reg other = cj_let(f, "pred", "other_vector", "setp.ge.u64 $1, $2, $3;", distance, k->s->elements);
    CJ_UNLESS(f, other, "no_label")
    for (unsigned e = 0; e < k->s->elements; e++)
        cj_ptx(f, "@$1 fma.rn.f32 $2, $3, $4, $2;", cj_eq(f, "here", distance, e), v->out[0][e], r->factor,
               (float)(r->smoothing - 1));
}

static void write_gradient(row_kernel *k, const row_vector *v) {
    const crossentropy *r = own_of(k);
    const double        share = r->smoothing / (double)k->s->columns;
    cj_reg              scale = r->factor;
    if (cj__row_in_place(k)) {
        scale = cj__row_exp_rebase(k);
        cj_update(k->f, scale, "mul", r->factor);
    }
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg dx = v->out[0][e];
        if (!cj__row_in_place(k)) cj__row_exp_share(k, v, e, NULL, dx);
        cj_ptx(k->f, "mul.f32 $1, $2, $3;", dx, cj__row_in_place(k) ? v->in[0][e] : dx, scale);
        if (share > 0) cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $1;", dx, r->factor, (float)-share);
    }
    take_label_off(k, v);
}

// ---- the family

static cj_status describe(const cj_plan *plan, row_op *op, cj_error *error) {
    const cj_params *p = &plan->params;
    crossentropy    *own = (crossentropy *)op->own;
    *own = (crossentropy){.exp = {.factor = 1, .stays = true},
                          .gradient = p->value[GRADIENT] != 0,
                          .smoothing = cj_params_real(p, "smoothing"),
                          .ignore = cj_params_real(p, "ignore"),
                          .scale = cj_params_real(p, "scale")};
    TRY(cj__check_f32("scale", own->scale, error));
    REFUSE_IF(!(own->smoothing >= 0 && own->smoothing <= 1),
              "smoothing: %g is outside 0 to 1" CJ_HINT "0 is none, 0.1 is usual", own->smoothing);
    REFUSE_IF(!(own->ignore >= INT32_MIN && own->ignore <= INT32_MAX && (double)(int32_t)own->ignore == own->ignore),
              "ignore: %g is not a whole number of 32 bits" CJ_HINT
              "labels are whole numbers: choose one that none of them has",
              own->ignore);
    cj__row_add(op, ROW_INPUT, "x", NULL, "x[rows, columns], logits");
    if (own->gradient) cj__row_add(op, ROW_OUTPUT, "dx", NULL, "dx[rows, columns]");
    own->label_of = cj__row_add(op, ROW_EACH, "label", p->value[LABEL] ? "s32" : "s64", "label[rows]");
    own->loss = cj__row_add(op, ROW_EACH, "loss", "f32", "loss[rows]");
    own->lse = cj__row_add(op, ROW_EACH, "lse", "f32", "lse[rows], the logarithm of the sum of e^x");
    cj__row_exp_describe(op);
    op->by_first = true;
    op->values += own->smoothing > 0;
    op->in_pairs = !(own->smoothing > 0);
    op->prepare = prepare;
    op->sweep[0] = find_largest;
    op->finish = finish;
    op->write = own->gradient ? write_gradient : NULL;
    return CJ_OK;
}

static const row_family rows = {describe};

const cj_family cj__family_crossentropy = {ROW_FAMILY(
    "crossentropy", "rows of logits and a label each: loss, logarithm of the sum of e^x, and the gradient, in one reading")};
