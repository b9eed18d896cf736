// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"

typedef enum state { MAKING, MADE, FAILED } state;

struct cj_share {
    state    state;
    unsigned holders;  // including the threads that wait
    void    *value;
    cj_error error;  // of FAILED
    size_t   bytes;
    char     key[];
};

void cj__registry_init(cj_registry *registry) {
    registry->shares = (cj_map){0};
    pthread_mutex_init(&registry->lock, NULL);
    pthread_cond_init(&registry->made, NULL);
}

void cj__registry_free(cj_registry *registry) {
    cj__map_free(&registry->shares);
    pthread_cond_destroy(&registry->made);
    pthread_mutex_destroy(&registry->lock);
}

// Adds an entry for a value that the caller is about to make; NULL when out of memory.
static cj_share *add_share(cj_registry *registry, const void *key, size_t bytes) {
    cj_share *share = cj__calloc(1, sizeof *share + bytes);
    if (!share) return NULL;
    share->holders = 1;
    share->bytes = bytes;
    memcpy(share->key, key, bytes);
    if (cj__map_put(&registry->shares, share->key, bytes, share)) return share;
    cj__free(share);
    return NULL;
}

// Called under the lock, which is released while the value is made. A failure is removed from the registry at once, so
// that the next caller tries again; the threads that have waited still get it.
static void make_value(cj_registry *registry, cj_share *share, cj_make make, void *user) {
    pthread_mutex_unlock(&registry->lock);
    void           *value = NULL;
    cj_error        error = {0};
    const cj_status status = make(user, share, &value, &error);
    pthread_mutex_lock(&registry->lock);
    share->value = value;
    share->error = error;
    share->error.status = status;
    share->state = status ? FAILED : MADE;
    if (status) cj__map_remove(&registry->shares, share->key, share->bytes);
    pthread_cond_broadcast(&registry->made);
}

cj_status cj__registry_get(cj_registry *registry, const void *key, size_t bytes, cj_make make, void *user, void **value,
                           cj_error *error) {
    cj_status status = CJ_OK;
    pthread_mutex_lock(&registry->lock);
    cj_share *found = cj__map_get(&registry->shares, key, bytes);
    if (found) {
        found->holders++;
        while (found->state == MAKING) pthread_cond_wait(&registry->made, &registry->lock);
    } else {
        found = add_share(registry, key, bytes);
        if (found)
            make_value(registry, found, make, user);
        else
            status = cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a key of %zu bytes", bytes);
    }
    if (found && found->state == FAILED) {
        status = found->error.status;
        if (error) *error = found->error;
        if (!--found->holders) cj__free(found);
    }
    if (!status) *value = found->value;
    pthread_mutex_unlock(&registry->lock);
    return status;
}

void *cj__registry_drop(cj_registry *registry, cj_share *share) {
    void *value = NULL;
    pthread_mutex_lock(&registry->lock);
    if (!--share->holders) {
        cj__map_remove(&registry->shares, share->key, share->bytes);
        value = share->value;
        cj__free(share);
    }
    pthread_mutex_unlock(&registry->lock);
    return value;
}
