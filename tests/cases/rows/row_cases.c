// SPDX-License-Identifier: Apache-2.0
#include "row_cases.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/row_model.h"
#include "emit.h"
#include "test.h"

enum { GUARD_BYTES = 64, POISON = 0xa5 };

typedef struct array {
    unsigned char *bytes;  // on the host, with guards
    size_t         size;
    cj_ptr         memory, at;
} array;

typedef struct problem {
    const char   *words;
    const double *x;  // NULL, or the least and the largest that x is filled with
    row_model     model;
    cj_params   params;
    unsigned    shift;
    array       array[ROW_ARRAYS];
    double     *total[ROW_ARRAYS], total_size[ROW_ARRAYS];  // sums over the rows that were checked
} problem;

static size_t element_size(const problem *p, unsigned i) { return cj_dtype_size(p->model.array[i].type); }

static void make_array(cj_device *device, problem *p, unsigned i, uint64_t seed) {
    array         *a = &p->array[i];
    const uint64_t count = row_model_elements(&p->model, i);
    cj_error       error = {0};
    // `align` does not concern arrays with one value a row.
    const unsigned shift = p->model.array[i].kind == ROW_ARRAY_EACH ? 0 : p->shift * (i + 1);
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

// Launches a problem's kernel.
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

// The bytes between the elements of a written array must not change.
static void check_guards(const problem *p, unsigned i) {
    const array   *a = &p->array[i];
    const size_t   size = element_size(p, i), first = (size_t)(a->at - a->memory);
    const uint64_t stride = row_model_stride(&p->model, i), width = row_model_width(&p->model, i);
    for (size_t b = 0; b < a->size; b++) {
        const uint64_t element = b < first ? UINT64_MAX : (b - first) / size;
        const bool     inside = element < row_model_elements(&p->model, i) && (!stride || element % stride < width);
        if (!inside && a->bytes[b] != POISON)
            fail_msg("%s: byte %zu of %s was overwritten", p->words, b, p->model.array[i].name);
    }
}

static double read_at(const problem *p, unsigned i, uint64_t element) {
    return row_model_read(p->model.array[i].type, p->array[i].bytes + (p->array[i].at - p->array[i].memory), element);
}

static void check_element(const problem *p, unsigned i, uint64_t row, uint64_t c, double want, double most) {
    const double got = read_at(p, i, row_model_begin(&p->model, i, row) + c);
    if (fabs(got - want) <= most || (isnan(got) && isnan(want)) || got == want) return;
    fail_msg("%s: %s[%" PRIu64 "][%" PRIu64 "] is %.9g, not %.9g (at most %.3g apart)", p->words,
             p->model.array[i].name, row, c, got, want, most);
}

static double most_apart(const problem *p, unsigned i, double bound, double want, double size) {
    return bound * (fabs(want) + size) + row_model_least(p->model.array[i].type);
}

static void check_row(problem *p, uint64_t row, double *const want[ROW_ARRAYS], double bound) {
    double size[ROW_ARRAYS] = {0};
    for (unsigned i = 0; i < p->model.count; i++)
        for (uint64_t c = 0; !p->model.array[i].written && c < row_model_width(&p->model, i); c++)
            want[i][c] = read_at(p, i, row_model_begin(&p->model, i, row) + c);
    p->model.row(&p->model, want, size);
    for (unsigned i = 0; i < p->model.count; i++) {
        const bool total = p->model.array[i].kind == ROW_ARRAY_TOTAL;
        p->total_size[i] += size[i];
        for (uint64_t c = 0; p->model.array[i].written && c < row_model_width(&p->model, i); c++)
            if (total)
                p->total[i][c] += want[i][c];
            else
                check_element(p, i, row, c, want[i][c], most_apart(p, i, bound, want[i][c], size[i]));
    }
}

static void check_totals(const problem *p, double bound) {
    for (unsigned i = 0; i < p->model.count; i++)
        for (uint64_t c = 0; p->model.array[i].kind == ROW_ARRAY_TOTAL && c < p->model.columns; c++)
            check_element(p, i, 0, c, p->total[i][c], most_apart(p, i, bound, p->total[i][c], p->total_size[i]));
}

static void open_problem(cj_device *device, problem *p, uint64_t seed) {
    cj_error error = {0};
    char     family[24];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(p->words, " "), p->words);
    cj_test_ok(cj_test_params(family, p->words + strlen(family) + 1, &p->params, &error), &error);
    assert_true(row_model_make(&p->model, &p->params));
    if (p->x) p->model.array[0].low = p->x[0], p->model.array[0].high = p->x[1];
    for (unsigned i = 0; i < p->model.count; i++) {
        make_array(device, p, i, seed);
        p->total[i] = calloc(p->model.columns, sizeof *p->total[i]);
        assert_non_null(p->total[i]);
    }
}

