// SPDX-License-Identifier: Apache-2.0
#include "accepted.h"

// Does nothing if another thread is writing: either shape may be kept.
void cj__accepted_set(cj_accepted *accepted, const cj_shape_key *key) {
    unsigned sequence = atomic_load_explicit(&accepted->sequence, memory_order_relaxed);
    if (sequence % 2 || !atomic_compare_exchange_strong_explicit(&accepted->sequence, &sequence, sequence + 1,
                                                                 memory_order_acquire, memory_order_relaxed))
        return;
    for (int i = 0; i < CJ_SHAPE_WORDS; i++)
        atomic_store_explicit(&accepted->word[i], key->word[i], memory_order_release);
    atomic_store_explicit(&accepted->sequence, sequence + 2, memory_order_release);
}

static cj_dim3 extent(const cj_shape_key *key, int xy, int z) {
    return (cj_dim3){(uint32_t)key->word[xy], (uint32_t)(key->word[xy] >> 32), (uint32_t)key->word[z]};
}

bool cj__accepted_get(const cj_accepted *accepted, cj_launch_config *config) {
    cj_shape_key key;
    for (int i = 0; i < CJ_SHAPE_WORDS; i++)
        key.word[i] = atomic_load_explicit(&accepted->word[i], memory_order_acquire);
    if (!cj__accepted_is(accepted, &key)) return false;
    config->grid = extent(&key, 0, 1);
    config->block = extent(&key, 2, 3);
    config->cluster = extent(&key, 4, 5);
    config->dynamic_shared = (uint32_t)(key.word[1] >> 32);
    config->nonportable = key.word[3] >> 32 & 1;
    return true;
}
