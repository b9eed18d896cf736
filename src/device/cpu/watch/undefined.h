// SPDX-License-Identifier: Apache-2.0
// Undefined bits: what a kernel has loaded from memory that was never written. Exists only in watched launches.
//
// A load of such memory is no hazard; its use in a branch, an address, a store to global memory or any other
// instruction with an effect is. A second file beside each warp's register file says of each bit whether it is
// undefined (1) or defined (0). Local memory has the same, bit by bit; for shared and global memory the shadow has it,
// byte by byte.
//
// file of a warp:   | values | undefined bits, at the same offsets | origins: at the same offsets, which load it was |
//
// Instructions that only move bits have a twin: the same executor, called with the data operands in the second file and
// the others (an amount, a selector, a predicate) in the first. docs/maintaining/cpu_device.md describes the other
// instructions.
#ifndef CJ_CPU_UNDEFINED_H
#define CJ_CPU_UNDEFINED_H

#include "machine.h"
#include "watch.h"

enum {
    CJ_UNDEFINED_FILES = 3,
    CJ_UNDEFINED_LOCALS = 2
};  // how many register files a watched warp has, and how many local memories

typedef struct cj_undefined cj_undefined;

cj_undefined *cj__undefined_open(const cj_cpu_program *program);  // NULL when out of memory
void          cj__undefined_close(cj_undefined *undefined);       // NULL is allowed
void          cj__undefined_start(cj_cpu_block *block);           // registers are defined, local memory is not

// Moves the undefined bits of an op that a warp with such bits (w->undefined) is about to execute for `mask`, and
// reports uses of them. False: the launch ends.
bool cj__undefined_step(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);
// Computes w->undefined again: whether the warp still has undefined bits.
void cj__undefined_settle(cj_cpu_warp *w);

// Lanes of a shuffle have taken the values of lanes that do not take part.
void cj__undefined_absent(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes);

// ---- accesses of an op's memory operand, in this order

// A lane reads bytes that were never written, from byte `at` of its access. False: the op is no load, and this is a
// use.
bool cj__undefined_read(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, unsigned at, uint64_t bytes,
                        cj_watch_place place);
// A lane of a warp with undefined bits writes to the memory of this shadow; `owner` NULL: to global memory.
void cj__undefined_write(cj_cpu_warp *w, unsigned lane, cj_shadow *shadow, cj_cpu_block *owner, uint64_t offset);
// Lanes access local memory at these host addresses.
void cj__undefined_local(cj_cpu_warp *w, uint32_t mask, unsigned char *const at[CJ_LANES]);
// The calls above have named all lanes of the access: moves the undefined bits of the load or store.
void cj__undefined_moved(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// ---- calls (execute/control/call.c)

// The undefined bits of a lane's local memory.
unsigned char *cj__undefined_local_of(const cj_cpu_warp *w, unsigned lane);
// An op that calls what the host executes uses undefined bits of this lane: reports it.
void cj__undefined_used(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane);
// A call has copied the undefined bits of one register to another: copies their origin.
void cj__undefined_pass(const cj_cpu_warp *w, uint32_t to, uint32_t from);

#endif
