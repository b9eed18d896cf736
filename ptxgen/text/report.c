// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

// ---- the rules

static const cj_rule rules[] = {
#define CJ_RULE(id, severity, sentence, example) {id, CJ_SEVERITY_##severity, sentence, example},
#include "rules.def"
#undef CJ_RULE
};

enum { RULE_COUNT = sizeof rules / sizeof *rules };

size_t cj_rule_count(void) { return RULE_COUNT; }

const cj_rule *cj_rule_at(size_t index) { return index < RULE_COUNT ? &rules[index] : NULL; }

const cj_rule *cj_rule_find(const char *id) {
    for (size_t i = 0; id && i < RULE_COUNT; i++)
        if (!strcmp(rules[i].id, id)) return &rules[i];
    return NULL;
}

// ---- findings

// The formatted text in the report's arena; "" when that is out of memory, which the arena remembers.
CJ_PRINTF(2, 0) static const char *formatted(cj_report *report, const char *format, va_list args) {
    char text[900];
    vsnprintf(text, sizeof text, format, args);
    const char *copy = cj__arena_text(&report->arena, text, strlen(text));
    return copy ? copy : "";
}

// Of a rule, which often is that of the finding before.
static cj_severity severity_of(const cj_report *report, const char *id) {
    const cj_diagnostic *last = report->count ? &report->item[report->count - 1] : NULL;
    if (last && last->rule == id) return last->severity;
    const cj_rule *rule = cj_rule_find(id);
    return rule ? rule->severity : CJ_SEVERITY_ERROR;
}

void cj__report_add(cj_report *report, const char *id, unsigned line, unsigned column, const char *format, ...) {
    cj_diagnostic *grown = cj__arena_grow(&report->arena, report->item, report->count, &report->capacity,
                                          sizeof *grown);
    if (!grown) return;
    report->item = grown;
    const cj_severity severity = severity_of(report, id);
    va_list           args;
    va_start(args, format);
    grown[report->count++] = (cj_diagnostic){.severity = severity, .rule = id, .line = line, .column = column,
                                             .message = formatted(report, format, args), .hint = ""};
    va_end(args);
    report->errors += severity == CJ_SEVERITY_ERROR;
}

void cj__report_hint(cj_report *report, const char *format, ...) {
    if (!report->count || report->arena.failed) return;
    va_list args;
    va_start(args, format);
    report->item[report->count - 1].hint = formatted(report, format, args);
    va_end(args);
}

void cj__report_drop(cj_report *report, const char *id) {
    size_t kept = 0;
    for (size_t i = 0; i < report->count; i++) {
        const bool drops = !strcmp(report->item[i].rule, id);
        report->errors -= drops && report->item[i].severity == CJ_SEVERITY_ERROR;
        if (!drops) report->item[kept++] = report->item[i];
    }
    report->count = kept;
}

static bool is_before(const cj_diagnostic *a, const cj_diagnostic *b) {
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

static void merge(cj_diagnostic *to, const cj_diagnostic *a, size_t a_count, const cj_diagnostic *b, size_t b_count) {
    while (a_count || b_count) {
        bool take_b = !a_count || (b_count && is_before(b, a));
        *to++ = take_b ? *b++ : *a++;
        *(take_b ? &b_count : &a_count) -= 1;
    }
}

void cj__report_sort(cj_report *report) {
    size_t count = report->count;
    if (!count) return;
    cj_diagnostic *from = report->item, *to = cj__arena_alloc(&report->arena, count * sizeof *to);
    if (!to) return;
    for (size_t width = 1; width < count; width *= 2) {  // merge sort: findings at one place stay in their order
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t left = count - at < width ? count - at : width, rest = count - at - left;
            merge(to + at, from + at, left, from + at + left, rest < width ? rest : width);
        }
        cj_diagnostic *other = from;
        from = to;
        to = other;
    }
    report->item = from;
    report->capacity = count;
}

cj_status cj__report_status(const cj_report *report, cj_error *error) {
    if (report->arena.failed) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while checking PTX");
    const cj_diagnostic *first = NULL;
    for (size_t i = 0; i < report->count; i++) {
        const cj_diagnostic *d = &report->item[i];
        if (d->severity == CJ_SEVERITY_ERROR && (!first || is_before(d, first))) first = d;
    }
    if (!first) return CJ_OK;
    cj__fail(error, CJ_INVALID_KERNEL, "%s", first->message);
    cj__hint(error, "%s", first->hint);
    cj__rule(error, first->rule);
    if (error) error->line = first->line, error->column = first->column;
    return CJ_INVALID_KERNEL;
}
