// SPDX-License-Identifier: Apache-2.0
// Things made once under a key and shared: the modules and the kernels of a device. Whoever asks for a key first makes
// its value; others who ask meanwhile wait for that one, and for no other, since nothing is locked while a value is
// made.
#ifndef CJ_LAUNCH_REGISTRY_H
#define CJ_LAUNCH_REGISTRY_H

#include <clusterjit/base.h>
#include <pthread.h>
#include <stddef.h>

typedef struct cj_share cj_share;  // a value's place, with its key and the count of its holders

typedef struct cj_registry {
    pthread_mutex_t lock;  // guards all of it
    pthread_cond_t  made;  // some value was made, or could not be
    cj_share       *shares;
} cj_registry;

// Makes a value for cj__registry_get; not called again for this key until the value is gone, unless it fails. `share`
// is for the value to remember; it is nobody's yet.
typedef cj_status (*cj_make)(void *user, cj_share *share, void **value, cj_error *error);

void cj__registry_init(cj_registry *registry);
void cj__registry_free(cj_registry *registry);  // every share must have been dropped

// The value of the key, in which the caller has a share from then on. Fails as the one `make` did that all who asked
// have waited for.
cj_status cj__registry_get(cj_registry *registry, const void *key, size_t bytes, cj_make make, void *user, void **value,
                           cj_error *error);

// Gives a share back. Returns the value when it was the last one: the caller frees it; else NULL.
void *cj__registry_drop(cj_registry *registry, cj_share *share);

#endif
