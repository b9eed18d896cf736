// SPDX-License-Identifier: Apache-2.0
// The groups of a warp: lanes that are at the same instruction. machine.h says how a warp's lanes diverge and
// reconverge.
#ifndef CJ_CPU_GROUP_H
#define CJ_CPU_GROUP_H

#include "machine.h"

// The smallest pc of the groups that are ready; UINT32_MAX: none is.
uint32_t cj__group_stop(const cj_cpu_warp *w);
// Moves lanes to pc. Lanes that wait there already try again together with these.
void cj__group_put(cj_cpu_warp *w, uint32_t pc, uint32_t mask, bool waits);
// Splits lanes off the running group; they continue at pc.
void cj__group_split(cj_cpu_warp *w, uint32_t pc, uint32_t mask);
// The group to run next, or NULL: the one with the smallest pc, or the one that has not run for longest.
cj_cpu_group *cj__group_choose(cj_cpu_warp *w, bool oldest);
// Makes the chosen group, and all that are ready at its pc, the running one.
void cj__group_take(cj_cpu_warp *w, const cj_cpu_group *chosen, bool to_the_end);

#endif
