// SPDX-License-Identifier: Apache-2.0
// The running machine: launch > cluster > block > warp > groups of lanes.
//
// How it runs (run.c). The blocks of a cluster run together on one host thread: warp after warp in turn, each until its
// lanes wait or its quantum of ops is used up. Clusters share nothing but global memory, so that several host threads
// can each run clusters; all state that changes hangs on the cluster.
//
// Divergence. A warp's lanes are divided into groups with one pc each. Of the groups that can run, the one with the
// smallest pc runs, until it reaches the pc of another, which it joins; so lanes meet again as early as possible in any
// control flow, with no analysis of it. A group that uses up several quanta while others could run gives way to them:
// a lane may spin until another lane of its warp has done something. Lanes at an instruction that needs more lanes than
// are there (bar.sync, shfl.sync, …) wait for those; that they can never come shows as a deadlock.
#ifndef CJ_CPU_MACHINE_H
#define CJ_CPU_MACHINE_H

#include "program.h"

enum {
    CJ_QUANTUM = 1024,  // ops that a warp executes in its turn
    CJ_BARRIERS = 16,
    CJ_WARPS_MAX = 32,
    CJ_CLUSTER_MAX = 16
};

typedef struct cj_cpu_cluster cj_cpu_cluster;
typedef struct cj_cpu_block   cj_cpu_block;

typedef struct cj_cpu_group {
    uint32_t pc, mask;
    uint32_t turn;   // of its warp, when it last ran
    bool     waits;  // at pc, since this turn of the warp began
} cj_cpu_group;

struct cj_cpu_warp {
    unsigned char *file;
    uint32_t       pc, active;                 // the running group
    uint32_t       stop;                       // the smallest pc of the other groups that can run
    uint32_t       waiting;                    // lanes that a CJ_STEP_WAIT leaves behind
    uint32_t       budget;                     // ops left in this quantum
    uint32_t       live;                       // lanes that have not exited
    uint32_t cluster_arrived, cluster_parity;  // lanes between arrive and wait, and the phase in which they arrived
    const cj_cpu_range *range;                 // of the last global access
    cj_cpu_block       *block;
    uint32_t            index;        // in the block
    uint32_t            turn, spins;  // quanta begun; of those, used up in a row with other groups ready
    uint32_t            group_count;
    cj_cpu_group        group[CJ_LANES];
};

// A named barrier. A warp counts in full once every lane of it that lives has arrived, so that partial warps are whole.
typedef struct cj_cpu_barrier {
    uint32_t phase;
    uint32_t expected;             // threads, 0: all of the block
    uint32_t lanes[CJ_WARPS_MAX];  // arrived in this phase
    bool     used;                 // some have
} cj_cpu_barrier;

struct cj_cpu_block {
    cj_cpu_cluster *cluster;
    cj_dim3         position;  // %ctaid
    uint32_t        rank;
    uint32_t        live;     // threads
    bool            entered;  // some thread has executed something
    unsigned char  *shared, *local;
    cj_cpu_warp    *warp;
    cj_cpu_barrier  barrier[CJ_BARRIERS];
};

typedef struct cj_cpu_launch {
    const cj_cpu_program *program;
    cj_cpu_ranges        *ranges;
    const cj_limits      *limits;
    const unsigned char  *param;
    cj_dim3               grid, block, cluster, clusters;  // `cluster` is 1, 1, 1 without; `clusters` in the grid
    bool                  is_cluster;
    uint32_t              dynamic_shared, shared_bytes;  // a block's: dynamic, and in all
    uint32_t              threads, warps, ranks;         // a block's threads and warps, a cluster's blocks
} cj_cpu_launch;

struct cj_cpu_cluster {
    const cj_cpu_launch *launch;
    uint64_t             index;
    cj_dim3              position;  // %clusterid
    uint32_t             phase;     // of the cluster barrier
    uint32_t             arrived;   // threads, in this phase
    uint32_t             live;      // threads
    uint64_t             clock;     // ops executed in finished quanta
    cj_status            status;
    cj_error            *error;
    cj_cpu_block         block[CJ_CLUSTER_MAX];
};

// ---- run.c

// Runs the launch's grid to its end.
cj_status cj__cpu_run(const cj_cpu_launch *launch, cj_error *error);
// Splits lanes off the running group, which go on at pc.
void cj__cpu_split(cj_cpu_warp *w, uint32_t pc, uint32_t mask);

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

// Reports a hazard of one lane and returns CJ_STEP_STOP. The message is what was done (from the format), by whom.
cj_cpu_step cj__cpu_hazard(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, const char *format,
                           ...) CJ_PRINTF(5, 6);
// Reports that no thread of the cluster can go on.
void cj__cpu_deadlock(cj_cpu_cluster *cluster);

// ---- exec_barrier.c

// Lanes have exited: barriers that waited for them may complete.
void cj__cpu_barriers_leave(cj_cpu_warp *w, uint32_t mask);

#endif
