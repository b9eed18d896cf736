// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <math.h>

// (s, e) = a + b exactly (Knuth's TwoSum); e is NaN where s is not finite.
static double two_sum(double a, double b, double *error) {
    double s = a + b, t = s - a;
    *error = (a - (s - t)) + (b - t);
    return s;
}

static void add_float(reference_value *sum, double x, double weight) {
    double product = x * weight, error;
    sum->value.f = two_sum(sum->value.f, product, &error);
    sum->low += error;
    if (weight != 1) sum->low += fma(x, weight, -product);
    sum->magnitude += fabs(product);
}

static bool better(element_kind kind, reference_op op, element a, element b) {
    if (op == REFERENCE_MAX) {
        element t = a;
        a = b;
        b = t;
    }
    switch (kind) {
    case ELEMENT_FLOAT: return a.f < b.f;
    case ELEMENT_SIGNED: return a.i < b.i;
    case ELEMENT_UNSIGNED: break;
    }
    return a.u < b.u;
}

static void add_sums(cj_dtype type, reference_value *to, const element *x, size_t count, uint64_t weight) {
    if (element_kind_of(type) == ELEMENT_FLOAT)
        for (size_t k = 0; k < count; k++) add_float(to, x[k].f, (double)weight);
    else
        for (size_t k = 0; k < count; k++) to->value.u += x[k].u * weight;
    to->empty = false;
}

static void add_extremes(const reference *r, reference_value *to, const element *x, size_t count) {
    element_kind kind = element_kind_of(r->type);
    for (size_t k = 0; k < count; k++) {
        if (kind == ELEMENT_FLOAT && isnan(x[k].f)) continue;
        if (!to->empty && !better(kind, r->op, x[k], to->value)) continue;
        to->value = x[k];
        to->empty = false;
    }
}

// Elements of one block.
static void add_run(reference *r, const element *x, size_t count, uint64_t block) {
    reference_value *to = &r->results[r->by_block ? block : 0], so_far = *to;  // a copy can live in registers
    uint64_t         weight = r->weighted ? block + 1 : 1;
    if (r->op == REFERENCE_SUM)
        add_sums(r->type, &so_far, x, count, weight);
    else
        add_extremes(r, &so_far, x, count);
    *to = so_far;
}

void reference_add(reference *r, const void *x, size_t count) {
    enum { BATCH = 512 };
    element batch[BATCH];
    size_t  size = cj_dtype_size(r->type);
    for (size_t done = 0; done < count;) {
        uint64_t block = r->position / r->slice, left = (block + 1) * r->slice - r->position;
        size_t   step = count - done < BATCH ? count - done : BATCH;
        if (left < step) step = (size_t)left;
        element_widen(r->type, (const char *)x + done * size, step, batch);
        add_run(r, batch, step, block);
        r->position += step;
        done += step;
    }
}

// What is left of nothing: the value that no other loses against.
static element neutral(cj_dtype type, reference_op op) {
    unsigned bits = (unsigned)(8 * cj_dtype_size(type));
    uint64_t all = UINT64_MAX >> (64 - bits);
    switch (element_kind_of(type)) {
    case ELEMENT_FLOAT: return (element){.f = NAN};
    case ELEMENT_SIGNED: return (element){.i = op == REFERENCE_MIN ? (int64_t)(all >> 1) : -(int64_t)(all >> 1) - 1};
    case ELEMENT_UNSIGNED: break;
    }
    return (element){.u = op == REFERENCE_MIN ? all : 0};
}

void reference_finish(reference *r) {
    bool real = element_kind_of(r->type) == ELEMENT_FLOAT;
    for (size_t i = 0; i < r->count; i++) {
        reference_value *v = &r->results[i];
        if (r->op != REFERENCE_SUM && v->empty) v->value = neutral(r->type, r->op);
        if (!real) v->value = element_stored(r->type, v->value);
        if (real && !isfinite(v->value.f)) v->low = 0;
    }
}

double reference_error(cj_dtype type, const reference_value *expected, element result) {
    element e = expected->value;
    switch (element_kind_of(type)) {
    case ELEMENT_SIGNED: return (double)(result.i > e.i ? result.u - e.u : e.u - result.u);
    case ELEMENT_UNSIGNED: return (double)(result.u > e.u ? result.u - e.u : e.u - result.u);
    case ELEMENT_FLOAT: break;
    }
    if (isfinite(result.f) && isfinite(e.f)) return fabs((result.f - e.f) - expected->low);
    return element_same(type, result, element_stored(type, e)) ? 0 : (double)NAN;
}
