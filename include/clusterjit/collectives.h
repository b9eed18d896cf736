// SPDX-License-Identifier: Apache-2.0
// The ten collectives of a cluster, as calls that write PTX into a kernel under construction (clusterjit/ptx.h), and how
// values are combined.
//
//     cj_collectives_desc desc = {.strategy = CJ_STRATEGY_PUSH, .cluster = 8, .threads = 32, .values = true};
//     cj_collective       sum = {.op = CJ_COLLECTIVE_ALLREDUCE, .type = "f32", .combine = {.type = "f32"}};
//     cj_cluster(f, 8, 1, 1);
//     cj_collectives c = cj_collectives_open(f, &desc);
//     …                                                    // loads, which hide the way to the peers
//     cj_collectives_ready(f, &c);
//     …                                                    // as often as wanted, in loops of the kernel too:
//     cj_collective_value(f, &c, &sum, part, total);
//     cj_collectives_close(f, &c);
//
// Each comes in two strategies. PULL: the threads of the cluster wait at barrier.cluster and read their peers' shared
// memory. PUSH: a block writes into its peers' shared memory (st.async for values, bulk copies for arrays) and waits on
// mbarriers of its own; no barrier.cluster stands between one collective and the next, and results are there sooner.
//
// Ranks are those of cj_cluster_rank, in clusters of one, two or three dimensions. Rank r's part is called x[r]:
//
//     op               a block gives    a block gets                          ranks that get it
//     broadcast        x                x[root]                               all
//     reduce           x                op over r of x[r]                     root
//     allreduce        x                op over r of x[r]                     all
//     gather           x                x[0], x[1], …                         root
//     allgather        x                x[0], x[1], …                         all
//     scatter          a part a rank    root's part for it                    all
//     reduce-scatter   a part a rank    op over r of r's part for it          all
//     all-to-all       a part a rank    each rank's part for it, by rank      all
//     scan             x                op over r <= rank (exclusive: r < rank, the identity at rank 0)   all
//     shift            x                x[rank - distance]                    those whose source exists
//
// Results are the same bits on every rank that gets them, in each run, and with either strategy. Reductions combine in
// pairs of neighbours, then pairs of these: ((x0 x1) (x2 x3)) …; scans one rank after the other.
// Sources: PTX ISA 9.7.9.12 (st.async), 9.7.9.25 (bulk copies), 9.7.13.4 (barrier.cluster), 9.7.13.15 (mbarrier).
#ifndef CLUSTERJIT_COLLECTIVES_H
#define CLUSTERJIT_COLLECTIVES_H

#include <clusterjit/cluster.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- combining

// How two values become one, and of what type. A user's operation must be associative and commutative.
typedef enum cj_combine_op {
    CJ_COMBINE_SUM,
    CJ_COMBINE_MIN,
    CJ_COMBINE_MAX,
    CJ_COMBINE_PRODUCT,
    CJ_COMBINE_USER
} cj_combine_op;

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
// the identity). All 32 lanes execute it and all get the result. Sums, minima and maxima of 32-bit integers take one
// redux.sync, others and a user's operation a butterfly of shuffles: with that, each group of `lanes` lanes, a power of two, gets
// its own result.
CJ_API void cj_warp_reduce(cj_func *f, cj_combine combine, cj_reg value, uint32_t lanes);

// ---- collectives

typedef enum cj_strategy { CJ_STRATEGY_PULL, CJ_STRATEGY_PUSH } cj_strategy;

typedef enum cj_collective_op {
    CJ_COLLECTIVE_BROADCAST,
    CJ_COLLECTIVE_REDUCE,
    CJ_COLLECTIVE_ALLREDUCE,
    CJ_COLLECTIVE_GATHER,
    CJ_COLLECTIVE_ALLGATHER,
    CJ_COLLECTIVE_SCATTER,
    CJ_COLLECTIVE_REDUCE_SCATTER,
    CJ_COLLECTIVE_ALL_TO_ALL,
    CJ_COLLECTIVE_SCAN,
    CJ_COLLECTIVE_SHIFT,
    CJ_COLLECTIVE_OPS
} cj_collective_op;

