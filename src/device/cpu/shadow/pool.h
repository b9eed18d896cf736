// SPDX-License-Identifier: Apache-2.0
// Memory for the cells and tables of a shadow. That of a block's shared memory has a pool, which one host thread uses:
// for each new block it begins anew, without a walk over what it gave. That of global memory has none: host threads share
// it, and it lives for one launch.
#ifndef CJ_CPU_POOL_H
#define CJ_CPU_POOL_H

#include <stdbool.h>
#include <stddef.h>

enum { CJ_POOL_SIZES = 16 };

typedef struct cj_slab cj_slab;

typedef struct cj_pool {
    bool     is_shared;  // by host threads: memory is malloc's
    cj_slab *first, *current;
    size_t   used;                  // bytes of the current slab
    void    *spare[CJ_POOL_SIZES];  // of 1 << i bytes each, as a list
} cj_pool;

// Zeroed memory of up to 32 KiB; NULL when out of memory. What is given back names the same size.
void *cj__pool_take(cj_pool *pool, size_t bytes);
void  cj__pool_give(cj_pool *pool, void *memory, size_t bytes);
// Takes back all that it gave.
void cj__pool_reset(cj_pool *pool);
void cj__pool_free(cj_pool *pool);

#endif
