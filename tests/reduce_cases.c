// SPDX-License-Identifier: Apache-2.0
#include "reduce_cases.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { PRODUCT_MOST = 1 << 23 };  // elements of a product of f32 whose bound says something
enum { OPS = CJ_REDUCE_MEANVAR + 1, CHUNK = 1 << 20, SHIFT = 1, OUT_BYTES = 16 };  // SHIFT: elements that x is moved by

// Products want numbers near 1, or they are soon 0.
typedef enum fill { SPREAD, NEAR_ONE, FILLS } fill;

static fill fill_of(cj_reduce_op op) { return op == CJ_REDUCE_PRODUCT ? NEAR_ONE : SPREAD; }

// What the results over the first n elements must be.
typedef struct expected {
    uint64_t    n;
    long double sum, magnitude, squares, product;  // of the values; squares: of x * x
    uint64_t    wrapped, wrapped_product;          // of integers, modulo 2^64
    double      least, most;                       // of floats
    uint64_t    least_bits, most_bits;             // of integers, as widened
    uint64_t    least_at, most_at;
} expected;

static bool is_signed(cj_dtype type) { return cj_dtype_name(type)[0] == 'i'; }
static bool is_float(cj_dtype type) { return strchr(cj_dtype_name(type), 'f') != NULL; }

// ---- elements

// Floats in (-2, 2) that need every bit of their significand, or a few steps from 1; integers that need every bit.
static void make(cj_dtype type, fill how, uint64_t i, void *to) {
    uint64_t state = i, bits = cj_test_random(&state);
    float    f = (float)((double)(bits >> 40) * 0x1p-23 - 1);
    double   d = (double)(bits >> 11) * 0x1p-52 - 1;
    uint16_t half = (uint16_t)((bits & 0x83ff) | (5 + (bits >> 20) % 10) << 10), upper;
    if (how == NEAR_ONE) {
        f = 1 + f * 0x1p-10f;
        d = 1 + d * 0x1p-20;
        half = bits & 1 ? 0x3bfe : 0x3c01;
    }
    uint32_t single;
    memcpy(&single, &f, 4);
    upper = (uint16_t)(single >> 16);
    if (how == NEAR_ONE) upper = bits % 3 ? 0x3f7f : 0x3f81;
    switch (type) {
    case CJ_F32: memcpy(to, &f, 4); break;
    case CJ_F64: memcpy(to, &d, 8); break;
    case CJ_F16: memcpy(to, &half, 2); break;
    case CJ_BF16: memcpy(to, &upper, 2); break;
    default: memcpy(to, &bits, cj_dtype_size(type));
    }
}

static double as_double(cj_dtype type, const void *from) {
    uint16_t half;
    uint32_t upper;
    float    f;
    double   d;
    switch (type) {
    case CJ_F32: return memcpy(&f, from, 4), (double)f;
    case CJ_F64: return memcpy(&d, from, 8), d;
    case CJ_BF16: memcpy(&half, from, 2); return upper = (uint32_t)half << 16, memcpy(&f, &upper, 4), (double)f;
    default: memcpy(&half, from, 2);  // f16, never subnormal here
    }
    return ldexp((half & 0x8000 ? -1.0 : 1.0) * (1024 + (half & 0x3ff)), (half >> 10 & 31) - 25);
}

// Stored bits as an integer of 64 bits, sign extended where the type has a sign.
static uint64_t widen(cj_dtype type, const void *from) {
    uint64_t       wide = 0;
    const unsigned unused = 64 - 8 * (unsigned)cj_dtype_size(type);
    memcpy(&wide, from, cj_dtype_size(type));
    return is_signed(type) ? (uint64_t)((int64_t)(wide << unused) >> unused) : wide;
}

static bool less(cj_dtype type, uint64_t a, uint64_t b) { return is_signed(type) ? (int64_t)a < (int64_t)b : a < b; }

// ---- what is expected

static void include_integer(expected *e, cj_dtype type, uint64_t value) {
    const bool first = e->n == 0;
    e->wrapped += value;
    e->wrapped_product = first ? value : e->wrapped_product * value;
    if (first || less(type, value, e->least_bits)) e->least_bits = value, e->least_at = e->n;
    if (first || less(type, e->most_bits, value)) e->most_bits = value, e->most_at = e->n;
}

