// SPDX-License-Identifier: Apache-2.0
// Partials: what threads, warps and blocks have of one result, and how two of them become one.
//
//   thread  --shuffles-->  warp  --slots in shared memory-->  block  --st.async-->  a block of the cluster
//
// A partial is up to four registers: a sum; a value and its index; count, mean and squares. Its kind (cj_partials) writes the
// identity and the combination; all else is the same for every kind and stands here. Blocks of a grid combine by mailboxes
// (mailbox.h). The proofs are in docs/maintaining/kit.md, "Combine".
#ifndef CJ_TEMPLATES_COMBINE_H
#define CJ_TEMPLATES_COMBINE_H

#include <clusterjit/collectives.h>

enum { CJ_PARTIAL_VALUES = 4 };

typedef struct cj_partial {
    cj_reg value[CJ_PARTIAL_VALUES];
} cj_partial;

// A kind of partial.
typedef struct cj_partials {
    cj_func    *f;
    unsigned    values;                   // registers of a partial
    const char *type[CJ_PARTIAL_VALUES];  // theirs: of 4 or 8 bytes
    unsigned    bytes[CJ_PARTIAL_VALUES];
    const char *suffix[CJ_PARTIAL_VALUES];                                     // of their names: "_index"
    void (*clear)(const struct cj_partials *kind, const cj_partial *partial);  // = the identity
    void (*combine)(const struct cj_partials *kind, const cj_partial *into,
                    const cj_partial *from);  // into = into op from
    cj_combine  value;  // of one value: its operation. A warp then takes what hardware there is for it
    const void *own;    // the family's
} cj_partials;

cj_partial cj__partial_new(const cj_partials *kind, const char *name);
unsigned   cj__partial_bytes(const cj_partials *kind);

// Of a single value: clear and combine for cj_partials, by kind->value.
void cj__partial_clear_value(const cj_partials *kind, const cj_partial *partial);
void cj__partial_combine_value(const cj_partials *kind, const cj_partial *into, const cj_partial *from);

// ---- warp. All 32 lanes execute it. It combines the partials of the first `lanes` lanes; lanes from there up to the next power of
// two hold the identity before it. Lane 0 has the result, and all lanes have it where a partial is one value.
void cj__warp_combine(const cj_partials *kind, const cj_partial *partial, unsigned lanes);

// ---- slots: an array of `count` partials in shared memory, one variable for each value.
typedef struct cj_slots {
    unsigned count;
    cj_var   value[CJ_PARTIAL_VALUES];
} cj_slots;

cj_slots cj__slots_make(const cj_partials *kind, const char *name, unsigned count);
cj_reg   cj__slot_address(const cj_partials *kind, const cj_slots *slots, unsigned value, cj_reg index);
void     cj__slot_store(const cj_partials *kind, const cj_slots *slots, cj_reg index, cj_reg when,
                        const cj_partial *partial);

// partial = all slots combined, in lane 0, by the warp that executes this. A barrier before it orders the stores.
void cj__slots_combine(const cj_partials *kind, const cj_slots *slots, cj_reg lane, const cj_partial *partial);

// ---- push: blocks of a cluster write partials into the shared memory of one of them, once.
//
//   new     the mbarrier of this block
//   open    the thread `when` initializes it for one arrival, and all threads arrive, relaxed, at a cluster barrier
//   expect  completes that barrier; the thread `when` of a receiver arrives at its mbarrier, and says how many bytes will come
//   send    cj_st_async to cj_cluster_map_address(slot, rank) with the receiver's mbarrier, cj__push_gate
//   wait    by threads of a receiver: all bytes have arrived, and are visible to the thread
//
// Contract. Bytes may arrive before they are expected: the phase cannot end before the one arrival. A block that receives
// waits for all that is sent to it, so that it, and a block that only sends, may exit afterwards. One phase is used.
typedef struct cj_push {
    cj_reg arrived;  // address of the own mbarrier
} cj_push;

cj_push cj__push_new(cj_func *f, const char *name);
void    cj__push_open(cj_func *f, const cj_push *push, cj_reg when, const char *publishes, const char *starts);
void cj__push_expect(cj_func *f, const cj_push *push, const char *started, cj_reg when, cj_arg bytes, const char *what);
cj_reg cj__push_gate(cj_func *f, const cj_push *push, cj_reg rank);
void   cj__push_wait(cj_func *f, const cj_push *push, const char *why);

#endif
