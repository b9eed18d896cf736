// SPDX-License-Identifier: Apache-2.0
// Functions taken out of PTX: found, held against their signature, written into a kernel. The CPU device runs what
// comes out.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

// x * 2 + 1, for x above 0; -1 elsewhere.
static const char early[] = HEAD ".visible .func (.param .b32 result) early(.param .b32 x)\n{\n"
                                 "    .reg .pred %p<2>;\n    .reg .b32 %r<4>;\n"
                                 "    ld.param.u32 %r1, [x];\n"
                                 "    setp.gt.s32 %p1, %r1, 0;\n"
                                 "    @%p1 bra $L__positive;\n"
                                 "    st.param.b32 [result], -1;\n"
                                 "    ret;\n"
                                 "$L__positive:\n"
                                 "    shl.b32 %r2, %r1, 1;\n"
                                 "    add.s32 %r3, %r2, 1;\n"
                                 "    st.param.b32 [result+0], %r3;\n"
                                 "    ret;\n}\n";

static const cj_signature unary = {.result = CJ_I32, .count = 1, .argument = {CJ_I32}};
static const cj_signature binary = {.result = CJ_I32, .count = 2, .argument = {CJ_I32, CJ_I32}};

static cj_user_function *made(const char *ptx, const char *name, const cj_signature *signature) {
    cj_user_function *function = NULL;
    cj_error          error = {0};
    cj_test_ok(cj_function_from_ptx(ptx, strlen(ptx), name, signature, &function, &error), &error);
    return function;
}

// ---- refusals

static void refused(const char *ptx, const char *name, const cj_signature *signature, const char *const *words) {
    cj_user_function *function = (cj_user_function *)(void *)&function;
    cj_error          error = {0};
    assert_int_equal(cj_function_from_ptx(ptx, strlen(ptx), name, signature, &function, &error), CJ_COMPILER);
    assert_null(function);
    assert_string_equal(error.rule, "user-function");
    for (; *words; words++)
        if (!strstr(error.message, *words)) fail_msg("no '%s' in: %s", *words, error.message);
}

static void a_missing_function_is_refused_with_the_signature_wanted(void **state) {
    (void)state;
    refused(early, "late", &unary,
            (const char *const[]){"'late'", "wanted .func (.param .b32) late(.param .b32)",
                                  "found no function of that name", NULL});
}

static void another_signature_is_refused_with_both(void **state) {
    (void)state;
    refused(early, "early", &binary,
            (const char *const[]){"wanted .func (.param .b32) early(.param .b32, .param .b32)",
                                  "found .func (.param .b32) early(.param .b32)", NULL});
    const cj_signature wide = {.result = CJ_F64, .count = 1, .argument = {CJ_I32}};
    refused(early, "early", &wide, (const char *const[]){"wanted .func (.param .b64)", NULL});
    refused(HEAD ".entry k(.param .u32 x) { ret; }", "k", &unary,
            (const char *const[]){"found .entry k(.param .u32)", NULL});
    refused(HEAD ".extern .func (.param .b32 r) f(.param .b32 x);", "f", &unary,
            (const char *const[]){"without a body", NULL});
    refused(HEAD ".func (.reg .b32 r) f(.reg .b32 x) { mov.b32 r, x; ret; }", "f", &unary,
            (const char *const[]){"found .func (.reg .b32) f(.reg .b32)", NULL});
}

static void what_is_not_there_is_refused_by_name(void **state) {
    (void)state;
    refused(
        HEAD
        ".extern .func (.param .b32 r) far(.param .b32 x);\n"
        ".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; { .param .b32 p; .param .b32 q;"
        " st.param.b32 [p], %a; call (q), far, (p); ld.param.b32 %a, [q]; } st.param.b32 [r], %a; ret; }",
        "f", &unary, (const char *const[]){"'f' uses 'far', which is not in its source", NULL});
    refused(
        HEAD
        ".global .u32 x0;\n.global .u64 table[1] = {x0};\n"
        ".func (.param .b32 r) f(.param .b32 x) { .reg .b64 %a; ld.global.u64 %a, [table]; st.param.b32 [r], 1; ret; }",
        "f", &unary, (const char *const[]){"'table', a variable that holds addresses", NULL});
}

