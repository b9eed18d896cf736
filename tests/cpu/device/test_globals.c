// SPDX-License-Identifier: Apache-2.0
// cj_module_global: a module's variables, by their names and by those of their C++ source.
#include "kernel.h"

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 8 .u64 counter = 40;\n"
    ".const .align 4 .b8 _ZN32_INTERNAL_75833b96_4_g_cu__Z1kPi2ns4bankE[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3};\n"
    ".global .attribute(.managed) .align 4 .u32 managed;\n"
    ".global .align 4 .u32 __nv_static_23__75833b96_4_g_cu__Z1kPi_hidden = 7;\n"
    ".global .align 4 .u32 _Z5emptyIiE;\n.global .align 4 .u32 _Z5emptyIfE;\n"
    ".extern .global .align 4 .b8 elsewhere[];\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry add()\n{\n    .reg .b32 %r<4>;\n    .reg .b64 %l<4>;\n"
    "    ld.const.u32 %r1, [_ZN32_INTERNAL_75833b96_4_g_cu__Z1kPi2ns4bankE+8];\n    ld.global.u64 %l1, [counter];\n"
    "    cvt.u64.u32 %l2, %r1;\n    add.u64 %l1, %l1, %l2;\n    st.global.u64 [counter], %l1;\n"
    "    ld.global.u32 %r2, [managed];\n    add.u32 %r2, %r2, 1;\n    st.global.u32 [managed], %r2;\n    ret;\n}\n";

static cj_device *device;
static cj_module *module;

static int set_up(void **state) {
    (void)state;
    cj_error error = {0};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true};
    device = open_cpu();
    cj_test_ok(cj_module_from_ptx(device, text, sizeof text - 1, &module, &error), &error);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    cj_module_unload(module);
    cj_device_close(device);
    return 0;
}

static cj_ptr address_of(const char *name, size_t expected) {
    cj_ptr   address = 0;
    size_t   bytes = 0;
    cj_error error = {0};
    cj_test_ok(cj_module_global(module, name, &address, &bytes, &error), &error);
    assert_int_equal(bytes, expected);
    return address;
}

static uint64_t value_at(cj_ptr at, size_t bytes) {
    uint64_t value = 0;
    cj_error error = {0};
    cj_test_ok(cj_mem_read(device, &value, at, bytes, NULL, &error), &error);
    return value;
}

static void add(void) {
    cj_function *function = NULL;
    cj_error     error = {0};
    cj_test_ok(cj_module_function(module, "add", &function, &error), &error);
    cj_test_ok(cj_launch(device,
                         &(cj_launch_config){CJ_INIT(cj_launch_config), .function = function, .grid = {1, 1, 1},
                                             .block = {1, 1, 1}},
                         &error),
               &error);
}

static void kernels_and_the_host_share_a_variable(void **state) {
    (void)state;
    const cj_ptr   counter = address_of("counter", 8), bank = address_of("ns::bank", 12);
    const uint32_t five = 5;
    cj_error       error = {0};
    assert_int_equal(value_at(counter, 8), 40);
    add();
    assert_int_equal(value_at(counter, 8), 43);
    cj_test_ok(cj_mem_write(device, bank + 8, &five, sizeof five, NULL, &error), &error);
    add();
    assert_int_equal(value_at(counter, 8), 48);
    assert_int_equal(*(const uint32_t *)(uintptr_t)address_of("managed", 4), 2);  // the host reads it in place
}

static void a_variable_has_the_names_of_its_source(void **state) {
    (void)state;
    assert_int_equal(value_at(address_of("hidden", 4), 4), 7);
    assert_true(address_of("hidden", 4) == address_of("__nv_static_23__75833b96_4_g_cu__Z1kPi_hidden", 4));
    size_t count = 0;
    while (cj_module_global_name(module, count)) count++;
    assert_int_equal(count, 6);  // one without a size is none of this module's
    assert_string_equal(cj_module_global_name(module, 0), "counter");
    assert_null(cj_module_global_name(NULL, 0));
}

static void what_is_no_variable_lists_those_there_are(void **state) {
    (void)state;
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"conter", "no variable 'conter'; its variables: counter, ns::bank (_ZN32_INTERNAL"},
        {"add", "no variable 'add'"},
        {"elsewhere", "no variable 'elsewhere'"},
        {"dynamic", "no variable 'dynamic'"},
        {"empty", "several variables 'empty'"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error = {0};
        assert_int_equal(cj_module_global(module, cases[i].name, NULL, NULL, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, cases[i].message)) fail_msg("'%s' does not say '%s'", error.message, cases[i].message);
    }
}

// An alias is its function, also in a table; .common and .weak variables and functions are there; of an unresolved .extern
// variable the module makes its own, as ptxas does.
static void linkage_is_that_of_one_module(void **state) {
    (void)state;
    static uint64_t   results[RESULTS] = {5};
    static const char linked[] =
        ".version 8.3\n.target sm_90\n.address_size 64\n.common .global .align 4 .b32 empty;\n"
        ".weak .global .align 4 .u32 five = 5;\n.extern .global .align 4 .u32 elsewhere;\n"
        ".visible .func (.param .b32 r) f(.param .b32 a);\n.visible .func (.param .b32 r) g(.param .b32 a);\n.alias f, "
        "g;\n"
        ".visible .func (.param .b32 r) g(.param .b32 a)\n{\n    .reg .b32 %r<2>;\n    ld.param.b32 %r0, [a];\n"
        "    add.u32 %r0, %r0, 1;\n    st.param.b32 [r], %r0;\n    ret;\n}\n"
        ".weak .func (.param .b32 r) w(.param .b32 a)\n{\n    .reg .b32 %r<2>;\n    ld.param.b32 %r0, [a];\n"
        "    add.u32 %r0, %r0, 100;\n    st.param.b32 [r], %r0;\n    ret;\n}\n"
        ".func stop() .noreturn\n{\n    trap;\n}\n.global .u64 table[2] = {f, w};\n"
        ".visible .entry kernel(.param .u64 out)\n{\n" OPEN "    .param .b32 a;\n    .param .b32 r;\n"
        "    ld.global.u32 %r1, [%out];\n    st.param.b32 [a], %r1;\n    call (r), f, (a);\n    ld.param.b32 %r1, "
        "[r];\n"
        "    proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "    ld.global.u64 %l1, [table];\n    st.param.b32 [a], %r1;\n    call (r), %l1, (a), proto;\n"
        "    ld.param.b32 %r1, [r];\n    ld.global.u64 %l1, [table+8];\n    st.param.b32 [a], %r1;\n"
        "    call (r), %l1, (a), proto;\n    ld.param.b32 %r1, [r];\n    ld.global.u32 %r2, [empty];\n"
        "    add.u32 %r1, %r1, %r2;\n    ld.global.u32 %r2, [five];\n    add.u32 %r1, %r1, %r2;\n"
        "    ld.global.u32 %r2, [elsewhere];\n    add.u32 %r1, %r1, %r2;\n    setp.eq.u32 %p1, %r1, 0;\n"
        "    @%p1 call stop;\n    st.global.u32 [%out], %r1;\n    ret;\n}\n";
    cj_error error = {0};
    cj_test_ok(run_kernel(linked, (launch_shape){1, 1, 0, 0}, results, &error), &error);
    assert_int_equal((uint32_t)results[0], 5 + 1 + 1 + 100 + 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_and_the_host_share_a_variable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_variable_has_the_names_of_its_source, set_up, tear_down),
        cmocka_unit_test(linkage_is_that_of_one_module),
        cmocka_unit_test_setup_teardown(what_is_no_variable_lists_those_there_are, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
