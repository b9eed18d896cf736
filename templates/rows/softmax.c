// SPDX-License-Identifier: Apache-2.0
// softmax and logsoftmax along rows, and their gradients: what is done with elements. row.c tells how rows are worked
// on.
//
// Forward. With t = scale * x + mask, of a mask of one row for all or of several that repeat, largest = max t and
// powers = sum e^(t - largest):
//   softmax     y = e^(t - largest) / powers
//   logsoftmax  y = t - largest - ln powers
// Backward, from y and its gradient dy:
//   softmax     dx = scale * (dy - sum(dy * y)) * y
//   logsoftmax  dx = scale * (dy - sum(dy) * e^y)
#include "exp.h"

enum { SCALE = ROW_OWN, MASK, MASK_ROWS, PASS };

static const cj_param_info params[] = {
#define PARAM(id, ...) [ROW_##id] = {__VA_ARGS__},
#include "params.def"
    [SCALE] = {CJ_REAL("scale", "1", "what elements are multiplied by first")},
    [MASK] = {CJ_SWITCH("mask", "yes: a row of the type of x is added to every row; -infinity takes an element out")},
    [MASK_ROWS] = {CJ_NUMBER("mask-rows", 1, 1 << 26, "1",
                             "rows of the mask, with the stride of x: row r takes number r modulo mask-rows")},
    [PASS] = {CJ_CHOICE("pass", "forward backward", "forward", "backward: dx from y and dy")},
};

typedef struct softmax {
    row_exp  exp;
    bool     log;
    cj_reg   ln_factor;     // of a row
    cj_reg   scale, log2e;  // backward
} softmax;

_Static_assert(sizeof(softmax) <= ROW_OWN_BYTES, "each of the rows that are unrolled has one");

static softmax *own_of(const row_kernel *k) { return (softmax *)k->op->own; }

static void finish(row_kernel *k) {
    softmax *r = own_of(k);
    cj_step(k->f, "the row's largest, and the logarithm of its sum of powers");
    cj__row_exp_logarithm(k);
    if (r->log) r->ln_factor = cj_mul(k->f, "ln_factor", r->exp.log2_factor, (float)CJ_LN2);
}

static void write_log(row_kernel *k, const row_vector *v) {
    const softmax *r = own_of(k);
    const bool     ready = cj__row_in_place(k) && r->exp.prepared;
    const cj_reg  *masks = ready ? NULL : cj__row_exp_mask(k, v);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj__row_exp_distance(k, v, e, masks, k->part.value[0], v->out[0][e]);
        if (r->exp.prepared || r->exp.factor == 1)
            cj_update(k->f, v->out[0][e], "add", r->ln_factor);
        else
            cj_ptx(k->f, "fma.rn.f32 $1, $1, $2, $3;", v->out[0][e], (float)r->exp.factor, r->ln_factor);
    }
}

static void write_powers(row_kernel *k, const row_vector *v) {
    if (cj__row_in_place(k)) {
        cj_reg factor = cj__row_exp_rebase(k);
        for (unsigned e = 0; e < k->s->elements; e++)
            cj_ptx(k->f, "mul.f32 $1, $2, $3;", v->out[0][e], v->in[0][e], factor);
        return;
    }
    const cj_reg *masks = cj__row_exp_mask(k, v);
    for (unsigned e = 0; e < k->s->elements; e++) cj__row_exp_share(k, v, e, masks, v->out[0][e]);
}

// ---- backward: inputs y and dy

static void add_products(row_kernel *k, const row_vector *v) {
    const char *line = own_of(k)->log ? "add.f32 $1, $1, $2;" : "fma.rn.f32 $1, $2, $3, $1;";
    for (unsigned e = 0; e < k->s->elements; e++) cj_ptx(k->f, line, k->part.value[0], v->in[1][e], v->in[0][e]);
}

static void prepare_backward(row_kernel *k) {
    softmax *r = own_of(k);
    r->scale = cj__row_f32(k, "scale", r->exp.factor);
    if (r->log) r->log2e = cj__row_f32(k, "log2e", CJ_LOG2E);
}

