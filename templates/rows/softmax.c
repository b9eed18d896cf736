// SPDX-License-Identifier: Apache-2.0
// softmax and logsoftmax along rows, and their gradients: what is done with elements. row.c tells how rows are worked
// on.
//
// Forward. With t = (scale * x + mask) * log2 e, of a mask of one row for all or of several that repeat, largest = max t
// and powers = sum 2^(t - largest):
//   softmax     y = 2^(t - largest) / powers
//   logsoftmax  y = (t - largest - log2 powers) * ln 2
// Backward, from y and its gradient dy:
//   softmax     dx = scale * (dy - sum(dy * y)) * y
//   logsoftmax  dx = scale * (dy - sum(dy) * e^y)
#include <inttypes.h>

#include "error.h"
#include "exp.h"

enum { SCALE = ROW_OWN, MASK, MASK_ROWS, PASS };

static const cj_param_info params[] = {
    ROW_PARAMS,
    [SCALE] = {.name = "scale", .real = true, .initial = "1", .help = "what elements are multiplied by first"},
    [MASK] = {.name = "mask",
              .choices = "no yes",
              .initial = "no",
              .help = "yes: a row of the type of x is added to every row; -infinity takes an element out"},
    [MASK_ROWS] = {.name = "mask-rows",
                   .minimum = 1,
                   .maximum = 1 << 26,
                   .initial = "1",
                   .help = "rows of the mask, with the stride of x: row r takes number r modulo mask-rows"},
    [PASS] = {.name = "pass",
              .choices = "forward backward",
              .initial = "forward",
              .help = "backward: dx from y and dy"},
};

typedef struct softmax {
    row_exp  exp;
    bool     log;
    bool     factored;  // y is a power times a factor, not a power of the distance from the logarithm of the sum
    uint64_t mask_rows;
} softmax;

typedef struct registers {
    row_exp_registers exp;
    cj_reg            factor, ln2;
} registers;

static const softmax *own_of(const row_kernel *k) { return k->op->own; }

static void prepare(row_kernel *k) {
    registers *r = k->own;
    cj__row_exp_prepare(k);
    if (own_of(k)->log) r->ln2 = cj__row_f32(k, "ln2", 1 / ROW_LOG2E);
    r->factor = cj_f32(k->f, "factor");
}

static void finish(row_kernel *k) {
    registers *r = k->own;
    cj_func   *f = k->f;
    cj_step(f, "the row's largest t and sum of powers");
    if (!own_of(k)->factored) {
        cj__row_exp_logarithm(k);
        return;
    }
    cj_ptx(f, "mov.f32 $1, $2;", r->exp.shift, k->part.value[0]);
    cj_ptx(f, "rcp.approx.ftz.f32 $1, $2;", r->factor, k->part.value[1]);
}

static void give_log(row_kernel *k, const row_vector *v) {
    const registers *r = k->own;
    cj_reg           mask[ROW_ELEMENTS];
    const bool       ready = k->in_place && own_of(k)->exp.prepared;
    const cj_reg    *masks = ready ? NULL : cj__row_exp_mask(k, v, mask);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj__row_exp_distance(k, v, e, masks, r->exp.shift, v->out[0][e]);
        cj_ptx(k->f, "mul.f32 $1, $1, $2;", v->out[0][e], r->ln2);
    }
}

static void give(row_kernel *k, const row_vector *v) {
    const registers *r = k->own;
    cj_func         *f = k->f;
    if (k->in_place) {
        cj_reg factor = cj__row_exp_rebase(k);
        cj_ptx(f, "mul.f32 $1, $1, $2;", factor, r->factor);
        for (unsigned e = 0; e < k->s->elements; e++)
            cj_ptx(f, "mul.f32 $1, $2, $3;", v->out[0][e], v->in[0][e], factor);
        return;
    }
    cj_reg        mask[ROW_ELEMENTS];
    const cj_reg *masks = cj__row_exp_mask(k, v, mask);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj__row_exp_distance(k, v, e, masks, r->exp.shift, v->out[0][e]);
        cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", v->out[0][e]);
        if (own_of(k)->factored) cj_ptx(f, "mul.f32 $1, $1, $2;", v->out[0][e], r->factor);
    }
}

// ---- backward: inputs y and dy

static void add_products(row_kernel *k, const row_vector *v) {
    const bool log = own_of(k)->log;
    for (unsigned e = 0; e < k->s->elements; e++)
        if (log)
            cj_ptx(k->f, "add.f32 $1, $1, $2;", k->part.value[0], v->in[1][e]);
        else
            cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $1;", k->part.value[0], v->in[1][e], v->in[0][e]);
}

static void prepare_backward(row_kernel *k) {
    registers *r = k->own;
    r->exp.scale = cj__row_f32(k, "scale", own_of(k)->exp.scale);
    if (own_of(k)->log) r->exp.log2e = cj__row_f32(k, "log2e", ROW_LOG2E);
}

