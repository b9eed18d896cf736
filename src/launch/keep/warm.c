// SPDX-License-Identifier: Apache-2.0
#include "warm.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL  // users of the library need no xxhash
#include <xxhash.h>

#include "allocate.h"

typedef struct entry {
    cj_warm_key key;
    cj_kernel  *kernel;
    void (*drop)(cj_kernel *kernel);
} entry;

struct cj_warm_array {
    cj_warm_array   *older;  // readers may still use it
    size_t           count, capacity;
    _Atomic(entry *) slot[];
};

enum { FIRST_CAPACITY = 64 };

static uint64_t hash_of(const cj_warm_key *key) { return XXH3_64bits(key->bytes, sizeof key->bytes); }

// The slot of the key, or the empty slot where it would be added.
static _Atomic(entry *) *slot_of(cj_warm_array *array, const cj_warm_key *key, entry **found) {
    for (size_t at = hash_of(key);; at++) {
        _Atomic(entry *) *slot = &array->slot[at & (array->capacity - 1)];
        *found = atomic_load_explicit(slot, memory_order_acquire);
        if (!*found || !memcmp((*found)->key.bytes, key->bytes, sizeof key->bytes)) return slot;
    }
}

void cj__warm_init(cj_warm *warm) {
    atomic_init(&warm->array, NULL);
    pthread_mutex_init(&warm->lock, NULL);
}

cj_kernel *cj__warm_find(const cj_warm *warm, const cj_warm_key *key) {
    cj_warm_array *array = atomic_load_explicit(&warm->array, memory_order_acquire);
    entry         *found = NULL;
    if (array) slot_of(array, key, &found);
    return found ? found->kernel : NULL;
}

// An array of twice the capacity with all entries of the old one; NULL when out of memory.
static cj_warm_array *grow(cj_warm_array *older) {
    const size_t   capacity = older ? 2 * older->capacity : FIRST_CAPACITY;
    cj_warm_array *array = cj__malloc(sizeof *array + capacity * sizeof array->slot[0]);
    if (!array) return NULL;
    array->older = older;
    array->count = older ? older->count : 0;
    array->capacity = capacity;
    for (size_t i = 0; i < capacity; i++) atomic_init(&array->slot[i], NULL);
    for (size_t i = 0; older && i < older->capacity; i++) {
        entry *moved = atomic_load_explicit(&older->slot[i], memory_order_relaxed), *none;
        if (moved) atomic_init(slot_of(array, &moved->key, &none), moved);
    }
    return array;
}

static cj_kernel *add(cj_warm *warm, const cj_warm_key *key, cj_kernel *kernel, void (*drop)(cj_kernel *kernel),
                      bool *added) {
    cj_warm_array *array = atomic_load_explicit(&warm->array, memory_order_relaxed);
    entry         *found = NULL;
    if (array) slot_of(array, key, &found);
    if (found) return found->kernel;
    if (!array || 2 * array->count >= array->capacity) {
        array = grow(array);
        if (!array) return NULL;
        atomic_store_explicit(&warm->array, array, memory_order_release);
    }
    entry *made = cj__malloc(sizeof *made);
    if (!made) return NULL;
    *made = (entry){*key, kernel, drop};
    atomic_store_explicit(slot_of(array, key, &found), made, memory_order_release);
    array->count++;
    *added = true;
    return kernel;
}

cj_kernel *cj__warm_add(cj_warm *warm, const cj_warm_key *key, cj_kernel *kernel, void (*drop)(cj_kernel *kernel),
                        bool *added) {
    *added = false;
    pthread_mutex_lock(&warm->lock);
    cj_kernel *kept = add(warm, key, kernel, drop, added);
    pthread_mutex_unlock(&warm->lock);
    return kept;
}

void cj__warm_clear(cj_warm *warm) {
    cj_warm_array *array = atomic_exchange(&warm->array, NULL);
    for (size_t i = 0; array && i < array->capacity; i++) {
        entry *held = atomic_load_explicit(&array->slot[i], memory_order_relaxed);
        if (held) held->drop(held->kernel);
        cj__free(held);
    }
    while (array) {
        cj_warm_array *older = array->older;
        cj__free(array);
        array = older;
    }
}

void cj__warm_free(cj_warm *warm) { pthread_mutex_destroy(&warm->lock); }
