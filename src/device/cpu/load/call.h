// SPDX-License-Identifier: Apache-2.0
// Lowering calls.
#ifndef CJ_CPU_CALL_H
#define CJ_CPU_CALL_H

#include "prepare.h"

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