static void include_float(expected *e, fill how, double value) {
    const bool first = e->n == 0;
    if (how == NEAR_ONE) e->product = first ? value : e->product * value;
    if (first || value < e->least) e->least = value, e->least_at = e->n;
    if (first || value > e->most) e->most = value, e->most_at = e->n;
}

static void include(expected *e, cj_dtype type, fill how, const void *element) {
    const uint64_t    bits = is_float(type) ? 0 : widen(type, element);
    const long double value = is_float(type)    ? (long double)as_double(type, element)
                              : is_signed(type) ? (long double)(int64_t)bits
                                                : (long double)bits;
    if (is_float(type)) include_float(e, how, (double)value);
    else include_integer(e, type, bits);
    e->sum += value;
    e->magnitude += fabsl(value);
    e->squares += value * value;
    e->n++;
}

// Takes what a whole chunk has, which is not the first: its extremes came before.
static void include_chunk(expected *e, const expected *chunk) {
    e->n += chunk->n;
    e->sum += chunk->sum;
    e->magnitude += chunk->magnitude;
    e->squares += chunk->squares;
    e->product *= chunk->product;
    e->wrapped += chunk->wrapped;
    e->wrapped_product *= chunk->wrapped_product;
}

// Writes as many elements as the largest of the first `sizes` sizes has to both devices, and notes what each size's
// results must be. All chunks are alike.
static void upload(cj_device *device, cj_ptr x, cj_dtype type, fill how, const cj_reduce_cases *cases, size_t sizes,
                   cj_ptr twin_x, expected *results) {
    size_t         bytes = cj_dtype_size(type);
    unsigned char *chunk = malloc(CHUNK * bytes);
    uint64_t       most = cases->n[sizes - 1], i = 0;
    expected       running = {0}, first = {0};
    cj_error       error = {0};
    size_t         next = 0;
    assert_non_null(chunk);
    for (uint64_t k = 0; k < CHUNK && k < most; k++) make(type, how, k, chunk + k * bytes);
    while (i < most) {
        uint64_t start = i;
        if (start && cases->n[next] >= start + CHUNK) {
            include_chunk(&running, &first);
            i += CHUNK;
            if (i == cases->n[next]) results[next++] = running;
        }
        for (; i < most && i < start + CHUNK; i++) {
            include(&running, type, how, chunk + (i - start) * bytes);
            if (i + 1 == cases->n[next]) results[next++] = running;
        }
        if (!start) first = running;
        cj_test_ok(cj_mem_write(device, x + start * bytes, chunk, (i - start) * bytes, NULL, &error), &error);
        if (twin_x && start < cases->twin_n) {
            uint64_t count = i < cases->twin_n ? i - start : cases->twin_n - start;
            cj_test_ok(cj_mem_write(cases->twin, twin_x + start * bytes, chunk, count * bytes, NULL, &error), &error);
        }
    }
    free(chunk);
}

// ---- checks

static void near(double got, long double want, long double bound, const char *what, const char *where) {
    if (!(fabsl((long double)got - want) <= bound))
        fail_msg("%s: the %s %.17g is %.3Lg away from %.17Lg, the bound is %.3Lg", where, what, got,
                 fabsl((long double)got - want), want, bound);
}

// The result in the type that means have, and where the next one lies.
static cj_dtype mean_type(cj_dtype type) { return cj_dtype_arithmetic(type) == CJ_F32 ? CJ_F32 : CJ_F64; }

static void check_moments(cj_dtype type, bool both, const expected *e, double b, const unsigned char *out,
                          const char *where) {
    const cj_dtype    held = mean_type(type);
    const long double n = (long double)e->n, mean = e->sum / n, variance = e->squares / n - mean * mean;
    const long double r = sqrtl(e->squares / n), s = sqrtl(fmaxl(variance, 0));
    near(as_double(held, out), mean, b * e->magnitude / n, "mean", where);
    if (both) near(as_double(held, out + cj_dtype_size(held)), variance, b * r * (s + b * r), "variance", where);
}

