// SPDX-License-Identifier: Apache-2.0
// The memory operand of an instruction: a cell of 48 bytes, of which the middle 16 are for the instruction and the
// others must not change. Each thread has its own cell, or the threads of a block share one.
#ifndef CJ_TESTS_SEMANTICS_PLACE_H
#define CJ_TESTS_SEMANTICS_PLACE_H

#include "semantics.h"

typedef enum cj_place {
    CJ_PLACE_GLOBAL,
    CJ_PLACE_SHARED,
    CJ_PLACE_PEER,
    CJ_PLACE_LOCAL,  // by an address in the window of the space
    CJ_PLACE_ANY_GLOBAL,
    CJ_PLACE_ANY_SHARED,
    CJ_PLACE_ANY_PEER,
    CJ_PLACE_ANY_LOCAL,  // by a generic address
    CJ_PLACE_COUNT
} cj_place;

// The places that a mnemonic can access, as a mask of 1 << place. Without local memory if `atomic`.
unsigned cj__places_of(const cj_mnemonic *mnemonic, bool atomic);

enum { CJ_VARIANT_START = 64 };

// Adds lines that find the cell (one for the block if `common`) and fill it: the middle with `count` inputs of `type`
// from first_input. Writes the address of the middle to `address`: "[%r8+16]" and the like; `variant` chooses the form,
// and CJ_VARIANT_START gives the cell's own address.
void cj__place_open(cj_experiment *e, cj_place place, bool common, cj_word type, unsigned first_input, unsigned count,
                    unsigned variant, char address[24]);

// Adds lines that read the whole cell into outputs, after all threads are done.
void cj__place_close(cj_experiment *e, cj_place place, bool common);

// What place_close reads from a cell whose middle contains these bytes.
void cj__place_expected(const unsigned char middle[16], uint64_t words[6]);

// Whether the instruction accesses the cell of the same thread in another block.
bool cj__place_is_peer(cj_place place);

// Adds a barrier of all blocks of the cluster.
void cj__cluster_sync(cj_experiment *e);

#endif
