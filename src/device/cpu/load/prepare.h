// SPDX-License-Identifier: Apache-2.0
// What a selector sees while an instruction is lowered: its operands are in op.slot already. The selector sets op.run,
// and whatever else this executor needs.
#ifndef CJ_CPU_PREPARE_H
#define CJ_CPU_PREPARE_H

#include "program.h"

enum { CJ_WIDENED_MAX = 8 };

typedef struct cj_cpu_instructions cj_cpu_instructions;

typedef struct cj_cpu_prepare {
    const cj_cpu_instructions *instructions;
    cj_cpu_program            *program;
    const cj_cpu_variable     *variables;
    size_t                     variable_count;
    const cj_ir_func          *func;  // being lowered: the entry, or
    cj_cpu_func               *callee;
    const cj_ir_inst          *inst;
    const char                *comment;  // after it on its line, or NULL
    const cj_mnemonic         *mnemonic;
    cj_cpu_op                  op;
    uint32_t                  *slot;     // op.slot, while it is filled
    uint16_t              *bits, *type;  // of slot k: its register's width, and the type (cj_word) that the row names
    uint32_t               slot_count;
    uint32_t               elements;  // of the vector operands, 0: they differ; a single register has one
    cj_cpu_flow           *flow;      // op.flow, while it is filled
    cj_cpu_memory_operand *memory;    // op.memory, while it is filled
    uint32_t               memory_count;
    bool      any_width;  // set by a selector whose executor takes registers wider than their integer types
    cj_cpu_op widening[CJ_WIDENED_MAX];  // ops that widen the results of the current instruction
    uint32_t  widened;
    uint32_t  line;
    uint32_t  file_bytes;
    uint32_t *place;  // of each register of the function, in the file
    struct cj_cpu_constant *constant;
    size_t                  constant_count, constant_capacity;
    cj_map                  constants;       // value and width -> constant
    uint32_t                sink_predicate;  // takes predicates that the kernel does not use
    uint32_t                carry;           // CC.CF, a predicate
    cj_status               status;
    cj_error               *error;
} cj_cpu_prepare;

// Selects the executor of an instruction; false when the CPU device has none for this form.
typedef bool (*cj_cpu_selector)(cj_cpu_prepare *p);

// The instructions of a device. The lowering names no instruction: it uses this table.
struct cj_cpu_instructions {
    const cj_cpu_selector *select;  // of each row of instructions.def
    cj_cpu_selector        jump;    // a branch to an op; lower.c sets the target
    cj_cpu_selector        end;     // the end of a body: return from a function, exit of an entry
    cj_cpu_exec            resize;  // copies the low bits of slot 1, op->bytes wide, to slot 0 of op->mode bits
    // Called for the ops of a body, from `begin` on, once all of them have their targets.
    bool (*finish)(cj_cpu_prepare *p, size_t begin);
};

bool cj__cpu_has(const cj_cpu_prepare *p, cj_word word);

// Appends p->op; the caller may change it and append again, or leave the last one for the lowering to append.
bool cj__cpu_append(cj_cpu_prepare *p);
// Adds an operand that was not written in the instruction; no type: any width.
void cj__cpu_add_slot(cj_cpu_prepare *p, uint32_t slot, uint16_t bits, uint16_t type);
// Records a register that the current op reads or writes, and that only add_slot has named.
void cj__cpu_add_flow(cj_cpu_prepare *p, uint32_t slot, uint16_t bits, cj_cpu_role role);
// The flow of an op that copies one register to another.
const cj_cpu_flow *cj__cpu_copy_flow(cj_cpu_prepare *p, uint32_t to, uint32_t to_bits, uint32_t from,
                                     uint32_t from_bits);
// The slot of a register or a literal as a value of the type; *bits becomes its width.
uint32_t cj__cpu_slot_of(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type, uint16_t *bits);
// Whether the memory operand is a parameter of a function or of a call: these are in local memory.
bool cj__cpu_is_stack(const cj_cpu_prepare *p);
// A place in the file: a new one, or a constant's. CJ_SLOT_NONE when out of memory.
uint32_t cj__cpu_place(cj_cpu_prepare *p, unsigned bits);
uint32_t cj__cpu_constant(cj_cpu_prepare *p, uint64_t value, unsigned bits);
uint32_t cj__cpu_initial(cj_cpu_prepare *p, uint64_t value, unsigned bits);  // a new one that begins with the value
void    *cj__cpu_keep(cj_cpu_prepare *p, size_t bytes);                      // zeroed, lives as long as the program
// Makes room for one more element of a growing array of the program.
bool      cj__cpu_grow(cj_cpu_prepare *p, void *array_at, size_t count, size_t *capacity, size_t element);
cj_status cj__cpu_refuse(cj_cpu_prepare *p, cj_status status, const char *format, ...) CJ_PRINTF(3, 4);

#endif
