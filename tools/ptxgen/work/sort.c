// SPDX-License-Identifier: Apache-2.0
// sort: rows of a fill or a file. The check of a row with indices: each index comes once, each value is the element at its index,
// and each element comes after the one before it, equal ones by their indices: only one result is so. Of values alone a row is
// held against a stable merge sort. A payload is held against the row's order: the indices, where there are any, else that of a merge sort.
// Results that are those of another kernel, which were right, are right, too.
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

typedef struct sort {
    cj_dtype       type;
    size_t         bytes, index_bytes, payload_bytes;  // payload_bytes 0: there is none
    uint64_t       rows, columns, stride, payload_stride, elements;  // elements: of all segments, if they are told
    bool           descending, has_values, has_indices;
    uint64_t      *offsets;                            // of segments, rows + 1 of them; NULL: rows of a matrix
    cj_ptr        *offsets_at;                         // of each set
    size_t         offset_bytes;                       // of one; 0: none
    source         source;
    unsigned char *input, *values, *indices, *chosen;  // chosen: of each element of a row
    unsigned char *payload, *moved;                    // what is given, and what a kernel has written
    unsigned char *expected, *expected_moved;          // of every set without indices; made by the first check
    element       *row;                                // one, widened
    uint32_t      *order, *spare;                      // a row's stable order; room to merge
    cj_ptr        *x, *out, *where, *from, *to;        // of each set; the last two are the payload's
    uint64_t       wrong;
    sets_right     right, right_moved;  // right_moved: the payload
} sort;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a sort"); }

// Where a row's elements and its results begin, and how many it has.
static uint64_t row_begin(const sort *t, uint64_t row) { return t->offsets ? t->offsets[row] : row * t->stride; }
static uint64_t result_begin(const sort *t, uint64_t row) { return t->offsets ? t->offsets[row] : row * t->columns; }
static uint64_t row_length(const sort *t, uint64_t row) {
    return t->offsets ? t->offsets[row + 1] - t->offsets[row] : t->columns;
}

static size_t span(const sort *t) {
    return (size_t)(t->offsets ? t->offsets[t->rows] : (t->rows - 1) * t->stride + t->columns) * t->bytes;
}
static size_t payload_span(const sort *t) {
    return (size_t)(t->offsets ? t->offsets[t->rows] : (t->rows - 1) * t->payload_stride + t->columns) *
           t->payload_bytes;
}
static size_t results(const sort *t, size_t bytes) {
    return (size_t)(t->offsets ? t->offsets[t->rows] : t->rows * t->columns) * bytes;
}

static void read_params(const workload *w, sort *t) {
    const uint64_t payload = cj_params_get(&w->params, "payload");
    t->bytes = cj_dtype_size(t->type);
    t->index_bytes = workload_has_word(w, "index", "i64") ? 8 : 4;
    t->rows = cj_params_get(&w->params, "rows");
    t->columns = cj_params_get(&w->params, "columns");
    t->stride = cj_params_get(&w->params, "stride");
    if (!t->stride) t->stride = t->columns;
    t->elements = cj_params_get(&w->params, "elements");
    t->offset_bytes = workload_has_word(w, "segments", "i32") ? 4 : workload_has_word(w, "segments", "i64") ? 8 : 0;
    t->descending = workload_has_word(w, "order", "descending");
    t->has_values = workload_has_word(w, "result", "both") || workload_has_word(w, "result", "values");
    t->has_indices = workload_has_word(w, "result", "both") || workload_has_word(w, "result", "indices");
    t->payload_bytes = payload ? (size_t)1 << (payload - 1) : 0;  // none, b8, b16, b32, b64
    t->payload_stride = cj_params_get(&w->params, "payload-stride");
    if (!t->payload_stride) t->payload_stride = t->columns;
}

