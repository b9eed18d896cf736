// SPDX-License-Identifier: Apache-2.0
// ptxgen/text/source: which line of the source a line of PTX comes from, through functions that were inlined; and the names of
// C++ after lowered ones.
#include "test.h"

#include <clusterjit/check.h>
#include <stdio.h>
#include <string.h>

#include "cxx_name.h"
#include "text.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"  // 3 lines

static cj_source_map *map_of(const char *text) {
    cj_source_map *map;
    cj_error       error = {0};
    cj_test_ok(cj_source_map_create(text, strlen(text), &map, &error), &error);
    return map;
}

// "a.cu:12:5 in f, b.cu:20:3", or "".
static void write_chain(const cj_source *source, cj_text *text) {
    cj__text_puts(text, "");
    for (; source; source = source->inlined_at) {
        if (text->length) cj__text_puts(text, ", ");
        cj__text_printf(text, "%s:%u:%u", source->file, source->line, source->column);
        if (*source->function) cj__text_printf(text, " in %s", source->function);
    }
}

static void expect(const char *ptx, unsigned line, const char *wanted) {
    cj_source_map *map = map_of(ptx);
    cj_text        chain = {0};
    write_chain(cj_source_map_find(map, line), &chain);
    if (strcmp(chain.data ? chain.data : "", wanted)) {
        fail_msg("line %u: '%s', not '%s', of\n%s", line, chain.data ? chain.data : "", wanted, ptx);
    }
    cj__text_free(&chain);
    cj_source_map_destroy(map);
}

static void a_loc_holds_until_the_next_one(void **state) {
    static const char text[] = HEAD ".file 1 \"a.cu\"\n.file 7 \"dir/b.h\"\n"
                                    ".entry k()\n{\n.reg .u32 %r;\n.loc 1 12 5\nmov.u32 %r, 1;\n\nmov.u32 %r, 2;\n"
                                    ".loc 7 3 0\nmov.u32 %r, 3;\nret;\n}\n";
    (void)state;
    expect(text, 0, "");
    expect(text, 4, "");
    expect(text, 8, "");
    expect(text, 9, "a.cu:12:5");
    expect(text, 10, "a.cu:12:5");
    expect(text, 12, "a.cu:12:5");
    expect(text, 14, "dir/b.h:3:0");
    expect(text, 4000000000u, "dir/b.h:3:0");
}

static void a_function_begins_without_one(void **state) {
    static const char text[] = HEAD
        ".entry k()\n{\n.loc 1 12 5\nret;\n}\n.entry l()\n{\nbar.sync 0;\n.loc 1 30 1\nret;\n}\n"
        ".file 1 \"a.cu\"\n";  // after the functions, as NVVM has it
    (void)state;
    expect(text, 7, "a.cu:12:5");
    expect(text, 11, "");
    expect(text, 13, "a.cu:30:1");
}

// LLVM counts lines on within inline assembly, which is of one place: the one that its first line has, or that it began at.
static void inline_assembly_is_of_one_place(void **state) {
    static const char text[] = HEAD
        ".file 1 \"a.py\"\n.entry k()\n{\n.loc 1 30 5 // a.py:30:5\nbar.sync 0;\n"
        "// begin inline asm\n\t.loc 1 32 13 // a.py:32:13\nbar.sync 1;\n.loc 1 33 13\n"
        "bar.sync 2;\n\n// end inline asm\nbar.sync 3;\n// begin inline asm\nbar.sync 4;\n"
        ".loc 1 34 13\nbar.sync 5;\n// end inline asm\n.loc 1 40 1\nbar.sync 6;\n"
        "// begin inline asm\n}\n.entry l()\n{\n.loc 1 50 1\nbar.sync 7;\n.loc 1 51 1\nret;\n}\n";
    (void)state;
    expect(text, 8, "a.py:30:5");
    expect(text, 11, "a.py:32:13");
    expect(text, 13, "a.py:32:13");
    expect(text, 16, "a.py:32:13");
    expect(text, 18, "a.py:32:13");
    expect(text, 20, "a.py:32:13");
    expect(text, 23, "a.py:40:1");
    expect(text, 29, "a.py:50:1");
    expect(text, 31, "a.py:51:1");
}

// LLVM's line 0 is from no line in particular; a .loc of a file that nothing names is as none.
static void no_line_and_no_file_are_nothing(void **state) {
    static const char text[] = HEAD
        ".file 1 \"a.cu\"\n.entry k()\n{\n.loc 1 0 9\nbar.sync 0;\n.loc 1 4 9\nbar.sync 1;\n"
        ".loc 1 0 0\nbar.sync 2;\n.loc 2 5 5\nret;\n}\n";
    (void)state;
    expect(text, 8, "");
    expect(text, 10, "a.cu:4:9");
    expect(text, 12, "a.cu:4:9");
    expect(text, 14, "");
}

