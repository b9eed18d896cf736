// SPDX-License-Identifier: Apache-2.0
// The host's allocator, made to fail: linked into a test, it replaces malloc and its kin for the whole process, also
// for calls inside the C library (strdup, realpath, opendir, pthread_create).
#ifndef CJ_TESTS_ALLOC_SHIM_H
#define CJ_TESTS_ALLOC_SHIM_H

#include <stdbool.h>

// False if another allocator is needed: under sanitizers, and without glibc.
bool cj_shim_works(void);

// Counts allocations, starting at 1, until cj_shim_end; number `first` fails, and with `for_good` all later ones. 0:
// none fails.
void cj_shim_start(unsigned first, bool for_good);

// Ends counting; returns the number of allocations since the start. A realloc counts, a free does not.
unsigned cj_shim_end(void);

// Blocks that were allocated and not freed since the process began.
long cj_shim_alive(void);

#endif
