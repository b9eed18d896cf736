// SPDX-License-Identifier: Apache-2.0
// templates: parameters from text, and the plans that they make.
#include "test.h"

#include <clusterjit/kernel.h>
#include <clusterjit/occupancy.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

static const cj_family *reduce(void) {
    const cj_family *family = NULL;
    cj_error         error = {0};
    cj_test_ok(cj_family_find("reduce", &family, &error), &error);
    return family;
}

static const cj_limits *limits_of(const char *arch) {
    const cj_limits *limits = NULL;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin(arch, &limits, &error), &error);
    return limits;
}

// ---- families and their tables

static void families_are_found_by_name(void **state) {
    (void)state;
    const cj_family *family;
    cj_error         error = {0};
    for (size_t i = 0; i < cj_family_count(); i++) {
        cj_test_ok(cj_family_find(cj_family_name(cj_family_at(i)), &family, &error), &error);
        assert_ptr_equal(family, cj_family_at(i));
        assert_true(*cj_family_summary(family));
    }
    assert_null(cj_family_at(cj_family_count()));
    assert_int_equal(cj_family_find("reduc", &family, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "no kernel family 'reduc'"));
    assert_non_null(strstr(error.hint, "'reduce'"));
    assert_int_equal(cj_family_find("zzzzzzzz", &family, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.hint, "ptxgen list"));
}

static void every_default_is_valid(void **state) {
    (void)state;
    for (size_t i = 0; i < cj_family_count(); i++) {
        const cj_family *family = cj_family_at(i);
        cj_params        params;
        cj_params_init(&params, family);
        assert_true(cj_family_param_count(family) <= CJ_PARAM_MAX);
        assert_null(cj_family_param(family, cj_family_param_count(family)));
        for (size_t k = 0; k < cj_family_param_count(family); k++) {
            const cj_param_info *info = cj_family_param(family, k);
            cj_error             error = {0};
            char                 word[64];
            cj_test_ok(cj_params_set(&params, info->name, info->initial, &error), &error);
            assert_string_equal(cj_params_word(&params, info->name, word, sizeof word), info->initial);
            assert_true(*info->help);
        }
    }
}

// ---- values

static void numbers_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t    value;
    } cases[] = {
        {"1", 1},          {"1024", 1024},      {"0x400", 1024},  {"0XfF", 255},          {"2^10", 1024},
        {"2^0", 1},        {"2^20+3", 1048579}, {"2^20-1", 1048575}, {"4K", 4096},        {"1M", 1048576},
        {"2G", 2147483648}, {"1K-1", 1023},     {"2^40", UINT64_C(1) << 40}, {"007", 7},  {"1K+0x10", 1040},
    };
    cj_params params;
    cj_params_init(&params, reduce());
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error = {0};
        cj_test_ok(cj_params_set(&params, "n", cases[i].text, &error), &error);
        if (cj_params_get(&params, "n") != cases[i].value) fail_msg("'%s' is not read right", cases[i].text);
    }
}