#define NAMES                                                                                 \
    ".section .debug_str\n{\n$L__s0:\n.b8 95,90,53,105,110,110,101,114,102,0\n.b8 112, 108\n" \
    ".b8 97,105,110,0\n$L__s1:\n.b8 95,90,53,111,117,116,101,114,118,0\n}\n"

static void inlined_functions_are_followed(void **state) {
    static const char text[] = HEAD ".file 1 \"a.cu\"\n.entry k()\n{\n.loc 1 30 5\nbar.sync 0;\n"
                                    ".loc 1 20 3, function_name $L__s1, inlined_at 1 30 5\nbar.sync 1;\n"
                                    ".loc 1 10 1, function_name $L__s0, inlined_at 1 20 3\nbar.sync 2;\n"
                                    ".loc 1 11 1, function_name $L__s0+10, inlined_at 1 99 9\nbar.sync 3;\n"
                                    ".loc 1 12 1, function_name $L__s9, inlined_at 1 30 5\nret;\n}\n" NAMES;
    (void)state;
    expect(text, 8, "a.cu:30:5");
    expect(text, 10, "a.cu:20:3 in outer, a.cu:30:5");
    expect(text, 12, "a.cu:10:1 in inner, a.cu:20:3 in outer, a.cu:30:5");
    expect(text, 14, "a.cu:11:1 in plain, a.cu:99:9");  // where it was inlined, no other .loc names
    expect(text, 16, "a.cu:12:1, a.cu:30:5");           // and no section names the function
}

// What a header of the toolkit wraps is of the line that called it; a header of the program's own is not one of the toolkit's.
static void headers_of_the_toolkit_are_passed_over(void **state) {
    static const struct {
        const char *file, *place;
    } rows[] = {{"/usr/local/cuda/include/device_atomic_functions.hpp", "a.cu:30:5"},
                {"/opt/cuda/bin/../targets/x86_64-linux/include/sm_30_intrinsics.hpp", "a.cu:30:5"},
                {"/usr/local/cuda/include/sm_60_atomic_functions.hpp", "a.cu:30:5"},
                {"/usr/local/cuda/include/cuda_fp8.hpp", "a.cu:30:5"},
                {"/usr/local/cuda/include/texture_indirect_functions.h", "a.cu:30:5"},
                {"/usr/local/cuda/include/cccl/cuda/std/atomic", "a.cu:30:5"},
                {"/home/me/include/device_lists.h", "/home/me/include/device_lists.h:20:3, a.cu:30:5"},
                {"device_atomic_functions.hpp", "device_atomic_functions.hpp:20:3, a.cu:30:5"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 HEAD ".file 1 \"a.cu\"\n.file 2 \"%s\"\n.entry k()\n{\n.loc 1 30 5\nbar.sync 0;\n"
                      ".loc 2 20 3, function_name $L__s9, inlined_at 1 30 5\nret;\n}\n",
                 rows[i].file);
        expect(text, 11, rows[i].place);
    }
}

// A place inlined into itself: recursion that was inlined.
static void a_circle_ends(void **state) {
    static const char text[] = HEAD ".file 1 \"a.cu\"\n.entry k()\n{\n"
                                    ".loc 1 5 5, function_name $L__s0, inlined_at 1 5 5\nbar.sync 0;\n"
                                    ".loc 1 5 5, function_name $L__s0, inlined_at 1 5 5\nret;\n}\n";
    (void)state;
    expect(text, 8, "a.cu:5:5, a.cu:5:5");
    expect(text, 10, "a.cu:5:5, a.cu:5:5, a.cu:5:5");
}

static void broken_texts_give_what_they_can(void **state) {
    (void)state;
    expect(HEAD ".file 1 \"a.cu\"\n.entry k()\n{\n.loc 1 5 5\nno.such.thing;\nret;\n}\n", 8, "a.cu:5:5");
    expect(HEAD ".file 1 \"a.cu\"\n.entry k()\n{\n.loc 1 5\nret;\n.loc 1 6 1\nret;\n}\n", 10, "a.cu:6:1");
    expect(HEAD ".file 1 \"a.cu\"\n.entry k()\n{\n.loc 1 5 5, function_name , inlined_at 1 2 3\nret;\n}\n", 8, "");
    expect(HEAD ".file 99999999999 \"a.cu\"\n.entry k()\n{\n.loc 1 99999999999 5\nret;\n}\n", 8, "");
    expect(HEAD ".file 1 \"a.cu\"\n.entry k()\n{\n.loc 4294967295 5 5\nret;\n}\n", 8, "");
    expect("", 1, "");
    assert_null(cj_source_map_find(NULL, 1));
}

