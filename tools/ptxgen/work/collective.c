// SPDX-License-Identifier: Apache-2.0
// collective: made-up parts, a file or a fill, compared with the model, bit for bit. Every cluster works on parts of
// its own.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective_model.h"
#include "element.h"
#include "message.h"
#include "output.h"
#include "source.h"
#include "workload.h"

enum { POISON = 0xa5, SHOWN = 8 };

// The buffers of a set.
typedef struct buffers {
    cj_ptr x, out, cycles;
} buffers;

typedef struct collective {
    collective_model model;
    uint64_t         clusters, inputs, outputs;  // of all clusters: elements
    size_t           size;                       // bytes of an element
    unsigned char   *x, *expected, *found;
    uint64_t        *cycles;  // of each block
    buffers         *set;
} collective;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a collective"); }

static int fill_input(const workload *w, collective *c) {
    if (!w->fill && !w->input) {
        for (uint64_t i = 0; i < c->inputs; i++) collective_model_fill(c->model.dtype, 0, i, c->x + i * c->size);
        return CODE_OK;
    }
    source from = {0};
    int    code = source_open(&from, c->model.dtype, w->input, w->fill);
    if (!code && from.available < c->inputs)
        code = message_error(CJ_INVALID_ARGUMENT, "'%s' holds %" PRIu64 " elements, %" PRIu64 " are needed", from.name,
                             from.available, c->inputs);
    if (!code) code = source_read(&from, c->x, (size_t)c->inputs);
    source_close(&from);
    return code;
}

static void expect(collective *c) {
    const size_t in = (size_t)(c->inputs / c->clusters) * c->size, out = (size_t)(c->outputs / c->clusters) * c->size;
    for (uint64_t i = 0; i < c->clusters; i++) collective_model_run(&c->model, c->x + i * in, c->expected + i * out);
}

static int allocate(workload *w, collective *c) {
    const size_t blocks = (size_t)c->clusters * c->model.cluster, in = (size_t)c->inputs * c->size;
    cj_error     error;
    w->copies = workload_copies(w, (double)in);
    c->x = malloc(in);
    c->expected = malloc((size_t)c->outputs * c->size);
    c->found = malloc((size_t)c->outputs * c->size);
    c->cycles = calloc(blocks, sizeof *c->cycles);
    c->set = calloc(w->copies, sizeof *c->set);
    if (!c->x || !c->expected || !c->found || !c->cycles || !c->set) return no_memory();
    for (unsigned i = 0; i < w->copies; i++)
        if (cj_mem_alloc(w->device, in, &c->set[i].x, &error) ||
            cj_mem_alloc(w->device, (size_t)c->outputs * c->size, &c->set[i].out, &error) ||
            cj_mem_alloc(w->device, blocks * sizeof *c->cycles, &c->set[i].cycles, &error))
            return message_failure(&error);
    w->bytes_read = (double)in;
    w->bytes_written = (double)c->outputs * (double)c->size;
    w->whole = true;
    return CODE_OK;
}

static int open_collective(workload *w) {
    collective *c = w->state = calloc(1, sizeof *c);
    if (!c) return no_memory();
    cj_error error;
    int      code = workload_plan_check(w);
    if (code) return code;
    c->model = collective_model_of(&w->params);
    c->clusters = cj_params_get(&w->params, "clusters");
    c->inputs = c->clusters * collective_model_inputs(&c->model);
    c->outputs = c->clusters * collective_model_outputs(&c->model);
    c->size = cj_dtype_size(c->model.dtype);
    code = allocate(w, c);
    if (!code) code = fill_input(w, c);
    for (unsigned i = 0; !code && i < w->copies; i++)
        if (cj_mem_write(w->device, c->set[i].x, c->x, (size_t)c->inputs * c->size, NULL, &error))
            code = message_failure(&error);
    if (!code) expect(c);
    return code;
}

