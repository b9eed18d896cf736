// SPDX-License-Identifier: Apache-2.0
// Manual pages from the tables that --help is printed from, and that of the library from its public headers.
#ifndef PTXGEN_MAN_H
#define PTXGEN_MAN_H

#include <stdio.h>

#include "command.h"

// `ptxgen man`: argv[0] is its name. The table of commands ends with {0}.
int man_run(const command *commands, int argc, char **argv);

// clusterjit(3), from the public headers in a directory. Returns an exit code.
int man_library(FILE *to, const char *headers);

// The section of the variables of the environment.
void man_environment(FILE *to);

extern const args_spec man_spec;

#endif
