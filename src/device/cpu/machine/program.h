// SPDX-License-Identifier: Apache-2.0
// A program: an entry's IR lowered once, when its function is looked up, into ops that a warp executes without the IR.
//
// One instruction becomes one op (a barrier becomes two: arrive, then wait). An op holds its executor, a function for
// exactly these types and spaces, and the places ("slots") of its operands in the warp's register file. Literals, addresses
// and special registers have slots too, so an executor never asks what kind an operand is:
//
//   file:  | true | predicates, 32 bits each | registers, 32 lanes each | constants | special registers | hidden |
//
// A register of 8 or 16 bits takes uint16_t[32], of 32 bits uint32_t[32], of 64 bits uint64_t[32]; a predicate one
// uint32_t, bit i for lane i. A warp starts with a copy of the program's image of the file. The image holds constants and
// the addresses of variables; special.c then adds the special registers that do not change while the warp lives.
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

// What a warp does after an op. NEXT: continues with the next op. JUMP: the op has set the warp's pc and lanes. WAIT:
// the lanes in w->waiting try this op again later, the others continue with the next op. STOP: a hazard was reported,
// the cluster ends.
typedef enum cj_cpu_step { CJ_STEP_NEXT, CJ_STEP_JUMP, CJ_STEP_WAIT, CJ_STEP_STOP } cj_cpu_step;

// Executes an op for the lanes in `mask`, which is not 0.
typedef cj_cpu_step (*cj_cpu_exec)(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);
// Checks the op's memory operand for the lanes in `mask` and writes their host addresses to `at`; false: a hazard was reported.
typedef bool (*cj_cpu_reach)(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES]);

// The types of a conversion, and its registers, which may be wider than the types.
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

// All registers of an op but its guard.
typedef struct cj_cpu_flow {
    uint32_t       count;
    uint32_t       slots;    // of the op
    bool           is_copy;  // the op copies a register for its instruction, which has further ops
    cj_cpu_operand operand[];
} cj_cpu_flow;

struct cj_cpu_op {
    cj_cpu_exec run;
    uint32_t    guard, guard_flip;  // executes in the lanes in which predicate ^ flip is 1
    const uint32_t *
        slot;  // of each operand but the memory operand, in the order written; of each element of a vector; d|q has two
    uint32_t              flip;    // bit k: predicate operand k is negated
    uint32_t              target;  // of a branch: index of an op
    cj_cpu_reach          reach;   // the memory operand [base + offset]
    int64_t               offset;
    uint32_t              base;
    bool                  base_is_64;
    uint8_t               bytes, count;  // of an element; elements
    uint16_t              mode;          // a parameter of the executor: mostly a word of the mnemonic
    bool                  aligned;       // all living lanes of the warp must execute it together
    uint32_t              line;
    cj_cpu_exec           inner;  // the executor that a wrapping executor calls
    cj_cpu_exec           twin;   // of the undefined bits of operands, where there is one (watch/undefined.h)
    const cj_cpu_convert *convert;
    const void           *plan;   // further data of the executor
    const cj_cpu_touch   *touch;  // the accumulators of a wgmma.mma_async that the op names, else NULL
    const cj_ir_inst     *inst;   // for messages
    const cj_cpu_flow    *flow;   // NULL: no registers
    const cj_cpu_memory_operand
        *memory;  // every memory operand, in the order written; the last one is also in `base` and `offset`
};

// A special register whose value stays the same while a warp lives, and its slot.
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
    bool             in_frame;  // the offset counts from the start of a function's frame
} cj_cpu_symbol;

// A slot that each call of a function needs for itself. `bytes` are those of one lane; 0: a predicate's bit.
typedef struct cj_cpu_kept {
    uint32_t slot, bytes;
} cj_cpu_kept;

// A register of `count` elements, with slots side by side. In memory the elements are packed; a predicate takes a byte.
typedef struct cj_cpu_packed {
    cj_cpu_kept first;
    uint32_t    count;  // 0: no register
} cj_cpu_packed;

// A function's parameter or result: its place in the frame, and its register, if it is declared with .reg.
typedef struct cj_cpu_param {
    uint32_t      at, bytes;
    cj_cpu_packed in;
} cj_cpu_param;

// A slot for the address of something in a function's frame. Each call writes it.
typedef struct cj_cpu_frame_address {
    uint32_t slot, bits;
    uint64_t offset;
} cj_cpu_frame_address;

// A function that the entry may call. Its local memory, parameters included, is a frame on the lane's stack. Its
// registers have one place in the file. A lane that enters the function again, from itself, first saves them on its
// stack (execute/control/call.c).
typedef struct cj_cpu_func {
    const cj_ir_func *func;
    uint64_t          address;             // the value of a pointer to it
    uint32_t          start;               // op
    uint32_t          depth;               // slots: how many calls of it each lane is in
    uint32_t          back, outer, frame;  // of the last call: the op to return to, the stack's top before, the frame
    uint32_t          frame_bytes, frame_align;
    uint32_t         *place;  // of its registers, in the file
    cj_cpu_param     *param, *result;
    cj_cpu_kept      *kept;  // the slots in the file that a call of it changes
    size_t            kept_count, kept_capacity;
    uint32_t          kept_bytes;  // on the stack
    cj_cpu_frame_address *frame_address;
    size_t                frame_address_count, frame_address_capacity;
} cj_cpu_func;

// The targets of a brx.idx: ops.
typedef struct cj_cpu_targets {
    uint32_t count;
    uint32_t target[];
} cj_cpu_targets;

typedef struct cj_cpu_program {
    cj_arena          arena;
    const cj_ir_func *entry;
    cj_cpu_func       *
        *func;  // callees before callers: the group in the innermost function has the smallest pc, and runs first
    size_t     func_count, func_capacity;
    cj_cpu_op *op;
    size_t     op_count, op_capacity;
    unsigned char *image;       // of a warp's register file when it starts
    uint32_t       file_bytes;  // a multiple of 64
    cj_cpu_fixed  *fixed;
    size_t         fixed_count, fixed_capacity;
    cj_cpu_symbol *symbol;
    size_t         symbol_count, symbol_capacity;
    uint32_t       sink;                                    // slot of 128 bits that takes the results written to `_`
    uint32_t       param_bytes, shared_bytes, local_bytes;  // local is per thread: the entry's, then the stack
    uint32_t       stack, stack_begin;                      // slot: the top of each lane's stack; the top's first value
    bool           has_stack, stack_grows;  // some function or alloca uses the stack; its depth is not known
    uint32_t       dynamic_offset;          // where dynamic shared memory starts
    bool           prints, allocates;       // calls vprintf; calls malloc or free
} cj_cpu_program;

// A module's .global and .const variable on the device.
typedef struct cj_cpu_variable {
    const cj_ir_var *var;
    cj_ptr           address;
} cj_cpu_variable;

void cj__cpu_program_free(cj_cpu_program *program);  // NULL is allowed

// The place of a variable; NULL if it is in none of the program's spaces.
const cj_cpu_symbol *cj__cpu_symbol_of(const cj_cpu_program *program, const cj_ir_var *var);
// The last variable of a space that begins at or below an offset, or NULL.
const cj_cpu_symbol *cj__cpu_nearest(const cj_cpu_program *program, cj_space space, uint64_t offset);

#endif
