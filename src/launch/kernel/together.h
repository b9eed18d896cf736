// SPDX-License-Identifier: Apache-2.0
// A kernel's launch as what the device takes: for launches on several devices beside each other.
#ifndef CJ_LAUNCH_TOGETHER_H
#define CJ_LAUNCH_TOGETHER_H

#include <clusterjit/kernel.h>

// Caller's arguments, derived ones, the launch's number and the workspace.
enum { CJ_KERNEL_ARGUMENTS = 36 };

// Points into itself and into the kernel: it stays where it was made.
typedef struct cj_ready {
    cj_launch_config config;
    uint64_t         turn;  // of plan->launches: counted by the caller
    void            *argument[CJ_KERNEL_ARGUMENTS];
} cj_ready;

cj_status  cj__kernel_ready(cj_kernel *kernel, cj_stream stream, void *const *arguments, uint32_t count, cj_ready *ready,
                            cj_error *error);
cj_device *cj__kernel_device(const cj_kernel *kernel);

#endif
