// SPDX-License-Identifier: Apache-2.0
#include "gemm_cases.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "gemm_number.h"
#include "gemm_refusals.h"
#include "models/gemm_model.h"
#include "test.h"

enum { POISON = 0xff, SAMPLES_LEAST = 400, ALIGNED_BYTES = 16, NAME = 16 };
enum { GUARD = 2 * ALIGNED_BYTES };  // bytes before a matrix whose address is no multiple of 16, and less after each one

// Products of elements that are computed in f64: of all elements of D, or of as many as this limit allows.
static const double CHECKED = 0x1p24;

// A matrix of each product on both sides: `lines` lines of `length` elements each, rows or columns. In the CPU device's memory it ends where
// its allocation does, so that what is read or written after it is reported, and begins `skew` bytes after that.
typedef struct matrix {
    const gemm_number_type *type;
    bool                    by_columns;
    uint64_t                lines, length, leading, products, stride;
    unsigned char          *at;
    cj_ptr                  device, memory;
    uint32_t                align, skew;
} matrix;

enum { A, B, C, BIAS, D, MATRICES };

typedef struct problem {
    const char        *words, *target;  // NULL: the device's
    cj_device         *device;
    cj_params          params;
    uint64_t           m, n, k, batch;
    bool               adds_c;
    unsigned           bias;  // 1: of n, 2: of m
    cj_gemm_activation activation;
    matrix             matrix[MATRICES];
    double             alpha, beta;
    bool               wide_factors;  // of f64: as alpha_f64 and beta_f64
    float              scale[3];  // of A, B and D
    cj_ptr             scales;
    bool               has_scale_b;
    cj_gemm_desc       desc;  // the leading dimensions and strides
} problem;

static size_t bytes_of(const matrix *x) {
    return (size_t)((x->products - 1) * x->stride + (x->lines - 1) * x->leading + x->length) * x->type->bytes;
}

static void *element(const matrix *x, uint64_t product, uint64_t row, uint64_t column) {
    const uint64_t first = x->products > 1 ? product * x->stride : 0;
    return x->at + (first + (x->by_columns ? column * x->leading + row : row * x->leading + column)) * x->type->bytes;
}

static double value(const problem *p, unsigned which, uint64_t product, uint64_t row, uint64_t column) {
    return gemm_number_get(p->matrix[which].type, element(&p->matrix[which], product, row, column));
}

static void set(problem *p, unsigned which, uint64_t row, uint64_t column, double to) {
    gemm_number_put(p->matrix[which].type, element(&p->matrix[which], 0, row, column), to);
}

static double random_real(uint64_t *random) { return (double)(cj_test_random(random) >> 40) * 0x1p-23 - 1; }

// With all bits of a double.
static double random_double(uint64_t *random) { return (double)(cj_test_random(random) >> 11) * 0x1p-52 - 1; }

static bool is_f64(const gemm_number_type *type) { return type->bytes == 8; }

// Of floats from -1 to 1, of integers of all that the type has.
static double random_element(const gemm_number_type *type, uint64_t *random) {
    const double real = is_f64(type) ? random_double(random) : random_real(random), half = (type->most - type->least + 1) / 2;
    return gemm_number_is_integer(type) ? floor(type->least + half + real * half) : real;
}

// Random elements, with NaN (of integers -1) after each line and each product.
static void fill_matrix(matrix *x, uint64_t *random) {
    const uint32_t bytes = x->type->bytes;
    memset(x->at, POISON, bytes_of(x));
    for (uint64_t line = 0; line < x->lines * x->products; line++)
        for (uint64_t i = 0; i < x->length; i++)
            gemm_number_put(x->type, x->at + (line / x->lines * x->stride + line % x->lines * x->leading + i) * bytes,
                            random_element(x->type, random));
}

// What the plan takes: align-a … or align, but at least an element.
static uint32_t align_of(const problem *p, unsigned which, const gemm_number_type *type) {
    static const char *const names[] = {"align-a", "align-b", "align-c", NULL, "align-d"};
    const uint64_t           own = names[which] ? cj_params_get(&p->params, names[which]) : 1, all = cj_params_get(&p->params, "align");
    const uint32_t           align = own ? 2u * ALIGNED_BYTES >> own : (uint32_t)ALIGNED_BYTES >> all;
    return align > type->bytes ? align : type->bytes;
}

