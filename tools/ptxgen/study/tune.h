// SPDX-License-Identifier: Apache-2.0
// What tune does. It begins with the plan's own choice, and changes one open parameter at a time to each value that the
// family's table names: first in the plan's choice, then in the fastest candidate so far, until the few fastest have no
// untried neighbours. Each candidate is checked and measured in a few rounds; the best ones and the plan's choice are
// measured in many, and checked again. The results of the plan's choice and of the fastest candidate are checked whole.
#ifndef PTXGEN_TUNE_H
#define PTXGEN_TUNE_H

#include "study.h"

typedef struct candidate {
    cj_params params;  // the problem, with values for its open parameters; the plan may still choose some
    cj_params planned;  // the same with what the plan chooses
    variant  *v;       // its kernel and its times; NULL: the plan refuses it
    char      refused[STUDY_REASON];  // the reason
    bool      expanded;               // every candidate that differs from it in one parameter has been tried
    bool      final;                  // measured in all rounds
} candidate;

typedef struct tune {
    study       s;
    size_t      open[CJ_PARAM_MAX], open_count;  // indices of the open parameters
    candidate  *candidates;                      // no two have the same plan; the first is the plan's default
    size_t      count;
    candidate **ranking;  // the launchable candidates; after measuring, the fastest first
    size_t      ranked, checked;
} tune;

// Call them in this order; each returns an exit code after its message. Call tune_close also after a failure. Without
// times only the candidates that differ from the plan's choice in one parameter are checked, all of them whole.
int  tune_open(tune *t, const study_options *options, const args_family *family);
int  tune_search(tune *t, bool timed);
void tune_close(tune *t);

const candidate *tune_plan(const tune *t);    // the plan's default
const candidate *tune_winner(const tune *t);  // NULL: none is faster than that, beyond the spread

// Why a candidate cannot be launched; NULL: it can.
const char *tune_refusal(const candidate *c);

// The values that were tried for the open parameters, "tile=128x128 cluster=2"; returns `buffer`.
enum { TUNE_TEXT = 256 };
const char *tune_choice(const tune *t, const candidate *c, char buffer[TUNE_TEXT]);

#endif
