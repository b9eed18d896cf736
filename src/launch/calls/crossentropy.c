// SPDX-License-Identifier: Apache-2.0
// The typed call of cross-entropy: converts a description to the family's parameters, its arrays to the kernel's.
#include <clusterjit/crossentropy.h>

#include "rows.h"

enum { IGNORE = -100 };  // the default

static const row_spec_family family = {.name = "crossentropy",
                                       .real = {"ignore", "smoothing", "scale"},
                                       .choice = {{"gradient", {"no", "yes"}}, {"label", {"i64", "i32"}}}};

// The index of the label's type among the words; 2 if it is not one of them.
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
    cj__row_call_add_each(&call, "label", a->label, d->label == CJ_I32 ? sizeof(int32_t) : sizeof(int64_t));
    cj__row_call_add_each(&call, "loss", a->loss, sizeof(float));
    cj__row_call_add_each(&call, "lse", a->lse, sizeof(float));
    return call;
}

ROW_CALL(cj_crossentropy)