// A GPU's allocation ends with a whole chunk: memcheck takes a cp.async that copies a part of 16 bytes for a read of all of them (ptxas 13.0
// says the size in the low bits of the address).
static size_t memory_of(const problem *p, const matrix *x) {
    const size_t bytes = x->skew + bytes_of(x);
    return strcmp(cj_device_kind(p->device), "cpu") ? (bytes + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES : bytes;
}

static void make_matrix(problem *p, unsigned which, const gemm_number_type *type, bool by_columns, uint64_t rows,
                        uint64_t columns, uint64_t products, uint64_t *random) {
    matrix        *x = &p->matrix[which];
    const uint32_t align = align_of(p, which, type);
    const uint64_t unit = align / type->bytes;
    cj_error       error = {0};
    *x = (matrix){.type = type,
                  .by_columns = by_columns,
                  .lines = by_columns ? columns : rows,
                  .length = by_columns ? rows : columns,
                  .products = products,
                  .align = align,
                  .skew = align < ALIGNED_BYTES ? GUARD - ALIGNED_BYTES + align : 0};
    x->leading = (x->length + unit - 1 + cj_test_random(random) % 3 * unit) / unit * unit;
    x->stride = (x->lines * x->leading + unit - 1 + cj_test_random(random) % 2 * unit) / unit * unit;
    x->at = malloc(bytes_of(x));
    assert_non_null(x->at);
    cj_test_ok(cj_mem_alloc(p->device, memory_of(p, x), &x->memory, &error), &error);
    cj_test_ok(cj_mem_fill(p->device, x->memory, POISON, memory_of(p, x), NULL, &error), &error);
    x->device = x->memory + x->skew;
    fill_matrix(x, random);
}

static void send(const problem *p, const matrix *x) {
    cj_error error = {0};
    cj_test_ok(cj_mem_write(p->device, x->device, x->at, bytes_of(x), NULL, &error), &error);
}

static const gemm_number_type *type_of(const problem *p, const char *param, const gemm_number_type *otherwise) {
    char                    word[NAME];
    const gemm_number_type *type = gemm_number(cj_params_word(&p->params, param, word, sizeof word));
    return type ? type : otherwise;
}

// The bias begins after an element that is not part of it.
static void make_matrices(problem *p, uint64_t *random) {
    char                    shared[NAME];
    const gemm_number_type *a = type_of(p, "dtype", NULL), *b = type_of(p, "dtype-b", a), *bf16 = gemm_number("bf16");
    const gemm_number_type *wide = gemm_number(gemm_number_is_integer(a) ? "i32" : "f32");
    const gemm_number_type *d = type_of(p, "out", a->bytes == 4 || gemm_number_is_integer(a) ? wide : a->bytes == 1 ? bf16 : a);
    const gemm_number_type *c = d->bytes == 1 ? bf16 : d;
    const bool              a_order = cj_params_get(&p->params, "a"), b_order = cj_params_get(&p->params, "b");
    const bool              d_order = cj_params_get(&p->params, "d");
    cj_params_word(&p->params, "shared", shared, sizeof shared);
    if (!strcmp(shared, "none")) *shared = '\0';
    make_matrix(p, A, a, a_order, p->m, p->k, strchr(shared, 'a') ? 1 : p->batch, random);
    make_matrix(p, B, b, b_order, p->k, p->n, strchr(shared, 'b') ? 1 : p->batch, random);
    make_matrix(p, C, c, d_order, p->m, p->n, strchr(shared, 'c') ? 1 : p->batch, random);
    make_matrix(p, BIAS, c, false, 1, 1 + (p->bias == 2 ? p->m : p->n), 1, random);
    make_matrix(p, D, d, d_order, p->m, p->n, p->batch, random);
    const matrix *x = p->matrix;
    p->desc = (cj_gemm_desc){CJ_INIT(cj_gemm_desc),   .lda = x[A].leading,     .ldb = x[B].leading,
                             .ldc = x[C].leading,     .ldd = x[D].leading,     .stride_a = x[A].stride,
                             .stride_b = x[B].stride, .stride_c = x[C].stride, .stride_d = x[D].stride};
}

// Whether D is the sums of integers as they are.
static bool keeps_sums(const problem *p) { return !strcmp(p->matrix[D].type->name, "i32"); }

static void make_scales(problem *p, uint64_t *random) {
    cj_error error = {0};
    p->has_scale_b = cj_test_random(random) % 2;
    const bool has_scales = p->matrix[A].type->bytes == 1 && !keeps_sums(p);
    const bool is_integer = gemm_number_is_integer(p->matrix[A].type);
    p->scale[0] = !has_scales ? 1 : is_integer ? 0.625F / 8192 : 0.625F;  // of integers results from -127 to 127, most of them
    p->scale[1] = has_scales && p->has_scale_b ? 3 : 1;
    p->scale[2] = p->matrix[D].type->bytes == 1 ? 0.75F : 1;
    if (keeps_sums(p)) p->alpha = 1;
    cj_test_ok(cj_mem_alloc(p->device, sizeof p->scale, &p->scales, &error), &error);
    cj_test_ok(cj_mem_write(p->device, p->scales, p->scale, sizeof p->scale, NULL, &error), &error);
}

// Of f64 a double, or a float alone.
static void make_factors(problem *p, uint64_t *random) {
    static const double factors[] = {1, 0.5, -2, 0.37};
    p->alpha = factors[cj_test_random(random) % 4];
    p->beta = factors[cj_test_random(random) % 4];
    p->wide_factors = is_f64(type_of(p, "dtype", NULL)) && cj_test_random(random) % 2;
    if (p->wide_factors) return;
    p->alpha = (float)p->alpha;
    p->beta = (float)p->beta;
}

static void open_problem(problem *p, cj_device *device, const char *words, uint64_t *random) {
    cj_error error = {0};
    *p = (problem){.words = words, .device = device};
    cj_test_ok(cj_test_params("gemm", words, &p->params, &error), &error);
    p->m = cj_params_get(&p->params, "m");
    p->n = cj_params_get(&p->params, "n");
    p->k = cj_params_get(&p->params, "k");
    p->batch = cj_params_get(&p->params, "batch");
    p->bias = (unsigned)cj_params_get(&p->params, "bias");
    p->activation = (cj_gemm_activation)cj_params_get(&p->params, "activation");
    p->adds_c = cj_params_get(&p->params, "c") == 1;
    make_factors(p, random);
    make_matrices(p, random);
    make_scales(p, random);
}

static void close_problem(problem *p) {
    for (size_t i = 0; i < MATRICES; i++) {
        cj_mem_free(p->device, p->matrix[i].memory);
        free(p->matrix[i].at);
    }
    cj_mem_free(p->device, p->scales);
}

static cj_gemm_operands operands_of(const problem *p) {
    const matrix *x = p->matrix;
    return (cj_gemm_operands){CJ_INIT(cj_gemm_operands),
                              .a = x[A].device,
                              .b = x[B].device,
                              .c = x[C].device,
                              .d = x[D].device,
                              .alpha = p->wide_factors ? 99 : (float)p->alpha,
                              .beta = p->wide_factors ? 99 : (float)p->beta,
                              .alpha_f64 = p->wide_factors ? p->alpha : 0,
                              .beta_f64 = p->wide_factors ? p->beta : 0,
                              .bias = x[BIAS].device + x[BIAS].type->bytes,
                              .scale_a = p->scales,
                              .scale_b = p->has_scale_b ? p->scales + sizeof(float) : 0,
                              .scale_d = p->scales + 2 * sizeof(float)};
}

// ---- the host's way

// Relative to the magnitude of the sum: sums in f32 in any order; sums of 8-bit floats, of mixed signs,
// whose products are cut off after 13 bits; sums of integers, which are exact and then rounded to f32; of f64, as gemm.h has it.
static double sum_error(const problem *p) {
    if (gemm_number_is_integer(p->matrix[A].type)) return keeps_sums(p) ? 0 : 0x1p-21;
    if (is_f64(p->matrix[A].type)) return 0x1p-51 + ldexp((double)p->k, -52);
    return 0x1p-22 + (p->matrix[A].type->bytes == 1 ? 0x1p-10 + ldexp((double)p->k, -18) : ldexp((double)p->k, -22));
}

// How far rounding to a type moves a number of this size.
static double rounding(const gemm_number_type *type, double size) {
    if (gemm_number_is_integer(type)) return type->bytes == 4 ? 0 : 0.5;
    if (is_f64(type)) return size * DBL_EPSILON / 2 + DBL_TRUE_MIN;
    const int least = 2 - (1 << (type->format.exponent - 1)) - type->format.fraction - 1;  // half the smallest number
    return ldexp(size, -type->format.fraction - 1) + ldexp(1, least > -25 ? least : -25);
}

// 8-bit results have no infinity: larger values become the largest number.
static double stored(const gemm_number_type *type, double x) {
    if (gemm_number_is_integer(type)) return isnan(x) ? 0 : fmax(type->least, fmin(type->most, x));
    const double most = type->format.exponent == 4 ? 448 : 57344;
    return type->bytes > 1 || isnan(x) ? x : fmax(-most, fmin(most, x));
}

// The expected element of D, and in *bound how far the device's may differ: it is rounded once to the type.
static double expected(const problem *p, uint64_t product, uint64_t row, uint64_t column, double *bound) {
    const double            alpha = p->alpha * p->scale[0] * p->scale[1];
    const gemm_number_type *type = p->matrix[D].type;
    long double             sum = 0;
    double                  size = 0;
    for (uint64_t i = 0; i < p->k; i++) {
        const long double term = (long double)value(p, A, product, row, i) * value(p, B, product, i, column);
        sum += term;
        size += (double)fabsl(term);
    }
    const long double c = p->adds_c ? (long double)p->beta * value(p, C, product, row, column) : 0;
    const double bias = p->bias ? value(p, BIAS, 0, 0, 1 + (p->bias == 2 ? row : column)) : 0;
    const double all = (double)(alpha * sum + c + bias);
    const double want = p->scale[2] * gemm_model_activated(p->activation, all);
    double       error = p->scale[2] * sum_error(p) * (fabs(alpha) * size + fabs((double)c) + fabs(bias));
    if (p->activation > CJ_GEMM_RELU) error = 1.13 * error + p->scale[2] * 0x1p-20 * fabs(all);
    *bound = rounding(type, fabs(want) + error) + error;
    return stored(type, want);
}

static void check_element(const problem *p, uint64_t product, uint64_t row, uint64_t column) {
    double       bound;
    const double want = expected(p, product, row, column, &bound), got = value(p, D, product, row, column);
    if (isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= bound) return;
    fail_msg("%s: D(%" PRIu64 ", %" PRIu64 ") of product %" PRIu64
             " is %.17g, not %.17g +- %.3g (alpha %g, beta %g, ld %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ")",
             p->words, row, column, product, got, want, bound, p->alpha, p->beta, p->desc.lda,
             p->desc.ldb, p->desc.ldc, p->desc.ldd);
}

