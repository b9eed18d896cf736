# SPDX-License-Identifier: Apache-2.0
# CuPy: a kernel of CUDA C++ that reverses each block.
import sys

import cupy
import numpy

kernel = cupy.RawKernel(r"""
extern "C" __global__ void reverse(const float *x, float *y) {
    y[blockIdx.x * 128 + threadIdx.x] = x[blockIdx.x * 128 + 127 - threadIdx.x];
}
""", "reverse")

x = numpy.arange(512, dtype=numpy.float32)
y = cupy.empty_like(cupy.asarray(x))
kernel((4,), (128,), (cupy.asarray(x), y))
if not numpy.array_equal(cupy.asnumpy(y), x.reshape(4, 128)[:, ::-1].reshape(-1)):
    sys.exit("cupy_raw: wrong order")
print("cupy_raw: passed")
