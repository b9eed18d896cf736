// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "team.h"

enum { ALIGNMENT = 256 };

cj_status cj__cpu_memory_init(cj_cpu_memory *memory, const cj_limits *limits, cj_error *error) {
    memory->limits = limits;
    memory->ranges = cj__calloc(1, sizeof *memory->ranges);
    if (!memory->ranges) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the device's list of allocations");
    memory->ranges->users = 1;
    pthread_mutex_init(&memory->lock, NULL);
    return CJ_OK;
}

void cj__cpu_written_free(cj_cpu_written *written) {
    if (!written) return;
    cj__free(written->team);
    cj__free(written);
}

// A list no longer has this range; the caller holds the lock.
static void leave_list(const cj_cpu_range *range) {
    if (!--range->written->lists) cj__cpu_written_free(range->written);
}

// Releases a list; the caller holds the lock.
static void drop(cj_cpu_ranges *ranges) {
    if (--ranges->users) return;
    for (size_t i = 0; i < ranges->count; i++) leave_list(&ranges->range[i]);
    cj__free(ranges);
}

void cj__cpu_memory_free(cj_cpu_memory *memory) {
    for (size_t i = 0; i < memory->ranges->count; i++) {
        const cj_cpu_range *range = &memory->ranges->range[i];
        if (!range->wrapped) cj__free((void *)(uintptr_t)range->begin);
    }
    drop(memory->ranges);
    pthread_mutex_destroy(&memory->lock);
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

// A copy of a list with room for more; NULL when out of memory.
static cj_cpu_ranges *copy_list(const cj_cpu_ranges *old) {
    const size_t capacity = 2 * old->count + 16;
    cj_cpu_ranges *new = cj__malloc(sizeof *new + capacity * sizeof *new->range);
    if (!new) return NULL;
    *new = (cj_cpu_ranges){.users = 1, .count = old->count, .capacity = capacity, .teams = old->teams};
    memcpy(new->range, old->range, old->count * sizeof *new->range);
    for (size_t i = 0; i < new->count; i++) new->range[i].written->lists++;
    return new;
}

// A current list that may be changed, with room for one more; NULL when out of memory. The caller holds the lock.
static cj_cpu_ranges *own_list(cj_cpu_memory *memory) {
    cj_cpu_ranges *old = memory->ranges;
    if (old->users == 1 && old->count < old->capacity) return old;
    cj_cpu_ranges *new = copy_list(old);
    if (!new) return NULL;
    memory->ranges = new;
    drop(old);
    return new;
}

static bool insert(cj_cpu_memory *memory, size_t at, const cj_cpu_range *range) {
    cj_cpu_ranges *list = own_list(memory);
    if (!list) return false;
    memmove(&list->range[at + 1], &list->range[at], (list->count++ - at) * sizeof *list->range);
    list->range[at] = *range;
    list->teams += range->written->team != NULL;
    range->written->lists++;
    if (!range->wrapped) memory->allocated += range->end - range->begin;
    return true;
}

static bool erase(cj_cpu_memory *memory, size_t at) {
    cj_cpu_ranges *list = own_list(memory);
    if (!list) return false;
    const cj_cpu_range gone = list->range[at];
    memmove(&list->range[at], &list->range[at + 1], (--list->count - at) * sizeof *list->range);
    list->teams -= gone.written->team != NULL;
    leave_list(&gone);
    if (!gone.wrapped) memory->allocated -= gone.end - gone.begin;
    return true;
}

bool cj__cpu_ranges_renew(cj_cpu_memory *memory, cj_ptr begin, cj_cpu_written *written) {
    pthread_mutex_lock(&memory->lock);
    const size_t   at = above(memory->ranges, begin);
    const bool     known = at && memory->ranges->range[at - 1].begin == begin;
    cj_cpu_ranges *list = known ? own_list(memory) : NULL;
    if (list) {
        list->teams += (written->team != NULL) - (size_t)(list->range[at - 1].written->team != NULL);
        leave_list(&list->range[at - 1]);
        list->range[at - 1].written = written;
        written->lists++;
    }
    pthread_mutex_unlock(&memory->lock);
    return list != NULL;
}

// Whether the device has as many bytes left. A host that overcommits memory would end the process instead.
static bool fits(cj_cpu_memory *memory, uint64_t bytes) {
    pthread_mutex_lock(&memory->lock);
    const uint64_t most = memory->limits->global_bytes, allocated = memory->allocated;
    pthread_mutex_unlock(&memory->lock);
    return allocated <= most && bytes <= most - allocated;
}

cj_status cj__cpu_ranges_add(cj_cpu_memory *memory, const cj_cpu_range *range, cj_error *error) {
    pthread_mutex_lock(&memory->lock);
    const cj_cpu_ranges *ranges = memory->ranges;
    const size_t         at = above(ranges, range->begin);
    const cj_cpu_range  *other = at && ranges->range[at - 1].end > range->begin               ? &ranges->range[at - 1]
                                 : at < ranges->count && ranges->range[at].begin < range->end ? &ranges->range[at]
                                                                                              : NULL;
    const cj_cpu_range   known = other ? *other : (cj_cpu_range){0};
    const bool           added = !other && insert(memory, at, range);
    pthread_mutex_unlock(&memory->lock);
    if (added) return CJ_OK;
    cj__cpu_written_free(range->written);
    if (!other) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the device's list of allocations");
    cj__fail(error, CJ_INVALID_ARGUMENT,
             "%llu bytes at 0x%llx are the CPU device's already: %llu bytes at 0x%llx are %s",
             (unsigned long long)(range->end - range->begin), (unsigned long long)range->begin,
             (unsigned long long)(known.end - known.begin), (unsigned long long)known.begin,
             known.wrapped ? "wrapped" : "allocated");
    cj__hint(error, "end the one with cj_mem_free first");
    return CJ_INVALID_ARGUMENT;
}

static cj_status allocate(cj_cpu_memory *memory, size_t bytes, const char *name, struct cj_cpu_heap *heap,
                          cj_ptr *address, cj_error *error) {
    if (!fits(memory, bytes)) {
        return cj__fail(error, CJ_OUT_OF_MEMORY, "%zu bytes are more than what is left of the CPU device's %llu", bytes,
                        (unsigned long long)memory->limits->global_bytes);
    }
    const size_t    room = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void           *data = cj__aligned_alloc(ALIGNMENT, room);
    cj_cpu_written *written = data ? cj__calloc(1, sizeof *written + bytes / 8 + 1) : NULL;
    if (!written) {
        cj__free(data);
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no host memory for %zu bytes on the CPU device", bytes);
    }
    if (!heap) memset(data, CJ_POISON, bytes);  // malloc fills its blocks; a heap may be large, and mostly is not used

    const uint64_t     begin = (uintptr_t)data;
    const cj_cpu_range range = {begin, begin + bytes, name, written, false, heap};
    const cj_status    status = cj__cpu_ranges_add(memory, &range, error);
    if (status) {
        cj__free(data);
        return status;
    }
    *address = begin;
    return CJ_OK;
}

cj_status cj__cpu_alloc(cj_cpu_memory *memory, size_t bytes, const char *name, cj_ptr *address, cj_error *error) {
    return allocate(memory, bytes, name, NULL, address, error);
}

cj_status cj__cpu_alloc_heap(cj_cpu_memory *memory, size_t bytes, struct cj_cpu_heap *heap, cj_ptr *address,
                             cj_error *error) {
    return allocate(memory, bytes, "the heap of kernels", heap, address, error);
}

cj_status cj__cpu_wrap(cj_cpu_memory *memory, void *host, size_t bytes, cj_error *error) {
    const uint64_t begin = (uintptr_t)host;
    if (bytes > UINTPTR_MAX - begin)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%zu bytes from 0x%llx on are past the end of the host's addresses",
                        bytes, (unsigned long long)begin);
    cj_cpu_written *written = cj__calloc(1, sizeof *written);
    if (!written) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the device's list of allocations");
    written->all = true;
    return cj__cpu_ranges_add(memory, &(cj_cpu_range){begin, begin + bytes, NULL, written, true, NULL}, error);
}

