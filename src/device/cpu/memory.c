// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { ALIGNMENT = 256 };

cj_status cj__cpu_memory_init(cj_cpu_memory *memory, cj_error *error) {
    memory->ranges = calloc(1, sizeof *memory->ranges);
    if (!memory->ranges) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the device's list of allocations");
    memory->ranges->users = 1;
    pthread_mutex_init(&memory->lock, NULL);
    return CJ_OK;
}

void cj__cpu_memory_free(cj_cpu_memory *memory) {
    for (size_t i = 0; i < memory->ranges->count; i++) free((void *)(uintptr_t)memory->ranges->range[i].begin);
    free(memory->ranges);
    pthread_mutex_destroy(&memory->lock);
}

// Gives back a list; the lock is held.
static void drop(cj_cpu_ranges *ranges) {
    if (--ranges->users == 0) free(ranges);
}

// The index of the first range that begins above the address.
static size_t above(const cj_cpu_ranges *ranges, uint64_t address) {
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges->range[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Replaces the list by one with `count` ranges, of which the first `kept` and the last ones are those of the old list,
// the `removed` ones behind the first left out. Returns the new list; NULL when out of memory. The lock is held.
static cj_cpu_ranges *replace(cj_cpu_memory *memory, size_t count, size_t kept, size_t removed, size_t added) {
    cj_cpu_ranges *old = memory->ranges;
    cj_cpu_ranges *new = malloc(sizeof *new + count * sizeof *new->range);
    if (!new) return NULL;
    new->users = 1;
    new->count = count;
    memcpy(new->range, old->range, kept * sizeof *new->range);
    memcpy(new->range + kept + added, old->range + kept + removed, (old->count - kept - removed) * sizeof *new->range);
    memory->ranges = new;
    drop(old);
    return new;
}

cj_status cj__cpu_alloc(cj_cpu_memory *memory, size_t bytes, const char *name, cj_ptr *address, cj_error *error) {
    const size_t room = bytes > SIZE_MAX - 3 * ALIGNMENT ? 0 : (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void        *data = room ? aligned_alloc(ALIGNMENT, room) : NULL;
    if (!data) return cj__fail(error, CJ_OUT_OF_MEMORY, "no host memory for %zu bytes on the CPU device", bytes);
    memset(data, CJ_POISON, bytes);

    const uint64_t begin = (uintptr_t)data;
    pthread_mutex_lock(&memory->lock);
    const size_t at = above(memory->ranges, begin);
    cj_cpu_ranges *new = replace(memory, memory->ranges->count + 1, at, 0, 1);
    if (new) new->range[at] = (cj_cpu_range){.begin = begin, .end = begin + bytes, .name = name};
    pthread_mutex_unlock(&memory->lock);
    if (!new) {
        free(data);
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the device's list of allocations");
    }
    *address = begin;
    return CJ_OK;
}

void cj__cpu_release(cj_cpu_memory *memory, cj_ptr address) {
    pthread_mutex_lock(&memory->lock);
    const size_t at = above(memory->ranges, address);
    // Without memory for a shorter list the allocation is kept: a leak, but no access to freed memory.
    const bool ours = at && memory->ranges->range[at - 1].begin == address &&
                      replace(memory, memory->ranges->count - 1, at - 1, 1, 0);
    pthread_mutex_unlock(&memory->lock);
    if (ours) free((void *)(uintptr_t)address);
}

cj_cpu_ranges *cj__cpu_ranges_hold(cj_cpu_memory *memory) {
    pthread_mutex_lock(&memory->lock);
    cj_cpu_ranges *ranges = memory->ranges;
    ranges->users++;
    pthread_mutex_unlock(&memory->lock);
    return ranges;
}

void cj__cpu_ranges_drop(cj_cpu_memory *memory, cj_cpu_ranges *ranges) {
    pthread_mutex_lock(&memory->lock);
    drop(ranges);
    pthread_mutex_unlock(&memory->lock);
}

const cj_cpu_range *cj__cpu_ranges_find(const cj_cpu_ranges *ranges, uint64_t address, uint64_t bytes,
                                        const cj_cpu_range **nearest) {
    const size_t        at = above(ranges, address);
    const cj_cpu_range *range = at ? &ranges->range[at - 1] : NULL;
    if (nearest) *nearest = range;
    return range && address < range->end && bytes <= range->end - address ? range : NULL;
}
