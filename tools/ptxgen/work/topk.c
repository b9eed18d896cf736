// SPDX-License-Identifier: Apache-2.0
// topk: rows of a fill or a file. The check of a row: each result is the element at its index; results are in order, if
// they must be; of equal elements the first come first; and no other element comes before the last result. Results that are those of another kernel, which were right, are right, too.
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

typedef struct topk {
    cj_dtype       type;
    size_t         bytes, index_bytes;
    uint64_t       rows, columns, stride, k, given;  // results a row
    bool           smallest, any;                    // any: in any order
    source         source;
    unsigned char *input, *values, *indices, *chosen;  // chosen: of each element of a row
    element       *row;                                // one, widened
    cj_ptr        *x, *out, *where;                    // of each set
    uint64_t       wrong;
    sets_right     right;
} topk;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a top-k"); }

static size_t span(const topk *t) { return (size_t)((t->rows - 1) * t->stride + t->columns) * t->bytes; }

static void read_params(const workload *w, topk *t) {
    t->bytes = cj_dtype_size(t->type);
    t->index_bytes = workload_has_word(w, "index", "i64") ? 8 : 4;
    t->rows = cj_params_get(&w->params, "rows");
    t->columns = cj_params_get(&w->params, "columns");
    t->stride = cj_params_get(&w->params, "stride");
    if (!t->stride) t->stride = t->columns;
    t->k = cj_params_get(&w->params, "k");
    t->given = workload_has_word(w, "result", "kth") ? 1 : t->k;
    t->smallest = workload_has_word(w, "order", "smallest");
    t->any = workload_has_word(w, "result", "any");
}

static int allocate(workload *w, topk *t) {
    const size_t values = (size_t)(t->rows * t->given) * t->bytes,
                 indices = (size_t)(t->rows * t->given) * t->index_bytes;
    w->copies = workload_copies(w, (double)span(t));
    t->input = malloc(span(t));
    t->values = malloc(values);
    t->indices = malloc(indices);
    t->row = malloc(t->columns * sizeof *t->row);
    t->chosen = malloc(t->columns);
    if (!t->input || !t->values || !t->indices || !t->row || !t->chosen) return no_memory();
    w->bytes_read = (double)t->rows * (double)t->columns * (double)t->bytes;
    w->bytes_written = (double)values + (double)indices;
    w->whole = true;
    int code = sets_alloc(w, span(t), &t->x);
    if (!code) code = sets_alloc(w, values, &t->out);
    return code ? code : sets_alloc(w, indices, &t->where);
}

static int open_topk(workload *w) {
    topk *t = w->state = calloc(1, sizeof *t);
    if (!t) return no_memory();
    t->type = workload_dtype(w);
    int code = workload_open_matrix(w, &t->source, t->type);
    if (code) return code;
    read_params(w, t);
    code = allocate(w, t);
    if (!code) code = source_read_rows(&t->source, t->input, span(t) / t->bytes);
    return code ? code : sets_write(w, t->x, t->input, span(t));
}

static void close_topk(workload *w) {
    topk *t = w->state;
    if (!t) return;
    sets_free(w, t->x);
    sets_free(w, t->out);
    sets_free(w, t->where);
    source_close(&t->source);
    free(t->row);
    free(t->chosen);
    free(t->input);
    free(t->values);
    free(t->indices);
    sets_free_right(&t->right);
    free(t);
}

