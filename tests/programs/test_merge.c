// SPDX-License-Identifier: Apache-2.0
// Several PTX texts become one that the library loads: symbols of one that another awaits, names that both have, files and strings
// of the source. And NVRTC's options, rewritten.
#include <clusterjit/check.h>
#include <clusterjit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "options.h"
#include "test.h"

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"
#define FUNCTION(linkage, name, body) linkage ".func (.param .b32 r) " name "(.param .b32 a)\n" body "\n"
#define ADDS(more) \
    "{\n\t.reg .b32 %x;\n\tld.param.b32 %x, [a];\n\tadd.s32 %x, %x, " more ";\n\tst.param.b32 [r], %x;\n\tret;\n}"
#define CALLS(name)                                                                                                \
    "{\n\t.reg .b32 %x;\n\t.reg .b64 %p;\n\tld.param.b64 %p, [p];\n\tld.global.b32 %x, [%p];\n\t{\n\t.param .b32 " \
    "in;\n\t.param .b32 "                                                                                          \
    "out;\n\tst.param.b32 [in], %x;\n\tcall (out), " name                                                          \
    ", (in);\n\tld.param.b32 %x, [out];\n\t}\n\tst.global.b32 [%p], %x;\n\tret;\n}\n"
#define KERNEL(name, callee) ".visible .entry " name "(.param .b64 p)\n" CALLS(callee)

static char *merge(const char *a, const char *b) {
    const char *texts[] = {a, b}, *names[] = {"a.ptx", "b.ptx"};
    cj_text     why = {0};
    char       *merged = cj__merge_ptx(texts, names, 2, &why);
    if (!merged) print_message("%s\n", why.data);
    cj__text_free(&why);
    assert_non_null(merged);
    return merged;
}

// Runs the kernel of the merged text on one number.
static void gives(const char *a, const char *b, const char *kernel, int32_t from, int32_t to) {
    char        *text = merge(a, b);
    cj_error     error;
    cj_module   *module;
    cj_function *function;
    cj_ptr       memory;
    int32_t      value = 0;
    cj_status    status = cj_module_from_ptx(cj_test_device, text, strlen(text), &module, &error);
    if (status) print_message("%s\n", text);
    cj_test_ok(status, &error);
    cj_test_ok(cj_module_function(module, kernel, &function, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof from, &memory, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, memory, &from, sizeof from, NULL, &error), &error);
    const cj_launch_config one = {CJ_INIT(one), .function = function, .grid = {1, 1, 1}, .block = {1, 1, 1},
                                  CJ_ARGS(memory)};
    cj_test_ok(cj_launch(cj_test_device, &one, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, &value, memory, sizeof value, NULL, &error), &error);
    assert_int_equal(value, to);
    cj_mem_free(cj_test_device, memory);
    cj_module_unload(module);
    free(text);
}

static void a_function_of_another_text_is_called(void **state) {
    static const char kernel[] = HEAD("8.0", "sm_90") FUNCTION(".extern ", "f", ";") KERNEL("k", "f");
    static const char function[] = HEAD("7.8", "sm_90") FUNCTION(".visible ", "f", ADDS("5"));
    (void)state;
    gives(kernel, function, "k", 10, 15);
    gives(function, kernel, "k", 10, 15);
}

static void names_that_two_texts_have_stay_apart(void **state) {
    static const char one[] = HEAD("8.0", "sm_90") FUNCTION("", "f", ADDS("1")) KERNEL("one", "f");
    static const char two[] = HEAD("8.0", "sm_90") FUNCTION("", "f", ADDS("2")) KERNEL("two", "f");
    static const char three[] = HEAD("8.0", "sm_90") FUNCTION(".visible ", "f", ADDS("3")) KERNEL("two", "f");
    (void)state;
    gives(one, two, "one", 10, 11);
    gives(one, two, "two", 10, 12);
    gives(one, three, "one", 10, 11);
    gives(three, one, "two", 10, 13);
}

static void the_first_of_two_weak_functions_is_taken(void **state) {
    static const char one[] = HEAD("8.0", "sm_90") FUNCTION(".weak ", "f", ADDS("1")) KERNEL("one", "f");
    static const char two[] = HEAD("8.0", "sm_90") FUNCTION(".weak ", "f", ADDS("2")) KERNEL("two", "f");
    (void)state;
    gives(one, two, "two", 10, 11);
    gives(two, one, "two", 10, 12);
}

// A variable comes before what uses it, in whatever order the texts are.
static void a_variable_of_another_text_is_used(void **state) {
    static const char body[] =
        "{\n\t.reg .b32 %x;\n\t.reg .b64 %p;\n\tld.param.b64 %p, [p];\n\tld.global.b32 %x, [v+4];\n"
        "\tst.global.b32 [%p], %x;\n\tret;\n}\n";
    char              kernel[512];
    static const char variable[] = HEAD("8.0", "sm_90") ".visible .global .align 4 .u32 v[2] = {7, 8};\n";
    (void)state;
    snprintf(kernel, sizeof kernel, "%s.extern .global .align 4 .u32 v[];\n.visible .entry k(.param .b64 p)\n%s",
             HEAD("8.0", "sm_90"), body);
    gives(kernel, variable, "k", 0, 8);
    gives(variable, kernel, "k", 0, 8);
}

static void dynamic_shared_memory_is_declared_once(void **state) {
    static const char one[] = HEAD("8.0", "sm_90") ".extern .shared .align 16 .b8 s[];\n" FUNCTION("", "f", ADDS("1"))
        KERNEL("one", "f");
    static const char two[] = HEAD("8.0", "sm_90") ".extern .shared .align 16 .b8 s[];\n" FUNCTION("", "g", ADDS("2"))
        KERNEL("two", "g");
    (void)state;
    gives(one, two, "two", 1, 3);
}

