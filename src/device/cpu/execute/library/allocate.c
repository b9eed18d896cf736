// SPDX-License-Identifier: Apache-2.0
// malloc and free of device code (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"): on the device's heap, whose
// blocks last until they are freed, across launches.
#include <inttypes.h>

#include "heap.h"
#include "library.h"
#include "watch.h"

static uint64_t allocate(const cj_library_call *call, uint64_t bytes, uint64_t align) {
    const cj_cpu_block  *block = call->w->block;
    const cj_cpu_launch *launch = block->cluster->launch;
    const cj_heap_block  wanted = {.bytes = bytes,
                                   .line = call->op->line,
                                   .thread = cj__cpu_thread(launch, call->w->index * CJ_LANES + call->lane),
                                   .block = block->position};
    const uint64_t       address = cj__heap_take(launch->heap, &wanted, align);
    if (!address) return 0;
    cj__watch_renew(call->w, address, (bytes + CJ_HEAP_GRANULE - 1) / CJ_HEAP_GRANULE * CJ_HEAP_GRANULE);
    memset((void *)(uintptr_t)address, CJ_POISON, bytes);
    return address;
}

bool cj__library_malloc(cj_library_call *call) {
    call->result = allocate(call, call->argument[0], CJ_HEAP_GRANULE);
    return true;
}

// An alignment that is no power of two gives NULL, as on a GPU.
bool cj__library_aligned_malloc(cj_library_call *call) {
    const uint64_t align = call->argument[1];
    if (align && !(align & (align - 1))) call->result = allocate(call, call->argument[0], align);
    return true;
}

static bool refuse(const cj_library_call *call, uint64_t address, bool is_known, const cj_heap_block *block) {
    const cj_cpu_launch *launch = call->w->block->cluster->launch;
    if (is_known && !block->live && block->begin == address)
        cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_DOUBLE_FREE,
                       "0x%" PRIx64 ", a block of %" PRIu64 " bytes, was freed before, by %s", address, block->bytes,
                       cj__hazard_line(launch, block->freed_line).text);
    else if (is_known && address - block->begin < block->bytes)
        cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_FOREIGN_FREE,
                       "0x%" PRIx64 " lies %" PRIu64 " bytes inside a block of %" PRIu64 " bytes that %s allocated",
                       address, address - block->begin, block->bytes, cj__hazard_line(launch, block->line).text);
    else
        cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_FOREIGN_FREE,
                       "0x%" PRIx64 " is no pointer that malloc gave", address);
    return false;
}

// To free a block is to write all of it: an access that another thread may still make is a race.
bool cj__library_free(cj_library_call *call) {
    const cj_cpu_launch *launch = call->w->block->cluster->launch;
    const uint64_t       address = call->argument[0];
    cj_heap_block        block = {0};
    if (!address) return true;
    const bool is_known = cj__heap_find(launch->heap, address, &block);
    if (!is_known || !block.live || block.begin != address) return refuse(call, address, is_known, &block);
    cj__watch_access(call->w, call->op, call->lane, (cj_watch_use){.flags = CJ_USE_WRITE},
                     (cj_watch_place){NULL, address, block.bytes});
    return cj__heap_give(launch->heap, address, call->op->line) || refuse(call, address, true, &block);
}
