// SPDX-License-Identifier: Apache-2.0
// The test of top-k, for either device: kernels of given parameters on rows of a given kind, against a sort on the
// host.
#ifndef CJ_TESTS_TOPK_CASES_H
#define CJ_TESTS_TOPK_CASES_H

#include <clusterjit/clusterjit.h>

// What rows hold: anything; few different values; one value; ascending or descending ones; NaN, infinities, zeros of
// both signs and subnormals among them.
typedef enum cj_topk_fill {
    CJ_TOPK_RANDOM,
    CJ_TOPK_FEW,
    CJ_TOPK_EQUAL,
    CJ_TOPK_RISING,
    CJ_TOPK_FALLING,
    CJ_TOPK_WILD,
    CJ_TOPK_FILLS
} cj_topk_fill;

// One kernel: `words` are the family's parameters as "name=value" words; x is moved by `shift` elements. Fails the
// running test at the first wrong value or index.
void cj_test_topk(cj_device *device, const char *words, cj_topk_fill fill, unsigned shift, uint64_t seed);

// A kernel and a fill drawn from the seed, with rows of at most `most` elements.
void cj_test_topk_random(cj_device *device, uint64_t *seed, uint64_t most);

// Rows about one, two and three rounds of a small block, with k that the first threshold is guessed for, just so and
// not any more.
void cj_test_topk_rounds(cj_device *device, uint64_t seed);

// The typed call, through a handle and in one call; what it refuses. And without an order, in one call.
void cj_test_topk_call(cj_device *device);
void cj_test_topk_call_unsorted(cj_device *device);

#endif
