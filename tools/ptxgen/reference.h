// SPDX-License-Identifier: Apache-2.0
// The value that a reduction must have, computed on the host from the same elements as they pass by.
#ifndef PTXGEN_REFERENCE_H
#define PTXGEN_REFERENCE_H

#include "element.h"

typedef enum reference_op { REFERENCE_SUM, REFERENCE_MIN, REFERENCE_MAX } reference_op;

// One result. A float sum is value.f + low, twice as precise as f64.
typedef struct reference_value {
    element value;
    double  low;
    double  magnitude;  // sum of |x|; floats only
    bool    empty;      // nothing counted yet, and NaN does not count for min and max
} reference_value;

typedef struct reference {
    cj_dtype         type;
    reference_op     op;
    uint64_t         slice;     // elements of one block
    bool             weighted;  // those of block b are multiplied by b + 1; sums only
    bool             by_block;  // a result for each block instead of one
    uint64_t         position;  // elements seen
    size_t           count;     // results
    reference_value *results;   // owned by the caller, who begins with {.empty = true}
} reference;

// Takes the next `count` elements. After the last, reference_finish makes the results final.
void reference_add(reference *r, const void *x, size_t count);
void reference_finish(reference *r);

// |result - expected|; NaN where one of them is not finite and they differ.
double reference_error(cj_dtype type, const reference_value *expected, element result);

#endif
