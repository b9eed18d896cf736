// SPDX-License-Identifier: Apache-2.0
// The last shape in which a function was launched. A launch of that shape again breaks no rule, and asks the driver nothing.
// Any thread may read and write it at any time, without a lock.
#ifndef CJ_DEVICE_ACCEPTED_H
#define CJ_DEVICE_ACCEPTED_H

#include <clusterjit/device.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CJ_SHAPE_WORDS = 8 };

// Everything of a cj_launch_config that a rule looks at.
typedef struct cj_shape_key {
    uint64_t word[CJ_SHAPE_WORDS];
} cj_shape_key;

typedef struct cj_accepted {
    atomic_uint      sequence;  // odd while a thread writes; 0: nothing yet
    _Atomic uint64_t word[CJ_SHAPE_WORDS];
} cj_accepted;

void cj__accepted_set(cj_accepted *accepted, const cj_shape_key *key);

// Copies the last shape's extents, shared memory and opt-in to `config`; false if there is none, or if another thread
// is writing it.
bool cj__accepted_get(const cj_accepted *accepted, cj_launch_config *config);

// A field as a byte: all values out of its range become one value, which no rule accepts.
static inline uint32_t cj__shape_byte(uint32_t value) { return value < UINT8_MAX ? value : UINT8_MAX; }

static inline uint64_t cj__shape_pair(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

static inline cj_shape_key cj__shape_key(const cj_launch_config *c) {
    const cj_launch_attributes *a = &c->attributes;
    const cj_dim3               preferred = a->preferred_cluster;
    const uint32_t flags = (uint32_t)c->nonportable | (uint32_t)a->programmatic << 1 | (uint32_t)a->cooperative << 2 |
                           cj__shape_byte((uint32_t)a->cluster_scheduling) << 8;
    const uint32_t domains = cj__shape_byte((uint32_t)a->sync_domain) | (uint32_t)a->sync_domain_map[0] << 8 |
                             (uint32_t)a->sync_domain_map[1] << 16;
    return (cj_shape_key){{
        cj__shape_pair(c->grid.x, c->grid.y),
        cj__shape_pair(c->grid.z, c->dynamic_shared),
        cj__shape_pair(c->block.x, c->block.y),
        cj__shape_pair(c->block.z, flags),
        cj__shape_pair(c->cluster.x, c->cluster.y),
        cj__shape_pair(c->cluster.z, domains),
        cj__shape_pair(preferred.x, preferred.y),
        cj__shape_pair(preferred.z, (uint32_t)a->priority),
    }};
}

// A sequence lock without fences: a reader that loads a word of a later writer also acquires that writer's odd sequence
// number, and so sees that the sequence has changed.
static inline bool cj__accepted_is(const cj_accepted *accepted, const cj_shape_key *key) {
    const unsigned sequence = atomic_load_explicit(&accepted->sequence, memory_order_acquire);
    uint64_t       differs = !sequence || sequence % 2;
    for (int i = 0; i < CJ_SHAPE_WORDS; i++)
        differs |= atomic_load_explicit(&accepted->word[i], memory_order_acquire) ^ key->word[i];
    return !differs && atomic_load_explicit(&accepted->sequence, memory_order_relaxed) == sequence;
}

#endif
