// SPDX-License-Identifier: Apache-2.0
// Lowering calls.
#ifndef CJ_CPU_CALL_H
#define CJ_CPU_CALL_H

#include "prepare.h"

// Finds the functions that the entry may call, callees first, and makes their records.
bool cj__cpu_find_functions(cj_cpu_prepare *p);
// Places what each call of the function needs: its hidden registers, and, once it has registers and memory, its
// parameters.
bool cj__cpu_place_parameters(cj_cpu_prepare *p, cj_cpu_func *func);
// Adds a place in the file that a lane saves when it enters a function that it is already in.
bool cj__cpu_keep_place(cj_cpu_prepare *p, cj_cpu_func *func, uint32_t slot, unsigned bits);
// The place of a register of so many bits, or of a vector of such registers; `slot` is its first element's.
cj_cpu_packed cj__cpu_packed(uint32_t slot, unsigned bits, unsigned vector);
uint32_t      cj__cpu_packed_bytes(cj_cpu_packed packed);  // in memory
// The slot that holds the address at an offset in the frame of the function that is being lowered.
uint32_t cj__cpu_frame_slot(cj_cpu_prepare *p, uint64_t offset, unsigned bits);
// The record of a function; NULL: nothing calls it, or it has no body.
cj_cpu_func *cj__cpu_func_of(const cj_cpu_program *program, const cj_ir_func *func);

#endif
