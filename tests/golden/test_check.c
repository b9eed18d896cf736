// SPDX-License-Identifier: Apache-2.0
// Findings in PTX, written where they belong. Each golden/check/*.ptx holds several texts; a line `// ---- name` begins
// each. One that gives no .version gets one for sm_90a in front. After a line, marks say what is found there:
//
//     ! rule: part of the message      found on this line; several may stand one after the other
//     ~ rule                           nearly: this line does not break the rule, though little is missing
//
// All that is marked must be found, and nothing else. A rule without either mark fails the test.
#include "test.h"

#include <clusterjit/check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded.h"
#include "text.h"

#define HEAD ".version 9.0 .target sm_90a .address_size 64 "

// Rules of the builder's calls and of huge files: unit.rules has those that a test can break.
static const char *const elsewhere[] = {"name-long", "name-form", "operand-missing", "errors-many", "file-size"};

enum { MARKS_MAX = 256, RULES_MAX = 128 };

typedef struct mark {
    unsigned line;
    char     rule[40], text[80];
    bool     nearly, met;
} mark;

typedef struct part {
    const char *file;
    unsigned    line;  // of its first in the file
    char        name[80];
    mark        mark[MARKS_MAX];
    size_t      count;
} part;

static bool     broken[RULES_MAX], nearly[RULES_MAX];  // by a rule's index
static unsigned mistakes;

static size_t index_of(const char *rule) {
    for (size_t i = 0; i < cj_rule_count(); i++)
        if (!strcmp(cj_rule_at(i)->id, rule)) return i;
    fail_msg("there is no rule '%s'", rule);
    return 0;
}

// The marks of one line: ` ! rule: text` and ` ~ rule`, after the first that follows a comment's beginning.
static void read_marks(part *p, const char *line, size_t length, unsigned number) {
    char copy[400];
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    char *comment = strstr(copy, "//");
    if (!comment) comment = strstr(copy, "/*");
    for (char *at = comment; at && *at; at++) {
        if (at[0] != ' ' || (at[1] != '!' && at[1] != '~') || at[2] != ' ') continue;
        mark m = {.line = number, .nearly = at[1] == '~'};
        size_t rule = strcspn(at + 3, ": !~");
        snprintf(m.rule, sizeof m.rule, "%.*s", (int)rule, at + 3);
        at += 3 + rule;
        if (*at == ':') {
            char *end = strstr(at, " ! ");
            size_t text = end ? (size_t)(end - at) : strlen(at);
            snprintf(m.text, sizeof m.text, "%.*s", (int)text - 2, at + 2);
            at += text;
        }
        (m.nearly ? nearly : broken)[index_of(m.rule)] = true;
        assert_true(p->count < MARKS_MAX);
        p->mark[p->count++] = m;
        at--;
    }
}

static void check_finding(part *p, const cj_diagnostic *d) {
    for (size_t i = 0; i < p->count; i++) {
        mark *m = &p->mark[i];
        if (m->nearly || m->met || m->line != d->line || strcmp(m->rule, d->rule) || !strstr(d->message, m->text))
            continue;
        m->met = true;
        return;
    }
    print_error("%s:%u (%s): not expected: [%s] %s\n", p->file, p->line + d->line - 1, p->name, d->rule, d->message);
    mistakes++;
}

static void check_part(part *p, const char *from, size_t length) {
    cj_text text = {0};
    bool has_head = false;
    for (size_t i = 0; i + 9 < length; i++) has_head |= !strncmp(from + i, "\n.version", 9);
    if (!has_head) cj__text_puts(&text, HEAD);
    cj__text_add(&text, from, length);
    unsigned number = 1;
    for (size_t at = 0; at < length; number++) {
        const char *end = memchr(from + at, '\n', length - at);
        size_t line = end ? (size_t)(end - from) - at : length - at;
        if (number == 1) snprintf(p->name, sizeof p->name, "%.*s", (int)line, from + at);
        else read_marks(p, from + at, line, number);
        at += line + 1;
    }
    cj_report *report = NULL;
    cj_error error = {0};
    cj_test_ok(cj_check_ptx(text.data, text.length, NULL, &report, &error), &error);
    for (size_t i = 0; i < cj_report_count(report); i++) check_finding(p, cj_report_at(report, i));
    for (size_t i = 0; i < p->count; i++) {
        const mark *m = &p->mark[i];
        if (m->nearly || m->met) continue;
        print_error("%s:%u (%s): not found: [%s] %s\n", p->file, p->line + m->line - 1, p->name, m->rule, m->text);
        mistakes++;
    }
    cj_report_destroy(report);
    cj__text_free(&text);
}

static void check_file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, CJ_TEST_DIR "/golden/check/%s", name);
    char *text = cj_test_read(path);
    assert_non_null(text);
    unsigned line = 1;
    const char *at = strstr(text, "// ----");
    for (const char *c = text; at && c < at; c++) line += *c == '\n';
    while (at) {
        const char *next = strstr(at + 1, "\n// ----");
        size_t length = next ? (size_t)(next + 1 - at) : strlen(at);
        part p = {.file = name, .line = line};
        check_part(&p, at, length);
        for (size_t i = 0; i < length; i++) line += at[i] == '\n';
        at = next ? next + 1 : NULL;
    }
    free(text);
}

// Calls it for every .ptx file of a directory.
static void each_file(const char *directory, void (*call)(const char *name)) {
    DIR *opened = opendir(directory);
    unsigned files = 0;
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));)
        if (strstr(entry->d_name, ".ptx")) call(entry->d_name), files++;
    closedir(opened);
    assert_true(files > 0);
}

static void findings_are_where_they_belong(void **state) {
    (void)state;
    each_file(CJ_TEST_DIR "/golden/check", check_file);
    assert_int_equal(mistakes, 0);
}

static void check_clean(const char *request, uint64_t digest, void *user) {
    (void)digest, (void)user;
    char      *text = cj_test_emit_request(request);
    cj_report *report = NULL;
    cj_error error = {0};
    cj_test_ok(cj_check_ptx(text, strlen(text), NULL, &report, &error), &error);
    const cj_diagnostic *first = cj_report_at(report, 0);
    if (first) fail_msg("%s: line %u: [%s] %s", request, first->line, first->rule, first->message);
    cj_report_destroy(report);
    cj_text_free(text);
}

static void what_the_templates_emit_is_clean(void **state) {
    (void)state;
    cj_test_each_recorded(1, check_clean, NULL);
}

static bool is_elsewhere(const char *rule) {
    for (size_t i = 0; i < CJ_TEST_COUNT(elsewhere); i++)
        if (!strcmp(elsewhere[i], rule)) return true;
    return false;
}

static void every_rule_is_broken_and_nearly_broken(void **state) {
    (void)state;
    unsigned missing = 0;
    assert_true(cj_rule_count() <= RULES_MAX);
    for (size_t i = 0; i < cj_rule_count(); i++) {
        const char *rule = cj_rule_at(i)->id;
        if (is_elsewhere(rule) || (broken[i] && nearly[i])) continue;
        print_error("no golden file %sbreaks the rule '%s'\n", broken[i] ? "nearly " : "", rule);
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_where_they_belong),
        cmocka_unit_test(every_rule_is_broken_and_nearly_broken),
        cmocka_unit_test(what_the_templates_emit_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