// ---- lines of the source

static void lines_keep_their_files_and_functions(void **state) {
    static const char form[] = HEAD(
        "8.0", "sm_90") ".visible .entry %s()\n{\n\t.loc 1 5 3, function_name $L__info_string0, inlined_at 2 "
                        "9 1\n\tret;\n}\n\t.file\t1 \"%s1.cu\"\n\t.file\t2 \"%s2.cu\"\n\t.section\t"
                        ".debug_str\n\t{\n$L__info_string0:\n.b8 %s,0\n\t}\n";
    char one[1024], two[1024];
    (void)state;
    snprintf(one, sizeof one, form, "one", "a", "a", "102");
    snprintf(two, sizeof two, form, "two", "b", "b", "103");
    char          *text = merge(one, two), *at = strstr(text, ".entry two"), *ret = strstr(at, "ret;");
    cj_source_map *map;
    cj_error       error;
    unsigned       line = 1;
    for (const char *c = text; c < ret; c++) line += *c == '\n';
    cj_test_ok(cj_source_map_create(text, strlen(text), &map, &error), &error);
    const cj_source *source = cj_source_map_find(map, line);
    assert_non_null(source);
    assert_string_equal(source->file, "b1.cu");
    assert_int_equal(source->line, 5);
    assert_string_equal(source->function, "g");
    assert_string_equal(source->inlined_at->file, "b2.cu");
    cj_source_map_destroy(map);
    free(text);
}

// ---- what cannot be merged

static void is_refused(const char *a, const char *b, const char *reason) {
    const char *texts[] = {a, b}, *names[] = {"a.ptx", "b.ptx"};
    cj_text     why = {0};
    assert_null(cj__merge_ptx(texts, names, 2, &why));
    if (!strstr(why.data, reason)) fail_msg("'%s' does not say '%s'", why.data, reason);
    cj__text_free(&why);
}

static void what_cannot_be_one_is_refused_by_name(void **state) {
    static const char one[] = HEAD("8.0", "sm_90") FUNCTION(".visible ", "f", ADDS("1"));
    cj_text           why = {0};
    (void)state;
    is_refused(one, one, "'b.ptx' defines 'f'");
    is_refused(one, HEAD("8.0", "sm_80") FUNCTION(".visible ", "g", ADDS("1")), "different targets: 'b.ptx'");
    is_refused(one, "text", "'b.ptx' is no PTX");
    is_refused(one, "", "'b.ptx' is no PTX");
    assert_null(cj__merge_ptx(NULL, NULL, 0, &why));
    assert_non_null(strstr(why.data, "no PTX"));
    cj__text_free(&why);
}

// Compilers write none of it, and it ends.
static void any_text_is_read_to_its_end(void **state) {
    static const char good[] = HEAD("8.0", "sm_90") FUNCTION(".visible ", "f", ADDS("1")) KERNEL("k", "f");
    uint64_t          random = cj_test_seed();
    (void)state;
    for (int i = 0; i < 2000; i++) {
        char bad[sizeof good];
        memcpy(bad, good, sizeof good);
        for (uint64_t n = cj_test_random(&random) % 6 + 1; n; n--)
            bad[cj_test_random(&random) % (sizeof good - 1)] = "{}();\"/*.,\\ \n$%a"[cj_test_random(&random) % 16];
        const char *texts[] = {bad, good}, *names[] = {"bad", "good"};
        cj_text     why = {0};
        free(cj__merge_ptx(texts, names, 2, &why));
        cj__text_free(&why);
    }
}

// ---- options

static void machine_code_becomes_ptx_with_lines(void **state) {
    static const struct {
        const char *given, *made;
        bool        machine;
    } cases[] = {
        {"-arch=sm_90a", "-arch=compute_90a -lineinfo", true},
        {"--gpu-architecture=sm_90 -DX=sm_9", "--gpu-architecture=compute_90 -DX=sm_9 -lineinfo", true},
        {"-arch sm_80 -G", "-arch compute_80 -G", true},
        {"-arch=compute_90 --generate-line-info", "-arch=compute_90 --generate-line-info", false},
        {"-I sm_90", "-I sm_90 -lineinfo", false},
        {"", "-lineinfo", false},
    };
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char        text[128], made[256] = "";
        const char *given[8];
        int         count = 0;
        cj_options  o;
        snprintf(text, sizeof text, "%s", cases[i].given);
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) given[count++] = word;
        assert_true(cj__options_rewrite(&o, count, given));
        for (int k = 0; k < o.count; k++) strcat(strcat(made, k ? " " : ""), o.item[k]);
        assert_string_equal(made, cases[i].made);
        assert_int_equal(o.machine, cases[i].machine);
        cj__options_free(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_of_another_text_is_called),
        cmocka_unit_test(names_that_two_texts_have_stay_apart),
        cmocka_unit_test(the_first_of_two_weak_functions_is_taken),
        cmocka_unit_test(a_variable_of_another_text_is_used),
        cmocka_unit_test(dynamic_shared_memory_is_declared_once),
        cmocka_unit_test(lines_keep_their_files_and_functions),
        cmocka_unit_test(what_cannot_be_one_is_refused_by_name),
        cmocka_unit_test(any_text_is_read_to_its_end),
        cmocka_unit_test(machine_code_becomes_ptx_with_lines),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