// As Triton, Numba and rustc write them: comments, time and size of the file, other blanks.
static void every_compilers_forms_are_read(void **state) {
    static const char text[] = HEAD
        "\t.file\t1 \"/home/me/kernels.py\"\n.file 2 \"src/lib.rs\", 1700000000, 4096\n.entry k()\n{\n"
        "\t.loc\t1 22 0                          // kernels.py:22:0\n\tbar.sync \t0;\n"
        ".loc 2 7 13, function_name Linfo_string0, inlined_at 1 23 9 /* here */\nret;\n}\n"
        ".section .debug_str { Linfo_string0:\n.b8 0x5f,0x52,109 // _Rm\n.b8 0\n}\n.section .debug_loc { }\n";
    (void)state;
    expect(text, 9, "/home/me/kernels.py:22:0");
    expect(text, 11, "src/lib.rs:7:13 in _Rm, /home/me/kernels.py:23:9");
}

static void texts_of_one_line_have_their_last_loc(void **state) {
    (void)state;
    expect(".version 8.0 .target sm_90 .file 1 \"a.cu\" .entry k() { .loc 1 5 5 ret; }", 1, "a.cu:5:5");
}

static const struct {
    const char *lowered, *name;  // NULL: it stays as it is
} names[] = {
    {"_Z5pairsPKfPf", "pairs"},
    {"_ZN2ns6kernelEPf", "ns::kernel"},
    {"_Z6kernelIfLi4EEvPT_", "kernel"},
    {"_ZN2ns5outerIfLb1EE5innerIiEEvT_", "ns::outer::inner"},
    {"_ZN2ns5outerINS_1tIiEELN2ns1eE3EE5innerEv", "ns::outer::inner"},
    {"_ZN55_INTERNAL_0123456789_4_a_cu_9f4df7a4_123_GLOBAL__N__ab6kernelEv", NULL},  // a length that is wrong
    {"_ZN12_GLOBAL__N_16kernelEPf", "kernel"},
    {"_ZL6hiddenv", "hidden"},
    {"kernel", NULL},
    {"_Z", NULL},
    {"_ZN", NULL},
    {"_Z99short", NULL},
    {"_Z0v", NULL},
    {"_Z6kernelIfLi4", NULL},
    {"_ZZ6kernelPfE4tile", "kernel::tile"},
    {"_ZZ6kernelPfE4tile_0", "kernel::tile"},
    {"_ZZN2ns6kernelIfLi4EEEvPT_iE4tile", "ns::kernel::tile"},
    {"_ZZN12_GLOBAL__N_16kernelEPA4_fDv2_dE3bar", "kernel::bar"},
    {"_ZZ6kernelN2ns4ViewIfLi2EEES1_E4tile", "kernel::tile"},
    {"_ZZNK2ns3AddclEvE5table", NULL},
    {"_ZN2ns5tableE", "ns::table"},
    {"_ZN4demo6kernel17h0123456789abcdefE", "demo::kernel"},
    {"_ZZ6kernelPf", NULL},
    {"_ZZ6kernelPfE", NULL},
    {"_ZZ6kernelPfEs", NULL},
    {"_ZN2ns", NULL},
    {"", NULL},
};

static void lowered_names_are_read(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(names); i++) {
        char       name[64] = "";
        const bool read = cj__cxx_name(names[i].lowered, name, sizeof name);
        if (read != (names[i].name != NULL) || (read && strcmp(name, names[i].name)))
            fail_msg("%s: '%s', not '%s'", names[i].lowered, read ? name : "nothing",
                     names[i].name ? names[i].name : "nothing");
    }
}

static void a_name_that_does_not_fit_is_none(void **state) {
    char name[11];
    (void)state;
    assert_true(cj__cxx_name("_ZN2ns6kernelEPf", name, sizeof name));
    assert_false(cj__cxx_name("_ZN2ns6kernelEPf", name, sizeof name - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loc_holds_until_the_next_one),
        cmocka_unit_test(a_function_begins_without_one),
        cmocka_unit_test(inline_assembly_is_of_one_place),
        cmocka_unit_test(no_line_and_no_file_are_nothing),
        cmocka_unit_test(inlined_functions_are_followed),
        cmocka_unit_test(headers_of_the_toolkit_are_passed_over),
        cmocka_unit_test(a_circle_ends),
        cmocka_unit_test(broken_texts_give_what_they_can),
        cmocka_unit_test(every_compilers_forms_are_read),
        cmocka_unit_test(texts_of_one_line_have_their_last_loc),
        cmocka_unit_test(lowered_names_are_read),
        cmocka_unit_test(a_name_that_does_not_fit_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
