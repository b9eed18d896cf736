// SPDX-License-Identifier: Apache-2.0
// Sampling on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "sample_cases.h"

#include "test.h"

static void any_shape_and_values_do(void **state) {
    (void)state;
    uint64_t  seed = cj_test_seed();
    const int kernels = cj_test_few() ? 12 : 150;
    for (int i = 0; i < kernels; i++) cj_test_sample_random(cj_test_device, &seed, 20000);
}

static void rows_of_every_kind_and_size_give_the_models_token(void **state) {
    (void)state;
    if (!cj_test_few()) cj_test_sample_boundaries(cj_test_device, cj_test_seed());
}

// A vocabulary of 128256, of one row in a cluster and of rows in a block each; k that the list holds, and k that is searched.
static void long_rows_of_every_kind_are_right(void **state) {
    (void)state;
    for (int fill = 0; fill < CJ_SAMPLE_FILLS; fill++) {
        cj_sample_desc   d = {CJ_INIT(d), .rows = 3, .columns = 128256, .dtype = CJ_BF16, .top_k = true, .top_p = true};
        cj_sample_arrays v = {CJ_INIT(v), .temperature = 0.8f, .top_k = 50, .top_p = 0.9f, .seed = 7};
        cj_test_sample(cj_test_device, &d, &v, (cj_sample_fill)fill, false, 1);
        if (cj_test_few()) return;
        v.top_k = 3000;
        cj_test_sample(cj_test_device, &d, &v, (cj_sample_fill)fill, false, 2);
        d.min_p = d.penalties = d.mask = true;
        cj_test_sample(cj_test_device, &d, &v, (cj_sample_fill)fill, true, 3);
        d.cluster = CJ_SAMPLE_NO_CLUSTER;
        cj_test_sample(cj_test_device, &d, &v, (cj_sample_fill)fill, true, 4);
    }
}

static void counts_of_keys_find_what_digits_do(void **state) {
    (void)state;
    cj_test_sample_counts(cj_test_device, cj_test_few() ? 13 : 1, NULL);
}

static void draws_have_the_frequencies_of_each_filter_on_every_plan(void **state) {
    (void)state;
    cj_test_sample_draws(cj_test_device, cj_test_few() ? 1000 : 1000000);
}

static void tokens_of_a_draft_get_the_distribution_of_the_logits(void **state) {
    (void)state;
    cj_test_sample_speculation(cj_test_device, cj_test_few() ? 1000 : 1000000);
}

static void a_call_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_sample_call(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_and_values_do),
        cmocka_unit_test(rows_of_every_kind_and_size_give_the_models_token),
        cmocka_unit_test(long_rows_of_every_kind_are_right),
        cmocka_unit_test(counts_of_keys_find_what_digits_do),
        cmocka_unit_test(draws_have_the_frequencies_of_each_filter_on_every_plan),
        cmocka_unit_test(tokens_of_a_draft_get_the_distribution_of_the_logits),
        cmocka_unit_test(a_call_refuses_what_it_cannot),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
