// SPDX-License-Identifier: Apache-2.0
// reduce and histogram of the data of several GPUs (--gpus): each GPU reduces or counts its own n elements, and an all-reduce of the
// results follows on the stream, as cj_gpus_reduce and cj_gpus_histogram do it. The input is one array, of which GPU r has the r-th part.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "histogram_model.h"
#include "message.h"
#include "output.h"
#include "ranks.h"
#include "reference.h"
#include "source.h"
#include "workload.h"

enum { CHUNK = 1 << 20, POISON = 0xa5, SHOWN = 8 };

typedef struct whole {
    bool            counts;        // a histogram
    cj_dtype        type, result;  // of an element; of what the GPUs combine
    uint64_t        n, results;    // of each GPU
    source          source;
    ranks           ranks;
    cj_ptr          x[CJ_GPUS_MAX], out[CJ_GPUS_MAX];
    histogram_model model;
    uint32_t       *expected;      // counts
    reference       reference;
    reference_value value;
    unsigned char  *found;         // of the GPUs of this process
} whole;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for the data of several GPUs"); }

static size_t result_bytes(const whole *s) { return (size_t)s->results * cj_dtype_size(s->result); }

// ---- the problem

static int check_problem(const workload *w, const whole *s) {
    if (s->counts && workload_has_word(w, "counts", "u64"))
        return message_error(CJ_INVALID_ARGUMENT, "--counts is u64, which GPUs do not combine\ntake u32");
    if (s->counts) return CODE_OK;
    const bool reduces = workload_has_word(w, "op", "sum") || workload_has_word(w, "op", "min") || workload_has_word(w, "op", "max");
    if (!reduces || !workload_has_word(w, "result", "total") || !workload_has_word(w, "weight", "none"))
        return message_error(CJ_INVALID_ARGUMENT, "several GPUs combine one total, a sum, a minimum or a maximum\nleave --result and --weight out, "
                                                  "and let --op be sum, min or max");
    if (s->result != CJ_F32 && s->result != CJ_I32 && s->result != CJ_U32)
        return message_error(CJ_INVALID_ARGUMENT, "results of %s are %s, which GPUs do not combine\nf32, f16, bf16 and integers of up to 32 bits go",
                             cj_dtype_name(s->type), cj_dtype_name(s->result));
    return CODE_OK;
}

static void describe(workload *w, whole *s) {
    s->type = workload_dtype(w);
    s->n = cj_params_get(&w->params, "n");
    s->results = 1;
    s->result = cj_dtype_arithmetic(s->type);
    if (s->counts) {
        s->model = histogram_model_of(&w->params);
        s->results = s->model.bins;
        s->result = CJ_U32;
    } else {
        s->reference = (reference){.type = s->result, .op = (cj_reduce_op)cj_params_get(&w->params, "op"), .n = s->n * w->gpus,
                                   .blocks = 1, .total = true, .count = 1, .results = &s->value};
        reference_begin(&s->reference);
    }
    w->whole = s->result != CJ_F32;
}

static void add_elements(whole *s, const unsigned char *from, size_t count, void *widened, element *wide) {
    const size_t bytes = cj_dtype_size(s->type);
    for (size_t i = 0; i < count && s->counts; i++) {
        const uint64_t bin = histogram_model_bin(&s->model, from + i * bytes);
        if (bin < s->model.bins) s->expected[bin]++;
    }
    if (s->counts) return;
    element_widen(s->type, from, count, wide);
    element_narrow(s->result, wide, count, widened);
    reference_add(&s->reference, widened, count);
}

// The data of all GPUs are read; those of this process's are written to them.
static int upload(whole *s) {
    const size_t   bytes = cj_dtype_size(s->type);
    unsigned char *chunk = malloc(CHUNK * bytes);
    void          *widened = malloc(CHUNK * cj_dtype_size(s->result));
    element       *wide = malloc(CHUNK * sizeof *wide);
    int            code = chunk && widened && wide ? CODE_OK : no_memory();
    for (uint32_t r = 0; r < s->ranks.count && !code; r++)
        for (uint64_t done = 0; done < s->n && !code;) {
            const size_t count = (size_t)(s->n - done < CHUNK ? s->n - done : CHUNK);
            const bool   is_here = r >= s->ranks.first && r - s->ranks.first < s->ranks.local;
            cj_error     error;
            code = source_read(&s->source, chunk, count);
            if (!code && is_here &&
                cj_mem_write(s->ranks.device[r - s->ranks.first], s->x[r - s->ranks.first] + done * bytes, chunk, count * bytes, NULL, &error))
                code = message_failure(&error);
            if (!code) add_elements(s, chunk, count, widened, wide);
            done += count;
        }
    free(chunk);
    free(widened);
    free(wide);
    return code;
}