// The bytes before D and between its lines must not change.
static void check_gaps(const problem *p) {
    const matrix *d = &p->matrix[D];
    const size_t  bytes = d->type->bytes;
    unsigned char before[GUARD];
    cj_error      error = {0};
    if (d->skew) cj_test_ok(cj_mem_read(p->device, before, d->memory, d->skew, NULL, &error), &error);
    for (uint32_t i = 0; i < d->skew; i++)
        if (before[i] != POISON) fail_msg("%s: written %u bytes before D", p->words, d->skew - i);
    for (uint64_t at = 0; at < bytes_of(d) / bytes; at++) {
        const uint64_t line = at % d->stride / d->leading, within = at % d->stride % d->leading;
        if (line < d->lines && within < d->length) continue;
        for (size_t i = 0; i < bytes; i++)
            if (d->at[at * bytes + i] != POISON)
                fail_msg("%s: written after line %" PRIu64, p->words, at / d->stride * d->lines + line);
    }
}

static void check(const problem *p, uint64_t *random) {
    const double   products = (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
    const uint64_t count = p->m * p->n, allowed = (uint64_t)(CHECKED / (double)p->k);
    const uint64_t samples = allowed > SAMPLES_LEAST ? allowed : SAMPLES_LEAST;
    for (uint64_t i = 0; products > CHECKED && i < samples; i++)
        check_element(p, i % p->batch, cj_test_random(random) % p->m, cj_test_random(random) % p->n);
    for (uint64_t i = 0; products <= CHECKED && i < p->batch * count; i++)
        check_element(p, i / count, i % count / p->n, i % count % p->n);
    check_gaps(p);
}

// ---- a case

static cj_status make_kernel(const problem *p, cj_kernel **kernel, cj_error *error) {
    cj_plan plan;
    if (!p->target) return cj_kernel_create(p->device, &p->params, kernel, error);
    cj_status status = cj_plan_make(&p->params, cj_device_limits(p->device), p->target, &plan, error);
    return status ? status : cj_kernel_load(p->device, &plan, kernel, error);
}

// Checks the first result; the second one must be the same.
static void launch_twice(problem *p, uint64_t *random) {
    cj_kernel             *kernel = NULL;
    cj_error               error = {0};
    const matrix          *d = &p->matrix[D];
    const cj_gemm_operands operands = operands_of(p);
    unsigned char         *first = malloc(bytes_of(d));
    cj_status              status = make_kernel(p, &kernel, &error);
    assert_non_null(first);
    for (int time = 0; time < 2; time++) {
        if (!status) status = cj_mem_fill(p->device, d->device, POISON, bytes_of(d), NULL, &error);
        if (!status) status = cj_gemm_kernel_launch(p->device, kernel, &p->desc, &operands, NULL, &error);
        if (!status) status = cj_mem_read(p->device, d->at, d->device, bytes_of(d), NULL, &error);
        if (status) fail_msg("%s: %s: %s %s", p->words, cj_status_name(status), error.message, error.hint);
        if (time)
            assert_memory_equal(d->at, first, bytes_of(d));
        else
            check(p, random);
        memcpy(first, d->at, bytes_of(d));
    }
    free(first);
    cj_kernel_destroy(kernel);
}

static void send_all(const problem *p) {
    for (unsigned i = 0; i < MATRICES; i++) send(p, &p->matrix[i]);
}

void cj_test_gemm(cj_device *device, const char *words, uint64_t *random) { cj_test_gemm_for(device, NULL, words, random); }

void cj_test_gemm_for(cj_device *device, const char *target, const char *words, uint64_t *random) {
    problem p;
    open_problem(&p, device, words, random);
    p.target = target;
    send_all(&p);
    launch_twice(&p, random);
    close_problem(&p);
}

void cj_test_gemm_all(const char *before, const char *const *words, size_t count) {
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) {
        char all[256];
        if (!cj_test_chosen(i, count)) continue;
        cj_test_watch(i % 3);
        assert_in_range(snprintf(all, sizeof all, "%s%s", before, words[i]), 1, sizeof all - 1);
        cj_test_gemm(cj_test_device, all, &random);
    }
}

