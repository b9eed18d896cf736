// SPDX-License-Identifier: Apache-2.0
// What asks for more than any GPU has, or than the host has, is refused in words before anything is allocated.
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <time.h>

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

// Frees and allocates some, with as many live as `live` says; the processor's time.
static double allocation_seconds(cj_device *device, cj_ptr *memory, size_t live, size_t count) {
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (size_t i = 0; i < count; i++) {
        cj_ptr  *at = &memory[i * 7919 % live];
        cj_error error;
        cj_mem_free(device, *at);
        cj_test_ok(cj_mem_alloc(device, 512, at, &error), &error);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

// A free and an allocation cost 0.5 us with 100 live ones and 8 us with 10,000; where each copied their list, 180 us (dev, one core).
// With musl, whose memmove is slow, they cost 1 and 87 us.
static void an_allocation_does_not_copy_those_that_live(void **state) {
    (void)state;
    enum { FEW = 100, MANY = 10000, COUNT = 2000, RATIO_MOST = 120 };
    static cj_ptr memory[MANY];
    cj_device    *device = open_cpu();
    cj_error      error;
    double        seconds[2];
    for (size_t i = 0, live = FEW; live <= MANY; live *= MANY / FEW) {
        for (; i < live; i++) cj_test_ok(cj_mem_alloc(device, 512, &memory[i], &error), &error);
        seconds[live == MANY] = allocation_seconds(device, memory, live, COUNT);
    }
    print_message("%.1f and %.1f us\n", seconds[0] * 1e6 / COUNT, seconds[1] * 1e6 / COUNT);
    assert_true(seconds[1] < RATIO_MOST * seconds[0]);
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_beyond_every_device),
        cmocka_unit_test(memory_that_the_host_does_not_have),
        cmocka_unit_test(an_allocation_does_not_copy_those_that_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
