#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What torch does with rows, eagerly and compiled: prints JSON, a list of {family, dtype, rows, columns, way, us, tbs}.

Usage: torch_rows.py [--few] [FAMILY...]; families: softmax, rmsnorm, layernorm, crossentropy, scan, topk,
topk-unsorted (both k = 64).
Times are medians over replays between two CUDA events; bytes count each matrix once. Without torch or a GPU: exit code 77.
"""
import json
import statistics
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

BYTES = 1 << 30  # of x, where there are many rows
COLUMNS = [4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576]
FEW = [(rows, columns) for rows in (1, 4, 16) for columns in (131072, 262144, 1048576)]
ROUNDS, REPEAT = 7, 5


def softmax(x, weight, label):
    return torch.softmax(x, -1)


def rmsnorm(x, weight, label):
    return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def layernorm(x, weight, label):
    return F.layer_norm(x, (x.shape[-1],), weight, None, 1e-5)


def crossentropy(x, weight, label):
    return F.cross_entropy(x, label, reduction="none")


def scan(x, weight, label):
    return torch.cumsum(x, -1)


def topk(x, weight, label):
    return torch.topk(x, 64, -1)


def topk_unsorted(x, weight, label):
    return torch.topk(x, 64, -1, sorted=False)


# A family, and how many matrices it moves.
FAMILIES = {"softmax": (softmax, 2), "rmsnorm": (rmsnorm, 2), "layernorm": (layernorm, 2), "crossentropy": (crossentropy, 1),
            "scan": (scan, 2), "topk": (topk, 1), "topk-unsorted": (topk_unsorted, 1)}


def microseconds(call, repeat):
    for _ in range(3):
        call()
    times = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeat):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / repeat)
    return statistics.median(times)


def measure(family, dtype, rows, columns):
    function, matrices = FAMILIES[family]
    x = torch.randn(rows, columns, device="cuda", dtype=dtype)
    weight = torch.rand(columns, device="cuda", dtype=dtype) + 0.5
    label = torch.randint(columns, (rows,), device="cuda")
    torch._dynamo.reset()
    for way, made in (("eager", function), ("compile", torch.compile(function, mode="max-autotune", dynamic=False))):
        us = microseconds(lambda: made(x, weight, label), REPEAT if x.nbytes >= BYTES // 4 else 10 * REPEAT)
        yield {"family": family, "dtype": str(dtype).removeprefix("torch."), "rows": rows, "columns": columns, "way": way,
               "us": us, "tbs": matrices * x.nbytes / us / 1e6}


def shapes(dtype, few):
    return FEW if few else [(BYTES // columns // dtype.itemsize, columns) for columns in COLUMNS]


def main(arguments):
    few = "--few" in arguments
    families = [a for a in arguments if a != "--few"] or list(FAMILIES)
    results = []
    with torch.no_grad():
        for family in families:
            for dtype in (torch.float32, torch.bfloat16):
                for rows, columns in shapes(dtype, few):
                    results += measure(family, dtype, rows, columns)
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
