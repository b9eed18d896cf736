// SPDX-License-Identifier: Apache-2.0
// The stencil's test, for both devices: the same bits as the host's results, computed in the documented order.
#ifndef CJ_TESTS_STENCIL_CASES_H
#define CJ_TESTS_STENCIL_CASES_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

// One problem, given as the family's "name=value" words, with random grids and, unless the words give weights, random
// weights: launched twice on one kernel, each time on a poisoned output, and compared with the host's results. Fails
// the running test at the first wrong element. Returns false, without a run, if the plan refuses it because registers
// or shared memory do not suffice (strategy=resident, form=registers).
bool cj_test_stencil(cj_device *device, const char *words, uint64_t *random);

// Draws random problems of at most `points` points along an axis, with every strategy, form, boundary, shape, type and
// dimension, until `count` have run; others are refused by name. Returns how many have run: fewer only if 20 draws for
// each did not suffice.
size_t cj_test_stencil_random(cj_device *device, size_t count, uint32_t points, uint64_t *random);

// FEATURES row 7: weights 0.25, 0.5, 0.25, tiles of 256, several lengths, clusters of each allowed size.
void cj_test_stencil_three_point(cj_device *device, const uint32_t *n, size_t count);

// The typed calls: create and run; in one call, with two lists of weights in turn; a pointer that is not aligned.
void cj_test_stencil_calls(cj_device *device);

#endif
