// SPDX-License-Identifier: Apache-2.0
// The kernels that tests/gpu/test_async.c compares with a chip, on the CPU device: under the fixed schedule and under
// random ones, hazards watched for, they leave what the model says, and nothing is reported.
#include <clusterjit/cpu.h>

#include "semantics_async.h"
#include "test.h"

#ifdef __SANITIZE_ADDRESS__
enum { SCHEDULES = 2 };  // slow there
#else
enum { SCHEDULES = 3 };
#endif

static cj_device *cpu;

static void every_kernel_is_as_its_model(void **state) {
    const cj_async_family *family = *state;
    const uint64_t         seed = cj_test_seed();
    for (unsigned i = 0; i < SCHEDULES; i++) {
        const cj_cpu_options options = {CJ_INIT(options), .threads = 1, .hazards = i > 0, .random_schedule = i > 0,
                                        .seed = seed + i};
        cj_error             error = {0};
        cj_test_ok(cj_cpu_configure(cpu, &options, &error), &error);
        const unsigned failed = cj_async_check(family, cpu, seed);
        if (failed) fail_msg("%s: %u of %u kernels fail", family->name, failed, family->count());
    }
}

int main(void) {
    enum { FAMILIES_MAX = 16 };
    struct CMUnitTest tests[FAMILIES_MAX];
    size_t            count = 0;
    cj_error          error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, &error), &error);
    for (; cj_async_families[count]; count++) {
        tests[count] = (struct CMUnitTest)cmocka_unit_test(every_kernel_is_as_its_model);
        tests[count].name = cj_async_families[count]->name;
        tests[count].initial_state = (void *)(uintptr_t)cj_async_families[count];
    }
    const int failed = _cmocka_run_group_tests("asynchronous rows", tests, count, NULL, NULL);
    cj_device_close(cpu);
    return failed;
}
