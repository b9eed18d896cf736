// SPDX-License-Identifier: Apache-2.0
// The test of top-k, for both devices: kernels of given parameters on rows of a given kind, compared with a sort on the
// host.
#ifndef CJ_TESTS_TOPK_CASES_H
#define CJ_TESTS_TOPK_CASES_H

#include <clusterjit/clusterjit.h>

// The contents of rows: random values; few different values; one value; ascending or descending values; some NaN,
// infinities, zeros of both signs and subnormals.
typedef enum cj_topk_fill {
    CJ_TOPK_RANDOM,
    CJ_TOPK_FEW,
    CJ_TOPK_EQUAL,
    CJ_TOPK_RISING,
    CJ_TOPK_FALLING,
    CJ_TOPK_WILD,
    CJ_TOPK_FILLS
} cj_topk_fill;

// form=radix about its boundaries.
void cj_test_topk_radix(cj_device *device, uint64_t seed);
void cj_test_topk_warp(cj_device *device, uint64_t seed);
void cj_test_topk_parts(cj_device *device, uint64_t seed);

// One kernel: `words` are the family's parameters as "name=value" words; x is moved by `shift` elements. Fails the
// running test at the first wrong value or index.
void cj_test_topk(cj_device *device, const char *words, cj_topk_fill fill, unsigned shift, uint64_t seed);

// A kernel and a fill drawn from the seed, with rows of at most `most` elements.
void cj_test_topk_random(cj_device *device, uint64_t *seed, uint64_t most);

// Rows of about one, two and three rounds of a small block, with values of k for which the first threshold is guessed,
// just still guessed, and no longer guessed.
void cj_test_topk_rounds(cj_device *device, uint64_t seed);

// The typed call, through a handle and in one call, and what it refuses; and the call without an order.
void cj_test_topk_call(cj_device *device);
void cj_test_topk_call_unsorted(cj_device *device);

#endif
