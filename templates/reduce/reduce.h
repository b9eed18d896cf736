// SPDX-License-Identifier: Apache-2.0
// The reduction's files: reduce.c tells the algorithm and calls its steps; plan.c chooses the shape.
#ifndef CJ_TEMPLATES_REDUCE_H
#define CJ_TEMPLATES_REDUCE_H

#include "kit.h"

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// Parameters, in the order of the table.
enum {
#define PARAM(id, ...) REDUCE_##id,
#include "params.def"
};

// What is written, in the order of the words of `result`.
enum { RESULT_TOTAL, RESULT_BLOCK, RESULT_BOTH };

// What is carried from element to result (a partial): one value; the best value and its index; count, mean and the sum of
// squared distances from the mean.
typedef enum reduce_kind { REDUCE_VALUE, REDUCE_BEST, REDUCE_MOMENTS } reduce_kind;

// An operation, in the order of the words of `op`.
typedef struct reduce_op {
    reduce_kind   kind;
    cj_combine_op combine;  // of a value, and which of two is better
    bool          mean;
} reduce_op;

const reduce_op *cj__reduce_op(const cj_plan *plan);

// Its words are in the order of cj_dtype.
static inline cj_dtype cj__reduce_dtype(const cj_plan *plan) { return (cj_dtype)plan->params.value[REDUCE_DTYPE]; }

// The type in which values are combined: "f64" for means of integers.
const char *cj__reduce_combined_type(const cj_plan *plan);

// Each block has a slice of its own, instead of loads dealt out to the whole grid: n / blocks elements, and one more in each
// of the first n mod blocks. So it is with results or weights of blocks, and where a cluster or a grid is asked for whose
// threads have few loads each: dealt out, these would be the first blocks' alone. The plan's shape is chosen.
bool cj__reduce_is_sliced(const cj_plan *plan);

// Blocks that the compiler shall make room for on each SM: as many as its threads allow, where they keep little.
uint64_t cj__reduce_blocks_per_sm(const cj_plan *plan);

// Left to itself ptxas spills registers of some such kernels, for another block on each SM.
bool cj__reduce_spills(const cj_plan *plan);

// Several groups (clusters, or blocks without clusters) combine their partials in the workspace.
bool cj__reduce_gathers(const cj_plan *plan);

cj_status cj__reduce_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// Bytes a load.
enum { REDUCE_LOAD = 16 };

// 32-bit words of a partial: each has a mailbox word of its own.
unsigned cj__reduce_words(const cj_plan *plan);

// The end of a launch whose groups (clusters, or blocks without clusters) combine their partials in the workspace.
typedef struct reduce_end {
    cj_gather mail;
    cj_reg    is_last;  // the group that finishes
    cj_reg    reads;    // the threads that need the epoch tag
} reduce_end;

// What every step knows: the plan, and values that nothing changes after they are made.
typedef struct reduce_kernel {
    const cj_plan      *plan;
    cj_func            *f;
    const reduce_op    *op;
    const char         *type;  // in which elements are computed
    unsigned            bytes;  // of an element in memory
    cj_partials         partials;
    bool                maps;
    cj_callee           map;
    unsigned            vector;          // elements a load
    const char         *load;            // ld.global or ld.global.nc
    unsigned            warps, cluster;  // cluster 0: without
    bool                pushes;          // blocks of a cluster send partials to rank 0: there are several
    bool                per_block;       // each block's partial is made and written; `total`: that of all is
    bool                total, sliced, gathers;
    unsigned            gatherers, messages;  // warps that read the mailboxes, and messages that a lane reads at once
    cj_var              x, out, n, slice, workspace;
    cj_reg              thread, lane, warp, block, rank;
    cj_reg              leader, warp_leader;  // lane 0 of warp 0; of each warp
    cj_reg              base;                 // address of x
    cj_push             push;                 // of the cluster's partials, and thread 0 of rank 0, which gets them
    cj_reg              receiver;
    reduce_end          end;
    cj_label            done;
} reduce_kernel;

static inline const char *cj__reduce_group(const reduce_kernel *k) { return k->cluster ? "cluster" : "block"; }

// ---- partials (part.c)

// `value` is how values are combined, and the type in which they are.
cj_partials cj__reduce_partials(const cj_plan *plan, cj_func *f, const cj_combine *value);

// Combines `count` elements (1, 2, 4, 8 or 16), in the partials' type, that follow all that the partial has seen. `at` is the
// address of the first. The registers of the elements are used up.
void cj__reduce_take(const reduce_kernel *k, const cj_partial *partial, const cj_reg *element, unsigned count,
                     cj_reg at);

// ---- loads (load.c): sets k->base; the partial of this thread's elements

cj_partial cj__reduce_thread(reduce_kernel *k);

// ---- from the warps to the result (finish.c)

void cj__reduce_end(reduce_kernel *k);  // k->end
void cj__reduce_finish(const reduce_kernel *k, const cj_partial *partial);

#endif
