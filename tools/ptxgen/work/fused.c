// SPDX-License-Identifier: Apache-2.0
// The fused kernels of several GPUs: all of this process, the command's device first, or one of a launcher's ranks. Compared with the
// model, and what all GPUs have in common bit for bit with the first one's here.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "fused_model.h"
#include "message.h"
#include "output.h"
#include "ranks.h"
#include "row_model.h"
#include "workload.h"

enum { POISON = 0xa5, SHOWN = 8 };

typedef struct state {
    fused_model    model;
    ranks          ranks;
    cj_ptr         at[CJ_GPUS_ARRAYS][CJ_GPUS_MAX];        // of the GPUs of this process
    unsigned char *data[CJ_GPUS_MAX][CJ_GPUS_ARRAYS];      // of all GPUs: what is read; of this process's: what was found
    double        *expected[CJ_GPUS_MAX][CJ_GPUS_ARRAYS];  // of what is written, on all GPUs
    cj_kernel     *last[CJ_GPUS_MAX];                      // of the last rows, where a launch has room for fewer than all of them
    uint64_t       piece;                                  // rows of a launch
} state;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for the arrays of several GPUs"); }

static uint64_t elements(const state *s, unsigned i) { return s->model.array[i].rows * s->model.array[i].width; }
static size_t   bytes(const state *s, unsigned i) {
    return (size_t)elements(s, i) * cj_dtype_size(s->model.array[i].type);
}

static int open_array(state *s, unsigned i) {
    const fused_array *a = &s->model.array[i];
    cj_error           error;
    if (cj_gpus_alloc(s->ranks.gpus, bytes(s, i), s->at[i], &error)) return message_failure(&error);
    for (uint32_t g = 0; g < s->model.gpus; g++) {
        s->data[g][i] = malloc(bytes(s, i));
        s->expected[g][i] = a->written ? calloc(elements(s, i), sizeof(double)) : NULL;
        if (!s->data[g][i] || (a->written && !s->expected[g][i])) return no_memory();
        if (a->written) continue;
        for (uint64_t at = 0; at < elements(s, i); at++)
            row_model_write(a->type, s->data[g][i], at, fused_model_fill(&s->model, i, g, at));
    }
    for (uint32_t r = 0; r < s->ranks.local && !a->written; r++)
        if (cj_mem_write(s->ranks.device[r], s->at[i][r], s->data[s->ranks.first + r][i], bytes(s, i), NULL, &error))
            return message_failure(&error);
    return CODE_OK;
}

// The command's kernel is that of a launch, which may have room for some of the rows alone.
static int divide(workload *w, state *s) {
    const cj_limits *limits = cj_device_limits(w->device);
    cj_params        params, last;
    cj_plan          plan;
    char             rows[24];
    cj_error         error;
    s->piece = s->model.rows;
    if (!cj_plan_make(&w->params, limits, w->arch, &plan, NULL)) return CODE_OK;
    if (cj_gpus_divide(s->ranks.gpus, &w->params, &params, &error)) return message_failure(&error);
    s->piece = cj_params_get(&params, "rows");
    if (s->piece == s->model.rows) return CODE_OK;
    w->params = last = params;
    snprintf(rows, sizeof rows, "%" PRIu64, s->model.rows % s->piece);
    if (!(s->model.rows % s->piece)) return CODE_OK;
    if (cj_params_set(&last, "rows", rows, &error)) return message_failure(&error);
    if (cj_plan_make(&last, limits, w->arch, &plan, &error)) return message_failure(&error);
    for (uint32_t r = 0; r < s->ranks.local; r++)
        if (cj_kernel_load(s->ranks.device[r], &plan, &s->last[r], &error)) return message_failure(&error);
    return CODE_OK;
}

