// SPDX-License-Identifier: Apache-2.0
// The collectives of GPUs: the command's device is rank 0, the others are opened beside it. Compared with the model, bit for bit.
#include <clusterjit/gpus.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "gpus_model.h"
#include "message.h"
#include "output.h"
#include "source.h"
#include "workload.h"

enum { POISON = 0xa5, SHOWN = 8 };

typedef struct state {
    collective_model model;
    size_t           size;                 // bytes of an element
    uint64_t         in, out;              // elements of a GPU
    uint64_t         stride;               // elements from a part to the next, on the device
    uint32_t         first, local;         // the ranks of this process
    cj_device       *device[CJ_GPUS_MAX];  // of these; the first is the command's
    cj_gpus         *gpus;
    cj_kernel       *kernel[CJ_GPUS_MAX];  // the first is the command's
    cj_plan          plan;                 // of the others
    cj_ptr           x[CJ_GPUS_MAX], y[CJ_GPUS_MAX];
    unsigned char   *given, *expected;  // of all GPUs
    unsigned char   *found;             // of the GPUs of this process
} state;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a collective of GPUs"); }

// This process is one rank; its peers are other processes.
static int join_ranks(const workload *w, state *s, const cj_gpus_options *options) {
    cj_error error;
    uint32_t size, on_node;
    if (cj_gpus_env(&s->first, &size, &on_node, &error)) return message_failure(&error);
    s->local = 1;
    return cj_gpus_create_env(w->device, options, &s->gpus, &error) ? message_failure(&error) : CODE_OK;
}

// Rank r is the GPU with that number; CPU devices are as many as wanted.
static int open_devices(const workload *w, state *s) {
    const bool            is_cpu = !strcmp(cj_device_kind(w->device), "cpu");
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = cj_params_get(&w->params, "mail"),
                                     .limit = is_cpu ? 1 << 20 : 0};
    cj_error              error;
    s->device[0] = w->device;
    s->local = s->model.cluster;
    if (w->ranks) return join_ranks(w, s, &options);
    for (uint32_t r = 1; r < s->local; r++) {
        char spec[16];
        snprintf(spec, sizeof spec, "gpu:%" PRIu32, r);
        const cj_device_options one = {CJ_INIT(one), .spec = is_cpu ? "cpu" : spec};
        if (cj_device_open(&one, &s->device[r], &error)) return message_failure(&error);
    }
    return cj_gpus_create(s->device, s->local, &options, &s->gpus, &error) ? message_failure(&error) : CODE_OK;
}

static int fill_input(const workload *w, state *s) {
    const uint64_t all = s->in * s->model.cluster;
    if (!w->fill && !w->input) {
        for (uint64_t i = 0; i < all; i++) collective_model_fill(s->model.dtype, 0, i, s->given + i * s->size);
        return CODE_OK;
    }
    source from = {0};
    int    code = source_open(&from, s->model.dtype, w->input, w->fill);
    if (!code && from.available < all)
        code = message_error(CJ_INVALID_ARGUMENT, "'%s' holds %" PRIu64 " elements, %" PRIu64 " are needed", from.name,
                             from.available, all);
    if (!code) code = source_read(&from, s->given, (size_t)all);
    source_close(&from);
    return code;
}

// Bytes on the device of an array with so many parts.
static size_t spread(const state *s, uint32_t parts) {
    return parts ? (size_t)((parts - 1) * s->stride + s->model.count) * s->size : 0;
}

// Parts lie next to each other on the host.
static cj_status write_input(const state *s, uint32_t rank, cj_error *error) {
    const size_t         part = (size_t)s->model.count * s->size;
    const unsigned char *from = s->given + (s->first + rank) * part * s->model.gives;
    for (uint32_t p = 0; p < s->model.gives; p++) {
        const cj_status status = cj_mem_write(s->device[rank], s->x[rank] + p * s->stride * s->size, from + p * part,
                                              part, NULL, error);
        if (status) return status;
    }
    return CJ_OK;
}

