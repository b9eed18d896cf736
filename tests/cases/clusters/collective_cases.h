// SPDX-License-Identifier: Apache-2.0
// The collectives' test, for both devices: kernels of family collective on poisoned outputs, compared with the model
// that `ptxgen run` uses, bit for bit.
#ifndef CJ_TESTS_COLLECTIVE_CASES_H
#define CJ_TESTS_COLLECTIVE_CASES_H

#include <clusterjit/clusterjit.h>

// Runs the kernel of these parameters ("name=value name=value …"), twice on poisoned outputs. Fails the running cmocka test
// at the first wrong byte. Returns the cycles that the rounds took in block 0.
uint64_t cj_test_collective(cj_device *device, const char *params);

// Each collective with both strategies, `draws` times with everything else drawn at random from *state: type, size and
// shape of the cluster, root, distance, values or arrays of up to `count` elements, rounds. Prints the number of
// launches.
void cj_test_collectives(cj_device *device, uint64_t *state, unsigned draws, uint32_t count);

#endif
