// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "output.h"
#include "reference.h"
#include "run.h"
#include "source.h"
#include "user_reference.h"

enum { CHUNK_BYTES = 64 << 20 };  // host memory for the input, however long it is

typedef struct reduction {
    const run_options *options;
    cj_params          params;
    bool               n_given;
    uint64_t           n;
    cj_dtype           type;
    source             source;
    cj_device         *device;
    cj_plan            plan;
    cj_kernel         *kernel;
    reference          reference;
    user_reference     user;  // of the functions that were given, map and op-expr
    const cj_user_function *op;
    cj_ptr             x, out;
    void              *raw;  // as the device writes them
    element           *results;
    double            *times;         // milliseconds, of the timed launches
    unsigned           launches;      // timed
    double             error, bound;  // of one result: see compare
    bool               ok;
} reduction;

static bool parameter_is(const reduction *r, const char *name, const char *word) {
    char buffer[32];
    return strcmp(cj_params_word(&r->params, name, buffer, sizeof buffer), word) == 0;
}

static int no_memory(const char *what) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for the %s", what); }

// With a file --n is what the file holds, unless less is asked for.
static int open_source(reduction *r) {
    char dtype[16], count[24];
    element_type(cj_params_word(&r->params, "dtype", dtype, sizeof dtype), &r->type);
    int code = source_open(&r->source, r->type, r->options->input, r->options->fill);
    if (code) return code;
    if (r->options->input && !r->n_given) {
        cj_error error;
        snprintf(count, sizeof count, "%" PRIu64, r->source.available);
        if (cj_params_set(&r->params, "n", count, &error)) return message_failure(&error);
    }
    r->n = cj_params_get(&r->params, "n");
    if (r->n <= r->source.available) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "n is %" PRIu64 ", but '%s' holds only %" PRIu64 " elements", r->n,
                         r->source.name, r->source.available);
}

static int open_device(reduction *r) {
    cj_device_options options = {.spec = r->options->device};
    cj_error          error;
    if (cj_device_open(&options, &r->device, &error)) return message_failure(&error);
    return machine_apply(&r->options->machine, r->device);
}

static int load_kernel(reduction *r) {
    cj_error error;
    if (cj_plan_make(&r->params, cj_device_limits(r->device), r->options->arch, &r->plan, &error) ||
        cj_kernel_load(r->device, &r->plan, &r->kernel, &error))
        return message_failure(&error);
    if (r->plan.note[0]) message_note(r->plan.note);
    return CODE_OK;
}

static const cj_user_function *function_of(const reduction *r, const char *name) {
    size_t i = 0;
    while (strcmp(cj_family_param(r->params.family, i)->name, name) != 0) i++;
    return r->params.function[i];
}

static size_t chunk_elements(const reduction *r) {
    size_t room = CHUNK_BYTES / cj_dtype_size(r->type);
    return r->n < room ? (size_t)r->n : room;
}

static int prepare_reference(reduction *r) {
    reference *f = &r->reference;
    f->type = r->type;
    f->op = parameter_is(r, "op", "sum") ? REFERENCE_SUM : parameter_is(r, "op", "min") ? REFERENCE_MIN : REFERENCE_MAX;
    f->weighted = parameter_is(r, "weight", "block");
    f->by_block = parameter_is(r, "result", "block");
    f->slice = f->weighted || f->by_block ? r->plan.derived[0] : r->n;  // reduce derives its slice alone
    f->count = f->by_block ? r->plan.grid.x : 1;
    f->results = calloc(f->count, sizeof *f->results);
    if (!f->results) return no_memory("expected results");
    for (size_t i = 0; i < f->count; i++) f->results[i].empty = true;
    size_t room = chunk_elements(r);
    r->op = function_of(r, "op-expr");
    return user_reference_open(&r->user, r->type, function_of(r, "map"), r->op, function_of(r, "identity"), room,
                               f->count);
}

