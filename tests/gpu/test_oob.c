// SPDX-License-Identifier: Apache-2.0
// fma.rn.oob on a chip: which NaN it takes for out of bounds, printed, is the CPU device's (CJ_HALF_OUTSIDE).
#include "semantics_oob.h"

#include <string.h>

#include "test.h"

static void both_take_the_same_for_out_of_bounds(void **state) {
    (void)state;
    static cj_oob_sweep on_gpu, on_cpu;
    cj_device          *gpu = cj_test_gpu(), *cpu = NULL;
    cj_error            error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, &error), &error);
    cj_oob_run(gpu, &on_gpu);
    cj_oob_run(cpu, &on_cpu);
    cj_oob_print("GPU", &on_gpu);
    cj_oob_print("CPU device", &on_cpu);
    cj_device_close(cpu);
    cj_device_close(gpu);
    assert_memory_equal(&on_gpu, &on_cpu, sizeof on_gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_take_the_same_for_out_of_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
