// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of the collectives of GPUs is needed, and the CPU device sees that it is missing (mutation.h).
// All ranks are on one device, so that a mutant is loaded once.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "mutation.h"

enum { SEEDS = 20, SHARE = 2, RANK_BYTES = 1024, BOX_BYTES = 16384, TIMES = 3, LIMIT = 20000 };

static const char *const kernels[] = {
    "allreduce gpus=3 count=70 shots=1 block=32 grid=2 mail=2048",
    "allreduce gpus=2 count=64 shots=2 block=64 mail=2048 dtype=bf16",
    "reducescatter gpus=2 count=33 block=64 mail=2048 dtype=f16",
    "alltoall gpus=3 count=20 block=64 mail=2048",
    "broadcast gpus=3 count=20 block=64 mail=2048 root=1",
};

typedef struct kernel {
    cj_params params;
    cj_plan   plan;
    char     *ptx;
} kernel;

typedef struct memory {
    cj_ptr x[CJ_GPUS_MAX], out[CJ_GPUS_MAX], box[CJ_GPUS_MAX];
} memory;

static cj_status open_memory(memory *m, uint32_t gpus, cj_error *error) {
    float x[RANK_BYTES / 4];
    for (size_t i = 0; i < CJ_TEST_COUNT(x); i++) x[i] = (float)(i % 13);
    for (uint32_t r = 0; r < gpus; r++) {
        x[r] += 1.5f;
        cj_status status = cj_mem_alloc(cj_test_device, RANK_BYTES, &m->x[r], error);
        if (!status) status = cj_mem_alloc(cj_test_device, RANK_BYTES, &m->out[r], error);
        if (!status) status = cj_mem_alloc(cj_test_device, BOX_BYTES, &m->box[r], error);
        if (!status) status = cj_mem_write(cj_test_device, m->x[r], x, RANK_BYTES, NULL, error);
        if (!status) status = cj_mem_fill(cj_test_device, m->out[r], 0xa5, RANK_BYTES, NULL, error);
        if (!status) status = cj_mem_fill(cj_test_device, m->box[r], 0, BOX_BYTES, NULL, error);
        if (status) return status;
    }
    return CJ_OK;
}

static cj_status launch(const kernel *k, cj_function *function, memory *m, uint32_t gpus, cj_error *error) {
    cj_launch_config        config[CJ_GPUS_MAX];
    const cj_launch_config *list[CJ_GPUS_MAX];
    void                   *arguments[CJ_GPUS_MAX][CJ_GPUS_MAX + 5];
    uint64_t                rank[CJ_GPUS_MAX], limit = LIMIT, workspace = 0;
    for (uint32_t r = 0; r < gpus; r++) {
        uint32_t n = 0;
        rank[r] = r;
        arguments[r][n++] = &m->x[r];
        arguments[r][n++] = &m->out[r];
        for (uint32_t q = 0; q < gpus; q++) arguments[r][n++] = &m->box[q];
        arguments[r][n++] = &rank[r];
        arguments[r][n++] = &limit;
        arguments[r][n++] = &workspace;
        config[r] = (cj_launch_config){CJ_INIT(config[r]), .function = function, .grid = k->plan.grid, .block = k->plan.block,
                                       .arguments = arguments[r], .argument_count = n};
        list[r] = &config[r];
    }
    return cj_launch_together(list, gpus, error);
}

// Launches it several times on the same boxes; all outputs go to `out`, and what each box says of failures.
static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    const kernel  *k = specimen->user;
    const uint32_t gpus = (uint32_t)cj_params_get(&k->params, "gpus");
    memory         m = {.x = {0}};
    unsigned char *to = out;
    cj_status      status = open_memory(&m, gpus, error);
    memset(out, 0, specimen->bytes);
    for (unsigned time = 0; time < TIMES && !status; time++) status = launch(k, function, &m, gpus, error);
    for (uint32_t r = 0; r < gpus && !status; r++, to += RANK_BYTES + 4) {
        status = cj_mem_read(cj_test_device, to, m.out[r], RANK_BYTES, NULL, error);
        if (!status) status = cj_mem_read(cj_test_device, to + RANK_BYTES, m.box[r], 4, NULL, error);
    }
    for (uint32_t r = 0; r < gpus; r++) {
        cj_mem_free(cj_test_device, m.x[r]);
        cj_mem_free(cj_test_device, m.out[r]);
        cj_mem_free(cj_test_device, m.box[r]);
    }
    return status;
}

static cj_specimen open_specimen(const char *words) {
    static kernel k;  // one specimen is open at a time
    cj_error      error = {0};
    char          family[24];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &k.params, &error), &error);
    cj_test_ok(cj_plan_make(&k.params, cj_device_limits(cj_test_device), NULL, &k.plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k.plan, &k.ptx, NULL, &error), &error);
    return (cj_specimen){.words = words, .ptx = k.ptx, .entry = k.plan.entry, .bytes = CJ_GPUS_MAX * (RANK_BYTES + 4),
                         .run = run, .user = &k};
}

static void close_specimen(const cj_specimen *specimen) { cj_text_free(((kernel *)specimen->user)->ptx); }

static const cj_specimens specimens = {
    .words = kernels, .count = CJ_TEST_COUNT(kernels), .share = SHARE, .open = open_specimen, .close = close_specimen};

static void every_synchronization_is_needed_and_its_absence_is_seen(void **state) {
    (void)state;
    cj_no_mutant_survives(&specimens);
}

static void no_schedule_finds_fault_with_the_kernels_themselves(void **state) {
    (void)state;
    cj_schedules_agree_on_all(&specimens, cj_test_few() ? SEEDS / SHARE : SEEDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_synchronization_is_needed_and_its_absence_is_seen),
        cmocka_unit_test(no_schedule_finds_fault_with_the_kernels_themselves),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
