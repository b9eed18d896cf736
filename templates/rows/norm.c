// SPDX-License-Identifier: Apache-2.0
// rmsnorm and layernorm along rows, and their gradients for x, weights and bias: what is done with elements. row.c
// tells how rows are worked on, sums.c how sums over rows are made.
//
// Forward, of h = x + residual (which may be written out, rounded, as `sum`; the norm is of what it was before):
//   rmsnorm    rstd = 1 / sqrt(mean(h^2) + epsilon)                          y = h * rstd * weight + bias
//   layernorm  rstd = 1 / sqrt(mean((h - mean(h))^2) + epsilon)              y = (h - mean(h)) * rstd * weight + bias
// The mean and the squares of the distance from it come together as Chan, Golub and LeVeque combine them: each
// thread's are of its own mean, so that nothing is lost to cancellation.
// Backward, of h, dy and the forward pass' mean and rstd; with g = dy * weight and n = (h - mean) * rstd:
//   rmsnorm    dx = rstd * (g - n * mean(g * n))
//   layernorm  dx = rstd * (g - mean(g) - n * mean(g * n))
//   both       dw = sum over rows of dy * n, db = sum over rows of dy
#include "row.h"

enum { EPSILON = ROW_OWN, WEIGHT, BIAS, RESIDUAL, STATS, PASS, WEIGHT_GRADIENT, BIAS_GRADIENT };

static const cj_param_info params[] = {
#define PARAM(id, ...) [ROW_##id] = {__VA_ARGS__},
#include "params.def"
    [EPSILON] = {CJ_REAL("epsilon", "1e-05", "is added to the mean of squares")},
    [WEIGHT] = {CJ_CHOICE("weight", "no yes", "yes", "yes: a factor for each column")},
    [BIAS] = {CJ_SWITCH("bias", "yes: what is added in each column"), .only = "pass=forward"},
    [RESIDUAL] = {CJ_SWITCH("residual", "yes: a second matrix is added to x first, and the sum is written out too"),
                  .only = "pass=forward"},
    [STATS] = {CJ_SWITCH("stats", "yes: mean (layernorm) and rstd of each row are written, for the backward pass"),
               .only = "pass=forward"},
    [PASS] = {CJ_CHOICE("pass", "forward backward", "forward", "backward: dx from x, dy, mean and rstd")},
    [WEIGHT_GRADIENT] = {CJ_SWITCH("weight-gradient",
                                   "yes: of each column the sum of dy times the normed x is written"),
                         .only = "pass=backward"},
    [BIAS_GRADIENT] = {CJ_SWITCH("bias-gradient", "yes: of each column the sum of dy is written"),
                       .only = "pass=backward"},
};

typedef struct norm {
    bool     centered, weighted, biased, residual, stats, weight_gradient, bias_gradient;
    double   epsilon;
    unsigned weight, bias, mean_of, rstd_of;  // operands
    cj_reg   mean, rstd;                      // of a row
} norm;

_Static_assert(sizeof(norm) <= ROW_OWN_BYTES, "each of the rows that are unrolled has one");

static norm *own_of(const row_kernel *k) { return (norm *)k->op->own; }

static double per_column(const row_kernel *k) { return 1 / (double)k->s->columns; }

// ---- forward

// h of element e: x, or its sum with the residual, in place if that is possible.
static cj_reg sum_of(row_kernel *k, const row_vector *v, unsigned e, bool made) {
    if (!own_of(k)->residual || (made && cj__row_in_place(k))) return v->in[0][e];
    cj_reg h = cj__row_in_place(k) ? v->in[0][e] : cj_f32(k->f, "h");
    cj_ptx(k->f, "add.f32 $1, $2, $3;", h, v->in[0][e], v->in[1][e]);
    return h;
}

static void add_squares(row_kernel *k, const row_vector *v) {
    for (unsigned e = 0; e < k->s->elements; e++)
        cj_ptx(k->f, "fma.rn.f32 $1, $2, $2, $1;", k->part.value[0], sum_of(k, v, e, false));
}

static void add_elements(row_kernel *k, const row_vector *v) {
    for (unsigned e = 0; e < k->s->elements; e++) cj_update(k->f, k->part.value[1], "add", sum_of(k, v, e, false));
}

static void divide_by_count(row_kernel *k) {
    cj_reg count = cj__row_count(k);
    cj_set(k->f, k->part.value[0], count);
    cj_reg divisor = cj_let(k->f, "f32", "divisor", "max.f32 $1, $2, 0f3F800000; // of none it is 0", count);
    cj_ptx(k->f, "div.full.f32 $1, $1, $2;", k->part.value[1], divisor);
}

