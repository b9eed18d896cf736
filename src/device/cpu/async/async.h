// SPDX-License-Identifier: Apache-2.0
// Asynchronous work: operations that run beside the threads that began them (PTX ISA, "Asynchronous Operations").
//
// Every copy, reduction and asynchronous store is a transfer: its bytes are read at one end, kept, and written to or
// combined with the other end. The chip makes no promise when. Here an instruction only enqueues a transfer, and the
// schedule delays it. Fixed schedule: the youngest first, some rounds after it began, or before if no thread can continue
// without it. Late schedule: only when no thread can continue, and then only what one of them waits for (late.h). Random
// schedule: for each kind of work the seed draws whether it is late, done at once, or done at any time in any order. A
// multicast is one transfer for each block that receives.
//
//   begun --read--> read --written--> written
//
// A transfer of a bulk group takes these two steps at different times, other transfers take both at once. Then it
// signals: its mbarrier counts the bytes, or its group has one pending transfer less. In a watched launch a written
// transfer stays listed until its thread has waited for it: only then are its accesses ordered before the thread's next
// ones.
//
// Nothing is searched among the cluster's transfers. Each round has a list of those that are due in it, each mbarrier has
// lists of those that are to signal it, and an arrival that waits for copies of its thread is not pending before the last of
// them ends. Each thread has lists of its own transfers, which its waits search from the first that can matter on. So a wait
// costs the same however many transfers other threads have, and however many its own thread never waits for.
#ifndef CJ_CPU_ASYNC_H
#define CJ_CPU_ASYNC_H

#include "mbarrier.h"
#include "tensor.h"

typedef enum cj_cpu_signal {
    CJ_SIGNAL_MBARRIER,     // mbarrier::complete_tx::bytes
    CJ_SIGNAL_BULK_GROUP,   // cp.async.bulk.wait_group
    CJ_SIGNAL_COPY_GROUP,   // cp.async.wait_group
    CJ_SIGNAL_COPY_ARRIVAL  // cp.async.mbarrier.arrive: no bytes, but an arrival after all earlier copies of its thread
} cj_cpu_signal;

// Kinds of asynchronous work, and how a kind is scheduled.
typedef enum cj_cpu_kind {
    CJ_KIND_COPY,       // cp.async and its arrivals
    CJ_KIND_LOAD,       // bulk and tensor copies that signal an mbarrier
    CJ_KIND_STORE,      // bulk and tensor copies and reductions of groups
    CJ_KIND_REGISTERS,  // st.async, red.async
    CJ_KIND_WGMMA,
    CJ_KINDS
} cj_cpu_kind;

typedef enum cj_cpu_pace { CJ_PACE_ANY, CJ_PACE_AT_ONCE, CJ_PACE_LATE } cj_cpu_pace;

// Combines `bytes` bytes of elements into memory; for other host threads each element changes atomically.
typedef void (*cj_cpu_combine)(unsigned char *to, const unsigned char *from, uint32_t bytes);

enum { CJ_SMALL_BYTES = 16, CJ_DUE_ROUNDS = 128 };  // more rounds than a transfer may take

typedef struct cj_cpu_link {
    cj_cpu_transfer *before, *after;
} cj_cpu_link;

// The lists that a transfer is in: one of the cluster's; its thread's; if it is pending, that of the round in which it is
// due; if it is late or blocked, and signals an mbarrier, that one's.
typedef enum cj_cpu_list { CJ_LIST_CLUSTER, CJ_LIST_THREAD, CJ_LIST_WAIT, CJ_LISTS } cj_cpu_list;

// PENDING: may take a step. LATE: may take one if a thread needs it. BLOCKED: an arrival that waits for copies. DONE: written,
// but its thread has not waited for it.
typedef enum cj_cpu_stage { CJ_STAGE_PENDING, CJ_STAGE_LATE, CJ_STAGE_BLOCKED, CJ_STAGE_DONE, CJ_STAGES } cj_cpu_stage;

struct cj_cpu_transfer {
    cj_cpu_link    link[CJ_LISTS];
    cj_cpu_actor   actor;
    uint64_t       begun, due;  // number of the transfer; the last round in which it may happen
    cj_cpu_signal  signal;
    cj_cpu_stage   stage;
    bool           is_read, is_proxy;  // its source has been read; it goes through the async proxy
    bool           is_late;
    uint8_t        scope;      // cj_scope of its accesses
    uint16_t       byte_mask;  // which of each 16 bytes are written
    uint32_t       group;      // number of the group of its thread that it signals
    cj_cpu_spot    from, to, mbarrier;
    uint32_t       bytes, from_bytes;  // written and counted; read, the rest of `bytes` is zero
    cj_cpu_combine combine;            // NULL: a copy
    cj_cpu_tile   *tile;               // of a tensor copy: the addresses of its rows at both ends; released at the end
    unsigned char *data;               // read so far, owned; NULL: in `small`
    unsigned char  small[CJ_SMALL_BYTES];
    cj_watch_async reader, writer;  // two operations of a bulk group; else `writer` alone stands for both
    cj_clock      *copies;          // of an arrival: its thread's copies before it that have ended
};

// Lists of a thread and of a round are in the order begun; the others in the order in which transfers came to their stage.

