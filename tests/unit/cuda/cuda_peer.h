// SPDX-License-Identifier: Apache-2.0
// A second GPU for the tests of the fake driver.
#ifndef CJ_TEST_CUDA_PEER_H
#define CJ_TEST_CUDA_PEER_H

#include <string.h>

#include "gpu.h"

// The first GPU lets its kernels reach a second one, of which reaching needs the ordinal and the context alone. It shares memory with
// another process, opens memory of process 1, asks for a stream's state and what memory it is, waits for all work, and for a side stream.
static inline cj_status reach_a_peer(cj_device *device, cj_error *error) {
    cj_gpu    peer = {.device = cj__gpu(device)->device + 1, .context = (CUcontext)8};
    cj_ipc shared = {{0}};
    cj_ptr    opened = 0, base = 0;
    bool      busy;
    cj_side   side = {NULL, NULL};
    cj_status status = device->ops->reach(device, &peer.base, error);
    if (!status) status = device->ops->share(device, 4096, &shared, error);
    if (!status) status = device->ops->locate(device, 4096, 64, &base, error);
    if (!status) status = device->ops->settle(device, error);
    if (!status) status = device->ops->make_side(device, &side, error);
    if (!status) status = device->ops->follow(device, &side, side.stream, NULL, error);
    const int64_t other = 1;
    memcpy(shared.handle + 16, &other, sizeof other);
    if (!status) status = device->ops->busy(device, NULL, &busy, error);
    if (!status) status = device->ops->open_shared(device, &shared, &opened, error);
    if (!status) device->ops->close_shared(device, opened);
    device->ops->free_side(device, &side);
    return status;
}

#endif
