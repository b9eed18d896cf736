// SPDX-License-Identifier: Apache-2.0
// Holds IR against the instruction table and the rules (rules.def).
#ifndef CJ_PTXGEN_CHECK_H
#define CJ_PTXGEN_CHECK_H

#include "ir.h"
#include "report.h"

// A target by name ("sm_90a"): its number, suffix and least .version; false when unknown.
typedef struct cj_target_info {
    const char *text;
    uint16_t    number;
    char        suffix;
    uint16_t    ptx;
} cj_target_info;

const cj_target_info *cj__target_find(const char *text);

// The least .version that everything in the module needs, its target included.
uint16_t cj__least_version(const cj_ir_module *module);

// Adds every finding about forms, operands and directives: what an instruction may be, wherever it stands.
void cj__check_forms(const cj_ir_module *module, cj_report *report);

// Adds every finding about paths: registers, addresses, barriers and clusters. For writers of kernels; a module is
// loaded without, so that the CPU device can show such a mistake happen.
void cj__check_paths(const cj_ir_module *module, cj_report *report);

// The parts of both: what is about the module as a whole, and what is about one function. The arena is for what is needed on
// the way and is reset; a function without a body has no paths.
void cj__check_head(const cj_ir_module *module, cj_report *report);
void cj__check_func_forms(const cj_ir_module *module, const cj_ir_func *func, cj_report *report);
void cj__check_func_paths(const cj_ir_func *func, cj_arena *arena, cj_report *report);

// The first broken rule of cj__check_forms as an error (INVALID_KERNEL with rule, line, column), or OK.
cj_status cj__check(const cj_ir_module *module, cj_error *error);

// Whether an atom or red is not atomic on a peer's shared memory (check_address.c): the hardware's ATOM does not do it
// there, and ptxas 13.0 goes on as if the address were one of local memory. Seen on an H200.
bool cj__atom_is_split(const cj_mnemonic *mnemonic);

// Coordinates of textures and surfaces, parts of registers in video instructions (check_media.c).
void cj__check_media(const cj_ir_stmt *stmt, cj_report *report);

// Operand types, widths and vector lengths of one instruction (check_types.c).
void cj__check_types(const cj_ir_stmt *stmt, cj_report *report);

#endif
