// SPDX-License-Identifier: Apache-2.0
// The families of rows: matrices of random elements, or a file or a fill for the first one; a sample of the rows is
// compared with the definition (row_model.h).
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "message.h"
#include "output.h"
#include "row_model.h"
#include "source.h"
#include "threads.h"
#include "workload.h"

// Elements repeat after PERIOD (a prime, so that rows differ); CHECKED: elements that are checked, at most, by whole
// rows, and as many in sums over rows, or, of a sample, SAMPLE; WINDOW: bytes that one copy from the device reads, if the row is no longer.
enum { PERIOD = 1048573, CHECKED = 1 << 22, SAMPLE = 1 << 18, WINDOW = 1 << 16, POISON = 0xa5, SEED = 1, SHOWN = 4 };

// What a check has read of an array: its bytes [begin, end). The check takes rows in order, so one copy from the device
// serves many short rows (a copy a row took more than 20 s for 40176 rows of 128 on an H200's host).
typedef struct window {
    unsigned char *bytes;
    size_t         begin, end;
} window;

// Which rows a host thread checks, and what it finds: the first failure of the device, or a verdict.
typedef struct lane {
    double          *value[ROW_ARRAYS];  // of one row
    window           window[ROW_ARRAYS];
    workload_verdict verdict;
    cj_error         error;
} lane;

// Host threads of a check at most, and elements that are worth one.
enum { LANES = 32, LANE_ELEMENTS = 1 << 15 };

typedef struct rows {
    row_model model;
    cj_ptr   *memory;           // copy c of array i: [c * count + i]
    double   *sum[ROW_ARRAYS];  // of sums over rows
    lane      lane[LANES];
    unsigned  lanes;
    double    first[SHOWN];       // the first elements of the first output, row 0
    uint64_t  checked;            // rows
    source    source;             // of the first array
    void     *input;              // all of it, if it comes from the source; else NULL
} rows;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for rows"); }

static size_t array_bytes(const row_model *m, unsigned i) {
    return (size_t)row_model_elements(m, i) * cj_dtype_size(m->array[i].type);
}

static size_t row_bytes(const row_model *m, unsigned i) {
    return row_model_width(m, i) * cj_dtype_size(m->array[i].type);
}

static bool is_total(const row_model *m, unsigned i) { return m->array[i].kind == ROW_ARRAY_TOTAL; }

// How many rows of an array are moved, each once.
static double rows_of(const row_model *m, unsigned i) {
    const uint64_t period = m->array[i].period;
    if (m->array[i].kind == ROW_ARRAY_COLUMN || is_total(m, i)) return 1;
    return (double)(period && period < m->rows ? period : m->rows);
}

static cj_ptr *memory_of(const rows *r, unsigned copy, unsigned i) { return &r->memory[copy * r->model.count + i]; }

enum { INPUT };  // the array that a file or a fill is for: the first, which every family reads

static int read_input(workload *w, rows *r) {
    const size_t bytes = array_bytes(&r->model, INPUT);
    cj_error     error;
    r->input = malloc(bytes);
    if (!r->input) return no_memory();
    int code = source_read_rows(&r->source, r->input, (size_t)row_model_elements(&r->model, INPUT));
    for (unsigned c = 0; !code && c < w->copies; c++)
        if (cj_mem_write(w->device, *memory_of(r, c, INPUT), r->input, bytes, NULL, &error))
            code = message_failure(&error);
    return code;
}

// Makes one period of elements and writes it, again and again, into every copy.
static int fill_array(workload *w, const rows *r, unsigned i) {
    const row_model *m = &r->model;
    const size_t     size = cj_dtype_size(m->array[i].type), bytes = array_bytes(m, i);
    const size_t     period = bytes < PERIOD * size ? bytes : PERIOD * size;
    unsigned char   *made = malloc(period);
    cj_error         error;
    cj_status        status = CJ_OK;
    if (!made) return no_memory();
    for (size_t at = 0; at < period / size; at++)
        row_model_write(m->array[i].type, made, at, row_model_fill(m, i, at, SEED));
    for (unsigned c = 0; !status && c < w->copies; c++)
        for (size_t at = 0; !status && at < bytes; at += period)
            status = cj_mem_write(w->device, *memory_of(r, c, i) + at, made, bytes - at < period ? bytes - at : period,
                                  NULL, &error);
    free(made);
    return status ? message_failure(&error) : CODE_OK;
}

// Rows that are checked at most, of which each thread has some.
static uint64_t rows_checked(const row_model *m, uint64_t elements) {
    const uint64_t room = elements / m->columns + 2;
    return m->rows < room ? m->rows : room;
}

