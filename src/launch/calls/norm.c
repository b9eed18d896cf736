// SPDX-License-Identifier: Apache-2.0
// The typed call of norms: converts a description to a family's parameters, its arrays to the kernel's.
#include <clusterjit/norm.h>

#include "rows.h"

static const double epsilon = 1e-5;  // the default

#define NO_YES \
    { "no", "yes" }
#define SPEC(family)                                                                       \
    {                                                                                      \
        .name = family, .real = {"epsilon"}, .choice = {{"pass", {"forward", "backward"}}, \
                                                        {"weight", NO_YES},                \
                                                        {"bias", NO_YES},                  \
                                                        {"residual", NO_YES},              \
                                                        {"stats", NO_YES},                 \
                                                        {"weight-gradient", NO_YES},       \
                                                        {"bias-gradient", NO_YES}},        \
    }

static const row_spec_family families[] = {[CJ_NORM_RMS] = SPEC("rmsnorm"), [CJ_NORM_LAYER] = SPEC("layernorm")};

static row_spec spec_of(const cj_norm_desc *d) {
    const bool forward = !d->backward;
    return (row_spec){.family = (unsigned)d->kind <= CJ_NORM_LAYER ? &families[d->kind] : NULL,
                      .kind = (unsigned)d->kind,
                      .shape = d->shape,
                      .real = {d->epsilon != 0 ? d->epsilon : epsilon},
                      .choice = {!forward, d->weight != 0, d->bias && forward, d->residual && forward,
                                 d->stats && forward, d->weight_gradient != 0, d->bias_gradient != 0}};
}

static row_call call_of(const cj_norm_desc *d, const cj_norm_arrays *a) {
    const bool forward = !d->backward;
    row_call   call = {.count = 0};
    cj__row_call_add(&call, "x", a->x);
    if (forward && d->residual) cj__row_call_add(&call, "residual", a->residual);
    if (d->backward) cj__row_call_add(&call, "dy", a->dy);
    cj__row_call_add(&call, forward ? "y" : "dx", forward ? a->y : a->dx);
    if (forward && d->residual) cj__row_call_add(&call, "sum", a->sum);
    if (d->weight) cj__row_call_add(&call, "weight", a->weight);
    if (forward && d->bias) cj__row_call_add(&call, "bias", a->bias);
    if (forward && !d->stats) return call;
    if (d->kind == CJ_NORM_LAYER) cj__row_call_add_each(&call, "mean", a->mean, sizeof(float));
    cj__row_call_add_each(&call, "rstd", a->rstd, sizeof(float));
    if (d->backward && d->weight_gradient) cj__row_call_add(&call, "dw", a->dw);
    if (d->backward && d->bias_gradient) cj__row_call_add(&call, "db", a->db);
    return call;
}

ROW_CALL(cj_norm)
