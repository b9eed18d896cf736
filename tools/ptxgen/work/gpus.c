// SPDX-License-Identifier: Apache-2.0
// The collectives of GPUs: all of this process, the command's device first, or one of a launcher's ranks. Compared with the model, bit
// for bit.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "gpus_model.h"
#include "message.h"
#include "output.h"
#include "ranks.h"
#include "source.h"
#include "table.h"
#include "workload.h"

enum { POISON = 0xa5, SHOWN = 4 };

typedef struct state {
    collective_model model;
    size_t           size;                 // bytes of an element
    uint64_t         in, out;              // elements of a GPU
    uint64_t         stride;               // elements from a part to the next, on the device
    ranks            ranks;
    cj_ptr           x[CJ_GPUS_MAX], y[CJ_GPUS_MAX];
    unsigned char   *given, *expected;  // of all GPUs
    unsigned char   *found;             // of the GPUs of this process
} state;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a collective of GPUs"); }

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
    const unsigned char *from = s->given + (s->ranks.first + rank) * part * s->model.gives;
    for (uint32_t p = 0; p < s->model.gives; p++) {
        const cj_status status = cj_mem_write(s->ranks.device[rank], s->x[rank] + p * s->stride * s->size, from + p * part,
                                              part, NULL, error);
        if (status) return status;
    }
    return CJ_OK;
}

static cj_status read_output(const state *s, uint32_t rank, cj_error *error) {
    const size_t   part = (size_t)s->model.count * s->size;
    unsigned char *to = s->found + rank * part * s->model.gets;
    for (uint32_t p = 0; p < s->model.gets; p++) {
        const cj_status status = cj_mem_read(s->ranks.device[rank], to + p * part, s->y[rank] + p * s->stride * s->size, part,
                                             NULL, error);
        if (status) return status;
    }
    return cj_synchronize(s->ranks.device[rank], NULL, error);
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
    if (cj_gpus_alloc(s->ranks.gpus, spread(s, s->model.gives), s->x, &error) ||
        cj_gpus_alloc(s->ranks.gpus, spread(s, s->model.gets), s->y, &error))
        return message_failure(&error);
    if (workload_has_word(w, "memory", "registered") &&
        (cj_gpus_register(s->ranks.gpus, s->x, spread(s, s->model.gives), &error) ||
         cj_gpus_register(s->ranks.gpus, s->y, spread(s, s->model.gets), &error)))
        return message_failure(&error);
    for (uint32_t r = 0; r < s->ranks.local; r++)
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
    code = ranks_open(w, s->model.cluster, &s->ranks);
    return code ? code : allocate(w, s);
}

static void close_gpus(workload *w) {
    state *s = w->state;
    if (!s) return;
    if (workload_has_word(w, "memory", "registered")) {  // fails for what is not registered, which says nothing new
        cj_gpus_unregister(s->ranks.gpus, s->y, NULL);
        cj_gpus_unregister(s->ranks.gpus, s->x, NULL);
    }
    cj_gpus_free(s->ranks.gpus, s->x);
    cj_gpus_free(s->ranks.gpus, s->y);
    ranks_close(&s->ranks);
    free(s->given);
    free(s->expected);
    free(s->found);
    free(s);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const state *s = w->state;
    (void)copy;
    for (uint32_t r = 0; r < s->ranks.local && s->out; r++) {
        const cj_status status = cj_mem_fill(s->ranks.device[r], s->y[r], POISON, spread(s, s->model.gets), NULL, error);
        if (status) return status;
    }
    return CJ_OK;
}

// The first rank here launches on `stream`, the others on their default stream.
static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    state          *s = w->state;
    const cj_stream streams[CJ_GPUS_MAX] = {stream};
    cj_status       status = ranks_load(&s->ranks, kernel, error);
    (void)copy;
    return status
               ? status
               : cj_gpus_launch(s->ranks.gpus, s->ranks.kernel, s->ranks.local, s->in ? s->x : NULL, s->in ? s->y : NULL, streams, error);
}

