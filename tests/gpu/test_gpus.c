// SPDX-License-Identifier: Apache-2.0
// The collectives and the fused kernels of several GPUs, on as many as there are. Skipped where there is one GPU.
#include <stdio.h>

#include "fused_cases.h"
#include "gpus_cases.h"
#include "test.h"

static cj_device *device[CJ_GPUS_MAX];
static uint32_t   count;

static void every_collective_is_right_for_any_type_and_size(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (uint32_t many = 2; many <= count; many++) {
        cj_error error = {0};
        cj_gpus *gpus = NULL;
        cj_test_ok(cj_gpus_create(device, many, NULL, &gpus, &error), &error);
        cj_test_gpus_all(gpus, NULL, &random, cj_test_few() ? 10 : 500);
        cj_gpus_destroy(gpus);
    }
}

static void large_arrays_take_two_shots(void **state) {
    (void)state;
    cj_error error = {0};
    cj_gpus *gpus = NULL;
    cj_test_ok(cj_gpus_create(device, count, NULL, &gpus, &error), &error);
    for (uint64_t elements = 4096; elements <= 1 << 20; elements *= 4)
        for (uint64_t off = 0; off < 2; off++) {
            const cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_BF16, .count = elements + off};
            cj_test_gpus(gpus, &sum, NULL, 0);
        }
    cj_gpus_destroy(gpus);
}

static void every_fused_kernel_is_right_for_any_type_and_size(void **state) {
    (void)state;
    const uint64_t              mail = 128 << 20;
    const cj_gpus_options       options = {CJ_INIT(options), .mail_bytes = mail};
    uint64_t                    random = cj_test_seed();
    static const struct {
        const char *family, *words;
    } large[] = {
        {"allreducenorm", "rows=1 columns=8192 dtype=bf16"},
        {"allreducenorm", "rows=256 columns=8192 dtype=bf16"},
        {"allreducenorm", "rows=256 columns=8192 dtype=bf16 shots=1 norm=layer bias=yes"},
        {"allreducenorm", "rows=700 columns=4000 dtype=f16"},
        {"shardedcrossentropy", "rows=300 columns=32064 dtype=bf16 gradient=yes"},
        {"shardedcrossentropy", "rows=300 columns=70000 dtype=f16 gradient=yes smoothing=0.1"},
        {"shardedcrossentropy", "rows=600 columns=8192 dtype=f32"},
        {"shardedsoftmax", "rows=300 columns=32768 dtype=bf16"},
        {"shardedtopk", "rows=128 columns=32064 dtype=bf16"},
        {"shardedtopk", "rows=300 columns=32064 k=2048 dtype=f32 order=smallest"},
    };
    for (uint32_t many = 2; many <= count; many++) {
        cj_error error = {0};
        cj_gpus *gpus = NULL;
        cj_test_ok(cj_gpus_create(device, many, &options, &gpus, &error), &error);
        cj_test_fused_all(gpus, mail, NULL, &random, cj_test_few() ? 9 : 300);
        for (size_t i = 0; i < CJ_TEST_COUNT(large); i++) cj_test_fused(gpus, mail, large[i].family, large[i].words, 0, NULL, NULL);
        cj_gpus_destroy(gpus);
    }
}

int main(void) {
    for (; count < CJ_GPUS_MAX; count++) {
        char spec[16];
        snprintf(spec, sizeof spec, "gpu:%u", count);
        const cj_device_options options = {CJ_INIT(options), .spec = spec};
        if (cj_device_open(&options, &device[count], NULL)) break;
    }
    if (count < 2) cj_test_skip("%u GPU%s: several are needed", count, count == 1 ? "" : "s");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_is_right_for_any_type_and_size),
        cmocka_unit_test(large_arrays_take_two_shots),
        cmocka_unit_test(every_fused_kernel_is_right_for_any_type_and_size),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t r = 0; r < count; r++) cj_device_close(device[r]);
    return failed;
}
