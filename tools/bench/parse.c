// SPDX-License-Identifier: Apache-2.0
// How fast PTX is read, checked and printed:  bench_parse [FILE.ptx…]
// Each file (without files, the kernels of every family) is repeated with renamed functions and variables until it is
// large, and read several times. MB/s of processor time, median.
#define _POSIX_C_SOURCE 200809L

#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parse.h"
#include "print.h"
#include "text.h"

enum { RUNS = 9, BYTES = 16 << 20 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *time) {
    qsort(time, RUNS, sizeof *time, ascending);
    return time[RUNS / 2];
}

static size_t name_length(const char *at) {
    if (*at >= '0' && *at <= '9') return 0;
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%");
}

// Appends the text behind its head with `number` added to every name of the module.
static void add_copy(cj_text *large, const cj_ir_module *module, const char *at, unsigned number) {
    while (*at) {
        size_t length = name_length(at), rest = length;
        while (!rest && at[rest] && !name_length(at + rest)) rest++;
        cj__text_add(large, at, length ? length : rest);
        if (length && cj__map_get(&module->names, at, length)) cj__text_printf(large, "$%u", number);
        at += length ? length : rest;
    }
}

static cj_text enlarge(const char *text, const cj_ir_module *module) {
    cj_text large = {0};
    const char *body = strstr(text, ".address_size");
    body = body ? body + strcspn(body, "\n") : text;
    cj__text_add(&large, text, (size_t)(body - text));
    for (unsigned copy = 0; large.length < BYTES && !large.failed; copy++) add_copy(&large, module, body, copy);
    return large;
}

static int fail(const char *name, const cj_error *error) {
    fprintf(stderr, "bench_parse: %s:%u:%u: %s\n", name, error->line, error->column, error->message);
    return 1;
}

static int measure(const char *name, const char *text) {
    double        parse[RUNS], print[RUNS];
    cj_ir_module *module;
    cj_error      error;
    if (cj__ir_parse(text, strlen(text), &module, &error)) return fail(name, &error);
    cj_text large = enlarge(text, module);
    cj__ir_free(module);
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        if (cj__ir_parse(large.data, large.length, &module, &error)) return fail(name, &error);
        parse[i] = now() - start;
        cj_text printed = {0};
        start = now();
        cj__ir_print(module, &printed);
        print[i] = now() - start;
        cj__text_free(&printed);
        cj__ir_free(module);
    }
    double megabytes = (double)large.length * 1e-6;
    printf("%-24s %8.1f %10.1f %10.1f\n", name, megabytes, megabytes / median(parse), megabytes / median(print));
    cj__text_free(&large);
    return 0;
}

static int measure_file(const char *path) {
    FILE *file = fopen(path, "rb");
    cj_text text = {0};
    char part[4096];
    for (size_t got; file && (got = fread(part, 1, sizeof part, file));) cj__text_add(&text, part, got);
    if (file) fclose(file);
    if (!text.data) {
        fprintf(stderr, "bench_parse: %s cannot be read, or is empty\n", path);
        return 1;
    }
    const char *slash = strrchr(path, '/');
    int failed = measure(slash ? slash + 1 : path, text.data);
    cj__text_free(&text);
    return failed;
}

static int measure_family(const cj_family *family) {
    const cj_limits *limits;
    cj_params        params;
    cj_plan          plan;
    cj_error         error;
    char            *text;
    cj_params_init(&params, family);
    if (cj_limits_builtin("sm_90", &limits, &error) || cj_plan_make(&params, limits, NULL, &plan, &error) ||
        cj_plan_emit(&plan, &text, NULL, &error))
        return fail(cj_family_name(family), &error);
    int failed = measure(cj_family_name(family), text);
    cj_text_free(text);
    return failed;
}

int main(int count, char **argument) {
    int failed = 0;
    printf("%-24s %8s %10s %10s\n", "file", "MB", "read MB/s", "print MB/s");
    for (int i = 1; i < count; i++) failed |= measure_file(argument[i]);
    for (size_t i = 0; count == 1 && i < cj_family_count(); i++) failed |= measure_family(cj_family_at(i));
    return failed;
}
