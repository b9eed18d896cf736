// SPDX-License-Identifier: Apache-2.0
#include "fused_cases.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "models/row_model.h"
#include "test.h"

enum { POISON = 0xa5, WORDS = 400 };

typedef struct fused {
    cj_gpus       *gpus;
    const char    *family, *words;
    fused_model    m;
    size_t         bytes[CJ_GPUS_ARRAYS], ahead[CJ_GPUS_ARRAYS];
    cj_ptr         at[CJ_GPUS_ARRAYS][CJ_GPUS_MAX];
    const cj_ptr  *array[CJ_GPUS_ARRAYS];
    unsigned char *data[CJ_GPUS_MAX][CJ_GPUS_ARRAYS];
    double        *expected[CJ_GPUS_MAX][CJ_GPUS_ARRAYS];
    cj_kernel     *kernel[CJ_GPUS_MAX];
    cj_error       error;
} fused;

#define OK(t, call) cj_test_ok((call), &(t)->error)

static uint64_t elements(const fused_array *a) { return a->rows * a->width; }

static void open_array(fused *t, unsigned i, unsigned ahead) {
    const fused_array *a = &t->m.array[i];
    const size_t       size = cj_dtype_size(a->type);
    t->bytes[i] = (size_t)elements(a) * size;
    t->ahead[i] = ahead * size;
    OK(t, cj_gpus_alloc(t->gpus, t->bytes[i] + t->ahead[i], t->at[i], &t->error));
    t->array[i] = t->at[i];
    for (uint32_t g = 0; g < t->m.gpus; g++) {
        t->at[i][g] += t->ahead[i];
        t->data[g][i] = malloc(t->bytes[i]);
        t->expected[g][i] = calloc((size_t)elements(a), sizeof(double));
        assert_true(t->data[g][i] && t->expected[g][i]);
        if (a->written) continue;
        for (uint64_t at = 0; at < elements(a); at++) row_model_write(a->type, t->data[g][i], at, fused_model_fill(&t->m, i, g, at));
        OK(t, cj_mem_write(cj_gpus_device(t->gpus, g), t->at[i][g], t->data[g][i], t->bytes[i], NULL, &t->error));
    }
}

static void poison(fused *t) {
    for (unsigned i = 0; i < t->m.count; i++)
        for (uint32_t g = 0; g < t->m.gpus && t->m.array[i].written; g++)
            OK(t, cj_mem_fill(cj_gpus_device(t->gpus, g), t->at[i][g], POISON, t->bytes[i], NULL, &t->error));
    for (uint32_t g = 0; g < t->m.gpus; g++) OK(t, cj_synchronize(cj_gpus_device(t->gpus, g), NULL, &t->error));
}

static void compare(fused *t, unsigned i) {
    const fused_array *a = &t->m.array[i];
    for (uint32_t g = 0; g < t->m.gpus; g++) {
        cj_device *device = cj_gpus_device(t->gpus, g);
        OK(t, cj_mem_read(device, t->data[g][i], t->at[i][g], t->bytes[i], NULL, &t->error));
        OK(t, cj_synchronize(device, NULL, &t->error));
        for (uint64_t at = 0; at < elements(a); at++) {
            const double found = row_model_read(a->type, t->data[g][i], at), expected = t->expected[g][i][at];
            if (!fused_model_same(a->type, found, expected))
                fail_msg("%s %s: %s[%" PRIu64 "] of GPU %" PRIu32 " of %" PRIu32 " is %g, not %g", t->family, t->words, a->name, at,
                         g, t->m.gpus, found, expected);
        }
        if (a->same && memcmp(t->data[g][i], t->data[0][i], t->bytes[i]) != 0)
            fail_msg("%s %s: %s has other bits on GPU %" PRIu32 " than on GPU 0", t->family, t->words, a->name, g);
    }
}

static void close_all(fused *t) {
    for (unsigned i = 0; i < t->m.count; i++) {
        for (uint32_t g = 0; g < t->m.gpus; g++) {
            t->at[i][g] -= t->ahead[i];
            free(t->data[g][i]);
            free(t->expected[g][i]);
        }
        cj_gpus_free(t->gpus, t->at[i]);
    }
    for (uint32_t g = 0; g < t->m.gpus; g++) cj_kernel_destroy(t->kernel[g]);
}

