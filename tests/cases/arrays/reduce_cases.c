// SPDX-License-Identifier: Apache-2.0
#include "reduce_cases.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { PRODUCT_MOST = 1 << 23 };  // more elements of a product of f32 have no useful bound
enum { OPS = CJ_REDUCE_MEANVAR + 1, CHUNK = 1 << 20, SHIFT = 1, OUT_BYTES = 16 };  // SHIFT: elements that x is moved by

// Factors of a product must be near 1, or the product soon becomes 0.
typedef enum fill { SPREAD, NEAR_ONE, FILLS } fill;

static fill fill_of(cj_reduce_op op) { return op == CJ_REDUCE_PRODUCT ? NEAR_ONE : SPREAD; }

// The expected results over the first n elements.
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

// Floats in (-2, 2) that need every bit of their significand, or that differ from 1 by a few units of the last place;
// integers that need every bit.
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

// ---- expected results

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

// Adds a whole chunk that is not the first; its extremes are those of the first.
static void include_chunk(expected *e, const expected *chunk) {
    e->n += chunk->n;
    e->sum += chunk->sum;
    e->magnitude += chunk->magnitude;
    e->squares += chunk->squares;
    e->product *= chunk->product;
    e->wrapped += chunk->wrapped;
    e->wrapped_product *= chunk->wrapped_product;
}

// Writes as many elements as the largest of the first `sizes` sizes needs to both devices, and computes each size's
// expected results. All chunks have the same elements.
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

// The type of means, and the position of the second result.
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
        cj_reduce_desc         desc = {
                    CJ_INIT(desc),      .n = n, .op = op, .dtype = type, .block = shape->block, .cluster = shape->cluster,
                    .grid = shape->grid};
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
    for (size_t i = 0; i < CJ_TEST_COUNT(ends); i++) {
        const cj_reduce_cases cases = {.n = n, .n_count = n_count, .shape = &ends[i], .shape_count = 1};
        if (!cj_test_chosen(i, 5)) continue;
        cj_test_reduce(device, CJ_F32, &cases);
        cj_test_reduce(device, CJ_F64, &cases);
    }
}

// One block, one cluster, several blocks or clusters.
static const cj_reduce_shape few_shapes[] = {
    {0, CJ_REDUCE_NO_CLUSTER, 1}, {64, 4, 4}, {64, CJ_REDUCE_NO_CLUSTER, 5}, {32, 2, 6}};

