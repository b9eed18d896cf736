// SPDX-License-Identifier: Apache-2.0
#include "reduce_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { OPS = 3, CHUNK = 1 << 20, SHIFT = 1 };  // elements a chunk; elements that x is moved by in the unaligned cases

// What the result over the first n elements must be, for all three operations.
typedef struct expected {
    long double sum, magnitude;  // of floats: the sum, and the sum of absolute values
    uint64_t    wrapped;         // of integers: the sum modulo 2^64
    double      least, most;     // of floats
    uint64_t    least_bits, most_bits;  // of integers, as stored
} expected;

static bool is_float(cj_dtype type) { return type == CJ_F32 || type == CJ_F64; }
static bool is_signed(cj_dtype type) { return type == CJ_I32 || type == CJ_I64; }

// Element i: floats in [-1, 1) that need every bit of their significand, integers that need every bit.
static void make(cj_dtype type, uint64_t i, void *to) {
    uint64_t state = i, bits = cj_test_random(&state);
    float    f = (float)((double)(bits >> 40) * 0x1p-23 - 1);
    double   d = (double)(bits >> 11) * 0x1p-52 - 1;
    switch (type) {
    case CJ_F32: memcpy(to, &f, 4); break;
    case CJ_F64: memcpy(to, &d, 8); break;
    case CJ_I32:
    case CJ_U32: memcpy(to, &bits, 4); break;
    case CJ_I64:
    case CJ_U64: memcpy(to, &bits, 8); break;
    }
}

// Stored bits as an integer of 64 bits, sign extended where the type has a sign.
static uint64_t widen(cj_dtype type, const void *from) {
    int32_t  s;
    uint32_t u;
    uint64_t wide;
    if (cj_dtype_size(type) == 8) return memcpy(&wide, from, 8), wide;
    if (is_signed(type)) return memcpy(&s, from, 4), (uint64_t)(int64_t)s;
    return memcpy(&u, from, 4), u;
}

static double as_double(cj_dtype type, const void *from) {
    float  f;
    double d;
    if (type == CJ_F32) return memcpy(&f, from, 4), (double)f;
    return memcpy(&d, from, 8), d;
}

static bool less(cj_dtype type, uint64_t a, uint64_t b) { return is_signed(type) ? (int64_t)a < (int64_t)b : a < b; }

static void include(expected *e, cj_dtype type, const void *element, bool first) {
    if (is_float(type)) {
        double value = as_double(type, element);
        e->sum += value;
        e->magnitude += fabs(value);
        e->least = first || value < e->least ? value : e->least;
        e->most = first || value > e->most ? value : e->most;
    } else {
        uint64_t value = widen(type, element);
        e->wrapped += value;
        if (first || less(type, value, e->least_bits)) e->least_bits = value;
        if (first || less(type, e->most_bits, value)) e->most_bits = value;
    }
}

// Writes as many elements as the largest of the first `sizes` sizes has to both devices, and notes what each size's results
// must be.
static void upload(cj_device *device, cj_ptr x, cj_dtype type, const cj_reduce_cases *cases, size_t sizes, cj_ptr twin_x,
                   expected *results) {
    size_t         bytes = cj_dtype_size(type);
    unsigned char *chunk = malloc(CHUNK * bytes);
    uint64_t       most = cases->n[sizes - 1], i = 0;
    expected       running = {0};
    cj_error       error = {0};
    size_t         next = 0;
    assert_non_null(chunk);
    while (i < most) {
        uint64_t start = i;
        for (; i < most && i < start + CHUNK; i++) {
            unsigned char *element = chunk + (i - start) * bytes;
            make(type, i, element);
            include(&running, type, element, i == 0);
            if (i + 1 == cases->n[next]) results[next++] = running;
        }
        cj_test_ok(cj_mem_write(device, x + start * bytes, chunk, (i - start) * bytes, NULL, &error), &error);
        if (twin_x && start < cases->twin_n) {
            uint64_t count = i < cases->twin_n ? i - start : cases->twin_n - start;
            cj_test_ok(cj_mem_write(cases->twin, twin_x + start * bytes, chunk, count * bytes, NULL, &error), &error);
        }
    }
    free(chunk);
}

