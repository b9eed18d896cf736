// SPDX-License-Identifier: Apache-2.0
// The report that libcuda.so.1 and the compilers beside it write while a program runs: one JSON object a line.
// docs/maintaining/programs.md lists the kinds and their members.
#ifndef PTXGEN_RECORDS_H
#define PTXGEN_RECORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "finding.h"
#include "sarif.h"

// A finding, in the text that it is about.
typedef struct told {
    document *text;
    finding   what;
    json_t   *record;  // owns the finding's strings
    size_t    count;   // how often it was told
} told;

typedef struct records {
    const char *program;
    json_t     *lines;     // as they stand in the report
    json_t     *warnings;  // refused calls and missing functions, each once, with a count
    document   *texts;     // the PTX of modules; the last is that of no module
    json_t    **modules;   // their names
    size_t      text_count;
    told       *item;
    size_t      count, capacity;
    size_t      hazards, faults, leaks;
    json_t     *end;         // what was counted; NULL: the program has not told it
    bool        any;         // CUDA was called
    bool        sourceless;  // a finding has no line of a source
} records;

// Reads the report. `leaks`: they are findings. Returns an exit code.
int  records_read(records *r, const char *path, const char *program, bool leaks);
void records_free(records *r);

// Shows the findings on standard error, as exec does, missing functions, and launches and modules that were refused; `all`:
// other calls that were refused, too. Returns how many of the latter it did not show.
size_t records_print(const records *r, bool all);

// Adds the findings to SARIF.
void records_sarif(const records *r, sarif *s);

// {"findings": [...], "refused": [...], "unsupported": [...], "counts": {...} or null}
json_t *records_json(const records *r);

// A number of the last line; 0: it was not told.
double records_count(const records *r, const char *name);

#endif
