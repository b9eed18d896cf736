// SPDX-License-Identifier: Apache-2.0
#include "recent.h"

bool cj__recent_get(const cj_recent *recent, const uint64_t key[CJ_RECENT_KEY], uint64_t value[CJ_RECENT_VALUE]) {
    const unsigned turn = atomic_load_explicit(&recent->turn, memory_order_acquire);
    uint64_t       other = 0;
    if (!turn || turn % 2) return false;
    for (unsigned i = 0; i < CJ_RECENT_KEY; i++)
        other |= key[i] ^ atomic_load_explicit(&recent->key[i], memory_order_acquire);
    if (other) return false;
    for (unsigned i = 0; i < CJ_RECENT_VALUE; i++)
        value[i] = atomic_load_explicit(&recent->value[i], memory_order_acquire);
    return atomic_load_explicit(&recent->turn, memory_order_relaxed) == turn;
}

void cj__recent_put(cj_recent *recent, const uint64_t key[CJ_RECENT_KEY], const uint64_t value[CJ_RECENT_VALUE]) {
    unsigned turn = atomic_load_explicit(&recent->turn, memory_order_relaxed);
    if (turn % 2 || !atomic_compare_exchange_strong_explicit(&recent->turn, &turn, turn + 1, memory_order_acquire,
                                                             memory_order_relaxed))
        return;
    for (unsigned i = 0; i < CJ_RECENT_KEY; i++) atomic_store_explicit(&recent->key[i], key[i], memory_order_release);
    for (unsigned i = 0; i < CJ_RECENT_VALUE; i++)
        atomic_store_explicit(&recent->value[i], value[i], memory_order_release);
    atomic_store_explicit(&recent->turn, turn + 2, memory_order_release);
}
