// SPDX-License-Identifier: Apache-2.0
// What a cluster can do, as calls that write PTX into a kernel under construction (clusterjit/ptx.h): its ranks,
// its peers' shared memory, cluster barriers, mbarriers, bulk copies. The collectives on top are in
// clusterjit/collectives.h. They use registers of their own and leave the caller's alone unless a comment says
// otherwise.
//
//     cj_reg rank = cj_cluster_rank(f), right = cj_u32(f, "right"), mine = cj_u32(f, "mine"), theirs = cj_u32(f,
//     "theirs");
//     …                                                               // right = (rank + 1) mod size; slot[] is written
//     cj_cluster_sync(f, "every block's slot is written");
//     cj_dsmem_load(f, cj_always(), "u32", &theirs, 1, cj_cluster_map(f, slot, right), 0);
//     cj_cluster_sync(f, "nobody leaves while it is read");
//
// Types are PTX types ("f32", "b64"). Addresses of shared memory are 32-bit registers: in the block's own .shared
// window (`own`), or in the .shared::cluster window (`peer`; an own address is one too, of the executing block itself).
//   when   the predicate under which the line executes, or cj_always(): by every thread that gets there
//   why    the comment after the line; may be NULL
//   cj_arg a register or a number: CJ_ARG(bytes), CJ_ARG(4096)
// What PTX has no form for (an atomic minimum of floats, a vector of three) is refused as the line that it would be, by
// cj_builder_finish. Targets before sm_90 have none of this but mbarriers that threads of one block arrive at.
//
// A peer's memory may be touched from when that block has started until it exits; only a cluster barrier, or an arrival
// of that block, tells. Sources: PTX ISA 5.2 (state spaces) and the sections named below.
#ifndef CLUSTERJIT_CLUSTER_H
#define CLUSTERJIT_CLUSTER_H

#include <clusterjit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- identity (PTX ISA 10, special registers)

// Each a new u32 register: this block's rank in its cluster (x fastest), blocks in the cluster, the cluster's index in
// the grid along x, clusters in the grid along x. The index is %clusterid.x, which ptxas computes in f32: in a grid of more than
// 10186169 blocks along x divide %ctaid.x by the cluster's blocks instead (launch rule cluster-index).
CJ_API cj_reg cj_cluster_rank(cj_func *f);
CJ_API cj_reg cj_cluster_size(cj_func *f);
CJ_API cj_reg cj_cluster_index(cj_func *f);
CJ_API cj_reg cj_cluster_count(cj_func *f);

// Three new u32 registers.
typedef struct cj_reg3 {
    cj_reg x, y, z;
} cj_reg3;

// The same for any shape: this block's position in its cluster, the cluster's shape in blocks, the cluster's position
// in the grid and the grid's shape, in clusters.
CJ_API cj_reg3 cj_cluster_block_index(cj_func *f);
CJ_API cj_reg3 cj_cluster_shape(cj_func *f);
CJ_API cj_reg3 cj_cluster_grid_index(cj_func *f);
CJ_API cj_reg3 cj_cluster_grid_shape(cj_func *f);

// The cluster's number in a grid of any shape, x fastest, and how many clusters that grid has. New u32 registers.
CJ_API cj_reg cj_cluster_number(cj_func *f);
CJ_API cj_reg cj_cluster_total(cj_func *f);

// Threads of the cluster. Their rank counts block after block by rank, and within a block x fastest; their index and
// the shape see the cluster's blocks as one block. As cooperative_groups::cluster_group has them.
CJ_API cj_reg  cj_cluster_thread_rank(cj_func *f);
CJ_API cj_reg  cj_cluster_thread_count(cj_func *f);
CJ_API cj_reg3 cj_cluster_thread_index(cj_func *f);
CJ_API cj_reg3 cj_cluster_thread_shape(cj_func *f);

// A new b16 register with a bit set for each block of the cluster, for multicast.
CJ_API cj_reg cj_cluster_mask(cj_func *f);

// A new predicate that is true in one lane of each full warp (PTX ISA 9.7.13, elect.sync), or in one thread of the
// whole block, which is of warp 0. All 32 lanes execute it.
CJ_API cj_reg cj_elect(cj_func *f);
CJ_API cj_reg cj_elect_block(cj_func *f);

// ---- addresses of shared memory

// The variable's own address: a new u32 register.
CJ_API cj_reg cj_shared_address(cj_func *f, cj_var variable);

// The address of `variable`, or of what lies at the address `own`, as block `rank` has it: a new u32 register in the
// shared::cluster window (PTX ISA 9.7.9, mapa). The block of that rank must have started (a cluster barrier) before the
// address is used and must not have exited. `rank` is less than the cluster's size.
CJ_API cj_reg cj_cluster_map(cj_func *f, cj_var variable, cj_reg rank);
CJ_API cj_reg cj_cluster_map_address(cj_func *f, cj_reg own, cj_reg rank);

