// SPDX-License-Identifier: Apache-2.0
// src/device: opening by spec, and what the public calls refuse before a device sees it.
#include "test.h"

#include <clusterjit/device.h>
#include <string.h>

static cj_proc no_symbol(void *user, const char *symbol, int version) {
    (void)user, (void)symbol, (void)version;
    return NULL;
}

static cj_status open_spec(const char *spec, cj_device **device, cj_error *error) {
    const cj_device_options options = {CJ_INIT(options), .spec = spec, .resolver = no_symbol};
    return cj_device_open(&options, device, error);
}

static cj_device *open_cpu(void) {
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_test_ok(open_spec("cpu", &device, &error), &error);
    return device;
}

// --- opening ---

static void the_cpu_device_opens(void **state) {
    (void)state;
    cj_device *device = open_cpu();
    assert_string_equal(cj_device_kind(device), "cpu");
    assert_string_equal(cj_device_reason(device), "the CPU device was asked for");
    assert_true(strlen(cj_device_name(device)) > 0);
    assert_true(cj_device_limits(device)->max_cluster >= 8);
    cj_device_close(device);
    cj_device_close(NULL);
}

static void auto_without_a_gpu_takes_the_cpu_and_says_why(void **state) {
    (void)state;
    static const char *const specs[] = {"auto", NULL};
    for (size_t i = 0; i < CJ_TEST_COUNT(specs); i++) {
        cj_device *device = NULL;
        cj_error   error = {0};
        cj_test_ok(open_spec(specs[i], &device, &error), &error);
        assert_string_equal(cj_device_kind(device), "cpu");
        assert_int_equal(strncmp(cj_device_reason(device), "no ", 3), 0);
        assert_non_null(strstr(cj_device_reason(device), "; running on the CPU device"));
        assert_int_equal(error.status, CJ_OK);
        cj_device_close(device);
    }
}

static void a_missing_gpu_is_an_error(void **state) {
    (void)state;
    static const char *const specs[] = {"gpu", "gpu:0", "gpu:999"};
    for (size_t i = 0; i < CJ_TEST_COUNT(specs); i++) {
        cj_device *device = NULL;
        cj_error   error = {0};
        assert_int_not_equal(open_spec(specs[i], &device, &error), CJ_OK);
        assert_null(device);
        assert_true(strlen(error.message) > 0);
        assert_true(strlen(error.hint) > 0);
    }
}

static void an_unknown_spec_is_named(void **state) {
    (void)state;
    static const struct {
        const char *spec, *nearest;
    } rows[] = {
        {"gpo", "gpu"},     {"cpu0", "cpu"},  {"Auto", "auto"}, {"gpu:", "gpu"},   {"gpu:x", NULL},
        {"gpu:1000", NULL}, {"gpu:-1", NULL}, {"gpu:1 ", NULL}, {"quantum", NULL}, {"", NULL},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_device *device = NULL;
        cj_error   error = {0};
        assert_int_equal(open_spec(rows[i].spec, &device, &error), CJ_INVALID_ARGUMENT);
        assert_null(device);
        assert_non_null(strstr(error.message, "auto, gpu, gpu:N, cpu"));
        if (rows[i].nearest && !strstr(error.hint, rows[i].nearest)) fail_msg("%s: %s", rows[i].spec, error.hint);
        assert_int_equal(open_spec(rows[i].spec, &device, NULL), CJ_INVALID_ARGUMENT);
    }
}

static void a_context_and_an_ordinal_exclude_each_other(void **state) {
    (void)state;
    int                     context = 0;
    cj_device              *device = NULL;
    cj_error                error = {0};
    const cj_device_options options = {CJ_INIT(options), .spec = "gpu:1", .context = &context, .resolver = no_symbol};
    assert_int_equal(cj_device_open(&options, &device, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "gpu:1"));
    assert_int_equal(cj_device_open(&options, NULL, &error), CJ_INVALID_ARGUMENT);
}

// --- arguments ---

