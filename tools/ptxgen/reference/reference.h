// SPDX-License-Identifier: Apache-2.0
// The value that a reduction must have, computed on the host from the same elements as they pass by.
#ifndef PTXGEN_REFERENCE_H
#define PTXGEN_REFERENCE_H

#include <clusterjit/reduce.h>

#include "element.h"

// A sum of floats, twice as precise as f64, and that of the absolute values.
typedef struct precise_sum {
    double high, low, magnitude;
} precise_sum;

enum { REFERENCE_PIECES = 2 };

// One result.
typedef struct reference_value {
    // While elements are added.
    precise_sum sum, squares;
    long double product;   // of floats
    double      up, down;  // the exponents of its factors: of those above 1, and of those below, together
    element     best;      // or the sum or product of integers
    uint64_t    index, count;
    bool        empty;  // nothing counted yet, and NaN does not count for min and max
    // When finished: what is expected, piece by piece (a value and its index; mean and variance).
    element value[REFERENCE_PIECES];
    double  low[REFERENCE_PIECES];  // beside a float's value
    double
        scale[REFERENCE_PIECES];  // a plan's error bound times this is what a piece may be wrong by; NaN: by anything,
                                  // for a product of some of the factors over- or underflows
} reference_value;

typedef struct reference {
    cj_dtype     type;  // of the elements: one that is computed in
    cj_reduce_op op;
    uint64_t n, blocks;  // elements, and the blocks that have slices of them as clusterjit/reduce.h says; 1: no slices
    bool     weighted;   // those of block b are multiplied by b + 1; sums only
    bool     total;      // results[0] is that of all elements;
    bool     by_block;   // then, or alone, one for each block comes. At least one of the two
    uint64_t position;   // elements seen
    size_t   count;      // results
    reference_value *results;  // owned by the caller; reference_begin initializes them
} reference;

// How a result lies in memory: pieces, their types, and the byte at which the second begins.
typedef struct reference_layout {
    unsigned pieces;
    cj_dtype type[REFERENCE_PIECES];
    size_t   second;
} reference_layout;

reference_layout reference_layout_of(const reference *r);

// Takes the next `count` elements. After the last, reference_finish makes the results final, for results whose error
// bound is `bound`.
void reference_begin(reference *r);
void reference_add(reference *r, const void *x, size_t count);
void reference_finish(reference *r, double bound);

// The block whose slice has the element at `position`, below n; *end is where that slice ends.
uint64_t reference_block_at(const reference *r, uint64_t position, uint64_t *end);

// |found - expected| of a piece; NaN where one of them is not finite and they differ.
double reference_error(const reference *r, const reference_value *expected, unsigned piece, element found);

#endif