// Texts that a parameter refuses, what the message names and what the hint says.
static void wrong_values_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *message, *hint;
    } cases[] = {
        {"n", "", "n: '' is not a whole number", "2^k+c"},
        {"n", "x", "n: 'x' is not a whole number", ""},
        {"n", "-1", "n: '-1' is not", ""},
        {"n", "1.5", "n: '1.5' is not", ""},
        {"n", " 1", "n: ' 1' is not", ""},
        {"n", "1 ", "n: '1 ' is not", ""},
        {"n", "0x", "n: '0x' is not", ""},
        {"n", "3^2", "n: '3^2' is not", ""},
        {"n", "2^64", "n: '2^64' is not", ""},
        {"n", "2^", "n: '2^' is not", ""},
        {"n", "4k", "n: '4k' is not", ""},
        {"n", "4KB", "n: '4KB' is not", ""},
        {"n", "5-6", "n: '5-6' is not", ""},
        {"n", "18446744073709551616", "that fits 64 bits", ""},
        {"n", "17179869184G", "that fits 64 bits", ""},
        {"n", "0xffffffffffffffff+1", "that fits 64 bits", ""},
        {"n", "0", "n: 0 is outside 1 to 1099511627776", ""},
        {"n", "2^40+1", "n: 1099511627777 is outside", ""},
        {"block", "1025", "block: 1025 is outside 32 to 1024", ""},
        {"block", "31", "block: 31 is outside 32 to 1024", ""},
        {"block", "33", "block: 33 is not a multiple of 32", "32 is"},
        {"block", "1000", "block: 1000 is not a multiple of 32", "992 is"},
        {"cluster", "17", "cluster: 17 is outside 0 to 16", ""},
        {"op", "add", "op: 'add' is none of: sum min max", ""},
        {"op", "mx", "op: 'mx' is none of", "is 'max' meant?"},
        {"op", "su", "op: 'su' is none of", "is 'sum' meant?"},
        {"op", "sum min", "op: 'sum min' is none of", ""},
        {"op", "", "op: '' is none of", ""},
        {"dtype", "ff32", "dtype: 'ff32' is none of: f32 f64", "is 'f32' meant?"},
        {"result", "blok", "result: 'blok' is none of", "is 'block' meant?"},
        {"blokc", "32", "reduce has no parameter 'blokc'", "is 'block' meant?"},
        {"", "32", "reduce has no parameter ''", ""},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params params, before;
        cj_error  error = {0};
        cj_params_init(&params, reduce());
        before = params;
        if (cj_params_set(&params, cases[i].name, cases[i].text, &error) != CJ_INVALID_ARGUMENT)
            fail_msg("%s=%s is taken", cases[i].name, cases[i].text);
        if (!strstr(error.message, cases[i].message) || !strstr(error.hint, cases[i].hint))
            fail_msg("%s=%s: %s (%s)", cases[i].name, cases[i].text, error.message, error.hint);
        assert_memory_equal(params.value, before.value, sizeof params.value);
    }
}

static void values_are_given_back(void **state) {
    (void)state;
    cj_params params;
    cj_error  error = {0};
    char      word[16];
    cj_test_ok(cj_test_params("reduce", "op=max dtype=u64 n=2^33", &params, &error), &error);
    assert_string_equal(cj_params_word(&params, "op", word, sizeof word), "max");
    assert_string_equal(cj_params_word(&params, "dtype", word, sizeof word), "u64");
    assert_string_equal(cj_params_word(&params, "n", word, sizeof word), "8589934592");
    assert_int_equal(cj_params_get(&params, "op"), 2);
    assert_true(cj_params_get(&params, "none") == UINT64_MAX);
    assert_null(cj_params_word(&params, "none", word, sizeof word));
}

static void real_numbers_are_read_and_given_back(void **state) {
    (void)state;
    cj_params params;
    cj_error  error = {0};
    char      word[32];
    cj_test_ok(cj_test_params("histogram", "lower=-0.1 upper=0x1p8", &params, &error), &error);
    assert_true(cj_params_real(&params, "lower") == -0.1 && cj_params_real(&params, "upper") == 256);
    assert_string_equal(cj_params_word(&params, "lower", word, sizeof word), "-0.1");
    assert_true(isnan(cj_params_real(&params, "none")));
    static const char *const wrong[] = {"", "x", "1x", "inf", "nan", "1e999"};
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        assert_int_equal(cj_params_set(&params, "lower", wrong[i], &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "is not a finite number"));
    }
    assert_true(cj_params_real(&params, "lower") == -0.1);
}

