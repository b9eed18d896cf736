// SPDX-License-Identifier: Apache-2.0
// Softmax and its like on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "row_cases.h"

#include <stdio.h>

#include "test.h"

static const char *const families[] = {"softmax", "logsoftmax", "rmsnorm", "layernorm", "crossentropy"};

static void any_shape_type_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (size_t i = 0; i < (cj_test_few() ? 10 : 100); i++) {
        uint64_t own = cj_test_random(&seed);
        if (cj_test_mine(i))
            cj_test_row_random(cj_test_device, families[i % CJ_TEST_COUNT(families)], &own, cj_test_few() ? 5000 : 100000);
    }
}

static void every_form_is_right(void **state) {
    (void)state;
    if (cj_test_mine(2)) cj_test_row_forms(cj_test_device);
}

static void elements_far_from_zero_are_right(void **state) {
    (void)state;
    if (cj_test_mine(0)) cj_test_row_far(cj_test_device);
}

static void short_rows_are_right(void **state) {
    (void)state;
    static const char *const many[] = {
        "logsoftmax rows=1000001 columns=14 out-stride=61", "softmax rows=700003 columns=77 dtype=bf16 out-stride=141",
        "logsoftmax rows=300001 columns=229 stride=237 pass=backward", "layernorm rows=500009 columns=64 bias=yes",
        "crossentropy rows=1000003 columns=8 dtype=f16"};
    if (cj_test_mine(3)) cj_test_row_short(cj_test_device);
    if (cj_test_mine(2)) cj_test_row_short_sums(cj_test_device);
    for (size_t i = 0; i < CJ_TEST_COUNT(many) && !cj_test_few(); i++)
        if (cj_test_mine(i)) cj_test_row(cj_test_device, many[i], 0, i);
}

static void rows_that_begin_anywhere_are_right(void **state) {
    (void)state;
    if (cj_test_mine(0)) cj_test_row_peeled(cj_test_device);
    if (cj_test_mine(1)) cj_test_row_split(cj_test_device);
    if (cj_test_mine(2)) cj_test_row_across(cj_test_device);
    if (cj_test_mine(1)) cj_test_row_unaligned(cj_test_device);
}

// Of so many blocks ptxas has %clusterid wrong: a row's number must not come from it.
static void rows_of_clusters_of_16_million_blocks_are_right(void **state) {
    (void)state;
    if (cj_test_few()) skip();
    if (cj_test_mine(0)) cj_test_row(cj_test_device, "rmsnorm rows=1048580 columns=32 cluster=16", 0, 1);
    if (cj_test_mine(1)) cj_test_row(cj_test_device, "layernorm rows=1118490 columns=30 cluster=15", 0, 2);
}

// What the plan chooses, at lengths where it chooses something else; enough rows for each to be taken by a block
// else.
static void long_rows_are_right_in_the_shapes_that_are_chosen(void **state) {
    (void)state;
    static const char *const shapes[] = {"rows=100 columns=262144",
                                         "rows=600 columns=65536",
                                         "rows=3 columns=131072",
                                         "rows=130 columns=262144",
                                         "rows=140 columns=524288 dtype=bf16",
                                         "rows=5 columns=1048576 dtype=f16",
                                         "rows=2 columns=2100001",
                                         "rows=700 columns=70001 dtype=bf16",
                                         "rows=900 columns=8191 stride=8192 out-stride=8195 dtype=bf16",
                                         "rows=500 columns=32768 stride=32806 dtype=f16",
                                         "rows=1000 columns=32768 dtype=bf16"};
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes) && !cj_test_few(); i++) {
        if (!cj_test_mine(i)) continue;
        char words[128];
        snprintf(words, sizeof words, "%s %s", families[i % CJ_TEST_COUNT(families)], shapes[i]);
        cj_test_row(cj_test_device, words, 0, i);
    }
}

// Sums over rows, in each shape that is chosen; and once more, for the same bits.
static void gradients_of_weights_are_right_and_repeat(void **state) {
    (void)state;
    static const char *const shapes[] = {"rmsnorm rows=50000 columns=128 dtype=bf16",
                                         "layernorm rows=1000003 columns=30 dtype=bf16 bias-gradient=yes",
                                         "layernorm rows=500009 columns=64 bias-gradient=yes",
                                         "rmsnorm rows=300001 columns=77 dtype=f16 out=f32 stride=141",
                                         "rmsnorm rows=700003 columns=5 weight=no",
                                         "layernorm rows=3000 columns=1000 bias-gradient=yes",
                                         "layernorm rows=4000 columns=4096",
                                         "rmsnorm rows=1000 columns=16384 dtype=bf16 out=f32",
                                         "rmsnorm rows=300 columns=65536 dtype=bf16",
                                         "layernorm rows=64 columns=131072 dtype=f16 bias-gradient=yes",
                                         "layernorm rows=500 columns=20001 dtype=bf16",
                                         "rmsnorm rows=2 columns=1000001"};
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes) && !cj_test_few(); i++) {
        if (!cj_test_mine(i)) continue;
        char words[160];
        snprintf(words, sizeof words, "%s pass=backward weight-gradient=yes", shapes[i]);
        cj_test_row(cj_test_device, words, 0, i);
        assert_int_equal(cj_test_row_bits(cj_test_device, words), cj_test_row_bits(cj_test_device, words));
    }
}

static void calls_do_what_their_descriptions_say(void **state) {
    (void)state;
    if (cj_test_mine(3)) cj_test_row_calls(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_type_stride_and_alignment_is_right),
        cmocka_unit_test(every_form_is_right),
        cmocka_unit_test(elements_far_from_zero_are_right),
        cmocka_unit_test(short_rows_are_right),
        cmocka_unit_test(rows_that_begin_anywhere_are_right),
        cmocka_unit_test(long_rows_are_right_in_the_shapes_that_are_chosen),
        cmocka_unit_test(rows_of_clusters_of_16_million_blocks_are_right),
        cmocka_unit_test(gradients_of_weights_are_right_and_repeat),
        cmocka_unit_test(calls_do_what_their_descriptions_say),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