static void close_problem(cj_device *device, problem *p) {
    for (unsigned i = 0; i < p->model.count; i++) {
        cj_mem_free(device, p->array[i].memory);
        free(p->array[i].bytes);
        free(p->total[i]);
    }
}

static void check(problem *p, double bound) {
    double *want[ROW_ARRAYS] = {0};
    for (unsigned i = 0; i < p->model.count; i++) {
        want[i] = malloc(p->model.columns * sizeof *want[i]);
        assert_non_null(want[i]);
        if (p->model.array[i].written) check_guards(p, i);
    }
    for (uint64_t row = 0; row < p->model.rows; row++) check_row(p, row, want, bound);
    check_totals(p, bound);
    for (unsigned i = 0; i < p->model.count; i++) free(want[i]);
}

static void test_problem(cj_device *device, problem p, uint64_t seed, launcher how) {
    cj_error error = {0};
    cj_plan  plan;
    open_problem(device, &p, seed);
    if (cj_plan_make(&p.params, cj_device_limits(device), NULL, &plan, &error))
        fail_msg("%s: %s %s", p.words, error.message, error.hint);
    launch(device, &p, how);
    check(&p, plan.error_bound);
    close_problem(device, &p);
}

static void test_row(cj_device *device, const char *words, unsigned shift, uint64_t seed, launcher how) {
    test_problem(device, (problem){.words = words, .shift = shift}, seed, how);
}

void cj_test_row(cj_device *device, const char *words, unsigned shift, uint64_t seed) {
    test_row(device, words, shift, seed, launch_kernel);
}

uint64_t cj_test_row_bits(cj_device *device, const char *words) {
    problem  p = {.words = words};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);  // FNV-1a
    open_problem(device, &p, 1);
    launch(device, &p, launch_kernel);
    for (unsigned i = 0; i < p.model.count; i++)
        for (size_t b = 0; p.model.array[i].written && b < p.array[i].size; b++)
            hash = (hash ^ p.array[i].bytes[b]) * UINT64_C(0x100000001b3);
    close_problem(device, &p);
    return hash;
}

// ---- drawn from a seed

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

// Near powers of two, or any number.
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

typedef struct sentence {
    char words[512];
} sentence;

CJ_PRINTF(2, 3) static void append(sentence *s, const char *format, ...) {
    const size_t used = strlen(s->words);
    va_list      list;
    va_start(list, format);
    vsnprintf(s->words + used, sizeof s->words - used, format, list);
    va_end(list);
}

static bool says(const sentence *s, const char *words) { return strstr(s->words, words) != NULL; }

// Whether the parameter belongs to the pass that was not drawn.
static bool is_of_other_pass(const cj_param_info *info, const cj_family *family, const sentence *s) {
    static const char *const forward[] = {"bias", "residual", "stats"};
    const bool               backward = says(s, "pass=backward");
    if (strstr(info->name, "-gradient")) return !backward;
    for (size_t i = 0; i < CJ_TEST_COUNT(forward); i++)
        if (backward && strstr(cj_family_name(family), "norm") && !strcmp(info->name, forward[i])) return true;
    return false;
}

// Words of the family's own parameters, pass first: for choices, any that the pass has.
static void draw_choice(uint64_t *seed, const cj_param_info *info, sentence *s) {
    char words[64], *word;
    snprintf(words, sizeof words, "%s", info->choices);
    uint64_t count = 1;
    for (const char *at = words; *at; at++) count += *at == ' ';
    word = strtok(words, " ");
    for (uint64_t n = below(seed, count); n; n--) word = strtok(NULL, " ");
    append(s, " %s=%s", info->name, word);
}