static void a_parameter_whose_address_is_taken_is_refused(void **state) {
    (void)state;
    refused(HEAD ".func (.param .b32 r) f(.param .b32 x) { .reg .b64 %a; mov.b64 %a, x; st.param.b32 [r], 1; ret; }",
            "f", &unary, (const char *const[]){"uses its parameter as more than a value", NULL});
    refused(HEAD ".func (.param .b32 r) f(.param .b32 x) { .reg .b16 %a; mov.b16 %a, 1; st.param.b16 [r], %a; ret; }",
            "f", &unary, (const char *const[]){"uses its result as more than a value", NULL});
}

static void invalid_ptx_is_refused_with_its_place(void **state) {
    (void)state;
    cj_user_function *function = NULL;
    cj_error          error = {0};
    const char        ptx[] = HEAD ".func (.param .b32 r) f(.param .b32 x)\n{ frobnicate; }";
    assert_int_equal(cj_function_from_ptx(ptx, sizeof ptx - 1, "f", &unary, &function, &error), CJ_INVALID_KERNEL);
    assert_int_equal(error.line, 5);
}

static void a_signature_that_cannot_be_is_refused(void **state) {
    (void)state;
    cj_user_function  *function = NULL;
    cj_error           error = {0};
    const cj_signature many = {.result = CJ_I32, .count = CJ_FUNCTION_ARGUMENTS + 1}, odd = {.result = (cj_dtype)77};
    assert_int_equal(cj_function_from_ptx(early, sizeof early - 1, "early", &many, &function, &error),
                     CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_function_from_ptx(early, sizeof early - 1, "early", &odd, &function, &error),
                     CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "77"));
}

// ---- constants

static void constants_are_known(void **state) {
    (void)state;
    static const struct {
        const char *body;
        cj_dtype    type;
        bool        constant;
        uint64_t    bits;
    } cases[] = {
        {"st.param.b32 [r], -5; ret;", CJ_I32, true, 0xfffffffb},
        {".reg .f32 %f<2>; mov.f32 %f1, 0fFF800000; st.param.f32 [r+0], %f1; ret;", CJ_F32, true, 0xff800000},
        {".reg .b32 %r<2>; mov.b32 %r1, 0f3F800000; st.param.b32 [r], %r1; ret;", CJ_F32, true, 0x3f800000},
        {".reg .b32 %r<2>; mov.u32 %r1, %tid.x; st.param.b32 [r], %r1; ret;", CJ_I32, false, 0},
        {".reg .b32 %r<3>; mov.u32 %r1, 1; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret;", CJ_I32, false, 0},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char         ptx[512];
        uint64_t     bits = 0;
        cj_signature signature = {.result = cases[i].type};
        snprintf(ptx, sizeof ptx, HEAD ".func (.param .b32 r) f() { %s }", cases[i].body);
        cj_user_function *function = made(ptx, "f", &signature);
        assert_int_equal(cj_user_function_constant(function, &bits), cases[i].constant);
        assert_int_equal(bits, cases[i].bits);
        cj_user_function_destroy(function);
    }
}

// ---- calls

// Runs a kernel of 32 threads that gives value[thread] = what `write` makes of x = thread - 16.
static void run(void (*write)(cj_builder *b, const cj_user_function *function, cj_func **f, cj_reg x),
                const cj_user_function *function, int32_t value[32]) {
    cj_builder *b = cj_builder_create("sm_90");
    cj_func    *f = NULL;
    char       *text = NULL;
    cj_error    error = {0};
    write(b, function, &f, (cj_reg){0});
    cj_test_ok(cj_builder_finish(b, &text, NULL, &error), &error);
    cj_builder_destroy(b);

    cj_device   *device = NULL;
    cj_module   *module = NULL;
    cj_function *kernel = NULL;
    cj_ptr       out = 0;
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_test_ok(cj_module_from_ptx(device, text, strlen(text), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "k", &kernel, &error), &error);
    cj_test_ok(cj_mem_alloc(device, 32 * sizeof *value, &out, &error), &error);
    void *arguments[] = {&out};
    cj_test_ok(cj_launch(device,
                         &(cj_launch_config){CJ_INIT(cj_launch_config), .function = kernel, .grid = {1, 1, 1},
                                             .block = {32, 1, 1}, .arguments = arguments, .argument_count = 1},
                         &error),
               &error);
    cj_test_ok(cj_mem_read(device, value, out, 32 * sizeof *value, NULL, &error), &error);
    cj_mem_free(device, out);
    cj_module_unload(module);
    cj_device_close(device);
    cj_text_free(text);
}

