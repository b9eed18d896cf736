#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/python.py [--json FILE]: what a call from Python costs over the same calls of the library, in microseconds.

The launch itself is replaced by a function that does nothing, so that only the way to it is measured. `calls` are the library's, made
through cffi with pointers that are ready: on the CPU device they borrow and give back all arrays. Where a call from Python makes the
results' arrays, `calls` make them, too, by empty_like of the array's own library. Each figure is the least mean of 50 calls in 500 trials. Of torch's
custom operators `calls` is torch's own operator, whole. It needs the installed package; NumPy; and torch for the rows of tensors.
"""
import argparse
import json
import time

from shared.ours import die, new_file

try:
    import numpy

    import clusterjit
    from clusterjit._library import ffi, lib, thread
    from clusterjit.arrays import address_of
    from clusterjit.unrolled import unrolled
except ImportError as missing:
    die(f"{missing}: pip install numpy, and `pip install .` in the source tree", 77)

TRIALS, CALLS = 500, 50
BORROW = """
def calls():
    {wrap(handle, pointer#, size#, place#, error); }
    structure[#] = place#[0]
    nothing(handle, structure, NULL, error)
    {free(handle, place#[0]); }
call = calls
"""


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


def library_calls(arrays, on_gpu):
    """The library's calls for arrays of either device."""
    structure, error = ffi.new("cj_ptr[]", [address_of(x) for x in arrays]), thread.error
    if on_gpu:
        return lambda: nothing(0, structure, ffi.NULL, error)
    names = {"wrap": lib.cj_mem_wrap, "free": lib.cj_mem_free, "handle": clusterjit.device("cpu").handle, "structure": structure,
             "nothing": nothing, "NULL": ffi.NULL, "error": error}
    return unrolled(BORROW, len(arrays), names, pointer=[ffi.cast("void *", address_of(x)) for x in arrays],
                    size=[x.nbytes for x in arrays], place=[ffi.new("cj_ptr *") for _ in arrays])


def ways(x, w, b, out):
    """A name, the function, its arrays, and the call."""
    cj = clusterjit
    yield "softmax(x, out=out)", cj.softmax, (x,), lambda: cj.softmax(x, out=out)
    yield "softmax(x)", cj.softmax, (x,), lambda: cj.softmax(x)
    yield "softmax(x, scale=.5)", cj.softmax, (x,), lambda: cj.softmax(x, scale=.5)
    yield "sum(x, cluster=4)", cj.sum, (x,), lambda: cj.sum(x, cluster=4)
    yield "cumsum(x, reverse=True, out=out)", cj.cumsum, (x,), lambda: cj.cumsum(x, reverse=True, out=out)
    yield "topk(x, 5)", cj.topk, (x,), lambda: cj.topk(x, 5)
    yield "layer_norm(x, w, b)", cj.layer_norm, (x, w, b), lambda: cj.layer_norm(x, w, b)
    yield "rms_norm(x, weight=w, eps=1e-6)", cj.rms_norm, (x, w), lambda: cj.rms_norm(x, weight=w, eps=1e-6)
    yield "sample(x, temperature=.5, seed=3)", cj.sample, (x,), lambda: cj.sample(x, temperature=.5, seed=3)


def plans(x, out):
    """The same of a plan."""
    plan = null(clusterjit.softmax.plan(x))
    yield "plan(x, out=out)", (x, out), (), lambda: plan(x, out=out)
    yield "plan(x)", (x, out), (out,), lambda: plan(x)


def functions(x, w, b, out):
    for name, function, arrays, call in ways(x, w, b, out):
        function.forget()
        found = call()
        results = found if type(found) is tuple else (found,)
        for entry in function._entries.values():
            for plan in (entry.common, *entry.plans.values()):
                if plan:
                    null(plan)
        yield name, (*arrays, *results), () if "out=" in name else results, call


def rows_of(place, x, w, b, empty_like, on_gpu=False):
    """A name, the library's calls and the call from Python."""
    out = empty_like(x)
    for source in plans(x, out), functions(x, w, b, out):
        for name, arrays, made, call in source:
            calls = library_calls(arrays, on_gpu)

            def make_and_call():
                for y in made:
                    empty_like(y)
                calls()
            yield f"{place}: {name}", make_and_call if made else calls, call


def operators(torch, place, x, w):
    """Custom operators, eager, beside torch's own."""
    import clusterjit.torch as ours
    ours.softmax(x), ours.rms_norm(x, w)
    for function in clusterjit.softmax, clusterjit.rms_norm:
        for entry in function._entries.values():
            null(entry.common)
    yield f"{place}: torch.ops softmax(x)", lambda: torch.softmax(x, -1), lambda: ours.softmax(x)
    yield f"{place}: torch.ops rms_norm(x, w)", lambda: torch.rms_norm(x, (x.shape[-1],), w), lambda: ours.rms_norm(x, w)


def rows():
    x, w = numpy.ones((4, 256), numpy.float32), numpy.ones(256, numpy.float32)
    yield from rows_of("NumPy", x, w, w.copy(), numpy.empty_like)
    try:
        import torch
    except ImportError:
        return
    for device in ["cpu", *["cuda"] * torch.cuda.is_available()]:
        x, w = torch.ones(4, 256, device=device), torch.ones(256, device=device)
        yield from rows_of(f"torch {device}", x, w, w.clone(), torch.empty_like, device == "cuda")
        yield from operators(torch, f"torch {device}", x, w)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--json", type=new_file, metavar="FILE", help="also write the figures here")
options = parser.parse_args()
print(f"{'us a call':48} {'calls':>7} {'Python':>7} {'over':>7}")
figures = []
for name, calls, function in rows():
    for _ in range(3):  # a function learns a test of arguments that repeat
        function()
    below, above = cost(calls), cost(function)
    figures.append({"call": name, "calls_us": below, "python_us": above, "over_us": above - below})
    print(f"{name:48} {below:7.2f} {above:7.2f} {above - below:7.2f}")
if options.json:
    options.json.write_text(json.dumps(figures, indent=1) + "\n")
