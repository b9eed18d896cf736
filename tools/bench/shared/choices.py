# SPDX-License-Identifier: Apache-2.0
"""For sweep --tune on a GPU: what drawn shapes take by each choice that `ptxgen tune` would try, in one process.

Threads make the kernels of the next shapes while those of one are measured. Of each shape the plan's choice has one parameter
changed at a time; where the fastest is faster than the plan by FINDS, so has that one, once more."""
import collections
import concurrent.futures
import gc
import os
import pathlib
import tempfile
import time

from shared import calls, judge, peers, quick, torched
from shared.ours import die

FINAL, ROUNDS = 4, 5  # choices of a shape that are timed in turns with the plan's, and how often
FINDS = 1.05  # times as fast as the plan: what is worth another round of changes
SLOW, SLOW_LAUNCH_MS = 1.5, 0.05  # a call that takes more than so many times the plan's, and this besides, is not timed
IN_MEMORY = pathlib.Path("/dev/shm")  # a file is written for each choice, and waited for: on a disk 389 choices took 386 s
PLAN = "the plan's choice"


def changes(tunable, base):
    """The choice `base`, "warps=4", if there is one, and with each other parameter changed."""
    taken = {word.split("=")[0] for word in base.split()}
    one = [f"{base} {name}={value}".strip() for name, values in tunable.items() if name not in taken for value in values]
    return [base] * bool(base) + one


def make_all(library, request, base):
    """Calls by their choices, first the plan's; of choices that come to the same kernel the first."""
    if request.family == "product":
        raise calls.Refused("tools/bench/variants.py tries the kernels of products")
    plan = library.make(request)
    made, seen, tried = {PLAN: plan}, {plan.plan}, changes(plan.tunable(), base)
    if not tried:
        plan.close()
        raise calls.Refused(f"{request.call} has no parameters that tuning may choose")
    for choice in tried:
        try:
            call = library.make_tuned(request, plan, choice)
        except calls.Refused:
            continue
        if call.plan in seen:
            call.close()
            continue
        seen.add(call.plan)
        made[choice] = call
    library.forget(plan)  # so that a second round's plan is the plan's own
    return made, len(tried)


def milliseconds_once(pt, call, pointers):
    for _ in range(2):  # the first call does what is done once
        took = torched.milliseconds(pt, lambda: call.run(pointers[0], pt.cuda.current_stream().cuda_stream), 1)
    return took


def prepared(pt, made, pointers, turns, failures):
    """Sides of the calls that are not much slower than the plan's: a graph of many calls of a slow one would take minutes."""
    sides, most = [], SLOW * milliseconds_once(pt, made[PLAN], pointers) + SLOW_LAUNCH_MS
    for choice, call in made.items():
        try:
            if choice != PLAN and (took := milliseconds_once(pt, call, pointers)) > most:
                failures[choice] = f"slow: {took:.3g} ms a call"
                continue
            sides.append(quick.side_of(pt, choice, call, pointers, turns))
        except (calls.Refused, RuntimeError) as error:
            failures[choice] = str(error)[:200]
    return sides


def measure(pt, request, seed, made, row):
    """Fills a row: microseconds of all, the fastest choice, and what the plan takes over it."""
    copies = judge.make_copies(pt, request, seed)
    pointers, turns = judge.addresses(request, copies), max(1, judge.turns_of(request, len(copies)) // 2)
    sides = prepared(pt, made, pointers, turns, row["failures"])
    row["quick"].update({side.name: side.quick for side in sides})
    row["plans"].update({choice: call.plan for choice, call in made.items()})
    us = quick.race(pt, quick.finalists(sides, FINAL, PLAN), ROUNDS)
    quick.end(pt, sides)
    if PLAN not in us:
        raise RuntimeError(f"the plan's own kernel fails: {row['failures'].get(PLAN)}")
    best = min(us, key=us.get)
    row.update(choice=best, ms=us[best] / 1e3, ratio=us[PLAN] / us[best], plan=made[PLAN].plan)


def new_row(request):
    return {"family": request.family, "label": request.label, "candidates": 0, "seconds": 0, "quick": {}, "plans": {}, "failures": {}}


def take(pt, request, seed, job, row):
    """Measures what a job has made, and closes it; whether that is worth a second round."""
    start = time.monotonic()
    made, tried = job.result()
    row["candidates"] += tried
    row["problem"] = " ".join(made[PLAN].problem)
    try:
        measure(pt, request, seed, made, row)
    finally:
        pt.cuda.synchronize()
        for call in made.values():
            call.close()
        row["seconds"] += time.monotonic() - start
    return row["choice"] != PLAN and row["ratio"] >= FINDS


def tune_all(pt, options, library, clock):
    """Rows. A shape's second round comes after those of the shapes that are being made already."""
    threads, rows = quick.threads(), []
    fresh, waiting = iter(options.requests), collections.deque()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        def start(request, base, row):
            waiting.append((request, base, row, pool.submit(make_all, library, request, base)))

        while not clock.over():
            while len(waiting) < threads + 1 and (request := next(fresh, None)):
                start(request, "", new_row(request))
            if not waiting:
                break
            request, base, row, job = waiting.popleft()
            clock.show(len(rows), len(options.requests), request.label)
            if not base:
                rows.append(row)
            try:
                if take(pt, request, request.seed(options.seed), job, row) and not base:
                    start(request, row["choice"], row)
            except (calls.Refused, RuntimeError) as error:
                row["refused" if isinstance(error, calls.Refused) else "wrong"] = f"{error}"[:400]
            if judge.is_lost(pt):
                break
        for *_, job in waiting:
            if not job.cancel() and not job.exception():
                for call in job.result()[0].values():
                    call.close()
    return rows


def sweep(options, path, clock):
    """Rows of all shapes, and the device's name."""
    why = peers.load()
    if why:
        die(f"nothing to measure with: {why}", 77)
    peers.pt.zeros(1, device="cuda")  # the primary context is there before the library takes it
    gc.freeze()  # each capture collects garbage; torch's own objects are none
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        os.environ.update(CLUSTERJIT_CACHE_DIR=folder, CLUSTERJIT_TUNING="on")  # where a choice is kept while its call is made
        library = calls.Library(path, "gpu")
        return tune_all(peers.pt, options, library, clock), library.name
