// SPDX-License-Identifier: Apache-2.0
// Sorts, for both devices, held against qsort with ties by place.
#ifndef CJ_TESTS_SORT_CASES_H
#define CJ_TESTS_SORT_CASES_H

#include <clusterjit/clusterjit.h>

// How rows are filled. WILD: zeros of both signs, infinities, NaN and denormals among random bits. NEAR: most differ in few low bits, so
// that many have the same prefix: short runs in one half of the row, long ones in the other.
typedef enum cj_sort_fill {
    CJ_SORT_RANDOM,
    CJ_SORT_FEW,
    CJ_SORT_EQUAL,
    CJ_SORT_RISING,
    CJ_SORT_FALLING,
    CJ_SORT_WILD,
    CJ_SORT_NEAR,
    CJ_SORT_FILLS
} cj_sort_fill;

// Sorts twice on one workspace, and checks every result, and that nothing is written after them.
void cj_test_sort(cj_device *device, const char *words, cj_sort_fill fill, uint64_t seed);

// Rows about what a warp, a block and a cluster hold; a shape drawn from the seed, with `most` columns or fewer.
void cj_test_sort_bounds(cj_device *device, uint64_t seed);
void cj_test_sort_random(cj_device *device, uint64_t *seed, uint64_t most);

// Segments of lengths drawn from the seed, by the typed call with and without a handle; `most`: the longest.
void cj_test_sort_segments(cj_device *device, uint64_t *seed, uint64_t most);

// The same by lists and the grid, whose tiles are so small that segments of `most` elements have many.
void cj_test_sort_lists(cj_device *device, uint64_t *seed, uint64_t most);

void cj_test_sort_call(cj_device *device);
void cj_test_sort_pairs(cj_device *device);  // the typed call with a payload

#endif
