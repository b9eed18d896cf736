// SPDX-License-Identifier: Apache-2.0
// How long it takes from an open device to the first result of a reduction, each time in a process of its own: with
// nothing kept, without a disk cache, with the kernel on disk, and of the same reduction in CUDA C++ (templates/reference)
// through NVRTC, where that is installed; and what a call costs once its kernel is there. The
// device (and with it the CUDA context) is opened, and the input written, before the clock starts.
//   bench_start [--json] [--device auto|gpu|gpu:N|cpu] [--runs N]
#define _GNU_SOURCE
#include <clusterjit/clusterjit.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reference.h"

enum { N = 1024, RUNS = 7, RUNS_MAX = 101, BATCHES = 51, BATCH = 100 };

typedef struct problem {
    cj_device     *device;
    cj_reduce_desc desc;
    cj_ptr         x, out;
} problem;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// ---- the ways to measure

static cj_status call(const problem *p, cj_error *error) {
    return cj_reduce_launch(p->device, &p->desc, p->x, p->out, NULL, error);
}

// From the open device to the result on the host.
static cj_status first_call(const problem *p, double *ms, cj_error *error) {
    float     sum = 0;
    double    start = now_ms();
    cj_status status = call(p, error);
    if (!status) status = cj_mem_read(p->device, &sum, p->out, sizeof sum, NULL, error);
    *ms = now_ms() - start;
    if (status || sum == (float)N) return status;
    fprintf(stderr, "bench_start: the sum is %g, not %d\n", (double)sum, N);
    exit(1);
}

typedef cj_status (*work_call)(const problem *p, void *with, cj_error *error);

// The same with the reference in CUDA C++: compiled by NVRTC, loaded, launched.
static cj_status first_reference(const problem *p, uint32_t cluster, double *ms, cj_error *error) {
    enum { BLOCK = 256, BLOCKS = N / BLOCK, WORKSPACE = 16 + 8 * BLOCKS };
    char            *ptx = NULL;
    cj_module       *module = NULL;
    cj_ptr           x = p->x, out = p->out, workspace = 0;
    uint64_t         n = N;
    float            sum = 0;
    void            *arguments[] = {&x, &out, &n, &workspace};
    cj_launch_config config = {CJ_INIT(config), .grid = {BLOCKS, 1, 1}, .block = {BLOCK, 1, 1}, .arguments = arguments,
                               .argument_count = 4};
    double           start = now_ms();
    if (cluster) config.cluster = (cj_dim3){cluster, 1, 1};
    cj_status status = cj__reference_compile("reduce", cj_limits_arch(cj_device_limits(p->device)), CJ_F32, "a + b",
                                             "0", cluster, &ptx, error);
    if (!status) status = cj_module_from_ptx(p->device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, "reduce_reference", &config.function, error);
    if (!status) status = cj_mem_alloc(p->device, WORKSPACE, &workspace, error);
    if (!status) status = cj_mem_fill(p->device, workspace, 0, WORKSPACE, NULL, error);
    if (!status) status = cj_launch(p->device, &config, error);
    if (!status) status = cj_mem_read(p->device, &sum, p->out, sizeof sum, NULL, error);
    *ms = now_ms() - start;
    cj_mem_free(p->device, workspace);
    cj_module_unload(module);
    free(ptx);
    if (status || sum == (float)N) return status;
    fprintf(stderr, "bench_start: the reference's sum is %g, not %d\n", (double)sum, N);
    exit(1);
}

static cj_status first_cluster_reference(const problem *p, double *ms, cj_error *error) {
    return first_reference(p, 4, ms, error);
}
static cj_status first_plain_reference(const problem *p, double *ms, cj_error *error) {
    return first_reference(p, 0, ms, error);
}

// One of many calls: a batch at a time, short enough to fit the launch queue, which is empty when the clock starts.
static cj_status per_call(const problem *p, work_call work, void *with, double *ms, cj_error *error) {
    static double time[BATCHES];
    cj_status     status = work(p, with, error);
    for (int i = 0; i < BATCHES && !status; i++) {
        status = cj_synchronize(p->device, NULL, error);
        double start = now_ms();
        for (int k = 0; k < BATCH && !status; k++) status = work(p, with, error);
        time[i] = (now_ms() - start) / BATCH;
    }
    if (!status) status = cj_synchronize(p->device, NULL, error);
    qsort(time, BATCHES, sizeof *time, ascending);
    *ms = time[BATCHES / 2];
    return status;
}

static cj_status by_description(const problem *p, void *with, cj_error *error) {
    (void)with;
    return call(p, error);
}

static cj_status by_handle(const problem *p, void *with, cj_error *error) {
    return cj_reduce_run(with, p->x, p->out, NULL, error);
}

static cj_status warm_call(const problem *p, double *ms, cj_error *error) {
    return per_call(p, by_description, NULL, ms, error);
}

static cj_status warm_handle(const problem *p, double *ms, cj_error *error) {
    cj_reduce *reduce;
    cj_status  status = cj_reduce_create(p->device, &p->desc, &reduce, error);
    if (status) return status;
    status = per_call(p, by_handle, reduce, ms, error);
    cj_reduce_destroy(reduce);
    return status;
}

// What the disk cache holds when the process starts.
typedef enum cache { CACHE_OFF, CACHE_EMPTY, CACHE_FILLED } cache;

