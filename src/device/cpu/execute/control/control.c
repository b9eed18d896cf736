// SPDX-License-Identifier: Apache-2.0
// Control flow (PTX ISA, "Control Flow Instructions"). The guard has been applied: `mask` are the lanes that execute.
#include "barrier.h"
#include "exec.h"
#include "group.h"
#include "wgmma.h"

// Lanes that branch and lanes that do not: the group with the smaller pc runs first (machine.h).
CJ_EXEC(bra) {
    const uint32_t below = w->pc + 1, stay = w->active & ~mask;
    if (!stay) {
        w->pc = op->target;
    } else if (op->target < below) {
        cj__group_split(w, below, stay);
        w->pc = op->target;
    } else {
        cj__group_split(w, op->target, mask);
        w->pc = below;
    }
    return CJ_STEP_JUMP;
}

// Here, too, the group with the smallest pc runs first.
cj_cpu_step cj__cpu_disperse(cj_cpu_warp *w, uint32_t mask, const uint32_t to[CJ_LANES]) {
    const uint32_t stay = w->active & ~mask;
    uint32_t       first = stay ? w->pc + 1 : UINT32_MAX;
    CJ_SOME_LANES(i, mask) first = to[i] < first ? to[i] : first;

    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        const uint32_t pc = to[cj__cpu_first(rest)];
        same = 0;
        CJ_SOME_LANES(i, rest) same |= (uint32_t)(to[i] == pc) << i;
        if (pc != first) cj__group_split(w, pc, same);
    }
    if (stay && w->pc + 1 != first) cj__group_split(w, w->pc + 1, stay);
    w->pc = first;
    return CJ_STEP_JUMP;
}

// brx.idx: lower.c fills in the table once all labels have their ops.
CJ_EXEC(brx) {
    const cj_cpu_targets *table = op->plan;
    const lane_u32       *index = CJ_LANES_OF(const lane_u32, 0);
    uint32_t              to[CJ_LANES];
    CJ_SOME_LANES(i, mask) {
        if (index[i] >= table->count) {
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_TRAP, "index %u of a table of %u targets", index[i],
                                  table->count);
        }
        to[i] = table->target[index[i]];
    }
    return cj__cpu_disperse(w, mask, to);
}

bool cj__cpu_select_brx(cj_cpu_prepare *p) {
    const cj_ir_operand *label = &p->inst->operand[1];
    p->op.run = brx;
    return label->kind == CJ_OPERAND_LABEL && label->label->targets;
}

// nanosleep may end at once; pmevent has no observer; a grid has no dependents and depends on none (PDL); a warp always
// has enough registers for setmaxnreg.
bool cj__cpu_select_idle(cj_cpu_prepare *p) {
    p->op.run = cj__cpu_nothing;
    return true;
}

CJ_EXEC(leave) {
    (void)op;
    w->live &= ~mask;
    w->active &= ~mask;
    w->pc++;
    cj__cpu_barriers_leave(w, mask);
    if (!w->live) cj__cpu_wgmma_drop(w);
    return CJ_STEP_JUMP;
}

// Without a debugger a breakpoint is a trap. The comment after it, if there is one, says why.
CJ_EXEC(trap) {
    const char *why = op->plan;
    return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_TRAP, "the kernel gives up%s%s", why ? ": " : "", why ? why : "");
}

bool cj__cpu_select_bra(cj_cpu_prepare *p) {
    p->op.run = bra;
    return true;
}

bool cj__cpu_select_exit(cj_cpu_prepare *p) {
    p->op.run = leave;
    return true;
}

bool cj__cpu_select_trap(cj_cpu_prepare *p) {
    p->op.run = trap;
    p->op.plan = p->comment;
    return true;
}

// Instructions without an executor: the CPU device, an sm_90, does not have them, or does not run them on any target.
bool cj__cpu_select_none(cj_cpu_prepare *p) {
    enum { TARGET = 90 };
    if (p->inst->row->target > TARGET)
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s takes sm_%u or later; the CPU device is an sm_%d", p->mnemonic->text,
                       p->inst->row->target, TARGET);
    else
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not run %s", p->mnemonic->text);
    return false;
}
