#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/python.py [--json FILE]: what a call from Python costs over the same calls of the library, in microseconds.

The launch itself is replaced by a function that does nothing, so that only the way to it is measured. `calls` are the library's, made
through cffi with pointers that are ready: on the CPU device they borrow and give back both arrays. Where a call from Python makes the
result's array, `calls` make it, too, by empty_like of the array's own library. Each figure is the least mean of 50 calls in 500 trials. It
needs the installed package; NumPy; and torch for the rows of a GPU.
"""
import argparse
import json
import time

import numpy

import clusterjit
from clusterjit._library import ffi, lib, thread
from shared.ours import new_file

TRIALS, CALLS = 500, 50


def cost(function):
    best = float("inf")
    for _ in range(TRIALS):
        start = time.perf_counter()
        for _ in range(CALLS):
            function()
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best * 1e6


def nothing(*_):
    return 0


def null(plan):
    """The plan, whose launch does nothing."""
    plan._function = nothing
    return plan


def calls_on_cpu(x, out):
    """The library's calls for softmax of a NumPy array."""
    handle, first, second = clusterjit.device("cpu").handle, ffi.new("cj_ptr *"), ffi.new("cj_ptr *")
    arrays, error, size = ffi.new("cj_softmax_arrays *"), thread.error, x.nbytes
    of_x, of_out = ffi.from_buffer(x), ffi.from_buffer(out)

    def calls():
        lib.cj_mem_wrap(handle, of_x, size, first, error)
        lib.cj_mem_wrap(handle, of_out, size, second, error)
        arrays.x, arrays.y = first[0], second[0]
        nothing(handle, arrays, ffi.NULL, error)
        lib.cj_mem_free(handle, first[0])
        lib.cj_mem_free(handle, second[0])
    return calls


def calls_on_gpu(x, out):
    arrays, error, stream = ffi.new("cj_softmax_arrays *", {"x": x.data_ptr(), "y": out.data_ptr()}), thread.error, ffi.NULL
    return lambda: nothing(0, arrays, stream, error)


def ways(place, x, out, calls, empty_like):
    """Name, the library's calls, the call from Python: of a plan, with and without `out`, and of the function."""
    def make_and_call():
        empty_like(x)
        calls()

    plan = null(clusterjit.softmax.plan(x))
    yield f"{place}: plan(x, out=out)", calls, lambda: plan(x, out=out)
    yield f"{place}: plan(x)", make_and_call, lambda: plan(x)
    clusterjit.softmax(x, out=out)
    for entry in clusterjit.softmax._entries.values():
        null(entry.common)
    yield f"{place}: softmax(x, out=out)", calls, lambda: clusterjit.softmax(x, out=out)


def rows():
    x = numpy.ones((4, 256), numpy.float32)
    out = numpy.empty_like(x)
    yield from ways("NumPy, CPU device", x, out, calls_on_cpu(x, out), numpy.empty_like)
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        x, out = torch.ones(4, 256, device="cuda"), torch.empty(4, 256, device="cuda")
        yield from ways("torch, GPU", x, out, calls_on_gpu(x, out), torch.empty_like)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--json", type=new_file, metavar="FILE", help="also write the figures here")
options = parser.parse_args()
print(f"{'us a call':42} {'calls':>7} {'Python':>7} {'over':>7}")
figures = []
for name, calls, function in rows():
    function()
    below, above = cost(calls), cost(function)
    figures.append({"call": name, "calls_us": below, "python_us": above, "over_us": above - below})
    print(f"{name:42} {below:7.2f} {above:7.2f} {above - below:7.2f}")
if options.json:
    options.json.write_text(json.dumps(figures, indent=1) + "\n")
