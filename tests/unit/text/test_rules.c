// SPDX-License-Identifier: Apache-2.0
// clusterjit/check.h: the list of rules, reports, the table and the formatter; and the builder's side of the rules:
// what a kernel says it relies on becomes its directives, and what cannot be is refused by the rule's name.
#define _DEFAULT_SOURCE

#include "test.h"

#include <clusterjit/check.h>
#include <clusterjit/ptx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "report.h"

// ---- the list

static void rules_are_told_apart_and_explained(void **state) {
    (void)state;
    assert_true(cj_rule_count() > 0);
    for (size_t i = 0; i < cj_rule_count(); i++) {
        const cj_rule *rule = cj_rule_at(i);
        assert_ptr_equal(cj_rule_find(rule->id), rule);
        assert_true(strlen(rule->id) < sizeof((cj_error *)0)->rule);
        assert_int_equal(strspn(rule->id, "abcdefghijklmnopqrstuvwxyz-"), strlen(rule->id));
        assert_int_equal(rule->sentence[strlen(rule->sentence) - 1], '.');
        assert_true(*rule->example);
    }
    assert_null(cj_rule_at(cj_rule_count()));
    assert_null(cj_rule_find("no-such-rule"));
    assert_null(cj_rule_find(NULL));
}

// ---- reports

static cj_report *check(const char *ptx, const char *arch) {
    cj_report *report = NULL;
    cj_error   error = {0};
    const cj_check_options options = {CJ_INIT(options), .arch = arch};
    cj_test_ok(cj_check_ptx(ptx, strlen(ptx), &options, &report, &error), &error);
    return report;
}

static void reports_follow_the_text(void **state) {
    (void)state;
    cj_report report = {0};
    static const unsigned place[][2] = {{7, 1}, {3, 9}, {3, 2}, {9, 1}, {3, 2}};
    for (size_t i = 0; i < CJ_TEST_COUNT(place); i++)
        cj__report_add(&report, i % 2 ? "syntax" : "label-unused", place[i][0], place[i][1], "%zu", i);
    cj__report_hint(&report, "of the last");
    cj_error error = {0};
    assert_int_equal(cj__report_status(&report, &error), CJ_INVALID_KERNEL);
    assert_int_equal(error.line, 3);
    assert_int_equal(error.column, 9);
    assert_string_equal(error.rule, "syntax");
    cj__report_sort(&report);
    static const char *const order[] = {"2", "4", "1", "0", "3"};
    for (size_t i = 0; i < CJ_TEST_COUNT(order); i++) assert_string_equal(cj_report_at(&report, i)->message, order[i]);
    assert_string_equal(cj_report_at(&report, 1)->hint, "of the last");
    assert_int_equal(report.errors, 2);
    cj__arena_free(&report.arena);
}

static void targets_can_be_replaced(void **state) {
    (void)state;
    static const char ptx[] = ".version 8.0\n.target sm_90\n.entry k()\n{\n    barrier.cluster.arrive;\n"
                              "    barrier.cluster.wait;\n    ret;\n}\n";
    cj_report *report = check(ptx, NULL);
    assert_int_equal(cj_report_count(report), 0);
    assert_null(cj_report_at(report, 0));
    cj_report_destroy(report);
    report = check(ptx, "sm_80");
    assert_int_equal(cj_report_errors(report), 2);
    assert_string_equal(cj_report_at(report, 0)->rule, "target-least");
    assert_int_equal(cj_report_at(report, 0)->line, 5);
    assert_non_null(strstr(cj_report_at(report, 0)->message, "it is held against sm_80"));
    cj_report_destroy(report);
    static const char specific[] = ".version 8.0\n.target sm_90a\n.entry k() .reqntid 128\n{\n"
                                   "    setmaxnreg.inc.sync.aligned.u32 64;\n    ret;\n}\n";
    report = check(specific, "sm_100");  // which PTX 8.0 does not know, but that the driver can compile it for
    assert_int_equal(cj_report_errors(report), 1);
    assert_string_equal(cj_report_at(report, 0)->rule, "target-arch");
    assert_non_null(strstr(cj_report_at(report, 0)->message, "it is held against sm_100"));
    cj_report_destroy(report);
    const cj_check_options options = {CJ_INIT(options), .arch = "sm_91"};
    cj_error error = {0};
    assert_int_equal(cj_check_ptx(ptx, sizeof ptx - 1, &options, &report, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "sm_91"));
    assert_null(report);
    cj_report_destroy(NULL);
    assert_int_equal(cj_report_count(NULL), 0);
}

