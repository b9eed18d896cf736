// SPDX-License-Identifier: Apache-2.0
// The expected value of a reduction, computed on the host from the same elements while they are read.
#ifndef PTXGEN_REFERENCE_H
#define PTXGEN_REFERENCE_H

#include <clusterjit/reduce.h>

#include "element.h"

// A sum of floats with twice the precision of f64, and the sum of the absolute values.
typedef struct precise_sum {
    double high, low, magnitude;
} precise_sum;

enum { REFERENCE_PIECES = 2 };

// One result.
typedef struct reference_value {
    // While elements are added:
    precise_sum sum, squares;
    long double product;   // of floats
    double      up, down;  // the sum of its factors' exponents, of those above 1 and of those below 1
    element     best;      // also the sum or product of integers
    uint64_t    index, count;
    bool        empty;  // no element yet; NaN does not count for min and max
    // At the end: the expected pieces (a value and its index; mean and variance).
    element value[REFERENCE_PIECES];
    double  low[REFERENCE_PIECES];    // the lower part of a float's value
    double  scale[REFERENCE_PIECES];  // a piece may differ by the plan's error bound times this; NaN: by anything,
                                      // because a product of some of the factors over- or underflows
} reference_value;

typedef struct reference {
    cj_dtype         type;  // of the elements, after widening
    cj_reduce_op     op;
    uint64_t         n, blocks;  // elements; blocks that have slices, as clusterjit/reduce.h says; 1: no slices
    bool             weighted;   // elements of block b are multiplied by b + 1; sums only
    bool             total;      // results[0] is that of all elements
    bool             by_block;   // then, or only, one result for each block. At least one of the two
    uint64_t         position;   // elements seen
    size_t           count;      // results
    reference_value *results;    // owned by the caller; reference_begin initializes them
} reference;

// The layout of a result in memory: pieces, their types, and the byte at which the second one begins.
typedef struct reference_layout {
    unsigned pieces;
    cj_dtype type[REFERENCE_PIECES];
    size_t   second;
} reference_layout;

reference_layout reference_layout_of(const reference *r);

// Adds the next `count` elements. After the last, reference_finish makes the results final, for results with the error
// bound `bound`.
void reference_begin(reference *r);
void reference_add(reference *r, const void *x, size_t count);
void reference_finish(reference *r, double bound);

// The block whose slice contains the element at `position`, below n; *end is the end of that slice.
uint64_t reference_block_at(const reference *r, uint64_t position, uint64_t *end);

// |found - expected| of a piece; NaN if one of them is not finite and they differ.
double reference_error(const reference *r, const reference_value *expected, unsigned piece, element found);

#endif