// The first segment is the longest; the others have any length, some of them none. Where there is a number of all elements, the others have
// as many of them on average.
static int make_offsets(sort *t) {
    const uint64_t first = t->elements && t->elements < t->columns ? t->elements : t->columns;
    const uint64_t all = t->elements ? t->elements : t->rows * t->columns, mean = t->rows > 1 ? (all - first) / (t->rows - 1) : 0;
    const uint64_t most = t->elements && 2 * mean < t->columns ? 2 * mean : t->columns;
    uint64_t       state = 3;
    t->offsets = calloc((size_t)t->rows + 1, sizeof *t->offsets);
    if (!t->offsets) return no_memory();
    for (uint64_t row = 0; row < t->rows; row++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint64_t length = row ? (state >> 33) % (most + 1) : first, left = all - t->offsets[row];
        t->offsets[row + 1] = t->offsets[row] + (length < left ? length : left);
    }
    return CODE_OK;
}

static int write_offsets(workload *w, sort *t) {
    const size_t bytes = ((size_t)t->rows + 1) * t->offset_bytes;
    uint32_t    *narrow = malloc(((size_t)t->rows + 1) * sizeof *narrow);
    if (!narrow) return no_memory();
    for (uint64_t i = 0; i <= t->rows; i++) narrow[i] = (uint32_t)t->offsets[i];
    int code = sets_alloc(w, bytes, &t->offsets_at);
    if (!code) code = sets_write(w, t->offsets_at, t->offset_bytes == 4 ? (const void *)narrow : (const void *)t->offsets, bytes);
    free(narrow);
    return code;
}

// Any bits.
static int make_payload(workload *w, sort *t) {
    const size_t span = payload_span(t), moved = results(t, t->payload_bytes);
    uint64_t     state = 5;
    t->payload = malloc(span);
    t->moved = malloc(moved);
    if (!t->payload || !t->moved) return no_memory();
    for (size_t i = 0; i < span; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        t->payload[i] = (unsigned char)(state >> 56);
    }
    int code = sets_alloc(w, span, &t->from);
    if (!code) code = sets_alloc(w, moved, &t->to);
    return code ? code : sets_write(w, t->from, t->payload, span);
}

static int allocate(workload *w, sort *t) {
    const size_t values = results(t, t->bytes), indices = results(t, t->index_bytes);
    w->copies = workload_copies(w, (double)(span(t) + payload_span(t)));
    t->input = malloc(span(t));
    t->values = malloc(values);
    t->indices = malloc(indices);
    t->row = malloc(t->columns * sizeof *t->row);
    t->order = malloc(t->columns * sizeof *t->order);
    t->spare = malloc(t->columns * sizeof *t->spare);
    t->chosen = malloc(t->columns);
    if (!t->input || !t->values || !t->indices || !t->row || !t->order || !t->spare || !t->chosen) return no_memory();
    w->bytes_read = (double)results(t, t->bytes + t->payload_bytes);
    w->bytes_written = (t->has_values ? (double)values : 0) + (t->has_indices ? (double)indices : 0) +
                       (double)results(t, t->payload_bytes);
    w->whole = true;
    int code = sets_alloc(w, span(t), &t->x);
    if (!code) code = sets_alloc(w, values, &t->out);
    return code ? code : sets_alloc(w, indices, &t->where);
}

static int open_sort(workload *w) {
    sort *t = w->state = calloc(1, sizeof *t);
    if (!t) return no_memory();
    t->type = workload_dtype(w);
    int code = workload_open_matrix(w, &t->source, t->type);
    if (code) return code;
    read_params(w, t);
    code = workload_fits("rows, payload-stride", (double)t->rows * (double)t->payload_stride * (double)t->payload_bytes);
    if (!code && t->offset_bytes) code = make_offsets(t);
    if (!code) code = allocate(w, t);
    if (!code && t->offset_bytes) code = write_offsets(w, t);
    if (!code && t->payload_bytes) code = make_payload(w, t);
    if (!code) code = source_read_rows(&t->source, t->input, span(t) / t->bytes);
    return code ? code : sets_write(w, t->x, t->input, span(t));
}

