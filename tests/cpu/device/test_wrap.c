// SPDX-License-Identifier: Apache-2.0
// cj_mem_wrap: the caller's own array as the CPU device's memory.
#include <clusterjit/clusterjit.h>
#include <clusterjit/cpu.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { COUNT = 1024 };

static cj_device *device;
static float     *array;  // COUNT elements of the host's, on the heap

static int set_up(void **state) {
    (void)state;
    cj_error error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_test_ok(cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true}, &error), &error);
    array = aligned_alloc(16, COUNT * sizeof *array);
    assert_non_null(array);
    for (int i = 0; i < COUNT; i++) array[i] = (float)i;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    cj_device_close(device);
    free(array);
    return 0;
}

static cj_ptr wrapped(void *host, size_t bytes) {
    cj_ptr   memory = 0;
    cj_error error = {0};
    cj_test_ok(cj_mem_wrap(device, host, bytes, &memory, &error), &error);
    return memory;
}

static cj_status sum(cj_ptr x, cj_ptr out, cj_error *error) {
    return cj_reduce_launch(device, &(cj_reduce_desc){CJ_INIT(cj_reduce_desc), .n = COUNT, .dtype = CJ_F32}, x, out,
                            NULL, error);
}

static void a_kernel_reads_and_writes_the_callers_arrays(void **state) {
    (void)state;
    static _Alignas(16) float total[4] = {-1, -1, -1, -1};
    cj_error                  error = {0};
    const cj_ptr              x = wrapped(array, COUNT * sizeof *array), out = wrapped(total, sizeof total);
    cj_test_ok(sum(x, out, &error), &error);
    assert_true(total[0] == 523776.0f && total[1] == -1.0f);
    array[0] = 1000;  // no copy was made: what the host changes is there
    cj_test_ok(sum(x, out, &error), &error);
    assert_true(total[0] == 524776.0f);
    float back = 0;
    cj_test_ok(cj_mem_read(device, &back, out, sizeof back, NULL, &error), &error);
    assert_true(back == total[0]);
    cj_test_ok(cj_mem_fill(device, out, 0, sizeof total, NULL, &error), &error);
    assert_true(total[0] == 0 && total[3] == 0);
    cj_mem_free(device, out);
    cj_mem_free(device, x);
    assert_true(array[1] == 1.0f);  // still the caller's
}

static void what_leaves_a_wrapped_array_is_out_of_bounds(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_ptr       out = 0;
    const cj_ptr x = wrapped(array, (COUNT - 4) * sizeof *array);
    cj_test_ok(cj_mem_alloc(device, sizeof(float), &out, &error), &error);
    assert_int_equal(sum(x, out, &error), CJ_HAZARD);
    assert_int_equal(cj_cpu_hazard_count(device), 1);
    assert_string_equal(cj_cpu_hazard_at(device, 0)->rule, "out-of-bounds");
    assert_non_null(strstr(error.message, "an allocation of 4080 bytes"));
    assert_int_equal(cj_mem_read(device, array, x, COUNT * sizeof *array, NULL, &error), CJ_INVALID_ARGUMENT);
    cj_mem_free(device, x);
    cj_mem_free(device, out);
}

static void a_pointer_of_the_hosts_is_refused_with_what_to_do(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_ptr       out = 0;
    const size_t apart = (size_t)64 << 20;  // far from what the device has: pages of their own
    float       *far = aligned_alloc(16, apart);
    assert_non_null(far);
    memset(far, 0, COUNT * sizeof *far);
    cj_test_ok(cj_mem_alloc(device, sizeof(float), &out, &error), &error);
    assert_int_equal(sum((uintptr_t)far, out, &error), CJ_HAZARD);
    assert_non_null(strstr(error.message, "cj_mem_wrap"));
    assert_int_equal(cj_mem_write(device, (uintptr_t)far, array, 16, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.hint, "cj_mem_wrap"));
    const cj_ptr x = wrapped(far, COUNT * sizeof *far);
    cj_test_ok(sum(x, out, &error), &error);
    cj_mem_free(device, x);
    assert_int_equal(sum((uintptr_t)far, out, &error), CJ_HAZARD);  // it is not wrapped any more
    cj_mem_free(device, out);
    free(far);
}

static void what_is_the_devices_already_is_not_wrapped_again(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_ptr       again = 0;
    const cj_ptr x = wrapped(array + 16, 64);
    const struct {
        float *at;
        size_t bytes;
    } rows[] = {{array + 16, 64}, {array + 16, 4}, {array + 31, 8}, {array, 68}, {array, COUNT * sizeof *array}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        assert_int_equal(cj_mem_wrap(device, rows[i].at, rows[i].bytes, &again, &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "wrapped"));
        assert_int_equal(again, 0);
    }
    cj_mem_free(device, wrapped(array + 32, 4));  // beside it
    cj_mem_free(device, wrapped(array + 15, 4));
    cj_mem_free(device, x);
    cj_mem_free(device, wrapped(array, COUNT * sizeof *array));
    assert_int_equal(cj_mem_wrap(device, array, SIZE_MAX, &again, &error), CJ_INVALID_ARGUMENT);
}

static void what_is_still_wrapped_at_the_end_stays_the_callers(void **state) {
    wrapped(array, COUNT * sizeof *array);
    cj_device_close(device);
    assert_true(array[COUNT - 1] == COUNT - 1);
    free(array);
    set_up(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_reads_and_writes_the_callers_arrays),
        cmocka_unit_test(what_leaves_a_wrapped_array_is_out_of_bounds),
        cmocka_unit_test(a_pointer_of_the_hosts_is_refused_with_what_to_do),
        cmocka_unit_test(what_is_the_devices_already_is_not_wrapped_again),
        cmocka_unit_test(what_is_still_wrapped_at_the_end_stays_the_callers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
