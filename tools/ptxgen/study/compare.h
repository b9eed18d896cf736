// SPDX-License-Identifier: Apache-2.0
// What compare goes through: the plan's own choice, and without clusters and with each cluster size the forms that the
// family's table names values for (`tune`, or the choices of a `strategy`), one changed at a time, first of what the plan
// has for that size, then of the fastest so far. All are glanced at, the better ones raced in a few rounds, the best of
// each size, checked, in many. It takes SEARCH_SECONDS at most until the last rounds; what is left out then is counted.
// Where times say nothing (the CPU device) each size has the plan's form.
#ifndef PTXGEN_COMPARE_H
#define PTXGEN_COMPARE_H

#include "study.h"
#include "verdict.h"

// How well a time is known: not at all, by a few rounds, by all of them.
typedef enum form_stage { FORM_NEW, FORM_TRIED, FORM_MEASURED } form_stage;

// A kernel that was tried.
typedef struct form {
    cj_params   params;   // the problem, with values for some of what it leaves open
    variant    *v;        // its kernel and its times
    uint32_t    blocks;   // that work together, where each number of them is a problem of its own; else 0
    uint32_t    cluster;  // blocks of a cluster; 0: launched without clusters
    double      glance;   // milliseconds
    measurement time;
    form_stage  stage;  // of `time`
} form;

// What other forms are made from: the problem with a cluster size, which a plan need not have taken.
typedef struct seed {
    cj_params params;
    uint32_t  blocks, cluster;  // as in a form
} seed;

// A line of the result: the best form of a cluster size, or the plan's own choice where that is another one.
typedef struct line {
    uint32_t    blocks, cluster;
    const form *best;                   // NULL: none can be launched
    bool        is_plan;                // it is the plan's own choice
    char        refused[STUDY_REASON];  // why there is none
} line;

enum { COMPARE_LINES = 64, COMPARE_GROUPS = 8, COMPARE_SEEDS = 16, COMPARE_SIZES = 6 };

// One question: of a number of blocks that work together, or of the problem.
typedef struct group {
    uint32_t blocks;  // 0: the problem
    verdict  verdict;
    size_t   first, count;  // lines; the verdict's `with` and `without` are such indices too, from `first`
} group;

typedef struct comparison {
    study       s;
    const bool *given;  // parameters that stood on the command line
    bool        timed;  // times say something
    form       *forms;
    size_t      count, left_out;  // forms; values that there was no time for
    seed        seeds[COMPARE_SEEDS];
    size_t      seed_count;
    const form *plan;  // the plan's own choice; NULL where each size is a problem of its own
    line        lines[COMPARE_LINES];
    size_t      line_count;
    cj_error    why;  // the first refusal of the library; OK: there was none
    group       groups[COMPARE_GROUPS];
    size_t      group_count;
    double      begun;
} comparison;

// In this order; each returns an exit code after its message, and compare_close may follow any of them.
int  compare_open(comparison *c, const study_options *options, const args_family *family);
int  compare_search(comparison *c);
void compare_close(comparison *c);

// "form=spread blocks=32": what form it is, and the values that were tried for it; returns `buffer`.
enum { COMPARE_TEXT = 256 };
const char *compare_choice(const comparison *c, const form *f, char buffer[COMPARE_TEXT]);

#endif
