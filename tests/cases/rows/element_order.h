// SPDX-License-Identifier: Apache-2.0
// The order of elements on the host, from their bits: what top-k, sort and argmax are held against.
#ifndef CJ_TEST_ELEMENT_ORDER_H
#define CJ_TEST_ELEMENT_ORDER_H

#include <clusterjit/base.h>
#include <stdbool.h>
#include <stdint.h>

bool     cj_test_is_float(cj_dtype type);
uint64_t cj_test_infinity(cj_dtype type);  // the bits of infinity, of floats

uint64_t cj_test_bits(const unsigned char *at, size_t bytes);  // of a number of 8 bytes at most

// The order of elements as signed numbers: for floats from sign and magnitude; NaN is the greatest. u64 keeps its order,
// from the least signed number on.
int64_t cj_test_rank(cj_dtype type, uint64_t bits);

#endif