// The rank of the block whose memory an address lies in: a new u32 register (PTX ISA 9.7.9, getctarank).
CJ_API cj_reg cj_cluster_rank_of(cj_func *f, cj_reg peer);

// ---- distributed shared memory (PTX ISA 9.7.9: ld, st, st.async; 9.7.13: atom, red, red.async)

// `count` elements (1, 2 or 4; at most 16 bytes, at an address that is a multiple of their size) between registers and
// peer + offset. Loads of 8 and 16 bits take registers of 16 bits or wider.
CJ_API void cj_dsmem_load(cj_func *f, cj_reg when, const char *type, const cj_reg *into, uint32_t count, cj_reg peer,
                          int32_t offset);
CJ_API void cj_dsmem_store(cj_func *f, cj_reg when, const char *type, const cj_reg *value, uint32_t count, cj_reg peer,
                           int32_t offset);

// Atomics of cluster scope. They are relaxed: they order nothing but themselves.
//   add        u32 s32 u64 f32 f64          min max    u32 s32 u64 s64
//   inc dec    u32                          and or xor b32 b64
//   exch       b32 b64 (cj_dsmem_atom)      add.noftz  f16 f16x2 bf16 bf16x2
// On a peer's memory ptxas takes some of these apart, wrongly: min, max, and, or, xor of 64 bits and sums of pairs
// (f16x2, bf16x2). cj_check_ptx warns of them (rule cluster-atomic); use cj_dsmem_cas there.
// cj_dsmem_atom leaves what was there before in `old`; cj_dsmem_red is told nothing; cj_dsmem_cas, of b16, b32 or b64,
// writes `value` where it found `compare`.
CJ_API void cj_dsmem_atom(cj_func *f, cj_reg when, const char *op, const char *type, cj_reg old, cj_reg peer,
                          int32_t offset, cj_arg value);
CJ_API void cj_dsmem_red(cj_func *f, cj_reg when, const char *op, const char *type, cj_reg peer, int32_t offset,
                         cj_arg value);
CJ_API void cj_dsmem_cas(cj_func *f, cj_reg when, const char *type, cj_reg old, cj_reg peer, int32_t offset,
                         cj_arg compare, cj_arg value);

// Asynchronous: once it has been written, `count` elements' bytes are taken off the transaction count of the mbarrier
// at `mbarrier`, which is of the same block as `peer`.
//   st.async   b32 u32 s32 f32 (1, 2 or 4 elements), b64 u64 s64 f64 (1 or 2)
//   red.async  inc dec u32; add min max u32 s32; and or xor b32; add u64
CJ_API void cj_st_async(cj_func *f, cj_reg when, const char *type, const cj_reg *value, uint32_t count, cj_reg peer,
                        int32_t offset, cj_reg mbarrier);
CJ_API void cj_red_async(cj_func *f, cj_reg when, const char *op, const char *type, cj_reg peer, int32_t offset,
                         cj_reg value, cj_reg mbarrier);

// ---- the cluster barrier (PTX ISA 9.7.13, barrier.cluster)

// In two halves: every thread of every block arrives, then waits; what stands between them hides the way there. All
// threads of a warp execute it together. RELEASE publishes what the thread wrote before, to those that wait; RELAXED
// publishes nothing and only says that the thread got here; DEFAULT is RELEASE as .version 7.8 has it.
// Waiting acquires.
typedef enum cj_arrive { CJ_ARRIVE_RELEASE, CJ_ARRIVE_RELAXED, CJ_ARRIVE_DEFAULT } cj_arrive;
CJ_API void cj_cluster_arrive(cj_func *f, cj_arrive semantics, const char *why);
CJ_API void cj_cluster_wait(cj_func *f, const char *why);

// Both halves, release and acquire. It is a block barrier too: no bar.sync is needed beside it.
CJ_API void cj_cluster_sync(cj_func *f, const char *why);

// What this thread wrote before is visible in the cluster before what it writes after (PTX ISA 9.7.13, fence).
CJ_API void cj_cluster_fence(cj_func *f, const char *why);

// ---- mbarriers (PTX ISA 9.7.13, mbarrier)
//
// 8 bytes of shared memory, aligned to 8. A phase ends when all its arrivals have come and its transaction count is 0;
// the next one begins with the same number of arrivals. Phases are waited for by parity: 0 for the first, 1 for the
// second, 0 for the third; a wait for parity 1 before the first has ended returns at once. A thread that lets two phases
// pass takes the one for the other and waits forever: only those threads should wait without which the next phase cannot complete.
// Threads wait at mbarriers of their own block alone; anyone in the cluster arrives.

// One thread makes it ready for `arrivals` a phase (1 to 2^20 - 1). cj_mbarrier_init_done by the same thread lets peers
// and the asynchronous proxy see it; others may use it after the next barrier, peers after a cluster barrier.
CJ_API void cj_mbarrier_init(cj_func *f, cj_reg when, cj_reg own, cj_arg arrivals, const char *why);
CJ_API void cj_mbarrier_init_done(cj_func *f, const char *why);

