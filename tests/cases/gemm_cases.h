// SPDX-License-Identifier: Apache-2.0
// The matrix product's test, for either device: against a product in f64.
#ifndef CJ_TESTS_GEMM_CASES_H
#define CJ_TESTS_GEMM_CASES_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

// One problem, given as the family's "name=value" words, with random matrices whose rows (columns) end in NaNs that
// nobody may read: launched twice on one kernel, each time on a poisoned D, of which nothing but the matrix may be
// written. Every element, or thousands of them where there are too many, is held against f64. Fails the running test
// at the first wrong element.
void cj_test_gemm(cj_device *device, const char *words, uint64_t *random);

// A few such elements of A and B are NaN or infinite: D must be so, and nowhere else.
void cj_test_gemm_specials(cj_device *device, const char *words, uint64_t *random);

// Launches of a square product that read and write each other's matrices, without a pause between them: results are those
// of launches that do not overlap. A and D are of one type and lie in rows.
void cj_test_gemm_chain(cj_device *device, const char *words, uint64_t *random);

// `count` random problems of at most `most` in each direction, in every layout, tile, cluster and type; sizes lie
// around the boundaries of tiles, boxes and steps.
void cj_test_gemm_random(cj_device *device, size_t count, uint32_t most, uint64_t *random);

// The same of the form mma: its tiles and parts.
void cj_test_gemm_random_mma(cj_device *device, size_t count, uint32_t most, uint64_t *random);

// Every type of D with lines of every kind of end, in rows and in columns, with C, batches and shared K by turns: each
// `stride`th of them, a number that neither 2 nor 5 divides, or types and orders would be left out; with CJ_FEW, one in 16 of these.
void cj_test_gemm_ragged(cj_device *device, size_t stride, uint64_t *random);

// The typed calls: created and run, and in one call; what they refuse, by name.
void cj_test_gemm_calls(cj_device *device);

#endif
