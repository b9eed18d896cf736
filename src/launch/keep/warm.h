// SPDX-License-Identifier: Apache-2.0
// Kernels by small keys, for the one-call functions: found without a lock, an allocation or a copy. Kernels are only
// added, never removed, until the table is cleared.
//
// The table is an array of slots, a power of two of them and never full, with linear probing. A reader loads the array,
// then slots, each with acquire: what it reads was complete before it was published. A writer, under a lock, publishes
// a filled entry by one store of its pointer. When the array grows, readers may still use the old one, which is freed
// with the table (all the old ones together are as large as the new one).
#ifndef CJ_LAUNCH_WARM_H
#define CJ_LAUNCH_WARM_H

#include <clusterjit/kernel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CJ_WARM_KEY = 96 };

// A key, all bytes of which are compared: its user zeroes it first, and begins it with a value that no other user's
// keys have.
typedef struct cj_warm_key {
    _Alignas(8) unsigned char bytes[CJ_WARM_KEY];
} cj_warm_key;

typedef struct cj_warm_array cj_warm_array;

typedef struct cj_warm {
    _Atomic(cj_warm_array *) array;  // NULL: nothing was added yet
    pthread_mutex_t          lock;   // held by writers
} cj_warm;

void cj__warm_init(cj_warm *warm);

cj_kernel *cj__warm_find(const cj_warm *warm, const cj_warm_key *key);  // NULL: not found

// Adds the kernel, or returns what another thread has added under this key; NULL when out of memory. A kernel that is added is
// passed to `drop` when the table is emptied.
cj_kernel *cj__warm_add(cj_warm *warm, const cj_warm_key *key, cj_kernel *kernel, void (*drop)(cj_kernel *kernel),
                        bool *added);

void cj__warm_clear(cj_warm *warm);  // empties the table; no thread may be reading
void cj__warm_free(cj_warm *warm);  // after a clear

#endif
