// SPDX-License-Identifier: Apache-2.0
// The workloads of all families, by name.
#ifndef PTXGEN_FAMILIES_H
#define PTXGEN_FAMILIES_H

#include "workload.h"

// The type of a family's workloads; NULL if there is none.
const workload_type *workload_find(const char *family);

// The type of a family of one GPU on several ones, each with data of its own; NULL if there is none.
const workload_type *workload_find_whole(const char *family);

// Prints that the family has no workload; returns the exit code.
int workload_missing(const char *family);

#endif