void cj_test_gemm_specials(cj_device *device, const char *words, uint64_t *random) {
    problem p;
    open_problem(&p, device, words, random);
    set(&p, A, p.m / 2, p.k - 1, (double)NAN);
    set(&p, A, p.m - 1, p.k / 2, (double)INFINITY);
    set(&p, B, 0, p.n / 3, -(double)INFINITY);
    send_all(&p);
    launch_twice(&p, random);
    close_problem(&p);
}

// ---- products that depend on each other

// D = A B, A = D B, D = A B, …: each launch reads what the previous one has written, and writes what it has read.
static void launch_chain(problem *p, const char *dependent, unsigned char *results) {
    matrix          *a = &p->matrix[A], *d = &p->matrix[D];
    cj_gemm_operands forth = operands_of(p), back = forth;
    cj_gemm_desc     strides = p->desc;
    cj_kernel       *kernel = NULL;
    cj_error         error = {0};
    forth.alpha = back.alpha = 1 / (float)p->k;
    forth.alpha_f64 = back.alpha_f64 = 0;
    back.a = forth.d;
    back.d = forth.a;
    strides.lda = p->desc.ldd;
    strides.ldd = p->desc.lda;
    send_all(p);
    cj_test_ok(cj_params_set(&p->params, "dependent", dependent, &error), &error);
    cj_test_ok(cj_kernel_create(p->device, &p->params, &kernel, &error), &error);
    assert_int_equal(cj_kernel_plan(kernel)->programmatic, !strcmp(dependent, "yes"));
    for (int time = 0; time < 7; time++) {
        cj_test_ok(cj_gemm_kernel_launch(p->device, kernel, &p->desc, &forth, NULL, &error), &error);
        cj_test_ok(cj_gemm_kernel_launch(p->device, kernel, &strides, &back, NULL, &error), &error);
    }
    cj_test_ok(cj_mem_read(p->device, results, a->device, bytes_of(a), NULL, &error), &error);
    cj_test_ok(cj_mem_read(p->device, results + bytes_of(a), d->device, bytes_of(d), NULL, &error), &error);
    cj_kernel_destroy(kernel);
}

