// SPDX-License-Identifier: Apache-2.0
#include "gemm_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/ptxgen/half.h"
#include "emit.h"
#include "test.h"

enum { POISON = 0xff, SAMPLES = 4000, ALIGNED = 8 };

static const double WHOLE_CHECK = 0x1p27;  // products, up to which every element is held against f64

// A matrix on both sides: `lines` lines of `length` elements each, rows or columns.
typedef struct matrix {
    bool      by_columns;
    uint64_t  lines, length, leading;
    uint16_t *at;
    cj_ptr    device;
} matrix;

typedef struct problem {
    const char  *words;
    cj_device   *device;
    cj_params    params;
    half_format  format;
    uint64_t     m, n, k;
    bool         adds_c;
    matrix       a, b, c, d;
    float        alpha, beta;
    cj_gemm_desc desc;  // the leading dimensions
} problem;

static size_t bytes_of(const matrix *x) { return (size_t)(x->lines * x->leading) * sizeof *x->at; }

static uint16_t *element(const matrix *x, uint64_t row, uint64_t column) {
    return &x->at[x->by_columns ? column * x->leading + row : row * x->leading + column];
}

static double value(const problem *p, const matrix *x, uint64_t row, uint64_t column) {
    return half_to(p->format, *element(x, row, column));
}

static double random_real(uint64_t *random) { return (double)(cj_test_random(random) >> 40) * 0x1p-23 - 1; }

// Random elements, and NaN behind each line.
static void fill_matrix(const problem *p, matrix *x, uint64_t *random) {
    memset(x->at, POISON, bytes_of(x));
    for (uint64_t line = 0; line < x->lines; line++)
        for (uint64_t i = 0; i < x->length; i++)
            x->at[line * x->leading + i] = half_from(p->format, random_real(random));
}

static void make_matrix(problem *p, matrix *x, const char *order, uint64_t rows, uint64_t columns, uint64_t *random) {
    cj_error error = {0};
    x->by_columns = cj_params_get(&p->params, order) == 1;
    x->lines = x->by_columns ? columns : rows;
    x->length = x->by_columns ? rows : columns;
    x->leading = (x->length + ALIGNED - 1 + cj_test_random(random) % 3 * ALIGNED) / ALIGNED * ALIGNED;
    x->at = malloc(bytes_of(x));
    assert_non_null(x->at);
    cj_test_ok(cj_mem_alloc(p->device, bytes_of(x), &x->device, &error), &error);
    fill_matrix(p, x, random);
}

static void send(const problem *p, const matrix *x) {
    cj_error error = {0};
    cj_test_ok(cj_mem_write(p->device, x->device, x->at, bytes_of(x), NULL, &error), &error);
}

static void open_problem(problem *p, cj_device *device, const char *words, uint64_t *random) {
    static const float factors[] = {1, 0.5F, -2, 0.37F};
    cj_error           error = {0};
    *p = (problem){.words = words, .device = device};
    cj_test_ok(cj_test_params("gemm", words, &p->params, &error), &error);
    p->m = cj_params_get(&p->params, "m");
    p->n = cj_params_get(&p->params, "n");
    p->k = cj_params_get(&p->params, "k");
    p->format = cj_params_get(&p->params, "dtype") ? half_f16 : half_bf16;
    p->adds_c = cj_params_get(&p->params, "c") == 1;
    p->alpha = factors[cj_test_random(random) % 4];
    p->beta = factors[cj_test_random(random) % 4];
    make_matrix(p, &p->a, "a", p->m, p->k, random);
    make_matrix(p, &p->b, "b", p->k, p->n, random);
    make_matrix(p, &p->c, "d", p->m, p->n, random);
    make_matrix(p, &p->d, "d", p->m, p->n, random);
    p->desc = (cj_gemm_desc){.lda = p->a.leading, .ldb = p->b.leading, .ldc = p->c.leading, .ldd = p->d.leading};
}

static void close_problem(problem *p) {
    matrix *all[] = {&p->a, &p->b, &p->c, &p->d};
    for (size_t i = 0; i < CJ_TEST_COUNT(all); i++) {
        cj_mem_free(p->device, all[i]->device);
        free(all[i]->at);
    }
}

// ---- the host's way

