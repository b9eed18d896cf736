// SPDX-License-Identifier: Apache-2.0
// The name that a mistyped word most likely means.
#ifndef PTXGEN_NEAR_H
#define PTXGEN_NEAR_H

#include <stddef.h>

// Begin with {.word = ...}, offer every name that there is, then read `name`: NULL if none is like the word.
typedef struct nearest {
    const char *word, *name;
    size_t      best;
} nearest;

void near_offer(nearest *n, const char *name);

#endif