// What a thread said that it waits for, when it last had to wait: its transfers in groups up to `last`; or, with a block,
// the phase of an mbarrier.
typedef struct cj_cpu_need {
    const cj_cpu_op    *op;  // the wait; NULL: the thread has not waited yet
    cj_cpu_signal       signal;
    bool                read_only;
    uint32_t            last;
    const cj_cpu_block *block;
    uint32_t            offset, phase;
} cj_cpu_need;

// The groups and the transfers of a thread.
typedef struct cj_cpu_groups {
    uint32_t         copy, bulk;                   // committed so far
    cj_cpu_transfers own[CJ_SIGNAL_COPY_ARRIVAL];  // by signal; arrivals are among the copies
    cj_cpu_transfer *copying;                      // the oldest copy that is not done: arrivals after it are blocked
    uint32_t         copied;                       // copies that are done, and that nothing has signalled yet
    cj_cpu_transfer *reading;         // of bulk groups, the oldest whose read the thread has not waited for
    cj_clock        *signalled;       // the copies that arrivals have signalled: they are in no list any more
    uint32_t         signalled_last;  // the last group of these copies
    cj_cpu_need      need;
} cj_cpu_groups;

// A warp's waits for phases of mbarriers.
typedef struct cj_cpu_poll {
    uint32_t lanes;  // lanes that wait, or that have asked and got false
    // If all lanes that asked last have to wait: those lanes, the op at which they asked, and how many phases had been
    // completed then. While `flips` is unchanged the answer is the same. If all asked about one mbarrier, it is the same
    // as long as that one is in its phase.
    uint32_t               waiting, phase;
    const cj_cpu_op       *op;
    uint64_t               flips, inits;
    const cj_cpu_mbarrier *one;  // else NULL
} cj_cpu_poll;

struct cj_cpu_async {
    cj_cpu_mbarriers mbarriers;
    cj_cpu_transfers stage[CJ_STAGES];
    cj_cpu_transfers due[CJ_DUE_ROUNDS];   // of a round: at its number modulo CJ_DUE_ROUNDS
    cj_cpu_transfer *came[CJ_DUE_ROUNDS];  // of each of these lists: the one that was added last, or its neighbour
    size_t           threads;              // of the cluster, in whole warps
    cj_cpu_groups   *groups;               // of every thread of the cluster
    cj_cpu_poll     *polls;                // of every warp
    bool             used;                 // since the cluster began
    uint64_t         begun;                // number of transfers
    uint64_t         round;                // round of the schedule
    bool             is_due;               // the transfers that are due take their steps
    uint64_t         signals;              // how often a group has lost a pending transfer
    uint64_t         expired;              // the round in which waits for mbarriers time out
    uint64_t         seen;                 // changes and begun transfers at the last time-out of waits
    uint32_t         in_vain;              // time-outs in a row without a change
    uint64_t polls_before, round_before;   // the cluster's polls, and the round, when one began or took a step last
    uint8_t  pace[CJ_KINDS];               // cj_cpu_pace
    bool     tires;                        // waits for mbarriers may time out at any time
};

// ---- calls of the schedule (run.c)

// Allocates a cluster's asynchronous state; false when out of memory.
bool cj__cpu_async_new(cj_cpu_cluster *cluster);
void cj__cpu_async_free(cj_cpu_async *async);
// A cluster begins to run.
void cj__cpu_async_start(cj_cpu_cluster *cluster);
// A round has ended; `idle`: no thread could do anything in it. Makes the transfers that are due. When idle, makes some
// of the others; if there are none, ends waits for mbarriers by time-out. False if nothing can happen any more.
bool cj__cpu_async_round(cj_cpu_cluster *cluster, bool idle);
// All threads of a block have exited: from now on no transfer may use its shared memory.
void cj__cpu_async_leave(cj_cpu_block *block);
// A fault has stopped the cluster: in a watched launch, what is in flight races with what it would race with later. That may be the
// fault's cause.
void cj__cpu_async_stop(cj_cpu_cluster *cluster);
// All threads of the cluster have exited: completes the pending transfers.
void cj__cpu_async_finish(cj_cpu_cluster *cluster);

// ---- calls of the instructions

// Begins a transfer, which is copied; its tile gets one more user. Out of memory ends the launch.
cj_cpu_step cj__cpu_async_begin(cj_cpu_transfer transfer);
// The same for each block in the mask, to the same offsets in its shared memory.
cj_cpu_step cj__cpu_async_multicast(cj_cpu_transfer transfer, uint32_t ranks);
// Finds the transfer's mbarrier, which must be in its destination's block; false when a hazard was reported.
bool cj__cpu_async_mbarrier(cj_cpu_transfer *transfer, cj_word space, uint64_t address);
// The groups of a thread.
cj_cpu_groups *cj__cpu_async_groups(const cj_cpu_warp *w, unsigned lane);
// Whether a thread still has transfers with that signal in groups up to `last`; `read_only`: transfers that have not
// been read.
bool cj__cpu_async_pending(const cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only);
// The thread has waited for those transfers.
void cj__cpu_async_join(cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only);
// Whether lanes that wait for an mbarrier are to stop waiting now; whether the seed draws that they do, though their phase
// may complete later; and the state of a warp's waits.
bool         cj__cpu_async_timeout(const cj_cpu_warp *w);
bool         cj__cpu_async_tires(cj_cpu_warp *w);
cj_cpu_poll *cj__cpu_async_poll(const cj_cpu_warp *w);

#endif
