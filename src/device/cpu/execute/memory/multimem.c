// SPDX-License-Identifier: Apache-2.0
// Multicast memory (PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red"). The CPU device is a team of one device,
// in which every address of global memory is its own multicast address: a reduction over all members returns the value
// of this member, for every type of accumulation, and a store to all members is a store to this one.
#include "address.h"
#include "exec.h"

static bool only_global(cj_cpu_prepare *p, bool selected) {
    p->op.reach = cj__cpu_reach_in(CJ_W_GLOBAL);
    return selected;
}

bool cj__cpu_select_multimem_ld(cj_cpu_prepare *p) { return only_global(p, cj__cpu_select_ld(p)); }
bool cj__cpu_select_multimem_st(cj_cpu_prepare *p) { return only_global(p, cj__cpu_select_st(p)); }
bool cj__cpu_select_multimem_red(cj_cpu_prepare *p) { return only_global(p, cj__cpu_select_red(p)); }
bool cj__cpu_select_multimem_red_vector(cj_cpu_prepare *p) { return only_global(p, cj__cpu_select_red_vector(p)); }
