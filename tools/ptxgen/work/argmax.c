// SPDX-License-Identifier: Apache-2.0
// argmax: rows of a fill or a file; the index found for each row is compared with a search on the host.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "sets.h"
#include "source.h"
#include "workload.h"

enum { POISON = 0xa5 };

typedef struct argmax {
    cj_dtype       type;
    size_t         bytes;  // of an element
    uint64_t       rows, columns, stride, wrong;
    source         source;
    unsigned char *input;
    element       *row;               // one, widened
    uint32_t      *found, *expected;  // expected: of every set; made by the first check
    cj_ptr        *x, *out;           // of each set
} argmax;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for an argmax"); }

static size_t span(const argmax *a) { return (size_t)((a->rows - 1) * a->stride + a->columns) * a->bytes; }

static int allocate(workload *w, argmax *a) {
    w->copies = workload_copies(w, (double)span(a));
    a->input = malloc(span(a));
    a->row = malloc(a->columns * sizeof *a->row);
    a->found = malloc(a->rows * sizeof *a->found);
    if (!a->input || !a->row || !a->found) return no_memory();
    w->bytes_read = (double)a->rows * (double)a->columns * (double)a->bytes;
    w->bytes_written = (double)a->rows * sizeof *a->found;
    w->whole = true;
    int code = sets_alloc(w, span(a), &a->x);
    return code ? code : sets_alloc(w, a->rows * sizeof *a->found, &a->out);
}

static int open_argmax(workload *w) {
    argmax *a = w->state = calloc(1, sizeof *a);
    if (!a) return no_memory();
    a->type = workload_dtype(w);
    a->bytes = cj_dtype_size(a->type);
    int code = workload_open_matrix(w, &a->source, a->type);
    if (code) return code;
    a->rows = cj_params_get(&w->params, "rows");
    a->columns = cj_params_get(&w->params, "columns");
    a->stride = cj_params_get(&w->params, "stride");
    if (!a->stride) a->stride = a->columns;
    code = allocate(w, a);
    if (!code) code = source_read_rows(&a->source, a->input, span(a) / a->bytes);
    return code ? code : sets_write(w, a->x, a->input, span(a));
}

static void close_argmax(workload *w) {
    argmax *a = w->state;
    if (!a) return;
    sets_free(w, a->x);
    sets_free(w, a->out);
    source_close(&a->source);
    free(a->input);
    free(a->row);
    free(a->found);
    free(a->expected);
    free(a);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const argmax *a = w->state;
    return cj_mem_fill(w->device, a->out[copy], POISON, a->rows * sizeof *a->found, NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    argmax *a = w->state;
    void   *arguments[] = {&a->x[copy], &a->out[copy]};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

// Whether a comes after b in the order of the elements; NaN is greater than any number.
static bool is_greater(const argmax *m, element a, element b) {
    switch (element_kind_of(m->type)) {
    case ELEMENT_FLOAT: return !isnan(b.f) && (isnan(a.f) || a.f > b.f);
    case ELEMENT_SIGNED: return a.i > b.i;
    default: return a.u > b.u;
    }
}

// The first of the largest.
static uint32_t first_greatest(const argmax *a, uint64_t row) {
    uint32_t best = 0;
    element_widen(a->type, a->input + row * a->stride * a->bytes, a->columns, a->row);
    for (uint32_t i = 1; i < a->columns; i++)
        if (is_greater(a, a->row[i], a->row[best])) best = i;
    return best;
}

static int expect(argmax *a) {
    if (a->expected) return CODE_OK;
    a->expected = malloc(a->rows * sizeof *a->expected);
    if (!a->expected) return no_memory();
    for (uint64_t row = 0; row < a->rows; row++) a->expected[row] = first_greatest(a, row);
    return CODE_OK;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    argmax  *a = w->state;
    cj_error error;
    if (cj_mem_read(w->device, a->found, a->out[copy], a->rows * sizeof *a->found, NULL, &error))
        return message_failure(&error);
    const int code = expect(a);
    if (code) return code;
    *verdict = (workload_verdict){.ok = true};
    a->wrong = 0;
    for (uint64_t row = 0; row < a->rows; row++) {
        const uint32_t right = a->expected[row];
        if (a->found[row] == right) continue;
        if (!a->wrong++)
            snprintf(verdict->text, sizeof verdict->text, "row %" PRIu64 ": expected index %" PRIu32 ", found %" PRIu32,
                     row, right, a->found[row]);
        verdict->ok = false;
        verdict->error = (double)a->wrong;
    }
    return CODE_OK;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const argmax *a = w->state;
    (void)kernel;
    printf("Rows: %" PRIu64 " of %" PRIu64 " elements\n", a->rows, a->columns);
    printf("First result: %" PRIu32 "\n", *a->found);
    printf("Wrong rows: %" PRIu64 "\n", a->wrong);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const argmax *a = w->state;
    (void)kernel;
    json_object_set_new(object, "expected", json_pack("{s:i}", "wrong_rows", 0));
    json_object_set_new(
        object, "result",
        json_pack("{s:o, s:o}", "index", output_json_uint(*a->found), "wrong_rows", output_json_uint(a->wrong)));
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const argmax *a = w->state;
    (void)kernel;
    list[0] = (workload_output){
        .name = "out", .type = CJ_U32, .at = a->out[0], .dims = 1, .extent = {a->rows}, .stride = {1}};
    return 1;
}

const workload_type work_argmax = {
    .family = "argmax",
    .open = open_argmax,
    .close = close_argmax,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};
