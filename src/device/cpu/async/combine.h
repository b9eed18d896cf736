// SPDX-License-Identifier: Apache-2.0
// What asynchronous reductions do to each element (PTX ISA, "red.async", "cp.reduce.async.bulk").
#ifndef CJ_CPU_COMBINE_H
#define CJ_CPU_COMBINE_H

#include "async.h"

// The function for an operation and a type, both words of a mnemonic; NULL where PTX has none. FTZ is a sum that
// flushes subnormals.
cj_cpu_combine cj__cpu_combine_of(cj_word operation, cj_word type);
// The same for an operation named in a mnemonic.
cj_cpu_combine cj__cpu_combine_in(const cj_mnemonic *mnemonic, cj_word type);
// A sum of f64 in global memory: of two NaNs the added one stays, and signalling ones stay as they are (an H200's).
double cj__cpu_global_sum(double old, double b);

#endif
