// SPDX-License-Identifier: Apache-2.0
// gemm: random normal matrices, or those of a file (A, then B, then C) or a fill, against sums in f64 of some
// elements of D.
#include <clusterjit/gemm.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "source.h"
#include "workload.h"

enum { ALIGNED = 8, SAMPLES = 400, POISON = 0xff, PATTERN = (1 << 20) - 3 };

enum { A, B, C, D, MATRICES };

// `lines` lines of `length` elements, `leading` apart.
typedef struct matrix {
    bool      by_columns;
    uint64_t  lines, length, leading;
    uint16_t *host;  // as it is read and written
    cj_ptr   *at;    // of each set
} matrix;

typedef struct gemm {
    cj_dtype     dtype;
    uint64_t     m, n, k;
    bool         adds_c;
    matrix       matrix[MATRICES];
    cj_gemm_desc desc;  // the leading dimensions
    float        alpha, beta;
    uint16_t    *normal;  // PATTERN numbers
    source       source;
    uint64_t     checked;
} gemm;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a matrix product"); }

static size_t bytes_of(const matrix *x) { return (size_t)(x->lines * x->leading) * sizeof *x->host; }

// ---- numbers

static uint64_t random_bits(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// Normally distributed, by Box and Muller. The length is odd, so that no two lines are the same.
static int make_normal(gemm *g) {
    g->normal = malloc(PATTERN * sizeof *g->normal);
    if (!g->normal) return no_memory();
    for (uint64_t i = 0; i < PATTERN; i++) {
        const double u = (double)((random_bits(2 * i) >> 11) + 1) * 0x1p-53,
                     v = (double)random_bits(2 * i + 1) * 0x1p-64;
        const element x = {.f = sqrt(-2 * log(u)) * cos(6.283185307179586 * v)};
        element_narrow(g->dtype, &x, 1, &g->normal[i]);
    }
    return CODE_OK;
}

static int fill_matrix(gemm *g, unsigned which) {
    matrix *x = &g->matrix[which];
    int     code = CODE_OK;
    memset(x->host, POISON, bytes_of(x));
    for (uint64_t line = 0; !code && line < x->lines; line++) {
        uint16_t *to = x->host + line * x->leading;
        if (!g->normal) code = source_read(&g->source, to, x->length);
        for (uint64_t i = 0; g->normal && i < x->length; i++)
            to[i] = g->normal[(line * x->length + i + 7919 * which) % PATTERN];
    }
    return code;
}

static double value(const gemm *g, unsigned which, uint64_t row, uint64_t column) {
    const matrix *x = &g->matrix[which];
    element       wide;
    element_widen(g->dtype, &x->host[x->by_columns ? column * x->leading + row : row * x->leading + column], 1, &wide);
    return wide.f;
}

// ---- the workload

static void shape_matrix(matrix *x, bool by_columns, uint64_t rows, uint64_t columns) {
    *x = (matrix){
        .by_columns = by_columns, .lines = by_columns ? columns : rows, .length = by_columns ? rows : columns};
    x->leading = (x->length + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static void read_params(const workload *w, gemm *g) {
    char       word[16];
    const bool d = cj_params_get(&w->params, "d");
    element_type(cj_params_word(&w->params, "dtype", word, sizeof word), &g->dtype);
    g->m = cj_params_get(&w->params, "m");
    g->n = cj_params_get(&w->params, "n");
    g->k = cj_params_get(&w->params, "k");
    g->adds_c = cj_params_get(&w->params, "c");
    g->alpha = 1;
    g->beta = g->adds_c ? 0.5F : 0;
    shape_matrix(&g->matrix[A], cj_params_get(&w->params, "a"), g->m, g->k);
    shape_matrix(&g->matrix[B], cj_params_get(&w->params, "b"), g->k, g->n);
    shape_matrix(&g->matrix[C], d, g->m, g->n);
    shape_matrix(&g->matrix[D], d, g->m, g->n);
    const uint64_t ld = g->matrix[D].leading;
    g->desc = (cj_gemm_desc){.lda = g->matrix[A].leading, .ldb = g->matrix[B].leading, .ldc = ld, .ldd = ld};
}

static bool is_there(const gemm *g, unsigned which) { return which != C || g->adds_c; }

static int allocate(workload *w, gemm *g) {
    cj_error error;
    double   bytes = 0;
    for (unsigned i = 0; i < MATRICES; i++)
        if (is_there(g, i)) bytes += (double)bytes_of(&g->matrix[i]);
    w->copies = workload_copies(w, bytes);
    w->bytes_written = 2 * (double)g->m * (double)g->n;
    w->bytes_read = 2 * (double)g->k * ((double)g->m + (double)g->n) + (g->adds_c ? w->bytes_written : 0);
    w->operations = 2 * (double)g->m * (double)g->n * (double)g->k;
    w->unit = "floating point operations";
    for (unsigned i = 0; i < MATRICES; i++) {
        matrix *x = &g->matrix[i];
        if (!is_there(g, i)) continue;
        x->host = malloc(bytes_of(x));
        x->at = calloc(w->copies, sizeof *x->at);
        if (!x->host || !x->at) return no_memory();
        for (unsigned c = 0; c < w->copies; c++)
            if (cj_mem_alloc(w->device, bytes_of(x), &x->at[c], &error)) return message_failure(&error);
    }
    return CODE_OK;
}

static int upload(workload *w, gemm *g) {
    cj_error error;
    int      code = CODE_OK;
    for (unsigned i = 0; !code && i < D; i++) {
        const matrix *x = &g->matrix[i];
        if (!is_there(g, i)) continue;
        code = fill_matrix(g, i);
        for (unsigned c = 0; !code && c < w->copies; c++)
            if (cj_mem_write(w->device, x->at[c], x->host, bytes_of(x), NULL, &error)) code = message_failure(&error);
    }
    return code;
}

static int open_numbers(workload *w, gemm *g) {
    if (!w->input && !w->fill) return make_normal(g);
    const uint64_t wanted = g->m * g->k + g->k * g->n + (g->adds_c ? g->m * g->n : 0);
    int            code = source_open(&g->source, g->dtype, w->input, w->fill);
    if (!code && g->source.available < wanted)
        code = message_error(CJ_INVALID_ARGUMENT, "'%s' holds only %" PRIu64 " elements of %" PRIu64, g->source.name,
                             g->source.available, wanted);
    return code;
}

static int open_gemm(workload *w) {
    gemm *g = w->state = calloc(1, sizeof *g);
    if (!g) return no_memory();
    read_params(w, g);
    int code = open_numbers(w, g);
    if (!code) code = allocate(w, g);
    return code ? code : upload(w, g);
}

static void close_gemm(workload *w) {
    gemm *g = w->state;
    if (!g) return;
    for (unsigned i = 0; i < MATRICES; i++) {
        for (unsigned c = 0; g->matrix[i].at && c < w->copies; c++) cj_mem_free(w->device, g->matrix[i].at[c]);
        free(g->matrix[i].at);
        free(g->matrix[i].host);
    }
    if (!g->normal) source_close(&g->source);
    free(g->normal);
    free(g);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const gemm *g = w->state;
    return cj_mem_fill(w->device, g->matrix[D].at[copy], POISON, bytes_of(&g->matrix[D]), NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    const gemm            *g = w->state;
    const cj_gemm_operands operands = {g->matrix[A].at[copy],
                                       g->matrix[B].at[copy],
                                       g->adds_c ? g->matrix[C].at[copy] : 0,
                                       g->matrix[D].at[copy],
                                       g->alpha,
                                       g->beta};
    return cj_gemm_kernel_launch(w->device, kernel, &g->desc, &operands, stream, error);
}

// ---- the check

typedef struct sum {
    double value, size;  // size: of the summands without their signs
} sum;

static sum expected(const gemm *g, uint64_t row, uint64_t column) {
    const double added = g->adds_c ? g->beta * value(g, C, row, column) : 0;
    sum          s = {0, 0};
    for (uint64_t i = 0; i < g->k; i++) {
        const double product = value(g, A, row, i) * value(g, B, i, column);
        s.value += product;
        s.size += fabs(product);
    }
    return (sum){g->alpha * s.value + added, fabs((double)g->alpha) * s.size + fabs(added)};
}

static void check_element(gemm *g, uint64_t row, uint64_t column, workload_verdict *verdict) {
    const sum    want = expected(g, row, column);
    const double got = value(g, D, row, column), away = fabs(got - want.value);
    const double error = isnan(want.value) && isnan(got) ? 0 : got == want.value ? 0 : away / want.size;
    g->checked++;
    if (!(error <= verdict->error)) verdict->error = error;
    if (error <= verdict->bound || !verdict->ok) return;
    verdict->ok = false;
    snprintf(verdict->text, sizeof verdict->text, "D(%" PRIu64 ", %" PRIu64 ") is %.9g, not %.9g", row, column, got,
             want.value);
}

// Corners, and elements drawn at random.
static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    gemm         *g = w->state;
    const matrix *d = &g->matrix[D];
    cj_error      error;
    if (cj_mem_read(w->device, d->host, d->at[copy], bytes_of(d), NULL, &error)) return message_failure(&error);
    *verdict = (workload_verdict){.ok = true, .bound = cj_kernel_plan(kernel)->error_bound};
    g->checked = 0;
    for (uint64_t i = 0; i < 4; i++) check_element(g, i % 2 ? g->m - 1 : 0, i / 2 ? g->n - 1 : 0, verdict);
    for (uint64_t i = 0; i < SAMPLES; i++)
        check_element(g, random_bits(2 * i) % g->m, random_bits(2 * i + 1) % g->n, verdict);
    return CODE_OK;
}

// ---- what run shows

static void print(const workload *w, const cj_kernel *kernel) {
    const gemm *g = w->state;
    const sum   want = expected(g, g->m - 1, g->n - 1);
    printf("D: %" PRIu64 " x %" PRIu64 ", K: %" PRIu64 ", kernel: %s\n", g->m, g->n, g->k,
           cj_kernel_plan(kernel)->entry);
    printf("Last element: %.9g (expected %.9g)\n", value(g, D, g->m - 1, g->n - 1), want.value);
    printf("Elements checked: %" PRIu64 "\n", g->checked);
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const gemm *g = w->state;
    const sum   want = expected(g, g->m - 1, g->n - 1);
    json_object_set_new(object, "expected", json_pack("{s:f}", "last", want.value));
    json_object_set_new(object, "result",
                        json_pack("{s:f, s:o, s:s}", "last", value(g, D, g->m - 1, g->n - 1), "checked",
                                  output_json_uint(g->checked), "kernel", cj_kernel_plan(kernel)->entry));
}

const workload_type work_gemm = {
    .family = "gemm",
    .open = open_gemm,
    .close = close_gemm,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
};
