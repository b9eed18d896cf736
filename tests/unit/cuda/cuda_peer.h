// SPDX-License-Identifier: Apache-2.0
// A second GPU for the tests of the fake driver.
#ifndef CJ_TEST_CUDA_PEER_H
#define CJ_TEST_CUDA_PEER_H

#include "gpu.h"

// The first GPU lets its kernels reach a second one, of which reaching needs the ordinal and the context alone.
static inline cj_status reach_a_peer(cj_device *device, cj_error *error) {
    cj_gpu peer = {.device = cj__gpu(device)->device + 1, .context = (CUcontext)8};
    return device->ops->reach(device, &peer.base, error);
}

#endif
