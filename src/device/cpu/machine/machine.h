// SPDX-License-Identifier: Apache-2.0
// The running machine: launch > cluster > block > warp > groups of lanes.
//
// How it runs (run.c, grid.c). The blocks of a cluster run together on one host thread: warp after warp in turn, each
// until its lanes wait or its quantum of ops is used up; or, under a seed, warps in random order with random quanta.
// Clusters share nothing but global memory, so that several host threads each run clusters; all state that changes
// hangs on the cluster. A host thread holds several clusters where they take long, and changes between them: one may
// wait for another.
//
// Divergence. A warp's lanes are divided into groups with one pc each. Of the groups that can run, the one with the
// smallest pc runs, until it reaches the pc of another, which it joins; so lanes meet again as early as possible in any
// control flow, with no analysis of it. A group that uses up several quanta while others could run gives way to them:
// a lane may spin until another lane of its warp has done something. Lanes at an instruction that needs more lanes than
// are there (bar.sync, shfl.sync, …) wait for those; that they can never come shows as a deadlock.
#ifndef CJ_CPU_MACHINE_H
#define CJ_CPU_MACHINE_H

#include <clusterjit/cpu.h>
#include <pthread.h>

#include "clock.h"
#include "program.h"

enum {
    CJ_QUANTUM = 1024,  // ops that a warp executes in its turn, if they are not drawn
    CJ_BARRIERS = 16,
    CJ_WARPS_MAX = 32,
    CJ_CLUSTER_MAX = 16
};

typedef struct cj_cpu_cluster cj_cpu_cluster;
typedef struct cj_cpu_block   cj_cpu_block;
typedef struct cj_cpu_async   cj_cpu_async;   // async.h
typedef struct cj_cpu_counts  cj_cpu_counts;  // stats.h
typedef struct cj_watch       cj_watch;       // watch.h; of each level NULL where hazards are not watched
typedef struct cj_watch_block cj_watch_block;
typedef struct cj_watch_warp  cj_watch_warp;

typedef struct cj_cpu_group {
    uint32_t pc, mask;
    uint32_t turn;   // of its warp, when it last ran
    bool     waits;  // at pc, since this turn of the warp began
} cj_cpu_group;

// What a warp has in flight of wgmma.mma_async.
typedef struct cj_cpu_wgmma cj_cpu_wgmma;  // exec_wgmma.c

typedef struct cj_cpu_wgmmas {
    cj_cpu_wgmma *first, *last;   // in the order begun
    uint32_t      begun, groups;  // so far; committed groups
    bool          fenced;         // wgmma.fence stood before
} cj_cpu_wgmmas;

struct cj_cpu_warp {
    unsigned char *file;
    uint32_t       pc, active;                 // the running group
    uint32_t       stop;                       // the smallest pc of the other groups that can run
    uint32_t       waiting;                    // lanes that a CJ_STEP_WAIT leaves behind
    uint32_t       quantum, budget;            // ops of this turn, and those of them that are left
    uint32_t       live;                       // lanes that have not exited
    uint32_t cluster_arrived, cluster_parity;  // lanes between arrive and wait, and the phase in which they arrived
    const cj_cpu_range *range;                 // of the last global access
    cj_cpu_block       *block;
    cj_watch_warp      *watch;
    bool                undefined;             // some register may have undefined bits (undefined.h)
    cj_cpu_wgmmas       wgmma;
    uint32_t            index;        // in the block
    uint32_t            turn, spins;  // quanta begun; of those, used up in a row with other groups ready
    uint32_t            group_count;
    cj_cpu_group        group[CJ_LANES];
};

// How many threads of a barrier's phase gave a predicate that holds, and one that does not.
typedef struct cj_cpu_tally {
    uint32_t yes, no;
} cj_cpu_tally;

// A named barrier. A warp counts in full once every lane of it that lives has arrived, so that partial warps are whole.
typedef struct cj_cpu_barrier {
    uint32_t     phase;
    uint32_t     expected;             // threads, 0: all of the block
    uint32_t     lanes[CJ_WARPS_MAX];  // arrived in this phase
    uint32_t     waits[CJ_WARPS_MAX];  // of those, the ones that wait for it to complete
    bool         used;                 // some have
    cj_cpu_tally tally, before[2];     // of this phase; of the last two, by parity, for threads that still wait
    cj_sync      sync;
} cj_cpu_barrier;

struct cj_cpu_block {
    cj_cpu_cluster *cluster;
    cj_dim3         position;  // %ctaid
    uint32_t        rank;
    uint32_t        live;     // threads
    bool            entered;  // some thread has executed something
    bool            undefined;  // local memory may have undefined bits
    unsigned char  *shared, *local;
    cj_cpu_warp    *warp;
    cj_watch_block *watch;
    cj_cpu_barrier  barrier[CJ_BARRIERS];
};

