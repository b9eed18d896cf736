// SPDX-License-Identifier: Apache-2.0
// How long a command will take on the CPU device, estimated from two small trials of the same problem. If that is more
// than some seconds, prints it on standard error before the command begins, with a smaller size.
#ifndef PTXGEN_ESTIMATE_H
#define PTXGEN_ESTIMATE_H

#include "workload.h"

// How many times a command launches and checks a workload.
typedef struct estimate_use {
    unsigned launches, checks;
} estimate_use;

// For a workload that has its device and parameters and is not open yet. Does nothing on a GPU, for small problems, and
// if the input is a file. The trials take about a second.
void estimate_say(const workload *w, estimate_use use);

#endif