static int allocate(reduction *r) {
    size_t   size = cj_dtype_size(r->type), count = r->reference.count;
    cj_error error;
    bool     gpu = strcmp(cj_device_kind(r->device), "gpu") == 0;
    r->launches = r->options->repeat ? r->options->repeat : gpu ? 10 : 1;
    r->raw = malloc(count * size);
    r->results = malloc(count * sizeof *r->results);
    r->times = malloc(r->launches * sizeof *r->times);
    if (!r->raw || !r->results || !r->times) return no_memory("results");
    if (cj_mem_alloc(r->device, (size_t)r->n * size, &r->x, &error) ||
        cj_mem_alloc(r->device, count * size, &r->out, &error))
        return message_failure(&error);
    return CODE_OK;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(double started, uint64_t done, uint64_t all) {
    if (now() - started < 0.5 || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "writing the input: %3.0f %%\r%s", 100.0 * (double)done / (double)all, done == all ? "\033[K" : "");
}

// Elements of one block after the other.
static int fold(reduction *r, const char *elements, size_t count) {
    reference *f = &r->reference;
    int        code = CODE_OK;
    while (!code && count) {
        uint64_t part = f->by_block ? f->position / f->slice : 0;
        uint64_t left = f->by_block ? (part + 1) * f->slice - f->position : count;
        size_t   step = left < count ? (size_t)left : count;
        code = user_reference_fold(&r->user, elements, step, (size_t)part);
        elements += step * cj_dtype_size(r->type);
        f->position += step;
        count -= step;
    }
    return code;
}

// Takes the next elements into the reference; they may be overwritten.
static int add_to_reference(reduction *r, void *elements, size_t count) {
    int code = user_reference_map(&r->user, elements, count);
    if (!code && r->op) return fold(r, elements, count);
    if (!code) reference_add(&r->reference, elements, count);
    return code;
}

static int finish_reference(reduction *r) {
    reference *f = &r->reference;
    if (!r->op) {
        reference_finish(f);
        return CODE_OK;
    }
    int code = user_reference_parts(&r->user, r->raw);
    if (code) return code;
    element_widen(r->type, r->raw, f->count, r->results);
    for (size_t i = 0; i < f->count; i++) f->results[i].value = r->results[i];
    return CODE_OK;
}

// One pass: each chunk goes to the device and into the reference.
static int upload(reduction *r) {
    size_t size = cj_dtype_size(r->type), room = chunk_elements(r);
    void *chunk = malloc(room * size);
    if (!chunk) return no_memory("input");
    int    code = CODE_OK;
    double started = now();
    for (uint64_t done = 0; !code && done < r->n;) {
        size_t   count = r->n - done < room ? (size_t)(r->n - done) : room;
        cj_error error;
        code = source_read(&r->source, chunk, count);
        if (code) break;
        if (cj_mem_write(r->device, r->x + done * size, chunk, count * size, NULL, &error))
            code = message_failure(&error);
        if (!code) code = add_to_reference(r, chunk, count);
        done += count;
        show_progress(started, done, r->n);
    }
    if (!code) code = finish_reference(r);
    free(chunk);
    return code;
}

static cj_status launch(void *user, cj_error *error) {
    reduction *r = user;
    void      *arguments[] = {&r->x, &r->out, &r->n};
    return cj_kernel_launch(r->kernel, NULL, arguments, 3, error);
}

// Shows the first wrong result, else the one with the largest error.
static void compare(reduction *r) {
    bool rounded = r->reference.op == REFERENCE_SUM && element_kind_of(r->type) == ELEMENT_FLOAT;
    bool unknown = isnan(r->plan.error_bound);
    r->ok = true;
    for (size_t i = 0; i < r->reference.count && r->ok; i++) {
        const reference_value *expected = &r->reference.results[i];
        double                 error = reference_error(r->type, expected, r->results[i]);
        double                 bound = unknown ? (double)NAN : rounded ? r->plan.error_bound * expected->magnitude : 0;
        r->ok = error <= bound || error == 0 || (unknown && isfinite(error));  // a sum that is not finite has no bound
        if (r->ok && i > 0 && error <= r->error) continue;
        r->error = error;
        r->bound = bound;
    }
}

// Every launch starts from a poisoned output and a workspace that only its forerunner has left.
static int launch_once(reduction *r, double *milliseconds) {
    size_t    bytes = r->reference.count * cj_dtype_size(r->type);
    cj_error  error;
    cj_status status = cj_mem_fill(r->device, r->out, 0xff, bytes, NULL, &error);
    if (!status) status = cj_time(r->device, NULL, launch, r, milliseconds, &error);
    if (!status) status = cj_mem_read(r->device, r->raw, r->out, bytes, NULL, &error);
    if (status) {
        document ptx = {.name = "(ptxgen emit)"};
        int      code = document_copy(&ptx, cj_kernel_ptx(r->kernel));
        if (!code) code = machine_report(r->device, &ptx, status, &error);
        document_free(&ptx);
        return code;
    }
    element_widen(r->type, r->raw, r->reference.count, r->results);
    compare(r);
    return CODE_OK;
}

static int launch_all(reduction *r) {
    double warm_up;
    int    code = launch_once(r, &warm_up);
    for (unsigned i = 0; !code && r->ok && i < r->launches; i++) code = launch_once(r, &r->times[i]);
    if (!r->ok) r->launches = 0;  // what was timed is not what was wanted
    if (!r->options->json) machine_stats(&r->options->machine, r->device);
    return code;
}

static int compare_times(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static double median_time(reduction *r) {
    if (!r->launches) return NAN;
    qsort(r->times, r->launches, sizeof *r->times, compare_times);
    return 0.5 * (r->times[(r->launches - 1) / 2] + r->times[r->launches / 2]);
}

static const char *clock_name(const reduction *r) {
    return strcmp(cj_device_kind(r->device), "gpu") == 0 ? "CUDA events" : "host clock";
}

static element expected_at(const reduction *r, size_t i) {
    element e = r->reference.results[i].value;
    if (element_kind_of(r->type) == ELEMENT_FLOAT) e.f += r->reference.results[i].low;
    return e;
}

static element result_at(const reduction *r, size_t i) { return r->results[i]; }

static void print_values(const reduction *r, element (*at)(const reduction *r, size_t i)) {
    char text[ELEMENT_TEXT];
    for (size_t i = 0; i < r->reference.count; i++) printf(" %s", element_text(r->type, at(r, i), text));
    putchar('\n');
}

static const char *deviation_text(const reduction *r, double value, char buffer[ELEMENT_TEXT]) {
    if (element_kind_of(r->type) == ELEMENT_FLOAT) return element_real_text(value, 7, buffer);
    snprintf(buffer, ELEMENT_TEXT, "%.0f", value);
    return buffer;
}

static int print_text(reduction *r) {
    char        op[16], text[ELEMENT_TEXT];
    bool        blocks = r->reference.by_block;
    const char *word = r->op ? "result" : cj_params_word(&r->params, "op", op, sizeof op);
    printf("SIZE: %" PRIu64 " TPB: %" PRIu32 " CLUSTER_SIZE: %" PRIu32 "\n", r->n, r->plan.block.x, r->plan.cluster.x);
    if (blocks)
        printf("Expected block %ss:", word);
    else
        printf("Expected %s:", word);
    print_values(r, expected_at);
    if (blocks)
        printf("Block %ss:", word);
    else
        printf("Cluster reduction result:");
    print_values(r, result_at);
    printf("Error: %s\n", deviation_text(r, r->error, text));
    printf("Error bound: %s\n",
           isnan(r->bound) ? "unknown (op-expr rounds in another order)" : deviation_text(r, r->bound, text));
    if (r->user.device)
        printf("Reference: %s one element after the other, on the CPU device\n", r->op ? "op-expr" : "map");
    printf("Device: %s (%s)\n", cj_device_name(r->device), cj_device_reason(r->device));
    if (r->launches)
        printf("Time: %.4g ms (kernel, median of %u launch%s after a first, %s)\n", median_time(r), r->launches,
               r->launches == 1 ? "" : "es", clock_name(r));
    return CODE_OK;
}

static json_t *json_values(const reduction *r, element (*at)(const reduction *r, size_t i)) {
    if (!r->reference.by_block) return element_json(r->type, at(r, 0));
    json_t *array = json_array();
    for (size_t i = 0; i < r->reference.count; i++) json_array_append_new(array, element_json(r->type, at(r, i)));
    return array;
}

static json_t *json_function(const cj_user_function *function) {
    return function ? output_json_text(cj_user_function_text(function)) : json_null();
}

static json_t *json_params(const cj_params *params) {
    json_t *object = json_object();
    for (size_t i = 0; i < cj_family_param_count(params->family); i++) {
        const cj_param_info *info = cj_family_param(params->family, i);
        char                 word[64];
        json_object_set_new(object, info->name,
                            info->choices    ? json_string(cj_params_word(params, info->name, word, sizeof word))
                            : info->function ? json_function(params->function[i])
                                             : output_json_uint(params->value[i]));
    }
    return object;
}

static json_t *json_plan(const cj_plan *plan) {
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:s}", "arch", plan->arch, "entry", plan->entry, "grid",
                     output_json_dim3(plan->grid), "block", output_json_dim3(plan->block), "cluster",
                     output_json_dim3(plan->cluster), "dynamic_shared", (json_int_t)plan->dynamic_shared,
                     "workspace_bytes", (json_int_t)plan->workspace_bytes, "note", plan->note);
}

