// SPDX-License-Identifier: Apache-2.0
// What a row's two sides wrote, and whether it is the same.
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdbool.h>

#include "peers.h"

// Bytes of an output, large enough for either side's.
size_t result_bytes(const peer_problem *problem);

// Whether both sides agree as far as rounding allows; else `words` says where they do not.
bool result_equal(const peer_problem *problem, const void *ours, const void *peer, char *words, size_t size);

#endif
