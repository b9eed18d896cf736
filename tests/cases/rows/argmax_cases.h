// SPDX-License-Identifier: Apache-2.0
// The test of argmax, for both devices: kernels of given parameters on rows of a given kind, compared with a search on
// the host.
#ifndef CJ_TESTS_ARGMAX_CASES_H
#define CJ_TESTS_ARGMAX_CASES_H

#include <clusterjit/clusterjit.h>

// The contents of rows: random values; few different values; one value; the least of the type; rising or falling values; NaN,
// infinities, zeros of both signs and subnormals.
typedef enum cj_argmax_fill {
    CJ_ARGMAX_RANDOM,
    CJ_ARGMAX_FEW,
    CJ_ARGMAX_EQUAL,
    CJ_ARGMAX_LEAST,
    CJ_ARGMAX_RISING,
    CJ_ARGMAX_FALLING,
    CJ_ARGMAX_WILD,
    CJ_ARGMAX_FILLS
} cj_argmax_fill;

// One kernel, launched twice: `words` are the family's parameters as "name=value" words; x begins `shift` elements after a multiple of 256 bytes. Fails the running test at the
// first wrong row, or if bytes after the results were written.
void cj_test_argmax(cj_device *device, const char *words, cj_argmax_fill fill, unsigned shift, uint64_t seed);

// The same for a target, which the device executes.
void cj_test_argmax_for(cj_device *device, const char *arch, const char *words, cj_argmax_fill fill, unsigned shift, uint64_t seed);

// Rows of every type around a load, a round and two rounds of a small block, alone, in clusters and in parts, and of some lanes; rows begin at
// any element.
void cj_test_argmax_boundaries(cj_device *device, uint64_t seed);

// Rows that begin and end at multiples of 16 bytes, as above.
void cj_test_argmax_aligned(cj_device *device, uint64_t seed);

// Rows of which the plan takes each of its forms.
void cj_test_argmax_chosen(cj_device *device, uint64_t seed);

// A kernel and a fill drawn from the seed, with rows of at most `most` elements.
void cj_test_argmax_random(cj_device *device, uint64_t *seed, uint64_t most);

// The typed call, through a handle and in one call; and what it refuses.
void cj_test_argmax_call(cj_device *device);

#endif
