// SPDX-License-Identifier: Apache-2.0
// The test of the families of rows, for both devices: kernels of given parameters on random matrices, compared with the
// definition in f64. Outputs are poisoned and between guards, and the bytes between rows must not change.
#ifndef CJ_TESTS_ROW_CASES_H
#define CJ_TESTS_ROW_CASES_H

#include <clusterjit/clusterjit.h>

// One kernel, launched twice on one workspace: `words` are the family's name and parameters, "softmax rows=3
// columns=5". Pointers are moved by 1, 2, … times `shift` bytes, a multiple of the promised `align`. Fails the running test at
// the first wrong element.
void cj_test_row(cj_device *device, const char *words, unsigned shift, uint64_t seed);

// A hash of all bytes that the kernel writes.
uint64_t cj_test_row_bits(cj_device *device, const char *words);

// A kernel of that family drawn from the seed, with at most `most` elements.
void cj_test_row_random(cj_device *device, const char *family, uint64_t *seed, uint64_t most);

// Every form, and every way to divide a row, of every family; with CJ_FEW, one in seven of these.
void cj_test_row_forms(cj_device *device);

// Softmax and cross-entropy of x far from zero, up to the largest numbers, in every form; with CJ_FEW, one in five of these.
void cj_test_row_far(cj_device *device);

// Short rows of every length, type, stride and alignment, several a warp; with CJ_FEW, one in seven of these.
void cj_test_row_short(cj_device *device);

// The same with sums over rows, of every number of lanes that holds them; with CJ_FEW, one in seven of these.
void cj_test_row_short_sums(cj_device *device);

// Rows that begin at every distance from a vector, in every form that has an edge; with CJ_FEW, one in seven of these.
void cj_test_row_peeled(cj_device *device);
void cj_test_row_split(cj_device *device);
void cj_test_row_across(cj_device *device);
void cj_test_row_unaligned(cj_device *device);

// Rows of a few columns that a warp transposes: every length, type, stride and number of rows; with CJ_FEW, one in seven of these.
void cj_test_row_transposed(cj_device *device);

// The typed calls, through a handle and in one call, at every alignment of 4 bytes.
void cj_test_row_calls(cj_device *device);

#endif