static unsigned count_lanes(const row_model *m) {
    const uint64_t checked = rows_checked(m, CHECKED), worth = checked * m->columns / LANE_ELEMENTS + 1;
    uint64_t       lanes = threads_cores() < LANES ? threads_cores() : LANES;
    if (lanes > checked) lanes = checked;
    return (unsigned)(lanes < worth ? lanes : worth);
}

static bool open_lane(const row_model *m, lane *l) {
    for (unsigned i = 0; i < m->count; i++) {
        l->value[i] = malloc(m->columns * sizeof *l->value[i]);
        l->window[i].bytes = malloc(row_bytes(m, i) > WINDOW ? row_bytes(m, i) : WINDOW);
        if (!l->value[i] || !l->window[i].bytes) return false;
    }
    return true;
}

static void close_lane(lane *l) {
    for (unsigned i = 0; i < ROW_ARRAYS; i++) {
        free(l->value[i]);
        free(l->window[i].bytes);
    }
}

static int allocate(workload *w, rows *r) {
    const row_model *m = &r->model;
    cj_error         error;
    for (unsigned i = 0; i < m->count; i++) {
        *(m->array[i].written ? &w->bytes_written : &w->bytes_read) += (double)row_bytes(m, i) * rows_of(m, i);
    }
    w->copies = workload_copies(w, w->bytes_read + w->bytes_written);
    r->memory = calloc((size_t)w->copies * m->count, sizeof *r->memory);
    if (!r->memory) return no_memory();
    for (unsigned n = 0; n < r->lanes; n++)
        if (!open_lane(m, &r->lane[n])) return no_memory();
    for (unsigned i = 0; i < m->count; i++) {
        r->sum[i] = malloc(m->columns * sizeof *r->sum[i]);
        if (!r->sum[i]) return no_memory();
        for (unsigned c = 0; c < w->copies; c++)
            if (cj_mem_alloc(w->device, array_bytes(m, i), memory_of(r, c, i), &error)) return message_failure(&error);
    }
    return CODE_OK;
}

static int open_rows(workload *w) {
    rows *r = w->state = calloc(1, sizeof *r);
    if (!r) return no_memory();
    int code = w->input || w->fill ? workload_open_rows(w, &r->source, workload_dtype(w)) : CODE_OK;
    if (!code) code = workload_plan_check(w);
    if (code) return code;
    row_model_make(&r->model, &w->params);
    r->lanes = count_lanes(&r->model);
    code = allocate(w, r);
    for (unsigned i = 0; !code && i < r->model.count; i++)
        if (!r->model.array[i].written && (i != INPUT || !(w->input || w->fill))) code = fill_array(w, r, i);
    return !code && (w->input || w->fill) ? read_input(w, r) : code;
}

static void close_rows(workload *w) {
    rows *r = w->state;
    if (!r) return;
    for (unsigned i = 0; i < r->model.count; i++) {
        for (unsigned c = 0; r->memory && c < w->copies; c++) cj_mem_free(w->device, *memory_of(r, c, i));
        free(r->sum[i]);
    }
    for (unsigned n = 0; n < r->lanes; n++) close_lane(&r->lane[n]);
    source_close(&r->source);
    free(r->input);
    free(r->memory);
    free(r);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const rows *r = w->state;
    cj_status   status = CJ_OK;
    for (unsigned i = 0; !status && i < r->model.count; i++)
        if (r->model.array[i].written)
            status = cj_mem_fill(w->device, *memory_of(r, copy, i), POISON, array_bytes(&r->model, i), NULL, error);
    return status;
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    const rows *r = w->state;
    void       *arguments[ROW_ARRAYS];
    for (unsigned i = 0; i < r->model.count; i++) arguments[i] = memory_of(r, copy, i);
    return cj_kernel_launch(kernel, stream, arguments, r->model.count, error);
}

// ---- the check

// Points `found` to a row of an array, which stays there until the array's next row is read.
static cj_status read_row(const workload *w, lane *l, unsigned copy, unsigned i, uint64_t row, const void **found, cj_error *error) {
    const rows      *r = w->state;
    const row_model *m = &r->model;
    window          *read = &l->window[i];
    const size_t     begin = row_model_begin(m, i, row) * cj_dtype_size(m->array[i].type), end = begin + row_bytes(m, i);
    cj_status        status = CJ_OK;
    if (begin < read->begin || end > read->end) {
        const size_t ahead = begin + WINDOW < array_bytes(m, i) ? begin + WINDOW : array_bytes(m, i);
        read->begin = begin;
        read->end = end > ahead ? end : ahead;
        status = cj_mem_read(w->device, read->bytes, *memory_of(r, copy, i) + begin, read->end - begin, NULL, error);
    }
    *found = read->bytes + (begin - read->begin);
    return status;
}

