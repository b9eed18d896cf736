// SPDX-License-Identifier: Apache-2.0
// The reduction's parts, from the file that tells its algorithm (reduce.c) to those that write its steps.
#ifndef CJ_TEMPLATES_REDUCE_H
#define CJ_TEMPLATES_REDUCE_H

#include <clusterjit/collectives.h>

#include "constants.h"
#include "family.h"

// Parameters, in the order of the table.
enum {
    REDUCE_N,
    REDUCE_BLOCK,
    REDUCE_CLUSTER,
    REDUCE_OP,
    REDUCE_DTYPE,
    REDUCE_GRID,
    REDUCE_RESULT,
    REDUCE_WEIGHT,
    REDUCE_DEPENDENT,
    REDUCE_MAP,
    REDUCE_OP_EXPR,
    REDUCE_IDENTITY,
    REDUCE_PARAMS
};

// What is written, in the order of the words of `result`.
enum { RESULT_TOTAL, RESULT_BLOCK, RESULT_BOTH };

extern const cj_param_info cj__reduce_params[REDUCE_PARAMS];

// What is carried from element to result (a part): one value; the best value and its index; count, mean and the sum of
// squared distances from the mean.
typedef enum reduce_kind { REDUCE_VALUE, REDUCE_BEST, REDUCE_MOMENTS } reduce_kind;

enum { REDUCE_PIECES = 3 };  // registers of a part, at most

typedef struct reduce_part {
    cj_reg piece[REDUCE_PIECES];
} reduce_part;

// An operation, in the order of the words of `op`.
typedef struct reduce_op {
    reduce_kind   kind;
    cj_combine_op combine;  // of a value, and which of two is the better
    bool          mean;
} reduce_op;

// A type, in the order of cj_dtype: the one that it is computed in, bytes in memory, and how one element is loaded.
typedef struct reduce_dtype {
    const char *ptx;
    unsigned    bytes;
    const char *element;
} reduce_dtype;

const reduce_op    *cj__reduce_op(const cj_plan *plan);
const reduce_dtype *cj__reduce_dtype(const cj_plan *plan);

// The type in which values meet: "f64" for means of integers.
const char *cj__reduce_meeting_type(const cj_plan *plan);

// Each block has a slice of its own, instead of loads dealt out to the whole grid: n / blocks elements, and one more in each
// of the first n mod blocks. So it is with results or weights of blocks, and where a cluster or a grid is asked for whose
// threads have few loads each: dealt out, these would be the first blocks' alone. The plan's shape is chosen.
bool cj__reduce_is_sliced(const cj_plan *plan);

// Blocks that the compiler shall make room for on each SM: as many as its threads allow, where they keep little.
uint64_t cj__reduce_blocks_per_sm(const cj_plan *plan);

// Left to itself ptxas spills registers of some such kernels, for another block on each SM.
bool cj__reduce_spills(const cj_plan *plan);

// Several groups (clusters, or blocks without clusters) meet in the workspace.
bool cj__reduce_meets(const cj_plan *plan);

cj_status cj__reduce_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// Bytes a load; the workspace: where the groups' mailboxes begin.
enum { REDUCE_LOAD = 16, REDUCE_WORDS_AT = 16 };

// 32-bit words of a part: each travels to the last group beside a tag of 32 bits.
unsigned cj__reduce_words(const cj_plan *plan);

// What the steps share.
typedef struct reduce_kernel {
    const cj_plan      *plan;
    cj_func            *f;
    const reduce_op    *op;
    const reduce_dtype *dtype;
    cj_combine          combine;  // of values
    bool                maps;
    cj_callee           map;
    unsigned            pieces;  // of a part, and their types and bytes
    const char         *type[REDUCE_PIECES];
    unsigned            bytes[REDUCE_PIECES];
    unsigned            vector;          // elements a load
    const char         *load;            // ld.global or ld.global.nc
    unsigned            warps, cluster;  // cluster 0: without
    bool                pushes;          // blocks of a cluster send parts to rank 0: there are several
    bool                per_block;       // each block's part is made and written; `total`: that of all is
    bool                total, sliced, meets;
    unsigned            gatherers, posts;  // warps that take the posted parts, and parts that a lane takes at once
    cj_var              x, out, n, slice, workspace;
    cj_reg              thread, lane, warp, block, rank;
    cj_reg              leader, warp_leader;      // lane 0 of warp 0; of each warp
    cj_reg              arrived, receiver;        // rank 0's mbarrier; the thread that makes it
    cj_reg              base;                     // address of x
    cj_reg              first, body, tail, last;  // addresses: the share is [first, last), its vectors [body, tail)
    cj_reg              number, stride;           // this thread's among those of the share; bytes from load to load
    cj_reg              space, last_tag, tag;     // the workspace; what the launch before left there; this launch's tag
    cj_reg              is_last, reads_tag;       // in the group that finishes; who needs the tag
    reduce_part         part;
    cj_label            done;
} reduce_kernel;

// ---- parts (reduce_combine.c)

bool        cj__reduce_is_wide(const reduce_kernel *k);  // some piece has 64 bits
reduce_part cj__reduce_part_new(reduce_kernel *k, const char *name);
void        cj__reduce_part_clear(const reduce_kernel *k, const reduce_part *part);  // becomes the identity

// into = into op from.
void cj__reduce_combine(reduce_kernel *k, const reduce_part *into, const reduce_part *from);

// Takes `count` elements (1, 2, 4, 8 or 16), in the meeting type, that lie behind all that the part has seen. `at` is
// the address of the first. The registers of the elements are used up.
void cj__reduce_take(reduce_kernel *k, const reduce_part *part, const cj_reg *element, unsigned count, cj_reg at);

// Lane 0 gets the part of the first `lanes` lanes; the others hold the identity. All 32 lanes execute it.
void cj__reduce_warp(reduce_kernel *k, unsigned lanes);

// ---- loads (reduce_load.c)

void cj__reduce_share(reduce_kernel *k);   // which part of x is this block's
void cj__reduce_thread(reduce_kernel *k);  // k->part: of the elements of this thread

// ---- from the warps to the result (reduce_finish.c)

void cj__reduce_declare(reduce_kernel *k);
void cj__reduce_begin(reduce_kernel *k);
void cj__reduce_open_workspace(reduce_kernel *k);
void cj__reduce_wait(reduce_kernel *k);  // behind it global memory may be touched
void cj__reduce_finish(reduce_kernel *k);

#endif
