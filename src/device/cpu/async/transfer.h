// SPDX-License-Identifier: Apache-2.0
// The calls of transfer.c (a single transfer) that the schedule in async.c uses.
#ifndef CJ_CPU_TRANSFER_H
#define CJ_CPU_TRANSFER_H

#include "async.h"

static inline cj_cpu_transfer *cj__transfer_next(const cj_cpu_transfer *t) { return t->link[CJ_LIST_CLUSTER].after; }
static inline cj_cpu_transfer *cj__transfer_next_own(const cj_cpu_transfer *t) { return t->link[CJ_LIST_THREAD].after; }

static inline size_t cj__async_warp(const cj_cpu_warp *w) {
    return w->block->rank * w->block->cluster->launch->warps + w->index;
}

// The groups and transfers of its thread.
static inline cj_cpu_groups *cj__transfer_groups(const cj_cpu_async *async, const cj_cpu_transfer *t) {
    return &async->groups[cj__async_warp(t->actor.w) * CJ_LANES + t->actor.lane];
}

static inline cj_cpu_transfers *cj__transfer_own(cj_cpu_groups *groups, cj_cpu_signal signal) {
    return &groups->own[signal == CJ_SIGNAL_COPY_ARRIVAL ? CJ_SIGNAL_COPY_GROUP : signal];
}

// Of the thread's transfers with that signal, the first that a wait may need a step of.
static inline cj_cpu_transfer *cj__transfer_first(const cj_cpu_groups *groups, cj_cpu_signal signal, bool read_only) {
    if (signal == CJ_SIGNAL_COPY_GROUP) return groups->copying;
    return read_only ? groups->reading : groups->own[signal].first;
}

// Whether a wait for groups up to `last` needs a step of it.
static inline bool cj__transfer_is_awaited(const cj_cpu_transfer *t, cj_cpu_signal signal, uint32_t last,
                                           bool read_only) {
    return t->stage != CJ_STAGE_DONE && t->signal == signal && t->group <= last && !(read_only && t->is_read);
}

static inline bool cj__async_is_random(const cj_cpu_cluster *cluster) {
    return cluster->launch->options.random_schedule;
}

// One step of a pending transfer, which may free it; false when a hazard was reported.
bool cj__transfer_step(cj_cpu_async *async, cj_cpu_transfer *t);
// Makes the accesses of a pending transfer without its signal: its block ends, and what it races with is to be reported.
void cj__transfer_expose(cj_cpu_transfer *t);
// Takes it off its lists and frees it.
void cj__transfer_discard(cj_cpu_async *async, cj_cpu_transfer *t);
// Ends the watched operation.
void cj__transfer_end_watch(cj_watch_async *async);

#endif