// x NULL, or the least and the largest that the first array is filled with.
static void test_fused(cj_gpus *gpus, uint64_t mail, const char *family, const char *words, unsigned ahead, const double *x,
                       cj_fused_call call, const cj_stream *stream) {
    fused     t = {.gpus = gpus, .family = family, .words = words};
    cj_params params;
    char      all[WORDS];
    snprintf(all, sizeof all, "%s gpus=%" PRIu32 " mail=%" PRIu64, words, cj_gpus_count(gpus), mail);
    OK(&t, cj_test_params(family, all, &params, &t.error));
    assert_true(fused_model_make(&t.m, &params));
    if (x) t.m.array[0].low = x[0], t.m.array[0].high = x[1];
    for (unsigned i = 0; i < t.m.count; i++) open_array(&t, i, ahead);
    assert_true(fused_model_run(&t.m, t.data, t.expected));
    for (uint32_t g = 0; g < t.m.gpus && !call; g++)
        OK(&t, cj_kernel_create(cj_gpus_device(gpus, g), &params, &t.kernel[g], &t.error));
    for (unsigned time = 0; time < 2; time++) {
        poison(&t);
        const cj_status status = call ? call(gpus, &t.m, t.array, stream, &t.error)
                                      : cj_gpus_launch_arrays(gpus, t.kernel, t.m.gpus, t.array, t.m.count, stream, &t.error);
        if (status) fail_msg("%s %s: %s", family, all, t.error.message);
        for (uint32_t g = 0; g < t.m.gpus && stream; g++)
            OK(&t, cj_synchronize(cj_gpus_device(gpus, g), stream[g], &t.error));
        for (unsigned i = 0; i < t.m.count; i++)
            if (t.m.array[i].written) compare(&t, i);
        OK(&t, cj_gpus_check(gpus, &t.error));
    }
    close_all(&t);
}

void cj_test_fused(cj_gpus *gpus, uint64_t mail, const char *family, const char *words, unsigned ahead, cj_fused_call call,
                   const cj_stream *stream) {
    test_fused(gpus, mail, family, words, ahead, NULL, call, stream);
}

// ---- random parameters

static uint64_t below(uint64_t *random, uint64_t count) { return cj_test_random(random) % count; }

static const char *pick(uint64_t *random, const char *const *words, size_t count) { return words[below(random, count)]; }

// Around a unit, a warp, a block, a unit a thread.
static const unsigned columns[] = {1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 100, 127, 128, 129, 250, 256, 264, 511, 512, 600, 1024};
static const unsigned rows[] = {1, 2, 3, 4, 5, 7, 9, 17};
static const char *const dtypes[] = {"f32", "f16", "bf16"};
static const char *const yes[] = {"no", "yes"};

static void draw_norm(uint64_t *random, char *words) {
    static const char *const norms[] = {"rms", "layer"};
    const unsigned long long row_count = rows[below(random, CJ_TEST_COUNT(rows))];
    const unsigned long long column_count = columns[below(random, CJ_TEST_COUNT(columns))];
    const char *dtype = pick(random, dtypes, 3), *norm = pick(random, norms, 2), *residual = pick(random, yes, 2);
    const char *weight = pick(random, yes, 2), *bias = pick(random, yes, 2);
    const unsigned long long shots = 1 + below(random, 2), cluster = below(random, 4);
    int at = snprintf(words, WORDS, "rows=%llu columns=%llu dtype=%s norm=%s residual=%s weight=%s bias=%s shots=%llu cluster=%llu",
                      row_count, column_count, dtype, norm, residual, weight, bias, shots, cluster);
    if (below(random, 2)) at += snprintf(words + at, WORDS - (size_t)at, " block=64");
    if (below(random, 2)) snprintf(words + at, WORDS - (size_t)at, " grid=%llu", (cluster ? cluster : 1) * (1 + below(random, 3)));
}

static void draw_sharded(uint64_t *random, char *words, bool labels) {
    static const char *const holds[] = {"auto", "no"}, *const label_types[] = {"i64", "i32"};
    static const char *const smoothings[] = {"0", "0.1", "1"}, *const scales[] = {"1", "0.125"};
    const unsigned long long row_count = rows[below(random, CJ_TEST_COUNT(rows))];
    const unsigned long long column_count = columns[below(random, CJ_TEST_COUNT(columns))];
    const char *dtype = pick(random, dtypes, 3), *hold = pick(random, holds, 2), *flag = pick(random, yes, 2);
    const char *label = pick(random, label_types, 2), *smoothing = pick(random, smoothings, 3), *scale = pick(random, scales, 2);
    int at = snprintf(words, WORDS, "rows=%llu columns=%llu dtype=%s hold=%s", row_count, column_count, dtype, hold);
    if (labels)
        at += snprintf(words + at, WORDS - (size_t)at, " gradient=%s label=%s smoothing=%s scale=%s", flag, label, smoothing, scale);
    else
        at += snprintf(words + at, WORDS - (size_t)at, " log=%s", flag);
    if (below(random, 2)) at += snprintf(words + at, WORDS - (size_t)at, " block=64");
    if (below(random, 2)) snprintf(words + at, WORDS - (size_t)at, " grid=%llu", 1 + (unsigned long long)below(random, 4));
}

