# SPDX-License-Identifier: Apache-2.0
# Kernels with device descriptors (tl.make_tensor_descriptor), as Triton compiles them for sm_90, without a GPU.
# kernels.py DIRECTORY: writes NAME.ptx for each, and prints NAME and its bytes of shared memory.
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def double(x, y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    b = tl.make_tensor_descriptor(y, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    v = a.load(at)
    b.store(at, v + v)


@triton.jit
def product(x, y, z, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(y, shape=[k, n], strides=[n, 1], block_shape=[BK, BN])
    c = tl.make_tensor_descriptor(z, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        sums = tl.dot(a.load([i, step]), b.load([step, j]), sums)
    c.store([i, j], sums.to(tl.float16))


def write(function, types, sizes, **options):
    signature = {name: types.get(name, "i32") for name in function.arg_names} | dict.fromkeys(sizes, "constexpr")
    source = ASTSource(fn=function, signature=signature, constexprs=sizes)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    name = function.__name__
    with open(f"{sys.argv[1]}/{name}.ptx", "w") as file:
        file.write(made.asm["ptx"])
    print(name, made.metadata.shared)


write(double, {"x": "*fp32", "y": "*fp32"}, {"BM": 16, "BN": 32})
write(product, {"x": "*fp16", "y": "*fp16", "z": "*fp16"}, {"BM": 64, "BN": 64, "BK": 64}, num_stages=3)
