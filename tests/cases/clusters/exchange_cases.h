// SPDX-License-Identifier: Apache-2.0
// The exchange's test, for both devices: one description, launched twice on poisoned output between guards, compared
// with the host's result from the same bytes.
#ifndef CJ_TESTS_EXCHANGE_CASES_H
#define CJ_TESTS_EXCHANGE_CASES_H

#include <clusterjit/clusterjit.h>

// Fails the running test at the first wrong byte. `x` and `out` begin desc->align bytes after an aligned address if
// that is less than 16.
void cj_test_exchange(cj_device *device, const cj_exchange_desc *desc);

// The same with a description drawn at random: every pattern, strategy and type, sizes around boundaries, odd group
// sizes, several groups and rounds; about `bytes` bytes a chunk at most.
void cj_test_exchange_random(cj_device *device, uint64_t *state, uint32_t bytes);

#endif
