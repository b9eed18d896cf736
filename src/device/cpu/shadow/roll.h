// SPDX-License-Identifier: Apache-2.0
// The atomics of one block's threads to a row of granules, of one kind: what histograms do to the shared memory of their block. Many
// warps access each granule, and each warp many granules, in no order. So a warp has a table of its own, and a cell only says that
// there are such atomics (CJ_ROLLED). A read or a write of a thread that knows all warps of the block up to the last one needs no
// look at them; before any other comparison they become accesses of the cell.
#ifndef CJ_CPU_ROLL_H
#define CJ_CPU_ROLL_H

#include "cell.h"

enum { CJ_ROLL_WARPS = 32 };  // of a block, at most

// A warp's atomics to one granule. All zero: none.
typedef struct cj_rolled {
    uint32_t time, mask, op;
} cj_rolled;

typedef struct cj_roll {
    uint32_t     block, last;  // the latest time of all
    uint16_t     groups;       // no warp from this one on is in it
    cj_watch_use use;
    cj_rolled   *warp[CJ_ROLL_WARPS];  // of CJ_ROW granules; NULL: none
} cj_roll;

// Records an atomic to granule k of a row, whose cell is *c. False: the cell must record it.
bool cj__roll_add(cj_roll **roll, cj_cell *c, unsigned k, const cj_access *access, cj_room *room);
// Gives the cell what the roll has of it.
void cj__roll_settle(const cj_roll *roll, cj_cell *c, unsigned k, cj_room *room);
void cj__roll_free(cj_roll *roll, cj_room *room);  // NULL is allowed

#endif
