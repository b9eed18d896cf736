// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of the matrix product is needed, and the CPU device sees that it is missing: a
// kernel without it, or with it weakened to relaxed, is refused, found to have a hazard or a deadlock, or gives a
// wrong result, under some schedule. The kernels themselves run under many schedules without a report.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "gemm.h"
#include "test.h"

enum { SEEDS = 12, MUTANT_SEEDS = 8, ELEMENTS = 1 << 17, BYTES = ELEMENTS * 2 };

// A grid of one cluster makes all tiles: the ring goes round, and results leave behind other tiles' steps.
static const char *const kernels[] = {
    "m=190 n=70 k=200 tile=64x64 cluster=2 stages=2",
    "m=70 n=190 k=130 tile=64x64 cluster=1 cluster-n=2 stages=2 a=column c=yes",
    "m=60 n=384 k=200 tile=64x128 cluster=0 stages=3",
    "m=60 n=320 k=150 tile=64x128 cluster=1 stages=2 c=yes",
};

static const struct {
    const char *holds, *from, *to;  // NULL: the line goes; else words of one length
} mutations[] = {
    {"bar.sync", NULL, NULL},
    {"bar.warp.sync", NULL, NULL},
    {"barrier.cluster.arrive", NULL, NULL},
    {"barrier.cluster.wait", NULL, NULL},
    {"barrier.cluster.arrive.release", ".release", ".relaxed"},
    {"fence", NULL, NULL},
    {"mbarrier.init", NULL, NULL},
    {"mbarrier.try_wait", NULL, NULL},
    {"mbarrier.arrive", NULL, NULL},
    {"wgmma.commit_group", NULL, NULL},
    {"wgmma.wait_group", NULL, NULL},
    {"cp.async.bulk.commit_group", NULL, NULL},
    {"cp.async.bulk.wait_group", NULL, NULL},
};

typedef struct kernel {
    cj_params  params;
    cj_plan    plan;
    gemm_shape shape;
    char      *ptx;
    cj_ptr     at[GEMM_MAPS];
    uint16_t   want[ELEMENTS];
} kernel;

static void configure(uint64_t seed) {
    cj_error       error = {0};
    cj_cpu_options options = {.hazards = true,
                              .random_schedule = seed > 0,
                              .seed = seed,
                              .threads = 1,
                              .instruction_limit = 20 * 1000 * 1000};
    cj_test_ok(cj_cpu_configure(cj_test_device, &options, &error), &error);
}

// Small numbers, of which no two lines have the same.
static void open_kernel(const char *words, kernel *k) {
    static uint16_t numbers[ELEMENTS];
    uint64_t        random = 1;
    cj_error        error = {0};
    cj_test_ok(cj_test_params("gemm", words, &k->params, &error), &error);
    cj_test_ok(cj_plan_make(&k->params, cj_device_limits(cj_test_device), NULL, &k->plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k->plan, &k->ptx, NULL, &error), &error);
    k->plan.grid.x = k->plan.cluster.x ? k->plan.cluster.x : 1;
    cj__gemm_read(&k->plan.params, &k->shape);
    for (size_t i = 0; i < ELEMENTS; i++) numbers[i] = (uint16_t)(0x3f00 + cj_test_random(&random) % 256);
    for (unsigned i = 0; i < GEMM_MAPS; i++) {
        cj_test_ok(cj_mem_alloc(cj_test_device, BYTES, &k->at[i], &error), &error);
        cj_test_ok(cj_mem_write(cj_test_device, k->at[i], numbers, BYTES, NULL, &error), &error);
    }
}

static void close_kernel(kernel *k) {
    for (unsigned i = 0; i < GEMM_MAPS; i++) cj_mem_free(cj_test_device, k->at[i]);
    cj_text_free(k->ptx);
}

static cj_status encode(const kernel *k, unsigned which, cj_tensormap *map, cj_error *error) {
    static const uint32_t ones[] = {1, 1};
    gemm_map              m;
    cj__gemm_map(&k->shape, which, &m);
    const uint64_t stride = (m.dims[0] + 7) / 8 * 16;
    assert_true(stride * m.dims[1] <= BYTES);
    return cj_tensormap_encode_tiled(cj_test_device, map, CJ_TENSORMAP_BF16, 2, k->at[which], m.dims, &stride, m.box, ones,
                                     CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_128B, CJ_TENSORMAP_L2_NONE,
                                     CJ_TENSORMAP_FILL_ZEROS, error);
}

