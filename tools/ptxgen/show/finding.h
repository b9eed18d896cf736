// SPDX-License-Identifier: Apache-2.0
// Findings on one document: collected, put in order, shown under the line they are about or as JSON.
#ifndef PTXGEN_FINDING_H
#define PTXGEN_FINDING_H

#include <jansson.h>
#include <stdio.h>

#include "document.h"

typedef struct finding {
    cj_diagnostic what;  // the strings are borrowed from the report or hazard
    size_t        order;
} finding;

typedef struct findings {
    finding *item;
    size_t   count, capacity, errors;
} findings;

int  findings_add(findings *f, const cj_diagnostic *what);  // returns an exit code
void findings_sort(findings *f);                            // by line; within a line as they were added
void findings_free(findings *f);

// file:line:column: error: message [rule], the line, a caret, the hint; with colour where `to` is a terminal.
void finding_print(FILE *to, document *d, const cj_diagnostic *what);

// A text that the library refused: a mistake in it is shown as above on standard error. Returns the exit code.
int finding_refuse(document *d, const cj_error *error);

json_t *finding_json(const document *d, const cj_diagnostic *what);

#endif
