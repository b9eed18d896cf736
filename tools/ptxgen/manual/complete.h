// SPDX-License-Identifier: Apache-2.0
// Completion of command lines in shells, from the tables that --help is printed from.
#ifndef PTXGEN_COMPLETE_H
#define PTXGEN_COMPLETE_H

#include "command.h"

// `ptxgen complete`: argv[0] is its name. The table of commands ends with {0}.
int complete_run(const command *commands, int argc, char **argv);

extern const args_spec complete_spec;

#endif
