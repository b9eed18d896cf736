// SPDX-License-Identifier: Apache-2.0
// Softmax and its like on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "row_cases.h"

#include <stdio.h>

#include "test.h"

static const char *const families[] = {"softmax", "logsoftmax", "rmsnorm", "layernorm", "crossentropy"};

static void any_shape_type_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (int i = 0; i < (cj_test_few() ? 10 : 100); i++)
        cj_test_row_random(cj_test_device, families[(size_t)i % CJ_TEST_COUNT(families)], &seed, cj_test_few() ? 5000 : 100000);
}

// What the plan chooses, at lengths where it chooses something else; enough rows for each to be claimed by someone
// else.
static void long_rows_are_right_in_the_shapes_that_are_chosen(void **state) {
    (void)state;
    static const char *const shapes[] = {"rows=1000 columns=32768 dtype=bf16",
                                         "rows=600 columns=65536",
                                         "rows=3 columns=131072",
                                         "rows=130 columns=262144",
                                         "rows=140 columns=524288 dtype=bf16",
                                         "rows=5 columns=1048576 dtype=f16",
                                         "rows=2 columns=2100001",
                                         "rows=700 columns=70001 dtype=bf16"};
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes) && !cj_test_few(); i++) {
        char words[128];
        snprintf(words, sizeof words, "%s %s", families[i % CJ_TEST_COUNT(families)], shapes[i]);
        cj_test_row(cj_test_device, words, 0, i);
    }
}

static void calls_do_what_their_descriptions_say(void **state) {
    (void)state;
    cj_test_row_calls(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_type_stride_and_alignment_is_right),
        cmocka_unit_test(long_rows_are_right_in_the_shapes_that_are_chosen),
        cmocka_unit_test(calls_do_what_their_descriptions_say),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
