// SPDX-License-Identifier: Apache-2.0
// What `ptxgen run` hands to the code that knows how to feed and check one family.
#ifndef PTXGEN_RUN_H
#define PTXGEN_RUN_H

#include "args.h"
#include "machine.h"

typedef struct run_options {
    const char *device, *arch, *input, *fill;  // arch and input may be NULL
    unsigned    repeat;                        // timed launches; 0: as many as suit the device
    bool        json;
    machine_options machine;
} run_options;

int run_reduce(const run_options *options, const args_family *family);

#endif
