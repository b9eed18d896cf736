// SPDX-License-Identifier: Apache-2.0
// The library's host memory: by the program's allocator (clusterjit/allocator.h), else the C library's. Nothing else in the
// library calls malloc and its kin.
#ifndef CJ_BASE_ALLOCATE_H
#define CJ_BASE_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>

// As their names in C: NULL when out of memory, and for sizes that do not fit. Aligned to 16 bytes. cj__realloc wants the bytes
// that the block has; cj__free takes NULL.
void *cj__malloc(size_t bytes);
void *cj__calloc(size_t count, size_t bytes);
void *cj__realloc(void *memory, size_t old_bytes, size_t new_bytes);
void *cj__aligned_alloc(size_t alignment, size_t bytes);
char *cj__strdup(const char *text);
void  cj__free(void *memory);

// What they call; to be set before the first of them: false afterwards.
struct cj_allocator;
bool cj__allocate_by(const struct cj_allocator *allocator);

#endif