// Its memory may be used for something else after this. Nobody may still arrive or wait.
CJ_API void cj_mbarrier_inval(cj_func *f, cj_reg when, cj_reg own, const char *why);

// The present phase waits for so many bytes more. cj_mbarrier_arrive_expect does it and arrives, in one.
CJ_API void cj_mbarrier_expect(cj_func *f, cj_reg when, cj_reg own, cj_arg bytes, const char *why);

// One arrival, which publishes what the thread wrote before: to its block, or, at a peer's mbarrier, to that block.
// Publishing to a peer costs a fence of the whole GPU (some 600 cycles on an H200). Where nothing needs to be published, as
// when a stage has been read, cj_pipeline_release (clusterjit/pipeline.h) does without.
CJ_API void cj_mbarrier_arrive(cj_func *f, cj_reg when, cj_reg own, const char *why);
CJ_API void cj_mbarrier_arrive_expect(cj_func *f, cj_reg when, cj_reg own, cj_arg bytes, const char *why);
CJ_API void cj_mbarrier_arrive_peer(cj_func *f, cj_reg when, cj_reg peer, const char *why);
CJ_API void cj_mbarrier_arrive_expect_peer(cj_func *f, cj_reg when, cj_reg peer, cj_arg bytes, const char *why);

// The writes that a wait is to see: those of the own block and of copies to it, or those of peers (st.async, remote
// arrivals).
typedef enum cj_scope { CJ_SCOPE_BLOCK, CJ_SCOPE_CLUSTER } cj_scope;

// A new predicate: the phase of this parity has ended. It may wait a while (try_wait), and acquires when true.
CJ_API cj_reg cj_mbarrier_try(cj_func *f, cj_reg own, cj_arg parity, cj_scope scope, const char *why);

// Waits until it has: a loop around try_wait. cj_mbarrier_flip turns a parity register to the next phase's.
CJ_API void cj_mbarrier_wait(cj_func *f, cj_reg own, cj_arg parity, cj_scope scope, const char *why);
CJ_API void cj_mbarrier_flip(cj_func *f, cj_reg parity);

// ---- bulk copies (PTX ISA 9.7.9, cp.async.bulk)
//
// By the asynchronous proxy; one thread starts one. Addresses and bytes are multiples of 16. What the threads wrote to
// shared memory is seen by copies after cj_async_fence, by each writing thread (and then a barrier).
// `global` is a 64-bit register with an address in global memory.

CJ_API void cj_async_fence(cj_func *f, const char *why);

// global -> own shared memory; the bytes are taken off own mbarrier's transaction count when they are there.
CJ_API void cj_bulk_load(cj_func *f, cj_reg when, cj_reg own, cj_reg global, cj_arg bytes, cj_reg mbarrier);

// global -> the same place in each block whose bit is set in `mask` (a b16 register or a number), whose mbarrier at the
// same place counts its bytes.
CJ_API void cj_bulk_load_multicast(cj_func *f, cj_reg when, cj_reg own, cj_reg global, cj_arg bytes, cj_reg mbarrier,
                                   cj_arg mask);

// own shared memory -> a peer's, counted by the mbarrier at `mbarrier` in that peer.
CJ_API void cj_bulk_push(cj_func *f, cj_reg when, cj_reg peer, cj_reg own, cj_arg bytes, cj_reg mbarrier);

// own shared memory -> global, in groups of the thread: cj_bulk_commit ends a group; cj_bulk_wait waits until at most
// `pending` groups have not been written, cj_bulk_wait_read until at most so many have not been read.
CJ_API void cj_bulk_store(cj_func *f, cj_reg when, cj_reg global, cj_reg own, cj_arg bytes);
CJ_API void cj_bulk_commit(cj_func *f);
CJ_API void cj_bulk_wait(cj_func *f, uint32_t pending, const char *why);
CJ_API void cj_bulk_wait_read(cj_func *f, uint32_t pending, const char *why);

// The same for a box of a tensor (clusterjit/tensormap.h; PTX ISA 9.7.9, cp.async.bulk.tensor): `map` is a 64-bit
// register with the generic address of its map, `at` the box's first element, one s32 register for each of the map's
// `rank` dimensions (1 to 5). In shared memory a box begins at a multiple of 128 bytes; the mbarrier counts all its
// bytes.
CJ_API void cj_tensor_load(cj_func *f, cj_reg when, cj_reg own, cj_reg map, const cj_reg *at, uint32_t rank,
                           cj_reg mbarrier);
CJ_API void cj_tensor_load_multicast(cj_func *f, cj_reg when, cj_reg own, cj_reg map, const cj_reg *at, uint32_t rank,
                                     cj_reg mbarrier, cj_arg mask);
CJ_API void cj_tensor_store(cj_func *f, cj_reg when, cj_reg map, const cj_reg *at, uint32_t rank, cj_reg own);

#ifdef __cplusplus
}
#endif
#endif