static cj_status run(kernel *k, const char *ptx, uint16_t *out, cj_error *error) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_tensormap map[GEMM_MAPS];
    float        alpha = 0.5F, beta = 2;
    uint64_t     derived[3], none = 0;
    memcpy(derived, k->plan.derived, sizeof derived);
    void     *arguments[] = {&map[0], &map[1],     &map[2],     &map[3],     &alpha,
                             &beta,   &derived[0], &derived[1], &derived[2], &none};
    cj_status status = cj_module_from_ptx(cj_test_device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, k->plan.entry, &function, error);
    for (unsigned i = 0; !status && i < GEMM_MAPS; i++) status = encode(k, i, &map[i], error);
    cj_launch_config config = {.function = function,
                               .grid = k->plan.grid,
                               .block = k->plan.block,
                               .cluster = k->plan.cluster,
                               .dynamic_shared = k->plan.dynamic_shared,
                               .nonportable = true,
                               .arguments = arguments,
                               .argument_count = CJ_TEST_COUNT(arguments)};
    if (!status) status = cj_mem_fill(cj_test_device, k->at[GEMM_MAP_D], 0xa5, BYTES, NULL, error);
    if (!status) status = cj_launch(cj_test_device, &config, error);
    if (!status) status = cj_mem_read(cj_test_device, out, k->at[GEMM_MAP_D], BYTES, NULL, error);
    cj_module_unload(module);
    return status;
}

static bool survives(kernel *k, const char *mutant, char *why, size_t size) {
    static uint16_t out[ELEMENTS];
    for (uint64_t seed = 0; seed < MUTANT_SEEDS; seed++) {
        cj_error error = {0};
        configure(seed);
        cj_status status = run(k, mutant, out, &error);
        if (status == CJ_OUT_OF_MEMORY) fail_msg("%s", error.message);
        snprintf(why, size, "%s [%s]", status ? cj_status_name(status) : "wrong result", error.rule);
        if (status || memcmp(out, k->want, BYTES) != 0) return false;
    }
    return true;
}

// What is needed, but where the CPU device cannot miss it: it lets a block's own copies see mbarriers without a
// fence, and ptxas wants a wgmma.fence in each step, not only in a tile's first.
static bool is_seen(const kernel *k, const char *line, size_t code) {
    const char *first = strstr(k->ptx, "wgmma.fence"), *at = strstr(line, "wgmma.fence");
    const char *init = strstr(line, "fence.mbarrier_init");
    if (at && at < line + code) return at == first;
    return !init || init >= line + code || k->plan.cluster.x > 1;
}

// Tries every mutation of the line at `line`, in place; returns how many are not noticed.
static unsigned try_line(kernel *k, char *line) {
    const size_t length = strcspn(line, "\n"), code = strcspn(line, "/") < length ? strcspn(line, "/") : length;
    unsigned     survivors = 0;
    for (size_t m = 0; m < CJ_TEST_COUNT(mutations); m++) {
        char *found = strstr(line, mutations[m].holds), kept[256], why[96];
        if (!found || found >= line + code || code >= sizeof kept || !is_seen(k, line, code)) continue;
        memcpy(kept, line, code);
        if (mutations[m].from)
            memcpy(strstr(line, mutations[m].from), mutations[m].to, strlen(mutations[m].to));
        else
            memset(line, ' ', code);
        const bool alive = survives(k, k->ptx, why, sizeof why);
        memcpy(line, kept, code);
        print_message("%s: %s: %.*s\n", alive ? "SURVIVES" : why, mutations[m].to ? mutations[m].to : "without",
                      (int)code, kept);
        survivors += alive;
    }
    return survivors;
}

// Under a sanitizer one kernel, a random one.
static size_t stride(void) { return cj_test_few() ? CJ_TEST_COUNT(kernels) : 1; }
static size_t first(void) { return cj_test_few() ? cj_test_seed() % CJ_TEST_COUNT(kernels) : 0; }

static void every_synchronization_is_needed_and_its_absence_is_seen(void **state) {
    (void)state;
    static kernel k;
    unsigned      survivors = 0;
    for (size_t i = first(); i < CJ_TEST_COUNT(kernels); i += stride()) {
        cj_error error = {0};
        open_kernel(kernels[i], &k);
        configure(0);
        cj_test_ok(run(&k, k.ptx, k.want, &error), &error);
        print_message("%s\n", kernels[i]);
        for (char *line = k.ptx; *line; line += strcspn(line, "\n") + 1) survivors += try_line(&k, line);
        close_kernel(&k);
    }
    assert_int_equal(survivors, 0);
}

static void no_schedule_finds_fault_with_the_kernels_themselves(void **state) {
    (void)state;
    static kernel   k;
    static uint16_t out[ELEMENTS];
    for (size_t i = first(); i < CJ_TEST_COUNT(kernels); i += stride()) {
        open_kernel(kernels[i], &k);
        for (uint64_t seed = 0; seed <= SEEDS; seed++) {
            cj_error error = {0};
            configure(seed);
            cj_test_ok(run(&k, k.ptx, seed ? out : k.want, &error), &error);
            if (seed) assert_memory_equal(out, k.want, BYTES);
        }
        close_kernel(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_synchronization_is_needed_and_its_absence_is_seen),
        cmocka_unit_test(no_schedule_finds_fault_with_the_kernels_themselves),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
