// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/cpu.h>

#include "test.h"

cj_device *cj_test_device;

int cj_test_open_cpu(void **state) {
    (void)state;
    return cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cj_test_device, NULL) !=
           CJ_OK;
}

int cj_test_open_watched(void **state) {
    if (cj_test_open_cpu(state)) return 1;
    cj_test_watch(0);
    return 0;
}

int cj_test_open_gpu(void **state) {
    (void)state;
    cj_test_device = cj_test_gpu();
    return 0;
}

int cj_test_close(void **state) {
    (void)state;
    cj_device_close(cj_test_device);
    return 0;
}

void cj_test_watch(uint64_t seed) {
    const cj_cpu_options options = {CJ_INIT(options), .hazards = true, .random_schedule = seed > 0, .seed = seed};
    cj_error             error = {0};
    cj_test_ok(cj_cpu_configure(cj_test_device, &options, &error), &error);
}
