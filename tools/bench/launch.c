// SPDX-License-Identifier: Apache-2.0
// What a launch costs the host:  bench_launch [--device gpu:N] [--json]
// One kernel (the sum of 1024 numbers by a cluster of 4 blocks) is launched in five ways, from cuLaunchKernelEx written by
// hand to the one-call reduction: batches in turn, with the stream drained before each; medians over the rounds, and of the
// differences within a round, in ns a launch. Then 8 threads launch 10,000 times each, and every result is looked at.
#define _POSIX_C_SOURCE 200809L

#include <clusterjit/clusterjit.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 401, BATCH = 200, THREADS = 8, LAUNCHES = 10000, N = 1024 };

// The few functions of the driver that the comparison needs, in the versions that CUDA 12's headers give.
typedef struct driver {
    PFN_cuDevicePrimaryCtxRetain_v7000 DevicePrimaryCtxRetain;
    PFN_cuCtxSetCurrent_v4000          CtxSetCurrent;
    PFN_cuModuleLoadData_v2000         ModuleLoadData;
    PFN_cuModuleGetFunction_v2000      ModuleGetFunction;
    PFN_cuStreamCreate_v2000           StreamCreate;
    PFN_cuStreamSynchronize_v2000      StreamSynchronize;
    PFN_cuLaunchKernelEx_v11060        LaunchKernelEx;
} driver;

typedef struct bench {
    driver            cuda;
    cj_device        *device;
    CUstream          stream;
    cj_ptr            x, out, workspace;
    uint64_t          n;
    cj_reduce_desc    desc;
    cj_reduce        *reduce;
    cj_module        *module;
    cj_launch_config  ours;
    CUfunction        function;
    CUlaunchAttribute attributes[2];
    CUlaunchConfig    theirs;
    void             *arguments[4], *own_arguments[3];
    size_t            bytes[4];
    cj_error          error;
} bench;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// ---- five ways to launch; each returns whether it failed

static bool by_hand(bench *b) { return b->cuda.LaunchKernelEx(&b->theirs, b->function, b->arguments, NULL) != CUDA_SUCCESS; }
static bool by_launch(bench *b) { return cj_launch(b->device, &b->ours, &b->error) != CJ_OK; }
static bool by_kernel(bench *b) {
    cj_kernel *kernel = (cj_kernel *)(uintptr_t)cj_reduce_kernel(b->reduce);
    return cj_kernel_launch(kernel, b->stream, b->own_arguments, 3, &b->error) != CJ_OK;
}
static bool by_reduce(bench *b) { return cj_reduce_run(b->reduce, b->x, b->out, b->stream, &b->error) != CJ_OK; }
static bool by_one_call(bench *b) {
    return cj_reduce_launch(b->device, &b->desc, b->x, b->out, b->stream, &b->error) != CJ_OK;
}

static const struct {
    const char *name;
    bool (*launch)(bench *b);
} ways[] = {{"cuLaunchKernelEx", by_hand},
            {"cj_launch", by_launch},
            {"cj_kernel_launch", by_kernel},
            {"cj_reduce_run", by_reduce},
            {"cj_reduce_launch", by_one_call}};

enum { WAYS = sizeof ways / sizeof *ways };

// ---- setting up

