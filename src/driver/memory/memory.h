// SPDX-License-Identifier: Apache-2.0
// The memory that programs allocate: one table of blocks, by address. An address is the host's, so all of it is unified.
//
// Memory of a device is an allocation of its CPU device. Memory of the host that kernels reach (managed, pinned,
// registered) is wrapped for every device (cj_mem_wrap), and counts as initialized.
#ifndef CJ_DRIVER_MEMORY_H
#define CJ_DRIVER_MEMORY_H

#include "driver.h"

typedef enum cj_memory_type {
    CJ_MEMORY_DEVICE,  // cuMemAlloc, and from a pool
    CJ_MEMORY_MANAGED,
    CJ_MEMORY_PINNED,      // cuMemHostAlloc
    CJ_MEMORY_REGISTERED,  // cuMemHostRegister: the program's own
    CJ_MEMORY_VIRTUAL,     // mapped by cuMemMap
    CJ_MEMORY_MULTICAST,   // the same of a multicast object: addresses without bytes of their own
    CJ_MEMORY_VARIABLE,    // of a module
} cj_memory_type;

struct cj_pool {
    cj_object      base;
    cj_memory_type type;     // of its memory: DEVICE, MANAGED or PINNED
    cj_gpu        *gpu;      // of the host's memory: the first
    uint32_t       readers;  // bit i: device i reaches its memory; of a device's pool: beside its own
    uint64_t       used, high;
    uint64_t       attribute[CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1];
};

typedef struct cj_block {
    uint64_t       base;
    size_t         bytes;
    cj_memory_type type;
    cj_gpu        *gpu;      // whose memory it is; of the host's: where it was allocated
    cj_context    *owner;    // it is freed with this context; NULL: with none
    unsigned       flags;    // of its call
    uint64_t       id;       // never used again
    const char    *call;     // that made it; NULL: a leak of it is nobody's
    cj_pool       *pool;     // kept; NULL: of none
    uint32_t       reached;  // bit i: wrapped for device i
    bool           is_array;
    bool           is_graph;  // a graph's: freed with the last graph that has its node
    bool           sync_memops;
    void          *map;         // of VIRTUAL: the cj_physical; of MULTICAST: multicast.c's
    size_t         map_offset;  // of VIRTUAL: in the memory
} cj_block;

// Allocates; `wanted` says bytes, type, gpu, owner and flags. Refuses 0 bytes.
CUresult cj__memory_new(const cj_block *wanted, cj_block **made);

// Adds a block of memory that exists (`wanted` has its base), and wraps it for the devices in wanted->reached.
CUresult cj__memory_add(const cj_block *wanted, cj_block **made);

void cj__memory_free(cj_block *block);          // also takes back what was wrapped
void cj__memory_free_all(cj_context *context);  // all that it owns
void cj__memory_tell_leaks(void);

// The block that holds an address, NULL: none; the one that begins there.
cj_block *cj__memory_at(uint64_t address);
cj_block *cj__memory_begin(uint64_t address);

// The block that begins at or after an address; NULL: none.
cj_block *cj__memory_next(uint64_t address);

// Lets kernels of a device reach the block, or no more.
CUresult cj__memory_reach(cj_block *block, const cj_gpu *gpu);
void     cj__memory_unreach(cj_block *block, const cj_gpu *gpu);

// Waits until no kernel runs on the device; the lock is given up meanwhile.
void cj__gpu_wait(cj_gpu *gpu);

// Devices as bits.
uint32_t cj__all_gpus(void);

#endif
