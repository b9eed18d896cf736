// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of the fused kernels of GPUs is needed, and the CPU device sees that it is missing (mutation.h).
// All ranks are on one device, so that a mutant is loaded once.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "models/fused_model.h"
#include "models/row_model.h"
#include "mutation.h"

enum { SEEDS = 20, SHARE = 2, ARRAY_BYTES = 10880, BOX_BYTES = 1536 + 3 * 10240 + 32768, TIMES = 3, LIMIT = 20000 };

static const char *const kernels[] = {
    // A thread has one unit: it waits for each message. A block has no row, and waits for no other warp before its epoch.
    "allreducenorm gpus=2 rows=3 columns=60 dtype=f32 block=64 grid=4 mail=8192 align=4 residual=no weight=no shots=1",
    "allreducenorm gpus=3 rows=4 columns=64 dtype=bf16 block=64 cluster=2 grid=10 mail=8192 norm=layer shots=2",
    "allreducenorm gpus=3 rows=4 columns=64 dtype=bf16 block=32 grid=4 mail=8192 tags=blocks",
    "allreducenorm gpus=2 rows=3 columns=256 dtype=bf16 block=64 cluster=2 grid=6 mail=8192 norm=layer shots=2 tags=blocks",
    "shardedcrossentropy gpus=2 rows=5 columns=96 dtype=f32 block=64 grid=2 mail=8192 gradient=yes smoothing=0.1",
    "shardedcrossentropy gpus=2 rows=9 columns=600 dtype=bf16 block=64 grid=2 mail=8192 gradient=yes hold=shared",
    "shardedsoftmax gpus=3 rows=7 columns=64 dtype=bf16 block=64 grid=3 mail=8192 hold=no",
    "shardedtopk gpus=3 rows=5 columns=70 k=40 dtype=bf16 block=64 grid=2 mail=10240",
};

typedef struct kernel {
    cj_params   params;
    cj_plan     plan;
    fused_model model;
    char       *ptx;
    cj_ptr      at[CJ_GPUS_MAX][CJ_GPUS_ARRAYS], box[CJ_GPUS_MAX];
} kernel;

static cj_status open_array(kernel *k, uint32_t g, unsigned i, cj_error *error) {
    const fused_array *a = &k->model.array[i];
    const size_t       size = cj_dtype_size(a->type), count = (size_t)(a->rows * a->width);
    unsigned char      bytes[ARRAY_BYTES];
    if (count * size > ARRAY_BYTES) fail_msg("%s: %zu bytes", a->name, count * size);
    memset(bytes, 0xa5, sizeof bytes);
    for (size_t at = 0; at < count && !a->written; at++) row_model_write(a->type, bytes, at, fused_model_fill(&k->model, i, g, at));
    cj_status status = cj_mem_alloc(cj_test_device, count * size, &k->at[g][i], error);
    return status ? status : cj_mem_write(cj_test_device, k->at[g][i], bytes, count * size, NULL, error);
}

static cj_status open_memory(kernel *k, cj_error *error) {
    cj_status status = CJ_OK;
    for (uint32_t g = 0; g < k->model.gpus && !status; g++) {
        for (unsigned i = 0; i < k->model.count && !status; i++) status = open_array(k, g, i, error);
        if (!status) status = cj_mem_alloc(cj_test_device, BOX_BYTES, &k->box[g], error);
        if (!status) status = cj_mem_fill(cj_test_device, k->box[g], 0, BOX_BYTES, NULL, error);
    }
    return status;
}

static void close_memory(kernel *k) {
    for (uint32_t g = 0; g < CJ_GPUS_MAX; g++) {
        for (unsigned i = 0; i < CJ_GPUS_ARRAYS; i++) cj_mem_free(cj_test_device, k->at[g][i]);
        cj_mem_free(cj_test_device, k->box[g]);
    }
    memset(k->at, 0, sizeof k->at);
    memset(k->box, 0, sizeof k->box);
}

