// SPDX-License-Identifier: Apache-2.0
// How long a command will take on the CPU device, from two small trials of the same problem: said on standard error
// before it begins, with a smaller size, where that is more than some seconds.
#ifndef PTXGEN_ESTIMATE_H
#define PTXGEN_ESTIMATE_H

#include "workload.h"

// How often a command launches and checks a workload.
typedef struct estimate_use {
    unsigned launches, checks;
} estimate_use;

// For a workload that has its device and parameters and is not open yet. Does nothing on a GPU, for small problems, and
// where the input is a file. The trials take about a second.
void estimate_say(const workload *w, estimate_use use);

#endif
