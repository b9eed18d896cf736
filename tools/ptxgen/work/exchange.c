// SPDX-License-Identifier: Apache-2.0
// exchange: blocks of each group trade chunks of made-up bits, a file or a fill; compared with the definition, byte for
// byte.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange_model.h"
#include "message.h"
#include "output.h"
#include "sets.h"
#include "source.h"
#include "workload.h"

enum { POISON = 0xa5, SHOWN = 8 };

typedef struct exchange {
    exchange_model model;
    const char    *name;
    uint64_t       groups;
    cj_dtype       type;
    source         source;  // if there is a file or a fill
    size_t         bytes;   // of an element
    size_t         out_n;   // elements of a block's result
    size_t         in_bytes, out_bytes;
    unsigned char *x, *found;
    cj_ptr        *in, *out;  // of each set
    uint64_t       mismatches;
} exchange;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for an exchange"); }

// ---- the reference

static const unsigned char *expected_at(const exchange *e, uint64_t block, size_t i) {
    const uint64_t group = block / e->model.size;
    return e->x +
           (group * e->model.size * e->model.n + exchange_model_source(&e->model, block % e->model.size, i)) * e->bytes;
}

// ---- the workload

static uint64_t mixed(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void read_params(const workload *w, exchange *e) {
    static const char *const names[] = {"pair", "ring", "halo", "all-to-all"};
    e->model.pattern = (cj_exchange_pattern)cj_params_get(&w->params, "pattern");
    e->name = names[e->model.pattern];
    e->model.size = cj_params_get(&w->params, "size");
    if (!e->model.size) e->model.size = cj_params_get(&w->params, "cluster");
    e->groups = cj_params_get(&w->params, "clusters");
    e->model.shift = cj_params_get(&w->params, "shift");
    e->model.rounds = cj_params_get(&w->params, "repeat");
    e->bytes = cj_dtype_size(e->type);
    e->model.n = cj_params_get(&w->params, "n");
    e->model.halo = e->model.pattern == CJ_EXCHANGE_HALO ? cj_params_get(&w->params, "halo") : 0;
    e->out_n = e->model.n + 2 * e->model.halo;
    e->in_bytes = (size_t)(e->groups * e->model.size) * e->model.n * e->bytes;
    e->out_bytes = (size_t)(e->groups * e->model.size) * e->out_n * e->bytes;
}

static int allocate(workload *w, exchange *e) {
    w->copies = workload_copies(w, (double)(e->in_bytes + e->out_bytes));
    e->x = malloc(e->in_bytes);
    e->found = malloc(e->out_bytes);
    if (!e->x || !e->found) return no_memory();
    for (size_t i = 0; !w->input && !w->fill && i < e->in_bytes; i++)
        e->x[i] = (unsigned char)(mixed(i / 8) >> i % 8 * 8);
    int code = w->input || w->fill ? source_read_rows(&e->source, e->x, e->in_bytes / e->bytes) : CODE_OK;
    if (!code) code = sets_alloc(w, e->in_bytes, &e->in);
    if (!code) code = sets_alloc(w, e->out_bytes, &e->out);
    return code ? code : sets_write(w, e->in, e->x, e->in_bytes);
}

static int open_source(workload *w, exchange *e) {
    e->type = workload_dtype(w);
    return w->input || w->fill ? source_open(&e->source, e->type, w->input, w->fill) : CODE_OK;
}

// Checks that the rows of a file with a shape are chunks of blocks.
static int check_chunks(const exchange *e) {
    const npy     *shape = &e->source.shape;
    const uint64_t chunk = shape->dims > 1 && shape->dims <= NPY_DIMS ? shape->extent[shape->dims - 1] : e->model.n;
    if (chunk == e->model.n && !(shape->dims > 1 && shape->fortran)) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT,
                         "n is %zu, but '%s' holds chunks of %" PRIu64 " elements%s\n"
                         "a file of one dimension is taken as it lies",
                         e->model.n, e->source.name, chunk, shape->fortran ? ", by columns (fortran_order)" : "");
}

