// SPDX-License-Identifier: Apache-2.0
// Addresses, and the only way to memory: every load, store and atomic asks its op's `reach` function for host
// addresses. That function checks bounds, alignment and windows of each lane's access, and reports it to the watch and
// to the statistics.
//
//   shared::cta      0 … size of the block's shared memory
//   shared::cluster  the same for the block's own; from mapa: (rank + 1) << 24 | offset
//   generic          CJ_SHARED_BASE + either of these; CJ_LOCAL_BASE + offset; CJ_PARAM_BASE + offset; else a global,
//                    host address. The bases are no canonical addresses, so host memory is never there.
#ifndef CJ_CPU_ADDRESS_H
#define CJ_CPU_ADDRESS_H

#include "machine.h"

enum { CJ_RANK_SHIFT = 24 };

#define CJ_SHARED_BASE 0x5348000000000000u  // "SH"
#define CJ_LOCAL_BASE 0x4c4f000000000000u   // "LO"
#define CJ_PARAM_BASE 0x5041000000000000u   // "PA"

// The function that reaches the space named by a load's, store's or atomic's mnemonic.
cj_cpu_reach cj__cpu_reach_of(const cj_mnemonic *mnemonic);
// The same for a space by its word; NONE: generic.
cj_cpu_reach cj__cpu_reach_in(cj_word space);

// For multimem instructions: an address in a multicast object reaches the memory of its member w->member. Any other global
// address is as it is: a device is a team of one there.
bool cj__cpu_reach_member(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES]);
// How many members the address of each lane in `mask` has; returns the largest number.
uint32_t cj__cpu_members(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, uint32_t members[CJ_LANES]);

// An access to an address that is not the op's memory operand.
typedef struct cj_cpu_span {
    uint64_t bytes, align;
    bool     writes;
} cj_cpu_span;

// The place of such an access.
typedef struct cj_cpu_spot {
    unsigned char *host;
    cj_cpu_block  *block;    // the block that owns it, if it is shared memory; else NULL
    uint64_t       address;  // offset in that block's shared memory, else as it was given
} cj_cpu_spot;

// The address that a lane gives in the op's k-th memory operand.
uint64_t cj__cpu_address(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k, unsigned lane);

// Checks one lane's address in a space (a word of a mnemonic; NONE: generic) and finds the place; false when a hazard
// was reported.
bool cj__cpu_locate(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_word space, uint64_t address,
                    cj_cpu_span wanted, cj_cpu_spot *spot);

// Maps a shared address, in place, to the block with that rank; false when a hazard was reported.
bool cj__cpu_map(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool generic, uint32_t rank, uint64_t *address);
// The rank of the block that owns a shared address; false when a hazard was reported.
bool cj__cpu_rank_of(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool generic, uint64_t address,
                     uint32_t *rank);

#endif