static void check_float(cj_dtype type, cj_reduce_op op, const expected *e, double b, const unsigned char *out,
                        const char *where) {
    const double got = as_double(cj_dtype_arithmetic(type), out);
    const bool   least = op == CJ_REDUCE_MIN || op == CJ_REDUCE_ARGMIN;
    if (op == CJ_REDUCE_SUM) near(got, e->sum, b * e->magnitude, "sum", where);
    else if (op == CJ_REDUCE_PRODUCT && isnan(b)) return;
    else if (op == CJ_REDUCE_PRODUCT) near(got, e->product, b * fabsl(e->product), "product", where);
    else near(got, least ? e->least : e->most, 0, "extreme", where);
}

static void check_integer(cj_dtype type, cj_reduce_op op, const expected *e, const unsigned char *out,
                          const char *where) {
    const cj_dtype held = cj_dtype_arithmetic(type);
    uint64_t       want = op == CJ_REDUCE_SUM       ? e->wrapped
                          : op == CJ_REDUCE_PRODUCT ? e->wrapped_product
                          : op == CJ_REDUCE_MIN || op == CJ_REDUCE_ARGMIN ? e->least_bits
                                                                          : e->most_bits;
    if (memcmp(out, &want, cj_dtype_size(held)))
        fail_msg("%s: %" PRIx64 " is not %" PRIx64, where, widen(held, out), want);
}

static void check(cj_dtype type, cj_reduce_op op, const expected *e, const cj_plan *plan, const unsigned char *out,
                  const char *where) {
    if (op == CJ_REDUCE_MEAN || op == CJ_REDUCE_MEANVAR)
        check_moments(type, op == CJ_REDUCE_MEANVAR, e, plan->error_bound, out, where);
    else if (is_float(type)) check_float(type, op, e, plan->error_bound, out, where);
    else check_integer(type, op, e, out, where);
    if (op != CJ_REDUCE_ARGMIN && op != CJ_REDUCE_ARGMAX) return;
    uint64_t at, want = op == CJ_REDUCE_ARGMIN ? e->least_at : e->most_at;
    memcpy(&at, out + 8, 8);
    if (at != want) fail_msg("%s: index %" PRIu64 " is not %" PRIu64, where, at, want);
}

// ---- launches

// One kernel, launched twice on poisoned output; leaves the last result's bytes in `result`.
static void launch(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, const expected *e,
                   unsigned char result[OUT_BYTES], const char *where) {
    cj_error   error = {0};
    cj_reduce *reduce = NULL;
    cj_test_ok(cj_reduce_create(device, desc, &reduce, &error), &error);
    for (int time = 0; time < 2; time++) {
        cj_test_ok(cj_mem_fill(device, out, 0xa5, OUT_BYTES, NULL, &error), &error);
        cj_test_ok(cj_reduce_run(reduce, x, out, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, result, out, OUT_BYTES, NULL, &error), &error);
        if (e) check(desc->dtype, desc->op, e, cj_kernel_plan(cj_reduce_kernel(reduce)), result, where);
    }
    cj_reduce_destroy(reduce);
}

typedef struct memory {
    cj_ptr x, out, twin_x, twin_out;
} memory;

static void allocate(cj_device *device, cj_dtype type, const cj_reduce_cases *cases, memory *m) {
    cj_error error = {0};
    size_t   bytes = cj_dtype_size(type);
    cj_test_ok(cj_mem_alloc(device, (cases->n[cases->n_count - 1] + SHIFT) * bytes, &m->x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, OUT_BYTES, &m->out, &error), &error);
    if (!cases->twin) return;
    cj_test_ok(cj_mem_alloc(cases->twin, (cases->twin_n + SHIFT) * bytes, &m->twin_x, &error), &error);
    cj_test_ok(cj_mem_alloc(cases->twin, OUT_BYTES, &m->twin_out, &error), &error);
}