static void memory_calls_refuse_nothing_at_all(void **state) {
    (void)state;
    cj_device *device = open_cpu();
    cj_ptr     memory = 0;
    char       host[4] = "abc";
    cj_error   error = {0};
    assert_int_equal(cj_mem_alloc(device, 0, &memory, &error), CJ_INVALID_ARGUMENT);
    assert_string_equal(error.message, "cj_mem_alloc: bytes is 0");
    assert_int_equal(cj_mem_alloc(device, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_alloc(NULL, 4, &memory, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_write(device, 0, host, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_string_equal(error.message, "cj_mem_write: to is 0");
    assert_int_equal(cj_mem_write(device, 64, NULL, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_write(device, 64, host, 0, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_read(device, NULL, 64, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_read(device, host, 0, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_fill(device, 0, 1, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_synchronize(NULL, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_time(device, NULL, NULL, NULL, NULL, &error), CJ_INVALID_ARGUMENT);
    cj_mem_free(device, 0);
    cj_mem_free(NULL, 64);
    cj_device_close(device);
}

static const char kernels[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                              ".visible .entry first(.param .u64 out, .param .u32 n)\n.reqntid 32\n{\n    ret;\n}\n"
                              ".visible .entry second()\n{\n    ret;\n}\n";

static void text_that_is_not_ptx_is_refused(void **state) {
    (void)state;
    cj_device *device = open_cpu();
    cj_module *module = NULL;
    cj_error   error = {0};
    assert_int_equal(cj_module_from_ptx(device, "hello", 5, &module, &error), CJ_INVALID_KERNEL);
    assert_int_equal(error.line, 1);
    assert_int_equal(cj_module_from_ptx(device, "", 0, &module, &error), CJ_INVALID_KERNEL);
    assert_int_equal(error.line, 1);
    assert_int_equal(cj_module_from_ptx(device, NULL, 5, &module, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_module_from_ptx(device, kernels, sizeof kernels - 2, &module, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_module_from_ptx(device, "a\0b", 3, &module, &error), CJ_INVALID_ARGUMENT);
    assert_null(module);
    cj_module_unload(NULL);
    cj_device_close(device);
}

static void entries_are_found_by_name(void **state) {
    (void)state;
    cj_device   *device = open_cpu();
    cj_module   *module = NULL;
    cj_function *function = NULL, *again = NULL;
    cj_error     error = {0};
    cj_test_ok(cj_module_from_ptx(device, kernels, sizeof kernels - 1, &module, &error), &error);
    assert_int_equal(cj_module_function(module, "secand", &function, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "its entries: first, second"));
    assert_string_equal(error.hint, "did you mean second?");
    assert_null(function);
    assert_int_equal(cj_module_function(module, NULL, &function, &error), CJ_INVALID_ARGUMENT);

    cj_test_ok(cj_module_function(module, "second", &function, &error), &error);
    cj_test_ok(cj_module_function(module, "second", &again, &error), &error);
    assert_ptr_equal(function, again);
    cj_test_ok(cj_module_function(module, "first", &again, &error), &error);
    assert_ptr_not_equal(function, again);
    cj_module_unload(module);
    cj_device_close(device);
}

static void launches_are_checked_first(void **state) {
    (void)state;
    cj_device   *device = open_cpu(), *other = open_cpu();
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    cj_test_ok(cj_module_from_ptx(device, kernels, sizeof kernels - 1, &module, &error), &error);
    cj_test_ok(cj_module_function(module, "first", &function, &error), &error);

    uint64_t         out = 0;
    uint32_t         n = 0;
    void            *arguments[] = {&out, &n};
    cj_launch_config config = {CJ_INIT(config),     .function = function,   .grid = {1, 1, 1},
                               .block = {32, 1, 1}, .arguments = arguments, .argument_count = 2};
    cj_test_ok(cj_launch(device, &config, &error), &error);
    assert_int_equal(cj_launch(other, &config, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another device"));

    config.argument_count = 1;
    assert_int_equal(cj_launch(device, &config, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "first takes 2 arguments, but 1 are given"));
    config.argument_count = 2;
    arguments[1] = NULL;
    assert_int_equal(cj_launch(device, &config, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "argument 1 (n) is NULL"));
    arguments[1] = &n;
    config.arguments = NULL;
    assert_int_equal(cj_launch(device, &config, &error), CJ_INVALID_ARGUMENT);
    config.arguments = arguments;

    config.block.x = 64;
    assert_int_equal(cj_launch(device, &config, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "block-required");
    config.function = NULL;
    assert_int_equal(cj_launch(device, &config, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_launch(device, NULL, &error), CJ_INVALID_ARGUMENT);
    cj_module_unload(module);
    cj_device_close(other);
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_device_opens),
        cmocka_unit_test(auto_without_a_gpu_takes_the_cpu_and_says_why),
        cmocka_unit_test(a_missing_gpu_is_an_error),
        cmocka_unit_test(an_unknown_spec_is_named),
        cmocka_unit_test(a_context_and_an_ordinal_exclude_each_other),
        cmocka_unit_test(memory_calls_refuse_nothing_at_all),
        cmocka_unit_test(text_that_is_not_ptx_is_refused),
        cmocka_unit_test(entries_are_found_by_name),
        cmocka_unit_test(launches_are_checked_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