static void lists_are_read_and_given_back(void **state) {
    (void)state;
    cj_params params;
    cj_error  error = {0};
    char      word[64], few[8];
    cj_test_ok(cj_test_params("stencil", "weights=0.25,-0.5,1e3", &params, &error), &error);
    assert_int_equal(cj_params_get(&params, "weights"), 3);
    assert_true(params.reals[0] == 0.25 && params.reals[1] == -0.5 && params.reals[2] == 1000 && params.reals[3] == 0);
    assert_string_equal(cj_params_word(&params, "weights", word, sizeof word), "0.25,-0.5,1000");
    assert_string_equal(cj_params_word(&params, "weights", few, sizeof few), "0.25,-0");
    static const char *const wrong[] = {"x", "1,", ",1", "1,,2", "1;2", "inf", "1,2x"};
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        assert_int_equal(cj_params_set(&params, "weights", wrong[i], &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "is not a list of at most 32 finite numbers"));
    }
    assert_int_equal(cj_params_get(&params, "weights"), 3);
    double many[CJ_REALS_MAX + 1] = {[CJ_REALS_MAX] = 1};
    cj_test_ok(cj_params_set_reals(&params, "weights", many, CJ_REALS_MAX, &error), &error);
    assert_int_equal(cj_params_set_reals(&params, "weights", many, CJ_REALS_MAX + 1, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_params_set_reals(&params, "nx", many, 1, &error), CJ_INVALID_ARGUMENT);
    many[1] = (double)NAN;
    assert_int_equal(cj_params_set_reals(&params, "weights", many, 2, &error), CJ_INVALID_ARGUMENT);
    cj_test_ok(cj_params_set(&params, "weights", "", &error), &error);
    assert_int_equal(cj_params_get(&params, "weights"), 0);
}

// ---- plans

static cj_status make(const char *assignments, const char *arch, cj_plan *plan, cj_error *error) {
    cj_params params;
    cj_test_ok(cj_test_params("reduce", assignments, &params, error), error);
    return cj_plan_make(&params, limits_of(arch), arch, plan, error);
}

static cj_plan made(const char *assignments, const char *arch) {
    cj_plan  plan;
    cj_error error = {0};
    cj_test_ok(make(assignments, arch, &plan, &error), &error);
    return plan;
}

static void a_plan_of_one_cluster(void **state) {
    (void)state;
    cj_plan plan = made("cluster=4", "sm_90");
    assert_int_equal(plan.grid.x, 4);
    assert_int_equal(plan.block.x, 256);
    assert_int_equal(plan.cluster.x, 4);
    assert_int_equal(plan.grid.y * plan.grid.z * plan.block.y * plan.block.z * plan.cluster.y * plan.cluster.z, 1);
    assert_string_equal(plan.arch, "sm_90");
    assert_string_equal(plan.entry, "reduce_sum_f32");
    assert_int_equal(plan.derived_count, 1);
    assert_int_equal(plan.derived[0], 256);  // of 1024 elements, a block
    assert_int_equal(plan.dynamic_shared, 0);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_true(plan.error_bound > 0 && plan.error_bound < 1e-5);
    assert_string_equal(plan.note, "");
}

static void exact_results_have_no_bound(void **state) {
    (void)state;
    assert_true(made("dtype=i32", "sm_90").error_bound == 0);
    assert_true(made("dtype=f64 op=max", "sm_90").error_bound == 0);
    assert_true(made("dtype=f64", "sm_90").error_bound < 1e-13);
    assert_true(made("n=2^40 dtype=f32", "sm_90").error_bound < 1e-1);
}

static void no_clusters_before_sm_90(void **state) {
    (void)state;
    cj_plan plan = made("n=2^16", "sm_80");
    assert_int_equal(plan.cluster.x, 0);
    assert_string_equal(plan.note, "");
    plan = made("cluster=4", "sm_80");
    assert_int_equal(plan.cluster.x, 0);
    assert_int_equal(plan.grid.x, 1);
    assert_non_null(strstr(plan.note, "sm_80 has no thread block clusters"));
    assert_non_null(strstr(plan.note, "cluster=4"));
    plan = made("cluster=0", "sm_80");
    assert_int_equal(plan.cluster.x, 0);
    assert_string_equal(plan.note, "");
    plan = made("cluster=0", "sm_90");
    assert_int_equal(plan.cluster.x, 0);
    assert_string_equal(plan.note, "");
}

static void arch_defaults_to_the_newest_that_runs(void **state) {
    (void)state;
    cj_params params;
    cj_plan   plan;
    cj_error  error = {0};
    cj_params_init(&params, reduce());
    cj_test_ok(cj_plan_make(&params, limits_of("sm_90"), NULL, &plan, &error), &error);
    assert_string_equal(plan.arch, cj_limits_arch(limits_of("sm_90")));
    cj_test_ok(cj_plan_make(&params, limits_of("sm_100"), "sm_90", &plan, &error), &error);
    assert_string_equal(plan.arch, "sm_90");
    assert_int_equal(cj_plan_make(&params, limits_of("sm_90"), "sm_100", &plan, &error), CJ_UNSUPPORTED);
    assert_int_equal(cj_plan_make(&params, limits_of("sm_90"), "sm_9", &plan, &error), CJ_INVALID_ARGUMENT);
}