static size_t run_op(cj_device *device, cj_dtype type, cj_reduce_op op, const cj_reduce_cases *cases, const memory *m,
                     uint64_t n, uint64_t shift, const expected *e) {
    static size_t turn;
    size_t        each = cases->shapes_each ? cases->shapes_each : cases->shape_count;
    const size_t  bytes = cj_dtype_size(type);
    for (size_t i = 0; i < each; i++) {
        const cj_reduce_shape *shape = &cases->shape[turn++ % cases->shape_count];
        cj_reduce_desc         desc = {.n = n, .op = op, .dtype = type, .block = shape->block,
                                       .cluster = shape->cluster, .grid = shape->grid};
        unsigned char          result[OUT_BYTES] = {0}, twin[OUT_BYTES] = {0};
        char                   where[160];
        snprintf(where, sizeof where, "%s op %d n=%" PRIu64 " block=%u cluster=%d grid=%u shift=%" PRIu64,
                 cj_dtype_name(type), (int)op, n, desc.block, (int)desc.cluster, desc.grid, shift);
        launch(device, &desc, m->x + shift * bytes, m->out, e, result, where);
        if (!cases->twin || n > cases->twin_n) continue;
        launch(cases->twin, &desc, m->twin_x + shift * bytes, m->twin_out, e, twin, where);
        if (memcmp(result, twin, OUT_BYTES)) fail_msg("%s: the two devices disagree", where);
    }
    return 2 * each;
}

size_t cj_test_reduce(cj_device *device, cj_dtype type, const cj_reduce_cases *cases) {
    memory    m = {0};
    size_t    launches = 0, bytes = cj_dtype_size(type);
    expected *results = calloc(cases->n_count, sizeof *results);
    assert_non_null(results);
    allocate(device, type, cases, &m);
    for (uint64_t shift = 0; shift <= SHIFT; shift++)
        for (int how = 0; how < FILLS; how++) {
            size_t sizes = 0;
            const uint64_t most = shift ? cases->unaligned_n : how == NEAR_ONE ? PRODUCT_MOST : UINT64_MAX;
            while (sizes < cases->n_count && cases->n[sizes] <= most) sizes++;
            if (!sizes || (how == NEAR_ONE && !is_float(type))) continue;
            upload(device, m.x + shift * bytes, type, (fill)how, cases, sizes, m.twin_x ? m.twin_x + shift * bytes : 0,
                   results);
            for (size_t i = 0; i < sizes; i++)
                for (int op = 0; op < OPS; op++)
                    if (!is_float(type) || (int)fill_of((cj_reduce_op)op) == how)
                        launches += run_op(device, type, (cj_reduce_op)op, cases, &m, cases->n[i], shift, &results[i]);
        }
    cj_mem_free(device, m.x);
    cj_mem_free(device, m.out);
    if (cases->twin) {
        cj_mem_free(cases->twin, m.twin_x);
        cj_mem_free(cases->twin, m.twin_out);
    }
    free(results);
    return launches;
}

// ---- what is special

void cj_test_reduce_ends(cj_device *device, const uint64_t *n, size_t n_count) {
    static const cj_reduce_shape ends[] = {
        {64, CJ_REDUCE_NO_CLUSTER, 32},  {64, CJ_REDUCE_NO_CLUSTER, 33},  {64, CJ_REDUCE_NO_CLUSTER, 64},
        {32, CJ_REDUCE_NO_CLUSTER, 65},  {64, CJ_REDUCE_NO_CLUSTER, 65},  {64, CJ_REDUCE_NO_CLUSTER, 129},
        {64, CJ_REDUCE_NO_CLUSTER, 256}, {96, CJ_REDUCE_NO_CLUSTER, 257}, {32, CJ_REDUCE_NO_CLUSTER, 300}, {64, 2, 66}};
    const cj_reduce_cases cases = {.n = n, .n_count = n_count, .shape = ends, .shape_count = CJ_TEST_COUNT(ends)};
    cj_test_reduce(device, CJ_F32, &cases);
    cj_test_reduce(device, CJ_F64, &cases);
}

// One block, one cluster, blocks and clusters that meet.
static const cj_reduce_shape few_shapes[] = {
    {0, CJ_REDUCE_NO_CLUSTER, 1}, {64, 4, 4}, {64, CJ_REDUCE_NO_CLUSTER, 5}, {32, 2, 6}};

static void reduce_floats(cj_device *device, const cj_reduce_shape *shape, cj_reduce_op op, const float *x, uint64_t n,
                          unsigned char out[OUT_BYTES]) {
    cj_error       error = {0};
    cj_ptr         x_at = 0, out_at = 0;
    cj_reduce_desc desc = {.n = n, .op = op, .block = shape->block, .cluster = shape->cluster, .grid = shape->grid};
    cj_test_ok(cj_mem_alloc(device, n * 4, &x_at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, OUT_BYTES, &out_at, &error), &error);
    cj_test_ok(cj_mem_write(device, x_at, x, n * 4, NULL, &error), &error);
    launch(device, &desc, x_at, out_at, NULL, out, "");
    cj_mem_free(device, x_at);
    cj_mem_free(device, out_at);
}

