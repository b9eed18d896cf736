// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <stdlib.h>

#include "allocate.h"
#include "error.h"

#define LIVE 0x80000000u  // in run: the segment is a block; in owner: the block is live

// What a block's first granule records.
typedef struct record {
    uint64_t bytes;
    uint32_t line, freed_line;
    cj_dim3  thread, block;
} record;

struct cj_cpu_heap {
    pthread_mutex_t lock;
    uint64_t        begin, limit;
    uint32_t        granules;
    uint32_t        cursor;   // the segment at which the next search begins
    uint32_t        refused;  // granules for which there was no room since the last free; 0: none
    uint32_t       *run;      // of a segment's first granule: its granules, and LIVE
    uint32_t *owner;  // of each granule: the first granule of the block that has it or had it last, plus 1, and LIVE
    record   *record;
    cj_cpu_heap_state state;
};

cj_status cj__heap_new(cj_cpu_memory *memory, uint64_t bytes, cj_cpu_heap **heap, cj_error *error) {
    cj_cpu_heap *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the heap of kernels");
    made->limit = bytes;
    made->granules = (uint32_t)(bytes / CJ_HEAP_GRANULE);
    made->run = cj__calloc(made->granules + 1u, sizeof *made->run);
    made->owner = cj__calloc(made->granules + 1u, sizeof *made->owner);
    made->record = cj__calloc(made->granules + 1u, sizeof *made->record);
    made->state.limit = bytes;
    pthread_mutex_init(&made->lock, NULL);
    cj_status status = CJ_OK;
    if (!made->run || !made->owner || !made->record)
        status = cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the heap of kernels");
    if (!status) status = cj__cpu_alloc_heap(memory, bytes, made, &made->begin, error);
    if (status) {
        cj__heap_free(memory, made);
        return status;
    }
    made->run[0] = made->granules;
    *heap = made;
    return CJ_OK;
}

void cj__heap_free(cj_cpu_memory *memory, cj_cpu_heap *heap) {
    if (!heap) return;
    if (heap->begin) cj__cpu_release(memory, heap->begin);
    pthread_mutex_destroy(&heap->lock);
    cj__free(heap->run);
    cj__free(heap->owner);
    cj__free(heap->record);
    cj__free(heap);
}

// The first free segment from granule `from` to `to` with so many granules, or `to`. Joins free segments that follow each other.
static uint32_t search(cj_cpu_heap *heap, uint32_t from, uint32_t to, uint32_t wanted) {
    uint32_t at = from;
    for (; at < to; at += heap->run[at] & ~LIVE) {
        if (heap->run[at] & LIVE) continue;
        for (uint32_t next; (next = at + heap->run[at]) < heap->granules && !(heap->run[next] & LIVE);)
            heap->run[at] += heap->run[next];
        if (heap->run[at] >= wanted) return at;
    }
    return to;
}

// Room for so many granules, one after them included; heap->granules: none.
static uint32_t find_room(cj_cpu_heap *heap, uint32_t wanted) {
    if (heap->refused && wanted >= heap->refused) return heap->granules;
    uint32_t at = search(heap, heap->cursor, heap->granules, wanted);
    if (at < heap->granules) return at;
    at = search(heap, 0, heap->cursor, wanted);  // may join what lies at the cursor
    if (at < heap->cursor) return at;
    heap->cursor = 0;
    heap->refused = wanted;
    return heap->granules;
}

// Makes granules [first, first + count) of a free segment that begins at `at` a segment of their own.
static void divide(cj_cpu_heap *heap, uint32_t at, uint32_t first, uint32_t count) {
    const uint32_t end = at + heap->run[at];
    if (first > at) heap->run[at] = first - at;
    if (end > first + count) heap->run[first + count] = end - (first + count);
    heap->run[first] = count | LIVE;
    heap->cursor = first + count < heap->granules ? first + count : 0;
}

static void own(cj_cpu_heap *heap, uint32_t first, uint32_t count, uint32_t owner) {
    for (uint32_t i = first; i < first + count; i++) __atomic_store_n(&heap->owner[i], owner, __ATOMIC_RELAXED);
}