// An element of D, and in *bound how far the device may be from it: rounded once to the type, its sums added up in
// f32 in any order.
static double expected(const problem *p, uint64_t row, uint64_t column, double *bound) {
    double sum = 0, size = 0;
    for (uint64_t i = 0; i < p->k; i++) {
        const double product = value(p, &p->a, row, i) * value(p, &p->b, i, column);
        sum += product;
        size += fabs(product);
    }
    const double c = p->adds_c ? p->beta * value(p, &p->c, row, column) : 0, want = p->alpha * sum + c;
    const double error = ldexp((double)p->k, -22) * (fabs((double)p->alpha) * size + fabs(c));
    *bound = ldexp(fabs(want) + error, -p->format.fraction - 1) + error + 0x1p-25;
    return want;
}

static void check_element(const problem *p, uint64_t row, uint64_t column) {
    double       bound;
    const double want = expected(p, row, column, &bound), got = value(p, &p->d, row, column);
    if (isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= bound) return;
    fail_msg("%s: D(%" PRIu64 ", %" PRIu64 ") is %.9g, not %.9g +- %.3g (alpha %g, beta %g, ld %" PRIu64 " %" PRIu64
             " %" PRIu64 " %" PRIu64 ")",
             p->words, row, column, got, want, bound, (double)p->alpha, (double)p->beta, p->a.leading, p->b.leading,
             p->c.leading, p->d.leading);
}

static void check(const problem *p, uint64_t *random) {
    const double products = (double)p->m * (double)p->n * (double)p->k;
    for (uint64_t i = 0; products > WHOLE_CHECK && i < SAMPLES; i++)
        check_element(p, cj_test_random(random) % p->m, cj_test_random(random) % p->n);
    for (uint64_t i = 0; products <= WHOLE_CHECK && i < p->m * p->n; i++) check_element(p, i / p->n, i % p->n);
    for (uint64_t line = 0; line < p->d.lines; line++)
        for (uint64_t i = p->d.length; i < p->d.leading; i++)
            if (p->d.at[line * p->d.leading + i] != 0xffff)
                fail_msg("%s: written behind line %" PRIu64, p->words, line);
}

// ---- a case

static void launch_twice(problem *p, uint64_t *random) {
    cj_kernel             *kernel = NULL;
    cj_error               error = {0};
    const cj_gemm_operands operands = {p->a.device, p->b.device, p->c.device, p->d.device, p->alpha, p->beta};
    cj_status              status = cj_kernel_create(p->device, &p->params, &kernel, &error);
    for (int time = 0; time < 2; time++) {
        if (!status) status = cj_mem_fill(p->device, p->d.device, POISON, bytes_of(&p->d), NULL, &error);
        if (!status) status = cj_gemm_kernel_launch(p->device, kernel, &p->desc, &operands, NULL, &error);
        if (!status) status = cj_mem_read(p->device, p->d.at, p->d.device, bytes_of(&p->d), NULL, &error);
        if (status) fail_msg("%s: %s: %s %s", p->words, cj_status_name(status), error.message, error.hint);
        check(p, random);
    }
    cj_kernel_destroy(kernel);
}

static void send_all(const problem *p) {
    send(p, &p->a);
    send(p, &p->b);
    send(p, &p->c);
}

void cj_test_gemm(cj_device *device, const char *words, uint64_t *random) {
    problem p;
    open_problem(&p, device, words, random);
    send_all(&p);
    launch_twice(&p, random);
    close_problem(&p);
}

void cj_test_gemm_specials(cj_device *device, const char *words, uint64_t *random) {
    problem p;
    open_problem(&p, device, words, random);
    *element(&p.a, p.m / 2, p.k - 1) = half_from(p.format, (double)NAN);
    *element(&p.a, p.m - 1, p.k / 2) = half_from(p.format, (double)INFINITY);
    *element(&p.b, 0, p.n / 3) = half_from(p.format, -(double)INFINITY);
    send_all(&p);
    launch_twice(&p, random);
    close_problem(&p);
}

// ---- many of them

static uint32_t draw(uint64_t *random, uint32_t from, uint32_t to) {
    return from + (uint32_t)(cj_test_random(random) % (to - from + 1));
}

