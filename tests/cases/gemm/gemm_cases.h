// SPDX-License-Identifier: Apache-2.0
// The matrix product's test, for both devices: compares with a product in f64.
#ifndef CJ_TESTS_GEMM_CASES_H
#define CJ_TESTS_GEMM_CASES_H

#include <clusterjit/clusterjit.h>
#include <stdbool.h>

// One problem, given as the family's "name=value" words, with random matrices whose rows (columns) end in NaNs that the
// kernel must not read: launched twice on one kernel, each time on a poisoned D, of which only the matrix may be
// written. Checks every element, or thousands of a large D, against f64. Fails the running test at the first wrong
// element.
void cj_test_gemm(cj_device *device, const char *words, uint64_t *random);

// The same, of a kernel for a target that is not the device's own.
void cj_test_gemm_for(cj_device *device, const char *target, const char *words, uint64_t *random);

// Every problem, or with CJ_FEW one that the seed chooses, with `before` in front of its words: on cj_test_device, on schedules that differ.
void cj_test_gemm_all(const char *before, const char *const *words, size_t count);

// A few checked elements of A and B are NaN or infinite: the elements of D that depend on them must be, and no others.
void cj_test_gemm_specials(cj_device *device, const char *words, uint64_t *random);

// Launches of a square product that read and write each other's matrices, one right after the other: the results are
// those of launches that do not overlap. A and D have the same type and are row-major.
void cj_test_gemm_chain(cj_device *device, const char *words, uint64_t *random);

// `count` random problems of at most `most` in each direction, in every layout, tile, cluster and type; sizes are near
// the boundaries of tiles, boxes and steps.
void cj_test_gemm_random(cj_device *device, size_t count, uint32_t most, uint64_t *random);

// The same of the form mma: its tiles and parts.
void cj_test_gemm_random_mma(cj_device *device, size_t count, uint32_t most, uint64_t *random);

// The same of f64: every order, its tiles and parts, addresses and lines of multiples of 8 bytes.
void cj_test_gemm_random_f64(cj_device *device, size_t count, uint32_t most, uint64_t *random);

// Every type of D with lines of every remainder, in rows and in columns, in turn with C, batches and split-K: every
// `stride`th of them, a number that neither 2 nor 3 divides (else types and orders would be left out); with CJ_FEW, one
// in 16 of these.
void cj_test_gemm_ragged(cj_device *device, size_t stride, uint64_t *random);

// Every type with every alignment that it can have, in each of its layouts, with sizes around those of pieces, steps and tiles, in turn
// with C, batches, split-K, and matrices of which one alone is not aligned: every `stride`th of them; with CJ_FEW, one in 16 of these.
void cj_test_gemm_unaligned(cj_device *device, size_t stride, uint64_t *random);

// The typed calls: create and run, and in one call; what they refuse, by name.
void cj_test_gemm_calls(cj_device *device);

#endif
