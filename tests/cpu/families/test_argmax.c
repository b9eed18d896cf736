// SPDX-License-Identifier: Apache-2.0
// Argmax on the CPU device, watched for hazards.
#include "argmax_cases.h"

#include "emit.h"
#include "test.h"

static void rows_of_every_kind_and_size_are_right(void **state) {
    (void)state;
    for (unsigned schedule = 0; schedule < 6; schedule++) {
        cj_test_watch(schedule);
        cj_test_argmax_boundaries(cj_test_device, schedule);
        cj_test_argmax_aligned(cj_test_device, schedule);
    }
}

static void any_shape_and_stride_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 60; i++) {
        cj_test_watch(i % 3);
        cj_test_argmax_random(cj_test_device, &seed, 20000);
    }
}

static void every_form_that_is_chosen_is_right(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_argmax_chosen(cj_test_device, 1);
}

// max.NaN is there from sm_80 on.
static void halves_are_compared_on_sm_75_too(void **state) {
    (void)state;
    static const char *const words[] = {"rows=40 columns=13 dtype=f16", "rows=40 columns=13 dtype=bf16", "rows=9 columns=301 dtype=f16 align=2",
                                        "rows=9 columns=301 dtype=bf16 align=2", "rows=2 columns=5000 dtype=f16 block=64"};
    cj_test_watch(1);
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++)
        for (int fill = 0; fill < CJ_ARGMAX_FILLS; fill++) cj_test_argmax_for(cj_test_device, "sm_75", words[i], (cj_argmax_fill)fill, 0, i);
}

static void a_call_finds_them_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_argmax_call(cj_test_device);
}

static void impossible_shapes_are_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("argmax", CJ_INVALID_ARGUMENT, "columns=100 stride=99", "stride: 99 is below the 100 columns");
    cj_test_refused("argmax", CJ_CONTRACT, "rows=2^30 cluster=4", "more blocks");
    cj_test_refused("argmax", CJ_INVALID_ARGUMENT, "lanes=24", "lanes: 24 is neither 0 nor a power of two");
    cj_test_refused("argmax", CJ_INVALID_ARGUMENT, "lanes=4 columns=33", "lanes: 4 have rows of up to 32 elements, not of 33; longer ones need 8 at least");
    cj_test_refused("argmax", CJ_INVALID_ARGUMENT, "lanes=8 columns=65 dtype=f16", "longer ones need 16 at least");
    cj_test_refused("argmax", CJ_INVALID_ARGUMENT, "lanes=8 parts=3", "parts: 3 is asked for");
    cj_test_refused("argmax", CJ_INVALID_ARGUMENT, "lanes=32 cluster=2", "cluster: 2 is asked for");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_kind_and_size_are_right),
        cmocka_unit_test(any_shape_and_stride_is_right),
        cmocka_unit_test(every_form_that_is_chosen_is_right),
        cmocka_unit_test(halves_are_compared_on_sm_75_too),
        cmocka_unit_test(a_call_finds_them_and_refuses_what_it_cannot),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