typedef struct cj_cpu_launch {
    const cj_cpu_program *program;
    cj_cpu_ranges        *ranges;
    const cj_limits      *limits;
    const unsigned char  *param;
    cj_dim3               grid, block, cluster, clusters;  // `cluster` is 1, 1, 1 without; `clusters` in the grid
    bool                  is_cluster;
    bool                  cooperative;  // all clusters run at once
    cj_ptr                workspace;    // of a cooperative grid that asks for it (cpu.c), else 0
    uint32_t              dynamic_shared, shared_bytes;  // a block's: dynamic, and in all
    uint32_t              threads, warps, ranks;         // a block's threads and warps, a cluster's blocks
    uint32_t              local_bytes;                   // a thread's, its stack included
    cj_cpu_options        options;
    struct cj_cpu_findings *findings;
    cj_watch               *watch;
    struct cj_undefined    *undefined;  // undefined.h; there where `watch` is
    cj_cpu_counts          *counts;  // what all clusters did, once they are done
} cj_cpu_launch;

struct cj_cpu_cluster {
    const cj_cpu_launch *launch;
    uint64_t             index;
    cj_dim3              position;  // %clusterid
    uint32_t             phase;     // of the cluster barrier
    uint32_t             arrived;   // threads, in this phase
    uint32_t             live;      // threads
    uint64_t             clock;     // ops executed in finished quanta
    uint64_t             random;    // state of the schedule
    uint64_t             instructions;  // of threads
    uint64_t             polls;     // what a loop does that waits for another cluster: strong loads, compare-and-swaps
    uint16_t            *order;     // in which warps take their turns
    cj_sync              sync;      // of the cluster barrier
    cj_cpu_async        *async;     // mbarriers, and what goes on beside the threads
    cj_cpu_counts       *counts;    // NULL: nothing is counted by kind
    bool                 observed;  // accesses are watched or counted
    cj_status            status;    // HAZARD: it cannot go on
    cj_cpu_block         block[CJ_CLUSTER_MAX];
};

// ---- grid.c

// Runs the launch's grid to its end, or to the first hazard behind which it cannot go on. OUT_OF_MEMORY, or HAZARD with
// what was found in launch->findings. *instructions: of threads.
cj_status cj__cpu_run(const cj_cpu_launch *launch, uint64_t *instructions, cj_error *error);

// ---- run.c

// Makes a cluster the one with that index in the grid, about to begin.
void cj__cpu_start(cj_cpu_cluster *cluster, uint64_t index);
// Gives each warp a turn. False when a hazard was reported.
bool cj__cpu_take_turns(cj_cpu_cluster *cluster);
// Splits lanes off the running group, which go on at pc.
void cj__cpu_split(cj_cpu_warp *w, uint32_t pc, uint32_t mask);
// %ctaid of a block.
cj_dim3 cj__cpu_position(const cj_cpu_launch *launch, uint64_t cluster, uint32_t rank);
// The next number of a cluster's random sequence; all that is drawn from the seed comes from here.
uint64_t cj__cpu_random(cj_cpu_cluster *cluster);

// ---- special.c

// Whether a special register keeps its value as long as a warp lives.
bool cj__cpu_special_fixed(cj_special special);
// Fills in the program's fixed special registers.
void cj__cpu_special_fill(cj_cpu_warp *w);
// The executor of an op that reads a changing one: op->mode says which, op->bytes its width.
cj_cpu_step cj__cpu_read_special(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);
// Reads a special register for one lane.
uint64_t cj__cpu_special(const cj_cpu_warp *w, cj_special special, unsigned component, unsigned lane);

// ---- hazard.c

typedef enum cj_cpu_rule {
#define CJ_HAZARD(id, rule, hint) CJ_HAZARD_##id,
#include "hazards.def"
#undef CJ_HAZARD
} cj_cpu_rule;

// Hazards found in a launch, and notes: each rule and pair of lines once.
enum { CJ_CPU_FINDINGS = 64 };

typedef struct cj_cpu_found {
    size_t    count;
    cj_hazard hazard[CJ_CPU_FINDINGS];
} cj_cpu_found;

typedef struct cj_cpu_findings {
    pthread_mutex_t lock;
    cj_cpu_found    hazards, notes;
    const struct cj_cpu_op *unsupported;  // the first that was reached, or NULL
} cj_cpu_findings;

// The first of the findings as an error; returns HAZARD, or OK where there are none.
cj_status cj__cpu_findings_error(const cj_cpu_findings *findings, cj_error *error);
// What was reached that the CPU device cannot execute, as an error; returns UNSUPPORTED.
cj_status cj__cpu_unsupported_error(const cj_cpu_findings *findings, cj_error *error);

// Reports a hazard of one lane and returns CJ_STEP_STOP. The message is what was done (from the format), by whom.
cj_cpu_step cj__cpu_hazard(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, const char *format,
                           ...) CJ_PRINTF(5, 6);
// Reports that no thread of the cluster can go on, or that its launch has used up its instructions.
void cj__cpu_deadlock(cj_cpu_cluster *cluster);
void cj__cpu_livelock(cj_cpu_cluster *cluster);

// ---- exec_barrier.c

// Lanes have exited: barriers that waited for them may complete.
void cj__cpu_barriers_leave(cj_cpu_warp *w, uint32_t mask);

// ---- exec_wgmma.c

// Forgets what the warp has in flight: it has exited, or its launch has ended.
void cj__cpu_wgmma_drop(cj_cpu_warp *w);

#endif