static void close_collective(workload *w) {
    collective *c = w->state;
    if (!c) return;
    for (unsigned i = 0; c->set && i < w->copies; i++) {
        cj_mem_free(w->device, c->set[i].x);
        cj_mem_free(w->device, c->set[i].out);
        cj_mem_free(w->device, c->set[i].cycles);
    }
    free(c->set);
    free(c->cycles);
    free(c->x);
    free(c->expected);
    free(c->found);
    free(c);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const collective *c = w->state;
    return cj_mem_fill(w->device, c->set[copy].out, POISON, (size_t)c->outputs * c->size, NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    collective *c = w->state;
    buffers    *set = &c->set[copy];
    void       *arguments[] = {&set->x, &set->out, &set->cycles};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

static const char *text_at(const collective *c, const unsigned char *from, uint64_t index, char buffer[ELEMENT_TEXT]) {
    element value;
    element_widen(c->model.dtype, from + index * c->size, 1, &value);
    return element_text(c->model.dtype, value, buffer);
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    collective  *c = w->state;
    const size_t blocks = (size_t)c->clusters * c->model.cluster;
    cj_error     error;
    if (cj_mem_read(w->device, c->found, c->set[copy].out, (size_t)c->outputs * c->size, NULL, &error) ||
        cj_mem_read(w->device, c->cycles, c->set[copy].cycles, blocks * sizeof *c->cycles, NULL, &error))
        return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    for (uint64_t i = 0; i < c->outputs; i++) {
        if (collective_model_same(c->model.dtype, c->found + i * c->size, c->expected + i * c->size)) continue;
        char           found[ELEMENT_TEXT], expected[ELEMENT_TEXT];
        const uint64_t part = (uint64_t)c->model.gets * c->model.count;
        verdict->error += 1;
        if (verdict->ok)
            snprintf(verdict->text, sizeof verdict->text, "element %" PRIu64 " of block %" PRIu64 " is %s, not %s", i % part,
                     i / part, text_at(c, c->found, i, found), text_at(c, c->expected, i, expected));
        verdict->ok = false;
    }
    return CODE_OK;
}

// ---- what run shows

static uint64_t slowest(const collective *c) {
    uint64_t most = 0;
    for (uint64_t i = 0; i < c->clusters * c->model.cluster; i++) most = c->cycles[i] > most ? c->cycles[i] : most;
    return most;
}

static void print_elements(const collective *c, const char *title, const unsigned char *from) {
    const uint64_t block = (uint64_t)c->model.gets * c->model.count, shown = block < SHOWN ? block : SHOWN;
    char           text[ELEMENT_TEXT];
    for (uint32_t r = 0; r < c->model.cluster; r++) {
        printf("%s of rank %" PRIu32 ":", title, r);
        for (uint64_t i = 0; i < shown; i++) printf(" %s", text_at(c, from, r * block + i, text));
        puts(shown < block ? " …" : "");
    }
}

static void print(const workload *w, const cj_kernel *kernel) {
    const collective *c = w->state;
    const bool is_cluster = cj_kernel_plan(kernel)->cluster.x != 0;
    printf("Blocks: %" PRIu64 " in %s of %" PRIu32 ", parts of %" PRIu32 ": %" PRIu32 " in, %" PRIu32 " out, %" PRIu32
           " round%s\n", c->clusters * c->model.cluster, is_cluster ? "clusters" : "groups, without clusters,", c->model.cluster, c->model.count, c->model.gives, c->model.gets,
           c->model.rounds, c->model.rounds == 1 ? "" : "s");
    print_elements(c, "Expected", c->expected);
    print_elements(c, "Result", c->found);
    if (is_cluster && !strcmp(cj_device_kind(w->device), "gpu"))
        printf("Cycles: %.0f a round, in the slowest block\n", (double)slowest(c) / c->model.rounds);
}

static json_t *json_elements(const collective *c, const unsigned char *from) {
    json_t *array = json_array();
    for (uint64_t i = 0; i < c->outputs; i++) {
        element value;
        element_widen(c->model.dtype, from + i * c->size, 1, &value);
        json_array_append_new(array, element_json(c->model.dtype, value));
    }
    return array;
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const collective *c = w->state;
    (void)kernel;
    json_object_set_new(object, "expected", json_elements(c, c->expected));
    json_object_set_new(object, "result", json_elements(c, c->found));
    json_object_set_new(object, "cycles", output_json_uint(slowest(c)));
}

// out[clusters][blocks that get something][count].
static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const collective *c = w->state;
    const uint64_t    each = c->outputs / c->clusters, count = c->model.count;
    (void)kernel;
    list[0] = (workload_output){.name = "out", .type = c->model.dtype, .at = c->set[0].out, .dims = 3,
                                .extent = {c->clusters, each / count, count}, .stride = {each, count, 1}};
    return 1;
}

const workload_type work_collective = {
    .family = "collective",
    .of_clusters = true,
    .open = open_collective,
    .close = close_collective,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};
