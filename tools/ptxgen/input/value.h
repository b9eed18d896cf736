// SPDX-License-Identifier: Apache-2.0
// Values of the types that arguments have, also of the small types that no kernel family uses.
#ifndef PTXGEN_VALUE_H
#define PTXGEN_VALUE_H

#include <stdbool.h>

#include "element.h"

// A type: the wide type in which its values are made and read, its range, and the bits of a float's significand and
// exponent.
typedef struct value_type {
    const char *name;
    unsigned    bytes;
    cj_dtype    wide;
    const char *range;
    int         fraction, exponent;  // 0 for integers
} value_type;

const value_type *value_type_named(const char *name, size_t length);  // NULL: unknown

// Floats are rounded to nearest even; integers are taken modulo 2^bits.
void    value_store(const value_type *type, element value, unsigned char *to);
element value_load(const value_type *type, const unsigned char *from);

// Whether it has the same value when it is read again, except for a float's rounding: no finite value becomes infinite.
bool value_fits(const value_type *type, element value);

const char *value_text(const value_type *type, element value, char buffer[ELEMENT_TEXT]);

#endif
