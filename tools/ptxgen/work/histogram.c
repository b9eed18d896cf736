// SPDX-License-Identifier: Apache-2.0
// histogram: samples of four kinds over the range, or of a file or a fill, compared with counts of the host.
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram_model.h"
#include "message.h"
#include "output.h"
#include "sets.h"
#include "source.h"
#include "workload.h"

enum { CHUNK_BYTES = 64 << 20, POISON = 0xa5 };

// A place in the range for sample i of n, from 0, its lower end, to 1, its upper end; `u` is uniform in [0, 1).
static double uniform(double u, uint64_t i, uint64_t n) {
    (void)i, (void)n;
    return u;
}
static double skewed(double u, uint64_t i, uint64_t n) {
    (void)i, (void)n;
    return u * u * u * u;
}
static double equal(double u, uint64_t i, uint64_t n) {
    (void)u, (void)i, (void)n;
    return 0.4321;
}
static double sorted(double u, uint64_t i, uint64_t n) {
    (void)u;
    return (double)i / (double)n;
}

typedef struct kind {
    const char *name;
    double (*place)(double u, uint64_t i, uint64_t n);
} kind;

static const kind kinds[] = {{"uniform", uniform}, {"skewed", skewed}, {"equal", equal}, {"sorted", sorted}};

typedef struct histogram {
    histogram_model model;
    size_t          sample_bytes, count_bytes;
    uint64_t        n, counted;
    const kind     *kind;  // NULL: from the source
    source          source;
    uint64_t       *expected;
    void           *found;       // as the device has written it
    cj_ptr         *x, *counts;  // of each set
    uint64_t        mismatches;
} histogram;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a histogram"); }

// ---- the reference

static void count_samples(histogram *h, const unsigned char *samples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t bin = histogram_model_bin(&h->model, samples + i * h->sample_bytes);
        if (bin == h->model.bins) continue;
        h->expected[bin]++;
        h->counted++;
    }
}

// ---- samples

static double random_unit(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void write_samples(const histogram *h, uint64_t first, size_t count, unsigned char *to) {
    for (size_t k = 0; k < count; k++) {
        const double   at = h->kind->place(random_unit(first + k), first + k, h->n);
        const double   x = h->model.lower + at * (h->model.upper - h->model.lower);
        const float    real = (float)x;
        const uint32_t word = (uint32_t)x;
        memcpy(to + k * h->sample_bytes, h->model.dtype == CJ_F32 ? (const void *)&real : (const void *)&word,
               h->sample_bytes);
    }
}

// Writes each chunk to every set, and adds it to the reference.
static int upload(workload *w) {
    histogram     *h = w->state;
    const uint64_t room = CHUNK_BYTES / h->sample_bytes;
    unsigned char *chunk = malloc((size_t)(h->n < room ? h->n : room) * h->sample_bytes);
    int            code = chunk ? CODE_OK : no_memory();
    for (uint64_t done = 0; !code && done < h->n;) {
        const size_t count = (size_t)(h->n - done < room ? h->n - done : room);
        cj_error     error;
        if (h->kind)
            write_samples(h, done, count, chunk);
        else
            code = source_read(&h->source, chunk, count);
        for (unsigned c = 0; !code && c < w->copies; c++)
            if (cj_mem_write(w->device, h->x[c] + done * h->sample_bytes, chunk, count * h->sample_bytes, NULL, &error))
                code = message_failure(&error);
        if (!code) count_samples(h, chunk, count);
        done += count;
    }
    free(chunk);
    return code;
}

// ---- the workload

static cj_dtype dtype_named(const char *name) {
    int type = 0;
    while (strcmp(cj_dtype_name((cj_dtype)type), name) != 0) type++;
    return (cj_dtype)type;
}

static bool is_given(const workload *w, const char *name) {
    size_t i = 0;
    while (strcmp(cj_family_param(w->params.family, i)->name, name) != 0) i++;
    return w->given[i];
}

static void read_params(const workload *w, histogram *h) {
    char word[16];
    h->model = histogram_model_of(&w->params);
    h->sample_bytes = cj_dtype_size(h->model.dtype);
    h->count_bytes = cj_dtype_size(dtype_named(cj_params_word(&w->params, "counts", word, sizeof word)));
}

// Chooses the kind of samples that the fill names; else opens a file or another fill, whose length becomes n unless n
// was given.
static int open_samples(workload *w, histogram *h) {
    const char *wanted = w->fill ? w->fill : kinds[0].name;
    for (size_t i = 0; !w->input && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, wanted) == 0) h->kind = &kinds[i];
    if (h->kind) return CODE_OK;
    int code = source_open(&h->source, h->model.dtype, w->input, wanted);
    if (code || !w->input) return code;
    if (!is_given(w, "n")) {
        char     count[24];
        cj_error error;
        snprintf(count, sizeof count, "%" PRIu64, h->source.available);
        if (cj_params_set(&w->params, "n", count, &error)) return message_failure(&error);
    }
    const uint64_t n = cj_params_get(&w->params, "n");
    if (n <= h->source.available) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "n is %" PRIu64 ", but '%s' holds only %" PRIu64 " elements", n,
                         h->source.name, h->source.available);
}

