// SPDX-License-Identifier: Apache-2.0
// ptxgen/parse, with a report: every broken statement is found, each once, and nothing else.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "text.h"

#define HEAD ".version 9.0\n.target sm_90\n"

// A text with a ^ before each place where an error must be reported, and the rules in order of the text.
static const struct {
    const char *text;
    const char *rules;
} cases[] = {
    // one finding a statement, and reading goes on
    {HEAD ".entry k()\n{\n    .reg .u32 %r<4>;\n    ^frob.u32 %r1;\n    add.u32 %r1, ^%q;\n    add.u32 %r1, %r2, 3;\n"
          "    ^add.u32 %r1;\n    ret;\n}\n",
     "mnemonic name-undefined operands"},
    // a name is reported once, and not at all where its declaration is what is broken
    {HEAD ".entry k()\n{\n    .reg ^.u33 %r<4>, %s;\n    add.u32 %r1, %r2, %s;\n    mov.b32 ^%q, 1;\n"
          "    mov.b32 %q, %q;\n    mov.b32 %s, 1;\n    bra ^out;\n    bra out;\n    ret;\n}\n",
     "type name-undefined label-undefined"},
    {HEAD ".global ^u32 x, y;\n.entry k() { .reg .u32 %r; ld.global.u32 %r, [x]; st.global.u32 [y], %r; ret; }\n",
     "type"},
    {HEAD ".func f(^.u32 x) { ret; }\n.entry k() { call f, (1); ret; }\n", "syntax"},
    // a forgotten ; swallows nothing, nor does a forgotten }
    {HEAD ".entry k()\n{\n    .reg .u32 %r;\n    mov.u32 %r, 1\n    ^mov.u32 %r, ^%q;\n    ret;\n}\n",
     "syntax name-undefined"},
    {HEAD ".entry k()\n{\n    ret;\n^.entry l()\n{\n    mov.u32 ^%q, 1;\n    ret;\n}\n", "syntax name-undefined"},
    {HEAD ".func f(\n^.visible .entry k() { @^%p ret; }\n", "syntax name-undefined"},
    {HEAD ".entry k() { ret; } ^}\n.entry l() { ^frob; }\n", "syntax mnemonic"},
    {HEAD ".entry k() { { { ^frob; } ^frob; } ^frob; }\n", "mnemonic mnemonic mnemonic"},
    // a head that is partly broken keeps its body
    {HEAD ".entry k() .maxntid ^.reqntid 32 ^.foo 3, 4 { ^frob; ret; }\n", "syntax syntax mnemonic"},
    {HEAD ".entry k() .reqntid 32 ^.reqntid 64 .maxnreg 8 { ^frob; ret; }\n", "directive-twice mnemonic"},
    // initialisers, with their braces
    {HEAD ".global .u32 a[2] = {1, 2, ^3}, b = 1;\n.global .u32 c[2][2] = {{1}, ^2};\n.global .u32 d = 7;\n"
          ".global .u64 e = ^nothing;\n.global .f32 f = ^1;\n.shared .u32 g ^= 1;\n",
     "initialiser initialiser name-undefined initialiser initialiser"},
    // labels
    {HEAD ".entry k() { a: ^a: b: bra b; { bra ^c; } t: .branchtargets a, ^d; ret; }\n",
     "name-twice label-undefined label-undefined"},
    {HEAD ".entry k() { a: t: .branchtargets a, // x; y\n a, a, /* ; */ a,\n ^d, a, a, a, a, a, a, a, a, a, a, a, a, ^e; ret; }\n",
     "label-undefined label-undefined"},
    // the head, and what ends the text
    {"^.visible .entry k() { ^frob; }\n", "head mnemonic"},
    {".version ^nine\n.target sm_90\n.entry k() { ^frob; }\n", "syntax mnemonic"},
    {HEAD ".entry k() { ret; }\n^/* never closed\n", "comment-open"},
    {HEAD ".entry k() { ^frob; /* never closed\n", "mnemonic comment-open syntax"},
    {HEAD ".section .debug_x { .b8 1, 2 }\n.entry k() { ^frob; }\n", "mnemonic"},
};

static char *unmarked(const char *marked) {
    char *text = malloc(strlen(marked) + 1), *end = text;
    assert_non_null(text);
    for (; *marked; marked++)
        if (*marked != '^') *end++ = *marked;
    *end = '\0';
    return text;
}

// Whether a ^ stands in the marked text where the finding is, counted without the marks.
static bool is_marked(const char *marked, const cj_diagnostic *finding) {
    unsigned line = 1, column = 1;
    for (; *marked; marked++) {
        if (*marked == '^' && line == finding->line && column == finding->column) return true;
        if (*marked == '^') continue;
        column = *marked == '\n' ? 1 : column + 1;
        line += *marked == '\n';
    }
    return false;
}

static void each_broken_statement_is_found_once(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char         *text = unmarked(cases[i].text);
        cj_report     report = {0};
        cj_ir_module *module;
        cj_text       rules = {0};
        assert_int_equal(cj__ir_parse_report(text, strlen(text), &module, &report), CJ_OK);
        assert_non_null(module);
        assert_true(module->broken);
        cj__report_sort(&report);
        for (size_t f = 0; f < report.count; f++) {
            const cj_diagnostic *finding = &report.item[f];
            cj__text_printf(&rules, "%s%s", f ? " " : "", finding->rule);
            assert_non_null(cj_rule_find(finding->rule));
            bool at_end = !strcmp(finding->message + strlen(finding->message) - 3, "'}'");
            if (!at_end && !is_marked(cases[i].text, finding) && strcmp(finding->rule, "comment-open"))
                fail_msg("%s: %u:%u: %s", cases[i].text, finding->line, finding->column, finding->message);
        }
        if (strcmp(rules.data, cases[i].rules))
            fail_msg("%s: %s instead of %s", cases[i].text, rules.data, cases[i].rules);
        cj__text_free(&rules);
        cj__ir_free(module);
        cj__arena_free(&report.arena);
        free(text);
    }
}

static void what_is_whole_is_kept(void **state) {
    (void)state;
    static const char text[] = HEAD ".entry k() { frob; ret; }\n.entry l() { ret; }\n.entry m(.u32 x) { ret; }\n";
    cj_report     report = {0};
    cj_ir_module *module;
    assert_int_equal(cj__ir_parse_report(text, strlen(text), &module, &report), CJ_OK);
    assert_int_equal(report.errors, 2);
    assert_true(cj__ir_func(module, "k")->broken);
    assert_int_equal(cj__ir_func(module, "k")->stmt_count, 1);
    assert_false(cj__ir_func(module, "l")->broken);
    cj__ir_free(module);
    cj__arena_free(&report.arena);
}

static void reading_ends_after_many_errors(void **state) {
    (void)state;
    cj_text text = {0};
    cj__text_puts(&text, HEAD ".entry k() {\n");
    for (int i = 0; i < 5000; i++) cj__text_printf(&text, "frob%d;\n", i);
    cj_report     report = {0};
    cj_ir_module *module;
    assert_int_equal(cj__ir_parse_report(text.data, text.length, &module, &report), CJ_OK);
    assert_string_equal(report.item[report.count - 1].rule, "errors-many");
    assert_true(report.count < 1010);
    cj__ir_free(module);
    cj__arena_free(&report.arena);
    cj__text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_statement_is_found_once),
        cmocka_unit_test(what_is_whole_is_kept),
        cmocka_unit_test(reading_ends_after_many_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
