// SPDX-License-Identifier: Apache-2.0
// Functions on the command line: expressions in CUDA C.
#ifndef PTXGEN_FUNCTIONS_H
#define PTXGEN_FUNCTIONS_H

#include "args.h"

// Compiles the given expressions, for the family's dtype, into its parameters. Returns an exit code.
int functions_compile(args_family *family);

#endif
