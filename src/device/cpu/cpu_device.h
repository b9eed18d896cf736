// SPDX-License-Identifier: Apache-2.0
// The CPU device as the public calls see it.
#ifndef CJ_CPU_DEVICE_H
#define CJ_CPU_DEVICE_H

#include <clusterjit/cpu.h>

#include "device.h"
#include "image.h"
#include "memory.h"

typedef struct cj_cpu_device {
    cj_device               base;
    cj_cpu_memory           memory;
    cj_cpu_images           images;
    cj_cpu_options          options;   // complete: cj__cpu_complete
    pthread_mutex_t         lock;      // of what follows
    struct cj_cpu_heap     *heap;      // NULL until a kernel allocates
    cj_cpu_heap_block       heap_block;  // that cj_cpu_heap_at found last
    struct cj_cpu_findings *findings;  // of the last launch that ended; NULL: none yet
    cj_cpu_stats            stats;     // of the launches that ended since it was cleared
    cj_cpu_line_stats      *line;      // of the last launch that was counted
    size_t                  line_count;
} cj_cpu_device;

extern const cj_device_ops cj__cpu_operations;

// NULL: it is no CPU device.
cj_cpu_device *cj__cpu_of(const cj_device *device);
cj_status      cj__cpu_refuse_device(const cj_device *device, cj_error *error);

// Gives each option that is 0 its default.
void cj__cpu_complete(cj_cpu_options *options);

#endif