static cj_status read_output(const state *s, uint32_t rank, cj_error *error) {
    const size_t   part = (size_t)s->model.count * s->size;
    unsigned char *to = s->found + rank * part * s->model.gets;
    for (uint32_t p = 0; p < s->model.gets; p++) {
        const cj_status status = cj_mem_read(s->device[rank], to + p * part, s->y[rank] + p * s->stride * s->size, part,
                                             NULL, error);
        if (status) return status;
    }
    return cj_synchronize(s->device[rank], NULL, error);
}

static int allocate(const workload *w, state *s) {
    const size_t in = (size_t)s->in * s->size, out = (size_t)s->out * s->size;
    cj_error     error;
    s->given = malloc(in * s->model.cluster + 1);
    s->expected = malloc(out * s->model.cluster + 1);
    s->found = malloc(out * s->model.cluster + 1);
    if (!s->given || !s->expected || !s->found) return no_memory();
    int code = fill_input(w, s);
    if (code || !in) return code;
    if (cj_gpus_alloc(s->gpus, spread(s, s->model.gives), s->x, &error) ||
        cj_gpus_alloc(s->gpus, spread(s, s->model.gets), s->y, &error))
        return message_failure(&error);
    for (uint32_t r = 0; r < s->local; r++)
        if (write_input(s, r, &error)) return message_failure(&error);
    collective_model_run(&s->model, s->given, s->expected);
    return CODE_OK;
}

static int open_gpus(workload *w) {
    state *s = w->state = calloc(1, sizeof *s);
    if (!s) return no_memory();
    int code = workload_plan_check(w);
    if (code) return code;
    s->model = gpus_model_of(&w->params);
    s->size = cj_dtype_size(s->model.dtype);
    s->in = (uint64_t)s->model.gives * s->model.count;
    s->out = (uint64_t)s->model.gets * s->model.count;
    s->stride = cj_params_get(&w->params, "stride");
    if (s->stride == CJ_PARAM_AUTO) s->stride = s->model.count;
    w->copies = 1;
    w->bytes_read = (double)s->in * (double)s->size;
    w->bytes_written = (double)s->out * (double)s->size;
    w->whole = true;
    code = open_devices(w, s);
    return code ? code : allocate(w, s);
}

static void close_kernels(state *s) {
    for (uint32_t r = 1; r < CJ_GPUS_MAX; r++) cj_kernel_destroy(s->kernel[r]);
    memset(s->kernel, 0, sizeof s->kernel);
}

static void close_gpus(workload *w) {
    state *s = w->state;
    if (!s) return;
    close_kernels(s);
    cj_gpus_free(s->gpus, s->x);
    cj_gpus_free(s->gpus, s->y);
    cj_gpus_destroy(s->gpus);
    for (uint32_t r = 1; r < CJ_GPUS_MAX; r++) cj_device_close(s->device[r]);
    free(s->given);
    free(s->expected);
    free(s->found);
    free(s);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const state *s = w->state;
    (void)copy;
    for (uint32_t r = 0; r < s->local && s->out; r++) {
        const cj_status status = cj_mem_fill(s->device[r], s->y[r], POISON, spread(s, s->model.gets), NULL, error);
        if (status) return status;
    }
    return CJ_OK;
}

// The same kernel on the other devices: loaded at its first launch.
static cj_status load_others(state *s, cj_kernel *kernel, cj_error *error) {
    const cj_plan *plan = cj_kernel_plan(kernel);
    if (s->kernel[0] == kernel && !memcmp(&s->plan, plan, sizeof *plan)) return CJ_OK;
    close_kernels(s);
    for (uint32_t r = 1; r < s->local; r++) {
        const cj_status status = cj_kernel_load(s->device[r], plan, &s->kernel[r], error);
        if (status) return status;
    }
    s->kernel[0] = kernel;
    s->plan = *plan;
    return CJ_OK;
}

