// SPDX-License-Identifier: Apache-2.0
// What tune goes through. It begins with what the plan has by itself, and changes one of the parameters that are left
// open at a time, to each value that the family's table names: first of the plan's choice, then of the fastest so far,
// until the few fastest have nothing untried beside them. Each is checked; all are measured in a few rounds, and the
// best of them beside the plan's choice in many.
#ifndef PTXGEN_TUNE_H
#define PTXGEN_TUNE_H

#include "study.h"

typedef struct candidate {
    cj_params params;  // the problem, with values for what it leaves open; some may still be left to the plan
    variant  *v;       // its kernel and its times; NULL: the plan refuses it
    char      refused[STUDY_REASON];  // and this is why
    bool      expanded;               // all that differs from it in one parameter was tried
    bool      final;                  // measured in all rounds
} candidate;

typedef struct tune {
    study       s;
    size_t      open[CJ_PARAM_MAX], open_count;  // indices of the parameters that are left open
    candidate  *candidates;                      // no two have the same plan; the first is the plan's default
    size_t      count;
    candidate **ranking;  // the launchable candidates; after measuring, the fastest first
    size_t      ranked, checked;
} tune;

// In this order; each returns an exit code after its message, and tune_close may follow any of them. Without times it
// is what differs from the plan's choice in one parameter that is checked.
int  tune_open(tune *t, const study_options *options, const args_family *family);
int  tune_search(tune *t, bool timed);
void tune_close(tune *t);

const candidate *tune_plan(const tune *t);    // the plan's default
const candidate *tune_winner(const tune *t);  // NULL: none is faster than that, beyond the spread

// Why a candidate cannot be launched; NULL: it can.
const char *tune_refusal(const candidate *c);

// The values that were tried, "tile=128x128 cluster=2", of what the problem leaves open; returns `buffer`.
enum { TUNE_TEXT = 256 };
const char *tune_choice(const tune *t, const candidate *c, char buffer[TUNE_TEXT]);

#endif
