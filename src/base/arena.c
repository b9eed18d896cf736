// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE  // madvise
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocate.h"

// Bytes, of which the chunk's head takes some.
enum { FIRST_CHUNK = 16 * 1024, LARGEST_STEP = 2 * 1024 * 1024, PAGE = 4096 };

struct cj_arena_chunk {
    struct cj_arena_chunk *older;
    size_t                 bytes;
    _Alignas(CJ_ARENA_ALIGNMENT) char data[];
};

static void use_chunk(cj_arena *arena, struct cj_arena_chunk *chunk) {
    chunk->older = arena->chunk;
    arena->chunk = chunk;
    arena->at = chunk->data;
    arena->end = chunk->data + chunk->bytes;
}

// Brings the pages of a large chunk in at once: fault by fault it took a third of the time to read a large PTX file. Huge
// pages would be faster yet, but a virtual machine may have to ask its host for each.
static struct cj_arena_chunk *new_chunk(size_t bytes) {
    if (bytes != LARGEST_STEP) return cj__malloc(bytes);
    void *memory = cj__aligned_alloc(PAGE, bytes);
#ifdef MADV_POPULATE_WRITE
    if (memory) madvise(memory, bytes, MADV_POPULATE_WRITE);  // Linux before 5.14 refuses it
#endif
    return memory;
}

static bool add_chunk(cj_arena *arena, size_t bytes) {
    struct cj_arena_chunk *spare = arena->spare;
    if (spare && spare->bytes >= bytes) {
        arena->spare = spare->older;
        use_chunk(arena, spare);
        return true;
    }
    size_t size = arena->chunk ? (arena->chunk->bytes + sizeof *spare) * 2 : FIRST_CHUNK;
    if (size > LARGEST_STEP) size = LARGEST_STEP;
    if (bytes > SIZE_MAX - sizeof *spare) return false;
    if (size < bytes + sizeof *spare) size = bytes + sizeof *spare;
    struct cj_arena_chunk *chunk = new_chunk(size);
    if (!chunk) return false;
    chunk->bytes = size - sizeof *chunk;
    use_chunk(arena, chunk);
    return true;
}

void *cj__arena_take_more(cj_arena *arena, size_t bytes) {
    if (arena->failed || bytes > SIZE_MAX - CJ_ARENA_ALIGNMENT || !add_chunk(arena, bytes + CJ_ARENA_ALIGNMENT)) {
        arena->failed = true;
        arena->at = arena->end;  // whatever is asked for from now on comes here
        return NULL;
    }
    return cj__arena_take(arena, bytes);
}

void *cj__arena_alloc(cj_arena *arena, size_t bytes) {
    void *memory = cj__arena_take(arena, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *cj__arena_copy(cj_arena *arena, const void *data, size_t bytes) {
    void *copy = cj__arena_take(arena, bytes);
    if (copy && bytes) memcpy(copy, data, bytes);
    return copy;
}

char *cj__arena_text(cj_arena *arena, const char *text, size_t length) {
    char *copy = cj__arena_take(arena, length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void *cj__arena_grow(cj_arena *arena, void *array, size_t count, size_t *capacity, size_t element) {
    if (count < *capacity) return array;
    size_t larger = *capacity ? *capacity * 2 : 16;
    char *grown = larger > SIZE_MAX / element ? NULL : cj__arena_take(arena, larger * element);
    if (!grown) return NULL;
    if (count) memcpy(grown, array, count * element);
    *capacity = larger;
    return grown;
}

void cj__arena_reset(cj_arena *arena) {
    struct cj_arena_chunk *kept = arena->chunk;
    if (!kept) return;
    while (kept->older) {
        struct cj_arena_chunk *older = kept->older;
        kept->older = older->older;
        older->older = arena->spare;
        arena->spare = older;
    }
    arena->at = kept->data;
}

static void free_chunks(struct cj_arena_chunk *chunk) {
    while (chunk) {
        struct cj_arena_chunk *older = chunk->older;
        cj__free(chunk);
        chunk = older;
    }
}

void cj__arena_free(cj_arena *arena) {
    free_chunks(arena->chunk);
    free_chunks(arena->spare);
    *arena = (cj_arena){0};
}
