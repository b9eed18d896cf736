// SPDX-License-Identifier: Apache-2.0
// check --run: a file's entries on the CPU device, with every access watched.
#ifndef PTXGEN_CHECK_RUN_H
#define PTXGEN_CHECK_RUN_H

#include <jansson.h>

#include "finding.h"
#include "launch.h"
#include "machine.h"
#include "repeat.h"

// A hazard, and the first schedule that showed it.
typedef struct seen_hazard {
    cj_hazard       hazard;
    unsigned        entry;  // number of the entry, in the order in which they ran
    size_t          index;  // among the hazards of its launch
    machine_options machine;
    char           *repeat;  // owned; NULL: the fixed schedule shows it
} seen_hazard;

// The hazards of one document's launches, each once.
typedef struct check_run {
    seen_hazard *item;
    size_t       count, capacity;
    json_t      *launches;  // each launch is added to it; NULL: the defaults of a launch are printed on standard error
    repeat       words;
    bool         minimize;
    unsigned     entry;  // that runs
} check_run;

// Launches the entry that the options name, else every entry. Returns an exit code for failures of the command, not for
// hazards. `has_errors`: errors have been shown that may keep the document from being loaded.
int check_run_document(check_run *r, const launch_options *launch, const machine_options *machine, document *d,
                       bool has_errors);
// Adds the hazards in the order of the text; they borrow its strings. Returns an exit code.
int  check_run_findings(check_run *r, document *d, findings *found);
void check_run_free(check_run *r);

#endif
