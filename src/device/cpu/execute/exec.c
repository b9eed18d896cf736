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

// Sets the mode of the host's vector unit, which computes all floats; on x86 fesetround sets the x87's, too, which takes
// most of its time.
static void set_rounding(int mode) {
#if defined(__x86_64__)
    enum { MXCSR_SHIFT = 3, MXCSR_FIELD = 3 << 13 };  // from the x87's two bits, which the FE_ constants are
    __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~(unsigned)MXCSR_FIELD) | (unsigned)mode << MXCSR_SHIFT);
#else
    fesetround(mode);
#endif
}

CJ_EXEC(rounded) {
    set_rounding(op->mode == CJ_W_RZ ? FE_TOWARDZERO : op->mode == CJ_W_RM ? FE_DOWNWARD : FE_UPWARD);
    const cj_cpu_step step = op->inner(w, op, mask);
    set_rounding(FE_TONEAREST);
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
