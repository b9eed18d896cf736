// SPDX-License-Identifier: Apache-2.0
// What foreign text brings: forms that the checker takes run, and what the CPU device cannot execute hinders nobody until
// a thread reaches it.
#include "kernel.h"

static uint64_t results[RESULTS];

static void run(const char *ptx, cj_status expected, cj_error *error) {
    memset(results, 0, sizeof results);
    const cj_status status = run_kernel(ptx, (launch_shape){1, 32, 0, 0}, results, error);
    if (status != expected) fail_msg("status %d, not %d: %s\n%s", status, expected, error->message, ptx);
}

static void expect(const char *ptx, uint64_t value) {
    cj_error error = {0};
    run(ptx, CJ_OK, &error);
    for (unsigned i = 0; i < 32; i++) {
        if (results[i] == value) continue;
        fail_msg("thread %u got 0x%llx, not 0x%llx\n%s", i, (unsigned long long)results[i], (unsigned long long)value,
                 ptx);
    }
}

#define STORE "    st.global.u64 [%at], %l1;\n"

static void floats_move_through_wider_registers_of_bits(void **state) {
    (void)state;
    expect(
        HEAD
        ".global .f32 one[2] = {1.0, -2.5};\n" ENTRY                                                             OPEN
        "    .reg .b64 %w;\n    mov.b64 %w, -1;\n    ld.global.f32 %w, [one + 4];\n    mov.b64 %l1, %w;\n" STORE CLOSE,
        0xc0200000);
    expect(HEAD ".global .f32 at_all[33];\n" ENTRY OPEN
                "    .reg .b64 %w;\n    mov.b64 %w, 0xffffffff3fc00000;\n    st.global.f32 [at_all], %w;\n"
                "    ld.global.u32 %l1, [at_all];\n" STORE CLOSE,
           0x3fc00000);
    expect(HEAD ENTRY OPEN "    .reg .b64 %w;\n    .reg .b16 %half;\n    mov.b16 %half, 0x3e00;\n"
                           "    cvt.f32.f16 %w, %half;\n    mov.b64 %l1, %w;\n" STORE CLOSE,
           0x3fc00000);
}

static void vector_registers_are_packed_and_unpacked(void **state) {
    (void)state;
    expect(HEAD ENTRY                                                                                        OPEN
           "    .reg .v2 .u32 %v;\n    mov.u32 %v.x, 7;\n    mov.u32 %v.y, 9;\n    mov.b64 %l1, %v;\n" STORE CLOSE,
           0x900000007);
    expect(HEAD ENTRY                                                                                    OPEN
           "    .reg .v2 .u32 %v;\n    mov.b64 %v, 0x500000003;\n    mov.b64 %l1, {%v.y, %v.x};\n" STORE CLOSE,
           0x300000005);
}

static void variables_of_a_function_have_their_initial_values(void **state) {
    (void)state;
    expect(HEAD ENTRY OPEN
           "    .global .u64 own[2] = {5, 11};\n    .const .u64 fixed = 0x70;\n    ld.global.u64 %l1, [own + 8];\n"
           "    ld.const.u64 %l2, [fixed];\n    add.u64 %l1, %l1, %l2;\n" STORE CLOSE,
           0x7b);
}

static void addresses_are_numbers_with_an_offset(void **state) {
    (void)state;
    expect(HEAD ".global .u64 cell;\n" ENTRY OPEN
                "    st.global.u64 [cell], cell + 1;\n    ld.global.u64 %l1, [cell];\n    mov.u64 %l2, cell;\n"
                "    sub.u64 %l1, %l1, %l2;\n" STORE CLOSE,
           1);
    expect(HEAD ".global .u64 cell;\n" ENTRY OPEN "    mov.u64 %l1, 0;\n    sub.u64 %l1, cell + 24, %l1;\n    mov.u64 "
                                                  "%l2, cell;\n    sub.u64 %l1, %l1, %l2;\n" STORE CLOSE,
           24);
}

static void calls_need_no_list_of_arguments(void **state) {
    (void)state;
    expect(HEAD ".func (.param .b64 r) seven() { st.param.b64 [r], 7; ret; }\n" ENTRY                         OPEN
                "    .param .b64 result;\n    call (result), seven;\n    ld.param.b64 %l1, [result];\n" STORE CLOSE,
           7);
}

static void words_out_of_order_are_executed_alike(void **state) {
    (void)state;
    expect(HEAD ENTRY OPEN "    mov.f32 %f1, 6.0;\n    div.f32.rn %f1, %f1, 2.0;\n"
                           "    setp.f32.lt %p1, %f1, 3.5;\n    setp.and.f32.gt %p1, %f1, 2.5, %p1;\n"
                           "    selp.b64 %l1, 1, 2, %p1;\n" STORE CLOSE,
           1);
}

