// SPDX-License-Identifier: Apache-2.0
#include "row_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/ptxgen/row_model.h"
#include "emit.h"
#include "test.h"

enum { GUARD_BYTES = 64, POISON = 0xa5 };

typedef struct array {
    unsigned char *bytes;  // on the host, with guards
    size_t         size;
    cj_ptr         memory, at;
} array;

typedef struct problem {
    const char *words;
    row_model   model;
    cj_params   params;
    unsigned    shift;
    array       array[ROW_ARRAYS];
} problem;

static size_t element_size(const problem *p, unsigned i) { return cj_dtype_size(p->model.array[i].type); }

static void make_array(cj_device *device, problem *p, unsigned i, uint64_t seed) {
    array         *a = &p->array[i];
    const uint64_t count = row_model_elements(&p->model, i);
    cj_error       error = {0};
    // One value a row is not among what `align` speaks of.
    const unsigned shift = p->model.array[i].kind == ROW_ARRAY_EACH ? 0 : p->shift;
    a->size = count * element_size(p, i) + 2 * GUARD_BYTES + shift;
    a->bytes = malloc(a->size);
    assert_non_null(a->bytes);
    memset(a->bytes, POISON, a->size);
    for (uint64_t at = 0; !p->model.array[i].written && at < count; at++)
        row_model_write(p->model.array[i].type, a->bytes + GUARD_BYTES + shift, at,
                        row_model_fill(&p->model, i, at, seed));
    cj_test_ok(cj_mem_alloc(device, a->size, &a->memory, &error), &error);
    cj_test_ok(cj_mem_write(device, a->memory, a->bytes, a->size, NULL, &error), &error);
    a->at = a->memory + GUARD_BYTES + shift;
}

// Puts the launch of a problem's kernel on the device.
typedef cj_status (*launcher)(cj_device *device, problem *p, cj_error *error);

static cj_status launch_kernel(cj_device *device, problem *p, cj_error *error) {
    void      *arguments[ROW_ARRAYS];
    cj_kernel *kernel = NULL;
    for (unsigned i = 0; i < p->model.count; i++) arguments[i] = &p->array[i].at;
    cj_status status = cj_kernel_create(device, &p->params, &kernel, error);
    for (int time = 0; time < 2 && !status; time++)
        status = cj_kernel_launch(kernel, NULL, arguments, p->model.count, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    cj_kernel_destroy(kernel);
    return status;
}

static void launch(cj_device *device, problem *p, launcher how) {
    cj_error error = {0};
    if (how(device, p, &error)) fail_msg("%s: %s %s", p->words, error.message, error.hint);
    for (unsigned i = 0; i < p->model.count; i++)
        cj_test_ok(cj_mem_read(device, p->array[i].bytes, p->array[i].memory, p->array[i].size, NULL, &error), &error);
}

// Between the elements of an array that is written nothing has changed.
static void check_guards(const problem *p, unsigned i) {
    const array   *a = &p->array[i];
    const size_t   size = element_size(p, i), first = (size_t)(a->at - a->memory);
    const uint64_t stride = row_model_stride(&p->model, i), width = row_model_width(&p->model, i);
    for (size_t b = 0; b < a->size; b++) {
        const uint64_t element = b < first ? UINT64_MAX : (b - first) / size;
        const bool     inside = element < row_model_elements(&p->model, i) && element % stride < width;
        if (!inside && a->bytes[b] != POISON)
            fail_msg("%s: byte %zu of %s was overwritten", p->words, b, p->model.array[i].name);
    }
}

static void check_row(const problem *p, uint64_t row, double *const want[ROW_ARRAYS], double bound) {
    double size[ROW_ARRAYS] = {0};
    for (unsigned i = 0; i < p->model.count; i++)
        for (uint64_t c = 0; !p->model.array[i].written && c < row_model_width(&p->model, i); c++)
            want[i][c] = row_model_read(p->model.array[i].type,
                                        p->array[i].bytes + (p->array[i].at - p->array[i].memory),
                                        row * row_model_stride(&p->model, i) + c);
    p->model.row(&p->model, want, size);
    for (unsigned i = 0; i < p->model.count; i++)
        for (uint64_t c = 0; p->model.array[i].written && c < row_model_width(&p->model, i); c++) {
            const double got = row_model_read(p->model.array[i].type,
                                              p->array[i].bytes + (p->array[i].at - p->array[i].memory),
                                              row * row_model_stride(&p->model, i) + c);
            const double most = bound * (fabs(want[i][c]) + size[i]) + row_model_least(p->model.array[i].type);
            if (fabs(got - want[i][c]) <= most || (isnan(got) && isnan(want[i][c])) || got == want[i][c]) continue;
            fail_msg("%s: %s[%" PRIu64 "][%" PRIu64 "] is %.9g, not %.9g (at most %.3g apart)", p->words,
                     p->model.array[i].name, row, c, got, want[i][c], most);
        }
}

static void test_row(cj_device *device, const char *words, unsigned shift, uint64_t seed, launcher how) {
    problem  p = {.words = words, .shift = shift};
    cj_error error = {0};
    cj_plan  plan;
    char     family[24];
    double  *want[ROW_ARRAYS] = {0};
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &p.params, &error), &error);
    assert_true(row_model_make(&p.model, &p.params));
    for (unsigned i = 0; i < p.model.count; i++) {
        make_array(device, &p, i, seed);
        want[i] = malloc(p.model.columns * sizeof *want[i]);
        assert_non_null(want[i]);
    }
    if (cj_plan_make(&p.params, cj_device_limits(device), NULL, &plan, &error))
        fail_msg("%s: %s %s", words, error.message, error.hint);
    launch(device, &p, how);
    for (unsigned i = 0; i < p.model.count; i++)
        if (p.model.array[i].written) check_guards(&p, i);
    for (uint64_t row = 0; row < p.model.rows; row++) check_row(&p, row, want, plan.error_bound);
    for (unsigned i = 0; i < p.model.count; i++) {
        cj_mem_free(device, p.array[i].memory);
        free(p.array[i].bytes);
        free(want[i]);
    }
}