static void add_distances(row_kernel *k, const row_vector *v) {
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg distance = cj_sub(k->f, "distance", sum_of(k, v, e, true), k->part.value[1]);
        cj_ptx(k->f, "fma.rn.f32 $1, $2, $2, $1;", k->part.value[2], distance);
    }
}

static void finish(row_kernel *k) {
    norm *r = own_of(k);
    cj_step(k->f, "the row's %srstd", r->centered ? "mean and " : "");
    r->mean = k->part.value[1];
    r->rstd = cj_let(k->f, "f32", "rstd", "fma.rn.f32 $1, $2, $3, $4;", k->part.value[r->centered ? 2 : 0],
                     (float)per_column(k), cj__row_f32(k, "epsilon", r->epsilon));
    cj__inverse_root(k->f, r->rstd, r->epsilon);
    if (!r->stats) return;
    if (r->centered) cj__row_store_each(k, r->mean_of, r->mean);
    cj__row_store_each(k, r->rstd_of, r->rstd);
}

static void write_normed(row_kernel *k, const row_vector *v) {
    const norm *r = own_of(k);
    cj_reg      weight[ROW_ELEMENTS], bias[ROW_ELEMENTS];
    if (r->weighted) cj__row_load_column(k, r->weight, v->number, weight);
    if (r->biased) cj__row_load_column(k, r->bias, v->number, bias);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg y = v->out[0][e], h = sum_of(k, v, e, true);
        if (r->residual) cj_ptx(k->f, "mov.f32 $1, $2;", v->out[1][e], h);
        if (r->centered) cj_ptx(k->f, "sub.f32 $1, $2, $3;", y, h, r->mean);
        cj_ptx(k->f, "mul.f32 $1, $2, $3;", y, r->centered ? y : h, r->rstd);
        if (r->weighted && r->biased)
            cj_ptx(k->f, "fma.rn.f32 $1, $1, $2, $3;", y, weight[e], bias[e]);
        else if (r->weighted)
            cj_update(k->f, y, "mul", weight[e]);
        else if (r->biased)
            cj_update(k->f, y, "add", bias[e]);
    }
}

// ---- backward: inputs x and dy

static void prepare_backward(row_kernel *k) {
    norm *r = own_of(k);
    if (r->centered) r->mean = cj__row_load_each(k, r->mean_of);
    r->rstd = cj__row_load_each(k, r->rstd_of);
}

// g and n of a vector.
static void gradients(row_kernel *k, const row_vector *v, cj_reg g[ROW_ELEMENTS], cj_reg n[ROW_ELEMENTS]) {
    const norm *r = own_of(k);
    cj_reg      weight[ROW_ELEMENTS];
    if (r->weighted) cj__row_load_column(k, r->weight, v->number, weight);
    for (unsigned e = 0; e < k->s->elements; e++) {
        g[e] = r->weighted ? cj_mul(k->f, "g", v->in[1][e], weight[e]) : v->in[1][e];
        n[e] = r->centered ? cj_sub(k->f, "n", v->in[0][e], r->mean) : v->in[0][e];
        n[e] = cj_mul(k->f, "n", n[e], r->rstd);
    }
}

static void add_gradients(row_kernel *k, const row_vector *v) {
    cj_reg g[ROW_ELEMENTS], n[ROW_ELEMENTS];
    gradients(k, v, g, n);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $1;", k->part.value[0], g[e], n[e]);
        if (own_of(k)->centered) cj_update(k->f, k->part.value[1], "add", g[e]);
    }
}

static void finish_backward(row_kernel *k) {
    for (unsigned i = 0; i < k->op->values; i++) cj_update(k->f, k->part.value[i], "mul", (float)-per_column(k));
}

static void add_totals(row_kernel *k, const row_vector *v, const cj_reg n[ROW_ELEMENTS]) {
    const norm *own = own_of(k);
    if (!own->weight_gradient && !own->bias_gradient) return;
    const cj_reg *dw = k->total[0][v->number], *db = k->total[own->weight_gradient][v->number];
    for (unsigned e = 0; e < k->s->elements; e++) {
        if (own->weight_gradient) cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $1;", dw[e], v->in[1][e], n[e]);
        if (own->bias_gradient) cj_update(k->f, db[e], "add", v->in[1][e]);
    }
}

