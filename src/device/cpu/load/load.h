// SPDX-License-Identifier: Apache-2.0
// Loading: an entry becomes a program.
#ifndef CJ_CPU_LOAD_H
#define CJ_CPU_LOAD_H

#include "prepare.h"

// Lowers an entry. *program is owned by the caller. INVALID_KERNEL, UNSUPPORTED (with the line), OUT_OF_MEMORY.
cj_status cj__cpu_prepare(const cj_ir_func *entry, const cj_cpu_variable *variables, size_t variable_count,
                          const cj_cpu_instructions *instructions, cj_cpu_program **program, cj_error *error);

// The value of a pointer to a function of the module; no data can be read at this address.
uint64_t cj__cpu_function_address(const cj_ir_func *func);

#endif
