// SPDX-License-Identifier: Apache-2.0
// Single copies: aligned accesses of up to 16 bytes that other host threads see as a whole or not at all, as on the
// chip. Loads acquire, stores release, swaps do both.
#ifndef CJ_CPU_SINGLE_H
#define CJ_CPU_SINGLE_H

#include <stdbool.h>

enum { CJ_SINGLE_BYTES = 16 };  // at most

// How the host makes a single copy of 16 bytes.
typedef enum cj_single_way {
    CJ_SINGLE_VECTOR,  // by one load or store: x86 with AVX, whose vendors guarantee it
    CJ_SINGLE_SWAP,    // by compare-and-swap: x86 without; AArch64 by exclusive pairs
    CJ_SINGLE_LOCK,    // under one of several locks: any host
    CJ_SINGLE_WAYS
} cj_single_way;

// The best way of this host is chosen at the first access. A test may choose another one before any access; false if
// the host does not have it.
bool cj__single_choose(cj_single_way way);

// `bytes` is 1, 2, 4, 8 or 16; the device's address (`from`, `to`, `at`) is aligned to it, the other one to 16.
void cj__single_load(void *to, const unsigned char *from, unsigned bytes);
void cj__single_store(unsigned char *to, const void *from, unsigned bytes);
// Stores *next if *expected is there; in any case *expected becomes the old value. False: the old value was another
// one.
bool cj__single_swap_16(unsigned char *at, void *expected, const void *next);

#endif
