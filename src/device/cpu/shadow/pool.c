// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "spare.h"

enum { SLAB = 1 << 16, LEAST = 5 };  // LEAST: the logarithm of the smallest size

struct cj_slab {
    cj_slab *next;
    _Alignas(32) unsigned char bytes[SLAB];
};

static unsigned size_of(size_t bytes) {
    return bytes <= 1u << LEAST ? LEAST : 64 - (unsigned)__builtin_clzll(bytes - 1);
}

// Memory that was never given: of the current slab, or of the next one.
static void *take_fresh(cj_pool *pool, size_t bytes) {
    if (!pool->current || pool->used + bytes > SLAB) {
        cj_slab **at = pool->current ? &pool->current->next : &pool->first;
        if (!*at) *at = cj__watch_calloc(sizeof **at);
        if (!*at) return NULL;
        pool->current = *at;
        pool->used = 0;
    }
    pool->used += bytes;
    return pool->current->bytes + pool->used - bytes;
}

void *cj__pool_take(cj_pool *pool, size_t bytes) {
    if (pool->is_shared) return cj__watch_calloc(bytes);
    const unsigned size = size_of(bytes);
    void          *taken = pool->spare[size];
    if (taken)
        memcpy(&pool->spare[size], taken, sizeof taken);
    else
        taken = take_fresh(pool, (size_t)1 << size);
    return taken ? memset(taken, 0, bytes) : NULL;
}

void cj__pool_give(cj_pool *pool, void *memory, size_t bytes) {
    if (pool->is_shared) {
        cj__free(memory);
        return;
    }
    if (!memory) return;
    void **list = &pool->spare[size_of(bytes)];
    memcpy(memory, list, sizeof *list);
    *list = memory;
}

void cj__pool_reset(cj_pool *pool) {
    pool->current = NULL;
    memset(pool->spare, 0, sizeof pool->spare);
}

void cj__pool_free(cj_pool *pool) {
    for (cj_slab *next, *slab = pool->first; slab; slab = next) {
        next = slab->next;
        cj__free(slab);
    }
}