static uint64_t take(cj_cpu_heap *heap, const cj_heap_block *wanted, uint64_t align) {
    const uint64_t room = heap->limit + align;
    heap->state.allocations++;
    if (!wanted->bytes || wanted->bytes > heap->limit || align > heap->limit || room > CJ_HEAP_MOST) return 0;
    const uint32_t count = (uint32_t)((wanted->bytes + CJ_HEAP_GRANULE - 1) / CJ_HEAP_GRANULE) + 1;
    const uint32_t spare = align > CJ_HEAP_GRANULE ? (uint32_t)(align / CJ_HEAP_GRANULE) : 0;
    const uint32_t at = find_room(heap, count + spare);
    if (at == heap->granules) return 0;
    const uint64_t begin = heap->begin + (uint64_t)at * CJ_HEAP_GRANULE;
    const uint64_t address = spare ? (begin + align - 1) / align * align : begin;
    const uint32_t first = (uint32_t)((address - heap->begin) / CJ_HEAP_GRANULE);
    divide(heap, at, first, count);
    heap->record[first] = (record){
        .bytes = wanted->bytes, .line = wanted->line, .thread = wanted->thread, .block = wanted->block};
    own(heap, first, count - 1, (first + 1) | LIVE);
    own(heap, first + count - 1, 1, 0);
    heap->state.blocks++;
    heap->state.used += wanted->bytes;
    if (heap->state.used > heap->state.most) heap->state.most = heap->state.used;
    return address;
}

uint64_t cj__heap_take(cj_cpu_heap *heap, const cj_heap_block *wanted, uint64_t align) {
    pthread_mutex_lock(&heap->lock);
    const uint64_t address = take(heap, wanted, align);
    heap->state.refused += !address;
    pthread_mutex_unlock(&heap->lock);
    return address;
}

bool cj__heap_give(cj_cpu_heap *heap, uint64_t address, uint32_t line) {
    const uint32_t first = (uint32_t)((address - heap->begin) / CJ_HEAP_GRANULE);
    pthread_mutex_lock(&heap->lock);
    const bool is_live = heap->owner[first] == ((first + 1) | LIVE);
    if (is_live) {
        heap->run[first] &= ~LIVE;
        heap->record[first].freed_line = line;
        own(heap, first, heap->run[first] - 1, first + 1);
        heap->refused = 0;
        heap->state.blocks--;
        heap->state.used -= heap->record[first].bytes;
    }
    pthread_mutex_unlock(&heap->lock);
    return is_live;
}

static void describe(const cj_cpu_heap *heap, uint32_t first, bool live, cj_heap_block *found) {
    const record *of = &heap->record[first];
    *found = (cj_heap_block){.begin = heap->begin + (uint64_t)first * CJ_HEAP_GRANULE,
                             .bytes = of->bytes,
                             .live = live,
                             .line = of->line,
                             .freed_line = of->freed_line,
                             .thread = of->thread,
                             .block = of->block};
}

bool cj__heap_find(const cj_cpu_heap *heap, uint64_t address, cj_heap_block *found) {
    const uint64_t at = (address - heap->begin) / CJ_HEAP_GRANULE;
    if (address < heap->begin || at >= heap->granules) return false;
    uint32_t owner = __atomic_load_n(&heap->owner[at], __ATOMIC_RELAXED);
    if (!owner && at) owner = __atomic_load_n(&heap->owner[at - 1], __ATOMIC_RELAXED);
    const bool is_stale = owner && !(owner & LIVE) &&
                          __atomic_load_n(&heap->owner[owner - 1], __ATOMIC_RELAXED) != owner;
    if (!owner || is_stale) return false;  // stale: a later block begins where this one did
    describe(heap, (owner & ~LIVE) - 1, owner & LIVE, found);
    return true;
}

void cj__heap_read(cj_cpu_heap *heap, cj_cpu_heap_state *state) {
    pthread_mutex_lock(&heap->lock);
    *state = heap->state;
    pthread_mutex_unlock(&heap->lock);
}

bool cj__heap_at(cj_cpu_heap *heap, size_t index, cj_heap_block *found) {
    bool is_found = false;
    pthread_mutex_lock(&heap->lock);
    for (uint32_t at = 0; at < heap->granules && !is_found; at += heap->run[at] & ~LIVE) {
        if (!(heap->run[at] & LIVE) || index--) continue;
        describe(heap, at, true, found);
        is_found = true;
    }
    pthread_mutex_unlock(&heap->lock);
    return is_found;
}
