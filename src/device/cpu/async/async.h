// SPDX-License-Identifier: Apache-2.0
// Asynchronous work: what goes on beside the threads that began it (PTX ISA, "Asynchronous Operations").
//
// Every copy, reduction and asynchronous store is a transfer: its bytes are read at one end, kept, and written to or combined
// with the other end. On the chip nobody knows when. Here an instruction only enqueues a transfer, and the schedule makes it
// late. Fixed schedule: as late as possible, the youngest first; that is when no thread can go on without it, or, if threads
// poll instead of waiting, some rounds after it began. Random schedule: any transfer at any time. A multicast is one transfer
// for each block that receives.
//
//   begun --read--> read --written--> written
//
// A transfer of a bulk group takes these two steps at different times, others at once. Then it signals: its mbarrier counts
// the bytes, or its group has one transfer less pending. In a watched launch a written transfer stays listed until its thread
// has waited for it: only then are its accesses ordered before the thread's next ones.
//
// The cluster's list says which transfer comes next. Each thread has a list of its own transfers, which its waits look through,
// so that a wait costs the same however many other threads copy.
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

// Combines `bytes` bytes of elements into memory, each element at once for other host threads.
typedef void (*cj_cpu_combine)(unsigned char *to, const unsigned char *from, uint32_t bytes);

enum { CJ_SMALL_BYTES = 16 };

typedef struct cj_cpu_transfer cj_cpu_transfer;

typedef struct cj_cpu_link {
    cj_cpu_transfer *before, *after;
} cj_cpu_link;

// The lists that a transfer is in: the cluster's of those that are pending or of those that are done; its thread's.
typedef enum cj_cpu_list { CJ_LIST_CLUSTER, CJ_LIST_THREAD, CJ_LISTS } cj_cpu_list;

struct cj_cpu_transfer {
    cj_cpu_link    link[CJ_LISTS];
    cj_cpu_who     who;
    uint64_t       begun, due;  // number of the transfer; the round in which it happens at the latest
    cj_cpu_signal  signal;
    bool           is_read, is_done, is_proxy;  // read; written, too; goes through the async proxy
    uint8_t        scope;                       // cj_scope of its accesses
    uint16_t       byte_mask;                   // which of each 16 bytes are written
    uint32_t       group;                       // number of the group of its thread that it signals
    cj_cpu_spot    from, to, mbarrier;
    uint32_t       bytes, from_bytes;  // written and counted; read, the rest of `bytes` is zero
    cj_cpu_combine combine;            // NULL: a copy
    cj_cpu_tile   *tile;               // of a tensor copy: where its rows lie at both ends; the transfer holds it
    unsigned char *data;               // read so far, owned; NULL: in `small`
    unsigned char  small[CJ_SMALL_BYTES];
    cj_watch_async reader, writer;  // two operations of a bulk group; else `writer` alone stands for both
};

// In the order begun.
typedef struct cj_cpu_transfers {
    cj_cpu_transfer *first, *last;
} cj_cpu_transfers;

// The groups and the transfers of a thread.
typedef struct cj_cpu_groups {
    uint32_t         copy, bulk;  // committed so far
    cj_cpu_transfers own;
} cj_cpu_groups;

// How a warp waits for mbarriers' phases.
typedef struct cj_cpu_poll {
    uint32_t lanes;  // that wait, or have asked in vain
    // The lanes that asked last, if all of them had to wait: at op `op`, when `flips` phases had been completed. As long as
    // `flips` stays, the answer stays.
    uint32_t         waiting;
    const cj_cpu_op *op;
    uint64_t         flips;
} cj_cpu_poll;

struct cj_cpu_async {
    cj_cpu_mbarriers mbarriers;
    cj_cpu_transfers pending, done;
    cj_cpu_groups   *groups;   // of every thread of the cluster
    cj_cpu_poll     *polls;    // of every warp
    bool             used;     // since the cluster began
    uint64_t         begun;    // transfers
    uint64_t         round;    // of the schedule
    uint64_t         signals;  // how often a group has lost a pending transfer
    uint64_t         expired;  // the round in which waits for mbarriers time out
    uint64_t         seen;     // changes and begun transfers at the last time-out of waits
    uint32_t         in_vain;  // how often they timed out since anything changed
};

// ---- calls of the schedule (run.c)

// Gives a cluster what it needs for asynchronous work; false when out of memory.
bool cj__cpu_async_new(cj_cpu_cluster *cluster);
void cj__cpu_async_free(cj_cpu_async *async);
// A cluster begins.
void cj__cpu_async_start(cj_cpu_cluster *cluster);
// A round has ended, `idle` when no thread could do anything in it. Makes what is due; when idle, some of the rest, and
// where there is none lets waits for mbarriers time out. False when nothing can happen any more.
bool cj__cpu_async_round(cj_cpu_cluster *cluster, bool idle);
// All threads of a block have exited: nothing may use its shared memory now.
void cj__cpu_async_leave(cj_cpu_block *block);
// All threads of the cluster have exited: makes what is left.
void cj__cpu_async_finish(cj_cpu_cluster *cluster);

// ---- calls of the instructions

// Begins a transfer, which is copied; its tile is held once more. Out of memory ends the launch.
cj_cpu_step cj__cpu_async_begin(cj_cpu_transfer transfer);
// The same for each block in the mask, to the same offsets in its shared memory.
cj_cpu_step cj__cpu_async_multicast(cj_cpu_transfer transfer, uint32_t ranks);
// Finds the transfer's mbarrier, which must lie in its destination's block; false when a hazard was reported.
bool cj__cpu_async_mbarrier(cj_cpu_transfer *transfer, cj_word space, uint64_t address);
// The groups of a thread.
cj_cpu_groups *cj__cpu_async_groups(const cj_cpu_warp *w, unsigned lane);
// Whether a thread still has transfers with that signal in groups up to `last`; `read_only`: that have not been read.
bool cj__cpu_async_pending(const cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only);
// The thread has waited for those.
void cj__cpu_async_join(cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only);
// Whether lanes that wait for an mbarrier are to give up waiting now; and how a warp's lanes wait.
bool         cj__cpu_async_timeout(const cj_cpu_warp *w);
cj_cpu_poll *cj__cpu_async_poll(const cj_cpu_warp *w);

#endif
