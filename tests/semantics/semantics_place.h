// SPDX-License-Identifier: Apache-2.0
// Where an instruction's memory operand lies: a cell of 48 bytes, of which the middle 16 are for the instruction and the
// others must stay as they were. A thread has its own cell, or the threads of a block share one.
#ifndef CJ_TESTS_SEMANTICS_PLACE_H
#define CJ_TESTS_SEMANTICS_PLACE_H

#include "semantics.h"

typedef enum cj_place {
    CJ_PLACE_GLOBAL,
    CJ_PLACE_SHARED,
    CJ_PLACE_PEER,
    CJ_PLACE_LOCAL,  // in the window of their space
    CJ_PLACE_ANY_GLOBAL,
    CJ_PLACE_ANY_SHARED,
    CJ_PLACE_ANY_PEER,
    CJ_PLACE_ANY_LOCAL,  // by a generic address
    CJ_PLACE_COUNT
} cj_place;

// The places that a mnemonic can reach: a mask of 1 << place. Without local memory where `atomic`.
unsigned cj__places_of(const cj_mnemonic *mnemonic, bool atomic);

enum { CJ_VARIANT_START = 64 };

// Adds the lines that find the cell, one of a block where `common`, and fill it: the middle with `count` inputs of
// `type` from first_input on. The address of the middle is written to `address`: "[%r8+16]" and its like; `variant`
// chooses how, and CJ_VARIANT_START gives the cell's own address.
void cj__place_open(cj_experiment *e, cj_place place, bool common, cj_word type, unsigned first_input, unsigned count,
                    unsigned variant, char address[24]);

// Adds the lines that read the whole cell into outputs: what lies in memory when all threads are done.
void cj__place_close(cj_experiment *e, cj_place place, bool common);

// What place_close reads of a cell whose middle holds these bytes.
void cj__place_expected(const unsigned char middle[16], uint64_t words[6]);

// Whether the instruction reaches the cell of the same thread in another block.
bool cj__place_is_peer(cj_place place);

// Adds what waits until all blocks of the cluster are there.
void cj__cluster_sync(cj_experiment *e);

#endif