void cj__cpu_release(cj_cpu_memory *memory, cj_ptr address) {
    pthread_mutex_lock(&memory->lock);
    const size_t at = above(memory->ranges, address);
    // If there is no memory for a shorter list the allocation is kept: a leak, but no access to freed memory.
    const bool known = at && memory->ranges->range[at - 1].begin == address;
    const bool owned = known && !memory->ranges->range[at - 1].wrapped;
    const bool gone = known && erase(memory, at - 1);
    pthread_mutex_unlock(&memory->lock);
    if (owned && gone) cj__free((void *)(uintptr_t)address);
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

// Adds a range to a list that has room. What overlaps it becomes one range with it, which is the largest of them with the bounds
// of all: of two ranges neither of which holds the other both are wrapped, so all bytes of both are written.
static void unite(cj_cpu_ranges *all, cj_cpu_range range) {
    const uint64_t begin = range.begin, end = range.end;
    size_t         last = above(all, end - 1), first = last;
    while (first && all->range[first - 1].end > begin) first--;
    for (size_t i = first; i < last; i++) {
        const cj_cpu_range *other = &all->range[i];
        const cj_cpu_range  larger = other->end - other->begin >= range.end - range.begin ? *other : range;
        const uint64_t      low = other->begin < range.begin ? other->begin : range.begin,
                       high = other->end > range.end ? other->end : range.end;
        range = larger;
        range.begin = low;
        range.end = high;
    }
    memmove(&all->range[first + 1], &all->range[last], (all->count - last) * sizeof range);
    all->count += 1 - (last - first);
    all->range[first] = range;
}

cj_cpu_ranges *cj__cpu_ranges_union(cj_cpu_ranges *const *list, uint32_t count) {
    size_t capacity = 0;
    for (uint32_t i = 0; i < count; i++) capacity += list[i]->count;
    cj_cpu_ranges *all = cj__malloc(sizeof *all + capacity * sizeof *all->range);
    if (!all) return NULL;
    *all = (cj_cpu_ranges){.users = 1, .capacity = capacity};
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < list[i]->count; k++) unite(all, list[i]->range[k]);
    }
    return all;
}

