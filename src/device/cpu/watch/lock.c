// SPDX-License-Identifier: Apache-2.0
// Locks of the shadows of global memory, for launches that several host threads watch.
//
// An op locks the shards of the bytes that it accesses when it reports the access, and keeps them until it has moved the
// bytes: so the shadow, the releases at an address, and memory itself change together, as if clusters took turns op by op.
// A shard is a KiB of addresses, modulo 64. A page of a shadow may begin within a KiB and reach into the next one; each
// access therefore locks the KiB after its own, too, and two accesses to one page share a shard.
#include "state.h"

enum { SHARD_BITS = 10 };

void cj__watch_open_locks(cj_watch *watch, bool is_parallel) {
    watch->is_parallel = is_parallel;
    pthread_mutex_init(&watch->lock, NULL);
    for (unsigned i = 0; i < CJ_WATCH_SHARDS; i++) pthread_mutex_init(&watch->shard[i], NULL);
}

void cj__watch_close_locks(cj_watch *watch) {
    pthread_mutex_destroy(&watch->lock);
    for (unsigned i = 0; i < CJ_WATCH_SHARDS; i++) pthread_mutex_destroy(&watch->shard[i]);
}

static uint64_t shards_of(uint64_t address, uint64_t bytes) {
    const uint64_t first = address >> SHARD_BITS, count = ((address + bytes - 1) >> SHARD_BITS) - first + 2;
    const uint64_t low = count < CJ_WATCH_SHARDS ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
    const unsigned by = first % CJ_WATCH_SHARDS;
    return by ? low << by | low >> (CJ_WATCH_SHARDS - by) : low;
}

void cj__watch_unlock(cj_cpu_cluster *cluster) {
    for (uint64_t rest = cluster->locked; rest; rest &= rest - 1) {
        pthread_mutex_unlock(&cluster->launch->watch->shard[__builtin_ctzll(rest)]);
    }
    cluster->locked = 0;
}

// All threads lock in ascending order. An op that needs more than it has locked gives those up first.
static void lock(cj_cpu_cluster *cluster, uint64_t shards) {
    if (!(shards & ~cluster->locked)) return;
    shards |= cluster->locked;
    cj__watch_unlock(cluster);
    for (uint64_t rest = shards; rest; rest &= rest - 1) {
        pthread_mutex_lock(&cluster->launch->watch->shard[__builtin_ctzll(rest)]);
    }
    cluster->locked = shards;
}

void cj__watch_lock_lanes(cj_cpu_cluster *cluster, uint32_t mask, const uint64_t *address, uint64_t bytes) {
    uint64_t shards = 0;
    if (!cluster->launch->watch->is_parallel) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) shards |= shards_of(address[__builtin_ctz(rest)], bytes);
    lock(cluster, shards);
}

void cj__watch_lock_place(cj_cpu_cluster *cluster, uint64_t address, uint64_t bytes) {
    if (cluster->launch->watch->is_parallel && bytes) lock(cluster, shards_of(address, bytes));
}
