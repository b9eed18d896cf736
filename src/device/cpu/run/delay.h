// SPDX-License-Identifier: Apache-2.0
// What a random schedule delays beside asynchronous work: warps that get no turn for long, blocks of a cluster that begin
// late, and clusters in another order. PTX promises none of these orders, only that each thread goes on at some time: if
// no other warp of the cluster can go on, the sleeping warps wake.
#ifndef CJ_CPU_DELAY_H
#define CJ_CPU_DELAY_H

#include "machine.h"

// A cluster begins: draws how often its warps fall asleep, and which of its blocks begin late.
void cj__delay_start(cj_cpu_cluster *cluster);
// A round begins: some warp may fall asleep.
void cj__delay_round(cj_cpu_cluster *cluster);
// No other warp can go on: wakes all; false if none was asleep.
bool cj__delay_wake(cj_cpu_cluster *cluster);

static inline bool cj__delay_sleeps(const cj_cpu_warp *w) { return w->sleeps > w->block->cluster->rounds; }

// The cluster that begins as the `number`-th of `count`. The clusters of a window, so many one after another, begin in an
// order that the seed draws; windows begin in order.
uint64_t cj__delay_order(const cj_cpu_launch *launch, uint64_t number, uint64_t count, uint64_t window);

#endif
