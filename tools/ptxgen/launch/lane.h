// SPDX-License-Identifier: Apache-2.0
// A launch on a CPU device of its own: what a host thread needs to launch beside others, or another shape of a launch.
#ifndef PTXGEN_LANE_H
#define PTXGEN_LANE_H

#include "launch.h"
#include "machine.h"

typedef struct lane {
    cj_device     *device;
    cj_module     *module;
    cj_function   *function;
    launch_options launch;  // borrows the bytes of the arguments, which it does not change
} lane;

// NULL: it cannot be; the failure is printed unless messages are quiet.
lane *lane_open(const launch_options *launch, const document *ptx, const char *entry);

// Uploads the arguments and launches; hazards are those of l->device.
cj_status lane_launch(lane *l, const machine_options *machine, cj_error *error);

void lane_close(lane *l);  // NULL is allowed

#endif
