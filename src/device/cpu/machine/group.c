// SPDX-License-Identifier: Apache-2.0
#include "group.h"

uint32_t cj__group_stop(const cj_cpu_warp *w) {
    uint32_t stop = UINT32_MAX;
    for (uint32_t i = 0; i < w->group_count; i++) {
        if (!w->group[i].waits && w->group[i].pc < stop) stop = w->group[i].pc;
    }
    return stop;
}

void cj__group_put(cj_cpu_warp *w, uint32_t pc, uint32_t mask, bool waits) {
    for (uint32_t i = 0; i < w->group_count; i++) {
        cj_cpu_group *group = &w->group[i];
        if (group->pc != pc || group->waits != waits) continue;
        group->mask |= mask;
        group->waits = false;
        return;
    }
    w->group[w->group_count++] = (cj_cpu_group){.pc = pc, .mask = mask, .turn = w->turn, .waits = waits};
}

void cj__group_split(cj_cpu_warp *w, uint32_t pc, uint32_t mask) {
    cj__group_put(w, pc, mask, false);
    w->active &= ~mask;
    if (pc < w->stop) w->stop = pc;
}

cj_cpu_group *cj__group_choose(cj_cpu_warp *w, bool oldest) {
    cj_cpu_group *chosen = NULL;
    for (uint32_t i = 0; i < w->group_count; i++) {
        cj_cpu_group *group = &w->group[i];
        if (group->waits) continue;
        if (!chosen || (oldest ? group->turn < chosen->turn : group->pc < chosen->pc)) chosen = group;
    }
    return chosen;
}

void cj__group_take(cj_cpu_warp *w, const cj_cpu_group *chosen, bool to_the_end) {
    w->pc = chosen->pc;
    w->active = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const cj_cpu_group group = w->group[i];
        if (group.pc == w->pc && !group.waits)
            w->active |= group.mask;
        else
            w->group[kept++] = group;
    }
    w->group_count = kept;
    w->stop = to_the_end ? UINT32_MAX : cj__group_stop(w);
}
