// SPDX-License-Identifier: Apache-2.0
// Generated inputs: x[i] is a function of i, so any range of elements can be written without the others.
#ifndef PTXGEN_FILL_H
#define PTXGEN_FILL_H

#include "element.h"

typedef struct fill fill;

struct fill {
    cj_dtype type;
    void (*write)(const fill *f, uint64_t first, size_t count, element *to);
    uint64_t period, seed;
    element  value;
};

// The forms of a fill, for help texts.
#define FILL_HELP                                                                                          \
    "iota (x[i] = i), zeros, const:V, mod:P:S (x[i] = (i mod P) * S), twos:P (floats: 2 and 1/2 by turns " \
    "at each P-th place, else 1), rand:SEED (floats uniform in [-1, 1), integers uniform over all bits)"

// How each of these forms begins: "iota", "const:"; NULL after the last.
const char *fill_form(size_t index);

// Reads `spec`; returns NULL, or why it is invalid.
const char *fill_parse(const char *spec, cj_dtype type, fill *f);

// Writes x[first .. first + count) as elements of the type.
void fill_write(const fill *f, uint64_t first, size_t count, void *to);

#endif