static void expect_arg(cj_device *device, cj_reduce_op op, const float *x, uint64_t n, uint64_t want) {
    for (size_t i = 0; i < CJ_TEST_COUNT(few_shapes); i++) {
        unsigned char out[OUT_BYTES];
        uint64_t      at;
        reduce_floats(device, &few_shapes[i], op, x, n, out);
        memcpy(&at, out + 8, 8);
        if (at != want) fail_msg("shape %zu, op %d: index %" PRIu64 " is not %" PRIu64, i, (int)op, at, want);
        if (memcmp(out, &x[want], 4) && !(isnan(x[want]) && isnan(as_double(CJ_F32, out))))
            fail_msg("shape %zu, op %d: the value is not that of element %" PRIu64, i, (int)op, want);
    }
}

void cj_test_reduce_ties_and_nan(cj_device *device) {
    enum { COUNT = 2500 };
    static float x[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = 1;
    expect_arg(device, CJ_REDUCE_ARGMAX, x, COUNT, 0);
    expect_arg(device, CJ_REDUCE_ARGMIN, x, COUNT, 0);
    x[2] = x[1777] = x[1778] = x[COUNT - 1] = 2;
    x[0] = x[2000] = NAN;
    expect_arg(device, CJ_REDUCE_ARGMAX, x, COUNT, 2);
    expect_arg(device, CJ_REDUCE_ARGMIN, x, COUNT, 1);
    x[2] = 1;
    expect_arg(device, CJ_REDUCE_ARGMAX, x, COUNT, 1777);
    for (int i = 0; i < COUNT; i++) x[i] = i < 1000 ? (float)NAN : -INFINITY;
    expect_arg(device, CJ_REDUCE_ARGMAX, x, COUNT, 1000);
    for (int i = 0; i < COUNT; i++) x[i] = i % 2 ? 0.0f : -0.0f;
    expect_arg(device, CJ_REDUCE_ARGMAX, x, COUNT, 0);
    for (int i = 0; i < COUNT; i++) x[i] = NAN;
    expect_arg(device, CJ_REDUCE_ARGMAX, x, COUNT, 0);
    expect_arg(device, CJ_REDUCE_ARGMIN, x, COUNT, 0);
}

void cj_test_reduce_offsets(cj_device *device) {
    enum { COUNT = 4001 };
    static const double offsets[] = {0, 1000, -1e6};
    static float        x[COUNT];
    for (size_t k = 0; k < CJ_TEST_COUNT(offsets); k++) {
        uint64_t    state = 5 + k;
        long double sum = 0, squares = 0;
        for (int i = 0; i < COUNT; i++) {
            x[i] = (float)(offsets[k] + (double)(cj_test_random(&state) >> 40) * 0x1p-22 - 2);
            sum += (long double)x[i];
        }
        for (int i = 0; i < COUNT; i++) squares += powl((long double)x[i] - sum / COUNT, 2);
        const double mean = (double)(sum / COUNT), variance = (double)(squares / COUNT);
        for (size_t i = 0; i < CJ_TEST_COUNT(few_shapes); i++) {
            unsigned char out[OUT_BYTES];
            reduce_floats(device, &few_shapes[i], CJ_REDUCE_MEANVAR, x, COUNT, out);
            const double got = as_double(CJ_F32, out), spread = as_double(CJ_F32, out + 4);
            const double wrong = fabs(spread - variance) / variance, most = 4 * (1 + fabs(mean)) * FLT_EPSILON;
            if (!(fabs(got - mean) <= 2 * fabs(mean) * FLT_EPSILON + 4 * FLT_EPSILON) || !(wrong <= most))
                fail_msg("offset %g, shape %zu: mean %.9g for %.9g, variance %.9g for %.9g (%.2g wrong, %.2g allowed)",
                         offsets[k], i, got, mean, spread, variance, wrong, most);
        }
    }
}