// One of them. Halves are combined in f32 and rounded once, at the end.
typedef struct cj_collective {
    cj_collective_op op;
    const char      *type;       // of an element: "f32", "f64", "s32", "u32", "s64", "u64", "f16", "bf16", or of 32 or 64 bits
    cj_combine       combine;    // of reduce, allreduce, reduce-scatter and scan; of the same type, of f16 and bf16: "f32"
    uint32_t         root;       // of broadcast, reduce, gather and scatter
    bool             exclusive;  // of scan
    int32_t          distance;   // of shift: ranks, either way
    bool             around;     // of shift: from the last rank on to the first; else a rank without a source keeps what it had
} cj_collective;

// How many parts a block gives and gets, of `cluster` blocks: 1 or `cluster`. Either pointer may be NULL.
CJ_API void cj_collective_parts(cj_collective_op op, uint32_t cluster, uint32_t *gives, uint32_t *gets);

// What the collectives of a kernel share.
typedef struct cj_collectives_desc {
    cj_strategy strategy;
    uint32_t    cluster;  // blocks, 1 to 16: as cj_cluster declares it
    uint32_t    threads;  // that call, a multiple of 32: all threads of the block, which is one-dimensional; or, with PUSH,
                          // 32 of a larger block: its first warp alone, between ready and close
    bool        values;   // cj_collective_value will be called
    bool        arrays;   // cj_collective_array will be called
    bool        combines; // … for a reduce, allreduce or scan
} cj_collectives_desc;

// What they share in the kernel: made by open, passed on, its members are nobody's business.
typedef struct cj_collectives {
    cj_collectives_desc desc;
    cj_reg rank, thread, lane, first;
    cj_reg sends, beyond;                             // thread r that sends to rank r; not of warp 0, or cj_none()
    cj_reg slots, peer_slots, turn;                   // of values: lane r's peer is rank r
    cj_reg gates, peer_gates, parity, second_parity;  // of arrays
} cj_collectives;

// Declares shared memory (up to 304 bytes), makes the mbarriers, and arrives at a cluster barrier, which cj_collectives_ready
// completes; no other cluster barrier may stand between the two. Every thread of the block executes both and close.
CJ_API cj_collectives cj_collectives_open(cj_func *f, const cj_collectives_desc *desc);
CJ_API void           cj_collectives_ready(cj_func *f, const cj_collectives *c);

// After it a block may exit.
CJ_API void cj_collectives_close(cj_func *f, const cj_collectives *c);

// One value a block, from registers to registers: of the element's type; f16 and bf16 in 16-bit registers, integers of 8 and
// 16 bits in 32-bit ones, which are moved whole. Where a block gives or gets a part a rank, lane r of warp 0 gives that for
// rank r, and lane r of every warp gets that of rank r; other lanes' `result` is left. Where it gives one value, the lanes
// of warp 0 below the cluster's size all hold it; what it gets, every thread gets.
// Every block takes part in each in the same order. Blocks that the table above does not name get something arbitrary, but of
// shift: they keep `result`. `value` is not changed, unless it is `result` too.
CJ_API void cj_collective_value(cj_func *f, const cj_collectives *c, const cj_collective *what, cj_reg value,
                                cj_reg result);

// Arrays in shared memory. `bytes` are those of a part, a multiple of 16; `from` and `to` are own addresses (u32 registers),
// aligned to 16, of as many parts as the block gives and gets, one after the other; they do not overlap. `scratch` is the
// address of cj_collective_scratch(…) bytes, aligned to 16, that nothing else uses during the call; the same place for each
// block. `from` and `to` are the same places in each block, too.
// What the threads wrote to `from` before is what is sent; after the call each thread may read `to` and write both. A block
// that gets nothing keeps its `to`. Every block takes part in each in the same order.
CJ_API void cj_collective_array(cj_func *f, const cj_collectives *c, const cj_collective *what, uint32_t bytes, cj_reg to,
                                cj_reg from, cj_reg scratch);

// Bytes that cj_collective_array wants at `scratch`; 0: none, `scratch` may then be cj_none().
CJ_API uint32_t cj_collective_scratch(const cj_collectives_desc *desc, const cj_collective *what, uint32_t bytes);

#ifdef __cplusplus
}
#endif
#endif