static int open_fused(workload *w) {
    state *s = w->state = calloc(1, sizeof *s);
    if (!s) return no_memory();
    fused_model_make(&s->model, &w->params);
    w->copies = 1;
    int code = ranks_open(w, s->model.gpus, &s->ranks);
    if (!code) code = divide(w, s);
    for (unsigned i = 0; i < s->model.count && !code; i++) {
        code = open_array(s, i);
        *(s->model.array[i].written ? &w->bytes_written : &w->bytes_read) += (double)bytes(s, i);
    }
    if (!code && !fused_model_run(&s->model, s->data, s->expected)) code = no_memory();
    return code;
}

static void close_fused(workload *w) {
    state *s = w->state;
    if (!s) return;
    for (unsigned i = 0; i < s->model.count; i++) {
        cj_gpus_free(s->ranks.gpus, s->at[i]);
        for (uint32_t g = 0; g < s->model.gpus; g++) free(s->data[g][i]), free(s->expected[g][i]);
    }
    for (uint32_t r = 0; r < CJ_GPUS_MAX; r++) cj_kernel_destroy(s->last[r]);
    ranks_close(&s->ranks);
    free(s);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const state *s = w->state;
    (void)copy;
    for (unsigned i = 0; i < s->model.count; i++)
        for (uint32_t r = 0; r < s->ranks.local && s->model.array[i].written; r++) {
            const cj_status status = cj_mem_fill(s->ranks.device[r], s->at[i][r], POISON, bytes(s, i), NULL, error);
            if (status) return status;
        }
    return CJ_OK;
}

// The first rank here launches on `stream`, the others on their default stream.
static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    state          *s = w->state;
    const cj_stream streams[CJ_GPUS_MAX] = {stream};
    const cj_ptr   *array[CJ_GPUS_ARRAYS];
    cj_ptr          from[CJ_GPUS_ARRAYS][CJ_GPUS_MAX];
    cj_status       status = ranks_load(&s->ranks, kernel, error);
    (void)copy;
    for (uint64_t row = 0; row < s->model.rows && !status; row += s->piece) {
        cj_kernel *const *kernels = s->model.rows - row < s->piece ? s->last : s->ranks.kernel;
        for (unsigned i = 0; i < s->model.count; i++) {
            const uint64_t before = s->model.array[i].rows == s->model.rows ? row * bytes(s, i) / s->model.rows : 0;
            for (uint32_t r = 0; r < s->ranks.local; r++) from[i][r] = s->at[i][r] + before;
            array[i] = from[i];
        }
        status = cj_gpus_launch_arrays(s->ranks.gpus, kernels, s->ranks.local, array, s->model.count, streams, error);
    }
    return status;
}

static const char *text_of(cj_dtype type, const void *from, uint64_t index, char buffer[ELEMENT_TEXT]) {
    element value;
    element_widen(type, (const unsigned char *)from + index * cj_dtype_size(type), 1, &value);
    return element_text(type, value, buffer);
}

static void check_array(const state *s, unsigned i, uint32_t g, workload_verdict *verdict) {
    const fused_array *a = &s->model.array[i];
    const size_t       size = cj_dtype_size(a->type);
    char               text[ELEMENT_TEXT];
    for (uint64_t at = 0; at < elements(s, i); at++) {
        const double found = row_model_read(a->type, s->data[g][i], at), expected = s->expected[g][i][at];
        const bool   alike = !a->same || !memcmp(s->data[g][i] + at * size, s->data[s->ranks.first][i] + at * size, size);
        const double error = fused_model_error(a->type, found, expected);
        if (error > verdict->error) verdict->error = error;
        if (error <= fused_model_bound(a->type) && alike) continue;
        if (verdict->ok)
            snprintf(verdict->text, sizeof verdict->text, "%s: element %" PRIu64 " of GPU %" PRIu32 " is %s, not %g%s", a->name, at, g,
                     text_of(a->type, s->data[g][i], at, text), expected, alike ? "" : ", and is another one on the first GPU here");
        verdict->ok = false;
    }
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    state   *s = w->state;
    cj_error error;
    (void)kernel, (void)copy;
    *verdict = (workload_verdict){.ok = true, .bound = fused_model_bound(s->model.type)};
    for (uint32_t r = 0; r < s->ranks.local; r++)
        for (unsigned i = 0; i < s->model.count; i++)
            if (s->model.array[i].written &&
                (cj_mem_read(s->ranks.device[r], s->data[s->ranks.first + r][i], s->at[i][r], bytes(s, i), NULL, &error) ||
                 cj_synchronize(s->ranks.device[r], NULL, &error)))
                return message_failure(&error);
    if (cj_gpus_check(s->ranks.gpus, &error)) return message_failure(&error);
    for (uint32_t r = 0; r < s->ranks.local; r++)
        for (unsigned i = 0; i < s->model.count; i++)
            if (s->model.array[i].written) check_array(s, i, s->ranks.first + r, verdict);
    return CODE_OK;
}