static const char *text_at(const state *s, const unsigned char *from, uint64_t index, char buffer[ELEMENT_TEXT]) {
    element value;
    element_widen(s->model.dtype, from + index * s->size, 1, &value);
    return element_text(s->model.dtype, value, buffer);
}

// Of the GPUs of this process.
static const unsigned char *expected_here(const state *s) { return s->expected + s->ranks.first * s->out * s->size; }

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel, (void)copy;
    state       *s = w->state;
    const size_t out = (size_t)s->out * s->size;
    cj_error     error;
    for (uint32_t r = 0; r < s->ranks.local && out; r++)
        if (read_output(s, r, &error)) return message_failure(&error);
    if (cj_gpus_check(s->ranks.gpus, &error)) return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    for (uint64_t i = 0; i < s->out * s->ranks.local; i++) {
        if (collective_model_same(s->model.dtype, s->found + i * s->size, expected_here(s) + i * s->size)) continue;
        char found[ELEMENT_TEXT], expected[ELEMENT_TEXT];
        verdict->error += 1;
        if (verdict->ok)
            snprintf(verdict->text, sizeof verdict->text, "element %" PRIu64 " of GPU %" PRIu64 " is %s, not %s",
                     i % s->out, s->ranks.first + i / s->out, text_at(s, s->found, i, found),
                     text_at(s, expected_here(s), i, expected));
        verdict->ok = false;
    }
    return CODE_OK;
}

// ---- what run shows

// The first elements of a GPU's array of `count`.
static void set_elements(const state *s, table *t, size_t column, const unsigned char *from, uint64_t first, uint64_t count) {
    char   text[ELEMENT_TEXT], line[SHOWN * (ELEMENT_TEXT + 1) + 8];
    size_t at = 0;
    for (uint64_t i = 0; i < count && i < SHOWN; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", i ? " " : "", text_at(s, from, first + i, text));
    snprintf(line + at, sizeof line - at, "%s", count > SHOWN ? " …" : "");
    table_set(t, column, line);
}

static void print_table(const state *s) {
    static const char *const titles[] = {"GPU", "REACHED BY", "X", "EXPECTED", "RESULT"}, *const reach[] = {"nothing", "itself", "peer access", "CUDA IPC"};
    table       *t = table_new();
    cj_gpus_info info = {CJ_INIT(info)};
    char         number[16];
    cj_gpus_about(s->ranks.gpus, NULL, &info, NULL);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) table_column(t, titles[i], i ? TABLE_LEFT : TABLE_RIGHT);
    for (uint32_t r = 0; r < s->ranks.local; r++) {
        const uint32_t rank = s->ranks.first + r;
        table_row(t);
        snprintf(number, sizeof number, "%" PRIu32, rank);
        table_set(t, 0, number);
        table_set(t, 1, reach[info.reach[rank]]);
        set_elements(s, t, 2, s->given, rank * s->in, s->in);
        set_elements(s, t, 3, s->expected, rank * s->out, s->out);
        set_elements(s, t, 4, s->found, r * s->out, s->out);
    }
    table_print(t);
}

static void print(const workload *w, const cj_kernel *kernel) {
    const state   *s = w->state;
    const uint64_t shots = cj_params_get(&cj_kernel_plan(kernel)->params, "shots");
    printf("GPUs: %" PRIu32 ", %" PRIu64 " elements in, %" PRIu64 " out%s\n", s->model.cluster, s->in, s->out,
           workload_has_word(w, "memory", "registered")  ? ", straight into registered memory"
           : workload_has_word(w, "memory", "multicast") ? ", over multicast"
           : shots == 2                                   ? ", two shots" : "");
    print_table(s);
}

static json_t *json_elements(const state *s, const unsigned char *from) {
    json_t *array = json_array();
    for (uint64_t i = 0; i < s->out * s->ranks.local; i++) {
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