// Lines that the CPU device knows and does not execute. %l2 holds no texture: none is looked at.
static const char *const unreached[] = {
    "tex.cube.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l2, {%f4, %f5, %f6, %f7}];",
    "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l2, %l3, {%f4, %f5}];",
    "add.u32 %r1, %r2, %r3 + 4;",
    "txq.channel_order.b32 %r1, [%l2];",
    "suq.channel_data_type.b32 %r1, [%l2];",
    "vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1;",
    "vmad.s32.s32.u32.shr7 %r1, %r2.h1, %r3, %r4;",
    "call missing;",
};

static const char *kernel_with(const char *line, const char *guard) {
    static char text[4096];
    snprintf(text, sizeof text, "%s%s%s    setp.gt.u32 %%p1, %%thread, 99;\n    %s%s\n%s%s%s",
             HEAD ".extern .func missing;\n", ENTRY, OPEN, guard, line, "    mov.u64 %l1, 3;\n", STORE, CLOSE);
    return text;
}

static void what_is_not_executed_is_refused_when_it_is_reached(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(unreached); i++) {
        cj_error   error = {0};
        char       name[64];
        const bool calls = !strncmp(unreached[i], "call", 4);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(unreached[i], " "), unreached[i]);
        expect(kernel_with(unreached[i], "@%p1 "), 3);
        run(kernel_with(unreached[i], ""), CJ_UNSUPPORTED, &error);
        if (!strstr(error.message, calls ? "missing" : name) || !error.line || !*error.hint)
            fail_msg("'%s' (line %u) does not name %s", error.message, error.line, name);
    }
}

// An instruction that the CPU device runs for no target is not said to take a later one.
static void the_reason_is_the_device_or_its_target(void **state) {
    (void)state;
    static const struct {
        const char *target, *line, *says;
    } cases[] = {
        {"sm_90", "vadd.s32.u32.s32.sat %r1, %r2, %r3;", "the CPU device does not run vadd.s32.u32.s32.sat"},
        {"sm_90", "vset.u32.u32.lt %r1, %r2, %r3;", "the CPU device does not run vset.u32.u32.lt"},
        {"sm_100a", "redux.sync.max.f32 %f1, %f1, 0xffffffff;",
         "redux.sync.max.f32 takes sm_100 or later; the CPU device is an sm_90"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char     text[4096];
        cj_error error = {0};
        snprintf(text, sizeof text, ".version 9.0\n.target %s\n.address_size 64\n%s    %s\n%s", cases[i].target,
                 ENTRY OPEN, cases[i].line, CLOSE);
        run(text, CJ_UNSUPPORTED, &error);
        if (!strstr(error.message, cases[i].says)) fail_msg("'%s' and not '%s'", error.message, cases[i].says);
    }
}

static void one_kernel_does_not_hinder_another(void **state) {
    (void)state;
    expect(
        HEAD
        ".extern .global .u32 elsewhere[];\n.visible .entry other()\n{\n    .reg .f32 %f<4>;\n    .reg .u64 %l;\n"
        "    mov.u64 %l, elsewhere;\n    tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l, {%f0}];\n    ret;\n}\n" ENTRY OPEN
        "    mov.u64 %l1, 4;\n" STORE CLOSE,
        4);
}

// Those of targets.def, alone or with a suffix, and an older one.
static void every_target_runs(void **state) {
    (void)state;
    static const char *const targets[] = {
#define CJ_PTX_TARGET(text, number, suffix, ptx) text,
#include "targets.def"
#undef CJ_PTX_TARGET
        "sm_50",
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(targets); i++) {
        char        text[4096];
        const char *kernel = ENTRY OPEN "    mov.u64 %l1, 8;\n" STORE CLOSE;
        snprintf(text, sizeof text, ".version 9.0\n.target %s\n.address_size 64\n%s", targets[i], kernel);
        expect(text, 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_move_through_wider_registers_of_bits),
        cmocka_unit_test(vector_registers_are_packed_and_unpacked),
        cmocka_unit_test(variables_of_a_function_have_their_initial_values),
        cmocka_unit_test(addresses_are_numbers_with_an_offset),
        cmocka_unit_test(calls_need_no_list_of_arguments),
        cmocka_unit_test(words_out_of_order_are_executed_alike),
        cmocka_unit_test(what_is_not_executed_is_refused_when_it_is_reached),
        cmocka_unit_test(the_reason_is_the_device_or_its_target),
        cmocka_unit_test(every_target_runs),
        cmocka_unit_test(one_kernel_does_not_hinder_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