// Any size, or one beside a multiple of 8, 64, 128 or 256.
static uint32_t draw_size(uint64_t *random, uint32_t most) {
    static const uint32_t units[] = {1, 8, 64, 128, 256};
    const uint32_t unit = units[draw(random, 0, 4)], size = draw(random, 1, most) / unit * unit + draw(random, 0, 2);
    return size < 2 ? 1 : size - 1 > most ? most : size - 1;
}

#define PICK(random, ...)   \
    ((const char *const[]){ \
        __VA_ARGS__})[draw(random, 0, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) - 1)]

void cj_test_gemm_random(cj_device *device, size_t count, uint32_t most, uint64_t *random) {
    for (size_t i = 0; i < count; i++) {
        char words[240];
        snprintf(words, sizeof words, "m=%u n=%u k=%u a=%s b=%s d=%s c=%s dtype=%s tile=%s %s stages=%s",
                 draw_size(random, most), draw_size(random, most), draw_size(random, most),
                 PICK(random, "row", "column"), PICK(random, "row", "column"), PICK(random, "row", "column"),
                 PICK(random, "no", "no", "yes"), PICK(random, "bf16", "f16"),
                 PICK(random, "auto", "128x256", "128x128", "64x256", "64x128", "64x64"),
                 PICK(random, "cluster=auto", "cluster=0", "cluster=1", "cluster=2", "cluster=4",
                      "cluster=1 cluster-n=2", "cluster=1 cluster-n=4", "cluster=2 cluster-n=2"),
                 PICK(random, "0", "0", "2", "3"));
        cj_test_gemm(device, words, random);
    }
}

// ---- typed calls

typedef struct refusal {
    const char  *says;
    cj_gemm_desc desc;
    cj_ptr       skew;  // added to the address of A
} refusal;

static void what_is_refused(problem *p, const cj_gemm_operands *good) {
    const refusal refusals[] = {
        {"m: 0", {.n = 1, .k = 1, .dtype = CJ_BF16}, 0},
        {"dtype", {.m = 1, .n = 1, .k = 1, .dtype = CJ_F64}, 0},
        {"cluster", {.m = 1, .n = 1, .k = 1, .dtype = CJ_BF16, .cluster = 3}, 0},
        {"lda: 41", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .lda = 41}, 0},
        {"ldb: 8", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .ldb = 8}, 0},
        {"ldd: 42", {.m = 40, .n = 42, .k = 40, .dtype = CJ_BF16, .ldb = 48}, 0},
        {"a: 0x", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16}, 2},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(refusals); i++) {
        cj_gemm_operands operands = *good;
        cj_error         error = {0};
        operands.a += refusals[i].skew;
        assert_int_equal(cj_gemm_launch(p->device, &refusals[i].desc, &operands, NULL, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, refusals[i].says)) fail_msg("%s: %s", refusals[i].says, error.message);
    }
}

void cj_test_gemm_calls(cj_device *device) {
    uint64_t random = 3;
    problem  p;
    cj_gemm *gemm = NULL;
    cj_error error = {0};
    open_problem(&p, device, "m=40 n=72 k=100 b=column d=column c=yes", &random);
    cj_gemm_desc desc = p.desc;
    desc.m = p.m, desc.n = p.n, desc.k = p.k, desc.dtype = CJ_BF16, desc.b = desc.d = CJ_GEMM_COLUMN,
    desc.adds_c = true;
    const cj_gemm_operands operands = {p.a.device, p.b.device, p.c.device, p.d.device, p.alpha, p.beta};
    send_all(&p);
    cj_test_ok(cj_gemm_create(device, &desc, &gemm, &error), &error);
    for (int call = 0; call < 3; call++) {
        cj_test_ok(cj_mem_fill(device, p.d.device, POISON, bytes_of(&p.d), NULL, &error), &error);
        if (call)
            cj_test_ok(cj_gemm_launch(device, &desc, &operands, NULL, &error), &error);
        else
            cj_test_ok(cj_gemm_run(gemm, &operands, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, p.d.at, p.d.device, bytes_of(&p.d), NULL, &error), &error);
        check(&p, &random);
    }
    what_is_refused(&p, &operands);
    cj_gemm_destroy(gemm);
    close_problem(&p);
}