static void reduce_floats(cj_device *device, const cj_reduce_shape *shape, cj_reduce_op op, const float *x, uint64_t n,
                          unsigned char out[OUT_BYTES]) {
    cj_error       error = {0};
    cj_ptr         x_at = 0, out_at = 0;
    cj_reduce_desc desc = {CJ_INIT(desc),      .n = n, .op = op, .block = shape->block, .cluster = shape->cluster,
                           .grid = shape->grid};
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

// ---- parts

// Element i of an array in which every slice has a different sum.
static uint64_t numbered(uint64_t i) { return i * i + 1; }

// The sum of numbered(i) over block b's slice, by the definition (clusterjit/reduce.h).
static uint64_t slice_sum(uint64_t n, uint64_t blocks, uint64_t b) {
    const uint64_t more = n % blocks, each = n / blocks;
    const uint64_t first = b * each + (b < more ? b : more), end = first + each + (b < more);
    uint64_t       sum = 0;
    for (uint64_t i = first; i < end; i++) sum += numbered(i);
    return sum;
}

static void expect_parts(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, uint64_t *found) {
    cj_error   error = {0};
    cj_reduce *reduce = NULL;
    char       where[120];
    cj_test_ok(cj_reduce_create(device, desc, &reduce, &error), &error);
    const uint64_t blocks = cj_kernel_plan(cj_reduce_kernel(reduce))->grid.x, first = desc->result != CJ_REDUCE_BLOCKS;
    snprintf(where, sizeof where, "n=%" PRIu64 " block=%u cluster=%d grid=%" PRIu64 " result %d weight %d", desc->n,
             desc->block, (int)desc->cluster, blocks, (int)desc->result, (int)desc->weight);
    for (int time = 0; time < 2; time++) {
        cj_test_ok(cj_mem_fill(device, out, 0xa5, (blocks + 2) * 8, NULL, &error), &error);
        cj_test_ok(cj_reduce_run(reduce, x, out, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, found, out, (blocks + 2) * 8, NULL, &error), &error);
        uint64_t total = 0;
        for (uint64_t b = 0; b < blocks; b++) {
            const uint64_t want = slice_sum(desc->n, blocks, b) * (desc->weight ? b + 1 : 1);
            total += want;
            if (desc->result != CJ_REDUCE_TOTAL && found[first + b] != want)
                fail_msg("%s: the part of block %" PRIu64 " is %" PRIu64 ", not %" PRIu64, where, b, found[first + b], want);
        }
        if (first && found[0] != total) fail_msg("%s: the total is %" PRIu64 ", not %" PRIu64, where, found[0], total);
        const uint64_t written = first + (desc->result == CJ_REDUCE_TOTAL ? 0 : blocks);
        if (found[written] != UINT64_C(0xa5a5a5a5a5a5a5a5)) fail_msg("%s: more was written than there is", where);
    }
    cj_reduce_destroy(reduce);
}

void cj_test_reduce_parts(cj_device *device, uint64_t seed, int cases) {
    enum { MOST = 20000, BLOCKS = 1200 };
    cj_error  error = {0};
    cj_ptr    x = 0, out = 0;
    uint64_t *host = malloc(MOST * sizeof *host), *found = malloc((BLOCKS + 2) * sizeof *found);
    assert_true(host && found);
    for (uint64_t i = 0; i < MOST; i++) host[i] = numbered(i);
    cj_test_ok(cj_mem_alloc(device, MOST * 8, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, (BLOCKS + 2) * 8, &out, &error), &error);
    cj_test_ok(cj_mem_write(device, x, host, MOST * 8, NULL, &error), &error);
    for (int i = 0; i < cases; i++) {
        static const uint32_t clusters[] = {CJ_REDUCE_NO_CLUSTER, 1, 2, 3, 4, 7, 8, 16};
        const uint32_t        cluster = clusters[cj_test_random(&seed) % CJ_TEST_COUNT(clusters)];
        const uint64_t        size = cluster == CJ_REDUCE_NO_CLUSTER ? 1 : cluster;
        const uint64_t        most = cj_test_random(&seed) % 8 ? 12 : BLOCKS / (size > 4 ? size : 4);  // 129: all threads gather
        const uint32_t        groups = 1 + (uint32_t)(cj_test_random(&seed) % most);
        const cj_reduce_desc  desc = {CJ_INIT(desc),
                                      .n = 1 + cj_test_random(&seed) % (cj_test_random(&seed) % 3 ? MOST : 40),
                                      .dtype = CJ_U64,
                                      .block = 32 * (1 + (uint32_t)(cj_test_random(&seed) % 4)),
                                      .cluster = cluster,
                                      .grid = cluster == CJ_REDUCE_NO_CLUSTER ? groups : groups * cluster,
                                      .result = (cj_reduce_result)(cj_test_random(&seed) % 3),
                                      .weight = (cj_reduce_weight)(cj_test_random(&seed) % 2)};
        if (desc.result || desc.weight) expect_parts(device, &desc, x, out, found);
    }
    cj_mem_free(device, x);
    cj_mem_free(device, out);
    free(host);
    free(found);
}

// For result=total: `map` gives 1 in the 16 bits of the block that has loaded the element, so that the sum shows how
// many elements each block has summed.
static cj_user_function *count_by_block(void) {
    static const char ptx[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                              ".visible .func (.param .u64 r) count(.param .u64 x)\n"
                              "{\n"
                              "    .reg .u64 %one;\n"
                              "    .reg .u32 %block;\n"
                              "    mov.u32 %block, %ctaid.x;\n"
                              "    shl.b32 %block, %block, 4;\n"
                              "    mov.u64 %one, 1;\n"
                              "    shl.b64 %one, %one, %block;\n"
                              "    st.param.u64 [r], %one;\n"
                              "    ret;\n"
                              "}\n";
    const cj_signature signature = {.result = CJ_U64, .count = 1, .argument = {CJ_U64}};
    cj_user_function  *function = NULL;
    cj_error           error = {0};
    cj_test_ok(cj_function_from_ptx(ptx, sizeof ptx - 1, "count", &signature, &function, &error), &error);
    return function;
}

void cj_test_reduce_shares(cj_device *device) {
    enum { MOST = 4096, BLOCKS = 4 };
    static const uint64_t        n[] = {4, 5, 7, 64, 257, 1024, 1030, MOST};
    static const cj_reduce_shape shapes[] = {{256, 4, 0}, {128, 4, 4}, {256, 2, 4}, {512, 1, 4}, {256, CJ_REDUCE_NO_CLUSTER, 4}};
    cj_user_function            *map = count_by_block();
    cj_error                     error = {0};
    cj_ptr                       x = 0, out = 0;
    cj_test_ok(cj_mem_alloc(device, MOST * 8, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, OUT_BYTES, &out, &error), &error);
    cj_test_ok(cj_mem_fill(device, x, 0, MOST * 8, NULL, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(n) * CJ_TEST_COUNT(shapes); i++) {
        const cj_reduce_shape *s = &shapes[i % CJ_TEST_COUNT(shapes)];
        const cj_reduce_desc   desc = {CJ_INIT(desc),
                                       .n = n[i / CJ_TEST_COUNT(shapes)],
                                       .dtype = CJ_U64,
                                       .block = s->block,
                                       .cluster = s->cluster,
                                       .grid = s->grid,
                                       .map = map};
        unsigned char          result[OUT_BYTES];
        uint64_t               counts;
        launch(device, &desc, x, out, NULL, result, "");
        memcpy(&counts, result, 8);
        for (unsigned b = 0; b < BLOCKS; b++) {
            const uint64_t has = counts >> 16 * b & 0xffff, want = desc.n / BLOCKS + (b < desc.n % BLOCKS);
            if (has != want)
                fail_msg("n=%" PRIu64 " shape %zu: block %u has summed %" PRIu64 " elements, not %" PRIu64, desc.n,
                         i % CJ_TEST_COUNT(shapes), b, has, want);
        }
    }
    cj_user_function_destroy(map);
    cj_mem_free(device, x);
    cj_mem_free(device, out);
}

// FEATURES, the published examples: 1024 elements, four blocks of 256.
void cj_test_reduce_four_blocks(cj_device *device) {
    enum { N = 1024 };
    static const struct {
        uint64_t         period;
        double           step, parts[4];
        cj_reduce_weight weight;
    } wanted[] = {{N, 1, {32640, 98176, 163712, 229248}, CJ_REDUCE_WEIGHT_NONE},
                  {10, 0.1, {114.0, 231.2, 345.6, 459.2}, CJ_REDUCE_WEIGHT_BLOCK},
                  {50, 0.02, {122.8, 247.04, 372.72, 499.84}, CJ_REDUCE_WEIGHT_BLOCK}};
    static float x[N];
    float        found[5];
    cj_error     error = {0};
    cj_ptr       in = 0, out = 0;
    cj_test_ok(cj_mem_alloc(device, sizeof x, &in, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof found, &out, &error), &error);
    for (size_t k = 0; k < CJ_TEST_COUNT(wanted); k++) {
        const cj_reduce_desc desc = {CJ_INIT(desc),
                                     .n = N,
                                     .block = 256,
                                     .cluster = 4,
                                     .weight = wanted[k].weight,
                                     .result = CJ_REDUCE_TOTAL_AND_BLOCKS};
        double               total = 0;
        for (int i = 0; i < N; i++) x[i] = (float)((double)((uint64_t)i % wanted[k].period) * wanted[k].step);
        cj_test_ok(cj_mem_write(device, in, x, sizeof x, NULL, &error), &error);
        cj_test_ok(cj_reduce_launch(device, &desc, in, out, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, found, out, sizeof found, NULL, &error), &error);
        for (int b = 0; b < 4; b++) {
            total += wanted[k].parts[b];
            near((double)found[1 + b], (long double)wanted[k].parts[b], 1e-6 * wanted[k].parts[b], "part", "four blocks");
        }
        near((double)found[0], (long double)total, 1e-6 * total, "total", "four blocks");
    }
    cj_mem_free(device, in);
    cj_mem_free(device, out);
}