static void check(cj_dtype type, cj_reduce_op op, const expected *e, const cj_plan *plan, const void *out,
                  const char *where) {
    size_t bytes = cj_dtype_size(type);
    if (!is_float(type)) {
        uint64_t want = op == CJ_REDUCE_SUM ? e->wrapped : op == CJ_REDUCE_MIN ? e->least_bits : e->most_bits;
        if (memcmp(out, &want, bytes)) fail_msg("%s: %" PRIx64 " is not %" PRIx64, where, widen(type, out), want);
        return;
    }
    double got = as_double(type, out);
    if (op != CJ_REDUCE_SUM) {
        double want = op == CJ_REDUCE_MIN ? e->least : e->most;
        if (got != want) fail_msg("%s: %.17g is not %.17g", where, got, want);
        return;
    }
    long double wrong = fabsl((long double)got - e->sum), bound = (long double)plan->error_bound * e->magnitude;
    if (!(wrong <= bound))
        fail_msg("%s: %.17g is %.3Lg away from %.17Lg, the bound is %.3Lg", where, got, wrong, e->sum, bound);
}

// One kernel, launched twice on poisoned output; leaves the last result's bytes in `result`.
static void launch(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, const expected *e,
                   unsigned char result[8], const char *where) {
    cj_error   error = {0};
    cj_reduce *reduce = NULL;
    cj_test_ok(cj_reduce_create(device, desc, &reduce, &error), &error);
    for (int time = 0; time < 2; time++) {
        cj_test_ok(cj_mem_fill(device, out, 0xa5, 8, NULL, &error), &error);
        cj_test_ok(cj_reduce_run(reduce, x, out, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, result, out, 8, NULL, &error), &error);
        check(desc->dtype, desc->op, e, cj_kernel_plan(cj_reduce_kernel(reduce)), result, where);
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
    cj_test_ok(cj_mem_alloc(device, 8, &m->out, &error), &error);
    if (!cases->twin) return;
    cj_test_ok(cj_mem_alloc(cases->twin, (cases->twin_n + SHIFT) * bytes, &m->twin_x, &error), &error);
    cj_test_ok(cj_mem_alloc(cases->twin, 8, &m->twin_out, &error), &error);
}

static size_t run_size(cj_device *device, cj_dtype type, const cj_reduce_cases *cases, const memory *m, uint64_t n,
                       uint64_t shift, const expected *e) {
    size_t launches = 0, bytes = cj_dtype_size(type);
    for (size_t c = 0; c < cases->cluster_count; c++)
        for (size_t b = 0; b < cases->block_count; b++)
            for (int op = 0; op < OPS; op++) {
                cj_reduce_desc desc = {.n = n, .op = (cj_reduce_op)op, .dtype = type, .block = cases->block[b],
                                       .cluster = cases->cluster[c]};
                unsigned char  result[8] = {0}, twin[8] = {0};
                char           where[128];
                snprintf(where, sizeof where, "%s op %d n=%" PRIu64 " block=%u cluster=%u shift=%" PRIu64,
                         cj_dtype_name(type), op, n, desc.block, desc.cluster, shift);
                launch(device, &desc, m->x + shift * bytes, m->out, e, result, where);
                launches += 2;
                if (!cases->twin || n > cases->twin_n) continue;
                launch(cases->twin, &desc, m->twin_x + shift * bytes, m->twin_out, e, twin, where);
                if (memcmp(result, twin, bytes)) fail_msg("%s: the two devices disagree", where);
            }
    return launches;
}

size_t cj_test_reduce(cj_device *device, cj_dtype type, const cj_reduce_cases *cases) {
    memory    m = {0};
    size_t    launches = 0, bytes = cj_dtype_size(type);
    expected *results = calloc(cases->n_count, sizeof *results);
    assert_non_null(results);
    allocate(device, type, cases, &m);
    for (uint64_t shift = 0; shift <= SHIFT; shift++) {
        size_t sizes = 0;
        while (sizes < cases->n_count && (!shift || cases->n[sizes] <= cases->unaligned_n)) sizes++;
        if (sizes) upload(device, m.x + shift * bytes, type, cases, sizes, m.twin_x ? m.twin_x + shift * bytes : 0, results);
        for (size_t i = 0; i < sizes; i++)
            launches += run_size(device, type, cases, &m, cases->n[i], shift, &results[i]);
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
