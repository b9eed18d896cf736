#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products by many kernels that the plan could take, beside the one that it takes and cuBLAS, on one GPU: where the plan
chooses wrongly, and what fit_gemm.py fits its constants to.

    variants.py [--seed N] [--shapes 40] [--known] [--budget SECONDS] [--json FILE] [--library libclusterjit.so] [--list]

Products are drawn from a seed as sweep's are; --known: those of gemm_kernels.py first. Of each product some 38 kernels of the form
wgmma are timed, by tile, multicast group, split and parts: those that are predicted to be the fastest, few of each tile, and some
at random that are predicted to take up to half as long again. Consumers in turn, stages and sums are left to the plan. Products of
few rows or columns have kernels of the other forms, too. Threads compile the next product's kernels while one is measured.
Each kernel has a CUDA graph, inputs rotated beyond the L2 cache: first the best of three replays; then the six fastest, the plan's
and cuBLAS's best algorithm are timed in turns (medians). Results are not checked: sweep does that.
--json: one line of JSON a product. --list: the kernels and their predicted microseconds, without a GPU.
Exit codes: 0 measured, 1 a failure, 2 usage, 77 nothing to measure: no GPU, no torch, no library."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import statistics
import sys
import time

from shared import calls, draw, gemm_kernels, gemm_model, judge, peers, quick
from shared.ours import die, new_file, progress, say

LIMITS = draw.Limits(1 << 28, 1 << 37)
LEAST = 1 << 22                            # multiplications of a product that is measured
SMS, MHZ = 132, 1755                       # of an H200, for --list
FINAL, ROUNDS = 6, 5                       # kernels that are timed in turns, and how often
PLAN, CUBLAS = "plan", "cublas"            # sides; the others are named by their words


# ---- measuring


def make(library, request, words):
    """A kernel, or why there is none."""
    try:
        return library.make(request, words)
    except calls.Refused as refused:
        return str(refused)


class Making:
    """A product's kernels, which threads make."""

    def __init__(self, pool, library, request, words):
        self.jobs = {of: pool.submit(make, library, request, of) for of in words}

    def close(self):
        for job in self.jobs.values():
            if not job.cancel() and not isinstance(job.result(), str):
                job.result().close()


def quick_sides(pt, making, pointers, turns, row):
    """Of all kernels that differ: words may name what the plan takes."""
    sides, seen = [], set()
    for words, job in making.jobs.items():
        kernel = {"words": words}
        row["kernels"].append(kernel)
        made = job.result()
        if isinstance(made, str):
            kernel["refused"] = made[:200]
            continue
        kernel["plan"] = made.plan
        if made.plan in seen:
            continue
        seen.add(made.plan)
        try:
            side = quick.side_of(pt, words or PLAN, made, pointers, turns)
        except (calls.Refused, RuntimeError) as error:
            kernel["failed"] = str(error)[:200]
            continue
        kernel.update(us=side.quick, note=side.note)
        sides.append(side)
    return sides


def cublas_side(pt, library, request, copies, turns, row):
    """cuBLAS's fastest algorithm, as a list, and what must be closed."""
    try:
        side, cublas = judge.cublas_side(pt, library, request, copies, turns, False)
    except calls.Refused as refused:
        row["no_cublas"] = str(refused)[:200]
        return [], None
    return [side] if side and not side.why else [], cublas