static void write_backward(row_kernel *k, const row_vector *v) {
    const norm *r = own_of(k);
    cj_reg      g[ROW_ELEMENTS], n[ROW_ELEMENTS];
    gradients(k, v, g, n);
    add_totals(k, v, n);
    for (unsigned e = 0; e < k->s->elements; e++) {
        cj_reg dx = v->out[0][e];
        cj_ptx(k->f, "fma.rn.f32 $1, $2, $3, $4;", dx, n[e], k->part.value[0], g[e]);
        if (r->centered) cj_update(k->f, dx, "add", k->part.value[1]);
        cj_update(k->f, dx, "mul", r->rstd);
    }
}

// ---- the families

static void add_stats(row_op *op, norm *own) {
    if (own->centered) own->mean_of = cj__row_add(op, ROW_EACH, "mean", "f32", "mean[rows]");
    own->rstd_of = cj__row_add(op, ROW_EACH, "rstd", "f32", "rstd[rows], 1 / the deviation");
}

static void describe_backward(row_op *op, norm *own) {
    cj__row_add(op, ROW_INPUT, "x", NULL, "x[rows, columns], with the residual");
    cj__row_add(op, ROW_INPUT, "dy", NULL, "the gradient of y");
    cj__row_add(op, ROW_OUTPUT, "dx", NULL, "dx[rows, columns]");
    if (own->weighted) own->weight = cj__row_add(op, ROW_COLUMN, "weight", NULL, "weight[columns]");
    add_stats(op, own);
    if (own->weight_gradient) cj__row_add(op, ROW_TOTAL, "dw", NULL, "dw[columns], of the type of dx");
    if (own->bias_gradient) cj__row_add(op, ROW_TOTAL, "db", NULL, "db[columns], alike");
    op->fold = ROW_FOLD_SUM;
    op->values = own->centered ? 2 : 1;
    op->prepare = prepare_backward;
    op->sweep[0] = add_gradients;
    op->finish = finish_backward;
    op->write = write_backward;
}

static void describe_forward(row_op *op, norm *own) {
    cj__row_add(op, ROW_INPUT, "x", NULL, "x[rows, columns]");
    if (own->residual) cj__row_add(op, ROW_INPUT, "residual", NULL, "residual[rows, columns], added to x");
    cj__row_add(op, ROW_OUTPUT, "y", NULL, "y[rows, columns]");
    if (own->residual) cj__row_add(op, ROW_OUTPUT, "sum", NULL, "sum[rows, columns] = x + residual");
    if (own->weighted) own->weight = cj__row_add(op, ROW_COLUMN, "weight", NULL, "weight[columns]");
    if (own->biased) own->bias = cj__row_add(op, ROW_COLUMN, "bias", NULL, "bias[columns]");
    if (own->stats) add_stats(op, own);
    op->by_first = own->stats;
    op->fold = own->centered ? ROW_FOLD_MOMENTS : ROW_FOLD_SUM;
    op->values = own->centered ? 3 : 1;
    op->sweep[0] = own->centered ? add_elements : add_squares;
    op->between = divide_by_count;
    op->sweep[1] = own->centered ? add_distances : NULL;
    op->finish = finish;
    op->write = write_normed;
    op->columns_written = true;
}

static cj_status describe(const cj_plan *plan, row_op *op, cj_error *error) {
    const uint64_t *value = plan->params.value;
    norm           *own = (norm *)op->own;
    *own = (norm){.centered = plan->params.family == &cj__family_layernorm,
                  .weighted = value[WEIGHT] != 0,
                  .biased = value[BIAS] != 0,
                  .residual = value[RESIDUAL] != 0,
                  .stats = value[STATS] != 0,
                  .weight_gradient = value[WEIGHT_GRADIENT] != 0,
                  .bias_gradient = value[BIAS_GRADIENT] != 0,
                  .epsilon = cj_params_real(&plan->params, "epsilon")};
    TRY(cj__check_f32("epsilon", own->epsilon, error));
    REFUSE_IF(own->epsilon < 0,
              "epsilon: %g is below 0, and 1 / sqrt(mean + epsilon) would be NaN for small rows" CJ_HINT
              "1e-05 is usual",
              own->epsilon);
    (value[PASS] ? describe_backward : describe_forward)(op, own);
    return CJ_OK;
}

static const row_family rows = {describe};

const cj_family cj__family_rmsnorm = {ROW_FAMILY(
    "rmsnorm", "rows of a matrix over their root mean square, with weights, a residual, and the gradients")};
const cj_family cj__family_layernorm = {ROW_FAMILY(
    "layernorm", "rows of a matrix without their mean over their deviation, with weights, a residual, and the gradients")};