static const struct way {
    const char *name, *what;
    cache       start;
    cj_status (*measure)(const problem *p, double *ms, cj_error *error);
    bool optional;  // left out where it fails
} ways[] = {
    {"cold", "first result: written, checked, compiled, kept on disk", CACHE_EMPTY, first_call, false},
    {"no-cache", "first result: written, checked, compiled by the load", CACHE_OFF, first_call, false},
    {"disk", "first result: written, checked, image from disk", CACHE_FILLED, first_call, false},
    {"nvrtc-cg", "first result: CUDA C++ with cooperative groups, by NVRTC", CACHE_OFF, first_cluster_reference, true},
    {"nvrtc", "first result: CUDA C++ without clusters, by NVRTC", CACHE_OFF, first_plain_reference, true},
    {"call", "one cj_reduce_launch of many: lookup and launch", CACHE_FILLED, warm_call, false},
    {"handle", "one cj_reduce_run of many: launch alone", CACHE_FILLED, warm_handle, false},
};

enum { WAY_COUNT = sizeof ways / sizeof ways[0] };

// ---- a process of its own

static int fail(const cj_error *error) {
    fprintf(stderr, "bench_start: %s %s\n", error->message, error->hint);
    return 1;
}

// Measures one way and writes the milliseconds.
static int child(const struct way *way, const char *spec) {
    static float      x[N];
    double            ms = 0;
    cj_error          error = {0};
    problem           p = {.desc = {CJ_INIT(cj_reduce_desc), .n = N, .cluster = 4}};
    cj_device_options options = {CJ_INIT(options), .spec = spec};
    for (int i = 0; i < N; i++) x[i] = 1;
    cj_status status = cj_device_open(&options, &p.device, &error);
    if (!status) status = cj_mem_alloc(p.device, sizeof x, &p.x, &error);
    if (!status) status = cj_mem_alloc(p.device, sizeof *x, &p.out, &error);
    if (!status) status = cj_mem_write(p.device, p.x, x, sizeof x, NULL, &error);
    if (!status) status = way->measure(&p, &ms, &error);
    if (status) fail(&error);
    else printf("%.9f\n", ms);
    cj_mem_free(p.device, p.out);
    cj_mem_free(p.device, p.x);
    cj_device_close(p.device);
    return status != CJ_OK;
}

static int run_child(const struct way *way, const char *spec, double *ms) {
    char    self[4096], command[4400];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return 1;
    self[length] = '\0';
    snprintf(command, sizeof command, "'%s' --child %s --device %s", self, way->name, spec);
    FILE *output = popen(command, "r");
    int   got = output ? fscanf(output, "%lf", ms) : 0;
    return !output || pclose(output) || got != 1;
}

static void prepare_cache(cache start, const char *directory) {
    uint64_t entries, bytes;
    setenv("CLUSTERJIT_CACHE_DIR", start == CACHE_OFF ? "" : directory, 1);
    if (start == CACHE_EMPTY) cj_cache_clear(&entries, &bytes, NULL);
}

// The times of so many processes, in order.
static int measure(const struct way *way, const char *spec, const char *directory, double *ms, int runs) {
    double first;
    prepare_cache(way->start, directory);
    if (way->start == CACHE_FILLED && run_child(way, spec, &first)) return 1;
    for (int i = 0; i < runs; i++) {
        prepare_cache(way->start, directory);
        if (run_child(way, spec, &ms[i])) return 1;
    }
    qsort(ms, (size_t)runs, sizeof *ms, ascending);
    return 0;
}

static void print_row(const struct way *way, const double *ms, int runs, bool json, bool last) {
    if (json) {
        printf("    {\"name\": \"%s\", \"what\": \"%s\", ", way->name, way->what);
        printf("\"median_ms\": %.6f, \"least_ms\": %.6f, \"most_ms\": %.6f}%s\n", ms[runs / 2], ms[0], ms[runs - 1],
               last ? "" : ",");
    } else {
        printf("%-10s %12.6f %12.6f %12.6f  %s\n", way->name, ms[runs / 2], ms[0], ms[runs - 1], way->what);
    }
}

static int measure_all(const char *spec, int runs, bool json) {
    char   directory[] = "/tmp/cj-start-XXXXXX", name[64] = "";
    double ms[RUNS_MAX];
    int    failed = !mkdtemp(directory);
    setenv("CUDA_CACHE_DISABLE", "1", 1);  // the driver's own cache of what it compiles
    cj_device *device = NULL;
    if (!failed && !cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = spec}, &device, NULL))
        snprintf(name, sizeof name, "%s", cj_device_name(device));
    cj_device_close(device);
    if (json) printf("{\n  \"device\": \"%s\",\n  \"n\": %d,\n  \"runs\": %d,\n  \"rows\": [\n", name, N, runs);
    else printf("%s, sum of %d f32, %d processes each\n%-10s %12s %12s %12s\n", name, N, runs, "", "median ms", "least",
                "most");
    for (int i = 0; i < WAY_COUNT && !failed; i++) {
        failed = measure(&ways[i], spec, directory, ms, runs);
        if (!failed) print_row(&ways[i], ms, runs, json, i == WAY_COUNT - 1);
        failed = failed && !ways[i].optional;
    }
    if (json) printf("  ]\n}\n");
    prepare_cache(CACHE_EMPTY, directory);
    rmdir(directory);
    return failed;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"child", required_argument, NULL, 'c'},
                                            {0}};
    const char *spec = "auto", *name = NULL;
    int         runs = RUNS, option;
    bool        json = false;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'j') json = true;
        else if (option == 'd') spec = optarg;
        else if (option == 'r') runs = atoi(optarg);
        else if (option == 'c') name = optarg;
        else return 64;
    }
    for (int i = 0; i < WAY_COUNT && name; i++) {
        if (!strcmp(name, ways[i].name)) return child(&ways[i], spec);
    }
    if (name || runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "bench_start: --runs is 1 to %d\n", RUNS_MAX);
        return 64;
    }
    return measure_all(spec, runs, json);
}