// Few samples are rotated with their counts, which are more.
static int allocate(workload *w, histogram *h) {
    const size_t sample_bytes = (size_t)h->n * h->sample_bytes, count_bytes = (size_t)h->model.bins * h->count_bytes;
    w->copies = workload_copies(w, (double)sample_bytes + (double)count_bytes);
    h->expected = calloc(h->model.bins, sizeof *h->expected);
    h->found = malloc(count_bytes);
    if (!h->expected || !h->found) return no_memory();
    w->bytes_read = (double)sample_bytes;
    w->bytes_written = (double)count_bytes;
    w->operations = (double)h->n;
    w->unit = "samples";
    w->whole = true;
    int code = sets_alloc(w, sample_bytes, &h->x);
    return code ? code : sets_alloc(w, count_bytes, &h->counts);
}

static int open_histogram(workload *w) {
    histogram *h = w->state = calloc(1, sizeof *h);
    if (!h) return no_memory();
    int code = workload_plan_check(w);
    if (code) return code;
    read_params(w, h);
    code = open_samples(w, h);
    h->n = cj_params_get(&w->params, "n");
    if (!code) code = allocate(w, h);
    return code ? code : upload(w);
}

static void close_histogram(workload *w) {
    histogram *h = w->state;
    if (!h) return;
    sets_free(w, h->x);
    sets_free(w, h->counts);
    source_close(&h->source);
    free(h->expected);
    free(h->found);
    free(h);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const histogram *h = w->state;
    return cj_mem_fill(w->device, h->counts[copy], POISON, (size_t)h->model.bins * h->count_bytes, NULL, error);
}

// A kernel with result=set is a launch alone.
static bool overwrites(const cj_kernel *kernel) {
    char word[16];
    return !strcmp(cj_params_word(&cj_kernel_plan(kernel)->params, "result", word, sizeof word), "set");
}

// As cj_histogram_run does it.
static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    histogram   *h = w->state;
    void        *arguments[] = {&h->x[copy], &h->counts[copy], &h->n};
    const size_t bytes = (size_t)h->model.bins * h->count_bytes;
    cj_status    status = CJ_OK;
    if (!overwrites(kernel)) status = cj_mem_fill(w->device, h->counts[copy], 0, bytes, stream, error);
    return status ? status : cj_kernel_launch(kernel, stream, arguments, 3, error);
}

static uint64_t found_at(const histogram *h, uint64_t bin) {
    uint64_t count = 0;
    memcpy(&count, (const char *)h->found + bin * h->count_bytes, h->count_bytes);  // little-endian
    return count;
}

static uint64_t expected_at(const histogram *h, uint64_t bin) {
    return h->count_bytes == 4 ? (uint32_t)h->expected[bin] : h->expected[bin];
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    histogram *h = w->state;
    cj_error   error;
    if (cj_mem_read(w->device, h->found, h->counts[copy], (size_t)h->model.bins * h->count_bytes, NULL, &error))
        return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    h->mismatches = 0;
    for (uint64_t bin = 0; bin < h->model.bins; bin++) {
        const uint64_t found = found_at(h, bin), expected = expected_at(h, bin);
        if (found == expected) continue;
        if (!h->mismatches++)
            snprintf(verdict->text, sizeof verdict->text, "bin %" PRIu64 " is %" PRIu64 ", not %" PRIu64, bin, found,
                     expected);
        verdict->ok = false;
        verdict->error = fmax(verdict->error, fabs((double)found - (double)expected));
    }
    return CODE_OK;
}

// ---- what run shows

typedef struct summary {
    uint64_t counted, largest;  // the largest bin's number
} summary;

static summary summarize(const histogram *h) {
    summary s = {0};
    for (uint64_t bin = 0; bin < h->model.bins; bin++) {
        s.counted += found_at(h, bin);
        if (found_at(h, bin) > found_at(h, s.largest)) s.largest = bin;
    }
    return s;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const histogram *h = w->state;
    const summary    s = summarize(h);
    (void)kernel;
    printf("Samples: %" PRIu64 ", bins: %" PRIu64 " over [%.9g, %.9g)\n", h->n, h->model.bins, h->model.lower,
           h->model.upper);
    printf("Counted: %" PRIu64 " (expected %" PRIu64 ")\n", s.counted, h->counted);
    printf("Largest bin: %" PRIu64 " with %" PRIu64 "\n", s.largest, found_at(h, s.largest));
    printf("Mismatches: %" PRIu64 "\n", h->mismatches);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const histogram *h = w->state;
    const summary    s = summarize(h);
    (void)kernel;
    json_t *result = json_pack("{s:o, s:o, s:o, s:o}", "counted", output_json_uint(s.counted), "largest_bin",
                               output_json_uint(s.largest), "largest_count", output_json_uint(found_at(h, s.largest)),
                               "mismatches", output_json_uint(h->mismatches));
    json_object_set_new(object, "expected", json_pack("{s:o}", "counted", output_json_uint(h->counted)));
    json_object_set_new(object, "result", result);
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const histogram *h = w->state;
    (void)kernel;
    list[0] = (workload_output){.name = "counts",
                                .type = h->count_bytes == 8 ? CJ_U64 : CJ_U32,
                                .at = h->counts[0],
                                .dims = 1,
                                .extent = {h->model.bins},
                                .stride = {1}};
    return 1;
}

const workload_type work_histogram = {
    .family = "histogram",
    .open = open_histogram,
    .close = close_histogram,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};
