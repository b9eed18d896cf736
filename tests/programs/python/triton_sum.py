# SPDX-License-Identifier: Apache-2.0
# Triton without torch: the sum of each row, on memory that cuda.core allocates. With "fault" as its argument the rows are read
# without a mask, after the end of the memory.
import ctypes
import sys

import numpy as np
import triton
import triton.language as tl
from cuda.bindings import driver


@triton.jit
def row_sum(x, sums, columns, stride, MASK: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    if MASK:
        values = tl.load(x + row * stride + at, mask=at < columns, other=0)
    else:
        values = tl.load(x + row * stride + at)  # found here
    tl.store(sums + row, tl.sum(values, axis=0))


class Array:
    """Device memory with what Triton asks of a tensor."""

    dtype = "fp32"

    def __init__(self, values):
        self.bytes = values.nbytes
        code, self.address = driver.cuMemAlloc(self.bytes)
        assert code == driver.CUresult.CUDA_SUCCESS, code
        assert driver.cuMemcpyHtoD(self.address, values.ctypes.data, self.bytes)[0] == driver.CUresult.CUDA_SUCCESS

    def data_ptr(self):
        return int(self.address)

    def read(self):
        values = np.empty(self.bytes // 4, np.float32)
        assert driver.cuMemcpyDtoH(values.ctypes.data, self.address, self.bytes)[0] == driver.CUresult.CUDA_SUCCESS
        return values


driver.cuInit(0)
context = driver.cuDevicePrimaryCtxRetain(driver.cuDeviceGet(0)[1])[1]
driver.cuCtxSetCurrent(context)
rows, columns = 5, 200
x = (np.arange(rows * columns) % 23).astype(np.float32).reshape(rows, columns)
device_x, device_sums = Array(x), Array(np.zeros(rows, np.float32))
row_sum[(rows,)](device_x, device_sums, columns, columns, MASK="fault" not in sys.argv, BLOCK=256)
if not np.array_equal(device_sums.read(), x.sum(axis=1)):
    sys.exit("triton_sum: wrong sums")
print("triton_sum: passed")
