// SPDX-License-Identifier: Apache-2.0
#include "gpus_gemm_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpus_state.h"
#include "models/half.h"
#include "test.h"

// A problem on all ranks: matrices of rank r begin at r times their elements. Values are eighths from -1 to 1, exact in every type.
typedef struct problem {
    const cj_gpus_gemm_desc *desc;
    bool                     gathers;
    uint32_t                 gpus;
    size_t                   a_count, b_count, out_count;  // of a rank
    double                  *a, *b;
} problem;

static size_t bytes_of(cj_dtype dtype) { return dtype == CJ_TF32 ? 4 : 2; }

static void put(cj_dtype dtype, void *to, size_t at, double value) {
    const float    real = (float)value;
    const uint16_t half = dtype == CJ_TF32 ? 0 : half_from(dtype == CJ_F16 ? half_f16 : half_bf16, value);
    if (dtype == CJ_TF32)
        memcpy((char *)to + 4 * at, &real, 4);
    else
        memcpy((char *)to + 2 * at, &half, 2);
}

static double get(cj_dtype dtype, const void *from, size_t at) {
    float    real;
    uint16_t half;
    memcpy(&real, (const char *)from + (dtype == CJ_TF32 ? 4 * at : 0), 4);
    memcpy(&half, (const char *)from + (dtype == CJ_TF32 ? 0 : 2 * at), 2);
    return dtype == CJ_TF32 ? (double)real : half_to(dtype == CJ_F16 ? half_f16 : half_bf16, half);
}

static problem open_problem(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers) {
    problem        p = {.desc = desc, .gathers = gathers, .gpus = cj_gpus_count(gpus)};
    const uint64_t rows = desc->m / p.gpus;
    uint64_t       seed = desc->m * 31 + desc->n * 7 + desc->k;
    p.a_count = (size_t)((gathers ? rows : desc->m) * desc->k);
    p.b_count = (size_t)(desc->k * desc->n);
    p.out_count = (size_t)((gathers ? desc->m : rows) * desc->n);
    p.a = malloc(p.a_count * p.gpus * sizeof *p.a);
    p.b = malloc(p.b_count * p.gpus * sizeof *p.b);
    assert_true(p.a && p.b);
    for (size_t i = 0; i < p.a_count * p.gpus; i++) p.a[i] = (double)(int)(cj_test_random(&seed) % 17) / 8 - 1;
    for (size_t i = 0; i < p.b_count * p.gpus; i++) p.b[i] = (double)(int)(cj_test_random(&seed) % 17) / 8 - 1;
    return p;
}

// Element (row, column) of the product of what is rank q's. Row of all rows; of all-gather only column and B are q's.
static double product_at(const problem *p, uint32_t q, uint64_t row, uint64_t column) {
    const uint64_t n = p->desc->n, k = p->desc->k;
    const double  *a = p->a + (p->gathers ? row * k : q * p->a_count + row * k), *b = p->b + q * p->b_count;
    double         sum = 0;
    for (uint64_t i = 0; i < k; i++) sum += a[i] * (p->desc->b == CJ_GEMM_COLUMN ? b[column * k + i] : b[i * n + column]);
    return sum;
}

// What rank r gets, and how far it may be off: each product is rounded once, and their sum.
static double expected_at(const problem *p, uint32_t r, uint64_t row, uint64_t column, double *bound) {
    const double half_ulp = p->desc->dtype == CJ_BF16 ? 0x1p-8 : p->desc->dtype == CJ_F16 ? 0x1p-11 : 0x1p-22;
    double       sum = 0, size = 0;
    if (p->gathers) {
        sum = product_at(p, r, row, column);
        size = fabs(sum);
    } else {
        for (uint32_t q = 0; q < p->gpus; q++) {
            const double one = product_at(p, q, r * (p->desc->m / p->gpus) + row, column);
            sum += one;
            size += 2 * fabs(one);
        }
    }
    *bound = 1.01 * half_ulp * size + (double)p->desc->k * 0x1p-20;
    return sum;
}

// Of a large product every so many elements are computed, which reaches each column and each block of 16 bytes in some rows.
static uint64_t step_of(const problem *p) { return (uint64_t)p->out_count * p->desc->k > 1 << 24 ? 37 : 1; }

// The wrong elements of rank r: how many of those that are looked at, the first and the last.
typedef struct finding {
    uint64_t count, first, last;
    double   got, want;
} finding;

static finding look(cj_gpus *gpus, const problem *p, uint32_t r, cj_ptr out, unsigned char *found) {
    cj_error error = {0};
    finding  wrong = {0};
    cj_test_ok(cj_mem_read(cj_gpus_device(gpus, r), found, out, p->out_count * bytes_of(p->desc->dtype), NULL, &error), &error);
    for (uint64_t i = 0; i < p->out_count; i += step_of(p)) {
        double       bound;
        const double want = expected_at(p, r, i / p->desc->n, i % p->desc->n, &bound), got = get(p->desc->dtype, found, i);
        if (fabs(got - want) <= bound) continue;
        if (!wrong.count++) wrong.first = i, wrong.got = got, wrong.want = want;
        wrong.last = i;
    }
    return wrong;
}

// Where the gathered rows of rank r, which its product read, are not what the ranks gave: how many elements, and the first.
static finding look_at_rows(cj_gpus *gpus, const problem *p, uint32_t r) {
    const size_t   count = p->a_count * p->gpus;
    unsigned char *found = malloc(count * bytes_of(p->desc->dtype));
    finding        wrong = {0};
    assert_non_null(found);
    for (size_t i = 0; i < gpus->product_count; i++) {
        const cj_gpus_product *one = &gpus->product[i];
        const uint64_t        *key = one->key.what;
        if (!key[0] || key[1] != p->desc->m || key[2] != p->desc->n || key[3] != p->desc->k || key[4] != (uint64_t)p->desc->dtype) continue;
        if (cj_mem_read(gpus->device[r], found, one->whole[r], count * bytes_of(p->desc->dtype), NULL, NULL)) break;
        for (size_t at = 0; at < count; at++)
            if (get(p->desc->dtype, found, at) != p->a[at] && !wrong.count++) wrong.first = at;
        break;
    }
    free(found);
    return wrong;
}

