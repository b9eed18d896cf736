// SPDX-License-Identifier: Apache-2.0
// The typed call of softmax: converts a description to a family's parameters, its arrays to the kernel's.
#include <clusterjit/softmax.h>

#include "rows.h"

#define SPEC(family)                                                            \
    {                                                                           \
        .name = family, .real = {"scale"}, .number = "mask-rows",               \
        .choice = {{"pass", {"forward", "backward"}}, {"mask", {"no", "yes"}}}, \
    }

static const row_spec_family families[] = {SPEC("softmax"), SPEC("logsoftmax")};

static row_spec spec_of(const cj_softmax_desc *d) {
    return (row_spec){.family = &families[d->log != 0],
                      .shape = d->shape,
                      .real = {d->scale != 0 ? d->scale : 1},
                      .choice = {d->backward != 0, d->mask && !d->backward},
                      .number = d->backward ? 0 : d->mask_rows};
}

static row_call call_of(const cj_softmax_desc *d, const cj_softmax_arrays *a) {
    row_call call = {.count = 0};
    if (!d->backward) cj__row_call_add(&call, "x", a->x);
    cj__row_call_add(&call, "y", a->y);
    if (d->backward) {
        cj__row_call_add(&call, "dy", a->dy);
        cj__row_call_add(&call, "dx", a->dx);
    } else if (d->mask) {
        cj__row_call_add(&call, "mask", a->mask);
    }
    return call;
}

ROW_CALL(cj_softmax)