static void many_errors_end_the_reading(void **state) {
    (void)state;
    enum { LINES = 1200 };
    static const char head[] = ".version 8.0\n.target sm_90\n.entry k()\n{\n", line[] = "nonsense;\n";
    char *ptx = malloc(sizeof head + LINES * sizeof line);
    assert_non_null(ptx);
    for (unsigned lines = LINES; lines >= LINES / 2; lines /= 2) {  // the half of them is nearly too many
        char *end = ptx + sprintf(ptx, "%s", head);
        for (unsigned i = 0; i < lines; i++) end += sprintf(end, "%s", line);
        sprintf(end, "}\n");
        cj_report *report = check(ptx, NULL);
        const cj_diagnostic *last = cj_report_at(report, cj_report_count(report) - 1);
        assert_int_equal(!strcmp(last->rule, "errors-many"), lines == LINES);
        cj_report_destroy(report);
    }
    free(ptx);
}

// Memory that is asked for and, but for its last byte, never touched.
static void a_file_of_four_gib_is_refused_before_it_is_read(void **state) {
    (void)state;
    const size_t length = (size_t)UINT32_MAX + 1;
    char *ptx = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ptx == MAP_FAILED) skip();
    ptx[length - 1] = '}';
    cj_report *report = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_check_ptx(ptx, length, NULL, &report, &error), &error);
    assert_int_equal(cj_report_count(report), 1);
    assert_string_equal(cj_report_at(report, 0)->rule, "file-size");
    cj_report_destroy(report);
    munmap(ptx, length);
}

// ---- the table and the formatter

static void rows_can_be_listed(void **state) {
    (void)state;
    bool clusters = false;
    for (size_t i = 0; i < cj_isa_count(); i++) {
        const cj_isa_row *row = cj_isa_at(i);
        assert_true(*row->syntax && *row->sample);
        if (!strncmp(row->syntax, "mapa", 4)) {
            clusters = true;
            assert_int_equal(row->target, 90);
            assert_non_null(strstr(row->effects, "cluster"));
        }
    }
    assert_true(clusters);
    assert_null(cj_isa_at(cj_isa_count()));
}

static void formatting_is_a_fixed_point(void **state) {
    (void)state;
    static const char ptx[] =
        ".version 8.0 .target sm_90 // head\n.entry k(){.reg .u32 %a;mov.u32 %a,1; // one\n ret;}";
    char *once = NULL, *twice = NULL;
    size_t length = 0;
    cj_error error = {0};
    cj_test_ok(cj_format_ptx(ptx, sizeof ptx - 1, &once, &length, &error), &error);
    assert_int_equal(length, strlen(once));
    assert_non_null(strstr(once, "// one"));
    cj_test_ok(cj_format_ptx(once, length, &twice, NULL, &error), &error);
    assert_string_equal(once, twice);
    cj_text_free(once);
    cj_text_free(twice);
    assert_int_equal(cj_format_ptx("ret;", 4, &once, NULL, &error), CJ_INVALID_KERNEL);
    assert_int_equal(error.line, 1);
    assert_null(once);
}

// ---- the builder

typedef void state_contract(cj_builder *b, cj_func *f);

// A kernel that does nothing but rely on something; the rule that refuses it, or "".
static char *build(const char *arch, state_contract *contract, cj_error *error) {
    cj_builder *b = cj_builder_create(arch);
    cj_func    *f = cj_entry(b, "k");
    contract(b, f);
    cj_ptx(f, "ret;");
    char *text = NULL;
    *error = (cj_error){0};
    cj_builder_finish(b, &text, NULL, error);
    cj_builder_destroy(b);
    return text;
}

static void all_that_goes_together(cj_builder *b, cj_func *f) {
    (void)b;
    cj_cluster(f, 4, 1, 1);  // said in any order, printed in one
    cj_blocks_are_clusters(f);
    cj_registers_max(f, 64);
    cj_blocks_per_sm(f, 2);
    cj_block(f, 256, 1, 1);
}

