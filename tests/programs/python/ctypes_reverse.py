# SPDX-License-Identifier: Apache-2.0
# Blocks that reverse their numbers through shared memory, over the driver API by ctypes: the one CUDA program in Python that needs no
# package. Its fault is planted by deleting the line with bar.sync.
import ctypes

BLOCK, GRID = 128, 4
PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry reverse(.param .u64 out)
{
    .shared .u32 number[128];
    .reg .u32 %thread, %block, %at, %other, %value, %index;
    .reg .u64 %out;
    ld.param.u64 %out, [out];
    mov.u32 %thread, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %at, number;
    sub.u32 %other, 127, %thread;
    mad.lo.u32 %other, %other, 4, %at;
    mad.lo.u32 %at, %thread, 4, %at;
    st.shared.u32 [%at], %thread;
    bar.sync 0;
    ld.shared.u32 %value, [%other];
    mad.lo.u32 %index, %block, 128, %thread;
    mad.wide.u32 %out, %index, 4, %out;
    st.global.u32 [%out], %value;
    ret;
}
"""

cuda = ctypes.CDLL("libcuda.so.1")


def call(function, *arguments):
    code = getattr(cuda, function)(*arguments)
    if code:
        raise SystemExit(f"{function} returns {code}")


context, module, kernel, out = (ctypes.c_void_p() for _ in range(4))
numbers = (ctypes.c_uint32 * (BLOCK * GRID))()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"reverse")
call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(ctypes.sizeof(numbers)))
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(out), ctypes.c_void_p))
call("cuLaunchKernel", kernel, GRID, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
call("cuMemcpyDtoH_v2", numbers, out, ctypes.c_size_t(ctypes.sizeof(numbers)))
call("cuMemFree_v2", out)
call("cuModuleUnload", module)
if list(numbers) != [BLOCK - 1 - i % BLOCK for i in range(BLOCK * GRID)]:
    raise SystemExit("ctypes_reverse: wrong numbers")
print("ctypes_reverse: passed")
