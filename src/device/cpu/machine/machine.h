// SPDX-License-Identifier: Apache-2.0
// The running machine: launch > cluster > block > warp > groups of lanes. docs/maintaining/cpu_device.md describes the
// order in which they run.
//
// All blocks of a cluster run on one host thread, and all state that changes belongs to the cluster. Clusters share
// only global memory, so host threads run clusters without locks.
//
// A warp's lanes are divided into groups with one pc each. The ready group with the smallest pc runs, until it reaches the pc
// of another group and joins it. Lanes at an instruction that needs more lanes than have arrived (bar.sync, shfl.sync, …) wait.
#ifndef CJ_CPU_MACHINE_H
#define CJ_CPU_MACHINE_H

#include <clusterjit/cpu.h>
#include <pthread.h>

#include "clock.h"
#include "program.h"
#include "text.h"

enum {
    CJ_QUANTUM = 1024,  // ops that a warp executes in its turn under the fixed schedule
    CJ_BARRIERS = 16,
    CJ_WARPS_MAX = 32,
    CJ_CLUSTER_MAX = 16
};

typedef struct cj_cpu_cluster   cj_cpu_cluster;
typedef struct cj_cpu_block     cj_cpu_block;
typedef struct cj_cpu_async     cj_cpu_async;      // async.h
typedef struct cj_cpu_mbarriers cj_cpu_mbarriers;  // mbarrier.h; they are part of the cluster's cj_cpu_async
typedef struct cj_cpu_counts    cj_cpu_counts;     // stats.h
typedef struct cj_watch         cj_watch;          // watch.h; at each level NULL if hazards are not watched
typedef struct cj_watch_block   cj_watch_block;
typedef struct cj_watch_warp    cj_watch_warp;

typedef struct cj_cpu_group {
    uint32_t pc, mask;
    uint32_t turn;   // the warp's turn in which it last ran
    bool     waits;  // has tried the op at pc in this turn of the warp, and must wait
} cj_cpu_group;

// A warp's multiplications of wgmma.mma_async in flight.
typedef struct cj_cpu_wgmma      cj_cpu_wgmma;       // execute/matrix/wgmma.c
typedef struct cj_cpu_wgmma_mark cj_cpu_wgmma_mark;  // execute/matrix/wgmma.c

typedef struct cj_cpu_wgmmas {
    cj_cpu_wgmma      *first, *last;   // in the order begun
    cj_cpu_wgmma      *pending;        // the first whose parts in the four warps have not all ended
    cj_cpu_wgmma      *spare;          // records of ended ones
    cj_cpu_wgmma_mark *mark;           // of each register; NULL before the first one of a watched launch
    uint32_t           begun, groups;  // so far; committed groups
    bool               fenced;         // the warp has executed wgmma.fence since its last wgmma
} cj_cpu_wgmmas;

struct cj_cpu_warp {
    unsigned char *file;
    uint32_t       pc, active;                 // the running group
    uint32_t       stop;                       // the smallest pc of the other groups that can run
    uint32_t       waiting;                    // the lanes that an op which returned CJ_STEP_WAIT has left waiting
    uint32_t       quantum, budget;            // ops of this turn; those that are left
    uint32_t       live;                       // lanes that have not exited
    uint32_t cluster_arrived, cluster_parity;  // lanes between arrive and wait, and the phase in which they arrived
    const cj_cpu_range *range;                 // of the last global access
    uint32_t            member;                // of a multicast object, which a multimem instruction accesses
    cj_cpu_block       *block;
    cj_watch_warp      *watch;
    bool                undefined;  // some register may have undefined bits (undefined.h)
    bool                is_clean;   // none had since the file of undefined bits was cleared, unless `undefined`
    cj_cpu_wgmmas       wgmma;
    uint32_t            index;   // in the block
    uint64_t            sleeps;  // the first round in which it gets a turn again (run/delay.h)
    uint32_t     turn, spins;    // turns begun; the last turns in a row that one group used up while another was ready
    uint32_t     group_count;
    cj_cpu_group group[CJ_LANES];
};

// bar.red: how many threads of a barrier's phase gave true, and how many false.
typedef struct cj_cpu_tally {
    uint32_t yes, no;
} cj_cpu_tally;

