// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 16 * 1024, LARGEST_STEP = 1024 * 1024 };

struct cj_arena_chunk {
    struct cj_arena_chunk *older;
    size_t                 bytes;
    _Alignas(ALIGNMENT) char data[];
};

static bool add_chunk(cj_arena *arena, size_t bytes) {
    size_t size = arena->chunk ? arena->chunk->bytes * 2 : FIRST_CHUNK;
    if (size > LARGEST_STEP) size = LARGEST_STEP;
    if (size < bytes) size = bytes;
    struct cj_arena_chunk *chunk = size > SIZE_MAX - sizeof *chunk ? NULL : malloc(sizeof *chunk + size);
    if (!chunk) return false;
    chunk->older = arena->chunk;
    chunk->bytes = size;
    arena->chunk = chunk;
    arena->at = chunk->data;
    arena->end = chunk->data + size;
    return true;
}

void *cj__arena_alloc(cj_arena *arena, size_t bytes) {
    size_t size = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->failed || size < bytes ||
        ((size_t)(arena->end - arena->at) < size && !add_chunk(arena, size))) {
        arena->failed = true;
        return NULL;
    }
    void *memory = arena->at;
    arena->at += size;
    return memset(memory, 0, size);
}

char *cj__arena_text(cj_arena *arena, const char *text, size_t length) {
    char *copy = cj__arena_alloc(arena, length + 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

void *cj__arena_grow(cj_arena *arena, void *array, size_t count, size_t *capacity, size_t element) {
    if (count < *capacity) return array;
    size_t larger = *capacity ? *capacity * 2 : 16;
    void *grown = larger > SIZE_MAX / element ? NULL : cj__arena_alloc(arena, larger * element);
    if (!grown) return NULL;
    if (count) memcpy(grown, array, count * element);
    *capacity = larger;
    return grown;
}

void cj__arena_free(cj_arena *arena) {
    while (arena->chunk) {
        struct cj_arena_chunk *older = arena->chunk->older;
        free(arena->chunk);
        arena->chunk = older;
    }
    *arena = (cj_arena){0};
}
