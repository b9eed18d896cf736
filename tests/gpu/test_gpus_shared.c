// SPDX-License-Identifier: Apache-2.0
// Two ranks of one GPU, each with a stream of its own: the same small product after an all-gather, again and again, on mailboxes and memory
// that are new each time. What is allocated lay where NaNs lay before, so rows that have not come are seen.
//
//     CJ_TURNS=200 build/dev/tests/test_gpu_gpus_shared   # 20 is their default
#include <stdlib.h>

#include "gpus_gemm_cases.h"
#include "streams.h"
#include "test.h"

enum { RANKS = 2, TURNS = 20, FEW = 3, POISON_BYTES = 64 << 10, POISONS = 16 };

static cj_device *device[RANKS];
static cj_stream  stream[RANKS];

static unsigned turns(void) {
    const char *given = getenv("CJ_TURNS");
    return given ? (unsigned)strtoul(given, NULL, 10) : cj_test_few() ? FEW : TURNS;
}

static void leave_poison(void) {
    cj_ptr   memory[POISONS];
    cj_error error = {0};
    for (unsigned i = 0; i < POISONS; i++) {
        cj_test_ok(cj_mem_alloc(device[0], POISON_BYTES, &memory[i], &error), &error);
        cj_test_ok(cj_mem_fill(device[0], memory[i], 0xff, POISON_BYTES, NULL, &error), &error);
    }
    cj_test_ok(cj_synchronize(device[0], NULL, &error), &error);
    for (unsigned i = 0; i < POISONS; i++) cj_mem_free(device[0], memory[i]);
}

// The shape that was wrong once, then such whose gathered rows are whole multiples of what the driver allocates by: so memory that is
// registered may begin where that of another product ends.
static void repeat(cj_gemm_form form) {
    const cj_gpus_gemm_desc desc = {CJ_INIT(desc), .m = 310, .n = 32, .k = 8, .dtype = CJ_BF16, .form = form};
    uint64_t                random = cj_test_seed();
    for (unsigned turn = 0; turn < turns(); turn++) {
        cj_error error = {0};
        cj_gpus *gpus = NULL;
        cj_test_ok(cj_gpus_create(device, RANKS, NULL, &gpus, &error), &error);
        for (uint64_t other = 0; other < 4; other++) {
            cj_gpus_gemm_desc one = desc;
            one.m = other ? 256 : desc.m;
            one.n += 8 * other;
            leave_poison();
            cj_test_gpus_gemm(gpus, &one, true, stream);
        }
        leave_poison();
        if (form == CJ_GEMM_FORM_AUTO) cj_test_gpus_gemm_all(gpus, stream, 200, &random, 2);
        cj_gpus_destroy(gpus);
    }
}

static void gathered_rows_are_there_for_tensor_maps(void **state) {
    (void)state;
    repeat(CJ_GEMM_FORM_AUTO);
}

static void gathered_rows_are_there_for_plain_loads(void **state) {
    (void)state;
    repeat(CJ_GEMM_FORM_MMA);
}

int main(void) {
    const cj_device_options options = {CJ_INIT(options), .spec = "gpu:0"};
    if (cj_device_open(&options, &device[0], NULL)) cj_test_skip("there is no GPU");
    device[1] = device[0];
    if (!cj_test_streams(0, (cj_stream *const[]){&stream[0], &stream[1]}, RANKS)) cj_test_skip("libcuda.so.1 makes no stream");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathered_rows_are_there_for_tensor_maps),
        cmocka_unit_test(gathered_rows_are_there_for_plain_loads),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(device[0]);
    return failed;
}
