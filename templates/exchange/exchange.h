// SPDX-License-Identifier: Apache-2.0
// The exchange's geometry, which planning chooses and emitting writes down. peer.c says which blocks trade, unit.c what a thread holds,
// rounds.c how rounds trade it. exchange.c has the algorithm and its barriers.
#ifndef CJ_TEMPLATES_EXCHANGE_H
#define CJ_TEMPLATES_EXCHANGE_H

#include <clusterjit/exchange.h>

#include "kit.h"

// What was fitted to a GPU or to ptxas.
#include "constants.def"

enum {
    EXCHANGE_BUFFERS = 2,  // parts arrive in them, in turn
    EXCHANGE_HEAD = 128,   // bytes of shared memory before the buffers: the mbarriers
    EXCHANGE_BUFFER_ALIGN = 16,
    EXCHANGE_REGISTERS = 65536 / EXCHANGE_RESIDENT  // a thread, without clusters: all blocks must be resident
};

// A chunk is what a block owns; what of it travels is `parts` parts of `part` units. A unit is what one access of
// global memory moves; in shared memory it takes a slot. The blocks of a group (a cluster, or as many blocks without
// one) go through their parts in tiles of `tile` units of each part.
typedef struct cj_exchange_shape {
    cj_exchange_pattern  pattern;
    cj_exchange_strategy strategy;
    uint32_t             size, threads, groups;  // blocks a group, threads a block, groups in the launch
    uint32_t             shift, repeat;
    uint32_t             unit, slot;                // bytes: 1, 2, 4, 8 or 16; 4, 8 or 16
    uint32_t             chunk, halo, parts, part;  // in units
    uint32_t             tile, tiles, vectors;      // units of a part, tiles of a part, units that a thread holds
    uint32_t             buffer_bytes, copy_bytes;
    uint32_t             in_stride, out_stride;  // units from one part to the next in x and in out
    uint32_t             out_chunk;              // units a block in out
    uint64_t             items;                  // clusters of the problem times tiles
    bool                 guarded;                // some threads hold less in some tiles
    bool                 turned;                 // push all-to-all: parts begin with the own one, which stays
    bool                 credits;                // push: a block must be told that its peer has read the buffer
    bool                 bulk;                   // push by bulk copies from buffer to buffer
    bool                 settles;                // push without credits: a barrier between tiles
} cj_exchange_shape;

// Of a plan whose grid, block and cluster are set.
cj_exchange_shape cj__exchange_shape(const cj_plan *plan);

cj_status cj__exchange_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// ---- the kernel

// What every step knows: nothing changes it after the beginning.
typedef struct exchange_kernel {
    cj_func          *f;
    const cj_plan    *plan;
    cj_exchange_shape s;
    cj_var            x, out, workspace;
    cj_reg            thread, leader, rank, group, block;  // group: of blocks that trade; block: of the launch
    cj_reg            box;  // where the block's shared memory begins; without clusters the first block's buffers
    cj_reg            own;  // the thread's first place in the own first buffer
    cj_reg            link;                    // push: the box of the block that writes here; global: a flag to watch
    cj_reg            watches, flag, before;   // global: the threads that watch one; the own flag, and its value before the launch
    cj_reg            sends, from, to, there;  // bulk copies: a thread for each part, from where to where and whose
} exchange_kernel;

// A tile of the parts of a cluster of chunks: of the problem its cluster; of each part the first unit, and how many.
typedef struct exchange_tile {
    cj_reg cluster, first, left;
} exchange_tile;

// The units that a thread holds in a tile.
typedef struct exchange_units {
    exchange_tile tile;
    cj_reg        value[EXCHANGE_VECTORS][4];
    cj_reg        is_held[EXCHANGE_VECTORS];  // and leaves the block; cj_always(): every thread's does
    cj_reg        holds;                      // some unit is; cj_always(): of every thread
    cj_reg
        window[EXCHANGE_VECTORS];  // where the box or the buffers of the block begin that a unit goes to, or comes from
    cj_reg address[EXCHANGE_VECTORS];  // its place in the first buffer there
    cj_reg place[EXCHANGE_VECTORS];    // all-to-all pushed: its place in the own first buffer
} exchange_units;

// A round: which buffer (0 or 1), where it begins after the first, and the parity of its mbarriers' phase.
typedef struct exchange_turn {
    cj_reg number, buffer, parity;
} exchange_turn;

// ---- peer.c. `comes`: the block that a part comes from; else the one that it goes to.

cj_reg cj__exchange_around(const exchange_kernel *k, cj_arg distance);  // (rank + distance) mod size
cj_reg cj__exchange_peer(const exchange_kernel *k, cj_reg part, bool comes);
cj_reg cj__exchange_part_there(const exchange_kernel *k, cj_reg part);  // which part it is there
cj_reg cj__exchange_block_of(const exchange_kernel *k, cj_reg peer);    // its number in the launch
cj_reg cj__exchange_window(const exchange_kernel *k, cj_reg peer);      // where its memory begins

// ---- unit.c

void cj__exchange_name_units(const exchange_kernel *k, exchange_units *u);
void cj__exchange_load(const exchange_kernel *k, const exchange_units *u);
void cj__exchange_store(const exchange_kernel *k, const exchange_units *u);
void cj__exchange_copy_chunk(const exchange_kernel *k, const exchange_units *u);  // halo
void cj__exchange_find(const exchange_kernel *k, exchange_units *u);              // all but the values

bool   cj__exchange_stays(const exchange_kernel *k, unsigned i);  // all-to-all pushed: the i-th unit is of the own part
cj_reg cj__exchange_in_buffer(const exchange_kernel *k, const exchange_turn *t, cj_reg base);

exchange_turn cj__exchange_turn(const exchange_kernel *k, cj_reg round);

// Between registers and a buffer: the i-th unit; all units, at the thread's own places; those that leave the block, too.
void cj__exchange_load_unit(const exchange_kernel *k, const exchange_units *u, unsigned i, const char *load, cj_reg at,
                            int64_t offset);
void cj__exchange_store_own(const exchange_kernel *k, const exchange_units *u, const char *store, cj_reg own);
void cj__exchange_load_sent(const exchange_kernel *k, const exchange_turn *t, const exchange_units *u);
void cj__exchange_store_sent(const exchange_kernel *k, const exchange_turn *t, const exchange_units *u);

// ---- rounds.c

void cj__exchange_setup(exchange_kernel *k);  // k->link to k->there
void cj__exchange_rounds(const exchange_kernel *k, const exchange_units *u, cj_reg round);

#endif
