// SPDX-License-Identifier: Apache-2.0
#include "late.h"

#include "random.h"
#include "transfer.h"

enum { PICK_AMONG = 16 };  // under a random schedule: the youngest so many that a wait needs

// What a pass over the warps of a cluster has found out.
typedef struct pass {
    cj_cpu_cluster    *cluster;
    const cj_cpu_need *hopeless;  // the last mbarrier whose phase the pending transfers cannot complete
    bool               stepped;
} pass;

static cj_cpu_async *async_of(const pass *p) { return p->cluster->async; }

static bool is_same_mbarrier(const cj_cpu_need *a, const cj_cpu_need *b) {
    return a->block == b->block && a->offset == b->offset;
}

static bool signals(const cj_cpu_transfer *t, const cj_cpu_need *need) {
    return t->mbarrier.block == need->block && t->mbarrier.address == need->offset;
}

// Whether the transfers that are pending complete the phase without an arrival of any thread.
static bool completes(const pass *p, const cj_cpu_need *need) {
    const cj_cpu_mbarrier *m = cj__cpu_mbarrier_find(need->block, need->offset);
    uint32_t               arrivals = 0;
    int64_t                bytes = 0;
    if (!m || m->phase != need->phase) return false;
    for (unsigned stage = CJ_STAGE_PENDING; stage < CJ_STAGE_DONE; stage++) {
        for (const cj_cpu_transfer *t = async_of(p)->stage[stage].first; t; t = cj__transfer_next(t)) {
            if (!signals(t, need)) continue;
            arrivals += t->signal == CJ_SIGNAL_COPY_ARRIVAL;
            bytes += t->bytes;
        }
    }
    return m->pending <= arrivals && m->bytes <= bytes;
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
    static const cj_cpu_stage stages[] = {CJ_STAGE_LATE, CJ_STAGE_BLOCKED};
    const cj_cpu_mbarrier    *m = cj__cpu_mbarrier_find(need->block, need->offset);
    cj_cpu_transfer          *found = NULL;
    uint64_t                  skip = skipped(p);
    if (!m || m->phase != need->phase) return NULL;
    for (unsigned i = 0; i < 2 && !found; i++) {
        for (cj_cpu_transfer *t = async_of(p)->stage[stages[i]].last; t; t = t->link[CJ_LIST_CLUSTER].before) {
            if (!signals(t, need)) continue;
            found = t;
            if (!skip--) break;
        }
    }
    return found && found->stage == CJ_STAGE_BLOCKED ? blocker_of(found) : found;
}

// Makes what one lane's wait needs; false when a hazard was reported.
static bool serve_lane(pass *p, const cj_cpu_groups *groups) {
    const cj_cpu_need *need = &groups->need;
    cj_cpu_transfer   *t;
    if (need->block && ((p->hopeless && is_same_mbarrier(need, p->hopeless)) || !completes(p, need))) {
        p->hopeless = need;
        return true;
    }
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
