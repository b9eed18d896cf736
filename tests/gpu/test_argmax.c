// SPDX-License-Identifier: Apache-2.0
// Argmax on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "argmax_cases.h"
#include "test.h"

static void any_shape_and_stride_is_right(void **state) {
    (void)state;
    uint64_t  seed = cj_test_seed();
    const int kernels = cj_test_few() ? 12 : 120;
    for (int i = 0; i < kernels; i++) cj_test_argmax_random(cj_test_device, &seed, 20000);
}

static void rows_of_every_kind_and_size_are_right(void **state) {
    (void)state;
    if (cj_test_few()) return;
    for (unsigned turn = 0; turn < 5; turn++) {  // each size with each type
        cj_test_argmax_boundaries(cj_test_device, cj_test_seed() + turn);
        cj_test_argmax_aligned(cj_test_device, cj_test_seed() + turn);
    }
}

static void long_rows_of_every_kind_are_right(void **state) {
    (void)state;
    for (int fill = 0; fill < CJ_ARGMAX_FILLS; fill++) {
        cj_test_argmax(cj_test_device, "rows=5 columns=65536", (cj_argmax_fill)fill, 0, 1);
        if (cj_test_few()) return;
        cj_test_argmax(cj_test_device, "rows=2 columns=2^21+4", (cj_argmax_fill)fill, 0, 2);
        cj_test_argmax(cj_test_device, "rows=3 columns=1000003 cluster=16", (cj_argmax_fill)fill, 0, 3);
        cj_test_argmax(cj_test_device, "rows=3 columns=1000003 dtype=bf16 align=2", (cj_argmax_fill)fill, 5, 4);
    }
}

static void every_form_that_is_chosen_is_right(void **state) {
    (void)state;
    cj_test_argmax_chosen(cj_test_device, cj_test_seed());
}

static void a_call_finds_them_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_argmax_call(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_and_stride_is_right),
        cmocka_unit_test(rows_of_every_kind_and_size_are_right),
        cmocka_unit_test(long_rows_of_every_kind_are_right),
        cmocka_unit_test(every_form_that_is_chosen_is_right),
        cmocka_unit_test(a_call_finds_them_and_refuses_what_it_cannot),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