static int open_exchange(workload *w) {
    exchange *e = w->state = calloc(1, sizeof *e);
    if (!e) return no_memory();
    int code = open_source(w, e);
    if (!code) code = workload_plan_check(w);
    if (code) return code;
    read_params(w, e);
    code = check_chunks(e);
    if (code) return code;
    w->bytes_read = (double)e->in_bytes;
    w->bytes_written = (double)e->out_bytes;
    w->operations = (double)(e->groups * e->model.size * e->model.rounds) *
                    (double)((e->model.pattern == CJ_EXCHANGE_HALO ? 2 * e->model.halo : e->model.n) * e->bytes);
    w->unit = "bytes traded";
    w->whole = true;
    return allocate(w, e);
}

static void close_exchange(workload *w) {
    exchange *e = w->state;
    if (!e) return;
    source_close(&e->source);
    sets_free(w, e->in);
    sets_free(w, e->out);
    free(e->x);
    free(e->found);
    free(e);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const exchange *e = w->state;
    return cj_mem_fill(w->device, e->out[copy], POISON, e->out_bytes, NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    exchange *e = w->state;
    void     *arguments[] = {&e->in[copy], &e->out[copy]};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

static uint64_t bits(const unsigned char *from, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, from, bytes);  // little-endian
    return value;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    exchange *e = w->state;
    cj_error  error;
    if (cj_mem_read(w->device, e->found, e->out[copy], e->out_bytes, NULL, &error)) return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    e->mismatches = 0;
    for (uint64_t block = 0; block < e->groups * e->model.size; block++)
        for (size_t i = 0; i < e->out_n; i++) {
            const unsigned char *found = e->found + (block * e->out_n + i) * e->bytes,
                                *expected = expected_at(e, block, i);
            if (!memcmp(found, expected, e->bytes)) continue;
            if (!e->mismatches++)
                snprintf(verdict->text, sizeof verdict->text,
                         "element %zu of block %" PRIu64 " is 0x%" PRIx64 ", not 0x%" PRIx64, i, block,
                         bits(found, e->bytes), bits(expected, e->bytes));
        }
    verdict->ok = !e->mismatches;
    verdict->error = (double)e->mismatches;
    return CODE_OK;
}

// ---- what run shows

static void print(const workload *w, const cj_kernel *kernel) {
    const exchange *e = w->state;
    const char     *way = !cj_kernel_plan(kernel)->cluster.x ? "global memory" : "distributed shared memory";
    printf("Exchange: %s among %" PRIu64 " blocks, %" PRIu64 " group%s, %zu elements of %zu bytes a block, %" PRIu64
           " round%s, through %s\n",
           e->name, e->model.size, e->groups, e->groups > 1 ? "s" : "", e->model.n, e->bytes, e->model.rounds,
           e->model.rounds > 1 ? "s" : "", way);
    printf("Block 0 has:");
    for (size_t i = 0; i < e->out_n && i < SHOWN; i++) printf(" %" PRIx64, bits(e->found + i * e->bytes, e->bytes));
    printf("%s\nMismatches: %" PRIu64 "\n", e->out_n > SHOWN ? " ..." : "", e->mismatches);
    (void)w;
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const exchange *e = w->state;
    (void)kernel;
    json_object_set_new(object, "expected", json_pack("{s:i}", "mismatches", 0));
    json_object_set_new(object, "result", json_pack("{s:o}", "mismatches", output_json_uint(e->mismatches)));
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const exchange *e = w->state;
    (void)kernel;
    list[0] = (workload_output){.name = "out",
                                .type = e->type,
                                .at = e->out[0],
                                .dims = 2,
                                .extent = {e->groups * e->model.size, e->out_n},
                                .stride = {e->out_n, 1}};
    return 1;
}

const workload_type work_exchange = {
    .family = "exchange",
    .of_clusters = true,
    .open = open_exchange,
    .close = close_exchange,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};
