// SPDX-License-Identifier: Apache-2.0
// The host's allocator, made to fail: linked into a test, it takes the place of malloc and its kin for the whole
// process, the C library's own calls (strdup, realpath, opendir, pthread_create) among them.
#ifndef CJ_TESTS_ALLOC_SHIM_H
#define CJ_TESTS_ALLOC_SHIM_H

#include <stdbool.h>

// False where another allocator has to be in place: under sanitizers, and without glibc.
bool cj_shim_works(void);

// Counts allocations from 1 until cj_shim_end; the one numbered `first` fails, and with `for_good` all that follow it.
// 0: none fails.
void cj_shim_start(unsigned first, bool for_good);

// Ends it; how many were asked for since the start. A realloc is one, a free is none.
unsigned cj_shim_end(void);

// Blocks that are allocated and not freed, since the process began.
long cj_shim_alive(void);

#endif
