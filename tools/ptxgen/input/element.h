// SPDX-License-Identifier: Apache-2.0
// Array elements of any type, widened to one of three types, so that each algorithm is written once.
#ifndef PTXGEN_ELEMENT_H
#define PTXGEN_ELEMENT_H

#include <clusterjit/base.h>
#include <jansson.h>
#include <stdbool.h>

// Floats live in f, integers with a sign in i, those without in u.
typedef union element {
    double   f;
    int64_t  i;
    uint64_t u;
} element;

// Also the first letter of the name of the type in which it is computed.
typedef enum element_kind { ELEMENT_FLOAT = 'f', ELEMENT_SIGNED = 'i', ELEMENT_UNSIGNED = 'u' } element_kind;

element_kind element_kind_of(cj_dtype type);

// Reads "f32" and the like; false for an unknown name.
bool element_type(const char *name, cj_dtype *type);

void element_widen(cj_dtype type, const void *from, size_t count, element *to);
// Floats are rounded to the type, integers taken modulo 2^bits.
void element_narrow(cj_dtype type, const element *from, size_t count, void *to);
// `value` after it was stored as `type` and read again.
element element_stored(cj_dtype type, element value);

// A value as a number; and a number as a value of the type, for integers the nearest one that it has (NaN: 0).
double  element_number(cj_dtype type, element value);
element element_of_number(cj_dtype type, double number);

// Equal as results: NaN equals NaN, and -0 equals 0.
bool element_same(cj_dtype type, element a, element b);

// With as few digits as the type's precision needs, a whole float with ".0"; returns `buffer`.
enum { ELEMENT_TEXT = 32 };
const char *element_text(cj_dtype type, element value, char buffer[ELEMENT_TEXT]);
// The same for a float with a given number of significant digits.
const char *element_real_text(double value, int digits, char buffer[ELEMENT_TEXT]);
json_t     *element_json(cj_dtype type, element value);

#endif