static bool load_driver(driver *cuda) {
    void                       *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol, *found = NULL;
    PFN_cuGetProcAddress_v12000 get;
    if (!library || !(symbol = dlsym(library, "cuGetProcAddress_v2"))) return false;
    memcpy(&get, &symbol, sizeof get);
#define GET(name, version)                                                                              \
    if (get("cu" #name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL) != CUDA_SUCCESS) return false; \
    memcpy(&cuda->name, &found, sizeof found)
    GET(CtxSetCurrent, 4000);
    GET(DevicePrimaryCtxRetain, 7000);
    GET(ModuleLoadData, 2000);
    GET(ModuleGetFunction, 2000);
    GET(StreamCreate, 2000);
    GET(StreamSynchronize, 2000);
    GET(LaunchKernelEx, 11060);
#undef GET
    return true;
}

static cj_status set_up_ours(bench *b) {
    const cj_plan *plan = cj_kernel_plan(cj_reduce_kernel(b->reduce));
    const char    *ptx = cj_kernel_ptx(cj_reduce_kernel(b->reduce));
    cj_status      status = cj_module_from_ptx(b->device, ptx, strlen(ptx), &b->module, &b->error);
    b->n = N;
    void *const arguments[] = {&b->x, &b->out, &b->n, &b->workspace};
    memcpy(b->arguments, arguments, sizeof arguments);
    memcpy(b->own_arguments, arguments, sizeof b->own_arguments);
    for (int i = 0; i < 4; i++) b->bytes[i] = 8;
    b->ours = (cj_launch_config){
        CJ_INIT(cj_launch_config), .grid = plan->grid,         .block = plan->block,
        .cluster = plan->cluster,  .stream = b->stream,        .arguments = b->arguments,
        .argument_count = 4,       .argument_bytes = b->bytes, .attributes.programmatic = plan->programmatic};
    return status ? status : cj_module_function(b->module, plan->entry, &b->ours.function, &b->error);
}

static bool set_up_theirs(bench *b) {
    const cj_plan *plan = cj_kernel_plan(cj_reduce_kernel(b->reduce));
    CUmodule       module;
    if (b->cuda.ModuleLoadData(&module, cj_kernel_ptx(cj_reduce_kernel(b->reduce)))) return false;
    b->attributes[0] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                           .value.clusterDim = {plan->cluster.x, plan->cluster.y, plan->cluster.z}};
    b->attributes[1] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                           .value.programmaticStreamSerializationAllowed = 1};
    b->theirs = (CUlaunchConfig){.gridDimX = plan->grid.x, .gridDimY = 1, .gridDimZ = 1, .blockDimX = plan->block.x,
                                 .blockDimY = 1, .blockDimZ = 1, .hStream = b->stream, .attrs = b->attributes,
                                 .numAttrs = plan->programmatic ? 2 : 1};
    return b->cuda.ModuleGetFunction(&b->function, module, plan->entry) == CUDA_SUCCESS;
}

// The device works in the primary context, which is made current here so that no way to launch has to change it.
static bool set_up(bench *b, const char *spec) {
    CUcontext context;
    cj_error *error = &b->error;
    *b = (bench){.desc = {CJ_INIT(cj_reduce_desc), .n = N, .cluster = 4}};
    if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = spec}, &b->device, error)) return false;
    snprintf(error->message, sizeof error->message, "the driver API failed");
    const int ordinal = strchr(spec, ':') ? atoi(strchr(spec, ':') + 1) : 0;
    if (!load_driver(&b->cuda) || b->cuda.DevicePrimaryCtxRetain(&context, ordinal) || b->cuda.CtxSetCurrent(context) ||
        b->cuda.StreamCreate(&b->stream, CU_STREAM_NON_BLOCKING))
        return false;
    static float x[N];
    for (int i = 0; i < N; i++) x[i] = 1;
    return !cj_reduce_create(b->device, &b->desc, &b->reduce, error) &&
           !cj_mem_alloc(b->device, sizeof x, &b->x, error) && !cj_mem_alloc(b->device, 256, &b->out, error) &&
           !cj_mem_alloc(b->device, 4096, &b->workspace, error) && !cj_mem_write(b->device, b->x, x, sizeof x, NULL, error) &&
           !cj_mem_fill(b->device, b->workspace, 0, 4096, NULL, error) && !cj_synchronize(b->device, NULL, error) &&
           !set_up_ours(b) && set_up_theirs(b);
}

// ---- measuring

static bool run_batch(bench *b, size_t way, double *each) {
    if (b->cuda.StreamSynchronize(b->stream)) return false;
    const double start = now();
    for (int i = 0; i < BATCH; i++) {
        if (ways[way].launch(b)) return false;
    }
    *each = (now() - start) / BATCH;
    return true;
}

static bool right(bench *b) {
    float sum = 0;
    return !cj_mem_read(b->device, &sum, b->out, sizeof sum, b->stream, &b->error) && sum == N;
}

static double each[WAYS][ROUNDS];

static bool measure(bench *b) {
    double first;
    for (size_t w = 0; w < WAYS; w++) {
        if (!run_batch(b, w, &first) || !right(b)) return false;
    }
    for (size_t r = 0; r < ROUNDS; r++) {
        for (size_t i = 0; i < WAYS; i++) {
            const size_t w = (r + i) % WAYS;
            if (!run_batch(b, w, &each[w][r])) return false;
        }
    }
    return right(b);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values) {
    static double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, ascending);
    return sorted[ROUNDS / 2];
}

static double median_difference(size_t way) {
    static double difference[ROUNDS];
    for (size_t r = 0; r < ROUNDS; r++) difference[r] = each[way][r] - each[0][r];
    return median(difference);
}

// ---- threads

