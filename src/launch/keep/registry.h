// SPDX-License-Identifier: Apache-2.0
// Values made once under a key and shared: the modules and the kernels of a device. The first thread that asks for a
// key makes its value; others that ask meanwhile wait for that value only, since nothing is locked while a value is
// made.
#ifndef CJ_LAUNCH_REGISTRY_H
#define CJ_LAUNCH_REGISTRY_H

#include <clusterjit/base.h>
#include <pthread.h>
#include <stddef.h>

#include "hash.h"

typedef struct cj_share cj_share;  // a value's entry, with its key and the count of its holders

typedef struct cj_registry {
    pthread_mutex_t lock;    // guards all of it
    pthread_cond_t  made;    // some value was made, or could not be made
    cj_map          shares;  // cj_share, by key
} cj_registry;

// Makes a value for cj__registry_get; not called again for this key until the value is gone, unless it fails. The value
// may store `share`, which has no other holder yet.
typedef cj_status (*cj_make)(void *user, cj_share *share, void **value, cj_error *error);

void cj__registry_init(cj_registry *registry);
void cj__registry_free(cj_registry *registry);  // every share must have been dropped

// The value of the key, of which the caller becomes a holder. All threads that waited for the same `make` get its
// failure.
cj_status cj__registry_get(cj_registry *registry, const void *key, size_t bytes, cj_make make, void *user, void **value,
                           cj_error *error);

// Ends the caller's hold. Returns the value if there is no other holder: the caller frees it; else NULL.
void *cj__registry_drop(cj_registry *registry, cj_share *share);

#endif
