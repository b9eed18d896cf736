# SPDX-License-Identifier: Apache-2.0
# cuda.core: CUDA C++ of core_cluster.cu, compiled to a cubin by NVRTC; a cluster's sum through distributed shared memory. With "fault" as its
# argument the peers' parts are read before they are there.
import os
import sys

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

NAME = os.path.splitext(os.path.abspath(__file__))[0] + ".cu"
with open(NAME) as file:
    CODE = file.read()

root = os.environ.get("CUDA_PATH", os.environ.get("CUDA_HOME", "/usr/local/cuda"))
device = Device()
device.set_current()
stream = device.create_stream()
arch = "".join(str(i) for i in device.compute_capability)
options = ProgramOptions(std="c++17", arch=f"sm_{arch}", name=NAME,
                         include_path=[f"{root}/include", f"{root}/include/cccl"],
                         define_macro="FAULT" if "fault" in sys.argv else None)
module = Program(CODE, code_type="c++", options=options).compile("cubin", name_expressions=("cluster_sum<int>",))
kernel = module.get_kernel("cluster_sum<int>")

clusters, size = 3, 4
memory = LegacyPinnedMemoryResource()
x = memory.allocate(clusters * size * 64 * 4)
sums = memory.allocate(clusters * 64 * 4)
values = np.from_dlpack(x).view(np.int32)
values[:] = np.arange(values.size) % 101
launch(stream, LaunchConfig(grid=clusters, cluster=size, block=64), kernel, x, sums)
stream.sync()
want = values.reshape(clusters, size, 64).sum(axis=1).reshape(-1)
if not np.array_equal(np.from_dlpack(sums).view(np.int32), want):
    sys.exit("core_cluster: wrong sums")
print("core_cluster: passed")
