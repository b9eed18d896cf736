// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (PTX ISA, "mbarrier"): what an mbarrier counts, and when its phase completes.
//
// An mbarrier's state is kept outside of shared memory; shared memory holds a copy, the 64 opaque bits of PTX: | phase,
// 24 bits | expected arrivals, 20 | pending arrivals, 20 |. An arrival returns the copy, and if the copy has changed,
// another instruction has written there.
#ifndef CJ_CPU_MBARRIER_H
#define CJ_CPU_MBARRIER_H

#include "address.h"
#include "text.h"
#include "watch.h"

enum {
    CJ_MBARRIER_BYTES = 8,
    CJ_MBARRIER_COUNT_MAX = (1 << 20) - 1,  // of arrivals, and of bytes expected or arrived early
    CJ_MBARRIER_PHASE_BITS = 24
};

typedef enum cj_cpu_mbarrier_life { CJ_MBARRIER_NEVER, CJ_MBARRIER_LIVES, CJ_MBARRIER_INVALID } cj_cpu_mbarrier_life;

// The thread and the op that a hazard report names.
typedef struct cj_cpu_actor {
    cj_cpu_warp     *w;
    const cj_cpu_op *op;
    unsigned         lane;
} cj_cpu_actor;

typedef struct cj_cpu_transfer cj_cpu_transfer;  // async.h

typedef struct cj_cpu_transfers {
    cj_cpu_transfer *first, *last;
} cj_cpu_transfers;

// The transfers that have begun and are to signal an mbarrier.
typedef struct cj_cpu_flight {
    cj_cpu_transfers late, blocked;  // those in these stages
    uint32_t         arrivals;       // that all of them bring
    int64_t          bytes;
} cj_cpu_flight;

typedef struct cj_cpu_mbarrier {
    const cj_cpu_block  *block;
    uint32_t             offset;  // in its shared memory
    cj_cpu_mbarrier_life life;
    uint32_t             expected, pending;  // arrivals of a phase; arrivals that the running phase still waits for
    int32_t              bytes;              // expected minus arrived
    uint32_t             asked;              // bytes expected in the running phase
    cj_cpu_actor         asker, bringer;     // the last that expected bytes, and that brought bytes; no op: none has
    uint32_t             phase;              // phases completed so far, the lower CJ_MBARRIER_PHASE_BITS bits
    uint32_t             line;               // of its mbarrier.init, or of the mbarrier.inval
    cj_sync              sync;
    cj_cpu_flight        flight;  // also of a place without an mbarrier, whose life is NEVER
} cj_cpu_mbarrier;

// All mbarriers of a cluster, by place: open addressing, at most half full.
struct cj_cpu_mbarriers {
    cj_cpu_mbarrier *slot;
    size_t           count, capacity;  // the capacity is 0 or a power of two
    uint64_t         changes;          // arrivals, transactions and inits so far: tells whether anything still happens
    uint64_t         flips;            // phases completed, and begun or ended by an init or inval
    uint64_t         inits;  // inits, invals, enlargements: as long as there is none, mbarriers stay in their slots
};

void cj__cpu_mbarriers_clear(cj_cpu_mbarriers *mbarriers);  // removes all of them
void cj__cpu_mbarriers_free(cj_cpu_mbarriers *mbarriers);

// All below return false, or NULL, when a hazard was reported.
bool cj__cpu_mbarrier_init(cj_cpu_actor actor, const cj_cpu_spot *at, uint32_t count);
bool cj__cpu_mbarrier_inval(cj_cpu_actor actor, const cj_cpu_spot *at);
// The mbarrier at a place; a hazard if there is none, or if its memory was overwritten. Valid until `inits` changes.
cj_cpu_mbarrier *cj__cpu_mbarrier_at(cj_cpu_actor actor, const cj_cpu_spot *at);

// The same without a report: NULL if there is none.
const cj_cpu_mbarrier *cj__cpu_mbarrier_find(const cj_cpu_block *block, uint32_t offset);
// The transfers that are to signal what is, or will be, at a place. NULL when out of memory. Valid as above.
cj_cpu_flight *cj__cpu_mbarrier_flight(const cj_cpu_block *block, uint32_t offset);

bool cj__cpu_mbarrier_arrive(cj_cpu_actor actor, cj_cpu_mbarrier *m, uint32_t count, bool leaves);
// The running phase waits for one more arrival.
bool cj__cpu_mbarrier_join(cj_cpu_actor actor, cj_cpu_mbarrier *m);
// The running phase expects so many more bytes; negative: so many bytes have arrived.
bool cj__cpu_mbarrier_transact(cj_cpu_actor actor, cj_cpu_mbarrier *m, int64_t bytes);

// The cluster deadlocks: reports phases of a block that have got another number of bytes than they expect.
void cj__cpu_mbarriers_blame(const cj_cpu_block *block);
// The block ends: reports mbarriers that have got more bytes than all their phases expected.
void cj__cpu_mbarriers_settle(const cj_cpu_block *block);

// The 64 bits that shared memory holds.
static inline uint64_t cj__cpu_mbarrier_state(const cj_cpu_mbarrier *m) {
    return (uint64_t)m->phase << 40 | (uint64_t)m->expected << 20 | m->pending;
}

// Appends to a deadlock report which mbarriers of a block still wait, and for what.
void cj__cpu_mbarriers_describe(cj_text *text, const cj_cpu_block *block);

#endif