// A named barrier. Once all living lanes of a warp have arrived, the warp counts as 32 threads, as on the chip.
typedef struct cj_cpu_barrier {
    uint32_t     phase;
    uint32_t     expected;             // threads, 0: all of the block
    uint32_t     lanes[CJ_WARPS_MAX];  // arrived in this phase
    uint32_t     waits[CJ_WARPS_MAX];  // the lanes that wait until the phase completes
    bool         used;                 // some lane has arrived in this phase
    cj_cpu_tally tally,
        before[2];  // of this phase; of the last two phases, by parity: some threads may not have read them yet
    cj_sync sync;
} cj_cpu_barrier;

struct cj_cpu_block {
    cj_cpu_cluster *cluster;
    cj_dim3         position;  // %ctaid
    uint32_t        rank;
    uint32_t        live;       // threads
    bool            entered;    // one of its threads has had a turn
    bool            undefined;  // local memory may have undefined bits
    unsigned char  *shared, *local;
    cj_cpu_warp    *warp;
    cj_watch_block *watch;
    cj_cpu_barrier  barrier[CJ_BARRIERS];
};

typedef struct cj_cpu_launch {
    const cj_cpu_program       *program;
    cj_cpu_ranges              *ranges;
    const cj_limits            *limits;
    uint32_t                    gpus;   // that run a grid of this shape each; cluster i is one of GPU i % gpus
    const unsigned char *const *param;  // the arguments, of each GPU
    cj_dim3                     grid, block, cluster, clusters;  // `cluster` is 1, 1, 1 without; `clusters` in the grid
    bool                        is_cluster;
    bool                        cooperative;  // all clusters run at once
    cj_ptr                      workspace;    // of a cooperative grid whose kernel reads %envreg1 (cpu.c), else 0
    uint32_t                    dynamic_shared, shared_bytes;  // a block's: dynamic, and in all
    uint32_t                    reserved_begin, reserved_end;  // the system's part; empty: nothing asks where it is
    uint32_t                    threads, warps, ranks;         // a block's threads and warps, a cluster's blocks
    uint32_t                    local_bytes;                   // a thread's, its stack included
    cj_cpu_options              options;
    struct cj_cpu_findings     *findings;
    cj_watch                   *watch;
    cj_cpu_counts              *counts;  // sums over the clusters that have ended
    const struct cj_cpu_images *images;  // the device's textures and surfaces
    struct cj_cpu_heap         *heap;    // of malloc and free; NULL: the program calls neither
    struct cj_cpu_prints       *prints;  // what its threads have printed (printout.h); NULL: the program does not print
} cj_cpu_launch;

struct cj_cpu_cluster {
    const cj_cpu_launch *launch;
    uint64_t             index;
    cj_dim3              position;      // %clusterid
    uint32_t             phase;         // of the cluster barrier
    uint32_t             arrived;       // threads, in this phase
    uint32_t             live;          // threads
    uint64_t             clock;         // ops executed in finished quanta
    uint64_t             random;        // state of the schedule
    uint64_t             rounds;        // of turns so far
    uint64_t             drowsy;        // once in so many rounds a warp falls asleep; 0: never
    uint64_t             polls_awake;   // `polls` up to which warps may sleep on
    uint64_t             instructions;  // of threads
    uint64_t      polls;  // strong loads and compare-and-swaps: a loop that waits for another cluster executes these
    uint16_t     *order;  // the warps of the cluster, in the order of their turns
    cj_sync       sync;   // of the cluster barrier
    cj_cpu_async *async;  // asynchronous work
    cj_cpu_mbarriers    *mbarriers;
    cj_cpu_counts       *counts;     // NULL: nothing is counted by kind
    cj_text              print;      // what its threads have printed
    struct cj_undefined *undefined;  // undefined.h: its worker's; NULL if the launch is not watched
    uint64_t             locked;  // the shards of global memory's shadow that the running op has locked (watch/lock.c)
    bool                 observed;  // accesses are watched or counted
    cj_status            status;    // not OK: the cluster cannot continue
    cj_cpu_block         block[CJ_CLUSTER_MAX];
};

// The GPU of a cluster, and the cluster's number in its GPU's grid.
static inline uint32_t cj__cpu_gpu(const cj_cpu_launch *launch, uint64_t cluster) {
    return (uint32_t)(cluster % launch->gpus);
}
static inline uint64_t cj__cpu_in_grid(const cj_cpu_launch *launch, uint64_t cluster) { return cluster / launch->gpus; }

// %ctaid of a block.
cj_dim3 cj__cpu_position(const cj_cpu_launch *launch, uint64_t cluster, uint32_t rank);
// The position of a thread in its block: %tid.
cj_dim3 cj__cpu_thread(const cj_cpu_launch *launch, uint32_t thread);

#endif