static void finish_backward(row_kernel *k) {
    if (own_of(k)->log) cj_ptx(k->f, "neg.f32 $1, $1;", k->part.value[0]);
}

static void write_backward(row_kernel *k, const row_vector *v) {
    const softmax *r = own_of(k);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg dx = v->out[0][e];
        if (r->log) {
            cj_ptx(k->f, "mul.f32 $1, $2, $3;", dx, v->in[0][e], r->log2e);
            cj_ptx(k->f, "ex2.approx.ftz.f32 $1, $1;", dx);
            cj_ptx(k->f, "fma.rn.f32 $1, $1, $2, $3;", dx, k->part.value[0], v->in[1][e]);
        } else {
            cj_ptx(k->f, "sub.f32 $1, $2, $3;", dx, v->in[1][e], k->part.value[0]);
            cj_update(k->f, dx, "mul", v->in[0][e]);
        }
        cj_update(k->f, dx, "mul", r->scale);
    }
}

// ---- the families

static void describe_backward(row_op *op, const softmax *own) {
    cj__row_add(op, ROW_INPUT, "y", NULL, "y[rows, columns]");
    cj__row_add(op, ROW_INPUT, "dy", NULL, "its gradient");
    cj__row_add(op, ROW_OUTPUT, "dx", NULL, "dx[rows, columns]");
    op->fold = ROW_FOLD_SUM;
    op->values = 1;
    op->prepare = prepare_backward;
    op->swept = own->log ? 1 : 0;
    op->sweep[0] = add_products;
    op->finish = finish_backward;
    op->write = write_backward;
}

static void describe_forward(row_op *op, softmax *own, uint64_t mask_rows) {
    cj__row_add(op, ROW_INPUT, "x", NULL, "x[rows, columns]");
    cj__row_add(op, ROW_OUTPUT, "y", NULL, "y[rows, columns]");
    if (own->exp.mask_rows) {
        own->exp.mask = cj__row_add(op, ROW_INPUT, "mask", NULL, "mask[mask rows, columns], added to rows by turns");
        op->operand[own->exp.mask].period = mask_rows;
    } else if (own->exp.masked) {
        own->exp.mask = cj__row_add(op, ROW_COLUMN, "mask", NULL, "mask[columns], added to every row");
    }
    cj__row_exp_describe(op);
    op->in_pairs = !own->exp.prepared;
    op->prepare = cj__row_exp_prepare;
    op->finish = finish;
    op->write = own->log ? write_log : write_powers;
}

static cj_status describe(const cj_plan *plan, row_op *op, cj_error *error) {
    const cj_params *p = &plan->params;
    softmax         *own = (softmax *)op->own;
    const double     scale = cj_params_real(p, "scale");
    TRY(cj__check_f32("scale", scale, error));
    const bool       log = p->family == &cj__family_logsoftmax, masked = p->value[MASK] != 0;
    const uint64_t   mask_rows = p->value[MASK_ROWS];
    REFUSE_IF(mask_rows > 1 && (!masked || p->value[PASS]),
              "mask-rows: %" PRIu64 " without a mask: this wants mask=yes pass=forward" CJ_HINT
              "leave mask-rows at its default, 1",
              mask_rows);
    *own = (softmax){.exp = {.factor = scale,
                             .stays = !log,
                             .masked = masked,
                             .mask_rows = mask_rows > 1,
                             .prepared = masked || !(scale > 0)},
                     .log = log};
    if (p->value[PASS])
        describe_backward(op, own);
    else
        describe_forward(op, own, mask_rows);
    return CJ_OK;
}

static const row_family rows = {describe};

const cj_family cj__family_softmax = {
    ROW_FAMILY("softmax", "rows of a matrix: e^x over the row's sum of these; and the gradient")};
const cj_family cj__family_logsoftmax = {
    ROW_FAMILY("logsoftmax", "rows of a matrix: x minus the logarithm of the row's sum of e^x; and the gradient")};
