// SPDX-License-Identifier: Apache-2.0
#include "workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "element.h"
#include "machine.h"
#include "message.h"

enum { COPIES_MAX = 4096, L2_TIMES = 3, MEMORY_SHARE = 4 };

unsigned workload_copies(const workload *w, double bytes) {
    const cj_limits *limits = cj_device_limits(w->device);
    if (!w->rotate || !(bytes > 0) || strcmp(cj_device_kind(w->device), "gpu") != 0) return 1;
    double wanted = ceil(L2_TIMES * (double)limits->l2_bytes / bytes) + 1;
    double room = floor((double)limits->global_bytes / MEMORY_SHARE / bytes);
    double copies = fmin(fmin(wanted, room), COPIES_MAX);
    return copies < 1 ? 1 : (unsigned)copies;
}

uint64_t workload_spread(uint64_t n, uint64_t count, uint64_t end) { return count > 1 ? n * (end - 1) / (count - 1) : 0; }

int workload_fits(const char *names, double bytes) {
    if (bytes < 0x1p43) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT,
                         "%s: a buffer of %.3g bytes is larger than any memory\nmake one of them smaller", names,
                         bytes);
}

static size_t index_of(const workload *w, const char *name) {
    size_t i = 0;
    while (strcmp(cj_family_param(w->params.family, i)->name, name) != 0) i++;
    return i;
}

static int take_extent(workload *w, const source *from, const char *name, uint64_t extent) {
    char     text[24];
    cj_error error;
    snprintf(text, sizeof text, "%" PRIu64, extent);
    if (!w->given[index_of(w, name)])
        return cj_params_set(&w->params, name, text, &error) ? message_failure(&error) : CODE_OK;
    if (cj_params_get(&w->params, name) == extent) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT,
                         "%s is %" PRIu64 ", but the array in '%s' has %" PRIu64 " there\n"
                         "leave --%s out, or give the file's elements in one dimension",
                         name, cj_params_get(&w->params, name), from->name, extent, name);
}

// All elements in one row, or in as many rows as were asked for.
static int take_flat(workload *w, const source *from, const char *const *names, unsigned count) {
    uint64_t outer = 1;
    if (w->given[index_of(w, names[count - 1])]) return CODE_OK;
    for (unsigned i = 0; i + 1 < count; i++) {
        int code = w->given[index_of(w, names[i])] ? CODE_OK : take_extent(w, from, names[i], 1);
        if (code) return code;
        outer *= cj_params_get(&w->params, names[i]);
    }
    if (outer && from->available % outer == 0) return take_extent(w, from, names[count - 1], from->available / outer);
    return message_error(CJ_INVALID_ARGUMENT,
                         "%" PRIu64 " elements of '%s' do not make %" PRIu64 " rows of one length\n"
                         "give --%s, too",
                         from->available, from->name, outer, names[count - 1]);
}

int workload_shape(workload *w, const source *from, const char *const *names, unsigned count) {
    const npy *shape = &from->shape;
    if (shape->dims < 2) return take_flat(w, from, names, count);
    if (shape->fortran)
        return message_error(CJ_FILE,
                             "'%s' holds its array by columns (fortran_order); rows are read\n"
                             "in numpy: numpy.ascontiguousarray(array)",
                             from->name);
    if (shape->dims < count || shape->dims > NPY_DIMS)
        return message_error(CJ_FILE, "'%s' holds an array of %u dimensions; %s needs %u", from->name, shape->dims,
                             cj_family_name(w->params.family), count);
    uint64_t outer = 1;
    int      code = CODE_OK;
    for (unsigned i = 0; i <= shape->dims - count; i++) outer *= shape->extent[i];
    for (unsigned i = 0; !code && i < count; i++)
        code = take_extent(w, from, names[i], i ? shape->extent[shape->dims - count + i] : outer);
    return code;
}

static cj_status make_plan(const workload *w, const cj_params *params, cj_error *error) {
    cj_plan plan;
    return cj_plan_make(params, cj_device_limits(w->device), w->arch, &plan, error);
}

