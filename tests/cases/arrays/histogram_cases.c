// SPDX-License-Identifier: Apache-2.0
#include "histogram_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "models/histogram_model.h"
#include "test.h"

enum { GUARD = 8 };  // counts before and after those of the kernel

typedef struct problem {
    const char     *words;
    cj_params       params;
    uint64_t        n;
    histogram_model model;
    size_t          sample_bytes, count_bytes;
    bool            sets;  // the counts before are overwritten
} problem;

static cj_dtype dtype_named(const char *name) {
    for (int type = 0; cj_dtype_name((cj_dtype)type); type++)
        if (!strcmp(cj_dtype_name((cj_dtype)type), name)) return (cj_dtype)type;
    fail_msg("'%s' is no type", name);
    return CJ_F32;
}

static problem read_problem(const char *words) {
    problem  p = {.words = words};
    cj_error error = {0};
    char     word[16];
    cj_test_ok(cj_test_params("histogram", words, &p.params, &error), &error);
    p.n = cj_params_get(&p.params, "n");
    p.model = histogram_model_of(&p.params);
    p.sample_bytes = cj_dtype_size(p.model.dtype);
    p.count_bytes = cj_dtype_size(dtype_named(cj_params_word(&p.params, "counts", word, sizeof word)));
    return p;
}

// ---- samples

// A place in the range, from 0, its lower end, to 1, its upper end.
static double place(cj_test_fill fill, uint64_t i, uint64_t n, uint64_t *state) {
    const double u = (double)(cj_test_random(state) >> 11) * 0x1p-53;
    switch (fill) {
    case CJ_FILL_SKEWED: return u * u * u * u;
    case CJ_FILL_EQUAL: return 0.4321;
    case CJ_FILL_SORTED: return (double)i / (double)n;
    case CJ_FILL_TWO: return u < 0.5 ? 0.25 : 0.75;
    case CJ_FILL_WILD: return 3 * u - 1;
    default: return u;
    }
}

static void write_sample(const problem *p, double at, uint64_t i, void *to) {
    static const float wild[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-45f, -3e38f, 3e38f};
    const double       x = p->model.lower + at * (p->model.upper - p->model.lower);
    if (p->model.dtype == CJ_F32) {
        float value = (float)x;
        if (at < 0 && i % 16 < sizeof wild / sizeof *wild) value = wild[i % 16];
        memcpy(to, &value, 4);
        return;
    }
    const double   most = ldexp(1, (int)(8 * p->sample_bytes)) - 1;
    const uint32_t value = (uint32_t)(x < 0 ? 0 : x > most ? most : x);
    memcpy(to, &value, p->sample_bytes);  // little-endian
}

// The last sample of a bin or the first of the next; also the ends of the range.
static void write_edge(const problem *p, uint64_t *state, void *to) {
    const uint64_t draw = cj_test_random(state), bin = draw % 4 ? draw / 8 % (p->model.bins + 1) : p->model.bins;
    const bool     last = draw & 4;
    if (p->model.dtype == CJ_F32) {
        const float edge = (float)(p->model.lower +
                                   (p->model.upper - p->model.lower) * (double)bin / (double)p->model.bins);
        const float value = last ? nextafterf(edge, -INFINITY) : edge;
        memcpy(to, &value, 4);
        return;
    }
    const uint64_t lower = (uint64_t)p->model.lower, width = (uint64_t)p->model.upper - lower;
    const uint32_t value = (uint32_t)(lower + (bin * width + p->model.bins - 1) / p->model.bins - last);
    memcpy(to, &value, p->sample_bytes);  // little-endian
}

static unsigned char *make_samples(const problem *p, cj_test_fill fill, uint64_t seed, uint64_t *expected) {
    unsigned char *samples = malloc(p->n * p->sample_bytes);
    assert_non_null(samples);
    for (uint64_t i = 0; i < p->n; i++) {
        unsigned char *to = samples + i * p->sample_bytes;
        if (fill == CJ_FILL_EDGES)
            write_edge(p, &seed, to);
        else
            write_sample(p, place(fill, i, p->n, &seed), i, to);
        const uint64_t bin = histogram_model_bin(&p->model, to);
        if (bin < p->model.bins) expected[bin]++;
    }
    return samples;
}

// ---- one kernel