static void directives_are_printed_in_order(void **state) {
    (void)state;
    static const char *const order[] = {
        ".version 9.0", ".target sm_90",      ".reqntid 256, 1, 1", ".minnctapersm 2",
        ".maxnreg 64",  ".blocksareclusters", ".explicitcluster",   ".reqnctapercluster 4, 1, 1"};
    cj_error error;
    char    *text = build("sm_90", all_that_goes_together, &error), *at = text;
    if (!text) fail_msg("[%s] %s", error.rule, error.message);
    for (size_t i = 0; i < CJ_TEST_COUNT(order); i++) {
        at = strstr(at, order[i]);
        if (!at) fail_msg("'%s' is missing or misplaced in\n%s", order[i], text);
    }
    cj_text_free(text);
    text = build("sm_80", all_that_goes_together, &error);
    assert_non_null(text);
    assert_non_null(strstr(text, ".maxnreg 64"));
    assert_null(strstr(text, "cluster"));
    cj_text_free(text);
}

static void nothing(cj_builder *b, cj_func *f) { (void)b, (void)f; }
static void both_blocks(cj_builder *b, cj_func *f) { (void)b, cj_block(f, 64, 1, 1), cj_block_max(f, 64, 1, 1); }
static void both_clusters(cj_builder *b, cj_func *f) { (void)b, cj_cluster(f, 4, 1, 1), cj_cluster_max(f, 4); }
static void block_and_cluster_max(cj_builder *b, cj_func *f) {
    (void)b, cj_block_max(f, 64, 1, 1), cj_cluster_max(f, 4);
}
static void twice(cj_builder *b, cj_func *f) { (void)b, cj_block(f, 64, 1, 1), cj_block(f, 64, 1, 1); }
static void large_block(cj_builder *b, cj_func *f) { (void)b, cj_block(f, 2048, 1, 1); }
static void large_cluster(cj_builder *b, cj_func *f) { (void)b, cj_cluster(f, 32, 1, 1); }
static void no_registers(cj_builder *b, cj_func *f) { (void)b, cj_registers_max(f, 0); }
static void grid_of_clusters(cj_builder *b, cj_func *f) { (void)b, cj_block(f, 64, 1, 1), cj_blocks_are_clusters(f); }
static void old_version(cj_builder *b, cj_func *f) { cj_builder_version(b, 75), cj_cluster(f, 2, 1, 1); }
static void new_version(cj_builder *b, cj_func *f) { cj_builder_version(b, 80), cj_cluster(f, 2, 1, 1); }
static void no_version(cj_builder *b, cj_func *f) { (void)f, cj_builder_version(b, 8); }
static void lost_version(cj_builder *b, cj_func *f) { (void)f, cj_builder_version(b, 79); }
static void spaced_name(cj_builder *b, cj_func *f) { (void)b, cj_u32(f, "my register"); }
static void plain_name(cj_builder *b, cj_func *f) {
    (void)b;
    cj_ptx(f, "mov.u32 $1, 0;", cj_u32(f, "my_register$1"));
}
static void lost_operand(cj_builder *b, cj_func *f) {
    (void)b;
    cj_ptx(f, "mov.u32 $1, $2;", cj_u32(f, "a"));
}
static void found_operand(cj_builder *b, cj_func *f) {
    (void)b;
    cj_ptx(f, "mov.u32 $1, $2;", cj_u32(f, "a"), 0);
}
static void name_of(cj_func *f, unsigned length) {
    char name[100] = {0};
    memset(name, 'n', length);
    cj_ptx(f, "mov.u32 $1, 0;", cj_u32(f, name));
}
static void long_name(cj_builder *b, cj_func *f) { (void)b, name_of(f, 90); }
static void short_name(cj_builder *b, cj_func *f) { (void)b, name_of(f, 70); }
static void relaxed_exit(cj_builder *b, cj_func *f) {
    (void)b;
    cj_ptx(f, "barrier.cluster.arrive.relaxed;");
}
static void unused_register(cj_builder *b, cj_func *f) { (void)b, cj_u32(f, "spare"); }  // only a warning

