// SPDX-License-Identifier: Apache-2.0
// The scan's test, for both devices: kernels of given parameters on random rows, compared with a reference in wider
// arithmetic. Outputs are in poisoned memory, also between rows; every kernel is launched twice on its workspace.
#ifndef CJ_TESTS_SCAN_CASES_H
#define CJ_TESTS_SCAN_CASES_H

#include <clusterjit/clusterjit.h>

// One kernel: `words` are the family's parameters as "name=value" words; x and out are moved by `shift` elements. Fails
// the running test at the first wrong element.
void cj_test_scan(cj_device *device, const char *words, unsigned shift, uint64_t seed);

// A kernel drawn from the seed, of at most about `most` elements.
void cj_test_scan_random(cj_device *device, uint64_t *seed, uint64_t most);

// The typed call, in place, through a handle and in one call; and what it refuses.
void cj_test_scan_call(cj_device *device);

// The same with segments, by flags and by offsets.
void cj_test_scan_call_segmented(cj_device *device);

// An associative operation that is not commutative, written in PTX: the order is kept, in segments, too.
void cj_test_scan_user(cj_device *device);

#endif