static const char store[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .entry store(.param .u64 out, .param .u32 value)\n{\n"
                            "    .reg .b64 %at;\n    .reg .b32 %value;\n    ld.param.u64 %at, [out];\n"
                            "    ld.param.u32 %value, [value];\n    cvta.to.global.u64 %at, %at;\n"
                            "    st.global.u32 [%at], %value;\n    ret;\n}\n";

typedef struct launcher {
    pthread_t    thread;
    bench       *b;
    cj_function *function;
    cj_ptr       out;
    unsigned     index;
    bool         failed;
} launcher;

static void *launch_often(void *user) {
    launcher *me = user;
    for (uint32_t i = 0; i < LAUNCHES && !me->failed; i++) {
        cj_ptr           out = me->out + (me->index * LAUNCHES + i) * sizeof(uint32_t);
        uint32_t         value = me->index * LAUNCHES + i;
        cj_launch_config config = {CJ_INIT(config), .function = me->function, .grid = {1, 1, 1}, .block = {1, 1, 1},
                                   CJ_ARGS(out, value)};
        me->failed = cj_launch(me->b->device, &config, NULL) != CJ_OK;
    }
    return NULL;
}

// Seconds for all launches of all threads to be done; below 0 where one failed or gave a wrong result.
static double run_threads(bench *b) {
    static uint32_t results[THREADS * LAUNCHES];
    launcher        all[THREADS];
    cj_module      *module = NULL;
    cj_function    *function = NULL;
    cj_ptr          out = 0;
    bool            failed = cj_module_from_ptx(b->device, store, sizeof store - 1, &module, &b->error) ||
                  cj_module_function(module, "store", &function, &b->error) ||
                  cj_mem_alloc(b->device, sizeof results, &out, &b->error) ||
                  cj_mem_fill(b->device, out, 0xff, sizeof results, NULL, &b->error);
    if (failed) return -1;
    const double start = now();
    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = (launcher){.b = b, .function = function, .out = out, .index = i};
        if (pthread_create(&all[i].thread, NULL, launch_often, &all[i])) abort();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(all[i].thread, NULL);
        failed |= all[i].failed;
    }
    failed |= cj_synchronize(b->device, NULL, &b->error) != CJ_OK;
    const double seconds = (now() - start) * 1e-9;
    failed |= cj_mem_read(b->device, results, out, sizeof results, NULL, &b->error) != CJ_OK;
    for (uint32_t i = 0; i < THREADS * LAUNCHES; i++) failed |= results[i] != i;
    cj_mem_free(b->device, out);
    cj_module_unload(module);
    return failed ? -1 : seconds;
}

// ---- showing

static int show_json(const bench *b, double seconds) {
    json_t *rows = json_array();
    for (size_t w = 0; w < WAYS; w++) {
        json_array_append_new(rows, json_pack("{s:s, s:f, s:f}", "way", ways[w].name, "ns", median(each[w]), "more_ns",
                                              median_difference(w)));
    }
    json_t *all = json_pack("{s:s, s:i, s:i, s:o, s:{s:i, s:i, s:f}}", "device", cj_device_name(b->device), "rounds", ROUNDS,
                            "batch", BATCH, "ways", rows, "threads", "threads", THREADS, "launches", LAUNCHES, "seconds",
                            seconds);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
    return 0;
}

static int show(const bench *b, double seconds) {
    const double base = median(each[0]);
    printf("%s, medians of %d rounds of %d launches\n", cj_device_name(b->device), ROUNDS, BATCH);
    printf("%-18s %10s %10s %8s\n", "launched by", "ns", "more ns", "more");
    for (size_t w = 0; w < WAYS; w++) {
        const double more = median_difference(w);
        printf("%-18s %10.1f %10.1f %7.2f%%\n", ways[w].name, median(each[w]), more, 100 * more / base);
    }
    printf("%d threads x %d launches by cj_launch: %.3f s, all results right\n", THREADS, LAUNCHES, seconds);
    return 0;
}

static int fail(const bench *b, const char *what) {
    fprintf(stderr, "bench_launch: %s: %s %s\n", what, b->error.message, b->error.hint);
    return 1;
}

int main(int count, char **argument) {
    static bench b;
    const char  *spec = "gpu";
    bool         json = false;
    for (int i = 1; i < count; i++) {
        if (!strcmp(argument[i], "--json")) json = true;
        if (!strcmp(argument[i], "--device") && i + 1 < count) spec = argument[++i];
    }
    if (!set_up(&b, spec)) return fail(&b, "cannot begin");
    if (!measure(&b)) return fail(&b, "a launch failed, or a result is wrong");
    const double seconds = run_threads(&b);
    if (seconds < 0) return fail(&b, "a thread's launch failed, or a result is wrong");
    return json ? show_json(&b, seconds) : show(&b, seconds);
}