static void finish_backward(row_kernel *k) {
    if (own_of(k)->log) cj_ptx(k->f, "neg.f32 $1, $1;", k->part.value[0]);
}

static void give_backward(row_kernel *k, const row_vector *v) {
    const registers *r = k->own;
    cj_func         *f = k->f;
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg dx = v->out[0][e];
        if (own_of(k)->log) {
            cj_ptx(f, "mul.f32 $1, $2, $3;", dx, v->in[0][e], r->exp.log2e);
            cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", dx);
            cj_ptx(f, "fma.rn.f32 $1, $1, $2, $3;", dx, k->part.value[0], v->in[1][e]);
        } else {
            cj_ptx(f, "sub.f32 $1, $2, $3;", dx, v->in[1][e], k->part.value[0]);
            cj_ptx(f, "mul.f32 $1, $1, $2;", dx, v->in[0][e]);
        }
        cj_ptx(f, "mul.f32 $1, $1, $2;", dx, r->exp.scale);
    }
}

// ---- the families

static void describe_backward(row_op *op) {
    cj__row_add_operand(op, ROW_INPUT, "y", NULL, "y[rows, columns]");
    cj__row_add_operand(op, ROW_INPUT, "dy", NULL, "its gradient");
    cj__row_add_operand(op, ROW_OUTPUT, "dx", NULL, "dx[rows, columns]");
    op->fold = ROW_FOLD_SUM;
    op->values = 1;
    op->prepare = prepare_backward;
    op->sweep[0] = add_products;
    op->finish = finish_backward;
    op->write = give_backward;
}

static void describe_forward(row_op *op, softmax *own) {
    cj__row_add_operand(op, ROW_INPUT, "x", NULL, "x[rows, columns]");
    cj__row_add_operand(op, ROW_OUTPUT, "y", NULL, "y[rows, columns]");
    own->exp.mask = op->operands;
    if (own->exp.mask_rows)
        cj__row_add_repeated(op, "mask", own->mask_rows, "mask[mask rows, columns], added to rows by turns");
    else if (own->exp.masked)
        cj__row_add_operand(op, ROW_COLUMN, "mask", NULL, "mask[columns], added to every row");
    op->fold = ROW_FOLD_EXP;
    op->values = 2;
    op->prepare = prepare;
    op->in_pairs = !own->exp.prepared;
    op->before = cj__row_exp_before;
    op->sweep[0] = cj__row_exp_largest;
    op->between = cj__row_exp_between;
    op->sweep[1] = cj__row_exp_powers;
    op->after = cj__row_exp_after;
    op->finish = finish;
    op->write = own->log ? give_log : give;
}

static void describe(const cj_plan *plan, row_op *op, softmax *own) {
    const cj_params *p = &plan->params;
    const double     scale = cj_params_real(p, "scale");
    const bool       log = p->family == &cj__family_logsoftmax, masked = p->value[MASK] != 0;
    const uint64_t   mask_rows = p->value[MASK_ROWS];
    const bool       narrow = p->value[ROW_DTYPE] && cj__row_type(plan, ROW_OUT)[1] != '3';
    *own = (softmax){.exp = {.scale = scale,
                             .stays = !log,
                             .masked = masked,
                             .mask_rows = mask_rows > 1,
                             .prepared = masked || !(scale > 0)},
                     .log = log,
                     .factored = !log && !narrow,
                     .mask_rows = mask_rows};
    *op = (row_op){.own = own};
    if (plan->params.value[PASS])
        describe_backward(op);
    else
        describe_forward(op, own);
}

static cj_status plan_softmax(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    row_op  op;
    softmax own;
    if (plan->params.value[MASK_ROWS] > 1 && (!plan->params.value[MASK] || plan->params.value[PASS]))
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "leave mask-rows at its default, 1",
                          "mask-rows: %" PRIu64 " without a mask: this wants mask=yes pass=forward",
                          plan->params.value[MASK_ROWS]);
    describe(plan, &op, &own);
    return cj__row_plan(plan, &op, limits, clusters, error);
}

static void emit_softmax(const cj_plan *plan, cj_builder *builder) {
    row_op    op;
    softmax   own;
    registers r = {.factor = {0}};
    describe(plan, &op, &own);
    cj__row_emit(plan, &op, &r, builder);
}

const cj_family cj__family_softmax = {
    .name = "softmax",
    .summary = "rows of a matrix: e^x over the row's sum of these; and the gradient",
    .param = params,
    .param_count = sizeof params / sizeof *params,
    .plan = plan_softmax,
    .emit = emit_softmax,
};

const cj_family cj__family_logsoftmax = {
    .name = "logsoftmax",
    .summary = "rows of a matrix: x minus the logarithm of the row's sum of e^x; and the gradient",
    .param = params,
    .param_count = sizeof params / sizeof *params,
    .plan = plan_softmax,
    .emit = emit_softmax,
};