// ---- what run shows

static void print(const workload *w, const cj_kernel *kernel) {
    const state *s = w->state;
    (void)kernel;
    printf("GPUs: %" PRIu32 ", %" PRIu64 " rows of %" PRIu64, s->model.gpus, s->model.rows, s->model.columns);
    if (s->piece < s->model.rows) printf(", up to %" PRIu64 " in a launch", s->piece);
    puts("");
    for (unsigned i = 0; i < s->model.count; i++) {
        const fused_array *a = &s->model.array[i];
        char               text[ELEMENT_TEXT];
        for (uint32_t r = 0; r < (a->same ? 1 : s->ranks.local) && a->written; r++) {
            const uint32_t g = s->ranks.first + r;
            printf("%s of GPU %" PRIu32 ":", a->name, g);
            for (uint64_t at = 0; at < elements(s, i) && at < SHOWN; at++) printf(" %s", text_of(a->type, s->data[g][i], at, text));
            printf("%s, expected", elements(s, i) > SHOWN ? " …" : "");
            for (uint64_t at = 0; at < elements(s, i) && at < SHOWN; at++) printf(" %.6g", s->expected[g][i][at]);
            puts(elements(s, i) > SHOWN ? " …" : "");
        }
    }
}

static json_t *json_array_of(const state *s, unsigned i, bool expected) {
    const uint32_t g = s->ranks.first;
    json_t        *array = json_array();
    for (uint64_t at = 0; at < elements(s, i); at++)
        json_array_append_new(array, json_real(expected ? s->expected[g][i][at]
                                                        : row_model_read(s->model.array[i].type, s->data[g][i], at)));
    return array;
}

// The arrays that the first GPU of this process has written.
static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const state *s = w->state;
    json_t      *expected = json_object(), *result = json_object();
    (void)kernel;
    for (unsigned i = 0; i < s->model.count; i++) {
        if (!s->model.array[i].written) continue;
        json_object_set_new(expected, s->model.array[i].name, json_array_of(s, i, true));
        json_object_set_new(result, s->model.array[i].name, json_array_of(s, i, false));
    }
    json_object_set_new(object, "expected", expected);
    json_object_set_new(object, "result", result);
}

// Those of the first GPU of this process.
static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const state *s = w->state;
    unsigned     count = 0;
    (void)kernel;
    for (unsigned i = 0; i < s->model.count; i++) {
        const fused_array *a = &s->model.array[i];
        if (a->written)
            list[count++] = (workload_output){.name = a->name, .type = a->type, .at = s->at[i][0], .dims = 2,
                                              .extent = {a->rows, a->width}, .stride = {a->width, 1}};
    }
    return count;
}

#define WORK(name)                                                                                                    \
    const workload_type work_##name = {.family = #name, .open = open_fused, .close = close_fused, .poison = poison,   \
                                       .launch = launch, .check = check, .print = print, .json = json,                \
                                       .outputs = outputs}

WORK(allreducenorm);
WORK(shardedcrossentropy);
WORK(shardedsoftmax);
WORK(shardedtopk);
