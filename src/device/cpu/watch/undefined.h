// SPDX-License-Identifier: Apache-2.0
// Undefined bits: what a kernel has loaded from memory that nothing has written. Exists only where hazards are watched.
//
// To load such memory is no fault: a tile is often loaded whole, and what nobody wrote of it is then ignored. It is a fault
// to let it decide something. So a second register file, beside each warp's, says of each bit whether it is undefined
// (1) or defined (0), and the same of local memory; in shared and global memory the shadow says it of each byte.
//
//   file of a warp:   | values | undefined bits, in the same places | origins: by the same places, which load it was |
//
// Most instructions that move bits (mov, shl, prmt, shfl, cvt of integers, ld, st, ldmatrix, …) move undefined bits just so:
// their own executor does it, called with its data operands in the second file and the others (an amount, a selector, a
// predicate) in the first. That call is the op's twin. What computes has a result that is undefined in all its bits if a
// source is in one of them; `and`, `or` and comparisons with .and or .or know that one defined operand may decide.
//
// A use is reported, once for each pair of lines, with the load that the bits come from: a predicate that decides a branch, or
// whether an instruction with an effect is executed; an address; a store to global memory, which the host may read; an operand
// of whatever else acts on memory, threads or matrices.
#ifndef CJ_CPU_UNDEFINED_H
#define CJ_CPU_UNDEFINED_H

#include "machine.h"
#include "watch.h"

enum {
    CJ_UNDEFINED_FILES = 3,
    CJ_UNDEFINED_LOCALS = 2
};  // how many times the register file and the local memory are there

typedef struct cj_undefined cj_undefined;

cj_undefined *cj__undefined_open(const cj_cpu_program *program);  // NULL when out of memory
void          cj__undefined_close(cj_undefined *undefined);       // NULL is allowed
void          cj__undefined_start(cj_cpu_block *block);           // everything is defined

// Before the op is executed for `mask`, by a warp that has undefined bits (w->undefined): moves them, and reports their uses.
// False: the launch ends.
bool cj__undefined_step(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);
// Looks whether the warp still has undefined bits.
void cj__undefined_settle(cj_cpu_warp *w);

// ---- accesses of an op's memory operand, in this order

// A lane reads bytes that nothing has written, from byte `at` of its access on. False: the op is no load, and this is a use.
bool cj__undefined_read(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, unsigned at, uint64_t bytes,
                        cj_watch_place place);
// A lane writes to the shadow's memory; `shadow` of global memory is told apart by `owner` NULL.
void cj__undefined_write(cj_cpu_warp *w, unsigned lane, cj_shadow *shadow, cj_cpu_block *owner, uint64_t offset);
// Lanes access local memory at these host addresses.
void cj__undefined_local(cj_cpu_warp *w, uint32_t mask, unsigned char *const at[CJ_LANES]);
// The lanes that the op reaches have been told: now it is moved.
void cj__undefined_moved(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// ---- calls (execute/control/call.c)

// Where the undefined bits of a lane's local memory lie.
unsigned char *cj__undefined_local_of(const cj_cpu_warp *w, unsigned lane);
// What is undefined of one register has come to another.
void cj__undefined_pass(const cj_cpu_warp *w, uint32_t to, uint32_t from);

#endif