static void the_builder_refuses_by_name(void **state) {
    (void)state;
    static const struct {
        state_contract *contract;
        const char     *rule;  // "": none
    } cases[] = {
        {nothing, ""},
        {both_blocks, "directive-conflict"},
        {both_clusters, "directive-conflict"},
        {block_and_cluster_max, ""},
        {twice, "directive-twice"},
        {large_block, "block-shape"},
        {large_cluster, "cluster-shape"},
        {no_registers, "directive-value"},
        {grid_of_clusters, "directive-missing"},
        {old_version, "version-least"},
        {new_version, ""},
        {no_version, "version"},
        {lost_version, "version"},
        {spaced_name, "name-form"},
        {plain_name, ""},
        {lost_operand, "operand-missing"},
        {found_operand, ""},
        {long_name, "name-long"},
        {short_name, ""},
        {relaxed_exit, ""},  // paths are followed by cj_check_ptx
        {unused_register, ""},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error;
        char    *text = build("sm_90", cases[i].contract, &error);
        if (strcmp(error.rule, cases[i].rule)) fail_msg("case %zu: [%s] %s", i, error.rule, error.message);
        assert_int_equal(!text, *cases[i].rule != '\0');
        if (cases[i].contract == new_version) assert_non_null(strstr(text, ".version 8.0"));
        cj_text_free(text);
    }
}

static void multiply(cj_func *f) {
    cj_reg d[64], at = cj_u64(f, "at");
    cj_ptx(f, "mov.u64 $1, 0;", at);
    char   text[1024] = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {";
    for (unsigned i = 0; i < 64; i++) {
        char name[8], word[16];
        snprintf(name, sizeof name, "d%u", i);
        snprintf(word, sizeof word, "%s%%%s", i ? ", " : "", name);
        d[i] = cj_f32(f, name);
        strcat(text, word);
    }
    (void)d;
    strcat(text, "}, %at, %at, 0, 1, 1, 0, 0;");
    cj_ptx(f, text);
}

static void half_a_group(cj_builder *b, cj_func *f) { (void)b, cj_block_max(f, 192, 1, 1), multiply(f); }
static void ragged_block(cj_builder *b, cj_func *f) { (void)b, cj_block(f, 64, 3, 1), multiply(f); }
static void two_groups(cj_builder *b, cj_func *f) { (void)b, cj_block_max(f, 64, 4, 1), multiply(f); }
static void few_registers(cj_builder *b, cj_func *f) {
    (void)b, cj_block(f, 128, 1, 1), cj_registers_max(f, 89), multiply(f);
}
static void just_registers(cj_builder *b, cj_func *f) {
    (void)b, cj_block(f, 128, 1, 1), cj_registers_max(f, 90), multiply(f);
}
static void large_groups(cj_builder *b, cj_func *f) { (void)b, cj_block(f, 1024, 1, 1), multiply(f); }

// What compiles and then breaks, or does not compile for want of registers.
static void the_builder_knows_what_warp_groups_need(void **state) {
    (void)state;
    static const struct {
        state_contract *contract;
        const char     *rule;  // "": none
    } cases[] = {{half_a_group, "warpgroup-block"}, {ragged_block, "warpgroup-block"}, {two_groups, ""},
                 {few_registers, "accumulator-registers"}, {just_registers, ""}, {large_groups, "accumulator-registers"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error;
        char    *text = build("sm_90a", cases[i].contract, &error);
        if (strcmp(error.rule, cases[i].rule) != 0)
            fail_msg("case %zu: '%s', not '%s': %s", i, error.rule, cases[i].rule, error.message);
        cj_text_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_told_apart_and_explained),
        cmocka_unit_test(reports_follow_the_text),
        cmocka_unit_test(targets_can_be_replaced),
        cmocka_unit_test(many_errors_end_the_reading),
        cmocka_unit_test(a_file_of_four_gib_is_refused_before_it_is_read),
        cmocka_unit_test(rows_can_be_listed),
        cmocka_unit_test(formatting_is_a_fixed_point),
        cmocka_unit_test(directives_are_printed_in_order),
        cmocka_unit_test(the_builder_refuses_by_name),
        cmocka_unit_test(the_builder_knows_what_warp_groups_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
