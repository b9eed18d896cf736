# SPDX-License-Identifier: Apache-2.0
# Numba: a sum of each block by halves in shared memory, and an element-wise kernel. With "fault" as its argument a barrier is missing.
import sys

import numpy as np
from numba import cuda, int32

FAULT = "fault" in sys.argv


@cuda.jit(lineinfo=True)
def block_sum(x, sums):
    part = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]  # found here
        if not FAULT:
            cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]  # found here


@cuda.jit
def scale(x, by):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= by


x = (np.arange(512) % 37).astype(np.int32)
device_x = cuda.to_device(x)
device_sums = cuda.device_array(4, np.int32)
scale[5, 128](device_x, 3)
block_sum[4, 128](device_x, device_sums)
if not np.array_equal(device_sums.copy_to_host(), 3 * x.reshape(4, 128).sum(axis=1)):
    sys.exit("numba_sum: wrong sums")
print("numba_sum: passed")