void cj_test_gemm_chain(cj_device *device, const char *words, uint64_t *random) {
    problem p;
    open_problem(&p, device, words, random);
    const size_t   bytes = bytes_of(&p.matrix[A]) + bytes_of(&p.matrix[D]);
    unsigned char *results = malloc(bytes), *wanted = malloc(bytes);
    assert_true(results && wanted);
    memset(p.matrix[D].at, POISON, bytes_of(&p.matrix[D]));
    launch_chain(&p, "no", wanted);
    launch_chain(&p, "yes", results);
    if (memcmp(results, wanted, bytes)) fail_msg("%s: a dependent launch did not wait for the one before it", words);
    free(results);
    free(wanted);
    close_problem(&p);
}

// ---- typed calls

static void refuse(const problem *p) {
    const cj_gemm_operands operands = operands_of(p);
    cj_test_gemm_refusals(p->device, &operands);
}

// A handle does not ask the addresses: they are as its description says.
static void a_handle_is_for_its_alignment(problem *p) {
    cj_gemm_desc     desc = {CJ_INIT(desc), .m = 40, .n = 72, .k = 99, .dtype = CJ_BF16};
    cj_gemm_operands operands = operands_of(p);
    cj_gemm         *gemm = NULL;
    cj_error         error = {0};
    cj_test_ok(cj_gemm_create(p->device, &desc, &gemm, &error), &error);
    operands.b += 8;
    assert_int_equal(cj_gemm_run(gemm, &operands, NULL, &error), CJ_INVALID_ARGUMENT);
    if (!strstr(error.message, "b: 0x") || !strstr(error.hint, "align_b")) fail_msg("%s %s", error.message, error.hint);
    cj_gemm_destroy(gemm);
    desc.align_b = 12;
    assert_int_equal(cj_gemm_create(p->device, &desc, &gemm, &error), CJ_INVALID_ARGUMENT);
    if (!strstr(error.message, "align_b: 12 is none of 16")) fail_msg("%s", error.message);
}

