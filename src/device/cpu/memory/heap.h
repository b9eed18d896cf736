// SPDX-License-Identifier: Apache-2.0
// The heap of kernels: what malloc and free of device code work on. It is one allocation of the device, in granules of 16
// bytes. Segments of granules tile it: a block with a granule after it that belongs to nobody, so that a small overrun is seen;
// or free granules.
//
// Memory that was freed is used again as late as possible: the search for room goes on where the last one ended. So an
// access to a freed block is mostly found.
#ifndef CJ_CPU_HEAP_H
#define CJ_CPU_HEAP_H

#include <clusterjit/cpu.h>

#include "memory.h"

enum { CJ_HEAP_GRANULE = 16 };
#define CJ_HEAP_MOST ((uint64_t)32 << 30)  // bytes: segments count granules in 31 bits

typedef struct cj_cpu_heap cj_cpu_heap;

// Makes a heap in `memory`. OUT_OF_MEMORY. Free it while no launch runs.
cj_status cj__heap_new(cj_cpu_memory *memory, uint64_t bytes, cj_cpu_heap **heap, cj_error *error);
void      cj__heap_free(cj_cpu_memory *memory, cj_cpu_heap *heap);  // NULL is allowed

// A block of the heap. `by` is the thread that allocated it; `line` 0: no block.
typedef struct cj_heap_block {
    uint64_t begin, bytes;
    bool     live;
    uint32_t line, freed_line;  // of the PTX: of its malloc and its free
    cj_dim3  thread, block;     // that allocated it
} cj_heap_block;

// Takes room for wanted->bytes, and records the rest of `wanted`. Returns the address; 0: no room.
uint64_t cj__heap_take(cj_cpu_heap *heap, const cj_heap_block *wanted, uint64_t align);
// Ends the live block that begins at the address; false: there is none, another thread was faster.
bool cj__heap_give(cj_cpu_heap *heap, uint64_t address, uint32_t line);
// The block, live or freed, that holds the address or ends less than a granule before it. Takes no lock. False: there is none.
bool cj__heap_find(const cj_cpu_heap *heap, uint64_t address, cj_heap_block *found);

void cj__heap_read(cj_cpu_heap *heap, cj_cpu_heap_state *state);
// The i-th live block, by address; false after the last.
bool cj__heap_at(cj_cpu_heap *heap, size_t index, cj_heap_block *found);

#endif