static uint64_t read_count(const problem *p, const unsigned char *counts, uint64_t i) {
    uint64_t value = 0;
    memcpy(&value, counts + i * p->count_bytes, p->count_bytes);
    return value;
}

static void compare(const problem *p, const unsigned char *before, const unsigned char *after, const uint64_t *expected,
                    cj_test_fill fill) {
    const uint64_t mask = p->count_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (uint64_t i = 0; i < p->model.bins + 2 * GUARD; i++) {
        const bool     guard = i < GUARD || i >= GUARD + p->model.bins;
        const uint64_t added = (read_count(p, before, i) + (guard ? 0 : 2 * expected[i - GUARD])) & mask;
        const uint64_t wanted = p->sets && !guard ? expected[i - GUARD] : added;
        const uint64_t found = read_count(p, after, i);
        if (found != wanted)
            fail_msg("%s, fill %d: count %" PRId64 " is %" PRIu64 ", not %" PRIu64 " (each launch counts %" PRIu64 ")",
                     p->words, (int)fill, (int64_t)i - GUARD, found, wanted, guard ? 0 : expected[i - GUARD]);
    }
}

void cj_test_histogram(cj_device *device, const char *words, cj_test_fill fill, unsigned shift, uint64_t seed) {
    cj_test_histogram_at(device, words, fill, shift, 0, seed);
}

