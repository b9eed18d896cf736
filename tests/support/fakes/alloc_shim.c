// SPDX-License-Identifier: Apache-2.0
#include "alloc_shim.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CJ_OTHER_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CJ_OTHER_ALLOCATOR 1
#endif
#endif

static atomic_bool counting;
static atomic_uint count;
static atomic_long alive;
static unsigned    from, to;  // written only while no test counts

void cj_shim_start(unsigned first, bool for_good) {
    from = first;
    to = for_good && first ? ~0u : first;
    atomic_store(&count, 0);
    atomic_store(&counting, true);
}

unsigned cj_shim_end(void) {
    atomic_store(&counting, false);
    return atomic_load(&count);
}

long cj_shim_alive(void) { return atomic_load(&alive); }

#if defined(__GLIBC__) && !defined(CJ_OTHER_ALLOCATOR)

bool cj_shim_works(void) { return true; }

// glibc's other names of its allocator, for programs that replace the public ones.
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t elements, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void  __libc_free(void *block);

static bool fails(void) {
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return false;
    const unsigned number = atomic_fetch_add(&count, 1) + 1;
    if (number < from || number > to || !from) return false;
    errno = ENOMEM;
    return true;
}

static void *made(void *block) {
    if (block) atomic_fetch_add_explicit(&alive, 1, memory_order_relaxed);
    return block;
}

// The C library's own calls come here, too, but only if these functions are exported.
#pragma GCC visibility push(default)

void *malloc(size_t bytes) { return fails() ? NULL : made(__libc_malloc(bytes)); }
void *calloc(size_t elements, size_t bytes) { return fails() ? NULL : made(__libc_calloc(elements, bytes)); }
void *aligned_alloc(size_t alignment, size_t bytes) { return fails() ? NULL : made(__libc_memalign(alignment, bytes)); }

void *realloc(void *block, size_t bytes) {
    if (fails()) return NULL;
    void *moved = __libc_realloc(block, bytes);
    if (!block) return made(moved);
    if (!moved && !bytes) atomic_fetch_sub_explicit(&alive, 1, memory_order_relaxed);
    return moved;
}

void free(void *block) {
    if (block) atomic_fetch_sub_explicit(&alive, 1, memory_order_relaxed);
    __libc_free(block);
}

#pragma GCC visibility pop

#else

bool cj_shim_works(void) { return false; }

#endif
