// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <float.h>
#include <math.h>

// ---- adding

// (s, e) = a + b exactly (Knuth's TwoSum); e is NaN if s is not finite.
static double two_sum(double a, double b, double *error) {
    double s = a + b, t = s - a;
    *error = (a - (s - t)) + (b - t);
    return s;
}

// The product of x and y is added as if it were exact.
static void add_product(precise_sum *sum, double x, double y) {
    double product = x * y, error;
    sum->high = two_sum(sum->high, product, &error);
    sum->low += error;
    if (y != 1) sum->low += fma(x, y, -product);
    sum->magnitude += fabs(product);
}

static double real_of(cj_dtype type, element x) {
    switch (element_kind_of(type)) {
    case ELEMENT_SIGNED: return (double)x.i;
    case ELEMENT_UNSIGNED: return (double)x.u;
    case ELEMENT_FLOAT: break;
    }
    return x.f;
}

static bool is_minimum(cj_reduce_op op) { return op == CJ_REDUCE_MIN || op == CJ_REDUCE_ARGMIN; }

static bool better(element_kind kind, cj_reduce_op op, element a, element b) {
    if (!is_minimum(op)) {
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

static void add_sums(const reference *r, reference_value *to, const element *x, size_t count, uint64_t weight) {
    if (element_kind_of(r->type) == ELEMENT_FLOAT)
        for (size_t k = 0; k < count; k++) add_product(&to->sum, x[k].f, (double)weight);
    else
        for (size_t k = 0; k < count; k++) to->best.u += x[k].u * weight;
}

static void add_factor(reference_value *to, double x) {
    const double exponent = x != 0 && isfinite(x) ? log2(fabs(x)) : 0;
    to->product *= (long double)x;
    to->up += fmax(exponent, 0);
    to->down += fmin(exponent, 0);
}

// Whether every product of some of the factors stays in the range of the type in which rounding is relative.
static bool stays_in_range(const reference *r, const reference_value *v) {
    const bool narrow = r->type == CJ_F32;
    return v->up < (narrow ? FLT_MAX_EXP : DBL_MAX_EXP) - 1 && v->down > (narrow ? FLT_MIN_EXP : DBL_MIN_EXP);
}

static void add_factors(const reference *r, reference_value *to, const element *x, size_t count) {
    if (element_kind_of(r->type) == ELEMENT_FLOAT)
        for (size_t k = 0; k < count; k++) add_factor(to, x[k].f);
    else
        for (size_t k = 0; k < count; k++) to->best.u *= x[k].u;
}

static void add_moments(const reference *r, reference_value *to, const element *x, size_t count) {
    for (size_t k = 0; k < count; k++) {
        double value = real_of(r->type, x[k]);
        add_product(&to->sum, value, 1);
        if (r->op == CJ_REDUCE_MEANVAR) add_product(&to->squares, value, value);
    }
}

static void add_extremes(const reference *r, reference_value *to, const element *x, size_t count) {
    element_kind kind = element_kind_of(r->type);
    for (size_t k = 0; k < count; k++) {
        if (kind == ELEMENT_FLOAT && isnan(x[k].f)) continue;
        if (!to->empty && !better(kind, r->op, x[k], to->best)) continue;
        to->best = x[k];
        to->index = r->position + k;
        to->empty = false;
    }
}

// Adds elements of one block to one result.
static void add_to(const reference *r, reference_value *to, const element *x, size_t count, uint64_t block) {
    reference_value so_far = *to;  // a copy can live in registers
    switch (r->op) {
    case CJ_REDUCE_SUM: add_sums(r, &so_far, x, count, r->weighted ? block + 1 : 1); break;
    case CJ_REDUCE_PRODUCT: add_factors(r, &so_far, x, count); break;
    case CJ_REDUCE_MEAN:
    case CJ_REDUCE_MEANVAR: add_moments(r, &so_far, x, count); break;
    default: add_extremes(r, &so_far, x, count);
    }
    so_far.count += count;
    *to = so_far;
}

uint64_t reference_block_at(const reference *r, uint64_t position, uint64_t *end) {
    const uint64_t each = r->n / r->blocks, longer = r->n % r->blocks;  // the first slices have one element more
    const uint64_t block = position < longer * (each + 1) ? position / (each + 1) : (position - longer) / each;
    *end = (block + 1) * each + (block < longer ? block + 1 : longer);
    return block;
}

void reference_begin(reference *r) {
    r->position = 0;
    for (size_t i = 0; i < r->count; i++)
        r->results[i] = (reference_value){.empty = true, .product = 1, .best.u = r->op == CJ_REDUCE_PRODUCT};
}

void reference_add(reference *r, const void *x, size_t count) {
    enum { BATCH = 512 };
    element batch[BATCH];
    size_t  size = cj_dtype_size(r->type);
    for (size_t done = 0; done < count;) {
        uint64_t end, block = reference_block_at(r, r->position, &end), left = end - r->position;
        size_t   step = count - done < BATCH ? count - done : BATCH;
        if (left < step) step = (size_t)left;
        element_widen(r->type, (const char *)x + done * size, step, batch);
        if (r->total) add_to(r, &r->results[0], batch, step, block);
        if (r->by_block) add_to(r, &r->results[r->total + block], batch, step, block);
        r->position += step;
        done += step;
    }
}

// ---- results

reference_layout reference_layout_of(const reference *r) {
    cj_dtype mean = r->type == CJ_F32 ? CJ_F32 : CJ_F64;
    switch (r->op) {
    case CJ_REDUCE_ARGMIN:
    case CJ_REDUCE_ARGMAX: return (reference_layout){2, {r->type, CJ_U64}, 8};
    case CJ_REDUCE_MEAN: return (reference_layout){1, {mean, mean}, 0};
    case CJ_REDUCE_MEANVAR: return (reference_layout){2, {mean, mean}, cj_dtype_size(mean)};
    default: return (reference_layout){1, {r->type, r->type}, 0};
    }
}

// The value of an empty input: every other value replaces it.
static element neutral(cj_dtype type, cj_reduce_op op) {
    unsigned bits = (unsigned)(8 * cj_dtype_size(type));
    uint64_t all = UINT64_MAX >> (64 - bits);
    switch (element_kind_of(type)) {
    case ELEMENT_FLOAT: return (element){.f = NAN};
    case ELEMENT_SIGNED: return (element){.i = is_minimum(op) ? (int64_t)(all >> 1) : -(int64_t)(all >> 1) - 1};
    case ELEMENT_UNSIGNED: break;
    }
    return (element){.u = is_minimum(op) ? all : 0};
}

static void set_real(reference_value *v, unsigned piece, long double value, double scale) {
    v->value[piece].f = (double)value;
    v->low[piece] = isfinite((double)value) ? (double)(value - (long double)(double)value) : 0;
    v->scale[piece] = scale;
}

static void finish_sum(reference_value *v) {
    v->value[0].f = v->sum.high;
    v->low[0] = isfinite(v->sum.high) ? v->sum.low : 0;
    v->scale[0] = v->sum.magnitude;
}

// The variance's scale is that of clusterjit/reduce.h: r * (s + bound * r). With a variance an infinite mean is NaN, as it says.
static void finish_moments(reference_value *v, bool both, double bound) {
    long double n = (long double)v->count, mean = ((long double)v->sum.high + (long double)v->sum.low) / n;
    long double square = ((long double)v->squares.high + (long double)v->squares.low) / n;
    long double variance = square - mean * mean;
    if (!isfinite(v->sum.high)) mean = (long double)(both ? NAN : v->sum.high), variance = (long double)NAN;
    if (variance < 0) variance = 0;  // by rounding of this reference
    set_real(v, 0, mean, v->sum.magnitude / (double)n);
    long double r = sqrtl(square);
    if (both) set_real(v, 1, variance, (double)(r * (sqrtl(variance) + (long double)bound * r)));
}

static void finish_one(const reference *r, reference_value *v, double bound) {
    const bool real = element_kind_of(r->type) == ELEMENT_FLOAT, sums = r->op == CJ_REDUCE_SUM;
    if (r->op == CJ_REDUCE_MEAN || r->op == CJ_REDUCE_MEANVAR) {
        finish_moments(v, r->op == CJ_REDUCE_MEANVAR, bound);
    } else if (real && sums) {
        finish_sum(v);
    } else if (real && r->op == CJ_REDUCE_PRODUCT) {
        set_real(v, 0, v->product, stays_in_range(r, v) ? fabs((double)v->product) : (double)NAN);
    } else {
        bool extreme = !sums && r->op != CJ_REDUCE_PRODUCT;
        v->value[0] = extreme && v->empty ? neutral(r->type, r->op) : real ? v->best : element_stored(r->type, v->best);
        v->value[1].u = v->index;
    }
}

void reference_finish(reference *r, double bound) {
    for (size_t i = 0; i < r->count; i++) finish_one(r, &r->results[i], bound);
}

double reference_error(const reference *r, const reference_value *expected, unsigned piece, element found) {
    const cj_dtype type = reference_layout_of(r).type[piece];
    element        e = expected->value[piece];
    switch (element_kind_of(type)) {
    case ELEMENT_SIGNED: return (double)(found.i > e.i ? found.u - e.u : e.u - found.u);
    case ELEMENT_UNSIGNED: return (double)(found.u > e.u ? found.u - e.u : e.u - found.u);
    case ELEMENT_FLOAT: break;
    }
    if (isfinite(found.f) && isfinite(e.f)) return fabs((found.f - e.f) - expected->low[piece]);
    return element_same(type, found, element_stored(type, e)) ? 0 : (double)NAN;
}
