// SPDX-License-Identifier: Apache-2.0
// The stencil's test, for either device: bit for bit what a host computes in the documented order.
#ifndef CJ_TESTS_STENCIL_CASES_H
#define CJ_TESTS_STENCIL_CASES_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

// One problem, given as the family's "name=value" words, with random grids and, where there are none among the words,
// random weights: launched twice on one kernel, each time on a poisoned output, and held against the host. Fails the
// running test at the first wrong element. False where the plan refuses it for want of room (strategy=resident,
// form=registers), and then nothing was run.
bool cj_test_stencil(cj_device *device, const char *words, uint64_t *random);

// Draws random problems of at most `points` points along an axis, every way, form, boundary, shape, type and dimension, until
// `count` have run: others are refused by name. Returns how many have run, fewer only where 20 draws for each did not do.
size_t cj_test_stencil_random(cj_device *device, size_t count, uint32_t points, uint64_t *random);

// FEATURES row 7: weights 0.25, 0.5, 0.25, tiles of 256, several lengths, clusters of each size that is allowed.
void cj_test_stencil_three_point(cj_device *device, const uint32_t *n, size_t count);

// The typed calls: created and run; in one call, with two lists of weights by turns; a pointer that is not aligned.
void cj_test_stencil_calls(cj_device *device);

#endif
