// SPDX-License-Identifier: Apache-2.0
// What asks for more than any GPU has, or than the host has, is refused in words before anything is allocated.
#include <stdint.h>

#include "kernel.h"

static const struct {
    const char *ptx;
    cj_status   status;
    const char *message;
} cases[] = {
    {KERNEL(".shared .b8 big[300000];\n", "mov.u32 %r1, big;"), CJ_CONTRACT, "300000"},
    {HEAD ".shared .b8 big[300000];\n" ENTRY OPEN CLOSE, CJ_CONTRACT, "declare 300000 B of shared memory"},
    {HEAD ".shared .b8 big[4294967280];\n" ENTRY OPEN CLOSE, CJ_UNSUPPORTED, "the limit is 1048576"},
    {KERNEL(".local .b8 big[600000];\n", ""), CJ_UNSUPPORTED, "600000 bytes of local memory"},
    {HEAD ".visible .entry kernel(.param .b8 big[40000])\n{\n    ret;\n}\n", CJ_UNSUPPORTED, "40000 bytes of param"},
    {HEAD ".global .b8 big[9000000000000000];\n" ENTRY OPEN CLOSE, CJ_OUT_OF_MEMORY, "9000000000000000 bytes are more"},
};

static void sizes_beyond_every_device(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error  error = {0};
        cj_status status = run_kernel(cases[i].ptx, (launch_shape){1, 32, 0, 0}, results, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].message))
            fail_msg("%zu: status %d, '%s', not %d, '%s'", i, status, error.message, cases[i].status, cases[i].message);
    }
}

static void memory_that_the_host_does_not_have(void **state) {
    (void)state;
    cj_device *device = open_cpu();
    cj_error   error = {0};
    cj_ptr     memory = 0;
    assert_int_equal(cj_mem_alloc(device, SIZE_MAX, &memory, &error), CJ_OUT_OF_MEMORY);
    const size_t most = cj_device_limits(device)->global_bytes;
    assert_int_equal(cj_mem_alloc(device, most + 1, &memory, &error), CJ_OUT_OF_MEMORY);
    assert_non_null(strstr(error.message, "more than what is left of the CPU device's"));
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_beyond_every_device),
        cmocka_unit_test(memory_that_the_host_does_not_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