// Compares an element that was written with its expected value.
static void compare(const rows *r, unsigned i, uint64_t row, uint64_t c, double found, double want, double size,
                    workload_verdict *verdict) {
    const row_array *a = &r->model.array[i];
    const double     apart = fmax(fabs(found - want) - row_model_least(a->type), 0) / (fabs(want) + size + 0x1p-126);
    if (found == want || (isnan(found) && isnan(want))) return;
    if (row_model_overflows(a->type, found, want, verdict->bound * (fabs(want) + size))) return;
    if (verdict->ok && !(apart <= verdict->bound)) {
        snprintf(verdict->text, sizeof verdict->text, "%s[%" PRIu64 "][%" PRIu64 "] is %.9g, not %.9g", a->name, row, c,
                 found, want);
        verdict->ok = false;
    }
    verdict->error = apart <= verdict->error ? verdict->error : apart;
}

static cj_status check_row(const workload *w, lane *l, unsigned copy, uint64_t row) {
    rows            *r = w->state;
    const row_model *m = &r->model;
    double           size[ROW_ARRAYS] = {0};
    const void      *found;
    for (unsigned i = 0; i < m->count; i++) {
        if (m->array[i].written) continue;
        if (read_row(w, l, copy, i, row, &found, &l->error)) return l->error.status;
        for (uint64_t c = 0; c < row_model_width(m, i); c++)
            l->value[i][c] = row_model_read(m->array[i].type, found, c);
    }
    m->row(m, l->value, size);
    bool shown = row != 0;
    for (unsigned i = 0; i < m->count; i++) {
        if (!m->array[i].written || is_total(m, i)) continue;
        if (read_row(w, l, copy, i, row, &found, &l->error)) return l->error.status;
        for (uint64_t c = 0; c < row_model_width(m, i); c++)
            compare(r, i, row, c, row_model_read(m->array[i].type, found, c), l->value[i][c], size[i], &l->verdict);
        for (uint64_t c = 0; !shown && c < SHOWN && c < row_model_width(m, i); c++)
            r->first[c] = row_model_read(m->array[i].type, found, c);
        shown = true;
    }
    return CJ_OK;
}

// Adds rows with only some columns, whose elements are those written to the device, into r->sum; `size` gets the sums
// of sizes.
static void add_rows(rows *r, const row_model *some, double size[ROW_ARRAYS]) {
    double *const *value = r->lane[0].value;
    for (uint64_t row = 0; row < some->rows; row++) {
        double own[ROW_ARRAYS] = {0};
        for (unsigned i = 0; i < some->count; i++)
            for (uint64_t c = 0; !some->array[i].written && c < row_model_width(some, i); c++) {
                const uint64_t column = workload_spread(c, some->columns, r->model.columns);
                const uint64_t at = row_model_begin(some, i, row) + column;
                value[i][c] = i == INPUT && r->input ? row_model_read(some->array[i].type, r->input, at)
                                                     : row_model_fill(some, i, at % PERIOD, SEED);
            }
        some->row(some, value, own);
        for (unsigned i = 0; i < some->count; i++) {
            size[i] += own[i];
            for (uint64_t c = 0; is_total(some, i) && c < some->columns; c++) r->sum[i][c] += value[i][c];
        }
    }
}

static uint64_t elements_checked(const workload *w) { return w->sampled ? SAMPLE : CHECKED; }

// Checks sums over rows, in equally spaced columns.
static int check_totals(const workload *w, unsigned copy, workload_verdict *verdict) {
    rows          *r = w->state;
    row_model      some = r->model;
    const uint64_t room = elements_checked(w) / some.rows + 2;
    double         size[ROW_ARRAYS] = {0};
    const void    *total;
    cj_error       error;
    if (room < some.columns) some.columns = room;
    for (unsigned i = 0; i < some.count; i++)
        if (is_total(&some, i)) memset(r->sum[i], 0, some.columns * sizeof *r->sum[i]);
    add_rows(r, &some, size);
    for (unsigned i = 0; i < some.count; i++) {
        if (!is_total(&some, i)) continue;
        if (read_row(w, &r->lane[0], copy, i, 0, &total, &error)) return message_failure(&error);
        for (uint64_t c = 0; c < some.columns; c++) {
            const uint64_t column = workload_spread(c, some.columns, r->model.columns);
            const double   found = row_model_read(some.array[i].type, total, column);
            compare(r, i, 0, column, found, r->sum[i][c], size[i], verdict);
        }
    }
    return CODE_OK;
}

