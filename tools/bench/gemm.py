#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our matrix products against cuBLAS, problem by problem, on one GPU: a table, and all figures as JSON.

    gemm.py [--only TEXT] [--rounds N] [--json FILE] [--ptxgen PATH] [PROBLEM ...]

Both sides come from `ptxgen bench gemm`, in turns in one process on the same random normal numbers, inputs rotated beyond the L2
cache, results of both checked: medians of CUDA graph replays, cuBLAS by the fastest of the first 8 algorithms of its heuristics
(libcublasLt, found as `ptxgen bench` finds it: its folder in LD_LIBRARY_PATH). A PROBLEM is the family's words ("m=512 n=512 k=512
bias=n"); without any, the usual ones. The ratio is cuBLAS's time over ours; '*' marks what is short of its goal.
Exit codes: 0 measured, 1 a failure, 2 usage, 77 nothing to measure: no GPU, or no ptxgen."""
import argparse
import json

from shared import ours

SKINNY = {8192: ("64x512", "128x512", "256x512"), 65536: ("64x64", "64x512", "128x512", "256x512", "256x256")}
TABLE = [  # words, least ratio
    ("m=4096 n=4096 k=4096", 1.03), ("m=8192 n=8192 k=8192", 1.03), ("m=16384 n=16384 k=16384", 1.03),
    ("m=2048 n=2048 k=2048", 1.0), ("m=8192 n=8192 k=1024", 1.0), ("m=1024 n=8192 k=8192", 1.0),
    *((f"m={shape.split('x')[0]} n={shape.split('x')[1]} k={k}", 1.3) for k, shapes in SKINNY.items() for shape in shapes),
    ("m=8192 n=8192 k=8192 dtype=e4m3", 1.0), ("m=4096 n=4096 k=4096 dtype=e4m3", None), ("m=4096 n=4096 k=4096 dtype=tf32", None),
    ("m=8192 n=8192 k=8192 dtype=i8", None), ("m=64 n=8192 k=8192 dtype=i8", None),
    ("m=4096 n=4096 k=4096 dtype=f64", None), ("m=256 n=512 k=8192 dtype=f64", None),
    ("m=8192 n=8192 k=8192 bias=n", None), ("m=8192 n=8192 k=8192 bias=n activation=gelu", None),
    ("m=8192 n=8192 k=1024 bias=n activation=gelu", None),
]
FORMAT = "{:<44} {:<24} {:>10} {:>9} {:>10} {:>9} {:>7}  {}"
TITLES = ("problem", "kernel", "ours us", "TFLOP/s", "cuBLAS us", "TFLOP/s", "ratio ", "goal")


def measure(ptxgen, words, rounds):
    parameters = dict(word.split("=", 1) for word in words.split())
    return ours.bench(ptxgen, "gemm", rounds, **{"b": "column", **parameters})  # as weights lie


def show(words, goal, figures):
    peer, mine = figures["peer"], figures["time_ms"]
    rate = figures["operations"] * 1e-9  # TFLOP/s in a millisecond
    cells = [words, figures["plan"]["entry"], f"{mine * 1e3:.2f}", f"{rate / mine:.1f}"]
    ratio = peer["time_ms"] / mine if "time_ms" in peer else None
    if ratio is None:
        cells += ["", "", "", peer["absent"]]
    else:
        short = "*" if goal and ratio < goal else " "
        note = "" if peer["within_bound"] else f" (its error {peer['error']:.2g}, our bound {peer['bound']:.2g})"
        cells += [f"{peer['time_ms'] * 1e3:.2f}", f"{rate / peer['time_ms']:.1f}", f"{ratio:.3f}{short}", f"{goal or ''}{note}"]
    print(FORMAT.format(*cells).rstrip(), flush=True)
    return {"problem": words, "goal": goal, "ratio": ratio, "figures": figures}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="words of the family, as one argument")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the usual ones, those with all these words: 'k=65536 m=256'")
    ours.add_options(parser, 11)
    options = ours.parse(parser)
    if any("=" not in word for problem in options.problems for word in problem.split()):
        parser.error("a problem is words like m=512, all of one in one argument")
    usual = [row for row in TABLE if set(options.only.split()) <= set(row[0].split())]
    options.table = [(words, None) for words in options.problems] or usual
    return options if options.table else parser.error(f"no problem has all words of '{options.only}'")


def main():
    options = parse()
    ours.require(options)
    print(FORMAT.format(*TITLES), flush=True)
    rows = []
    for words, goal in options.table:
        rows.append(show(words, goal, measure(options.ptxgen, words, options.rounds)))
        if options.json:
            options.json.write_text(json.dumps({"rounds": options.rounds, "rows": rows}, indent=1) + "\n")
    judged = [row for row in rows if row["goal"] and row["ratio"]]
    print(f"{rows[0]['figures']['device']['name']}: {sum(row['ratio'] < row['goal'] for row in judged)} of {len(judged)} goals fall short")


if __name__ == "__main__":
    ours.guard(main)
