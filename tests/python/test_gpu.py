# SPDX-License-Identifier: Apache-2.0
"""On a GPU: the caller's current stream, CUDA graphs, tensors of torch, arrays of CuPy and of JAX. Skipped where there is none;
`CJ_WHEEL=FILE tests/gpu/run python` runs it.
"""
import gc
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import references

import clusterjit as cj

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    assert os.environ.get("CJ_REQUIRE_GPU") != "1", "there is no GPU"
    pytest.skip("there is no GPU", allow_module_level=True)

import clusterjit.torch as cjt  # noqa: E402

CALLS = {  # the last two have a workspace
    "softmax": (cj.softmax, lambda x: torch.softmax(x, -1)),
    "rms_norm": (cj.rms_norm, lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-5)),
    "topk": (lambda x: cj.topk(x, 5)[0], lambda x: torch.topk(x, 5)[0]),
    "matmul": (lambda x: cj.matmul(x.half(), x.half().T), lambda x: x.half() @ x.half().T),
    "cumsum": (lambda x: cj.cumsum(x.reshape(-1)), lambda x: x.reshape(-1).cumsum(-1)),
    "sum": (cj.sum, lambda x: x.sum()),
}


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2 * float(wanted.abs().max()))


@pytest.mark.parametrize("name", CALLS)
def test_a_call_runs_on_the_current_stream(name):
    ours, theirs = CALLS[name]
    x = torch.randn(512, 4096, device="cuda")
    close(ours(x), theirs(x))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)  # what is launched on another stream reads zeros
        y = torch.zeros_like(x).copy_(x)
        found = ours(y)
    side.synchronize()
    close(found, theirs(x))


@pytest.mark.parametrize("as_stream", [lambda s: s, lambda s: s.cuda_stream])
def test_a_stream_that_is_given(as_stream):
    x, out, side = torch.ones(64, 4096, device="cuda"), torch.zeros(64, 4096, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    cj.cumsum(x, out=out, stream=as_stream(side))
    side.synchronize()
    assert float(out[0, -1]) == 4096


@pytest.mark.parametrize("name", CALLS)
def test_a_graph_captures_a_call(name):
    ours, theirs = CALLS[name]
    x = torch.randn(64, 4096, device="cuda")
    ours(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ours(x)
    for _ in range(3):
        x.normal_()
        graph.replay()
        close(y, theirs(x))


def test_a_first_call_in_a_capture_is_refused():
    x = torch.zeros(3, 4567, device="cuda")
    with pytest.raises(cj.InvalidArgument, match="cannot be captured"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        cj.softmax(x)


def test_workspaces_are_from_torchs_caching_allocator():
    x = torch.ones(1 << 22, device="cuda")
    cjt.use_caching_allocator()
    gc.collect()  # what earlier tests left would be freed below
    try:
        before = torch.cuda.memory_allocated()
        with cj.sum.plan(x, cluster=4, grid=32) as plan:
            assert plan.workspace_bytes and torch.cuda.memory_allocated() >= before + plan.workspace_bytes
            assert float(plan(x)) == 1 << 22
            torch.cuda.synchronize()
        assert torch.cuda.memory_allocated() <= before + 512  # the result alone
    finally:
        cj.device("gpu").set_workspaces(None)


def test_a_graph_captures_a_training_step():
    x, w = torch.randn(64, 256, device="cuda", dtype=torch.bfloat16), torch.randn(512, 256, device="cuda", dtype=torch.bfloat16)
    gain, labels = torch.ones(256, device="cuda", dtype=torch.bfloat16), torch.randint(512, (64,), device="cuda")
    w.requires_grad_(), gain.requires_grad_()

    def step():
        return torch.autograd.grad(cjt.cross_entropy(cjt.linear(cjt.rms_norm(x, gain), w), labels), (w, gain))

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    x.normal_()
    graph.replay()
    for ours, again in zip(found, step()):
        torch.testing.assert_close(ours, again, rtol=2e-2, atol=1e-3)


def test_cupy_arrays_and_streams():
    cupy = pytest.importorskip("cupy")
    x = cupy.random.standard_normal((64, 300)).astype(cupy.float32)
    side = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with side:
        y = cj.softmax(x)
    side.synchronize()
    assert type(y) is cupy.ndarray
    np.testing.assert_allclose(y.get(), references.softmax(x.get().astype(float)), rtol=1e-5, atol=1e-7)
    numbers = cupy.arange(1000)
    cupy.cuda.Device().synchronize()  # it was made on another stream
    found = cj.sum(numbers, stream=side)
    side.synchronize()
    assert int(found) == 499500


def test_jax_arrays():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this jax has no GPU")
    x = jax.random.normal(jax.random.key(0), (64, 300))
    y = cj.softmax(x)
    assert type(y) is type(x)
    np.testing.assert_allclose(np.asarray(y), references.softmax(np.asarray(x, float)), rtol=1e-5, atol=1e-7)


def test_arrays_of_two_devices_are_refused():
    x = torch.zeros(4, 8, device="cuda")
    with pytest.raises(cj.InvalidArgument, match="labels: it is in the host's memory, but x in GPU 0"):
        cj.cross_entropy(x, torch.zeros(4, dtype=torch.int64))


def test_a_kernel_of_cuda_in_clusters():
    kernel = cj.Kernel(r"""
        #include <cooperative_groups.h>
        __global__ void ranks(int *out) {
            auto cluster = cooperative_groups::this_cluster();
            __shared__ int mine;
            mine = cluster.block_rank() + 1000;
            cluster.sync();
            out[blockIdx.x] = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks());
            cluster.sync();
        }""", device="gpu")
    out = torch.zeros(8, dtype=torch.int32, device="cuda")
    kernel(out, grid=8, block=1, cluster=4)
    assert out.tolist() == [1001, 1002, 1003, 1000] * 2
    with pytest.raises(cj.InvalidArgument, match="it is in the host's memory"):
        kernel(np.zeros(8, np.int32), grid=8, block=1, cluster=4)


RANK = """
import os, signal, torch, clusterjit.gpus
rank, dies, turns = int(os.environ["RANK"]), int(os.environ["DIES"]), 6
torch.cuda.set_device(rank)
gpus = clusterjit.gpus.Gpus.from_env(limit=1 << 20)
x = torch.ones(1000, device="cuda")
for turn in range(turns):
    if rank == dies and turn == turns - 1:
        torch.cuda.synchronize()
        os.kill(os.getpid(), signal.SIGKILL)
    found = gpus.all_reduce(x)
torch.cuda.synchronize()
try:
    gpus.check()
    print("right" if bool((found == int(os.environ["WORLD_SIZE"])).all()) else "wrong")
except clusterjit.Error as error:
    print(error)
os._exit(0)  # close would wait for the one that was killed
"""


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are fewer than two GPUs")
@pytest.mark.parametrize("dies", [-1, 1])
def test_processes_of_a_gpu_each_and_one_that_is_killed_is_named(dies):
    size, port = min(4, torch.cuda.device_count()), 20000 + random.randrange(12000)
    ranks = []
    for rank in range(size):
        said = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "DIES": dies}
        ranks.append(subprocess.Popen([sys.executable, "-c", RANK], env={**os.environ, **{name: str(value) for name, value in said.items()}},
                                      stdout=subprocess.PIPE, text=True))
    said = [rank.communicate(timeout=120)[0] for rank in ranks]
    for rank, text in enumerate(said):
        if rank != dies:
            assert ("right" if dies < 0 else f"rank {dies} did not come") in text, said