// The problem gives what the description leaves out: leading dimensions, and, with a batch, strides.
static void call(problem *p, const cj_gemm_desc *said, uint64_t *random) {
    cj_gemm_operands operands = operands_of(p);
    const matrix    *d = &p->matrix[D];
    cj_gemm_desc     desc = *said;
    cj_gemm         *gemm = NULL;
    cj_error         error = {0};
    if (said->dtype == CJ_BF16) operands.scale_a = operands.scale_d = 0x1002;  // these must be ignored
    desc.m = p->m, desc.n = p->n, desc.k = p->k;
    desc.lda = p->desc.lda, desc.ldb = p->desc.ldb, desc.ldc = p->desc.ldc, desc.ldd = p->desc.ldd;
    desc.stride_a = p->matrix[A].products > 1 ? p->desc.stride_a : 0;
    desc.stride_b = p->matrix[B].products > 1 ? p->desc.stride_b : 0;
    desc.stride_c = p->matrix[C].products > 1 ? p->desc.stride_c : 0;
    desc.stride_d = p->desc.stride_d;
    desc.align_a = p->matrix[A].align, desc.align_b = p->matrix[B].align;
    desc.align_c = p->matrix[C].align, desc.align_d = p->matrix[D].align;
    send_all(p);
    cj_test_ok(cj_gemm_create(p->device, &desc, &gemm, &error), &error);
    for (int time = 0; time < 3; time++) {
        cj_test_ok(cj_mem_fill(p->device, d->device, POISON, bytes_of(d), NULL, &error), &error);
        if (time)
            cj_test_ok(cj_gemm_launch(p->device, &desc, &operands, NULL, &error), &error);
        else
            cj_test_ok(cj_gemm_run(gemm, &operands, NULL, &error), &error);
        cj_test_ok(cj_mem_read(p->device, d->at, d->device, bytes_of(d), NULL, &error), &error);
        check(p, random);
    }
    cj_gemm_destroy(gemm);
}

