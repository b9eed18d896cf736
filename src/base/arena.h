// SPDX-License-Identifier: Apache-2.0
// An arena: allocations that live and die together. Not thread-safe.
#ifndef CJ_BASE_ARENA_H
#define CJ_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cj_arena {
    struct cj_arena_chunk *chunk;  // the newest, in which allocations are made
    struct cj_arena_chunk *spare;  // from before a reset, to be used again
    char *at, *end;                // its free part
    bool  failed;                  // an allocation failed: everything since is NULL
} cj_arena;

// A zeroed arena is ready for use.
void *cj__arena_alloc(cj_arena *arena, size_t bytes);                   // zeroed, 16-byte aligned; NULL when out of memory
static inline void *cj__arena_take(cj_arena *arena, size_t bytes);      // the same, not zeroed
void *cj__arena_copy(cj_arena *arena, const void *data, size_t bytes);
char *cj__arena_text(cj_arena *arena, const char *text, size_t length); // a NUL-terminated copy
void  cj__arena_free(cj_arena *arena);
void  cj__arena_reset(cj_arena *arena);  // forgets all allocations, and keeps memory for those to come

// A growing array in an arena: makes room for one more element after `count`; the old array is left to the arena.
// Returns the array, or NULL when out of memory (the old one stays valid). What follows `count` is not zeroed.
void *cj__arena_grow(cj_arena *arena, void *array, size_t count, size_t *capacity, size_t element);

enum { CJ_ARENA_ALIGNMENT = 16 };

void *cj__arena_take_more(cj_arena *arena, size_t bytes);  // where the newest chunk has no room

static inline void *cj__arena_take(cj_arena *arena, size_t bytes) {
    const size_t size = (bytes + CJ_ARENA_ALIGNMENT - 1) & ~(size_t)(CJ_ARENA_ALIGNMENT - 1);
    if (size < bytes || !arena->at || (size_t)(arena->end - arena->at) < size) return cj__arena_take_more(arena, bytes);
    void *memory = arena->at;
    arena->at += size;
    return memory;
}

#endif