// Rank 0 launches on `stream`, the others on their default stream.
static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    state          *s = w->state;
    const cj_stream streams[CJ_GPUS_MAX] = {stream};
    cj_status       status = load_others(s, kernel, error);
    (void)copy;
    return status
               ? status
               : cj_gpus_launch(s->gpus, s->kernel, s->local, s->in ? s->x : NULL, s->in ? s->y : NULL, streams, error);
}

static const char *text_at(const state *s, const unsigned char *from, uint64_t index, char buffer[ELEMENT_TEXT]) {
    element value;
    element_widen(s->model.dtype, from + index * s->size, 1, &value);
    return element_text(s->model.dtype, value, buffer);
}

// Of the GPUs of this process.
static const unsigned char *expected_here(const state *s) { return s->expected + s->first * s->out * s->size; }

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel, (void)copy;
    state       *s = w->state;
    const size_t out = (size_t)s->out * s->size;
    cj_error     error;
    for (uint32_t r = 0; r < s->local && out; r++)
        if (read_output(s, r, &error)) return message_failure(&error);
    if (cj_gpus_check(s->gpus, &error)) return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    for (uint64_t i = 0; i < s->out * s->local; i++) {
        if (collective_model_same(s->model.dtype, s->found + i * s->size, expected_here(s) + i * s->size)) continue;
        char found[ELEMENT_TEXT], expected[ELEMENT_TEXT];
        verdict->error += 1;
        if (verdict->ok)
            snprintf(verdict->text, sizeof verdict->text, "element %" PRIu64 " of GPU %" PRIu64 " is %s, not %s",
                     i % s->out, s->first + i / s->out, text_at(s, s->found, i, found),
                     text_at(s, expected_here(s), i, expected));
        verdict->ok = false;
    }
    return CODE_OK;
}

// ---- what run shows

static void print_elements(const state *s, const char *title, const unsigned char *from) {
    const uint64_t shown = s->out < SHOWN ? s->out : SHOWN;
    char           text[ELEMENT_TEXT];
    for (uint32_t r = 0; r < s->local && s->out; r++) {
        printf("%s of GPU %" PRIu32 ":", title, s->first + r);
        for (uint64_t i = 0; i < shown; i++) printf(" %s", text_at(s, from, r * s->out + i, text));
        puts(shown < s->out ? " …" : "");
    }
}

static void print(const workload *w, const cj_kernel *kernel) {
    const state   *s = w->state;
    const uint64_t shots = cj_params_get(&cj_kernel_plan(kernel)->params, "shots");
    printf("GPUs: %" PRIu32 ", %" PRIu64 " elements in, %" PRIu64 " out%s\n", s->model.cluster, s->in, s->out,
           shots == 2 ? ", two shots" : "");
    print_elements(s, "Expected", expected_here(s));
    print_elements(s, "Result", s->found);
}

static json_t *json_elements(const state *s, const unsigned char *from) {
    json_t *array = json_array();
    for (uint64_t i = 0; i < s->out * s->local; i++) {
        element value;
        element_widen(s->model.dtype, from + i * s->size, 1, &value);
        json_array_append_new(array, element_json(s->model.dtype, value));
    }
    return array;
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const state *s = w->state;
    (void)kernel;
    json_object_set_new(object, "expected", json_elements(s, expected_here(s)));
    json_object_set_new(object, "result", json_elements(s, s->found));
}

// Of the first GPU of this process.
static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const state *s = w->state;
    (void)kernel;
    if (!s->out) return 0;
    list[0] = (workload_output){.name = "out",
                                .type = s->model.dtype,
                                .at = s->y[0],
                                .dims = 2,
                                .extent = {s->model.gets, s->model.count},
                                .stride = {s->stride, 1}};
    return 1;
}

#define WORK(name)                                          \
    const workload_type work_##name = {.family = #name,     \
                                       .open = open_gpus,   \
                                       .close = close_gpus, \
                                       .poison = poison,    \
                                       .launch = launch,    \
                                       .check = check,      \
                                       .print = print,      \
                                       .json = json,        \
                                       .outputs = outputs}

WORK(allreduce);
WORK(reducescatter);
WORK(allgather);
WORK(alltoall);
WORK(broadcast);
WORK(barrier);