static void draw_choices(uint64_t *seed, const cj_family *family, sentence *s) {
    static const char *const drawn_elsewhere[] = {"across", "align", "form", "resident", "transpose"};
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < cj_family_param_count(family); i++) {
            const cj_param_info *info = cj_family_param(family, i);
            bool                 skip = !info->choices || (strcmp(info->name, "pass") == 0) == (turn == 1);
            for (size_t e = 0; e < CJ_TEST_COUNT(drawn_elsewhere); e++) skip |= !strcmp(info->name, drawn_elsewhere[e]);
            if (!skip && !is_of_other_pass(info, family, s)) draw_choice(seed, info, s);
        }
}

void cj_test_row_random(cj_device *device, const char *family, uint64_t *seed, uint64_t most) {
    enum { HELD = 4096 };  // elements that every block shape can hold, with one vector a thread
    static const unsigned    clusters[] = {0, 1, 2, 4, 8};
    static const char *const aligns[] = {"16", "8", "4"};
    const cj_family         *found;
    cj_error                 error = {0};
    sentence                 s = {""};
    cj_test_ok(cj_family_find(family, &found, &error), &error);
    const uint64_t columns = draw_columns(seed, most),
                   rows = 1 + below(seed, most / columns < 40 ? most / columns : 40);
    const unsigned align = (unsigned)below(seed, 3);
    append(&s, "%s rows=%" PRIu64 " columns=%" PRIu64 " align=%s", family, rows, columns, aligns[align]);
    draw_choices(seed, found, &s);
    if (below(seed, 2)) {
        const uint64_t stride = columns + below(seed, 20), out_stride = columns + 8 * below(seed, 3);
        append(&s, " stride=%" PRIu64 " out-stride=%" PRIu64, stride, out_stride);
    }
    if (says(&s, "mask=yes") && says(&s, "pass=forward") && below(seed, 2))
        append(&s, " mask-rows=%" PRIu64, 1 + below(seed, rows + 2));
    const bool totals = says(&s, "-gradient=yes");
    switch (below(seed, totals ? 2 : 3)) {
    case 0: append(&s, " form=direct cluster=%u", clusters[totals ? 0 : below(seed, 5)]); break;
    case 1: append(&s, " resident=%s", below(seed, 2) ? "auto" : "no"); break;
    case 2: {
        const uint64_t blocks = 1 + below(seed, 40);
        append(&s, " form=spread blocks=%" PRIu64 " grid=%" PRIu64, blocks, blocks * (1 + below(seed, 3)));
        break;
    }
    }
    if (below(seed, 3) == 0) append(&s, " pieces=%" PRIu64 " vectors=8", columns / HELD + 1 + below(seed, 3));
    cj_test_row(device, s.words, (16u >> align) * (unsigned)below(seed, 3), *seed);
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
    const cj_softmax_desc   desc = {CJ_INIT(desc),
                                    .shape = shape_of(p),
                                    .log = p->model.log,
                                    .mask = at(p, "mask") != 0,
                                    .scale = p->model.scale,
                                    .mask_rows = at(p, "mask") ? cj_params_get(&p->params, "mask-rows") : 0,
                                    .backward = at(p, "dy") != 0};
    const cj_softmax_arrays arrays = {CJ_INIT(arrays),       .x = at(p, "x"),   .y = at(p, "y"),
                                      .mask = at(p, "mask"), .dy = at(p, "dy"), .dx = at(p, "dx")};
    cj_softmax *softmax = NULL;
    cj_status   status = p->shift ? CJ_OK : cj_softmax_create(device, &desc, &softmax, error);
    if (!status && softmax) status = cj_softmax_run(softmax, &arrays, NULL, error);
    if (!status) status = cj_softmax_launch(device, &desc, &arrays, NULL, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    cj_softmax_destroy(softmax);
    return status;
}

static cj_status call_norm(cj_device *device, problem *p, cj_error *error) {
    const cj_norm_desc   desc = {CJ_INIT(desc),
                                 .shape = shape_of(p),
                                 .kind = p->model.centered ? CJ_NORM_LAYER : CJ_NORM_RMS,
                                 .backward = at(p, "dy") != 0,
                                 .weight = at(p, "weight") != 0,
                                 .bias = at(p, "bias") != 0,
                                 .residual = at(p, "residual") != 0,
                                 .stats = at(p, "rstd") != 0,
                                 .weight_gradient = at(p, "dw") != 0,
                                 .bias_gradient = at(p, "db") != 0,
                                 .epsilon = p->model.epsilon};
    const cj_norm_arrays arrays = {CJ_INIT(arrays),           .x = at(p, "x"),       .residual = at(p, "residual"),
                                   .weight = at(p, "weight"), .bias = at(p, "bias"), .y = at(p, "y"),
                                   .sum = at(p, "sum"),       .mean = at(p, "mean"), .rstd = at(p, "rstd"),
                                   .dy = at(p, "dy"),         .dx = at(p, "dx"),     .dw = at(p, "dw"),
                                   .db = at(p, "db")};
    cj_norm             *norm = NULL;
    cj_status            status = p->shift ? CJ_OK : cj_norm_create(device, &desc, &norm, error);
    if (!status && norm) status = cj_norm_run(norm, &arrays, NULL, error);
    if (!status) status = cj_norm_launch(device, &desc, &arrays, NULL, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    cj_norm_destroy(norm);
    return status;
}

static cj_status call_crossentropy(cj_device *device, problem *p, cj_error *error) {
    const cj_crossentropy_desc   desc = {CJ_INIT(desc),
                                         .shape = shape_of(p),
                                         .label = p->model.array[row_model_find(&p->model, "label")].type,
                                         .has_ignore = 1,
                                         .ignore = (int32_t)p->model.ignore,
                                         .smoothing = p->model.smoothing,
                                         .gradient = at(p, "dx") != 0,
                                         .scale = p->model.scale};
    const cj_crossentropy_arrays arrays = {CJ_INIT(arrays),       .x = at(p, "x"),     .label = at(p, "label"),
                                           .loss = at(p, "loss"), .lse = at(p, "lse"), .dx = at(p, "dx")};
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
                 {"softmax rows=7 columns=64 mask=yes mask-rows=3 dtype=bf16", call_softmax},
                 {"softmax rows=3 columns=200 pass=backward dtype=bf16", call_softmax},
                 {"logsoftmax rows=5 columns=77 dtype=f16 out=f32 stride=90 out-stride=80", call_softmax},
                 {"rmsnorm rows=4 columns=96 weight=yes residual=yes dtype=bf16", call_norm},
                 {"layernorm rows=4 columns=300 weight=yes bias=yes stats=yes", call_norm},
                 {"layernorm rows=4 columns=64 weight=no pass=backward", call_norm},
                 {"layernorm rows=30 columns=300 pass=backward weight-gradient=yes bias-gradient=yes", call_norm},
                 {"rmsnorm rows=9 columns=70 pass=backward weight-gradient=yes dtype=bf16 out=f32", call_norm},
                 {"crossentropy rows=20 columns=1000 smoothing=0.2 gradient=yes scale=0.05", call_crossentropy},
                 {"crossentropy rows=20 columns=333 label=i32 ignore=7 dtype=bf16", call_crossentropy}};
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++)
        for (unsigned shift = 0; shift < 16; shift += 4) test_row(device, calls[i].words, shift, i, calls[i].how);
}

