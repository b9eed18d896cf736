// SPDX-License-Identifier: Apache-2.0
// How fast PTX is read, checked and printed:  bench_parse [--json] [--mb N] [FILE.ptx…]
// Each file (without files, the kernels of every family) is repeated with renamed functions and variables until it has
// N MB (16), and is read several times on one thread. MB/s of processor time, the kernel's part included; median.
//   read   text to IR, all of which is kept: what a module's load pays
//   check  cj_check_ptx, from text to findings
//   print  IR to text
#define _POSIX_C_SOURCE 200809L

#include <clusterjit/check.h>
#include <clusterjit/clusterjit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parse.h"
#include "print.h"
#include "text.h"

enum { RUNS_MOST = 9, LARGE = 64 };  // texts of so many MB are read RUNS_FEW times
enum { RUNS_FEW = 3 };

typedef struct speed {
    const char *name;
    double      megabytes, read, check, print;  // MB and MB/s
    size_t      findings;
} speed;

static struct {
    bool   json;
    size_t megabytes, shown;
} options = {.megabytes = 16};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *time, int runs) {
    qsort(time, (size_t)runs, sizeof *time, ascending);
    return time[runs / 2];
}

static size_t name_length(const char *at) {
    if (*at >= '0' && *at <= '9') return 0;
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%");
}

// Appends the text after its head with `number` added to every name of the module.
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
    for (unsigned copy = 0; large.length < options.megabytes * 1000000 && !large.failed; copy++) add_copy(&large, module, body, copy);
    return large;
}

static int fail(const char *name, const cj_error *error) {
    fprintf(stderr, "bench_parse: %s:%u:%u: %s\n", name, error->line, error->column, error->message);
    return 1;
}

static double time_check(const cj_text *text, size_t *findings, cj_error *error) {
    cj_report *report;
    double     start = now();
    if (cj_check_ptx(text->data, text->length, NULL, &report, error)) return -1;
    start = now() - start;
    *findings = cj_report_count(report);
    cj_report_destroy(report);
    return start;
}

static void show(const speed *s) {
    if (options.json)
        printf("%s\n  {\"file\": \"%s\", \"megabytes\": %.3f, \"read_mb_s\": %.1f, \"check_mb_s\": %.1f, "
               "\"print_mb_s\": %.1f, \"findings\": %zu}",
               options.shown++ ? "," : "", s->name, s->megabytes, s->read, s->check, s->print, s->findings);
    else
        printf("%-24s %8.1f %10.1f %10.1f %10.1f %9zu\n", s->name, s->megabytes, s->read, s->check, s->print,
               s->findings);
}

static int measure_large(const char *name, const cj_text *large) {
    double    read[RUNS_MOST], check[RUNS_MOST], print[RUNS_MOST];
    const int runs = options.megabytes < LARGE ? RUNS_MOST : RUNS_FEW;
    speed     s = {.name = name, .megabytes = (double)large->length * 1e-6};
    cj_error  error;
    for (int i = 0; i < runs; i++) {
        cj_ir_module *module;
        double        start = now();
        if (cj__ir_parse(large->data, large->length, &module, &error)) return fail(name, &error);
        read[i] = now() - start;
        cj_text printed = {0};
        start = now();
        cj__ir_print(module, &printed);
        print[i] = now() - start;
        cj__text_free(&printed);
        cj__ir_free(module);
        check[i] = time_check(large, &s.findings, &error);
        if (check[i] < 0) return fail(name, &error);
    }
    s.read = s.megabytes / median(read, runs);
    s.check = s.megabytes / median(check, runs);
    s.print = s.megabytes / median(print, runs);
    show(&s);
    return 0;
}

static int measure(const char *name, const char *text) {
    cj_ir_module *module;
    cj_error      error;
    if (cj__ir_parse(text, strlen(text), &module, &error)) return fail(name, &error);
    cj_text large = enlarge(text, module);
    cj__ir_free(module);
    int failed = measure_large(name, &large);
    cj__text_free(&large);
    return failed;
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

// Reads the options; the index of the first file, or 0 where they are wrong.
static int read_options(int count, char **argument) {
    int at = 1;
    for (; at < count && argument[at][0] == '-'; at++) {
        if (!strcmp(argument[at], "--json")) options.json = true;
        else if (!strcmp(argument[at], "--mb") && at + 1 < count) options.megabytes = strtoul(argument[++at], NULL, 10);
        else return 0;
    }
    return options.megabytes && options.megabytes < 4000 ? at : 0;
}

int main(int count, char **argument) {
    const int first = read_options(count, argument);
    int       failed = 0;
    if (!first) {
        fputs("bench_parse [--json] [--mb 1..3999] [FILE.ptx…]\n", stderr);
        return 2;
    }
    if (options.json) printf("[");
    else printf("%-24s %8s %10s %10s %10s %9s\n", "file", "MB", "read MB/s", "check MB/s", "print MB/s", "findings");
    for (int i = first; i < count; i++) failed |= measure_file(argument[i]);
    for (size_t i = 0; count == first && i < cj_family_count(); i++) failed |= measure_family(cj_family_at(i));
    if (options.json) printf("\n]\n");
    return failed;
}