static cj_status launch(kernel *k, cj_function *function, cj_error *error) {
    cj_launch_config        config[CJ_GPUS_MAX];
    const cj_launch_config *list[CJ_GPUS_MAX];
    void                   *arguments[CJ_GPUS_MAX][CJ_GPUS_ARRAYS + CJ_GPUS_MAX + 3];
    uint64_t                rank[CJ_GPUS_MAX], limit = LIMIT, workspace = 0;
    for (uint32_t g = 0; g < k->model.gpus; g++) {
        uint32_t n = 0;
        rank[g] = g;
        for (unsigned i = 0; i < k->model.count; i++) arguments[g][n++] = &k->at[g][i];
        for (uint32_t q = 0; q < k->model.gpus; q++) arguments[g][n++] = &k->box[q];
        arguments[g][n++] = &rank[g];
        arguments[g][n++] = &limit;
        arguments[g][n++] = &workspace;
        config[g] = (cj_launch_config){CJ_INIT(config[g]), .function = function, .grid = k->plan.grid, .block = k->plan.block,
                                       .cluster = k->plan.cluster, .dynamic_shared = k->plan.dynamic_shared, .arguments = arguments[g], .argument_count = n};
        list[g] = &config[g];
    }
    return cj_launch_together(list, k->model.gpus, error);
}

// Launches it several times on the same boxes; what is written goes to `out`, and what each box says of failures.
static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    kernel        *k = specimen->user;
    unsigned char *to = out;
    cj_status      status = open_memory(k, error);
    memset(out, 0, specimen->bytes);
    for (unsigned time = 0; time < TIMES && !status; time++) status = launch(k, function, error);
    for (uint32_t g = 0; g < k->model.gpus && !status; g++) {
        for (unsigned i = 0; i < k->model.count && !status; i++) {
            const fused_array *a = &k->model.array[i];
            if (!a->written) continue;
            status = cj_mem_read(cj_test_device, to, k->at[g][i], (size_t)(a->rows * a->width) * cj_dtype_size(a->type), NULL, error);
            to += ARRAY_BYTES;
        }
        if (!status) status = cj_mem_read(cj_test_device, to, k->box[g], 4, NULL, error);
        to += 4;
    }
    close_memory(k);
    return status;
}

static bool has(const char *from, size_t length, const char *text) {
    const char *found = strstr(from, text);
    return found && found < from + length;
}

// A cluster's collective begins with a barrier of its own, which nothing needs after N1. B2 is for the next launch. The CPU
// device's copies see mbarriers of their own block at once.
static bool can_miss(const cj_specimen *specimen, const char *line, size_t length) {
    const kernel *k = specimen->user;
    const size_t  whole = strcspn(line, "\n");
    if (!has(line, length, "bar.sync")) return k->plan.cluster.x || !has(line, length, "fence.mbarrier_init");
    if (!k->plan.cluster.x) return !has(line, whole, "// B2");
    return has(line, whole, "// N1") || has(line, whole, "// B1");
}

static cj_specimen open_specimen(const char *words) {
    static kernel k;  // one specimen is open at a time
    cj_error      error = {0};
    char          family[32];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &k.params, &error), &error);
    cj_test_ok(cj_plan_make(&k.params, cj_device_limits(cj_test_device), NULL, &k.plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k.plan, &k.ptx, NULL, &error), &error);
    assert_true(fused_model_make(&k.model, &k.params));
    return (cj_specimen){.words = words, .ptx = k.ptx, .entry = k.plan.entry,
                         .bytes = CJ_GPUS_MAX * (CJ_GPUS_ARRAYS * ARRAY_BYTES + 4), .run = run, .can_miss = can_miss, .user = &k};
}

static void close_specimen(const cj_specimen *specimen) { cj_text_free(((kernel *)specimen->user)->ptx); }

static const cj_specimens specimens = {
    .words = kernels, .count = CJ_TEST_COUNT(kernels), .share = SHARE, .open = open_specimen, .close = close_specimen};

int main(void) { return cj_mutation_main(&specimens, cj_test_few() ? SEEDS / SHARE : SEEDS); }
