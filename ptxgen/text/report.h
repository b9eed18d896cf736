// SPDX-License-Identifier: Apache-2.0
// Collects findings. The parser and the checker add to one; memory that runs out is remembered, not reported by each.
#ifndef CJ_PTXGEN_REPORT_H
#define CJ_PTXGEN_REPORT_H

#include <clusterjit/check.h>

#include "arena.h"

struct cj_report {
    cj_arena       arena;
    cj_diagnostic *item;
    size_t         count, capacity, errors;
};

// Adds a finding of a rule; its severity is the rule's own (rules.def). Formats the message; the hint is empty until
// cj__report_hint adds one to the last finding.
void cj__report_add(cj_report *report, const char *rule, unsigned line, unsigned column, const char *format, ...)
    CJ_PRINTF(5, 6);
void cj__report_hint(cj_report *report, const char *format, ...) CJ_PRINTF(2, 3);

// Takes the findings of a rule out again.
void cj__report_drop(cj_report *report, const char *rule);

// Puts the findings in the order of the text.
void cj__report_sort(cj_report *report);

// The first error of the text as a cj_error (INVALID_KERNEL), OUT_OF_MEMORY when the arena ran out, or OK.
cj_status cj__report_status(const cj_report *report, cj_error *error);

#endif
