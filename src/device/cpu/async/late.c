// SPDX-License-Identifier: Apache-2.0
#include "late.h"

#include "random.h"
#include "transfer.h"

enum { PICK_AMONG = 16 };  // under a random schedule: the youngest so many that a wait needs

// What a pass over the warps of a cluster has found out.
typedef struct pass {
    cj_cpu_cluster *cluster;
    bool            stepped;
} pass;

static cj_cpu_async *async_of(const pass *p) { return p->cluster->async; }

// The mbarrier whose phase a lane waits for, if that phase still runs.
static const cj_cpu_mbarrier *awaited(const cj_cpu_need *need) {
    const cj_cpu_mbarrier *m = cj__cpu_mbarrier_find(need->block, need->offset);
    return m && m->phase == need->phase ? m : NULL;
}

// Whether the transfers in flight complete the phase without an arrival of any thread.
static bool completes(const cj_cpu_need *need) {
    const cj_cpu_mbarrier *m = awaited(need);
    return m && m->pending <= m->flight.arrivals && m->bytes <= m->flight.bytes;
}

// How many of the transfers that a wait needs are passed over.
static uint64_t skipped(const pass *p) {
    return cj__async_is_random(p->cluster) ? cj__cpu_draw(p->cluster, PICK_AMONG) : 0;
}

static cj_cpu_transfer *next_of_groups(const pass *p, const cj_cpu_groups *groups) {
    const cj_cpu_need *need = &groups->need;
    cj_cpu_transfer   *first = cj__transfer_first(groups, need->signal, need->read_only), *found = NULL;
    cj_cpu_transfer   *t = first ? groups->own[need->signal].last : NULL;
    for (uint64_t skip = skipped(p); t; t = t == first ? NULL : t->link[CJ_LIST_THREAD].before) {
        if (!cj__transfer_is_awaited(t, need->signal, need->last, need->read_only)) continue;
        found = t;
        if (!skip--) break;
    }
    return found;
}

// The youngest copy that an arrival waits for, which its thread began before it.
static cj_cpu_transfer *blocker_of(cj_cpu_transfer *t) {
    do t = t->link[CJ_LIST_THREAD].before;
    while (t && (t->signal != CJ_SIGNAL_COPY_GROUP || t->stage == CJ_STAGE_DONE));
    return t;
}

static cj_cpu_transfer *next_of_mbarrier(const pass *p, const cj_cpu_need *need) {
    const cj_cpu_mbarrier *m = awaited(need);
    const bool             is_late = m && m->flight.late.last;
    cj_cpu_transfer       *t = !m ? NULL : is_late ? m->flight.late.last : m->flight.blocked.last;
    uint64_t               skip = skipped(p);
    while (t && skip-- && t->link[CJ_LIST_WAIT].before) t = t->link[CJ_LIST_WAIT].before;
    return is_late ? t : t ? blocker_of(t) : NULL;
}

// Makes what one lane's wait needs; false when a hazard was reported.
static bool serve_lane(pass *p, const cj_cpu_groups *groups) {
    const cj_cpu_need *need = &groups->need;
    cj_cpu_transfer   *t;
    if (need->block && !completes(need)) return true;
    while ((t = need->block ? next_of_mbarrier(p, need) : next_of_groups(p, groups)) != NULL) {
        if (!cj__transfer_step(async_of(p), t)) return false;
        p->stepped = true;
    }
    return true;
}

static bool serve_group(pass *p, cj_cpu_warp *w, const cj_cpu_group *group) {
    const cj_cpu_op *op = &p->cluster->launch->program->op[group->pc];
    for (unsigned i = 0; group->waits && i < CJ_LANES; i++) {
        const cj_cpu_groups *groups = &async_of(p)->groups[cj__async_warp(w) * CJ_LANES + i];
        if (!(group->mask >> i & 1) || groups->need.op != op) continue;
        if (!serve_lane(p, groups)) return false;
    }
    return true;
}

bool cj__late_serve(cj_cpu_cluster *cluster, bool *stepped) {
    const cj_cpu_launch *launch = cluster->launch;
    const uint32_t       count = launch->ranks * launch->warps;
    const uint32_t       first = cj__async_is_random(cluster) ? (uint32_t)cj__cpu_draw(cluster, count) : count - 1;
    pass                 p = {.cluster = cluster};
    if (!cluster->async->stage[CJ_STAGE_LATE].first && !cluster->async->stage[CJ_STAGE_BLOCKED].first) return true;
    for (uint32_t i = 0; i < count && !p.stepped; i++) {
        const uint32_t at = (first + count - i) % count;
        cj_cpu_warp   *w = &cluster->block[at / launch->warps].warp[at % launch->warps];
        for (uint32_t k = 0; k < w->group_count && !p.stepped; k++) {
            if (!serve_group(&p, w, &w->group[k])) return false;
        }
    }
    *stepped |= p.stepped;
    return true;
}

bool cj__late_push(cj_cpu_cluster *cluster, bool *stepped) {
    cj_cpu_transfer *t = cluster->async->stage[CJ_STAGE_LATE].last;
    if (!t) return true;
    *stepped = true;
    return cj__transfer_step(cluster->async, t);
}
