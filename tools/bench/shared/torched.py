# SPDX-License-Identifier: Apache-2.0
"""What rows.py, gpus.py and sweep share of torch: loading it, where it keeps what it compiled, CUDA graphs and their times."""
import math
import os
import tempfile
import warnings

from shared.ours import say

MODE = "max-autotune-no-cudagraphs"
ROTATE = 3 * 60_000_000  # bytes that all copies of an input exceed: three times an H200's L2 cache
WARM_MS, ROUND_MS = 100, 10


def load():
    """torch, or why there is none. Not as a global named `torch`: pickle would name torch's objects by that name in a worker's
    __mp_main__, and the keys of inductor's cache, made of pickles, would not be those of the process that measures."""
    try:
        import torch as pt
    except ImportError as error:
        return None, str(error)
    if not pt.cuda.is_available():
        return None, "torch sees no GPU"
    pt.set_grad_enabled(False)
    warnings.filterwarnings("ignore", module="torch._inductor")  # about how it compiles, once a shape and process
    return pt, ""


def cache():
    """A directory for inductor's and QuACK's caches, which the processes share, for a `with`. Each process compiles with one thread."""
    directory = tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True)
    for name, value in (("TORCHINDUCTOR_CACHE_DIR", directory.name), ("TORCHINDUCTOR_FX_GRAPH_CACHE", "1"),
                        ("TORCHINDUCTOR_COMPILE_THREADS", "1"), ("QUACK_CACHE_DIR", os.path.join(directory.name, "quack"))):
        os.environ.setdefault(name, value)
    return directory


def compiled(pt, function):
    return pt.compile(function, mode=MODE, dynamic=False)


# ---- graphs


def record(pt, work):
    """A CUDA graph of what `work` does; what other threads do meanwhile, loading a module for instance, does not break it. If it
    fails, torch is as it was before: torch throws at the end of a broken capture, before it ends the allocations to the graph's
    pool and returns to the stream; without that no later capture may free memory."""
    graph, here, pool = pt.cuda.CUDAGraph(), pt.cuda.current_stream(), pt.cuda.graph_pool_handle()
    try:
        with pt.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            work()
    except BaseException:
        pt.cuda.set_stream(here)
        if not is_whole(graph):
            end_pool(pt, pool)
        raise
    return graph


def is_whole(graph):
    """Whether its capture was ended, so that it gives its pool back itself."""
    try:
        return bool(graph.pool())
    except RuntimeError:
        return False


def end_pool(pt, pool):
    """What torch's capture_end and the graph would do; private calls of torch's, which a version may lack."""
    for name in ("_cuda_endAllocateToPool", "_cuda_releasePool"):
        try:
            getattr(pt._C, name)(pt.cuda.current_device(), pool)
        except (AttributeError, RuntimeError) as error:
            say(f"{name}: {str(error).splitlines()[0]}")


def reason_of(error):
    """Its first line, and those of the errors before it: torch's own, about a broken capture, would hide why it broke."""
    line = f"{type(error).__name__}: {error}".splitlines()[0]
    return line if not error.__context__ or error.__suppress_context__ else f"{line}; after {reason_of(error.__context__)}"


def capture(pt, call, copies, turns):
    """How to replay a CUDA graph that goes through all copies `turns` times, the calls in it, and a note."""
    here, side, results = pt.cuda.current_stream(), pt.cuda.Stream(), []
    side.wait_stream(here)
    with pt.cuda.stream(side):  # what is done once must not happen in a capture
        for copy in (copies[0], copies[-1], copies[0]):
            call(*copy)
    here.wait_stream(side)

    def work():
        for _ in range(turns):
            results[:] = [call(*copy) for copy in copies]  # stay until the next turn's: they rotate as well
    try:
        return record(pt, work).replay, turns * len(copies), ""
    except RuntimeError as error:
        results.clear()
        say(f"no capture: {reason_of(error)}")
        return lambda: [call(*copy) for copy in copies], len(copies), ", loop"


def milliseconds(pt, replay, repeat):
    begin, end = pt.cuda.Event(enable_timing=True), pt.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeat):
        replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def warm(pt, replay, least=WARM_MS):
    """Replays until the GPU is warm; milliseconds of the last replay."""
    spent = 0
    while spent < least:
        once = milliseconds(pt, replay, 1)
        spent += once
    return once


def time_rounds(pt, replay, calls, rounds):
    """Microseconds a call, of each round; the rounds begin when the GPU is warm."""
    repeat = math.ceil(ROUND_MS / warm(pt, replay))
    return [milliseconds(pt, replay, repeat) * 1e3 / repeat / calls for _ in range(rounds)]
