// SPDX-License-Identifier: Apache-2.0
// run --output: the kernel's outputs as .npy files.
#ifndef PTXGEN_RUN_OUTPUT_H
#define PTXGEN_RUN_OUTPUT_H

#include "workload.h"

// Before anything runs: refuses a name without .npy, or a file that cannot be written. Returns an exit code.
int run_output_check(const char *path);

// Writes the first of the workload's outputs to `path`, FILE.npy, and each other one to FILE.NAME.npy. Returns an exit code.
int run_output_write(const workload *w, const cj_kernel *kernel, const char *path);

#endif
