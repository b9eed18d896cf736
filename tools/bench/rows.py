#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our kernels over rows against torch, shape by shape, on one GPU and in one run: a table, and all figures as JSON.

    rows.py [--only TEXT] [--rounds N] [--no-torch] [--json FILE] [--ptxgen PATH]

Ours is `ptxgen bench`, which checks its results too; torch's is the better of eager and torch.compile, which several processes
let compile all shapes beforehand. Both: medians over rounds of CUDA graph replays on a GPU that is warm, inputs rotated beyond
the L2 cache. Bytes count each matrix once; the share is of the ceilings that ptxgen measures beside each kernel; the ratio is
torch's time over ours; '*' marks what is short of its goal. torch.compile's mode is max-autotune without torch's own CUDA graphs:
those copy their inputs in each call, and ours, which leave python's overhead out as well, cannot capture them.
Exit codes: 0 measured, 1 a failure, 2 usage, 77 nothing to measure: no GPU, or no ptxgen."""
import argparse
import collections
import itertools
import json
import statistics
import time

from shared import ahead, ours, torched
from shared.ours import progress, say

BYTES = 1 << 30
TABLE = [  # families, dtypes, rows (0: as many as make x BYTES long), columns and the least ratio, k, least share of the ceiling
    ("softmax", "f32", [0], {4096: 1, 16384: 1, 32768: 1, 65536: 1.2, 131072: 1.5, 262144: 1.5}, None, 0.95),
    ("softmax", "f32", [0], {524288: 1.7}, None, 0.9),
    ("softmax", "f32", [0], {1048576: None}, None, None),
    ("softmax", "bf16", [0], {4096: 1.8, 16384: 1.8, 32768: 1.8, 65536: 1.8, 131072: 1.8, 262144: 1.8}, None, 0.95),
    ("softmax", "bf16", [0], {524288: None}, None, None),
    ("softmax", "bf16", [0], {1048576: 1.7}, None, 0.9),
    ("rmsnorm layernorm", "f32 bf16", [0], {4096: 1, 16384: 1, 32768: 1, 65536: 1, 131072: 1.5, 262144: 1.5}, None, 0.95),
    ("softmax rmsnorm", "f32 bf16", [1, 4, 16], {131072: 3, 262144: 3, 1048576: 3}, None, None),
    ("crossentropy", "bf16", [8192], {131072: 2}, None, 0.93),
    ("crossentropy", "f32", [4096], {65536: None}, None, None),
    ("scan", "f32", [4096], {65536: None}, None, 0.93),
    ("scan", "f32", [1], {1 << 28: None}, None, 0.93),
    ("topk", "f32", [4096], {65536: 8}, 64, None),
    ("topk", "f32", [32], {131072: 3}, 50, None),
]
SIZE = {"f32": 4, "bf16": 2}

GRAPH_BYTES, GRAPH_CALLS = 8 << 30, 512  # what a graph moves at most, 2 ms or more: gaps between replays count little
FORMAT = "{:<12} {:<5} {:>17} {:>10} {:>6} {:>7} {:>10}  {:<18} {:>6}  {}"
TITLES = ("family", "dtype", "rows x columns", "ours us", "TB/s", "share ", "torch us", "way", "ratio ", "goals")
pt = None                     # torch, where it is and sees a GPU
Shape = collections.namedtuple("Shape", "label family dtype rows columns k share ratio")


def shapes_with(only):
    """Those with all words of one of the alternatives, which commas separate."""
    wanted = [set(words.split()) for words in only.split(",")]
    shapes = []
    for families, dtypes, rows_list, ratios, k, share in TABLE:
        for family, dtype, rows, columns in itertools.product(families.split(), dtypes.split(), rows_list, ratios):
            label = f"{family} {dtype} " + (f"{rows}x" if rows else "") + f"{columns}" + (f" k={k}" if k else "")
            rows = rows or BYTES // columns // SIZE[dtype]
            shapes.append(Shape(label, family, dtype, rows, columns, k, share, ratios[columns]))
    return [shape for shape in shapes if any(words <= set(shape.label.split()) for words in wanted)]


def load_torch():
    """Once a process."""
    global pt
    pt, why = torched.load()
    if why:
        say(f"our side alone: {why}")


FUNCTIONS = {
    "softmax": lambda x, weight, label, k: pt.softmax(x, -1),
    "rmsnorm": lambda x, weight, label, k: pt.nn.functional.rms_norm(x, (x.shape[-1],), weight, 1e-5),
    "layernorm": lambda x, weight, label, k: pt.nn.functional.layer_norm(x, (x.shape[-1],), weight, None, 1e-5),
    "crossentropy": lambda x, weight, label, k: pt.nn.functional.cross_entropy(x, label, reduction="none"),
    "scan": lambda x, weight, label, k: pt.cumsum(x, -1),
    "topk": lambda x, weight, label, k: pt.topk(x, k, -1),
}


def make_inputs(shape):
    """Arguments of a call; what a family does not take is None."""
    dtype = {"f32": pt.float32, "bf16": pt.bfloat16}[shape.dtype]
    x = pt.randn(shape.rows, shape.columns, device="cuda", dtype=dtype)
    weight = pt.rand(shape.columns, device="cuda", dtype=dtype) + 0.5 if shape.family.endswith("norm") else None
    label = pt.randint(shape.columns, (shape.rows,), device="cuda") if shape.family == "crossentropy" else None
    return x, weight, label, shape.k


def turns_of(copies):
    return max(1, min(GRAPH_BYTES // sum(2 * x.nbytes for x, *_ in copies), GRAPH_CALLS // len(copies)))


def measure_torch(shape, rounds):
    """What each way took; one that fails has its error under 'failed'."""
    pt.compiler.reset()
    eager, ways = FUNCTIONS[shape.family], {}
    copies = [make_inputs(shape) for _ in range(torched.ROTATE // (shape.rows * shape.columns * SIZE[shape.dtype]) + 1)]
    for way, call in (("eager", eager), ("compile", torched.compiled(pt, eager))):
        try:
            replay, calls, note = torched.capture(pt, call, copies, turns_of(copies))
            times = torched.time_rounds(pt, replay, calls, rounds)
            ways[way] = {"us": statistics.median(times), "rounds_us": times, "calls": calls, "copies": len(copies), "note": note}
        except Exception as error:  # torch has errors of many types, and the other way may still do
            ways[way] = {"failed": f"{type(error).__name__}: {error}"}
            say(f"{shape.label}: torch, {way}: {ways[way]['failed']}")
    del copies
    pt.cuda.empty_cache()
    return ways


def compile_shape(shape):
    pt.compiler.reset()
    torched.compiled(pt, FUNCTIONS[shape.family])(*make_inputs(shape))
    pt.cuda.synchronize()


def compile_all(shapes):
    workers = ahead.Workers(len(shapes), load_torch)
    try:
        ahead.wait_for([workers.submit(compile_shape, shape) for shape in shapes])
    finally:
        workers.end()


def compare(shape, mine, ways):
    """A row: its shape, the raw figures of both sides, what follows from them, and which of it is short of its goal."""
    row = {**shape._asdict(), "goals": {name: getattr(shape, name) for name in ("share", "ratio") if getattr(shape, name)},
           "ours_us": mine["time_ms"] * 1e3, "tbs": mine["bytes_per_second"] / 1e12, "share": mine.get("share_of_ceiling"),
           "torch_us": None, "way": "failed" if ways else "", "ratio": None}
    measured = [way for way in ways if "us" in ways[way]]
    if measured:
        best = min(measured, key=lambda way: ways[way]["us"])
        row["way"] = best + (" only" if len(measured) < len(ways) else "") + ways[best]["note"]
        row.update(torch_us=ways[best]["us"], ratio=ways[best]["us"] / row["ours_us"])
    row["short"] = [name for name, goal in row["goals"].items() if row[name] is not None and row[name] < goal]
    return {**row, "ours": mine, "torch": ways}


def show(row):
    def text(name, form, mark=""):
        return "" if row[name] is None else format(row[name], form) + ("*" if name in row["short"] else mark)

    cells = (row["family"] + (f" k={row['k']}" if row["k"] else ""), row["dtype"], f"{row['rows']} x {row['columns']}",
             text("ours_us", ".2f"), text("tbs", ".3f"), text("share", ".3f", " "), text("torch_us", ".2f"), row["way"],
             text("ratio", ".2f", " "), ", ".join(f"{name} {goal:g}" for name, goal in row["goals"].items()))
    progress()
    print(FORMAT.format(*cells).rstrip(), flush=True)


def measure_all(options):
    if pt and len(options.shapes) > 1:
        compile_all(options.shapes)
    rows, about = [], {"torch": pt.__version__ if pt else None, "mode": torched.MODE, "rounds": options.rounds}
    progress()
    print(FORMAT.format(*TITLES), flush=True)
    for i, shape in enumerate(options.shapes):
        progress(f"{i + 1} of {len(options.shapes)}: {shape.label}")
        mine = ours.bench(options.ptxgen, shape.family, options.rounds, rows=shape.rows, columns=shape.columns,
                          dtype=shape.dtype, k=shape.k)
        rows.append(compare(shape, mine, measure_torch(shape, options.rounds) if pt else {}))
        show(rows[-1])
        if options.json:
            options.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    return rows


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="with these words: 'softmax f32 65536', '16x131072, k=64'")
    parser.add_argument("--no-torch", action="store_true", help="our side alone")
    ours.add_options(parser, 9)
    options = ours.parse(parser)
    options.shapes = shapes_with(options.only)
    return options if options.shapes else parser.error(f"no shape has all words of '{options.only}'")


def main():
    options, start = parse(), time.monotonic()
    ours.require(options)
    with torched.cache():
        if not options.no_torch:
            load_torch()
        rows = measure_all(options)
    judged = [name in row["short"] for row in rows for name in row["goals"] if row[name] is not None]
    print(f"{rows[0]['ours']['device']['name']}, {'torch ' + pt.__version__ if pt else 'no torch'}, "
          f"{time.monotonic() - start:.0f} s: {sum(judged)} of {len(judged)} goals fall short")


if __name__ == "__main__":
    ours.guard(main)