static void close_sort(workload *w) {
    sort *t = w->state;
    if (!t) return;
    sets_free(w, t->x);
    sets_free(w, t->out);
    sets_free(w, t->where);
    if (t->offsets_at) sets_free(w, t->offsets_at);
    sets_free(w, t->from);
    sets_free(w, t->to);
    source_close(&t->source);
    free(t->offsets);
    free(t->row);
    free(t->order);
    free(t->spare);
    free(t->chosen);
    free(t->expected);
    free(t->expected_moved);
    free(t->payload);
    free(t->moved);
    free(t->input);
    free(t->values);
    free(t->indices);
    sets_free_right(&t->right);
    sets_free_right(&t->right_moved);
    free(t);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const sort *t = w->state;
    cj_status   status = cj_mem_fill(w->device, t->out[copy], POISON, results(t, t->bytes), NULL, error);
    if (!status) status = cj_mem_fill(w->device, t->where[copy], POISON, results(t, t->index_bytes), NULL, error);
    if (!status && t->payload_bytes)
        status = cj_mem_fill(w->device, t->to[copy], POISON, results(t, t->payload_bytes), NULL, error);
    return status;
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    sort    *t = w->state;
    void    *arguments[6] = {&t->x[copy], &t->out[copy], &t->where[copy]};
    uint32_t count = 3;
    if (t->offsets_at) arguments[count++] = &t->offsets_at[copy];
    if (t->payload_bytes) arguments[count++] = &t->from[copy], arguments[count++] = &t->to[copy];
    return cj_kernel_launch(kernel, stream, arguments, count, error);
}

// ---- the check

// Whether element a comes before b, whatever their places. NaN is greater than any number.
static bool comes_before(const sort *t, element a, element b) {
    if (element_same(t->type, a, b)) return false;
    const element_kind kind = element_kind_of(t->type);
    bool               greater = kind == ELEMENT_UNSIGNED ? a.u > b.u : a.i > b.i;
    if (kind == ELEMENT_FLOAT) greater = isnan(a.f) ? !isnan(b.f) : a.f > b.f;
    return greater == t->descending;
}

static uint64_t index_at(const sort *t, uint64_t at) {
    uint64_t index = 0;
    memcpy(&index, t->indices + at * t->index_bytes, t->index_bytes);  // little-endian
    return index;
}

// Where the row's elements of the payload are, and the place among the results.
static const unsigned char *payload_of(const sort *t, uint64_t row) {
    return t->payload + (t->offsets ? t->offsets[row] : row * t->payload_stride) * t->payload_bytes;
}
static bool has_payload_of(const sort *t, uint64_t row, uint64_t place, uint64_t index) {
    const size_t bytes = t->payload_bytes;
    return !memcmp(t->moved + (result_begin(t, row) + place) * bytes, payload_of(t, row) + index * bytes, bytes);
}

static bool is_element(const sort *t, uint64_t row, uint64_t place, uint64_t index) {
    return !memcmp(t->values + (result_begin(t, row) + place) * t->bytes, t->input + (row_begin(t, row) + index) * t->bytes,
                   t->bytes);
}

// What is wrong with a row's results, or NULL; *place is the index of the wrong result.
static const char *find_fault(const sort *t, uint64_t row, uint64_t *place) {
    const uint64_t length = row_length(t, row);
    uint64_t       before = 0;
    memset(t->chosen, 0, t->columns);
    for (*place = 0; *place < length; ++*place) {
        const uint64_t index = index_at(t, result_begin(t, row) + *place);
        if (index >= length) return "has an index beyond the row";
        if (t->has_values && !is_element(t, row, *place, index)) return "is not the element at its index";
        if (t->payload_bytes && !has_payload_of(t, row, *place, index))
            return "has not the payload of the element at its index";
        if (t->chosen[index]++) return "comes twice";
        const element a = t->row[before], b = t->row[index];
        if (*place && (comes_before(t, b, a) || (!comes_before(t, a, b) && index < before)))
            return "does not follow the one before in the order";
        before = index;
    }
    return NULL;
}

