// SPDX-License-Identifier: Apache-2.0
// What a selector sees while an instruction is lowered: its operands are in op.slot already; it sets op.run, and what
// this executor needs besides.
#ifndef CJ_CPU_PREPARE_H
#define CJ_CPU_PREPARE_H

#include "program.h"

enum { CJ_WIDENED_MAX = 8 };

typedef struct cj_cpu_prepare {
    cj_cpu_program        *program;
    const cj_cpu_variable *variables;
    size_t                 variable_count;
    const cj_ir_func      *func;  // being lowered: the entry, or
    cj_cpu_func           *callee;
    const cj_ir_inst      *inst;
    const cj_mnemonic     *mnemonic;
    cj_cpu_op              op;
    uint32_t              *slot;  // op.slot, as it is filled
    uint16_t *bits, *type;        // of slot k: its register's width, and the type (cj_word) that the row asks for
    uint32_t  slot_count;
    uint32_t  elements;  // of the vector operands, 0: they differ; a register alone is one
    cj_cpu_flow           *flow;    // op.flow, as it is filled
    cj_cpu_memory_operand *memory;  // op.memory, as it is filled
    uint32_t               memory_count;
    bool      any_width;  // set by a selector whose executor takes registers wider than their integer types
    cj_cpu_op widening[CJ_WIDENED_MAX];  // what gives the results of the instruction at hand to wider registers
    uint32_t  widened;
    uint32_t  line;
    uint32_t  file_bytes;
    uint32_t *place;  // of each register of the function, in the file
    struct cj_cpu_constant *constant;
    size_t                  constant_count, constant_capacity;
    cj_map                  constants;             // value and width -> constant
    uint32_t                sink_predicate;  // where predicates go that nobody wants
    uint32_t                carry;                 // CC.CF, a predicate
    cj_status               status;
    cj_error               *error;
} cj_cpu_prepare;

// Selects the executor of an instruction; false when the CPU device has none for this form.
typedef bool (*cj_cpu_selector)(cj_cpu_prepare *p);

#define CJ_ROW(executor, syntax, operands, ptx, target, effects, sample) \
    bool cj__cpu_select_##executor(cj_cpu_prepare *p);
#include "instructions.def"
#undef CJ_ROW

bool cj__cpu_has(const cj_cpu_prepare *p, cj_word word);

// Appends op as it stands; the caller may change p->op and append again, or leave the last one to be appended for it.
bool cj__cpu_append(cj_cpu_prepare *p);
// Lets the ops from `begin` on that name accumulators of a wgmma.mma_async report it while that is in flight (exec_wgmma.c).
bool cj__cpu_watch_accumulators(cj_cpu_prepare *p, size_t begin);
// Adds an operand that was not written; no type asks for no width.
void cj__cpu_add_slot(cj_cpu_prepare *p, uint32_t slot, uint16_t bits, uint16_t type);
// Tells of a register that the op at hand reads or writes, and that add_slot alone has named.
void cj__cpu_add_flow(cj_cpu_prepare *p, uint32_t slot, uint16_t bits, cj_cpu_role role);
// The flow of an op that copies one register to another.
const cj_cpu_flow *cj__cpu_copy_flow(cj_cpu_prepare *p, uint32_t to, uint32_t to_bits, uint32_t from,
                                     uint32_t from_bits);
// The slot of a register or a literal as a value of the type; *bits becomes its width.
uint32_t cj__cpu_slot_of(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type, uint16_t *bits);
// Whether the memory operand is a parameter of a function or of a call: these lie in local memory.
bool cj__cpu_is_stack(const cj_cpu_prepare *p);
// A place in the file: a new one, or a constant's. CJ_SLOT_NONE when out of memory.
uint32_t  cj__cpu_place(cj_cpu_prepare *p, unsigned bits);
uint32_t  cj__cpu_constant(cj_cpu_prepare *p, uint64_t value, unsigned bits);
uint32_t  cj__cpu_initial(cj_cpu_prepare *p, uint64_t value, unsigned bits);  // a new one that begins with the value
void     *cj__cpu_keep(cj_cpu_prepare *p, size_t bytes);  // zeroed, lives as long as the program
// Makes room for one more element of a growing array of the program.
bool      cj__cpu_grow(cj_cpu_prepare *p, void *array_at, size_t count, size_t *capacity, size_t element);
cj_status cj__cpu_refuse(cj_cpu_prepare *p, cj_status status, const char *format, ...) CJ_PRINTF(3, 4);

// ---- prepare_call.c

// Finds the functions that the entry may call, callees first, and makes their records.
bool cj__cpu_find_functions(cj_cpu_prepare *p);
// Places what a call of the function has: its hidden registers, and the parameters once it has registers and memory.
bool cj__cpu_place_parameters(cj_cpu_prepare *p, cj_cpu_func *func);
// Adds a place in the file to what a lane keeps when it enters the function that it is in.
bool cj__cpu_keep_place(cj_cpu_prepare *p, cj_cpu_func *func, uint32_t slot, unsigned bits);
// Where a register of so many bits, or a vector of such, is held; `slot` is its first element's.
cj_cpu_packed cj__cpu_packed(uint32_t slot, unsigned bits, unsigned vector);
uint32_t      cj__cpu_packed_bytes(cj_cpu_packed packed);  // in memory
// The slot with the address of what lies at an offset in the frame of the function that is being lowered.
uint32_t cj__cpu_frame_slot(cj_cpu_prepare *p, uint64_t offset, unsigned bits);
// The record of a function; NULL: nothing calls it, or it has no body.
cj_cpu_func *cj__cpu_func_of(const cj_cpu_program *program, const cj_ir_func *func);

#endif
