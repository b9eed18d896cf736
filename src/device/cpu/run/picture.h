// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_PICTURE_H
#define CJ_CPU_PICTURE_H

#include "machine.h"

// Reports that no thread of the cluster can continue.
void cj__cpu_deadlock(cj_cpu_cluster *cluster);
// Reports that the launch has used up its limit of instructions.
void cj__cpu_livelock(cj_cpu_cluster *cluster);

#endif
