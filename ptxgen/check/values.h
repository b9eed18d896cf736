// SPDX-License-Identifier: Apache-2.0
// What can be known, without running it, about the values in a function's registers: constants, thread numbers,
// predicates that part a warp, and addresses with the variable, the state space and the block that they point to.
//
// Inside a basic block a register has the value last written there. Read in another block it has what all blocks that
// write it leave in it, taken together. So little is lost where registers are reused, and every step is linear.
#ifndef CJ_PTXGEN_VALUES_H
#define CJ_PTXGEN_VALUES_H

#include "graph.h"

typedef enum cj_value_kind {
    CJ_VALUE_NONE,       // nothing writes it, as far as was seen
    CJ_VALUE_ANY,        // nothing is known
    CJ_VALUE_CONSTANT,   // number
    CJ_VALUE_THREAD,     // %tid.x
    CJ_VALUE_LANE,       // the lane in the warp
    CJ_VALUE_RANK,       // the block's own rank in its cluster
    CJ_VALUE_PREDICATE,  // parts, parts_not
    CJ_VALUE_ADDRESS     // space, generic, peer, var, number
} cj_value_kind;

typedef struct cj_value {
    uint8_t          kind;
    uint8_t          space;      // cj_space that it points into
    bool             generic;    // through the generic window
    bool             peer;       // in the shared memory of another block, or of one not known
    bool             placed;     // number is its offset in var
    bool             parts;      // where it is true, it is true for some lanes of the warp and not for others
    bool             parts_not;  // the same where it is false
    uint8_t          zero;       // fills what would be padding
    const cj_ir_var *var;        // or NULL
    int64_t          number;
} cj_value;

// What an instruction is to this analysis and those that build on it, from its opcode. Those from MOV to MAPA write one
// register, of whose value something may be known; those from PLAIN to SETP do nothing but compute in registers.
typedef enum cj_op {
    CJ_OP_OTHER, CJ_OP_PLAIN, CJ_OP_MOV, CJ_OP_CVT, CJ_OP_ADD, CJ_OP_SUB, CJ_OP_MAD, CJ_OP_AND, CJ_OP_NOT, CJ_OP_SELP,
    CJ_OP_SETP, CJ_OP_CVTA, CJ_OP_MAPA, CJ_OP_ELECT, CJ_OP_LD, CJ_OP_ST, CJ_OP_ATOM, CJ_OP_RED, CJ_OP_MATRIX,
    CJ_OP_MBARRIER, CJ_OP_FENCE, CJ_OP_BARRIER, CJ_OP_CALL
} cj_op;

#define CJ_HOME_MANY UINT32_MAX
#define CJ_NO_BLOCK  UINT32_MAX

// What is known of a register: one line of the processor's cache.
typedef struct cj_reg_value {
    cj_value left;        // what it holds outside the blocks that write it
    cj_value now;         // and in the block being walked, where `walk` is that walk
    uint32_t walk;
    uint32_t first_read;  // the first block that reads `left`, CJ_NO_BLOCK: none so far
    uint32_t home;        // the only block that writes it + 1, CJ_HOME_MANY, or 0
} cj_reg_value;

typedef struct cj_values {
    const cj_graph *graph;
    const uint8_t  *op;          // of each row
    uint32_t        block;       // being walked
    uint32_t        walk;        // number of blocks entered so far
    cj_reg_value   *reg;         // of each register
    uint32_t       *touched;     // registers written in the block so far
    uint32_t        touched_count;
    uint32_t        stale;       // the first block that read a `left` before it changed, or CJ_NO_BLOCK
} cj_values;

// Finds what every register holds; each has its `home`. False when the arena is out of memory.
bool cj__values_find(cj_values *values, const cj_graph *graph, const uint32_t *home, cj_arena *arena);

// Walks a block again: enter it, then read operands and step over each instruction.
void     cj__values_enter(cj_values *values, uint32_t block);
cj_value cj__values_read(const cj_values *values, const cj_ir_operand *operand);  // of a memory operand: its address
cj_value cj__values_of(const cj_values *values, const cj_ir_reg *reg);
void     cj__values_step(cj_values *values, const cj_ir_inst *inst);

static inline cj_op cj__values_op(const cj_values *values, const cj_ir_inst *inst) {
    return (cj_op)values->op[inst->row - cj__rows];
}

// The state space that a mnemonic names, GENERIC for none.
cj_space cj__space_named(const cj_mnemonic *mnemonic);

#endif
