// SPDX-License-Identifier: Apache-2.0
// How long it takes to write a kernel: plan and emit of each family's defaults, median and spread in microseconds.
#define _POSIX_C_SOURCE 200809L

#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 2001 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const cj_family *family, const cj_limits *limits) {
    static double time[RUNS];
    cj_error      error;
    cj_params     params;
    size_t        length = 0;
    cj_params_init(&params, family);
    for (int i = 0; i < RUNS; i++) {
        cj_plan plan;
        char   *text;
        double  start = now();
        if (cj_plan_make(&params, limits, NULL, &plan, &error) || cj_plan_emit(&plan, &text, &length, &error)) {
            fprintf(stderr, "bench_emit: %s: %s\n", cj_family_name(family), error.message);
            return 1;
        }
        time[i] = now() - start;
        cj_text_free(text);
    }
    double first = time[0];
    qsort(time, RUNS, sizeof *time, ascending);
    printf("%-16s %8zu %10.1f %10.1f %10.1f %10.1f\n", cj_family_name(family), length, first, time[RUNS / 2],
           time[RUNS / 20], time[RUNS - RUNS / 20]);
    return 0;
}

int main(void) {
    const cj_limits *limits;
    int              failed = cj_limits_builtin("sm_90", &limits, NULL) != CJ_OK;
    printf("%-16s %8s %10s %10s %10s %10s\n", "family", "bytes", "first us", "median us", "5 %", "95 %");
    for (size_t i = 0; i < cj_family_count(); i++) failed |= measure(cj_family_at(i), limits);
    return failed;
}