// ---- powers of elements far from zero

void cj_test_row_far(cj_device *device) {
    static const char *const kinds_of_powers[] = {"softmax", "logsoftmax", "softmax scale=0.5", "crossentropy gradient=yes smoothing=0.1",
                                            "crossentropy gradient=yes"};
    static const char *const shapes[] = {"rows=5 columns=77",
                                         "rows=3 columns=1001 form=direct cluster=0 warps=2 vectors=8",
                                         "rows=2 columns=1003 form=direct cluster=4 warps=3",
                                         "rows=2 columns=3000 form=direct cluster=0 warps=2 vectors=2",
                                         "rows=5 columns=2040 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3",
                                         "rows=2 columns=5000 form=spread blocks=33 warps=1"};
    static const struct {
        const char *dtype;
        double      x[2];
    } ranges[] = {{"f32", {1e6 - 8, 1e6 + 8}},       {"f32", {-FLT_MAX, -FLT_MAX}}, {"f32", {-1e10, -1e10 + 5000}},
                  {"f32", {0.9 * FLT_MAX, FLT_MAX}}, {"f16", {60000, 65504}},       {"bf16", {-0x1.fep127, -0x1.fep127}},
                  {"bf16", {-1e6, -1e6 + 20000}}};
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes); i++)
        for (size_t f = 0; f < CJ_TEST_COUNT(kinds_of_powers); f++)
            for (size_t r = 0; r < CJ_TEST_COUNT(ranges); r++) {
                char words[192];
                if (!cj_test_chosen((i * CJ_TEST_COUNT(kinds_of_powers) + f) * CJ_TEST_COUNT(ranges) + r, 5)) continue;
                snprintf(words, sizeof words, "%s %s dtype=%s", kinds_of_powers[f], shapes[i], ranges[r].dtype);
                test_problem(device, (problem){.words = words, .x = ranges[r].x}, i, launch_kernel);
            }
}