// The row's stable order: runs of one, two, four … are merged.
static void merge_sort(const sort *t, uint64_t length) {
    uint32_t *from = t->order, *to = t->spare;
    for (uint64_t i = 0; i < length; i++) from[i] = (uint32_t)i;
    for (uint64_t run = 1; run < length; run *= 2) {
        for (uint64_t first = 0; first < length; first += 2 * run) {
            const uint64_t middle = first + run < length ? first + run : length;
            const uint64_t end = middle + run < length ? middle + run : length;
            uint64_t       a = first, b = middle;
            for (uint64_t i = first; i < end; i++) {
                const bool second = a == middle || (b < end && comes_before(t, t->row[from[b]], t->row[from[a]]));
                to[i] = second ? from[b++] : from[a++];
            }
        }
        uint32_t *sorted = to;
        to = from, from = sorted;
    }
    if (from != t->order) memcpy(t->order, from, length * sizeof *from);
}

// The values and the payload of all rows, which all sets have: these have the same input.
static int expect(sort *t) {
    if (t->has_indices || t->expected) return CODE_OK;
    t->expected = malloc(results(t, t->bytes));
    t->expected_moved = malloc(results(t, t->payload_bytes) + 1);
    if (!t->expected || !t->expected_moved) return no_memory();
    unsigned char *to = t->expected, *moved = t->expected_moved;
    for (uint64_t row = 0; row < t->rows; row++) {
        const unsigned char *from = t->input + row_begin(t, row) * t->bytes;
        const uint64_t       length = row_length(t, row);
        element_widen(t->type, from, length, t->row);
        merge_sort(t, length);
        for (uint64_t i = 0; i < length; i++, to += t->bytes) memcpy(to, from + t->order[i] * t->bytes, t->bytes);
        for (uint64_t i = 0; i < length && t->payload_bytes; i++, moved += t->payload_bytes)
            memcpy(moved, payload_of(t, row) + t->order[i] * t->payload_bytes, t->payload_bytes);
    }
    return CODE_OK;
}

// The first of a row's elements that differs; *place is its index.
static bool differs(const sort *t, uint64_t row, size_t bytes, const unsigned char *found, const unsigned char *wanted,
                    uint64_t *place) {
    const size_t   first = (size_t)result_begin(t, row) * bytes;
    const uint64_t length = row_length(t, row);
    if (!memcmp(found + first, wanted + first, length * bytes)) return false;
    for (*place = 0; *place < length; ++*place)
        if (memcmp(found + first + *place * bytes, wanted + first + *place * bytes, bytes)) break;
    return true;
}

static const char *find_wrong_value(const sort *t, uint64_t row, uint64_t *place) {
    if (t->has_values && differs(t, row, t->bytes, t->values, t->expected, place))
        return "is not the value that a stable sort has there";
    if (t->payload_bytes && differs(t, row, t->payload_bytes, t->moved, t->expected_moved, place))
        return "has not the payload that a stable sort has there";
    return NULL;
}

static int read_results(workload *w, sort *t, unsigned copy) {
    cj_error  error;
    cj_status status = cj_mem_read(w->device, t->values, t->out[copy], results(t, t->bytes), NULL, &error);
    if (!status) status = cj_mem_read(w->device, t->indices, t->where[copy], results(t, t->index_bytes), NULL, &error);
    if (!status && t->payload_bytes)
        status = cj_mem_read(w->device, t->moved, t->to[copy], results(t, t->payload_bytes), NULL, &error);
    return status ? message_failure(&error) : CODE_OK;
}

static bool are_known_right(const sort *t) {
    const size_t moved = results(t, t->payload_bytes);
    return sets_is_right(&t->right, t->values, results(t, t->bytes), t->indices, results(t, t->index_bytes)) &&
           (!moved || sets_is_right(&t->right_moved, t->moved, moved, "", 1));
}