const cj_cpu_range *cj__cpu_ranges_find(const cj_cpu_ranges *ranges, uint64_t address, uint64_t bytes,
                                        const cj_cpu_range **nearest) {
    const size_t        at = above(ranges, address);
    const cj_cpu_range *range = at ? &ranges->range[at - 1] : NULL;
    if (nearest) *nearest = range;
    return range && address < range->end && bytes <= range->end - address ? range : NULL;
}

// ---- the bytes that have been written

// Host threads may write to parts of one allocation at the same time, so a byte of bits that two parts share is changed
// atomically.
void cj__cpu_written_mark(const cj_cpu_range *range, uint64_t offset, uint64_t bytes) {
    cj_cpu_written *written = range->written;
    if (__atomic_load_n(&written->all, __ATOMIC_RELAXED) || !bytes) return;
    if (bytes == range->end - range->begin) {
        __atomic_store_n(&written->all, true, __ATOMIC_RELAXED);
        return;
    }
    const uint64_t      last = offset + bytes - 1, first_byte = offset / 8, last_byte = last / 8;
    const unsigned char head = (unsigned char)(0xff << offset % 8), tail = (unsigned char)(0xff >> (7 - last % 8));
    if (first_byte == last_byte) {
        __atomic_fetch_or(&written->bits[first_byte], (unsigned char)(head & tail), __ATOMIC_RELAXED);
        return;
    }
    __atomic_fetch_or(&written->bits[first_byte], head, __ATOMIC_RELAXED);
    memset(&written->bits[first_byte + 1], 0xff, last_byte - first_byte - 1);
    __atomic_fetch_or(&written->bits[last_byte], tail, __ATOMIC_RELAXED);
}

void cj__cpu_written_itemize(const cj_cpu_range *range) {
    cj_cpu_written *written = range->written;
    if (!written->all) return;
    memset(written->bits, 0xff, (range->end - range->begin) / 8 + 1);
    written->all = false;
}

void cj__cpu_written_clear(const cj_cpu_range *range, uint64_t offset, uint64_t bytes) {
    memset(&range->written->bits[offset / 8], 0, bytes / 8);
}

void cj__cpu_written_mark_all(const cj_cpu_ranges *ranges) {
    for (size_t i = 0; i < ranges->count; i++) {
        __atomic_store_n(&ranges->range[i].written->all, true, __ATOMIC_RELAXED);
    }
}

// Whether 64 bytes from `at` on, a multiple of 8, are all written or all unwritten.
static bool are_same(const unsigned char *bits, uint64_t at, bool written) {
    uint64_t word;
    memcpy(&word, bits + at / 8, sizeof word);
    return word == (written ? UINT64_MAX : 0);
}

static bool is_written(const unsigned char *bits, uint64_t at) { return bits[at / 8] >> at % 8 & 1; }

uint64_t cj__cpu_written_run(const cj_cpu_range *range, uint64_t offset, uint64_t bytes, bool *written) {
    const unsigned char *bits = range->written->bits;
    const uint64_t       end = offset + bytes;
    uint64_t             at = offset;
    *written = true;
    if (__atomic_load_n(&range->written->all, __ATOMIC_RELAXED)) return bytes;
    *written = is_written(bits, offset);
    while (at < end && is_written(bits, at) == *written) {
        at += at % 8 == 0 && end - at >= 64 && are_same(bits, at, *written) ? 64 : 1;
    }
    return at - offset;
}
