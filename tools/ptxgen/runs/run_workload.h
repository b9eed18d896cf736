// SPDX-License-Identifier: Apache-2.0
// The options of `ptxgen run`.
#ifndef PTXGEN_RUN_WORKLOAD_H
#define PTXGEN_RUN_WORKLOAD_H

#include "args.h"
#include "machine.h"
#include "repeat.h"

typedef struct run_options {
    const char     *device, *arch, *input, *fill, *output;  // all but the device may be NULL
    const char     *gpus, *collective;                      // of a family of one GPU on several; NULL: on one
    unsigned        chunks;                                 // 0: as many as are predicted best
    unsigned        repeat;                                 // timed launches; 0: as many as suit the device
    bool            json, minimize;
    machine_options machine;
    repeat          words;
} run_options;

// Launches a kernel on a workload of the family, checks its results and shows them. Returns an exit code.
int run_workload(const run_options *options, const args_family *family);

#endif
