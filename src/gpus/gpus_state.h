// SPDX-License-Identifier: Apache-2.0
// What a cj_gpus holds.
#ifndef CJ_GPUS_STATE_H
#define CJ_GPUS_STATE_H

#include <clusterjit/gpus.h>
#include <stdbool.h>

// The kernels of a description, one a device.
typedef struct cj_gpus_loaded {
    cj_params  params;
    cj_kernel *kernel[CJ_GPUS_MAX];
} cj_gpus_loaded;

struct cj_gpus {
    uint32_t        count;
    cj_device      *device[CJ_GPUS_MAX];
    cj_ptr          box[CJ_GPUS_MAX];
    uint64_t        mail_bytes, limit;
    bool            failed;  // a rank did not come, or came with something else: epochs are out of step
    cj_gpus_loaded *loaded;
    size_t          loaded_count, loaded_room;
};

// The kernels of these parameters, one a device, which the first call loads.
cj_status cj__gpus_find(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error);

#endif