static int open_source(const workload *w, whole *s) {
    int code = source_open(&s->source, s->type, w->input, w->fill || w->input ? w->fill : s->type == CJ_F32 ? "rand:1" : "iota");
    if (!code && s->source.available < s->n * w->gpus)
        code = message_error(CJ_INVALID_ARGUMENT, "'%s' holds %" PRIu64 " elements, and %" PRIu32 " GPUs need %" PRIu64 "\ngive a smaller --n: of one GPU",
                             s->source.name, s->source.available, w->gpus, s->n * w->gpus);
    return code;
}

static int allocate(workload *w, whole *s) {
    cj_error error;
    s->found = malloc(result_bytes(s) * w->gpus);
    s->expected = calloc((size_t)s->results, sizeof *s->expected);
    if (!s->found || !s->expected) return no_memory();
    if (cj_gpus_alloc(s->ranks.gpus, (size_t)s->n * cj_dtype_size(s->type), s->x, &error) ||
        cj_gpus_alloc(s->ranks.gpus, result_bytes(s) < 16 ? 16 : result_bytes(s), s->out, &error))
        return message_failure(&error);
    w->copies = 1;
    w->bytes_read = (double)s->n * (double)cj_dtype_size(s->type);
    w->bytes_written = (double)result_bytes(s);
    return CODE_OK;
}

static int open_whole(workload *w, bool counts) {
    whole *s = w->state = calloc(1, sizeof *s);
    if (!s) return no_memory();
    s->counts = counts;
    int code = workload_plan_check(w);
    if (code) return code;
    describe(w, s);
    code = check_problem(w, s);
    if (!code) code = open_source(w, s);
    if (!code) code = ranks_open(w, w->gpus, &s->ranks);
    if (!code) code = allocate(w, s);
    return code ? code : upload(s);
}

static int open_reduce(workload *w) { return open_whole(w, false); }
static int open_histogram(workload *w) { return open_whole(w, true); }

static void close_whole(workload *w) {
    whole *s = w->state;
    if (!s) return;
    source_close(&s->source);
    cj_gpus_free(s->ranks.gpus, s->x);
    cj_gpus_free(s->ranks.gpus, s->out);
    ranks_close(&s->ranks);
    free(s->found);
    free(s->expected);
    free(s);
}

// ---- launches

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const whole *s = w->state;
    cj_status    status = CJ_OK;
    (void)copy;
    for (uint32_t i = 0; i < s->ranks.local && !status; i++)
        status = cj_mem_fill(s->ranks.device[i], s->out[i], POISON, result_bytes(s), NULL, error);
    return status;
}

// Rank 0 launches on `stream`, the others on their default stream.
static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    whole             *s = w->state;
    const cj_stream    streams[CJ_GPUS_MAX] = {stream};
    const cj_gpus_desc all = {CJ_INIT(all), .dtype = s->result, .count = s->results,
                              .combine = s->counts                             ? CJ_COMBINE_SUM
                                         : s->reference.op == CJ_REDUCE_MIN    ? CJ_COMBINE_MIN
                                         : s->reference.op == CJ_REDUCE_MAX    ? CJ_COMBINE_MAX
                                                                               : CJ_COMBINE_SUM};
    cj_status          status = ranks_load(&s->ranks, kernel, error);
    (void)copy;
    for (uint32_t i = 0; i < s->ranks.local && !status; i++) {
        void *arguments[] = {&s->x[i], &s->out[i], &s->n};
        if (s->counts) status = cj_mem_fill(s->ranks.device[i], s->out[i], 0, result_bytes(s), streams[i], error);
        if (!status) status = cj_kernel_launch(s->ranks.kernel[i], streams[i], arguments, 3, error);
    }
    return status ? status : cj_gpus_run(s->ranks.gpus, &all, s->out, s->out, streams, error);
}

// ---- results

static element found_at(const whole *s, uint32_t i, uint64_t at) {
    element value;
    element_widen(s->result, s->found + i * result_bytes(s) + at * cj_dtype_size(s->result), 1, &value);
    return value;
}

