// SPDX-License-Identifier: Apache-2.0
// What the files that lower an entry share.
#ifndef CJ_CPU_LOWER_H
#define CJ_CPU_LOWER_H

#include "prepare.h"

enum { CJ_FILE_ALIGNMENT = 64, CJ_FILE_MAX = 64 << 20 };  // bytes of a warp's register file

// A place of the file that holds a value when a warp begins.
typedef struct cj_cpu_constant {
    uint64_t value;
    uint32_t bits, slot;
} cj_cpu_constant;

// Bytes of a lane of a register, which has so many bits; bits of a register for a type.
static inline uint32_t cj__load_lane_bytes(unsigned bits) { return bits <= 16 ? 2 : bits / 8; }

static inline uint32_t cj__load_register_bits(uint16_t type) {
    const uint32_t bits = cj__words[type].bits;
    return bits > 1 && bits < 16 ? 16 : bits;
}

// layout.c: places all variables that the entry and the functions it calls can name. Then, once all functions are
// lowered, sizes the stack: a frame of every function, which is enough if no function is entered twice.
bool cj__load_layout(cj_cpu_prepare *p);
bool cj__load_size_stack(cj_cpu_prepare *p);

// file.c: places all registers; and, once everything is lowered, makes the file with which a warp begins.
bool cj__load_registers(cj_cpu_prepare *p);
bool cj__load_image(cj_cpu_prepare *p);

// operand.c: gives each operand of the current instruction its slots in p->slot, p->flow and p->memory.
bool cj__load_operands(cj_cpu_prepare *p);

#endif