// ---- every form: the block, the cluster, twice from memory, the stream and its pieces

static const char *const kinds[] = {"softmax",
                                    "softmax mask=yes scale=-0.5",
                                    "softmax pass=backward",
                                    "logsoftmax",
                                    "logsoftmax pass=backward scale=-1",
                                    "rmsnorm",
                                    "rmsnorm weight=no residual=yes epsilon=0.5",
                                    "rmsnorm pass=backward",
                                    "layernorm",
                                    "layernorm bias=yes residual=yes stats=yes",
                                    "layernorm pass=backward",
                                    "crossentropy label=i32 ignore=3",
                                    "crossentropy gradient=yes smoothing=0.1"};
static const char *const forms[] = {
    "rows=3 columns=1000 form=direct cluster=0 warps=2 vectors=8",
    "rows=3 columns=1000 form=direct cluster=1 warps=4",
    "rows=3 columns=1000 form=direct cluster=2 warps=2",
    "rows=2 columns=1003 form=direct cluster=4 warps=3",
    "rows=2 columns=3000 form=direct cluster=2 warps=1 vectors=2",
    "rows=2 columns=3000 form=direct cluster=0 warps=2 vectors=2",
    "rows=2 columns=16 form=direct cluster=8 warps=1",
    "rows=7 columns=1024 form=stream cluster=1 warps=2 grid=2 stages=1",
    "rows=9 columns=1024 form=stream cluster=2 warps=2 grid=4 stages=2",
    "rows=9 columns=1024 form=stream cluster=2 warps=2 grid=4 stages=2 resident=no",
    "rows=9 columns=1000 form=stream cluster=2 warps=1 grid=4 stages=3",
    "rows=9 columns=1000 form=stream cluster=4 warps=2 grid=8 stages=2 pieces=2",
    "rows=5 columns=2040 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3",
    "rows=5 columns=2040 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3 resident=no",
    "rows=5 columns=2040 form=stream cluster=1 warps=2 grid=3 stages=3 pieces=3",
    "rows=3 columns=24 form=stream cluster=8 warps=1 grid=16 stages=2",  // some ranks have no elements
    "rows=7 columns=1024 form=stream cluster=0 warps=2 grid=2 stages=1",
    "rows=9 columns=1000 form=stream cluster=0 warps=3 grid=4 stages=2 resident=no",
    "rows=5 columns=2040 form=stream cluster=0 warps=2 grid=3 stages=3 pieces=3",
    "rows=1 columns=1000 form=spread blocks=4",
    "rows=2 columns=5000 form=spread blocks=33 warps=1",
    "rows=7 columns=1003 form=spread blocks=3 warps=2 grid=6",
    "rows=5 columns=300 form=spread blocks=1 warps=1 grid=2",
    "rows=4 columns=1003 form=spread blocks=3 warps=2 grid=3",
    "rows=4 columns=500 form=spread blocks=5 warps=1 grid=5",
    "rows=3 columns=2000 form=spread blocks=20 warps=1 grid=20",
    "rows=2 columns=9000 form=spread blocks=65 warps=2",
    "rows=1 columns=9000 form=spread blocks=1 warps=20",
    "rows=2 columns=2500 form=spread blocks=1 warps=3",
    "rows=3 columns=16 form=spread blocks=8 warps=2",
    "rows=3 columns=2040 form=spread blocks=2 warps=2 vectors=2 pieces=3 grid=4",
};

void cj_test_row_forms(cj_device *device) {
    static const char *const types[] = {"dtype=f32", "dtype=bf16", "dtype=bf16 out=f32", "dtype=f32 out=f16"};
    for (size_t i = 0; i < CJ_TEST_COUNT(forms); i++)
        for (size_t k = 0; k < CJ_TEST_COUNT(kinds); k++) {
            char words[192];
            if (!cj_test_chosen(i * CJ_TEST_COUNT(kinds) + k, 7)) continue;
            snprintf(words, sizeof words, "%s %s %s", kinds[k], forms[i], types[(i + k) % CJ_TEST_COUNT(types)]);
            cj_test_row(device, words, 0, i);
        }
}