static cj_reg begin(cj_func *f, cj_reg *at, const char *name) {
    cj_var out = cj_param(f, "u64", "out", NULL);
    cj_reg x = cj_s32(f, name);
    *at = cj_u64(f, "at");
    cj_ptx(f, "ld.param.u64 $1, [$2]; mov.u32 $3, %tid.x; mad.wide.u32 $1, $3, 4, $1; sub.s32 $3, $3, 16;", *at, out,
           x);
    return x;
}

static void write_twice(cj_builder *b, const cj_user_function *function, cj_func **f, cj_reg x) {
    cj_reg    at;
    cj_callee callee = cj_builder_function(b, function, "twice");
    *f = cj_entry(b, "k");
    x = begin(*f, &at, "x");
    cj_call(*f, callee, x, x);
    cj_call(*f, callee, x, x);
    cj_ptx(*f, "st.global.u32 [$1], $2; ret;", at, x);
}

static int32_t early_of(int32_t x) { return x > 0 ? 2 * x + 1 : -1; }

static void early_returns_and_repeated_calls_are_right(void **state) {
    (void)state;
    int32_t           value[32];
    cj_user_function *function = made(early, "early", &unary);
    run(write_twice, function, value);
    for (int i = 0; i < 32; i++) assert_int_equal(value[i], early_of(early_of(i - 16)));
    cj_user_function_destroy(function);
}

// Its own registers have the names of the kernel's.
static void write_colliding(cj_builder *b, const cj_user_function *function, cj_func **f, cj_reg x) {
    cj_reg    at;
    cj_callee callee = cj_builder_function(b, function, "early");
    *f = cj_entry(b, "k");
    x = begin(*f, &at, "r1");
    cj_reg result = cj_s32(*f, "r2");
    cj_call(*f, callee, result, x);
    cj_ptx(*f, "add.s32 $1, $1, $2;", result, x);
    cj_ptx(*f, "st.global.u32 [$1], $2; ret;", at, result);
}

static void registers_of_the_same_name_stay_apart(void **state) {
    (void)state;
    int32_t           value[32];
    cj_user_function *function = made(early, "early", &unary);
    run(write_colliding, function, value);
    for (int i = 0; i < 32; i++) assert_int_equal(value[i], early_of(i - 16) + i - 16);
    cj_user_function_destroy(function);
}

static void an_argument_may_be_read_after_the_result_is_written(void **state) {
    (void)state;
    int32_t           value[32];
    cj_user_function *function = made(HEAD ".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %a, %b; .reg .pred %p;"
                                           " st.param.b32 [r], 5; ld.param.b32 %a, [x]; setp.lt.s32 %p, %a, 0;"
                                           " @%p ret; add.s32 %b, %a, 100; st.param.b32 [r], %b; ret; }",
                                      "f", &unary);
    run(write_twice, function, value);
    for (int i = 0; i < 32; i++) assert_int_equal(value[i], i < 16 ? 105 : i - 16 + 200);
    cj_user_function_destroy(function);
}

static void parts_of_an_argument_are_read(void **state) {
    (void)state;
    int32_t           value[32];
    cj_user_function *function = made(HEAD
                                      ".func (.param .b32 r) f(.param .b32 x) { .reg .b16 %a, %b; .reg .b32 %c, %d;"
                                      " ld.param.s8 %a, [x]; ld.param.u16 %b, [x + 2]; cvt.s32.s16 %c, %a;"
                                      " cvt.u32.u16 %d, %b; add.s32 %c, %c, %d; st.param.b32 [r], %c; ret; }",
                                      "f", &unary);
    run(write_twice, function, value);
    for (int i = 0; i < 32; i++) {
        int32_t once = i - 16 + (i < 16 ? 0xffff : 0);
        assert_int_equal(value[i], (int8_t)once + (int32_t)((uint32_t)once >> 16));
    }
    cj_user_function_destroy(function);
}

static const char with_helper[] = HEAD
    ".const .align 4 .b32 table[2] = {10, 20};\n"
    ".func (.param .b32 r) k(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.s32 %a, %a, 3;"
    " st.param.b32 [r], %a; ret; }\n"
    ".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %a, %b; ld.param.b32 %a, [x]; { .param .b32 p; .param .b32 q;"
    " st.param.b32 [p], %a; call.uni (q), k, (p); ld.param.b32 %a, [q]; } ld.const.b32 %b, [table + 4];"
    " add.s32 %a, %a, %b; st.param.b32 [r], %a; ret; }\n"
    ".global .b32 unused;\n";

