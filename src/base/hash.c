// SPDX-License-Identifier: Apache-2.0
#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"

uint32_t cj__hash(const char *key, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)key[i]) * 16777619u;
    return hash;
}

static uint64_t load(const char *at, size_t bytes) {
    uint64_t word = 0;
    memcpy(&word, at, bytes);
    return word;
}

// Takes eight bytes a step; the last step may overlap the one before. Keys are short names, and there are many.
static uint32_t mix(const char *key, size_t length) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t       hash = length * odd, last = 0;
    if (length >= 8) {
        for (size_t i = 0; i + 8 < length; i += 8) {
            hash = (hash ^ load(key + i, 8)) * odd;
            hash ^= hash >> 32;
        }
        last = load(key + length - 8, 8);
    } else if (length >= 4) {
        last = load(key, 4) << 32 | load(key + length - 4, 4);
    } else if (length) {
        last = (uint64_t)(unsigned char)key[0] << 16 | (uint64_t)(unsigned char)key[length / 2] << 8 |
               (unsigned char)key[length - 1];
    }
    hash = (hash ^ last) * odd;
    return (uint32_t)(hash ^ hash >> 29 ^ hash >> 47);
}

// The slot that holds the key, or the empty one where it belongs. The table is never full.
static cj_map_slot *find(const cj_map *map, const char *key, size_t length, uint32_t hash) {
    for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
        cj_map_slot *slot = &map->slot[i];
        if (!slot->value) return slot;
        if (slot->hash == hash && slot->length == length && !memcmp(slot->key, key, length)) return slot;
    }
}

void *cj__map_get(const cj_map *map, const char *key, size_t length) {
    return map->capacity ? find(map, key, length, mix(key, length))->value : NULL;
}

static bool rehash(cj_map *map) {
    cj_map larger = {.arena = map->arena, .count = map->count, .capacity = map->capacity ? map->capacity * 2 : 16};
    larger.slot = map->arena ? cj__arena_alloc(map->arena, larger.capacity * sizeof *larger.slot)
                             : cj__calloc(larger.capacity, sizeof *larger.slot);
    if (!larger.slot) return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const cj_map_slot *old = &map->slot[i];
        if (old->value) *find(&larger, old->key, old->length, old->hash) = *old;
    }
    if (!map->arena) cj__free(map->slot);
    *map = larger;
    return true;
}

bool cj__map_put(cj_map *map, const char *key, size_t length, void *value) {
    if (map->count * 4 >= map->capacity * 3 && !rehash(map)) return false;
    uint32_t     hash = mix(key, length);
    cj_map_slot *slot = find(map, key, length, hash);
    if (!slot->value) map->count++;
    *slot = (cj_map_slot){.key = key, .length = (uint32_t)length, .hash = hash, .value = value};
    return true;
}

// Closes the gap: moves a later slot of the run into it, unless the search for that slot begins after the gap.
static void close_gap(cj_map *map, size_t gap) {
    const size_t mask = map->capacity - 1;
    for (size_t i = (gap + 1) & mask; map->slot[i].value; i = (i + 1) & mask) {
        const size_t home = map->slot[i].hash & mask;
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        map->slot[gap] = map->slot[i];
        gap = i;
    }
    map->slot[gap] = (cj_map_slot){0};
}

void *cj__map_remove(cj_map *map, const char *key, size_t length) {
    cj_map_slot *slot = map->capacity ? find(map, key, length, mix(key, length)) : NULL;
    void        *value = slot ? slot->value : NULL;
    if (!value) return NULL;
    close_gap(map, (size_t)(slot - map->slot));
    map->count--;
    return value;
}

void cj__map_free(cj_map *map) {
    cj__free(map->slot);
    *map = (cj_map){0};
}