static void draw_crossentropy(uint64_t *random, char *words) { draw_sharded(random, words, true); }
static void draw_softmax(uint64_t *random, char *words) { draw_sharded(random, words, false); }

static void draw_topk(uint64_t *random, char *words) {
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32"}, *const orders[] = {"largest", "smallest"};
    static const char *const index_types[] = {"i64", "u32"};
    static const unsigned    ks[] = {1, 2, 3, 5, 8, 31, 32, 33, 50, 100};
    const unsigned long long row_count = rows[below(random, CJ_TEST_COUNT(rows))], k = ks[below(random, CJ_TEST_COUNT(ks))];
    const unsigned long long column_count = k + below(random, 1000);
    const char *dtype = pick(random, types, 5), *order = pick(random, orders, 2), *index = pick(random, index_types, 2);
    int at = snprintf(words, WORDS, "rows=%llu columns=%llu k=%llu dtype=%s order=%s index=%s", row_count, column_count, k, dtype,
                      order, index);
    if (below(random, 2)) at += snprintf(words + at, WORDS - (size_t)at, " block=64");
    if (below(random, 2)) snprintf(words + at, WORDS - (size_t)at, " grid=%llu", 1 + (unsigned long long)below(random, row_count));
}

static const struct {
    const char *family;
    void (*draw)(uint64_t *random, char *words);
} draws_of[] = {{"allreducenorm", draw_norm}, {"shardedcrossentropy", draw_crossentropy}, {"shardedsoftmax", draw_softmax},
                {"shardedtopk", draw_topk}};

// Words without tags, and rows in shared memory.
static void test_forms(cj_gpus *gpus, uint64_t mail, const cj_stream *stream) {
    static const struct {
        const char *family, *words;
        uint32_t    least;  // compute capability
    } forms[] = {
        {"allreducenorm", "rows=5 columns=600 dtype=bf16 shots=2 tags=blocks", 80},
        {"allreducenorm", "rows=9 columns=129 dtype=f32 norm=layer tags=blocks block=64 cluster=2", 90},
        {"shardedcrossentropy", "rows=9 columns=4104 dtype=bf16 gradient=yes hold=shared block=64 grid=2 smoothing=0.1", 90},
        {"shardedcrossentropy", "rows=7 columns=1000 dtype=f32 gradient=yes hold=shared", 90},
        {"shardedsoftmax", "rows=17 columns=512 dtype=f16 hold=shared block=32 grid=3", 90},
    };
    const uint32_t capability = cj_device_limits(cj_gpus_device(gpus, 0))->compute_capability;
    for (size_t i = 0; i < CJ_TEST_COUNT(forms); i++)
        if (forms[i].least <= capability) cj_test_fused(gpus, mail, forms[i].family, forms[i].words, 0, NULL, stream);
}

// Logits far from zero, up to the largest numbers.
static void test_far(cj_gpus *gpus, uint64_t mail, const cj_stream *stream) {
    static const char *const families[] = {"shardedsoftmax", "shardedcrossentropy"};
    static const char *const words[][3] = {{"rows=5 columns=77", "rows=3 columns=600 log=yes", "rows=3 columns=600 hold=no"},
                                           {"rows=5 columns=77", "rows=3 columns=600 gradient=yes", "rows=3 columns=600 gradient=yes hold=no"}};
    static const struct {
        const char *dtype;
        double      x[2];
    } ranges[] = {{"f32", {1e6 - 8, 1e6 + 8}}, {"f32", {-FLT_MAX, -FLT_MAX}}, {"bf16", {-1e6, -1e6 + 20000}}};
    for (size_t f = 0; f < CJ_TEST_COUNT(families); f++)
        for (size_t w = 0; w < CJ_TEST_COUNT(words[f]); w++)
            for (size_t r = 0; r < CJ_TEST_COUNT(ranges); r++) {
                char all[WORDS];
                snprintf(all, sizeof all, "%s dtype=%s", words[f][w], ranges[r].dtype);
                test_fused(gpus, mail, families[f], all, 0, ranges[r].x, NULL, stream);
            }
}

void cj_test_fused_all(cj_gpus *gpus, uint64_t mail, const cj_stream *stream, uint64_t *random, unsigned draws) {
    test_forms(gpus, mail, stream);
    test_far(gpus, mail, stream);
    for (unsigned i = 0; i < draws; i++) {
        char           words[WORDS];
        const size_t   kind = i % CJ_TEST_COUNT(draws_of);
        const unsigned ahead = below(random, 3) == 0;
        draws_of[kind].draw(random, words);
        if (ahead && draws_of[kind].draw != draw_topk) strcat(words, strstr(words, "dtype=f32") ? " align=4" : " align=2");
        cj_test_fused(gpus, mail, draws_of[kind].family, words, ahead, NULL, stream);
    }
}
