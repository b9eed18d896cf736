// SPDX-License-Identifier: Apache-2.0
// A program: an entry's IR lowered once, when its function is looked up, into what a warp executes without looking at
// the IR again.
//
// One instruction becomes one op (a barrier becomes two: arrive, then wait). An op holds the function that executes it,
// chosen for its types and spaces, and its operands as places ("slots") in the warp's register file. Every kind of
// source lives in that file, so that an executor never asks what an operand is:
//
//   file:  | true | predicates, 32 bits each | registers, 32 lanes each | constants | special registers | hidden |
//
// A register of 8 or 16 bits takes uint16_t[32], of 32 bits uint32_t[32], of 64 bits uint64_t[32]; a predicate one
// uint32_t, bit i for lane i. A warp starts with a copy of the program's image of the file, in which constants and
// variables' addresses stand; the special registers that do not change are then filled in for the warp.
#ifndef CJ_CPU_PROGRAM_H
#define CJ_CPU_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "hash.h"
#include "ir.h"
#include "memory.h"

enum { CJ_LANES = 32 };

typedef struct cj_cpu_warp  cj_cpu_warp;
typedef struct cj_cpu_op    cj_cpu_op;
typedef struct cj_cpu_touch cj_cpu_touch;  // execute/matrix/wgmma.c

// What a warp does after an op: go on below; go where the op has set the warp's pc and lanes; leave the lanes that the
// op has put in `waiting` at this op, to try again later, the others going on below; stop, for a hazard was reported.
typedef enum cj_cpu_step { CJ_STEP_NEXT, CJ_STEP_JUMP, CJ_STEP_WAIT, CJ_STEP_STOP } cj_cpu_step;

// Executes an op for the lanes in `mask`, which is not 0.
typedef cj_cpu_step (*cj_cpu_exec)(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);
// Checks a memory operand and turns it into host addresses, of the lanes in `mask`; false when a hazard was reported.
typedef bool (*cj_cpu_reach)(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES]);

// How a conversion reads and writes its registers, which may be wider than its types.
typedef struct cj_cpu_convert {
    uint16_t from, to;  // types (cj_word)
    uint8_t  from_bits, from_register, to_bits, to_register;
    bool     from_signed, to_signed, saturate, flush, relu, finite;
    uint16_t rounding;  // its word, or none
} cj_cpu_convert;

#define CJ_SLOT_TRUE 0u          // the predicate that always holds
#define CJ_SLOT_NONE UINT32_MAX  // an optional operand that was not written

// A memory operand [base + offset].
typedef struct cj_cpu_memory_operand {
    uint32_t base;  // slot
    bool     is_64;
    int64_t  offset;
} cj_cpu_memory_operand;

// A register that an op reads or writes.
typedef enum cj_cpu_role { CJ_ROLE_RESULT, CJ_ROLE_SOURCE, CJ_ROLE_ADDRESS } cj_cpu_role;

typedef struct cj_cpu_operand {
    uint32_t slot;
    uint16_t bits;  // 1 for a predicate
    uint16_t role;  // cj_cpu_role
} cj_cpu_operand;

// All of them but the guard: what an op is made of, whatever its executor does with its slots.
typedef struct cj_cpu_flow {
    uint32_t       count;
    uint32_t       slots;    // of the op
    bool           is_copy;  // of a register to another one, by an op that stands for a part of its instruction
    cj_cpu_operand operand[];
} cj_cpu_flow;

struct cj_cpu_op {
    cj_cpu_exec     run;
    uint32_t        guard, guard_flip;  // executes in lanes where predicate ^ flip is set
    const uint32_t *slot;    // operands but the memory operand in the order written, vectors taken apart, d|q as two
    uint32_t        flip;    // bit k: predicate operand k is negated
    uint32_t        target;  // of a branch: index of an op
    cj_cpu_reach    reach;   // the memory operand [base + offset]
    int64_t         offset;
    uint32_t        base;
    bool            base_is_64;
    uint8_t         bytes, count;  // of an element; elements
    uint16_t        mode;          // for the executor: a word of the mnemonic that decides, …
    bool            aligned;       // the lanes of a warp that live must execute it together
    uint32_t        line;
    cj_cpu_exec     inner;  // what a wrapping executor calls
    const cj_cpu_convert        *convert;
    const void                  *plan;    // what else an executor was prepared with
    const cj_cpu_touch          *touch;   // the accumulators of wgmma.mma_async that it names, else NULL
    const cj_ir_inst            *inst;    // for messages
    const cj_cpu_flow           *flow;    // NULL: no registers
    const cj_cpu_memory_operand *memory;  // every memory operand, in the order written; the last one stands above, too
};