static void keep_right(sort *t) {
    const size_t moved = results(t, t->payload_bytes);
    sets_keep_right(&t->right, t->values, results(t, t->bytes), t->indices, results(t, t->index_bytes));
    if (moved) sets_keep_right(&t->right_moved, t->moved, moved, "", 1);
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    (void)kernel;
    sort *t = w->state;
    int   code = read_results(w, t, copy);
    if (!code) code = expect(t);
    if (code) return code;
    *verdict = (workload_verdict){.ok = true};
    t->wrong = 0;
    if (are_known_right(t)) return CODE_OK;
    for (uint64_t row = 0; row < t->rows; row++) {
        uint64_t place;
        if (t->has_indices) element_widen(t->type, t->input + row_begin(t, row) * t->bytes, row_length(t, row), t->row);
        const char *fault = (t->has_indices ? find_fault : find_wrong_value)(t, row, &place);
        if (!fault) continue;
        if (!t->wrong++)
            snprintf(verdict->text, sizeof verdict->text, "row %" PRIu64 ": result %" PRIu64 " %s", row, place, fault);
        verdict->ok = false;
        verdict->error = (double)t->wrong;
    }
    if (verdict->ok) keep_right(t);
    return CODE_OK;
}

// ---- what run shows

// The first row's first element in the order.
static element first_value(const sort *t) {
    element value;
    element_widen(t->type, t->has_values ? t->values : t->input + index_at(t, 0) * t->bytes, 1, &value);
    return value;
}

// The bits of its element of the payload.
static uint64_t first_moved(const sort *t) {
    uint64_t bits = 0;
    memcpy(&bits, t->moved, t->payload_bytes);  // little-endian
    return bits;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const sort *t = w->state;
    char        text[ELEMENT_TEXT];
    (void)kernel;
    printf("Rows: %" PRIu64 " of %" PRIu64 " elements, %s\n", t->rows, t->columns,
           t->descending ? "descending" : "ascending");
    if (t->has_values || t->has_indices) printf("First result: %s", element_text(t->type, first_value(t), text));
    if (t->has_indices) printf(" at %" PRIu64, index_at(t, 0));
    if (t->has_values || t->has_indices) printf("\n");
    if (t->payload_bytes) printf("First of the payload: 0x%" PRIx64 "\n", first_moved(t));
    printf("Wrong rows: %" PRIu64 "\n", t->wrong);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const sort *t = w->state;
    (void)kernel;
    json_t *result = json_pack("{s:o}", "wrong_rows", output_json_uint(t->wrong));
    if (t->has_values || t->has_indices) json_object_set_new(result, "first", element_json(t->type, first_value(t)));
    if (t->payload_bytes) json_object_set_new(result, "payload", output_json_uint(first_moved(t)));
    if (t->has_indices) json_object_set_new(result, "index", output_json_uint(index_at(t, 0)));
    json_object_set_new(object, "expected", json_pack("{s:i}", "wrong_rows", 0));
    json_object_set_new(object, "result", result);
}

// Segments lie in one array, one after the other.
static workload_output output_of(const sort *t, const char *name, cj_dtype type, cj_ptr at) {
    const uint64_t rows = t->offsets ? 1 : t->rows, columns = t->offsets ? t->offsets[t->rows] : t->columns;
    return workload_output_rows(name, type, at, rows, columns, columns);
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const sort    *t = w->state;
    const cj_dtype index = t->index_bytes == 8 ? CJ_I64 : CJ_U32;
    static const cj_dtype bits[] = {[1] = CJ_U8, [2] = CJ_U16, [4] = CJ_U32, [8] = CJ_U64};
    unsigned       count = 0;
    (void)kernel;
    if (t->has_values) list[count++] = output_of(t, "values", t->type, t->out[0]);
    if (t->has_indices) list[count++] = output_of(t, "indices", index, t->where[0]);
    if (t->payload_bytes) list[count++] = output_of(t, "sorted_payload", bits[t->payload_bytes], t->to[0]);
    return count;
}

const workload_type work_sort = {
    .family = "sort",
    .open = open_sort,
    .close = close_sort,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
};
