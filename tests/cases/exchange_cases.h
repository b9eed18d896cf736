// SPDX-License-Identifier: Apache-2.0
// The exchange's test, for either device: one description, launched twice on poisoned output with guards about it,
// against what the host makes of the same bytes.
#ifndef CJ_TESTS_EXCHANGE_CASES_H
#define CJ_TESTS_EXCHANGE_CASES_H

#include <clusterjit/clusterjit.h>

// Fails the running test at the first wrong byte. `x` and `out` begin desc->align bytes behind an aligned address where
// that is less than 16.
void cj_test_exchange(cj_device *device, const cj_exchange_desc *desc);

// The same with a description drawn at random: every pattern, strategy and type, sizes around boundaries, odd group
// sizes, several groups and rounds; about `bytes` bytes a chunk at most.
void cj_test_exchange_random(cj_device *device, uint64_t *state, uint32_t bytes);

#endif