// A special register that has the same value as long as a warp lives.
typedef struct cj_cpu_fixed {
    uint16_t special;    // cj_special
    uint8_t  component;  // 0 to 3
    uint8_t  bits;       // 1 for a predicate
    uint32_t slot;
} cj_cpu_fixed;

// A variable in shared, local or parameter space.
typedef struct cj_cpu_symbol {
    const cj_ir_var *var;
    uint64_t         offset, bytes;
    bool             in_frame;  // the offset counts from where a function's frame begins
} cj_cpu_symbol;

// A place in the file whose lanes belong to a call, not to the function: bytes of a lane, 0 for a predicate's bit.
typedef struct cj_cpu_kept {
    uint32_t slot, bytes;
} cj_cpu_kept;

// A register of `count` elements, whose places lie side by side; in memory they are packed, a predicate in a byte.
typedef struct cj_cpu_packed {
    cj_cpu_kept first;
    uint32_t    count;  // 0: no register
} cj_cpu_packed;

// A function's parameter or result: in its frame, and for as long as the function runs in a register, if it has one.
typedef struct cj_cpu_param {
    uint32_t      at, bytes;
    cj_cpu_packed in;
} cj_cpu_param;

// The address of something in a function's frame, as an operand: filled in by each call.
typedef struct cj_cpu_frame_address {
    uint32_t slot, bits;
    uint64_t offset;
} cj_cpu_frame_address;

// A function that the entry may call. Its local memory, parameters included, is a frame on the lane's stack. Its
// registers have a place of their own; a lane that enters it once more first keeps them on its stack (execute/control/call.c).
typedef struct cj_cpu_func {
    const cj_ir_func     *func;
    uint64_t              address;             // what a pointer to it holds
    uint32_t              start;               // op
    uint32_t              depth;               // slots: how many calls of it each lane is in;
    uint32_t              back, outer, frame;  // of the last, the op to return to, the stack's top before, the frame
    uint32_t              frame_bytes, frame_align;
    uint32_t             *place;  // of its registers, in the file
    cj_cpu_param         *param, *result;
    cj_cpu_kept          *kept;  // what a call of it changes in the file
    size_t                kept_count, kept_capacity;
    uint32_t              kept_bytes;  // on the stack
    cj_cpu_frame_address *frame_address;
    size_t                frame_address_count, frame_address_capacity;
} cj_cpu_func;

// What a brx.idx chooses from: ops.
typedef struct cj_cpu_targets {
    uint32_t count;
    uint32_t target[];
} cj_cpu_targets;

typedef struct cj_cpu_program {
    cj_arena          arena;
    const cj_ir_func *entry;
    cj_cpu_func     **func;  // callees before their callers: so that of several groups the one deepest down runs first
    size_t            func_count, func_capacity;
    cj_cpu_op        *op;
    size_t            op_count, op_capacity;
    unsigned char    *image;       // of a warp's register file when it starts
    uint32_t          file_bytes;  // a multiple of 64
    cj_cpu_fixed     *fixed;
    size_t            fixed_count, fixed_capacity;
    cj_cpu_symbol    *symbol;
    size_t            symbol_count, symbol_capacity;
    uint32_t          sink;                                    // slot, of 128 bits: where results go that nobody wants
    uint32_t          param_bytes, shared_bytes, local_bytes;  // local is per thread: the entry's, then the stack
    uint32_t          stack, stack_begin;      // slot: the top of each lane's stack; where that is at first
    bool              has_stack, stack_grows;  // some function or alloca uses it; to an extent that only a launch knows
    uint32_t          dynamic_offset;          // where dynamic shared memory starts
} cj_cpu_program;

// A module's .global and .const variable on the device.
typedef struct cj_cpu_variable {
    const cj_ir_var *var;
    cj_ptr           address;
} cj_cpu_variable;

void cj__cpu_program_free(cj_cpu_program *program);  // NULL is allowed

// Where a variable lies; NULL: in none of the program's spaces.
const cj_cpu_symbol *cj__cpu_symbol_of(const cj_cpu_program *program, const cj_ir_var *var);
// The last variable of a space that begins at or below an offset, or NULL.
const cj_cpu_symbol *cj__cpu_nearest(const cj_cpu_program *program, cj_space space, uint64_t offset);

#endif
