// SPDX-License-Identifier: Apache-2.0
// Control flow (PTX ISA, "Control Flow Instructions"). The guard has been applied: `mask` are the lanes that go.
#include "exec.h"

// Of the two ways the one that comes first in the program is run first: machine.h tells why.
CJ_EXEC(bra) {
    const uint32_t below = w->pc + 1, stay = w->active & ~mask;
    if (!stay) {
        w->pc = op->target;
    } else if (op->target < below) {
        cj__cpu_split(w, below, stay);
        w->pc = op->target;
    } else {
        cj__cpu_split(w, op->target, mask);
        w->pc = below;
    }
    return CJ_STEP_JUMP;
}

CJ_EXEC(leave) {
    (void)op;
    w->live &= ~mask;
    w->active &= ~mask;
    w->pc++;
    cj__cpu_barriers_leave(w, mask);
    return CJ_STEP_JUMP;
}

CJ_EXEC(trap) { return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_TRAP, "the kernel gives up"); }

bool cj__cpu_select_bra(cj_cpu_prepare *p) {
    p->op.run = bra;
    return true;
}

bool cj__cpu_select_exit(cj_cpu_prepare *p) {
    p->op.run = leave;
    return true;
}

// The device runs entries only: their return is the threads' end.
bool cj__cpu_select_ret(cj_cpu_prepare *p) { return cj__cpu_select_exit(p); }

bool cj__cpu_select_trap(cj_cpu_prepare *p) {
    p->op.run = trap;
    return true;
}

// Rows that the device knows and does not execute: the caller names the instruction.
bool cj__cpu_select_none(cj_cpu_prepare *p) {
    (void)p;
    return false;
}