void cj_test_row(cj_device *device, const char *words, unsigned shift, uint64_t seed) {
    test_row(device, words, shift, seed, launch_kernel);
}

// ---- drawn from a seed

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

// Around powers of two, and any.
static uint64_t draw_columns(uint64_t *seed, uint64_t most) {
    unsigned bits = 0;
    while (UINT64_C(2) << bits <= most) bits++;
    const uint64_t power = UINT64_C(1) << below(seed, bits + 1), way = below(seed, 5);
    const uint64_t value = way == 0   ? power
                           : way == 1 ? power + 1
                           : way == 2 ? power - 1
                           : way == 3 ? power / 8 * 5
                                      : below(seed, power) + 1;
    return value < 1 ? 1 : value > most ? most : value;
}

// Words of the family's own parameters: for choices any of them.
static void draw_choices(uint64_t *seed, const cj_family *family, char *text, size_t size) {
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const cj_param_info *info = cj_family_param(family, i);
        const size_t         used = strlen(text);
        char                 words[64], *word;
        if (!info->choices || !strcmp(info->name, "align") || !strcmp(info->name, "form")) continue;
        snprintf(words, sizeof words, "%s", info->choices);
        uint64_t count = 1;
        for (const char *at = words; *at; at++) count += *at == ' ';
        word = strtok(words, " ");
        for (uint64_t n = below(seed, count); n; n--) word = strtok(NULL, " ");
        snprintf(text + used, size - used, " %s=%s", info->name, word);
    }
}

void cj_test_row_random(cj_device *device, const char *family, uint64_t *seed, uint64_t most) {
    static const unsigned    clusters[] = {0, 1, 2, 4, 8};
    static const char *const aligns[] = {"16", "8", "4"};
    const cj_family         *found;
    cj_error                 error = {0};
    char                     words[512];
    cj_test_ok(cj_family_find(family, &found, &error), &error);
    const uint64_t columns = draw_columns(seed, most),
                   rows = 1 + below(seed, most / columns < 40 ? most / columns : 40);
    const unsigned align = (unsigned)below(seed, 3);
    snprintf(words, sizeof words, "%s rows=%" PRIu64 " columns=%" PRIu64 " align=%s", family, rows, columns,
             aligns[align]);
    draw_choices(seed, found, words, sizeof words);
    size_t used = strlen(words);
    if (below(seed, 2)) {
        snprintf(words + used, sizeof words - used, " stride=%" PRIu64 " out-stride=%" PRIu64,
                 columns + below(seed, 20), columns + 8 * below(seed, 3));
    }
    used = strlen(words);
    if (below(seed, 2))
        snprintf(words + used, sizeof words - used, " form=direct cluster=%u", clusters[below(seed, 5)]);
    used = strlen(words);
    if (below(seed, 3) == 0)
        snprintf(words + used, sizeof words - used, " pieces=%" PRIu64 " vectors=8", 1 + below(seed, 3));
    cj_test_row(device, words, (16u >> align) * (unsigned)below(seed, 3), *seed);
}

// ---- the typed calls: through a handle, and in one call

static cj_ptr at(const problem *p, const char *name) {
    const unsigned i = row_model_find(&p->model, name);
    return i < ROW_ARRAYS ? p->array[i].at : 0;
}