// Says all that tells a rank that did not come from rows that came late, and from a product that read others.
static void explain(cj_gpus *gpus, const problem *p, unsigned time, uint32_t r, const finding *wrong, cj_ptr out, unsigned char *found) {
    cj_error        error = {0};
    const finding   rows = p->gathers ? look_at_rows(gpus, p, r) : (finding){0};
    const finding   again = look(gpus, p, r, out, found);
    const cj_status status = cj_gpus_check(gpus, &error);
    fail_msg("%s of %" PRIu32 " GPUs, %" PRIu64 " x %" PRIu64 " x %" PRIu64 ", %s, %" PRIu32 " chunks, call %u: %" PRIu64
             " elements of GPU %" PRIu32 " are wrong, %" PRIu64 " to %" PRIu64 ", the first is %g, not %g; looked at again %" PRIu64
             "; of the gathered rows %" PRIu64 " elements are wrong, from %" PRIu64 " on; check: %s",
             p->gathers ? "all_gather_gemm" : "gemm_reduce_scatter", p->gpus, p->desc->m, p->desc->n, p->desc->k, cj_dtype_name(p->desc->dtype),
             p->desc->chunks, time, wrong->count, r, wrong->first, wrong->last, wrong->got, wrong->want, again.count, rows.count, rows.first,
             status ? error.message : "ok");
}

static void compare(cj_gpus *gpus, const problem *p, unsigned time, const cj_ptr *out, unsigned char *found) {
    for (uint32_t r = 0; r < p->gpus; r++) {
        const finding wrong = look(gpus, p, r, out[r], found);
        if (wrong.count) explain(gpus, p, time, r, &wrong, out[r], found);
    }
}

static void write(cj_gpus *gpus, const problem *p, const double *from, size_t count, const cj_ptr *to) {
    cj_error       error = {0};
    unsigned char *host = malloc(count * bytes_of(p->desc->dtype));
    assert_non_null(host);
    for (uint32_t r = 0; r < p->gpus; r++) {
        for (size_t i = 0; i < count; i++) put(p->desc->dtype, host, i, from[r * count + i]);
        cj_test_ok(cj_mem_write(cj_gpus_device(gpus, r), to[r], host, count * bytes_of(p->desc->dtype), NULL, &error), &error);
    }
    free(host);
}

void cj_test_gpus_gemm(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers, const cj_stream *stream) {
    problem        p = open_problem(gpus, desc, gathers);
    const size_t   size = bytes_of(desc->dtype);
    unsigned char *found = malloc(p.out_count * size + 4);
    cj_ptr         a[CJ_GPUS_MAX], b[CJ_GPUS_MAX], out[CJ_GPUS_MAX];
    cj_error       error = {0};
    assert_non_null(found);
    cj_test_ok(cj_gpus_alloc(gpus, p.a_count * size, a, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, p.b_count * size, b, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, p.out_count * size, out, &error), &error);
    write(gpus, &p, p.a, p.a_count, a);
    write(gpus, &p, p.b, p.b_count, b);
    for (unsigned time = 0; time < 2; time++) {
        for (uint32_t r = 0; r < p.gpus; r++) {
            cj_test_ok(cj_mem_fill(cj_gpus_device(gpus, r), out[r], 0xa5, p.out_count * size, NULL, &error), &error);
            cj_test_ok(cj_synchronize(cj_gpus_device(gpus, r), NULL, &error), &error);
        }
        cj_test_ok((gathers ? cj_gpus_all_gather_gemm : cj_gpus_gemm_reduce_scatter)(gpus, desc, a, b, out, stream, &error), &error);
        for (uint32_t r = 0; r < p.gpus; r++)
            cj_test_ok(cj_synchronize(cj_gpus_device(gpus, r), stream ? stream[r] : NULL, &error), &error);
        compare(gpus, &p, time, out, found);
        cj_test_ok(cj_gpus_check(gpus, &error), &error);
    }
    cj_gpus_free(gpus, a);
    cj_gpus_free(gpus, b);
    cj_gpus_free(gpus, out);
    free(found);
    free(p.a);
    free(p.b);
}

void cj_test_gpus_gemm_all(cj_gpus *gpus, const cj_stream *stream, uint64_t most, uint64_t *random, unsigned draws) {
    static const cj_dtype types[] = {CJ_BF16, CJ_F16, CJ_TF32};
    for (unsigned i = 0; i < draws; i++) {
        cj_gpus_gemm_desc desc = {CJ_INIT(desc), .dtype = types[cj_test_random(random) % CJ_TEST_COUNT(types)]};
        const uint64_t    chunks = cj_test_random(random) % 4, rows = 1 + cj_test_random(random) % most;
        desc.chunks = (uint32_t)chunks;
        desc.m = cj_gpus_count(gpus) * (chunks ? (rows + chunks - 1) / chunks * chunks : rows);
        desc.n = 8 * (1 + cj_test_random(random) % (most / 8));
        desc.k = 8 * (1 + cj_test_random(random) % (most / 8));
        desc.b = desc.dtype == CJ_TF32 || cj_test_random(random) % 2 ? CJ_GEMM_COLUMN : CJ_GEMM_ROW;
        cj_test_gpus_gemm(gpus, &desc, i % 2, stream);
    }
}
