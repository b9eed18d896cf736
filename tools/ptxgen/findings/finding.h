// SPDX-License-Identifier: Apache-2.0
// Findings on one document: collected, sorted, shown with the line that they are about, or as JSON.
#ifndef PTXGEN_FINDING_H
#define PTXGEN_FINDING_H

#include <jansson.h>
#include <stdio.h>

#include "document.h"

typedef struct finding {
    cj_diagnostic what;        // the strings are borrowed from the report or hazard
    unsigned      other;       // a hazard's first party: the line of the PTX; 0: there is none
    const char   *other_what;  // its instruction; NULL: this is no hazard
    size_t        more;        // hazards of the same lines of the source, at other lines of the PTX, that it stands for
    const char   *symbol, *variable;  // the variable that a hazard is about, as the PTX and as the source name it; NULL: none
    const char   *repeat;      // a command that shows it again; NULL: this one
    size_t        order;
} finding;

typedef struct findings {
    finding *item;
    size_t   count, capacity, errors;
} findings;

int  findings_add(findings *f, const finding *what);        // returns an exit code
void findings_sort(findings *f);                            // by line; within a line as they were added
// Leaves one hazard of those that have the same rule and the same lines of the source: an unrolled loop shows one fault many times.
void findings_merge(findings *f, document *d);
void findings_free(findings *f);

// file:line:column: error: message [rule], the line, a caret, notes, the hint; with colour where `to` is a terminal. Where the
// PTX tells of its source, and that can be read, the place and the line are the source's, and the PTX line is a note.
void finding_print(FILE *to, document *d, const finding *f);

// What the library says of a text that it refused (INVALID_KERNEL); it borrows the error's strings.
finding finding_of(const cj_error *error);

// For a text that the library refused: prints a mistake in it as above on standard error. Returns the exit code.
int finding_refuse(document *d, const cj_error *error);

json_t *finding_json(document *d, const finding *f);

#endif
