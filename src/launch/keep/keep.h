// SPDX-License-Identifier: Apache-2.0
// What a device keeps for all its users: shared modules and kernels, kernels of the one-call functions, the disk cache.
#ifndef CJ_LAUNCH_KEEP_H
#define CJ_LAUNCH_KEEP_H

#include <clusterjit/cache.h>

#include <clusterjit/allocator.h>

#include "cache.h"
#include "device.h"
#include "registry.h"
#include "warm.h"

typedef struct cj_keep {
    cj_attachment   base;
    cj_registry     modules, kernels;
    cj_warm         warm;
    pthread_mutex_t disk_lock;
    bool            disk_known;  // whether `disk` has been set
    cj_disk        *disk;        // NULL: no disk cache
    pthread_mutex_t workspaces_lock;
    cj_workspaces   workspaces;  // for kernels made from now on; without functions: the device's own memory
} cj_keep;

// The device's keep; NULL if none has been made.
static inline cj_keep *cj__keep(const cj_device *device) {
    return (cj_keep *)(void *)atomic_load_explicit(&device->attachment, memory_order_acquire);
}

// The device's keep, made if there is none. OUT_OF_MEMORY.
cj_status cj__keep_of(cj_device *device, cj_keep **keep, cj_error *error);

// The stream that a launch runs on: the per-thread default stream is a different one in every thread.
typedef struct cj_stream_id {
    uint64_t stream, thread;
} cj_stream_id;

cj_stream_id cj__stream_id(cj_stream stream);

#endif
