// SPDX-License-Identifier: Apache-2.0
// The stack of a thread: recursion and alloca in its middle, and what is reported at its ends.
#include "kernel.h"
#include "programs.h"

static void programs_give_what_they_should(void **state) {
    (void)state;
    for (int hazards = 0; hazards <= 1; hazards++) {
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = hazards, .random_schedule = hazards,
                                       .seed = cj_test_seed()};
        cj_device *device = open_cpu();
        assert_int_equal(cj_programs_run(&cj_stack_programs, device), 0);
        cj_device_close(device);
    }
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
}

static void expect_hazard(const char *ptx, const char *rule, const char *message) {
    static uint64_t results[RESULTS];
    cj_error        error = {0};
    assert_int_equal(run_kernel(ptx, (launch_shape){1, 32, 0, 0}, results, &error), CJ_HAZARD);
    assert_string_equal(error.rule, rule);
    if (!strstr(error.message, message)) fail_msg("'%s' says nothing of '%s'", error.message, message);
}

#define ENDLESS ".func deeper()\n{\n    .local .b64 own[4];\n    call deeper;\n    ret;\n}\n"

static void a_full_stack_is_named(void **state) {
    (void)state;
    expect_hazard(HEAD ENDLESS ENTRY OPEN "    call deeper;\n" CLOSE, "stack-overflow", "deeper takes 32 bytes");
    expect_hazard(KERNEL("", "    mov.u64 %l1, 0x100000;\n    alloca.u64 %l2, %l1;\n"), "stack-overflow",
                  "alloca takes 1048576 bytes");
}

// 1000 calls, each of 32 bytes and more.
#define DEEP                                                                                                     \
    ".func deep(.param .b32 x)\n{\n    .local .b64 own[4];\n    .reg .b32 %r<2>;\n    .reg .pred %p<2>;\n"       \
    "    ld.param.b32 %r1, [x];\n    setp.eq.u32 %p1, %r1, 0;\n    @%p1 ret;\n    sub.u32 %r1, %r1, 1;\n    {\n" \
    "    .param .b32 a;\n    st.param.b32 [a], %r1;\n    call deep, (a);\n    }\n    ret;\n}\n"

static void a_larger_stack_takes_deeper_calls(void **state) {
    (void)state;
    static uint64_t   results[RESULTS];
    cj_error          error = {0};
    const char *const ptx = HEAD DEEP ENTRY OPEN
        "    .param .b32 a;\n    st.param.b32 [a], 1000;\n    call deep, (a);\n" CLOSE;
    expect_hazard(ptx, "stack-overflow", "deep takes");
    cpu_options.stack_bytes = 128 << 10;
    cj_test_ok(run_kernel(ptx, (launch_shape){1, 32, 0, 0}, results, &error), &error);
    cpu_options.stack_bytes = 0;

    cj_device *device = open_cpu();
    assert_int_equal(
        cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .stack_bytes = (512 << 10) + 1}, &error),
        CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "stack_bytes is 524289"));
    cj_device_close(device);
}

static void what_lies_beyond_the_stack_is_out_of_bounds(void **state) {
    (void)state;
    static const char        beyond[] = "    mov.u64 %l1, 16;\n    stacksave.u64 %l2;\n    alloca.u64 %l3, %l1;\n"
                                        "    st.local.b64 [%l3 + 8], %l1;\n    stackrestore.u64 %l2;\n",
                      *const access = "    ld.local.b64 %l1, [%l3 + 8];\n",
                      *const generic = "    cvta.local.u64 %l3, %l3;\n    st.b64 [%l3], %l1;\n";
    char                     ptx[4096];
    for (int i = 0; i < 2; i++) {
        snprintf(ptx, sizeof ptx, "%s%s%s%s", HEAD ENTRY OPEN, beyond, i ? generic : access, CLOSE);
        expect_hazard(ptx, "out-of-bounds", "past the stack, which ends at");
    }
    expect_hazard(KERNEL("", "    mov.u64 %l1, 16;\n    stacksave.u64 %l2;\n    alloca.u64 %l3, %l1;\n"
                             "    add.u64 %l2, %l2, 4096;\n    stackrestore.u64 %l2;\n"),
                  "out-of-bounds", "the stack cannot end at");
    expect_hazard(KERNEL("    .local .b64 own[4];\n", "    mov.u64 %l1, 8;\n    stackrestore.u64 %l1;\n"),
                  "out-of-bounds", "the stack cannot end at 0x8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_give_what_they_should),
        cmocka_unit_test(a_full_stack_is_named),
        cmocka_unit_test(a_larger_stack_takes_deeper_calls),
        cmocka_unit_test(what_lies_beyond_the_stack_is_out_of_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
