// SPDX-License-Identifier: Apache-2.0
#include "exec.h"

#include <fenv.h>

cj_cpu_step cj__cpu_nothing(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    (void)w, (void)op, (void)mask;
    return CJ_STEP_NEXT;
}

bool cj__cpu_choose(cj_cpu_prepare *p, const cj_cpu_typed *typed, uint16_t type) {
    switch (type) {
    case CJ_W_B16:
    case CJ_W_U16: p->op.run = typed->u16; break;
    case CJ_W_B32:
    case CJ_W_U32: p->op.run = typed->u32; break;
    case CJ_W_B64:
    case CJ_W_U64: p->op.run = typed->u64; break;
    case CJ_W_S16: p->op.run = typed->s16; break;
    case CJ_W_S32: p->op.run = typed->s32; break;
    case CJ_W_S64: p->op.run = typed->s64; break;
    case CJ_W_F32: p->op.run = typed->f32; break;
    case CJ_W_F64: p->op.run = typed->f64; break;
    default: p->op.run = NULL;
    }
    return p->op.run != NULL;
}

// ---- directed rounding: the same executors in another mode of the host

CJ_EXEC(rounded) {
    fesetround(op->mode == CJ_W_RZ ? FE_TOWARDZERO : op->mode == CJ_W_RM ? FE_DOWNWARD : FE_UPWARD);
    const cj_cpu_step step = op->inner(w, op, mask);
    fesetround(FE_TONEAREST);
    return step;
}

void cj__cpu_round(cj_cpu_prepare *p) {
    static const cj_word directed[] = {CJ_W_RZ, CJ_W_RM, CJ_W_RP};
    for (unsigned i = 0; i < sizeof directed / sizeof *directed; i++) {
        if (!cj__cpu_has(p, directed[i])) continue;
        p->op.mode = (uint16_t)directed[i];
        p->op.inner = p->op.run;
        p->op.run = rounded;
    }
}