void cj_test_histogram_at(cj_device *device, const char *words, cj_test_fill fill, unsigned shift, unsigned counts_shift,
                          uint64_t seed) {
    problem        p = read_problem(words);
    const size_t   count_bytes = (p.model.bins + 2 * GUARD) * p.count_bytes, bytes = p.n * p.sample_bytes;
    uint64_t      *expected = calloc(p.model.bins, sizeof *expected);
    unsigned char *before = malloc(count_bytes), *after = malloc(count_bytes);
    cj_error       error = {0};
    cj_kernel     *kernel = NULL;
    cj_ptr         x = 0, allocated = 0, counts;
    assert_true(expected && before && after);
    for (size_t i = 0; i < count_bytes; i++) before[i] = (unsigned char)cj_test_random(&seed);
    unsigned char *samples = make_samples(&p, fill, seed, expected);
    cj_test_ok(cj_mem_alloc(device, bytes + shift * p.sample_bytes, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, count_bytes + counts_shift * p.count_bytes, &allocated, &error), &error);
    counts = allocated + counts_shift * p.count_bytes;
    cj_test_ok(cj_mem_write(device, x + shift * p.sample_bytes, samples, bytes, NULL, &error), &error);
    cj_test_ok(cj_mem_write(device, counts, before, count_bytes, NULL, &error), &error);
    if (cj_kernel_create(device, &p.params, &kernel, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    char result[16];
    p.sets = !strcmp(cj_params_word(&cj_kernel_plan(kernel)->params, "result", result, sizeof result), "set");
    for (int time = 0; time < 2; time++) {
        cj_ptr   from = x + shift * p.sample_bytes, to = counts + GUARD * p.count_bytes;
        uint64_t n = p.n;
        void    *arguments[] = {&from, &to, &n};
        if (cj_kernel_launch(kernel, NULL, arguments, 3, &error))
            fail_msg("%s: %s %s", words, error.message, error.hint);
    }
    cj_test_ok(cj_mem_read(device, after, counts, count_bytes, NULL, &error), &error);
    compare(&p, before, after, expected, fill);
    cj_kernel_destroy(kernel);
    cj_mem_free(device, x);
    cj_mem_free(device, allocated);
    free(samples);
    free(expected);
    free(before);
    free(after);
}

// ---- drawn from a seed

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

// A power of two of at most 2^most, one less or more, or any number up to it; at least 1.
static uint64_t around_powers(uint64_t *seed, unsigned most) {
    const uint64_t power = UINT64_C(1) << below(seed, most + 1), way = below(seed, 4);
    const uint64_t value = way == 0 ? power : way == 1 ? power + 1 : way == 2 ? power - 1 : below(seed, power) + 1;
    return value ? value : 1;
}

// A range as parameters, of integers within the range of the type and somewhat outside.
static void draw_range(uint64_t *seed, cj_dtype type, char *text, size_t size) {
    const unsigned bits = 8 * (unsigned)cj_dtype_size(type);
    *text = '\0';
    if (below(seed, 3) == 0) return;
    if (type == CJ_F32) {
        const double lower = (double)below(seed, 2000) / 64 - 15, width = (double)(below(seed, 1000) + 1) / 32;
        snprintf(text, size, " lower=%.17g upper=%.17g", lower, lower + width);
        return;
    }
    const uint64_t lower = below(seed, 2) ? below(seed, UINT64_C(1) << (bits - 1)) : 0;
    uint64_t       upper = lower + around_powers(seed, bits);
    if (upper > UINT64_C(1) << 32) upper = UINT64_C(1) << 32;
    snprintf(text, size, " lower=%" PRIu64 " upper=%" PRIu64, lower, upper);
}

void cj_test_histogram_random(cj_device *device, uint64_t *seed, uint64_t most) {
    static const cj_dtype    types[] = {CJ_U8, CJ_U16, CJ_U32, CJ_F32};
    static const char *const widths[] = {"32", "16", "10", "8", "4", "auto"};
    static const unsigned    clusters[] = {0, 0, 1, 2, 3, 4, 8}, blocks[] = {32, 64, 128, 256};
    const cj_dtype           type = types[below(seed, CJ_TEST_COUNT(types))];
    const unsigned           cluster = clusters[below(seed, CJ_TEST_COUNT(clusters))];
    const uint64_t           n = 1 + (below(seed, 2) ? below(seed, most) : around_powers(seed, 12) % most);
    char                     range[96], words[256];
    static const char *const forms[] = {" result=set", " memory=global", " memory=shared", ""};
    const bool               remote = cluster && below(seed, 3) == 0;
    const char              *form = remote ? " strategy=remote" : cluster ? "" : forms[below(seed, CJ_TEST_COUNT(forms))];
    const bool               wide = remote || !strcmp(form, forms[0]) || !strcmp(form, forms[1]);
    draw_range(seed, type, range, sizeof range);
    snprintf(words, sizeof words,
             "n=%" PRIu64 " bins=%" PRIu64 " dtype=%s counts=%s width=%s block=%u cluster=%u grid=%u%s%s", n,
             around_powers(seed, 15), cj_dtype_name(type), below(seed, 4) ? "u32" : "u64",
             wide ? "auto" : widths[below(seed, 6)], blocks[below(seed, 4)], cluster,
             (cluster ? cluster : 1) * (unsigned)(1 + below(seed, 3)), range, form);
    const cj_test_fill fill = (cj_test_fill)below(seed, CJ_FILL_COUNT);
    const unsigned     shift = (unsigned)below(seed, 16);
    cj_test_histogram_at(device, words, fill, shift, (unsigned)below(seed, 4), *seed);
}

void cj_test_histogram_few(cj_device *device) {
    static const unsigned    ns[] = {1, 3, 4, 16, 127, 128, 129, 2300, 16384}, bins[] = {1, 10, 256, 257, 4096};
    static const char *const types[] = {"u8", "u16", "u32", "f32"};
    for (size_t i = 0; i < CJ_TEST_COUNT(ns) * CJ_TEST_COUNT(bins); i++) {
        char           words[128];
        const unsigned n = ns[i % CJ_TEST_COUNT(ns)], count = bins[i / CJ_TEST_COUNT(ns)];
        snprintf(words, sizeof words, "n=%u bins=%u dtype=%s counts=%s result=set", n, count, types[i % 4],
                 i % 3 ? "u32" : "u64");
        cj_test_histogram(device, words, (cj_test_fill)(i % CJ_FILL_COUNT), (unsigned)i % 5, i);
    }
    cj_test_histogram(device, "n=3000 bins=70000 result=set", CJ_FILL_UNIFORM, 1, 7);
}

// Each block has bins of its own: from as many on as make a grid, whole lines of counts or not, at any address; and a grid that
// is asked for, with blocks that have no bins.
void cj_test_histogram_grid(cj_device *device, unsigned first, unsigned step) {
    static const unsigned    bins[] = {8191, 8192, 8193, 10240, 262144}, ns[] = {1, 1945, 8192, 8193};
    static const char *const kinds[] = {"dtype=f32 result=set", "dtype=u32 counts=u64 result=set", "dtype=u16 result=set block=96",
                                        "dtype=u32 result=auto", "dtype=f32 counts=u64 result=set", "dtype=u8 counts=u64 result=set"};
    static const char *const asked[] = {"n=700 bins=256 grid=2 block=32", "n=5 bins=1000 grid=7 counts=u64",
                                        "n=3000 bins=100 dtype=u8 grid=9 block=64", "n=2000 bins=900 dtype=f32 cluster=4",
                                        "n=9000 bins=300 dtype=u16 cluster=2 grid=6 block=32"};
    enum { DRAWN = 20, ASKED = 25 };
    for (unsigned i = first; i < DRAWN + ASKED; i += step) {
        char words[120];
        if (i < DRAWN)
            snprintf(words, sizeof words, "n=%u bins=%u %s", ns[i % 4], bins[i / 4], kinds[(i + i / 4) % CJ_TEST_COUNT(kinds)]);
        else
            snprintf(words, sizeof words, "%s result=set", asked[i / 5 % CJ_TEST_COUNT(asked)]);
        cj_test_histogram_at(device, words, (cj_test_fill)(i % CJ_FILL_COUNT), i % 5, i % 4, i);
    }
}

// Warps of one bin, of few, of many, and lanes without a vector.
void cj_test_histogram_global(cj_device *device, unsigned first, unsigned step) {
    static const char *const types[] = {"u8", "u16", "u32", "f32"};
    static const unsigned    ns[] = {1, 15, 127, 511, 3000}, bins[] = {1, 100, 70000}, blocks[] = {32, 64, 256};
    for (unsigned i = first; i < 120; i += step) {
        char words[160];
        snprintf(words, sizeof words, "n=%u bins=%u dtype=%s counts=%s block=%u memory=global%s", ns[i % 5], bins[i / 4 % 3],
                 types[i % 4], i % 7 ? "u32" : "u64", blocks[i / 3 % 3], i % 11 ? "" : " grid=2");
        cj_test_histogram_at(device, words, (cj_test_fill)(i % CJ_FILL_COUNT), i % 6, i % 4, i);
    }
}

// ---- the typed call

void cj_test_histogram_call(cj_device *device) {
    enum { N = 5000, BINS = 256 };
    const cj_histogram_desc desc = {CJ_INIT(desc), .n = N, .dtype = CJ_U8},
                            remote = {CJ_INIT(remote), .n = N, .dtype = CJ_U8, .cluster = 4,
                                      .strategy = CJ_HISTOGRAM_REMOTE};
    static uint8_t samples[N];
    uint32_t       expected[BINS] = {0}, found[BINS];
    uint64_t       seed = cj_test_seed();
    cj_error       error = {0};
    cj_histogram  *histogram = NULL;
    cj_ptr         x = 0, counts = 0;
    for (int i = 0; i < N; i++) expected[samples[i] = (uint8_t)cj_test_random(&seed)]++;
    cj_test_ok(cj_mem_alloc(device, sizeof samples, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof found, &counts, &error), &error);
    cj_test_ok(cj_mem_write(device, x, samples, sizeof samples, NULL, &error), &error);
    cj_test_ok(cj_histogram_create(device, &desc, &histogram, &error), &error);
    for (int way = 0; way < 3; way++) {  // through a handle, and in one call, then with remote counters
        cj_test_ok(cj_mem_fill(device, counts, 0xa5, sizeof found, NULL, &error), &error);
        cj_test_ok(way ? cj_histogram_launch(device, way > 1 ? &remote : &desc, x, counts, NULL, &error)
                       : cj_histogram_run(histogram, x, counts, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, found, counts, sizeof found, NULL, &error), &error);
        assert_memory_equal(found, expected, sizeof found);
    }
    cj_test_ok(cj_histogram_add(histogram, x, counts, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, found, counts, sizeof found, NULL, &error), &error);
    for (int i = 0; i < BINS; i++) assert_int_equal(found[i], 2 * expected[i]);
    assert_int_equal(cj_histogram_run(histogram, 0, counts, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "x: NULL"));
    assert_int_equal(cj_histogram_add(histogram, x, counts + 2, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "counts: 0x"));
    cj_histogram_destroy(histogram);
    cj_mem_free(device, x);
    cj_mem_free(device, counts);
}