// Whether the problem has a plan with some cluster size.
static bool has_plan(const workload *w) {
    static const char *const sizes[] = {"1", "2", "4", "8", "16"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cj_params params = w->params;
        if (!cj_params_set(&params, "cluster", sizes[i], NULL) && !make_plan(w, &params, NULL)) return true;
    }
    return false;
}

int workload_open_rows(workload *w, source *from, cj_dtype type) {
    static const char *const names[] = {"rows", "columns"};
    int                      code = source_open(from, type, w->input, w->fill ? w->fill : "rand:1");
    return !code && w->input ? workload_shape(w, from, names, 2) : code;
}

int workload_open_matrix(workload *w, source *from, cj_dtype type) {
    int code = workload_open_rows(w, from, type);
    if (!code) code = workload_plan_check(w);
    if (code) return code;
    const uint64_t rows = cj_params_get(&w->params, "rows"), stride = cj_params_get(&w->params, "stride");
    const uint64_t width = stride ? stride : cj_params_get(&w->params, "columns");
    return workload_fits("rows, columns, stride", (double)rows * (double)width * (double)cj_dtype_size(type));
}

workload_output workload_output_rows(const char *name, cj_dtype type, cj_ptr at, uint64_t rows, uint64_t columns, uint64_t stride) {
    return (workload_output){
        .name = name, .type = type, .at = at, .dims = 2, .extent = {rows, columns}, .stride = {stride, 1}};
}

cj_dtype workload_dtype(const workload *w) {
    char     word[16];
    cj_dtype type = CJ_F32;
    element_type(cj_params_word(&w->params, "dtype", word, sizeof word), &type);
    return type;
}

uint32_t workload_gpus(const workload *w) {
    const uint64_t of_family = cj_params_get(&w->params, "gpus");
    return w->gpus || of_family == UINT64_MAX ? w->gpus : (uint32_t)of_family;
}

bool workload_has_word(const workload *w, const char *param, const char *word) {
    char        buffer[32];
    const char *found = cj_params_word(&w->params, param, buffer, sizeof buffer);
    return found && !strcmp(found, word);
}

int workload_plan_check(const workload *w) {
    cj_error error;
    if (!make_plan(w, &w->params, &error) || (w->forms && has_plan(w))) return CODE_OK;
    return message_failure(&error);
}

// Reports a failed launch, with the kernel's own lines.
static int launch_failed(const workload *w, const cj_kernel *kernel, cj_status status, const cj_error *error) {
    if (message_is_quiet()) return message_failure(error);
    document ptx = {.name = "(ptxgen emit)"};
    int      code = document_copy(&ptx, cj_kernel_ptx(kernel));
    if (!code) code = machine_report(w->device, &ptx, status, error);
    document_free(&ptx);
    return code;
}

typedef struct timed_launch {
    workload  *w;
    cj_kernel *kernel;
    unsigned   copy;
} timed_launch;

static cj_status launch(void *user, cj_error *error) {
    timed_launch *t = user;
    return t->w->type->launch(t->w, t->kernel, t->copy, NULL, error);
}

int workload_try(workload *w, cj_kernel *kernel, unsigned copy, double *milliseconds, workload_verdict *verdict) {
    timed_launch t = {w, kernel, copy};
    double       unwanted;
    cj_error     error;
    cj_status    status = w->type->poison(w, copy, &error);
    cj_cpu_stats_clear(w->device, NULL);  // fails on a GPU device, which has no counters
    if (!status) status = cj_time(w->device, NULL, launch, &t, milliseconds ? milliseconds : &unwanted, &error);
    *verdict = (workload_verdict){0};
    return status ? launch_failed(w, kernel, status, &error) : w->type->check(w, kernel, copy, verdict);
}

int workload_wrong(const workload_verdict *verdict, const char *with) {
    const int length = (int)strcspn(verdict->text, "\n");
    return message_error(CJ_INVALID_KERNEL, "wrong result%s%s: %.*s\n%s", with ? " with " : "", with ? with : "",
                         length, verdict->text, verdict->text + length + (verdict->text[length] == '\n'));
}
