// SPDX-License-Identifier: Apache-2.0
// What the collectives of values and of arrays have in common: what each of them moves, and how it combines.
#ifndef CJ_COLLECTIVE_PARTS_H
#define CJ_COLLECTIVE_PARTS_H

#include <clusterjit/collectives.h>

// CJ_TRANSACTION_MOST: bytes that an mbarrier counts in one phase (PTX ISA 9.7.13, transaction count).
enum { CJ_CLUSTER_MOST = 16, CJ_WARP = 32, CJ_TRANSACTION_MOST = (1 << 20) - 1 };

// Where in shared memory what is kept (the picture is in collectives.c). Of values: a side's slots, 8 bytes a rank, and the
// side with its mbarrier; both multiples of 16. Of arrays: mbarriers.
#define CJ_VALUE_SLOTS(cluster) (((cluster)*8u + 15) / 16 * 16)
#define CJ_VALUE_SIDE(cluster) (CJ_VALUE_SLOTS(cluster) + 16)
enum { CJ_GATE_READY, CJ_GATE_LANDED, CJ_GATE_SECOND, CJ_GATE_DONE, CJ_GATES, CJ_GATE_BYTES = 8 };

typedef enum cj_collective_source { CJ_FROM_ALL, CJ_FROM_ROOT, CJ_FROM_DISTANCE } cj_collective_source;
typedef enum cj_collective_fold { CJ_FOLD_NONE, CJ_FOLD_ALL, CJ_FOLD_PREFIX } cj_collective_fold;

// A collective by what it moves: the ranks with parts that reach a block, which part of a source's array, the ranks that get
// anything, and what becomes of it.
typedef struct cj_collective_kind {
    cj_collective_source source;
    bool                 by_rank;  // a source has a part for each rank
    bool                 to_root;  // only root gets anything
    cj_collective_fold   fold;
} cj_collective_kind;

const cj_collective_kind *cj__collective_kind(cj_collective_op op);

// An element's type in registers and in memory: `load` elements of memory hold one or, packed, two elements each.
typedef struct cj_combined {
    const char *type;      // "f16"
    const char *computed;  // "f32"
    const char *load;      // "b32"
    uint32_t    bytes;     // of an element
    uint32_t    packed;    // elements in a `load`: 2 of halves
    uint32_t    vector;    // `load` elements read at once: 16 bytes, of halves 8
} cj_combined;

const cj_combined *cj__combined(const char *type);  // NULL: one that is not combined

// Refuses what the description or `what` asks for and cannot be; false then. `type` NULL: any.
bool cj__collective_is_right(cj_func *f, const cj_collectives *c, const cj_collective *what);

// The rank that a broadcast, scatter or shift takes from: a new u32 register, and whether there is one (cj_always(): always).
// Where there is none it is the block's own.
typedef struct cj_collective_peer {
    cj_reg rank, exists;
} cj_collective_peer;
cj_collective_peer cj__collective_source(cj_func *f, const cj_collectives *c, const cj_collective *what);

// to = `from` of another lane, as shfl.sync's mode ("bfly", "idx", "up", "down") says with `lane` and the clamp. A shuffle moves
// 32 bits: values of 8 bytes go as two halves. All 32 lanes execute it.
void cj__shuffle(cj_func *f, const char *mode, unsigned bytes, cj_reg to, cj_reg from, cj_arg lane, unsigned clamp);

// (rank + distance) mod size, of a distance below the size.
cj_reg cj__rank_ahead(cj_func *f, const char *name, cj_reg rank, cj_arg distance, uint32_t size);

// v[0] = op over v[0 … count), in pairs of neighbours; the others are spent.
void cj__fold_all(cj_func *f, const cj_combine *combine, const cj_reg *v, uint32_t count);

// v[r] becomes op over v[0 … r], or, exclusive, over v[0 … r).
void cj__fold_prefixes(cj_func *f, const cj_combine *combine, cj_reg *v, uint32_t count, bool exclusive);

// v[0] = v[rank].
void cj__fold_pick(cj_func *f, const cj_reg *v, uint32_t count, cj_reg rank);

// Between a 32-bit register with a half in its lower part and an f32: type is "f16" or "bf16".
void cj__half_widen(cj_func *f, const char *type, cj_reg wide, cj_reg bits);
void cj__half_round(cj_func *f, const char *type, cj_reg half, cj_reg wide);  // to a b16 register

// A barrier of all threads that call: bar.sync, or bar.warp.sync of one warp.
void cj__collective_barrier(cj_func *f, const cj_collectives *c, const char *why);

// A new u32 register: base + offset.
cj_reg cj__offset_from(cj_func *f, const char *name, cj_reg base, uint32_t offset);

#endif
