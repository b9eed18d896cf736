// SPDX-License-Identifier: Apache-2.0
// Softmax as a typed call: a description becomes a family's parameters, its arrays the kernel's.
#include <clusterjit/softmax.h>

#include "error.h"
#include "rows.h"

struct cj_softmax {
    cj_kernel      *kernel;
    cj_softmax_desc desc;
};

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

cj_status cj_softmax_create(cj_device *device, const cj_softmax_desc *desc, cj_softmax **softmax, cj_error *error) {
    const row_spec spec = spec_of(desc);
    void          *made;
    cj_status      status = cj__row_create(device, &spec, sizeof **softmax, &made, error);
    *softmax = made;
    if (made) (*softmax)->desc = *desc;
    return status;
}

void cj_softmax_destroy(cj_softmax *softmax) { cj__call_destroy(softmax); }

cj_status cj_softmax_run(cj_softmax *softmax, const cj_softmax_arrays *arrays, cj_stream stream, cj_error *error) {
    row_call call = call_of(&softmax->desc, arrays);
    return cj__row_call_run(softmax->kernel, &call, stream, error);
}

cj_status cj_softmax_launch(cj_device *device, const cj_softmax_desc *desc, const cj_softmax_arrays *arrays,
                            cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    REQUIRE(arrays);
    row_spec spec = spec_of(desc);
    row_call call = call_of(desc, arrays);
    return cj__row_call_launch(device, &spec, &call, stream, error);
}

const cj_kernel *cj_softmax_kernel(const cj_softmax *softmax) { return softmax->kernel; }
