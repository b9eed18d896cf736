// SPDX-License-Identifier: Apache-2.0
// cuInit: reads the environment and opens the devices. What is told when the process ends.
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report.h"

// ---- the environment

static void warn(const char *variable, const char *value, const char *expected) {
    fprintf(stderr, "clusterjit: %s is '%s'; it is %s\n", variable, value, expected);
}

static const char *value_of(const char *variable) {
    const char *value = cj__getenv(variable);
    return value && *value ? value : NULL;
}

// A whole number up to `most`; `otherwise` if the variable is not set or is something else, which is warned of.
static uint64_t number_of(const char *variable, uint64_t least, uint64_t most, uint64_t otherwise) {
    const char *value = value_of(variable), *end;
    uint64_t    number = 0;
    if (!value) return otherwise;
    end = cj_number_read(value, &number);
    if (end && !*end && number >= least && number <= most) return number;
    char expected[64];
    snprintf(expected, sizeof expected, "a number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    warn(variable, value, expected);
    return otherwise;
}

static void read_schedule(cj_cpu_options *options) {
    const char *value = value_of("CLUSTERJIT_SCHEDULE"), *end;
    uint64_t    seed = 0;
    if (!value || !strcmp(value, "fixed")) return;
    options->late_schedule = !strcmp(value, "late");
    if (options->late_schedule) return;
    end = strncmp(value, "seed:", 5) ? NULL : cj_number_read(value + 5, &seed);
    if (!end || *end) {
        warn("CLUSTERJIT_SCHEDULE", value, "fixed, late or seed:N: taken as fixed");
        return;
    }
    options->random_schedule = true;
    options->seed = seed;
}

static void read_hazards(cj_cpu_options *options) {
    const char *value = value_of("CLUSTERJIT_HAZARDS");
    if (!value || !strcmp(value, "off")) return;
    options->hazards = !strcmp(value, "on");
    if (!options->hazards) warn("CLUSTERJIT_HAZARDS", value, "on or off: taken as off");
}

static void read_environment(void) {
    cj_cpu_options *options = &cj__driver.options;
    options->struct_size = sizeof *options;
    read_hazards(options);
    read_schedule(options);
    options->threads = (uint32_t)number_of("CLUSTERJIT_THREADS", 1, 4096, 0);
    options->instruction_limit = number_of("CLUSTERJIT_LIMIT", 1, 1000000000, 0) * 1000000;
    cj__driver.gpu_count = (int)number_of("CLUSTERJIT_GPUS", 1, CJ_GPUS, 1);
}

// ---- devices

static CUresult open_gpu(int ordinal) {
    const cj_device_options where = {CJ_INIT(where), .spec = "cpu"};
    cj_gpu                 *gpu = &cj__driver.gpu[ordinal];
    cj_error                error = {0};
    cj_status               status = cj_device_open(&where, &gpu->device, &error);
    if (!status) status = cj_cpu_configure(gpu->device, &cj__driver.options, &error);
    if (status) return cj__refuse_error(&error);
    gpu->ordinal = ordinal;
    gpu->limits = cj_device_limits(gpu->device);
    pthread_mutex_init(&gpu->run, NULL);
    return CUDA_SUCCESS;
}

// Another thread may have held the lock when the process was forked.
static void mark_fork(void) {
    cj__driver.forked = cj__driver.ready;
    pthread_mutex_init(&cj__driver.lock, NULL);
}

static CUresult open_all(void) {
    CUresult code = CUDA_SUCCESS;
    read_environment();
    for (int i = 0; i < cj__driver.gpu_count && !code; i++) code = open_gpu(i);
    if (code) return code;
    pthread_atfork(NULL, NULL, mark_fork);
    cj__driver.ready = true;
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags) {
    if (cj__driver.forked) return cj__enter(__func__, CJ_NEED_INIT);
    ENTER(CJ_NEED_NOTHING);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the flags are %u, and must be 0", flags));
    LEAVE(cj__driver.ready ? CUDA_SUCCESS : open_all());
}

CUresult cuDriverGetVersion(int *version) {
    ENTER(CJ_NEED_NOTHING);
    REQUIRE(version);
    *version = CUDA_VERSION;
    LEAVE(CUDA_SUCCESS);
}

// ---- the end of the process

// What kernels allocated and did not free.
static void tell_heap(const cj_gpu *gpu) {
    cj_cpu_heap_state heap = {CJ_INIT(heap)};
    char              message[128];
    if ((gpu->primary && gpu->primary->fault) || cj_cpu_heap_read(gpu->device, &heap, NULL) || !heap.blocks) return;
    snprintf(message, sizeof message, "%llu bytes that kernels allocated were never freed, in %llu blocks",
             (unsigned long long)heap.used, (unsigned long long)heap.blocks);
    const cj_record record = {.kind = "leak",
                              .call = "malloc",
                              .message = message,
                              .device = gpu->ordinal,
                              .bytes = heap.used,
                              .count = heap.blocks};
    cj__report(&record);
}

// What a program should have ended by itself. A function belongs to its module, a node to its graph.
static void tell_leaks(void) {
    static const char *const names[CJ_KIND_COUNT] = {
        [CJ_MODULE] = "module", [CJ_LIBRARY] = "library",       [CJ_STREAM] = "stream", [CJ_EVENT] = "event",
        [CJ_GRAPH] = "graph",   [CJ_EXEC] = "executable graph", [CJ_ARRAY] = "array",   [CJ_POOL] = "memory pool"};
    cj__memory_tell_leaks();
    for (int i = 0; i < cj__driver.gpu_count; i++) tell_heap(&cj__driver.gpu[i]);
    for (const cj_object *o = cj__object_next(NULL, NULL); o; o = cj__object_next(o, NULL)) {
        char message[128];
        // After a fault no call could have ended it.
        if (!names[o->kind] || !o->call || (o->owner && o->owner->fault)) continue;
        snprintf(message, sizeof message, "%s that was never destroyed", names[o->kind]);
        const cj_record record = {.kind = "leak", .call = o->call, .message = message, .count = 1};
        cj__report(&record);
    }
}

__attribute__((destructor)) static void tell_end(void) {
    if (!cj__driver.ready || cj__driver.forked || pthread_mutex_trylock(&cj__driver.lock)) return;
    if (cj__report_is_file()) tell_leaks();
    cj__report_end();
    pthread_mutex_unlock(&cj__driver.lock);
}