static int read_results(const whole *s) {
    cj_error error;
    for (uint32_t i = 0; i < s->ranks.local; i++)
        if (cj_mem_read(s->ranks.device[i], s->found + i * result_bytes(s), s->out[i], result_bytes(s), NULL, &error) ||
            cj_synchronize(s->ranks.device[i], NULL, &error))
            return message_failure(&error);
    return cj_gpus_check(s->ranks.gpus, &error) ? message_failure(&error) : CODE_OK;
}

static void check_counts(const whole *s, uint32_t i, workload_verdict *verdict) {
    for (uint64_t bin = 0; bin < s->results; bin++) {
        uint32_t count;
        memcpy(&count, s->found + i * result_bytes(s) + bin * sizeof count, sizeof count);
        if (count == s->expected[bin]) continue;
        if (verdict->ok)
            snprintf(verdict->text, sizeof verdict->text, "bin %" PRIu64 " of GPU %" PRIu32 " is %" PRIu32 ", not %" PRIu32, bin,
                     s->ranks.first + i, count, s->expected[bin]);
        verdict->ok = false;
        verdict->error += 1;
    }
}

// Beside the plan's roundings there is one for each GPU.
static void check_value(const whole *s, uint32_t i, double plan_bound, workload_verdict *verdict) {
    const double error = reference_error(&s->reference, &s->value, 0, found_at(s, i, 0));
    const double bound = (plan_bound + (double)s->ranks.count * 0x1p-24) * s->value.scale[0];
    if (verdict->ok && !(error <= bound) && error != 0) {
        verdict->ok = false;
        snprintf(verdict->text, sizeof verdict->text, "GPU %" PRIu32 ": the error is %g, the bound %g", s->ranks.first + i, error, bound);
    }
    verdict->error = error > verdict->error ? error : verdict->error;
    verdict->bound = bound;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    whole       *s = w->state;
    const double plan_bound = cj_kernel_plan(kernel)->error_bound;
    const int    code = read_results(s);
    (void)copy;
    *verdict = (workload_verdict){.ok = true};
    if (code) return code;
    if (!s->counts) reference_finish(&s->reference, plan_bound);
    for (uint32_t i = 0; i < s->ranks.local; i++)
        if (s->counts)
            check_counts(s, i, verdict);
        else
            check_value(s, i, plan_bound, verdict);
    return CODE_OK;
}

static element expected_at(const whole *s, uint64_t at) {
    element value = s->value.value[0];
    if (s->counts) element_widen(CJ_U32, &s->expected[at], 1, &value);
    return value;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const whole *s = w->state;
    char         text[ELEMENT_TEXT];
    (void)kernel;
    printf("GPUs: %" PRIu32 ", %" PRIu64 " elements of each\nExpected:", s->ranks.count, s->n);
    for (uint64_t at = 0; at < s->results && at < SHOWN; at++) printf(" %s", element_text(s->result, expected_at(s, at), text));
    for (uint32_t i = 0; i < s->ranks.local; i++) {
        printf("%s\nResult of GPU %" PRIu32 ":", s->results > SHOWN ? " …" : "", s->ranks.first + i);
        for (uint64_t at = 0; at < s->results && at < SHOWN; at++) printf(" %s", element_text(s->result, found_at(s, i, at), text));
    }
    puts(s->results > SHOWN ? " …" : "");
}

static json_t *json_results(const whole *s, bool expected) {
    json_t *array = json_array();
    for (uint64_t at = 0; at < s->results; at++)
        json_array_append_new(array, element_json(s->result, expected ? expected_at(s, at) : found_at(s, 0, at)));
    return array;
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const whole *s = w->state;
    (void)kernel;
    json_object_set_new(object, "gpus", json_integer((json_int_t)s->ranks.count));
    json_object_set_new(object, "expected", json_results(s, true));
    json_object_set_new(object, "result", json_results(s, false));
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const whole *s = w->state;
    (void)kernel;
    list[0] = (workload_output){.name = s->counts ? "counts" : "value", .type = s->result, .at = s->out[0], .dims = s->counts ? 1 : 0,
                                .extent = {s->results}, .stride = {1}};
    return 1;
}

#define WORK(name)                                                                                                              \
    const workload_type work_whole_##name = {.family = #name, .open = open_##name, .close = close_whole, .poison = poison,      \
                                             .launch = launch, .check = check, .print = print, .json = json, .outputs = outputs}

WORK(reduce);
WORK(histogram);
