// SPDX-License-Identifier: Apache-2.0
#include "spare.h"

#include <stdlib.h>

#include "allocate.h"

enum { STEP = 32, SIZES = 32 };  // sizes up to STEP * (SIZES - 1) are kept

typedef struct piece {
    struct piece *next;
} piece;

static _Thread_local piece *spare[SIZES];

_Thread_local bool cj__watch_starved;

void *cj__watch_calloc(size_t bytes) {
    void *memory = cj__calloc(1, bytes);
    if (!memory) cj__watch_starved = true;
    return memory;
}

size_t cj__spare_round(size_t bytes) { return (bytes + STEP - 1) / STEP * STEP; }

void *cj__spare_take(size_t bytes) {
    const size_t size = cj__spare_round(bytes) / STEP;
    piece       *taken = size < SIZES ? spare[size] : NULL;
    if (!taken) return cj__watch_calloc(size * STEP);
    spare[size] = taken->next;
    return taken;
}

void cj__spare_give(void *memory, size_t bytes) {
    const size_t size = cj__spare_round(bytes) / STEP;
    piece       *given = memory;
    if (size >= SIZES) {
        cj__free(memory);
        return;
    }
    given->next = spare[size];
    spare[size] = given;
}

void cj__spare_free(void) {
    for (size_t i = 0; i < SIZES; i++) {
        for (piece *next; spare[i]; spare[i] = next) {
            next = spare[i]->next;
            cj__free(spare[i]);
        }
    }
}
