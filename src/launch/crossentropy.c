// SPDX-License-Identifier: Apache-2.0
// Cross-entropy as a typed call: a description becomes the family's parameters, its arrays the kernel's.
#include <clusterjit/crossentropy.h>

#include "error.h"
#include "rows.h"

struct cj_crossentropy {
    cj_kernel           *kernel;
    cj_crossentropy_desc desc;
};

enum { IGNORE = -100 };  // the default

static const row_spec_family family = {.name = "crossentropy",
                                       .real = {"ignore", "smoothing", "scale"},
                                       .choice = {{"gradient", {"no", "yes"}}, {"label", {"i64", "i32"}}}};

// The word of the label's type; 2 where it is none.
static uint8_t label_of(cj_dtype type) { return type == CJ_I32 ? 1 : type == CJ_I64 || !type ? 0 : 2; }

static row_spec spec_of(const cj_crossentropy_desc *d) {
    return (row_spec){.family = &family,
                      .shape = d->shape,
                      .real = {d->has_ignore ? d->ignore : IGNORE, d->smoothing, d->scale != 0 ? d->scale : 1},
                      .choice = {d->gradient != 0, label_of(d->label)}};
}

static row_call call_of(const cj_crossentropy_desc *d, const cj_crossentropy_arrays *a) {
    row_call call = {.count = 0};
    cj__row_call_add(&call, "x", a->x);
    if (d->gradient) cj__row_call_add(&call, "dx", a->dx);
    cj__row_call_add_each(&call, "label", a->label);
    cj__row_call_add_each(&call, "loss", a->loss);
    cj__row_call_add_each(&call, "lse", a->lse);
    return call;
}

cj_status cj_crossentropy_create(cj_device *device, const cj_crossentropy_desc *desc, cj_crossentropy **crossentropy,
                                 cj_error *error) {
    const row_spec spec = spec_of(desc);
    void          *made;
    cj_status      status = cj__row_create(device, &spec, sizeof **crossentropy, &made, error);
    *crossentropy = made;
    if (made) (*crossentropy)->desc = *desc;
    return status;
}

void cj_crossentropy_destroy(cj_crossentropy *crossentropy) { cj__call_destroy(crossentropy); }

cj_status cj_crossentropy_run(cj_crossentropy *crossentropy, const cj_crossentropy_arrays *arrays, cj_stream stream,
                              cj_error *error) {
    row_call call = call_of(&crossentropy->desc, arrays);
    return cj__row_call_run(crossentropy->kernel, &call, stream, error);
}

cj_status cj_crossentropy_launch(cj_device *device, const cj_crossentropy_desc *desc,
                                 const cj_crossentropy_arrays *arrays, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    REQUIRE(arrays);
    row_spec spec = spec_of(desc);
    row_call call = call_of(desc, arrays);
    return cj__row_call_launch(device, &spec, &call, stream, error);
}

const cj_kernel *cj_crossentropy_kernel(const cj_crossentropy *crossentropy) { return crossentropy->kernel; }
