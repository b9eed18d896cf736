// SPDX-License-Identifier: Apache-2.0
// What a cluster can do, as calls that write PTX into a kernel under construction (clusterjit/ptx.h), and the collectives
// on top. They use registers of their own and leave the caller's alone unless a comment says otherwise.
//
// Types are PTX types ("f32", "s64"). Addresses of shared memory are 32-bit registers in the .shared window.
// Sources: PTX ISA 9.7.13.3 (barrier.cluster), 9.7.9.22 (mapa), 10 (special registers).
#ifndef CLUSTERJIT_CLUSTER_H
#define CLUSTERJIT_CLUSTER_H

#include <clusterjit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

// Identity, each a new u32 register: this block's rank in its cluster, blocks in the cluster, the cluster's index in the
// grid along x, clusters in the grid along x.
CJ_API cj_reg cj_cluster_rank(cj_func *f);
CJ_API cj_reg cj_cluster_size(cj_func *f);
CJ_API cj_reg cj_cluster_index(cj_func *f);
CJ_API cj_reg cj_cluster_count(cj_func *f);

// The cluster barrier in two halves: every thread of every block arrives, then waits. RELEASE publishes what the thread
// wrote before, to those that wait; RELAXED publishes nothing and only says that the thread got here. `why` becomes the
// comment behind the line and may be NULL.
typedef enum cj_arrive { CJ_ARRIVE_RELEASE, CJ_ARRIVE_RELAXED } cj_arrive;
CJ_API void cj_cluster_arrive(cj_func *f, cj_arrive semantics, const char *why);
CJ_API void cj_cluster_wait(cj_func *f, const char *why);

// The address of `variable` as block `rank` has it: a new u32 register in the shared::cluster window. The block of that
// rank must have started (a cluster barrier) before the address is used and must not have exited.
CJ_API cj_reg cj_cluster_map(cj_func *f, cj_var variable, cj_reg rank);

// ---- collectives

// How two values become one, and of what type. A user's operation must be associative and commutative.
typedef enum cj_combine_op { CJ_COMBINE_SUM, CJ_COMBINE_MIN, CJ_COMBINE_MAX, CJ_COMBINE_USER } cj_combine_op;

typedef struct cj_combine {
    cj_combine_op op;
    const char   *type;      // "f32", "f64", "s32", "u32", "s64", "u64"
    cj_callee     function;  // of USER: of two arguments of that type to one
    const char   *identity;  // of USER: a PTX constant
} cj_combine;

// The value that leaves every other unchanged, as a PTX constant; NULL for a type that has none. For min and max of floats
// it is a quiet NaN, which PTX min and max ignore. Static storage.
CJ_API const char *cj_combine_identity(cj_combine combine);

// into = into op value.
CJ_API void cj_combine_into(cj_func *f, cj_combine combine, cj_reg into, cj_reg value);

// value = op over the first `lanes` lanes of the warp (1 to 32, rounded up to a power of two; the lanes beyond must hold
// the identity). All 32 lanes execute it and all get the result. 32-bit integers take one redux.sync, others and a
// user's operation a butterfly of shuffles.
CJ_API void cj_warp_reduce(cj_func *f, cj_combine combine, cj_reg value, uint32_t lanes);

// `value` of one thread of every block of the cluster arrives in `slots` (one element a rank) of rank 0: a push through
// distributed shared memory. `sender` is true in that one thread of each block, `rank` is the block's (cj_cluster_rank).
// Two cluster barriers make it safe. The caller has arrived at the first (cj_cluster_arrive, RELAXED is enough) as early
// as it likes: it says that rank 0 runs, so that its memory may be written. This call waits for that, pushes, and
// completes the second, which publishes the slots. Every thread of the cluster executes it; afterwards no block but
// rank 0 is touched by others, so any may exit.
CJ_API void cj_cluster_gather_push(cj_func *f, const char *type, cj_var slots, cj_reg value, cj_reg rank, cj_reg sender);

#ifdef __cplusplus
}
#endif
#endif