def measure(pt, library, request, making, seed):
    row = {"label": request.label, "device": library.name, "sms": pt.cuda.get_device_properties(0).multi_processor_count, "kernels": []}
    copies = judge.make_copies(pt, request, seed)
    pointers, turns = judge.addresses(request, copies), max(1, judge.turns_of(request, len(copies)) // 2)
    sides = quick_sides(pt, making, pointers, turns, row)
    peer, cublas = cublas_side(pt, library, request, copies, turns, row)
    row["turns"] = quick.race(pt, quick.finalists(sides, FINAL, PLAN) + peer, ROUNDS)
    quick.end(pt, sides + peer)
    if cublas:
        cublas.close()
    return row


def measure_all(pt, options, library, file):
    """Rows of all products; kernels of the next one are made meanwhile."""
    c, rows, over = gemm_model.constants(), [], time.monotonic() + (options.budget or math.inf)
    sms = pt.cuda.get_device_properties(0).multi_processor_count
    with concurrent.futures.ThreadPoolExecutor(quick.threads()) as pool:
        requests = options.requests
        next_one = Making(pool, library, requests[0], gemm_kernels.chosen(requests[0], c, sms))
        for i, request in enumerate(requests):
            making, next_one = next_one, None
            if i + 1 < len(requests):
                next_one = Making(pool, library, requests[i + 1], gemm_kernels.chosen(requests[i + 1], c, sms))
            try:
                rows.append(measure(pt, library, request, making, request.seed(options.seed)))
            except Exception as error:  # one product must not end the run
                rows.append({"label": request.label, "error": f"{type(error).__name__}: {error}"[:400]})
            making.close()
            show(rows[-1], file)
            if judge.is_lost(pt) or time.monotonic() > over:
                say(f"{i + 1} of {len(requests)} products ran")
                break
        if next_one:
            next_one.close()
    return rows


# ---- what is printed


def figures(row):
    """Of the plan, the fastest kernel and cuBLAS, microseconds, None where there is none; and the fastest's words."""
    ours = {name: us for name, us in row.get("turns", {}).items() if name != CUBLAS}
    words = min(ours, key=ours.get, default=None)
    return ours.get(PLAN), ours.get(words), row.get("turns", {}).get(CUBLAS), words


def line_of(row):
    plan, fastest, cublas, words = figures(row)
    if not plan:
        return f"{row['label']}: {row.get('error', 'the plan has no time')}"
    return f"plan {plan:.2f} us, " + (f"cuBLAS {cublas:.2f}, " if cublas else "") + f"fastest {fastest:.2f} {words}: {row['label']}"


def show(row, file):
    progress()
    print(line_of(row), flush=True)
    file.write(json.dumps(row) + "\n")
    file.flush()


def show_quantiles(title, ratios):
    if ratios:
        cells = " ".join(f"{name} {judge.quantile(ratios, share):.3f}" for name, share in
                         (("least", 0), ("10 %", 0.1), ("median", 0.5), ("90 %", 0.9), ("most", 1)))
        print(f"{title:<20} {cells} mean {statistics.mean(ratios):.4f}")


def show_all(rows):
    measured = [(row, *figures(row)[:3]) for row in rows if figures(row)[0]]
    show_quantiles("plan over fastest", [plan / fastest for _, plan, fastest, _ in measured])
    show_quantiles("cuBLAS over plan", [cublas / plan for _, plan, _, cublas in measured if cublas])
    for row, plan, fastest, _ in sorted(measured, key=lambda of: of[2] / of[1])[:10]:
        print(f"{plan / fastest:.2f}  {line_of(row)}")


def show_list(requests):
    c = gemm_model.constants()
    for request in requests:
        print(request.label)
        for words, clocks in gemm_kernels.chosen(request, c, SMS).items():
            print(f"  {words or PLAN:<70}" + (f" {clocks / MHZ:.2f} us" if clocks else ""))


def is_aligned(request):
    """Whether tensor maps take its matrices: only then is there a choice of kernels that the model knows."""
    matrices = [array for array in request.arrays if array and array.name != "bias"]
    return all(not array.offset and array.stride * draw.SIZE[array.dtype] % 16 == 0 for array in matrices)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="of the draw [a fresh one, which is printed]")
    parser.add_argument("--shapes", type=int, default=40, metavar="N", help="that are drawn (40)")
    parser.add_argument("--known", action="store_true", help="the named products first")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="after which no other product is measured")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="where all figures go, one line a product")
    parser.add_argument("--library", type=pathlib.Path, metavar="PATH", help="libclusterjit.so, with bin/libbench_calls.so beside it")
    parser.add_argument("--list", action="store_true", help="what would be measured, and nothing else")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    drawn = draw.draw(options.seed, 3 * max(0, options.shapes), LIMITS, ["product"])
    large = [request for request in drawn if judge.operations(request) > 2 * LEAST and is_aligned(request)]
    options.requests = (gemm_kernels.KNOWN if options.known else []) + large[:options.shapes]
    return options if options.requests else parser.error("without --known, --shapes is at least 1")


def main():
    options = parse()
    if options.list:
        show_list(options.requests)
        return
    path = calls.find(options.library)
    if not path:
        die("there is no libclusterjit.so: build it (cmake --build --preset release), or name it with --library", 77)
    why = peers.load()
    if why:
        die(f"nothing to measure with: {why}", 77)
    peers.pt.zeros(1, device="cuda")  # the primary context is there before the library takes it
    library = calls.Library(path, "gpu")
    print(f"seed {options.seed}, {library.name}", flush=True)
    with open(options.json or os.devnull, "w", encoding="utf-8") as file:
        rows = measure_all(peers.pt, options, library, file)
    show_all(rows)
    sys.exit(1 if any("error" in row for row in rows) else 0)


if __name__ == "__main__":
    try:
        main()
    except (OSError, calls.Refused) as error:
        die(str(error))