// A program may write limits of its own.
static void limits_without_counts_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < cj_family_count(); i++)
        for (unsigned k = 0; k < 3; k++) {
            cj_limits limits = *limits_of("sm_90");
            cj_params params;
            cj_plan   plan;
            cj_error  error = {0};
            uint32_t *const counts[] = {&limits.sm_count, &limits.max_blocks_per_sm, &limits.shared_per_sm};
            *counts[k] = 0;
            cj_params_init(&params, cj_family_at(i));
            assert_int_equal(cj_plan_make(&params, &limits, NULL, &plan, &error), CJ_INVALID_ARGUMENT);
            assert_non_null(strstr(error.message, "limits: "));
            assert_non_null(strstr(error.message, " is 0"));
        }
    cj_limits            limits = *limits_of("sm_90");
    cj_cluster_occupancy counted = {CJ_INIT(counted)};
    cj_error             error = {0};
    limits.warp_size = 0;
    assert_int_equal(cj_occupancy_model(&limits, &(cj_block_use){CJ_INIT(cj_block_use), .threads = 32}, 1, &counted, &error), CJ_INVALID_ARGUMENT);
    assert_string_equal(error.message, "limits: warp_size is 0");
}

static void a_plan_that_was_not_made_is_refused(void **state) {
    (void)state;
    const cj_plan nothing = {.arch = "sm_90"};
    cj_plan       no_block = made("", "sm_90"), no_end = no_block;
    cj_device    *device = NULL;
    cj_kernel    *kernel = NULL;
    char         *text = NULL;
    cj_error      error = {0};
    no_block.block.x = 0;
    no_end.block.x = UINT32_MAX;
    assert_int_equal(cj_plan_emit(&no_end, &text, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_plan_emit(&nothing, &text, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_plan_emit(&no_block, &text, NULL, &error), CJ_INVALID_ARGUMENT);
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error), &error);
    assert_int_equal(cj_kernel_load(device, &nothing, &kernel, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_kernel_load(device, &no_block, &kernel, &error), CJ_INVALID_ARGUMENT);
    assert_null(kernel);
    cj_device_close(device);
}

static void only_lists_are_set_by_numbers(void **state) {
    (void)state;
    const cj_family *stencil = NULL;
    cj_params        params;
    cj_error         error = {0};
    cj_test_ok(cj_family_find("stencil", &stencil, &error), &error);
    cj_params_init(&params, stencil);
    assert_int_equal(cj_params_set_reals(&params, "nx", NULL, 0, &error), CJ_INVALID_ARGUMENT);
    assert_string_equal(error.message, "nx: this parameter is no list of numbers");
    assert_int_equal(cj_params_get(&params, "nx"), 256);
}

static void a_long_word_leaves_room_for_the_right_ones(void **state) {
    (void)state;
    char      word[2000] = {0};
    cj_params params;
    cj_error  error = {0};
    memset(word, 'x', sizeof word - 1);
    cj_params_init(&params, reduce());
    assert_int_equal(cj_params_set(&params, "op", word, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "x' is none of: sum min max"));
    assert_int_equal(cj_params_set(&params, word, "1", &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "reduce has no parameter 'xxx"));
    assert_int_equal(error.message[strlen(error.message) - 1], '\'');
}

static void slices_cover_every_element(void **state) {
    (void)state;
    static const char *const sizes[] = {"1", "2", "31", "1023", "1025", "65537", "2^20+3", "2^32+1", "2^40"};
    static const char *const others[] = {"", "cluster=0", "cluster=16 block=32", "block=1024 dtype=f64 cluster=1",
                                         "result=block cluster=2", "grid=96 cluster=3"};
    for (size_t i = 0; i < CJ_TEST_COUNT(sizes); i++)
        for (size_t k = 0; k < CJ_TEST_COUNT(others); k++) {
            char text[128];
            snprintf(text, sizeof text, "n=%s%s%s", sizes[i], *others[k] ? " " : "", others[k]);
            const cj_limits *limits = limits_of("sm_90");
            cj_plan          plan = made(text, "sm_90");
            uint64_t         n = cj_params_get(&plan.params, "n"), grid = plan.grid.x, threads = plan.block.x;
            if (plan.derived_count && plan.derived[0] != n / grid)
                fail_msg("%s: %u blocks do not share x evenly", text, plan.grid.x);
            if (strstr(text, "result=")) assert_int_equal(plan.derived_count, 1);
            if (!*others[k]) assert_int_equal(plan.derived_count, 0);
            if (plan.cluster.x && grid % plan.cluster.x) fail_msg("%s: grid %u", text, plan.grid.x);
            uint64_t most = 2 * (uint64_t)limits->sm_count * limits->max_threads_per_sm;  // one after the other
            if (!strstr(text, "grid=")) assert_true(grid * threads <= most);
            bool combines = !strstr(text, "result=") && grid > (plan.cluster.x ? plan.cluster.x : 1);
            assert_int_equal(plan.workspace_bytes >= 16 + 8, combines);
        }
}

static void bigger_problems_take_bigger_grids(void **state) {
    (void)state;
    cj_plan small = made("n=2^16", "sm_90"), large = made("n=2^30", "sm_90"), huge = made("n=2^40", "sm_90");
    assert_true(small.grid.x < large.grid.x);
    assert_int_equal(made("", "sm_90").grid.x, 1);
    assert_int_equal(small.grid.x, small.cluster.x);
    assert_int_equal(large.cluster.x, 0);
    assert_int_equal(large.grid.x, huge.grid.x);
    assert_true(huge.grid.x >= limits_of("sm_90")->sm_count);
    assert_true(made("n=2^30", "sm_100").grid.x > large.grid.x);
}

static void plans_that_cannot_launch_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *assignments, *arch, *rule, *message;
        cj_status   status;
    } cases[] = {
        {"cluster=3 grid=4", "sm_90", "cluster-grid-multiple", "grid 4 x 1 x 1 is not a multiple", CJ_CONTRACT},
        {"cluster=16", "sm_120", "directive-cluster", "a cluster of sm_120 (built in) has 1 to 8", CJ_CONTRACT},
        {"weight=block op=min", "sm_90", "", "weight: block has no effect with op=min", CJ_INVALID_ARGUMENT},
        {"weight=block op=max", "sm_80", "", "weight: block has no effect with op=max", CJ_INVALID_ARGUMENT},
        {"result=block op=argmax", "sm_90", "", "result: block has no effect with op=argmax", CJ_INVALID_ARGUMENT},
        {"result=block op=mean", "sm_90", "", "result: block has no effect with op=mean", CJ_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan   plan;
        cj_error  error = {0};
        cj_status status = make(cases[i].assignments, cases[i].arch, &plan, &error);
        if (status != cases[i].status || strcmp(error.rule, cases[i].rule) || !strstr(error.message, cases[i].message))
            fail_msg("%s: %s %s: %s", cases[i].assignments, cj_status_name(status), error.rule, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_found_by_name),
        cmocka_unit_test(every_default_is_valid),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(values_are_given_back),
        cmocka_unit_test(real_numbers_are_read_and_given_back),
        cmocka_unit_test(lists_are_read_and_given_back),
        cmocka_unit_test(a_plan_of_one_cluster),
        cmocka_unit_test(exact_results_have_no_bound),
        cmocka_unit_test(no_clusters_before_sm_90),
        cmocka_unit_test(arch_defaults_to_the_newest_that_runs),
        cmocka_unit_test(limits_without_counts_are_refused),
        cmocka_unit_test(a_plan_that_was_not_made_is_refused),
        cmocka_unit_test(only_lists_are_set_by_numbers),
        cmocka_unit_test(a_long_word_leaves_room_for_the_right_ones),
        cmocka_unit_test(slices_cover_every_element),
        cmocka_unit_test(bigger_problems_take_bigger_grids),
        cmocka_unit_test(plans_that_cannot_launch_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
