// SPDX-License-Identifier: Apache-2.0
#include "gpus_devices.h"

#include "test.h"

cj_device *cj_test_gpus_device[CJ_GPUS_MAX];

void cj_test_gpus_watch(uint64_t seed) {
    cj_error       error = {0};
    cj_cpu_options options = {CJ_INIT(options), .hazards = true, .random_schedule = seed > 0,
                              .seed = seed,     .threads = 1,    .instruction_limit = 1000 * 1000 * 1000};
    for (uint32_t r = 0; r < CJ_GPUS_MAX; r++) cj_test_ok(cj_cpu_configure(cj_test_gpus_device[r], &options, &error), &error);
}

int cj_test_gpus_open(void **state) {
    (void)state;
    cj_error                error = {0};
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    for (uint32_t r = 0; r < CJ_GPUS_MAX; r++) cj_test_ok(cj_device_open(&options, &cj_test_gpus_device[r], &error), &error);
    cj_test_gpus_watch(0);
    return 0;
}

int cj_test_gpus_close(void **state) {
    (void)state;
    for (uint32_t r = 0; r < CJ_GPUS_MAX; r++) cj_device_close(cj_test_gpus_device[r]);
    return 0;
}
