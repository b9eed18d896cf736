// SPDX-License-Identifier: Apache-2.0
// The histogram's test, for both devices: kernels of given parameters on samples of a given kind, compared with counts
// that the host makes by the definition of a bin. Counts are added to random ones, between guards, twice.
#ifndef CJ_TESTS_HISTOGRAM_CASES_H
#define CJ_TESTS_HISTOGRAM_CASES_H

#include <clusterjit/clusterjit.h>

// How samples are distributed in the range: CJ_FILL_EDGES: the last of a bin, or the first of the next; CJ_FILL_WILD:
// some are outside, NaN or infinite.
typedef enum cj_test_fill {
    CJ_FILL_UNIFORM,
    CJ_FILL_SKEWED,
    CJ_FILL_EQUAL,
    CJ_FILL_SORTED,
    CJ_FILL_TWO,
    CJ_FILL_EDGES,
    CJ_FILL_WILD,
    CJ_FILL_COUNT
} cj_test_fill;

// One kernel: `words` are the family's parameters as "name=value" words; x is moved by `shift` elements. Fails the
// running test at the first wrong count.
void cj_test_histogram(cj_device *device, const char *words, cj_test_fill fill, unsigned shift, uint64_t seed);

// The same, with counts moved by `counts_shift` elements, too.
void cj_test_histogram_at(cj_device *device, const char *words, cj_test_fill fill, unsigned shift, unsigned counts_shift,
                          uint64_t seed);

// A kernel, a fill and a shift drawn from the seed, with at most `most` samples.
void cj_test_histogram_random(cj_device *device, uint64_t *seed, uint64_t most);

// result=set, of few samples: counts are overwritten by one block, or by the blocks that share the bins.
void cj_test_histogram_few(cj_device *device);

// result=set by a grid, and memory=global: of a list of cases every step-th one from `first` on.
void cj_test_histogram_grid(cj_device *device, unsigned first, unsigned step);
void cj_test_histogram_global(cj_device *device, unsigned first, unsigned step);

// The typed call: poisoned counts are overwritten, and cj_histogram_add adds to them.
void cj_test_histogram_call(cj_device *device);

#endif
