// SPDX-License-Identifier: Apache-2.0
// The command that repeats what this one has found.
#ifndef PTXGEN_REPEAT_H
#define PTXGEN_REPEAT_H

#include "launch.h"
#include "machine.h"

// The words of the command line, from the command's name on; the caller keeps them.
typedef struct repeat {
    int    argc;
    char **argv;
} repeat;

// The same command with the schedule of `machine` and, if it is given, the entry and the shape of `launch`; without
// --minimize. Freed by the caller; NULL: no memory.
char *repeat_text(const repeat *r, const machine_options *machine, const char *entry, const launch_options *launch);

#endif
