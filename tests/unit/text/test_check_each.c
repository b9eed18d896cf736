// SPDX-License-Identifier: Apache-2.0
// cj_check_ptx checks each function after its body and drops the body. It finds what a check of the whole module finds,
// in the same order and words: in the texts of golden/check and fuzz/corpus, in kernels of every family, and in random mixtures of their lines.
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "recorded.h"
#include "report.h"
#include "text.h"

enum {
    MIXTURES = 12,  // of each text
    EMITTED = 16    // of so many recorded kernels one
};

static uint64_t random_state;

static cj_report whole(const char *text, size_t length) {
    cj_report     report = {0};
    cj_ir_module *module;
    assert_int_equal(cj__ir_parse_report(text, length, &module, &report), CJ_OK);
    cj__check_forms(module, &report);
    cj__check_paths(module, &report);
    cj__ir_free(module);
    cj__report_sort(&report);
    return report;
}

static bool same(const cj_diagnostic *a, const cj_diagnostic *b) {
    return a->line == b->line && a->column == b->column && !strcmp(a->rule, b->rule) &&
           !strcmp(a->message, b->message) && !strcmp(a->hint, b->hint);
}

static void compare(const char *name, const char *text, size_t length) {
    cj_report *each;
    cj_error   error = {0};
    cj_report  all = whole(text, length);
    cj_test_ok(cj_check_ptx(text, length, NULL, &each, &error), &error);
    for (size_t i = 0; i < all.count || i < cj_report_count(each); i++) {
        const cj_diagnostic *a = i < all.count ? &all.item[i] : NULL, *b = cj_report_at(each, i);
        if (a && b && same(a, b)) continue;
        fail_msg("%s: the whole module has %u:%u [%s] %s, each function %u:%u [%s] %s\n%.*s", name, a ? a->line : 0,
                 a ? a->column : 0, a ? a->rule : "", a ? a->message : "nothing", b ? b->line : 0, b ? b->column : 0,
                 b ? b->rule : "", b ? b->message : "nothing", length < 4000 ? (int)length : 0, text);
    }
    cj_report_destroy(each);
    cj__arena_free(&all.arena);
}

// The text without some of its lines, and with others twice.
static cj_text mixture(const char *text) {
    cj_text  mixed = {0};
    unsigned one_in = 2 + (unsigned)(cj_test_random(&random_state) % 60);
    while (*text) {
        size_t   length = strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
        unsigned draw = (unsigned)(cj_test_random(&random_state) % (2 * one_in));
        for (unsigned i = draw > 1 ? 1 : 2 * draw; i--;) cj__text_add(&mixed, text, length);
        text += length;
    }
    return mixed;
}

static void compare_mixtures(const char *name, const char *text) {
    compare(name, text, strlen(text));
    for (unsigned i = 0; i < MIXTURES && strlen(text) < 100000; i++) {
        cj_text mixed = mixture(text);
        if (mixed.length) compare(name, mixed.data, mixed.length);
        cj__text_free(&mixed);
    }
}

static void compare_emitted(const char *request, uint64_t digest, void *user) {
    (void)digest, (void)user;
    char *text = cj_test_emit_request(request);
    compare_mixtures(request, text);
    cj_text_free(text);
}

static void each_of(const char *directory) {
    DIR     *opened = opendir(directory);
    unsigned files = 0;
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        DIR *inner = opendir(path);
        if (inner) {
            closedir(inner);
            continue;
        }
        char *text = cj_test_read(path);
        assert_non_null(text);
        compare_mixtures(entry->d_name, text);
        free(text);
        files++;
    }
    closedir(opened);
    assert_true(files > 0);
}

static void finds_what_the_whole_has(void **state) {
    (void)state;
    random_state = cj_test_seed();
    each_of(CJ_TEST_DIR "/golden/check");
    cj_test_each_recorded(EMITTED, compare_emitted, NULL);
    each_of(CJ_TEST_DIR "/fuzz/corpus");
}

// A label that nothing branches to is not reported where a section after it may name it.
static void sections_after_labels(void **state) {
    (void)state;
    static const char text[] = ".version 9.0\n.target sm_90\n.entry k()\n{\nunused:\n    ret;\n}\n"
                               ".section .debug_x { .b8 1, 2 }\n";
    cj_report        *report;
    cj_error          error = {0};
    cj_test_ok(cj_check_ptx(text, sizeof text - 1, NULL, &report, &error), &error);
    assert_int_equal(cj_report_count(report), 0);
    cj_report_destroy(report);
    compare("sections", text, sizeof text - 1);
}

// A register of a range has one meaning whatever its number, and whether it was also declared alone.
static void ranges_and_single_names(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule;
    } cases[] = {
        {".reg .u32 %r<70000>;\n mov.u32 %r69999, 1;\n mov.u32 %r0, %r69999;\n mov.u32 %r1, %r0;\n st.local.u32 [0], "
         "%r1;\n",
         NULL},
        {".reg .u32 %r<4>;\n mov.u32 %r1, 1;\n st.local.u32 [0], %r1;\n .reg .u32 %r1;\n", "name-twice"},
        {".reg .u32 %r<70000>;\n mov.u32 %r69999, 1;\n st.local.u32 [0], %r69999;\n .reg .u32 %r69999;\n",
         "name-twice"},
        {".reg .u32 %r<4>;\n mov.u32 %r4, 1;\n", "name-undefined"},
        {".reg .u32 %r<4>;\n mov.u32 %r01, 1;\n", "name-undefined"},
        {".reg .u32 %r<4>;\n mov.u32 %r1, 1;\n st.local.u32 [0], %r1;\n { .reg .u64 %r<4>; mov.u64 %r1, 1; "
         "st.local.u64 [0], %r1; }\n",
         NULL},
        {".reg .u32 %r<4>;\n { .reg .u64 %r<4>; mov.u64 %r1, 1; st.local.u64 [0], %r1; }\n st.local.u64 [0], %r1;\n",
         "operand-type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char       text[512];
        cj_report *report;
        cj_error   error = {0};
        snprintf(text, sizeof text, ".version 9.0\n.target sm_90\n.visible .entry k()\n{\n%s ret;\n}\n", cases[i].text);
        cj_test_ok(cj_check_ptx(text, strlen(text), NULL, &report, &error), &error);
        const cj_diagnostic *first = cj_report_at(report, 0);
        if (!first != !cases[i].rule || (first && strcmp(first->rule, cases[i].rule)))
            fail_msg("[%s] %s, not %s, in\n%s", first ? first->rule : "", first ? first->message : "nothing",
                     cases[i].rule ? cases[i].rule : "nothing", text);
        cj_report_destroy(report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_the_whole_has),
        cmocka_unit_test(sections_after_labels),
        cmocka_unit_test(ranges_and_single_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