static int print_json(reduction *r) {
    json_t *device = json_pack("{s:s, s:s, s:s}", "kind", cj_device_kind(r->device), "name", cj_device_name(r->device),
                               "reason", cj_device_reason(r->device));
    return output_json(json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:s, s:o*}", "family",
                                 cj_family_name(r->params.family), "parameters", json_params(&r->params), "plan",
                                 json_plan(&r->plan), "device", device, "expected", json_values(r, expected_at),
                                 "result", json_values(r, result_at), "error", output_json_real(r->error),
                                 "error_bound", output_json_real(r->bound), "ok", r->ok, "time_ms",
                                 output_json_real(median_time(r)), "launches", (json_int_t)r->launches, "time_source",
                                 clock_name(r), "stats", machine_stats_json(&r->options->machine, r->device)));
}

static int report(reduction *r) {
    int code = r->options->json ? print_json(r) : print_text(r);
    if (code || r->ok) return code;
    fflush(stdout);
    char error[ELEMENT_TEXT], bound[ELEMENT_TEXT];
    return message_error(
        CJ_INVALID_KERNEL, "wrong result: the error is %s, the bound %s%s", deviation_text(r, r->error, error),
        deviation_text(r, r->bound, bound),
        r->op ? "\nis op-expr associative and commutative, and does identity leave every value as it is?" : "");
}

static void release(reduction *r) {
    source_close(&r->source);
    user_reference_close(&r->user);
    free(r->reference.results);
    free(r->raw);
    free(r->results);
    free(r->times);
    cj_kernel_destroy(r->kernel);
    if (!r->device) return;
    cj_mem_free(r->device, r->x);
    cj_mem_free(r->device, r->out);
    cj_device_close(r->device);
}

int run_reduce(const run_options *options, const args_family *family) {
    static int (*const steps[])(reduction * r) = {open_source, open_device, load_kernel, prepare_reference,
                                                  allocate,    upload,      launch_all,  report};
    reduction r = {.options = options, .params = family->params};
    for (size_t i = 0; i < CJ_PARAM_MAX && i < cj_family_param_count(r.params.family); i++)
        if (strcmp(cj_family_param(r.params.family, i)->name, "n") == 0) r.n_given = family->given[i];
    int code = CODE_OK;
    for (size_t i = 0; !code && i < sizeof steps / sizeof steps[0]; i++) code = steps[i](&r);
    release(&r);
    return code;
}
