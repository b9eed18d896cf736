// SPDX-License-Identifier: Apache-2.0
// Late transfers: those that happen only when no thread of the cluster can go on without them, and only those that one
// wait needs. Waits that a thread's own arrival or another transfer must end first need none.
#ifndef CJ_CPU_LATE_H
#define CJ_CPU_LATE_H

#include "async.h"

// Makes the transfers that one warp waits for at one instruction; under a random schedule any warp, and its transfers in
// any order, else the last warp, and the youngest first. *stepped: there were any. False when a hazard was reported.
bool cj__late_serve(cj_cpu_cluster *cluster, bool *stepped);
// No wait needs any: makes a step of the youngest one.
bool cj__late_push(cj_cpu_cluster *cluster, bool *stepped);

#endif