static cj_rows shape_of(const problem *p) {
    return (cj_rows){.rows = p->model.rows,
                     .columns = p->model.columns,
                     .dtype = p->model.in,
                     .stride = p->model.stride,
                     .out_stride = p->model.out_stride,
                     .out = (cj_rows_out)cj_params_get(&p->params, "out")};
}

static cj_status call_softmax(cj_device *device, problem *p, cj_error *error) {
    const cj_softmax_desc   desc = {.shape = shape_of(p),
                                    .log = p->model.log,
                                    .mask = at(p, "mask") != 0,
                                    .scale = p->model.scale,
                                    .backward = at(p, "dy") != 0};
    const cj_softmax_arrays arrays = {
        .x = at(p, "x"), .y = at(p, "y"), .mask = at(p, "mask"), .dy = at(p, "dy"), .dx = at(p, "dx")};
    cj_softmax *softmax = NULL;
    cj_status   status = p->shift ? CJ_OK : cj_softmax_create(device, &desc, &softmax, error);
    if (!status && softmax) status = cj_softmax_run(softmax, &arrays, NULL, error);
    if (!status) status = cj_softmax_launch(device, &desc, &arrays, NULL, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    cj_softmax_destroy(softmax);
    return status;
}

static cj_status call_norm(cj_device *device, problem *p, cj_error *error) {
    const cj_norm_desc   desc = {.shape = shape_of(p),
                                 .kind = p->model.centered ? CJ_NORM_LAYER : CJ_NORM_RMS,
                                 .backward = at(p, "dy") != 0,
                                 .weight = at(p, "weight") != 0,
                                 .bias = at(p, "bias") != 0,
                                 .residual = at(p, "residual") != 0,
                                 .stats = at(p, "rstd") != 0,
                                 .epsilon = p->model.epsilon};
    const cj_norm_arrays arrays = {.x = at(p, "x"),
                                   .residual = at(p, "residual"),
                                   .weight = at(p, "weight"),
                                   .bias = at(p, "bias"),
                                   .y = at(p, "y"),
                                   .sum = at(p, "sum"),
                                   .mean = at(p, "mean"),
                                   .rstd = at(p, "rstd"),
                                   .dy = at(p, "dy"),
                                   .dx = at(p, "dx")};
    cj_norm             *norm = NULL;
    cj_status            status = p->shift ? CJ_OK : cj_norm_create(device, &desc, &norm, error);
    if (!status && norm) status = cj_norm_run(norm, &arrays, NULL, error);
    if (!status) status = cj_norm_launch(device, &desc, &arrays, NULL, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    cj_norm_destroy(norm);
    return status;
}

static cj_status call_crossentropy(cj_device *device, problem *p, cj_error *error) {
    const cj_crossentropy_desc   desc = {.shape = shape_of(p),
                                         .label = p->model.array[row_model_find(&p->model, "label")].type,
                                         .has_ignore = 1,
                                         .ignore = (int32_t)p->model.ignore,
                                         .smoothing = p->model.smoothing,
                                         .gradient = at(p, "dx") != 0,
                                         .scale = p->model.scale};
    const cj_crossentropy_arrays arrays = {
        .x = at(p, "x"), .label = at(p, "label"), .loss = at(p, "loss"), .lse = at(p, "lse"), .dx = at(p, "dx")};
    cj_crossentropy *crossentropy = NULL;
    cj_status        status = p->shift ? CJ_OK : cj_crossentropy_create(device, &desc, &crossentropy, error);
    if (!status && crossentropy) status = cj_crossentropy_run(crossentropy, &arrays, NULL, error);
    if (!status) status = cj_crossentropy_launch(device, &desc, &arrays, NULL, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    cj_crossentropy_destroy(crossentropy);
    return status;
}

void cj_test_row_calls(cj_device *device) {
    static const struct {
        const char *words;
        launcher    how;
    } calls[] = {{"softmax rows=3 columns=200 mask=yes scale=0.5", call_softmax},
                 {"softmax rows=3 columns=200 pass=backward dtype=bf16", call_softmax},
                 {"logsoftmax rows=5 columns=77 dtype=f16 out=f32 stride=90 out-stride=80", call_softmax},
                 {"rmsnorm rows=4 columns=96 weight=yes residual=yes dtype=bf16", call_norm},
                 {"layernorm rows=4 columns=300 weight=yes bias=yes stats=yes", call_norm},
                 {"layernorm rows=4 columns=64 weight=no pass=backward", call_norm},
                 {"crossentropy rows=20 columns=1000 smoothing=0.2 gradient=yes scale=0.05", call_crossentropy},
                 {"crossentropy rows=20 columns=333 label=i32 ignore=7 dtype=bf16", call_crossentropy}};
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++)
        for (unsigned shift = 0; shift < 16; shift += 4) test_row(device, calls[i].words, shift, i, calls[i].how);
}
