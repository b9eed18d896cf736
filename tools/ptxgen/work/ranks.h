// SPDX-License-Identifier: Apache-2.0
// The devices of a workload of several GPUs: the command's device is the first of this process, the others are opened beside it, and
// have the same kernel.
#ifndef PTXGEN_RANKS_H
#define PTXGEN_RANKS_H

#include <clusterjit/gpus.h>

#include "workload.h"

typedef struct ranks {
    uint32_t   count, first, local;  // all; the first one of this process, and how many it has
    cj_device *device[CJ_GPUS_MAX];  // of this process
    cj_gpus   *gpus;
    cj_kernel *kernel[CJ_GPUS_MAX];  // the first is the command's
    cj_plan    plan;                 // of the others
} ranks;

// `count` ranks of this process: rank r is the GPU with that number, CPU devices are as many as wanted. With w->ranks this process is one
// rank, and its peers are other processes. Takes the parameter `mail`, where the family has it. Returns an exit code; ranks_close is called in any case.
int  ranks_open(const workload *w, uint32_t count, ranks *r);
void ranks_close(ranks *r);

// The same kernel on the other devices: loaded at its first launch.
cj_status ranks_load(ranks *r, cj_kernel *kernel, cj_error *error);

#endif
