// SPDX-License-Identifier: Apache-2.0
// Norms as a typed call: a description becomes a family's parameters, its arrays the kernel's.
#include <clusterjit/norm.h>

#include "error.h"
#include "rows.h"

struct cj_norm {
    cj_kernel   *kernel;
    cj_norm_desc desc;
};

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
    return (row_spec){.family = &families[d->kind == CJ_NORM_LAYER],
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
    if (d->kind == CJ_NORM_LAYER) cj__row_call_add_each(&call, "mean", a->mean);
    cj__row_call_add_each(&call, "rstd", a->rstd);
    if (d->backward && d->weight_gradient) cj__row_call_add(&call, "dw", a->dw);
    if (d->backward && d->bias_gradient) cj__row_call_add(&call, "db", a->db);
    return call;
}

cj_status cj_norm_create(cj_device *device, const cj_norm_desc *desc, cj_norm **norm, cj_error *error) {
    const row_spec spec = spec_of(desc);
    void          *made;
    cj_status      status = cj__row_create(device, &spec, sizeof **norm, &made, error);
    *norm = made;
    if (made) (*norm)->desc = *desc;
    return status;
}

void cj_norm_destroy(cj_norm *norm) { cj__call_destroy(norm); }

cj_status cj_norm_run(cj_norm *norm, const cj_norm_arrays *arrays, cj_stream stream, cj_error *error) {
    row_call call = call_of(&norm->desc, arrays);
    return cj__row_call_run(norm->kernel, &call, stream, error);
}

cj_status cj_norm_launch(cj_device *device, const cj_norm_desc *desc, const cj_norm_arrays *arrays, cj_stream stream,
                         cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    REQUIRE(arrays);
    row_spec spec = spec_of(desc);
    row_call call = call_of(desc, arrays);
    return cj__row_call_launch(device, &spec, &call, stream, error);
}

const cj_kernel *cj_norm_kernel(const cj_norm *norm) { return norm->kernel; }