// The same product in words and as a description.
void cj_test_gemm_calls(cj_device *device) {
    static const struct {
        const char  *words;
        cj_gemm_desc desc;
    } calls[] = {
        {"m=40 n=72 k=100 b=column d=column c=yes",
         {.dtype = CJ_BF16, .b = CJ_GEMM_COLUMN, .d = CJ_GEMM_COLUMN, .adds_c = true}},
        {"m=40 n=72 k=100 dtype=e4m3 dtype-b=e5m2 b=column out=e4m3 bias=n activation=gelu",
         {.dtype = CJ_E4M3,
          .dtype_b = CJ_E5M2,
          .b = CJ_GEMM_COLUMN,
          .out = CJ_GEMM_OUT_E4M3,
          .bias = CJ_GEMM_BIAS_N,
          .activation = CJ_GEMM_GELU}},
        {"m=40 n=72 k=50 dtype=tf32 b=column batch=3 shared=bc c=yes bias=m activation=silu",
         {.dtype = CJ_TF32,
          .b = CJ_GEMM_COLUMN,
          .batch = 3,
          .adds_c = true,
          .bias = CJ_GEMM_BIAS_M,
          .activation = CJ_GEMM_SILU}},
        {"m=40 n=72 k=100 b=column d=column c=yes form=mma",
         {.dtype = CJ_BF16,
          .b = CJ_GEMM_COLUMN,
          .d = CJ_GEMM_COLUMN,
          .adds_c = true,
          .form = CJ_GEMM_FORM_MMA,
          .tile = CJ_GEMM_TILE_16X128}},
        {"m=40 n=72 k=500 batch=3 shared=bc c=yes bias=m form=mma",
         {.dtype = CJ_BF16,
          .batch = 3,
          .adds_c = true,
          .bias = CJ_GEMM_BIAS_M,
          .form = CJ_GEMM_FORM_MMA,
          .parts = 3}},
        {"m=66 n=72 k=104 b=column bias=n activation=gelu",  // of which the plan exchanges A and B
         {.dtype = CJ_BF16, .b = CJ_GEMM_COLUMN, .bias = CJ_GEMM_BIAS_N, .activation = CJ_GEMM_GELU}},
        {"m=66 n=72 k=104 b=column d=column bias=m activation=gelu",
         {.dtype = CJ_BF16, .b = CJ_GEMM_COLUMN, .d = CJ_GEMM_COLUMN, .bias = CJ_GEMM_BIAS_M, .activation = CJ_GEMM_GELU}},
        {"m=41 n=73 k=99 align=2 c=yes bias=n", {.dtype = CJ_BF16, .adds_c = true, .bias = CJ_GEMM_BIAS_N}},
        {"m=70 n=11 k=64 dtype=f16 align-b=2 align-d=2 b=column batch=2 d=column",
         {.dtype = CJ_F16, .b = CJ_GEMM_COLUMN, .d = CJ_GEMM_COLUMN, .batch = 2}},
        {"m=40 n=72 k=101 dtype=i8 dtype-b=u8 b=column align=1",
         {.dtype = CJ_I8, .dtype_b = CJ_U8, .b = CJ_GEMM_COLUMN}},
        {"m=40 n=72 k=112 dtype=u8 b=column out=i8 c=yes bias=m",
         {.dtype = CJ_U8, .b = CJ_GEMM_COLUMN, .out = CJ_GEMM_OUT_I8, .adds_c = true, .bias = CJ_GEMM_BIAS_M}},
        {"m=41 n=73 k=50 dtype=f64 a=column c=yes bias=n activation=relu align=8",
         {.dtype = CJ_F64, .a = CJ_GEMM_COLUMN, .adds_c = true, .bias = CJ_GEMM_BIAS_N, .activation = CJ_GEMM_RELU}},
        {"m=70 n=90 k=300 dtype=f64 b=column d=column batch=3 shared=b out=f64",
         {.dtype = CJ_F64, .b = CJ_GEMM_COLUMN, .d = CJ_GEMM_COLUMN, .batch = 3, .out = CJ_GEMM_OUT_F64, .tile = CJ_GEMM_TILE_64X64, .parts = 3}},
        {"m=40 n=72 k=50 dtype=f16 batch=2 out=f32 activation=relu",
         {.dtype = CJ_F16, .batch = 2, .out = CJ_GEMM_OUT_F32, .activation = CJ_GEMM_RELU}},
    };
    uint64_t random = 3;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        problem      p;
        cj_gemm_desc desc = calls[i].desc;
        desc.struct_size = sizeof desc;
        open_problem(&p, device, calls[i].words, &random);
        call(&p, &desc, &random);
        if (!i) refuse(&p);
        if (!i) a_handle_is_for_its_alignment(&p);
        close_problem(&p);
    }
}
