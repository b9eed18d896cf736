// SPDX-License-Identifier: Apache-2.0
#include "allocate.h"

#include <clusterjit/allocator.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 };  // malloc's own

static void *allocate(void *user, size_t bytes, size_t alignment) {
    (void)user;
    if (alignment <= ALIGNMENT) return malloc(bytes);
    return bytes > SIZE_MAX - alignment ? NULL : aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}

static void *allocate_zeroed(void *user, size_t bytes, size_t alignment) {
    (void)user, (void)alignment;  // what is asked for zeroed has malloc's
    return calloc(1, bytes);
}

static void *reallocate(void *user, void *memory, size_t old_bytes, size_t new_bytes) {
    (void)user, (void)old_bytes;
    return realloc(memory, new_bytes);
}

static void give_back(void *user, void *memory) {
    (void)user;
    free(memory);
}

static cj_allocator own = {CJ_INIT(own), .allocate = allocate, .allocate_zeroed = allocate_zeroed,
                           .reallocate = reallocate, .free = give_back};

// FRESH, then USED by the first allocation, after which `own` is only read; SETTING while one thread writes it.
enum { FRESH, SETTING, USED };
static atomic_int state;

static const cj_allocator *in_use(void) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    while (now != USED) {  // a thread that allocates while another sets the allocator waits for it
        now = FRESH;
        if (atomic_compare_exchange_weak(&state, &now, USED)) now = USED;
    }
    return &own;
}

bool cj__allocate_by(const cj_allocator *allocator) {
    int fresh = FRESH;
    if (!atomic_compare_exchange_strong(&state, &fresh, SETTING)) return false;
    own = *allocator;
    atomic_store_explicit(&state, FRESH, memory_order_release);
    return true;
}

void *cj__aligned_alloc(size_t alignment, size_t bytes) {
    const cj_allocator *by = in_use();
    return by->allocate(by->user, bytes ? bytes : 1, alignment < ALIGNMENT ? ALIGNMENT : alignment);
}

void *cj__malloc(size_t bytes) { return cj__aligned_alloc(ALIGNMENT, bytes); }

void *cj__calloc(size_t count, size_t bytes) {
    const cj_allocator *by = in_use();
    if (bytes && count > SIZE_MAX / bytes) return NULL;
    const size_t wanted = count * bytes, all = wanted ? wanted : 1;
    if (by->allocate_zeroed) return by->allocate_zeroed(by->user, all, ALIGNMENT);
    void *memory = by->allocate(by->user, all, ALIGNMENT);
    return memory ? memset(memory, 0, all) : NULL;
}

void *cj__realloc(void *memory, size_t old_bytes, size_t new_bytes) {
    const cj_allocator *by = in_use();
    if (!memory) return cj__malloc(new_bytes);
    if (!new_bytes) new_bytes = 1;
    if (by->reallocate) return by->reallocate(by->user, memory, old_bytes, new_bytes);
    void *moved = by->allocate(by->user, new_bytes, ALIGNMENT);
    if (!moved) return NULL;
    memcpy(moved, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    by->free(by->user, memory);
    return moved;
}

char *cj__strdup(const char *text) {
    const size_t bytes = strlen(text) + 1;
    char        *copy = cj__malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void cj__free(void *memory) {
    const cj_allocator *by = &own;  // something was allocated, so that nobody writes it
    if (memory) by->free(by->user, memory);
}