static bool has_totals(const row_model *m) {
    unsigned i = 0;
    while (i < m->count && !is_total(m, i)) i++;
    return i < m->count;
}

typedef struct checking {
    const workload *w;
    unsigned        copy;
    double          bound;
} checking;

// One thread's rows, which lie side by side among those that are checked.
static void check_lane(void *user, size_t n) {
    const checking *c = user;
    rows           *r = c->w->state;
    lane           *l = &r->lane[n];
    l->error.status = CJ_OK;
    l->verdict = (workload_verdict){.ok = true, .bound = c->bound};
    for (unsigned i = 0; i < r->model.count; i++) l->window[i].begin = l->window[i].end = 0;  // of another launch
    for (uint64_t row = r->checked * n / r->lanes; row < r->checked * (n + 1) / r->lanes; row++)
        if (check_row(c->w, l, c->copy, workload_spread(row, r->checked, r->model.rows))) return;
}

// The verdict on all rows: that on the first ones that are wrong.
static int judge(const rows *r, workload_verdict *verdict) {
    for (unsigned n = 0; n < r->lanes; n++) {
        const lane  *l = &r->lane[n];
        const double most = verdict->error, its = l->verdict.error, error = isnan(most) || its <= most ? most : its;
        if (l->error.status) return message_failure(&l->error);
        if (verdict->ok) *verdict = l->verdict;
        verdict->error = error;
    }
    return CODE_OK;
}

// Checks equally spaced rows, on several host threads, and sums over all rows.
static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    rows    *r = w->state;
    checking c = {w, copy, cj_kernel_plan(kernel)->error_bound};
    r->checked = rows_checked(&r->model, elements_checked(w));
    *verdict = (workload_verdict){.ok = true, .bound = c.bound};
    threads_each(NULL, r->lanes, check_lane, &c);
    const int code = judge(r, verdict);
    return !code && has_totals(&r->model) ? check_totals(w, copy, verdict) : code;
}

// ---- what run shows

static unsigned first_written(const row_model *m) {
    unsigned i = 0;
    while (!m->array[i].written) i++;
    return i;
}

static uint64_t shown(const row_model *m) {
    const uint64_t width = row_model_width(m, first_written(m));
    return width < SHOWN ? width : SHOWN;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const rows *r = w->state;
    (void)kernel;
    printf("Rows: %" PRIu64 " of %" PRIu64 " elements\n", r->model.rows, r->model.columns);
    printf("Checked: %" PRIu64 " rows\n", r->checked);
    printf("%s[0]:", r->model.array[first_written(&r->model)].name);
    for (uint64_t c = 0; c < shown(&r->model); c++) printf(" %.6g", r->first[c]);
    printf("%s\n", row_model_width(&r->model, first_written(&r->model)) > SHOWN ? " …" : "");
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const rows *r = w->state;
    json_t     *first = json_array();
    (void)kernel;
    for (uint64_t c = 0; c < shown(&r->model); c++) json_array_append_new(first, output_json_real(r->first[c]));
    json_object_set_new(object, "result",
                        json_pack("{s:o, s:o}", "rows_checked", output_json_uint(r->checked), "first", first));
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const rows      *r = w->state;
    const row_model *m = &r->model;
    unsigned         count = 0;
    (void)kernel;
    for (unsigned i = 0; i < m->count; i++) {
        const row_array *a = &m->array[i];
        if (!a->written) continue;
        workload_output found = {.name = a->name,
                                 .type = a->type,
                                 .at = *memory_of(r, 0, i),
                                 .dims = 1,
                                 .stride = {1},
                                 .extent = {a->kind == ROW_ARRAY_EACH ? m->rows : m->columns}};
        if (a->kind == ROW_ARRAY_MATRIX)
            found.dims = 2, found.extent[0] = m->rows, found.extent[1] = m->columns,
            found.stride[0] = row_model_stride(m, i), found.stride[1] = 1;
        list[count++] = found;
    }
    return count;
}

#define WORK(name)                      \
    const workload_type work_##name = { \
        .family = #name,                \
        .open = open_rows,              \
        .close = close_rows,            \
        .poison = poison,               \
        .launch = launch,               \
        .check = check,                 \
        .print = print,                 \
        .json = json,                   \
        .outputs = outputs,             \
    }

WORK(softmax);
WORK(logsoftmax);
WORK(rmsnorm);
WORK(layernorm);
WORK(crossentropy);
