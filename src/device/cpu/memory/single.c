// SPDX-License-Identifier: Apache-2.0
#include "single.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// Thread sanitizer does not see into assembly, so these calls tell it of the order.
#if defined(__SANITIZE_THREAD__)
#define CJ_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CJ_TSAN 1
#endif
#endif
#ifdef CJ_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define ACQUIRED(address) __tsan_acquire((void *)(uintptr_t)(address))
#define RELEASES(address) __tsan_release((void *)(uintptr_t)(address))
#else
#define ACQUIRED(address) ((void)(address))
#define RELEASES(address) ((void)(address))
#endif

__extension__ typedef unsigned __int128 u128 __attribute__((__may_alias__));
typedef uint64_t                        pair __attribute__((__vector_size__(16), __may_alias__));

// ---- the host's instructions

#if defined(__x86_64__)

static pair load_vector(const void *from) {
    pair value;
    __asm__ volatile("movdqa %1, %0" : "=x"(value) : "m"(*(const pair *)from) : "memory");
    return value;
}

static void store_vector(void *to, pair value) {
    __asm__ volatile("movdqa %1, %0" : "=m"(*(pair *)to) : "x"(value) : "memory");
}

static bool swap_pair(void *at, u128 *expected, u128 next) {
    uint64_t low = (uint64_t)*expected, high = (uint64_t)(*expected >> 64);
    bool     swapped;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(swapped), "+m"(*(u128 *)at), "+a"(low), "+d"(high)
                     : "b"((uint64_t)next), "c"((uint64_t)(next >> 64))
                     : "memory");
    *expected = (u128)high << 64 | low;
    return swapped;
}

// An x86 with AVX has cmpxchg16b.
static cj_single_way best_way(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return CJ_SINGLE_LOCK;
    return c & bit_AVX ? CJ_SINGLE_VECTOR : c & bit_CMPXCHG16B ? CJ_SINGLE_SWAP : CJ_SINGLE_LOCK;
}

#else

static pair load_vector(const void *from) { return *(const pair *)from; }  // no host chooses these two
static void store_vector(void *to, pair value) { *(pair *)to = value; }

#if defined(__aarch64__)

static bool swap_pair(void *at, u128 *expected, u128 next) {
    uint64_t low, high;
    uint32_t failed;
    do {  // writes the old value back if it is not the expected one: only then was it read as a whole
        __asm__ volatile("ldaxp %0, %1, %2" : "=&r"(low), "=&r"(high) : "Q"(*(u128 *)at) : "memory");
        const u128 was = (u128)high << 64 | low, stored = was == *expected ? next : was;
        __asm__ volatile("stlxp %w0, %2, %3, %1"
                         : "=&r"(failed), "=Q"(*(u128 *)at)
                         : "r"((uint64_t)stored), "r"((uint64_t)(stored >> 64))
                         : "memory");
    } while (failed);
    const u128 was = (u128)high << 64 | low;
    const bool swapped = was == *expected;
    *expected = was;
    return swapped;
}

static cj_single_way best_way(void) { return CJ_SINGLE_SWAP; }

#else

static bool swap_pair(void *at, u128 *expected, u128 next) {
    (void)at, (void)expected, (void)next;
    return false;
}

static cj_single_way best_way(void) { return CJ_SINGLE_LOCK; }

#endif
#endif

// ---- locks

enum { LOCKS = 64 };

static pthread_mutex_t locks[LOCKS];

static pthread_mutex_t *lock_of(const void *at) { return &locks[(uintptr_t)at / CJ_SINGLE_BYTES % LOCKS]; }

static void load_locked(void *to, const void *from) {
    pthread_mutex_lock(lock_of(from));
    memcpy(to, from, 16);
    pthread_mutex_unlock(lock_of(from));
}

static void store_locked(void *to, const void *from) {
    pthread_mutex_lock(lock_of(to));
    memcpy(to, from, 16);
    pthread_mutex_unlock(lock_of(to));
}

static bool swap_locked(void *at, u128 *expected, const void *next) {
    u128 was;
    pthread_mutex_lock(lock_of(at));
    memcpy(&was, at, sizeof was);
    const bool swapped = was == *expected;
    if (swapped) memcpy(at, next, sizeof was);
    pthread_mutex_unlock(lock_of(at));
    *expected = was;
    return swapped;
}

// ---- the choice

static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static cj_single_way  best, used;

static void choose(void) {
    for (unsigned i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
    best = used = best_way();
}

static cj_single_way way(void) {
    pthread_once(&chosen, choose);
    return used;
}

bool cj__single_choose(cj_single_way wanted) {
    pthread_once(&chosen, choose);
    if (wanted < best) return false;
    used = wanted;
    return true;
}

// ---- accesses

static void load_16(void *to, const unsigned char *from) {
    switch (way()) {
    case CJ_SINGLE_VECTOR: *(pair *)to = load_vector(from); break;
    case CJ_SINGLE_SWAP: {
        u128 value = 0;  // the memory is unchanged: zeros are replaced by zeros
        swap_pair((void *)(uintptr_t)from, &value, 0);
        memcpy(to, &value, sizeof value);
        break;
    }
    default: load_locked(to, from);
    }
    ACQUIRED(from);
}

static void store_16(unsigned char *to, const void *from) {
    RELEASES(to);
    switch (way()) {
    case CJ_SINGLE_VECTOR: store_vector(to, *(const pair *)from); break;
    case CJ_SINGLE_SWAP: {
        u128 was = 0, value;
        memcpy(&value, from, sizeof value);
        while (!swap_pair(to, &was, value)) continue;
        break;
    }
    default: store_locked(to, from);
    }
}

bool cj__single_swap_16(unsigned char *at, void *expected, const void *next) {
    u128 was, value;
    memcpy(&was, expected, sizeof was);
    memcpy(&value, next, sizeof value);
    RELEASES(at);
    const bool swapped = way() == CJ_SINGLE_LOCK ? swap_locked(at, &was, next) : swap_pair(at, &was, value);
    ACQUIRED(at);
    memcpy(expected, &was, sizeof was);
    return swapped;
}

#define SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t)

void cj__single_load(void *to, const unsigned char *from, unsigned bytes) {
    switch (bytes) {
#define CJ_X(size, type)                                                                          \
    case size: {                                                                                  \
        typedef type cell __attribute__((__may_alias__));                                         \
        const cell   value = __atomic_load_n((const cell *)(const void *)from, __ATOMIC_ACQUIRE); \
        memcpy(to, &value, sizeof value);                                                         \
        break;                                                                                    \
    }
        SIZES(CJ_X)
#undef CJ_X
    default: load_16(to, from);
    }
}

void cj__single_store(unsigned char *to, const void *from, unsigned bytes) {
    switch (bytes) {
#define CJ_X(size, type)                                               \
    case size: {                                                       \
        typedef type cell __attribute__((__may_alias__));              \
        cell         value;                                            \
        memcpy(&value, from, sizeof value);                            \
        __atomic_store_n((cell *)(void *)to, value, __ATOMIC_RELEASE); \
        break;                                                         \
    }
        SIZES(CJ_X)
#undef CJ_X
    default: store_16(to, from);
    }
}
