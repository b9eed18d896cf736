// SPDX-License-Identifier: Apache-2.0
// A map from byte strings to pointers: in an arena, what symbol tables are made of; or in memory of its own. Not thread-safe.
#ifndef CJ_BASE_HASH_H
#define CJ_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

typedef struct cj_map_slot {
    const char *key;
    uint32_t    length, hash;
    void       *value;  // NULL: the slot is empty
} cj_map_slot;

typedef struct cj_map {
    cj_arena    *arena;  // NULL: memory of its own, which cj__map_free releases; the rest begins as zeros
    cj_map_slot *slot;
    size_t       count, capacity;  // capacity is a power of two
} cj_map;

uint32_t cj__hash(const char *key, size_t length);  // FNV-1a

void *cj__map_get(const cj_map *map, const char *key, size_t length);  // NULL when absent
// Adds or replaces; `key` must outlive the map, `value` is not NULL. False when out of memory.
bool  cj__map_put(cj_map *map, const char *key, size_t length, void *value);
void *cj__map_remove(cj_map *map, const char *key, size_t length);  // what it was; NULL when absent
void  cj__map_free(cj_map *map);                                    // of a map without an arena

#endif
