// SPDX-License-Identifier: Apache-2.0
// The element types of matrix products, on the host.
#ifndef CJ_TESTS_GEMM_NUMBER_H
#define CJ_TESTS_GEMM_NUMBER_H

#include <stdint.h>

#include "models/half.h"

// A type of elements. Floats of 4 bytes are stored as a float, those of 8 as a double, tf32 with its low 13 bits 0. Integers have a range, and no format.
typedef struct gemm_number_type {
    const char *name;
    uint32_t    bytes;
    half_format format;
    double      least, most;
} gemm_number_type;

static inline bool gemm_number_is_integer(const gemm_number_type *type) { return type->most > 0; }

// NULL: no type has that name.
const gemm_number_type *gemm_number(const char *name);

// Stores a value, rounded to the type; loads one.
void   gemm_number_put(const gemm_number_type *type, void *to, double value);
double gemm_number_get(const gemm_number_type *type, const void *from);

#endif