static void write_two_callees(cj_builder *b, const cj_user_function *function, cj_func **f, cj_reg x) {
    cj_reg    at;
    cj_callee first = cj_builder_function(b, function, "helped"), second = cj_builder_function(b, function, "helped");
    *f = cj_entry(b, "k");
    x = begin(*f, &at, "x");
    cj_call(*f, first, x, x);
    cj_call(*f, second, x, x);
    cj_ptx(*f, "st.global.u32 [$1], $2; ret;", at, x);
}

static void helpers_and_constants_come_along_under_names_of_their_own(void **state) {
    (void)state;
    int32_t           value[32];
    cj_user_function *function = made(with_helper, "f", &unary);
    run(write_two_callees, function, value);
    for (int i = 0; i < 32; i++) assert_int_equal(value[i], i - 16 + 46);

    cj_builder *b = cj_builder_create("sm_90");
    cj_func    *f;
    char       *text = NULL;
    write_two_callees(b, function, &f, (cj_reg){0});
    assert_int_equal(cj_builder_finish(b, &text, NULL, NULL), CJ_OK);
    assert_non_null(strstr(text, ".const .align 4 .b32 helped_table[2]"));
    assert_non_null(strstr(text, "helped_2_k("));
    assert_null(strstr(text, "unused"));
    cj_text_free(text);
    cj_builder_destroy(b);
    cj_user_function_destroy(function);
}

// ---- what the builder refuses

static void expect_error(cj_builder *b, const char *words) {
    char    *text = NULL;
    cj_error error = {0};
    assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_KERNEL);
    if (!strstr(error.message, words)) fail_msg("no '%s' in: %s", words, error.message);
    cj_builder_destroy(b);
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    cj_user_function *function = made(early, "early", &unary);
    cj_builder       *b = cj_builder_create("sm_90");
    cj_callee         callee = cj_builder_function(b, function, "early");
    cj_func          *f = cj_entry(b, "k");
    cj_reg            x = cj_s32(f, "x");
    cj_call(f, callee, x, x, x);
    expect_error(b, "2 arguments, it takes 1");

    b = cj_builder_create("sm_90");
    callee = cj_builder_function(b, function, "early");
    f = cj_entry(b, "k");
    cj_reg wrong = cj_f32(f, "wrong");
    cj_call(f, callee, cj_s32(f, "x"), wrong);
    expect_error(b, "%wrong is .f32, wanted .s32");

    b = cj_builder_create("sm_90");
    f = cj_entry(b, "k");
    x = cj_s32(f, "x");
    cj_call(f, (cj_callee){1}, x, x);
    expect_error(b, "the callee is not of this builder");

    b = cj_builder_create("sm_90");
    f = cj_entry(b, "k");
    x = cj_s32(f, "x");
    cj_call(f, (cj_callee){0}, x, x);
    expect_error(b, "cj_call: the callee is unset");

    b = cj_builder_create("sm_90");
    callee = cj_builder_function(b, function, "early");
    f = cj_entry(b, "k");
    cj_call(f, callee, cj_s32(f, "x"), (cj_reg){0});
    expect_error(b, "cj_call of 'early': argument 1 is an unset register");

    b = cj_builder_create("sm_90");
    callee = cj_builder_function(b, function, "early");
    f = cj_entry(b, "k");
    cj_call(f, callee, cj_none(), cj_s32(f, "x"));
    expect_error(b, "cj_call of 'early': the result is cj_none(), no register");

    b = cj_builder_create("sm_70");
    cj_builder_function(b, function, "early");
    expect_error(b, "was made for sm_80, the kernel is for sm_70");
    cj_user_function_destroy(function);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_function_is_refused_with_the_signature_wanted),
        cmocka_unit_test(another_signature_is_refused_with_both),
        cmocka_unit_test(what_is_not_there_is_refused_by_name),
        cmocka_unit_test(a_parameter_whose_address_is_taken_is_refused),
        cmocka_unit_test(invalid_ptx_is_refused_with_its_place),
        cmocka_unit_test(a_signature_that_cannot_be_is_refused),
        cmocka_unit_test(constants_are_known),
        cmocka_unit_test(early_returns_and_repeated_calls_are_right),
        cmocka_unit_test(registers_of_the_same_name_stay_apart),
        cmocka_unit_test(an_argument_may_be_read_after_the_result_is_written),
        cmocka_unit_test(parts_of_an_argument_are_read),
        cmocka_unit_test(helpers_and_constants_come_along_under_names_of_their_own),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
