// SPDX-License-Identifier: Apache-2.0
// Findings on one document: collected, sorted, shown with the line that they are about, or as JSON.
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
void findings_sort(findings *f);                            // by line; findings on one line keep their order
void findings_free(findings *f);

// file:line:column: error: message [rule], the line, a caret, the hint; with colour if `to` is a terminal.
void finding_print(FILE *to, document *d, const cj_diagnostic *what);

// For a text that the library refused: prints a mistake in it as above on standard error. Returns the exit code.
int finding_refuse(document *d, const cj_error *error);

json_t *finding_json(const document *d, const cj_diagnostic *what);

#endif
