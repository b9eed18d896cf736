// SPDX-License-Identifier: Apache-2.0
// Running a launch: grid.c gives clusters to host threads, run.c gives warps their turns.
#ifndef CJ_CPU_RUN_H
#define CJ_CPU_RUN_H

#include "machine.h"

// Runs the launch's grid to its end, or to the first hazard after which it cannot continue. OUT_OF_MEMORY, or HAZARD
// with the findings in launch->findings. *instructions: of threads.
cj_status cj__cpu_run(const cj_cpu_launch *launch, uint64_t *instructions, cj_error *error);

// Prepares a cluster's memory to run the cluster with that index in the grid.
void cj__cpu_start(cj_cpu_cluster *cluster, uint64_t index);
// Gives each warp a turn. False when a hazard was reported.
bool cj__cpu_take_turns(cj_cpu_cluster *cluster);

#endif
