// SPDX-License-Identifier: Apache-2.0
// What compare does. It times the plan's own choice and, without clusters and with each cluster size, the forms that
// the family's table has values for (`tune`, or the choices of a `strategy`). It changes one parameter at a time: first
// of the plan's form for that size, then of the fastest form so far. All forms are timed roughly, the better ones raced
// in a few rounds, and the best of each size is checked and measured in many rounds. Before those last rounds it takes
// SEARCH_SECONDS at most; values that are then left out are counted. If times mean nothing (the CPU device), each size
// has the plan's form.
#ifndef PTXGEN_COMPARE_H
#define PTXGEN_COMPARE_H

#include "study.h"
#include "verdict.h"

// How well a time is known: not at all, by a few rounds, by all rounds.
typedef enum form_stage { FORM_NEW, FORM_TRIED, FORM_MEASURED } form_stage;

// A kernel that was tried.
typedef struct form {
    cj_params   params;   // the problem, with values for some of its open parameters
    variant    *v;        // its kernel and its times
    uint32_t    blocks;   // that work together, if each number of them is a problem of its own; else 0
    uint32_t    cluster;  // blocks of a cluster; 0: launched without clusters
    double      glance;   // milliseconds
    measurement time;
    form_stage  stage;  // of `time`
} form;

// The start of a search: the problem with a cluster size, which the plan need not have chosen.
typedef struct seed {
    cj_params params;
    uint32_t  blocks, cluster;  // as in a form
} seed;

// A line of the result: the best form of a cluster size, or the plan's own choice if that is another form.
typedef struct line {
    uint32_t    blocks, cluster;
    const form *best;                   // NULL: no form can be launched
    bool        is_plan;                // it is the plan's own choice
    char        refused[STUDY_REASON];  // why there is none
} line;

enum { COMPARE_LINES = 64, COMPARE_GROUPS = 8, COMPARE_SEEDS = 16, COMPARE_SIZES = 6 };

// One question: for a number of blocks that work together, or for the problem.
typedef struct group {
    uint32_t blocks;  // 0: the problem
    verdict  verdict;
    size_t   first, count;  // lines; the verdict's `with` and `without` are indices of lines, too, from `first`
} group;

typedef struct comparison {
    study       s;
    const bool *given;  // parameters that the command line set
    bool        timed;  // times mean something
    form       *forms;
    size_t      count, left_out;  // forms; values for which there was no time
    seed        seeds[COMPARE_SEEDS];
    size_t      seed_count;
    const form *plan;  // the plan's own choice; NULL if each size is a problem of its own
    line        lines[COMPARE_LINES];
    size_t      line_count;
    cj_error    why;  // the library's first refusal; OK: there was none
    group       groups[COMPARE_GROUPS];
    size_t      group_count;
    double      begun;
} comparison;

// Call them in this order; each returns an exit code after its message. Call compare_close also after a failure.
int  compare_open(comparison *c, const study_options *options, const args_family *family);
int  compare_search(comparison *c);
void compare_close(comparison *c);

// "form=spread blocks=32": the form, and the values that were tried for it; returns `buffer`.
enum { COMPARE_TEXT = 256 };
const char *compare_choice(const comparison *c, const form *f, char buffer[COMPARE_TEXT]);

#endif
