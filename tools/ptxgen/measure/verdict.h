// SPDX-License-Identifier: Apache-2.0
// Whether a cluster pays: compares the fastest kernel with clusters of two or more blocks with the fastest without
// clusters, of any form. Uses only times.
#ifndef PTXGEN_VERDICT_H
#define PTXGEN_VERDICT_H

#include "measure.h"

// A kernel that was measured.
typedef struct verdict_time {
    uint32_t           cluster;  // blocks of its cluster; 0: launched without clusters
    const measurement *time;
} verdict_time;

enum { VERDICT_TEXT = 320 };

typedef struct verdict {
    size_t with, without;  // the index of the fastest of each; `count` if there is none
    int    pays;           // 1: faster beyond the spread; 0: no difference beyond it, or one is missing; -1: slower
    char   text[VERDICT_TEXT];  // a sentence
} verdict;

// A cluster of one block counts as neither: it has no peers, but it is launched as a cluster.
void verdict_of(const verdict_time *times, size_t count, verdict *v);

#endif
