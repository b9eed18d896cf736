// SPDX-License-Identifier: Apache-2.0
// The exchange's geometry, which planning chooses and emitting writes down.
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

#endif