static size_t results(const topk *t, size_t bytes) { return (size_t)(t->rows * t->given) * bytes; }

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const topk *t = w->state;
    cj_status   status = cj_mem_fill(w->device, t->out[copy], POISON, results(t, t->bytes), NULL, error);
    return status ? status : cj_mem_fill(w->device, t->where[copy], POISON, results(t, t->index_bytes), NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    topk *t = w->state;
    void *arguments[] = {&t->x[copy], &t->out[copy], &t->where[copy]};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

// ---- the check

// Whether element a, at index i, comes before b, at j, in the order of the results. NaN is greater than any number.
static bool stands_before(const topk *t, element a, uint64_t i, element b, uint64_t j) {
    if (element_same(t->type, a, b)) return i < j;
    bool greater = a.i > b.i;
    if (element_kind_of(t->type) == ELEMENT_FLOAT) greater = isnan(a.f) || (!isnan(b.f) && a.f > b.f);
    return greater != t->smallest;
}

static uint64_t index_at(const topk *t, uint64_t at) {
    uint64_t index = 0;
    memcpy(&index, t->indices + at * t->index_bytes, t->index_bytes);  // little-endian
    return index;
}

// What is wrong with a row's results, or NULL; *place is the index of the wrong result.
static const char *find_fault(const topk *t, uint64_t row, uint64_t *place) {
    uint64_t last = 0, before = 0;
    memset(t->chosen, 0, t->columns);
    for (*place = 0; *place < t->given; ++*place) {
        const uint64_t at = row * t->given + *place, index = index_at(t, at);
        if (index >= t->columns) return "has an index beyond the row";
        if (memcmp(t->values + at * t->bytes, t->input + (row * t->stride + index) * t->bytes, t->bytes) != 0)
            return "is not the element at its index";
        if (t->chosen[index]++) return "comes twice";
        const bool follows = !*place || stands_before(t, t->row[last], last, t->row[index], index);
        if (!follows && !t->any) return "does not follow the one before in the order";
        if (follows) last = index;
    }
    for (uint64_t i = 0; i < t->columns; i++) before += stands_before(t, t->row[i], i, t->row[last], last);
    *place = t->given - 1;
    return before == t->k - 1 ? NULL : "has not k - 1 elements before it in the row";
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    topk    *t = w->state;
    cj_error error;
    if (cj_mem_read(w->device, t->values, t->out[copy], results(t, t->bytes), NULL, &error) ||
        cj_mem_read(w->device, t->indices, t->where[copy], results(t, t->index_bytes), NULL, &error))
        return message_failure(&error);
    *verdict = (workload_verdict){.ok = true};
    t->wrong = 0;
    if (sets_is_right(&t->right, t->values, results(t, t->bytes), t->indices, results(t, t->index_bytes))) return CODE_OK;
    for (uint64_t row = 0; row < t->rows; row++) {
        uint64_t place;
        element_widen(t->type, t->input + row * t->stride * t->bytes, t->columns, t->row);
        const char *fault = find_fault(t, row, &place);
        if (!fault) continue;
        if (!t->wrong++)
            snprintf(verdict->text, sizeof verdict->text, "row %" PRIu64 ": result %" PRIu64 " %s", row, place, fault);
        verdict->ok = false;
        verdict->error = (double)t->wrong;
    }
    if (verdict->ok) sets_keep_right(&t->right, t->values, results(t, t->bytes), t->indices, results(t, t->index_bytes));
    return CODE_OK;
}

// ---- what run shows

static element first_value(const topk *t) {
    element value;
    element_widen(t->type, t->values, 1, &value);
    return value;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const topk *t = w->state;
    char        text[ELEMENT_TEXT];
    (void)kernel;
    printf("Rows: %" PRIu64 " of %" PRIu64 " elements, the %s%" PRIu64 " %s\n", t->rows, t->columns,
           t->given < t->k ? "one at place " : "", t->k, t->smallest ? "smallest" : "largest");
    printf("First result: %s at %" PRIu64 "\n", element_text(t->type, first_value(t), text), index_at(t, 0));
    printf("Wrong rows: %" PRIu64 "\n", t->wrong);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const topk *t = w->state;
    (void)kernel;
    json_t *result = json_pack("{s:o, s:o, s:o}", "first", element_json(t->type, first_value(t)), "index",
                               output_json_uint(index_at(t, 0)), "wrong_rows", output_json_uint(t->wrong));
    json_object_set_new(object, "expected", json_pack("{s:i}", "wrong_rows", 0));
    json_object_set_new(object, "result", result);
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const topk    *t = w->state;
    const cj_dtype index = workload_has_word(w, "index", "u32")   ? CJ_U32
                           : workload_has_word(w, "index", "i32") ? CJ_I32
                                                                  : CJ_I64;
    (void)kernel;
    list[0] = workload_output_rows("values", t->type, t->out[0], t->rows, t->given, t->given);
    list[1] = workload_output_rows("indices", index, t->where[0], t->rows, t->given, t->given);
    return 2;
}

const workload_type work_topk = {
    .family = "topk",
    .open = open_topk,
    .close = close_topk,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};
