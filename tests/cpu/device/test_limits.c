// SPDX-License-Identifier: Apache-2.0
// What asks for more than any GPU has, or than the host has, is refused in words before anything is allocated.
#include <clusterjit/allocator.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

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

// The program's allocator, which counts the bytes that it is asked for.
static atomic_size_t asked;

static void *take(void *user, size_t bytes, size_t alignment) {
    (void)user;
    asked += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void give(void *user, void *memory) {
    (void)user;
    free(memory);
}

// The bytes that the device asks for while some are freed and allocated, with as many live as `live` says.
static size_t bytes_asked(cj_device *device, cj_ptr *memory, size_t live, size_t count) {
    const size_t before = asked;
    for (size_t i = 0; i < count; i++) {
        cj_ptr  *at = &memory[i * 7919 % live];
        cj_error error;
        cj_mem_free(device, *at);
        cj_test_ok(cj_mem_alloc(device, 512, at, &error), &error);
    }
    return asked - before;
}

// A copy of the list of 10,000 takes 480 kB, an allocation with what is written of it 1 kB. The list may grow once.
static void an_allocation_does_not_copy_those_that_live(void **state) {
    (void)state;
    enum { FEW = 100, MANY = 10000, COUNT = 2000 };
    static cj_ptr memory[MANY];
    cj_device    *device = open_cpu();
    cj_error      error;
    size_t        bytes[2];
    for (size_t i = 0, live = FEW; live <= MANY; live *= MANY / FEW) {
        for (; i < live; i++) cj_test_ok(cj_mem_alloc(device, 512, &memory[i], &error), &error);
        bytes[live == MANY] = bytes_asked(device, memory, live, COUNT);
    }
    print_message("%zu and %zu bytes\n", bytes[0] / COUNT, bytes[1] / COUNT);
    assert_true(bytes[0] >= COUNT * 512 && bytes[1] < 2 * bytes[0]);
    cj_device_close(device);
}

int main(void) {
    const cj_allocator counting = {CJ_INIT(counting), .allocate = take, .free = give};
    cj_error           error;
    cj_test_ok(cj_allocator_set(&counting, &error), &error);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_beyond_every_device),
        cmocka_unit_test(memory_that_the_host_does_not_have),
        cmocka_unit_test(an_allocation_does_not_copy_those_that_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
