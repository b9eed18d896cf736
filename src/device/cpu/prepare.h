// SPDX-License-Identifier: Apache-2.0
// What a selector sees while an instruction is lowered: its operands are in op.slot already; it sets op.run, and what
// this executor needs besides.
#ifndef CJ_CPU_PREPARE_H
#define CJ_CPU_PREPARE_H

#include "program.h"

typedef struct cj_cpu_prepare {
    cj_cpu_program        *program;
    const cj_cpu_variable *variables;
    size_t                 variable_count;
    const cj_ir_inst      *inst;
    const cj_mnemonic     *mnemonic;
    cj_cpu_op              op;
    uint32_t              *slot;  // op.slot, as it is filled
    uint16_t *bits, *type;        // of slot k: its register's width, and the type (cj_word) that the row asks for
    uint32_t  slot_count;
    cj_cpu_memory_operand memory[CJ_OPERANDS_MAX];  // every memory operand; the last one's is in op too
    uint32_t              memory_count;
    bool      any_width;  // set by a selector whose executor takes registers wider than their integer types
    uint32_t  line;
    uint32_t  file_bytes;
    uint32_t *place;  // of each register of the entry, in the file
    struct cj_cpu_constant *constant;
    size_t                  constant_count, constant_capacity;
    cj_map                  constants;             // value and width -> constant
    uint32_t                sink, sink_predicate;  // where results go that nobody wants
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
// A place in the file: a new one, or a constant's. CJ_SLOT_NONE when out of memory.
uint32_t  cj__cpu_place(cj_cpu_prepare *p, unsigned bits);
uint32_t  cj__cpu_constant(cj_cpu_prepare *p, uint64_t value, unsigned bits);
void     *cj__cpu_keep(cj_cpu_prepare *p, size_t bytes);  // zeroed, lives as long as the program
cj_status cj__cpu_refuse(cj_cpu_prepare *p, cj_status status, const char *format, ...) CJ_PRINTF(3, 4);

#endif
