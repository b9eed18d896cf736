// SPDX-License-Identifier: Apache-2.0
// The selectors of the CPU device, one for each row of instructions.def.
#include "instructions.h"

#include "exec.h"
#include "wgmma.h"

static const cj_cpu_selector selectors[CJ_ROW_COUNT] = {
#define CJ_ROW(executor, syntax, operands, ptx, target, effects, sample) cj__cpu_select_##executor,
#include "instructions.def"
#undef CJ_ROW
};

const cj_cpu_instructions cj__cpu_instructions = {.select = selectors,
                                                  .jump = cj__cpu_select_bra,
                                                  .end = cj__cpu_select_ret,
                                                  .resize = cj__cpu_resize,
                                                  .finish = cj__cpu_watch_accumulators};
