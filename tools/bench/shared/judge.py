# SPDX-License-Identifier: Apache-2.0
"""sweep's judge: measures every side of a request on the GPU, holds results against the reference, and says which side is slower where."""
import collections
import json
import math
import os
import statistics
import time

from shared import ahead, calls, draw, peers, reference, stores, torched
from shared.ours import die, progress, say

COPIES, GRAPH_US, GRAPH_CALLS = 256, 2000, 1536  # at most so many inputs in rotation; a graph's least time; its most calls
SIDE_MS, SLOW_MS, LAUNCH_US = 5, 400, 5          # a round of one side; all of a slow one's; a shorter call is launch latency
MODES = {"turns": "in turns", "alone": "alone"}  # sides are measured in
RATE = {"e4m3": 2, "i8": 2, "f64": 67 / 989}  # of tensor cores, of that of bf16, by the H200's data sheet
JSON_SECONDS = 10                                # from one writing of --json's file to the next
PEER_TOLERANCE = {"f64": 1e-9, "f32": 4e-3, "f16": 2e-2, "bf16": 6e-2, "e4m3": 0.2, "i8": 4e-3}  # of the largest element
GOALS = {  # of best peer over ours: least, 10 % quantile, median
    **dict.fromkeys(("reduce", "crossentropy", "histogram", "argmax"), (0.95, 1.05, 1.3)),
    **dict.fromkeys(("softmax", "logsoftmax", "rmsnorm", "layernorm", "gradient"), (0.93, 1.0, 1.2)),
    **dict.fromkeys(("scan", "topk", "sort", "sample"), (0.90, 1.0, 1.5)), "product": (0.90, 0.97, 1.02)}
READS = ("reduce", "topk", "sample", "argmax", "histogram")  # what they write is little: held against the ceiling of reading


class Side:
    """One way to do a request: `call(i)` does it on copy i. Its graph, its times in both modes, or why it has none."""

    def __init__(self, name, call):
        self.name, self.call, self.why, self.times = name, call, "", {"turns": [], "alone": []}

    def prepare(self, pt, copies, turns):
        self.replay, self.calls, self.note = torched.capture(pt, self.call, [(i,) for i in range(copies)], turns)
        self.replay()  # what fails only now fails here, where it has a name
        pt.cuda.synchronize()

    def round(self, pt, mode):
        self.times[mode].append(torched.milliseconds(pt, self.replay, self.repeat) * 1e3 / self.repeat / self.calls)

    def us(self, mode):
        return statistics.median(self.times[mode])


def race(pt, sides, rounds):
    """Rounds in turn, then each side alone; a side that takes long (one row of 2^28 by torch.cummax) has fewer."""
    for side in sides:
        once = torched.warm(pt, side.replay, 2 * SIDE_MS)
        side.repeat, side.rounds = max(1, math.ceil(SIDE_MS / once)), max(1, min(rounds, int(SLOW_MS / once)))
    for i in range(rounds):
        for side in sides:
            if i < side.rounds:
                side.round(pt, "turns")
    for side in sides:
        torched.warm(pt, side.replay, 2 * SIDE_MS)
        for _ in range(side.rounds):
            side.round(pt, "alone")


def measure_ceilings(pt, rounds):
    """TB/s of reading, and of reading and writing by a kernel (a graph's own copies moved 2.8 TB/s on an H200, kernels 4.2), TFLOP/s
    of a bf16 product: what torch reaches here, in this run."""
    x = pt.randn(1 << 29, device="cuda")
    y, a = pt.empty_like(x), pt.randn(8192, 8192, device="cuda", dtype=pt.bfloat16)
    b = pt.randn(8192, 8192, device="cuda", dtype=pt.bfloat16)

    def best(call):
        return min(torched.time_rounds(pt, *torched.capture(pt, lambda: call(), [()], 4)[:2], rounds))
    return {"read": x.nbytes / best(x.sum) / 1e6, "copy": 2 * x.nbytes / best(lambda: pt.neg(x, out=y)) / 1e6,
            "product": 2 * 8192**3 / best(lambda: a @ b) / 1e6}


def operations(request):
    return 2 * request.form["m"] * request.form["n"] * request.form["k"]


def rate_of(request):
    return RATE.get(request.inputs[0].dtype, 1)


def share_of_ceiling(request, us, ceilings):
    """The larger share: of the memory's ceiling, or of the arithmetic's; and which."""
    read_only = request.family in READS or (request.family == "crossentropy" and all(a.name != "dx" for a in request.outputs))
    shares = {"memory": request.bytes / us / 1e6 / ceilings["read" if read_only else "copy"]}
    if request.call == "gemm":
        shares["arithmetic"] = operations(request) / us / 1e6 / ceilings["product"] / rate_of(request)
    bound = max(shares, key=shares.get)
    return shares[bound], "launch" if us < LAUNCH_US else bound


# ---- one request


def make_copies(pt, request, seed):
    store = stores.Torch(pt, request, seed)
    count = min(COPIES, torched.ROTATE // max(1, request.bytes) + 1)
    return [store] + [store.copy() for _ in range(count - 1)]


def turns_of(request, copies):
    """Turns through all copies that take 2 ms if calls take 1.5 us and move 4 TB/s, and not too many calls."""
    call_us = max(1.5, request.bytes / 4e6)
    if request.call == "gemm":
        call_us = max(call_us, operations(request) / 7e8 / min(1, rate_of(request)))
    return max(1, math.ceil(min(GRAPH_US / call_us, GRAPH_CALLS) / copies))


def our_side(pt, call, request, copies):
    pointers = addresses(request, copies)
    return Side("ours", lambda i: call.run(pointers[i], pt.cuda.current_stream().cuda_stream))


def tolerance_of(request, array):
    """Of the largest element: peers round to the input's type where ours does not."""
    return max(PEER_TOLERANCE[kind] for kind in (array.dtype, request.inputs[0].dtype) if kind in PEER_TOLERANCE)


def differs(request, store, found):
    """What a peer has otherwise than ours, which was held against the reference; "" for nothing. Each draws tokens of its own."""
    if request.call == "sample":
        return ""
    for array in request.outputs:
        if array.name not in found or array.name == "indices" or request.call == "reduce" or request.form.get("unsorted"):
            continue
        mine, its = store.wide(array), found[array.name]
        if tuple(mine.shape) != tuple(its.shape):
            return f"{array.name} has the shape {tuple(its.shape)}"
        if array.name in ("y", "dx") and its.element_size() != draw.SIZE[array.dtype]:
            return f"{array.name} is written as {its.dtype}, not as {array.dtype}"
        if stores.is_integer(array.dtype):
            apart = 0.0 if bool((mine == its.long()).all()) else 1.0
            tolerance = 0.5
        else:
            apart, tolerance = float((mine - its.double()).abs().amax()), tolerance_of(request, array) * (1e-3 + float(mine.abs().amax()))
        if not apart <= tolerance:
            return f"{array.name} is off by {apart:.3g}, where ours is right"
    return ""


def peer_side(name, make, request, copies, ours_right):
    """A peer that works, or one with the reason why not; None: it does not offer this."""
    inputs = [peers.views(copy, request) for copy in copies]
    side = Side(name, None)
    try:
        function = make()
        if function is None:
            return None
        side.call = lambda i: function(inputs[i])
        found = function(inputs[0])
        side.why = differs(request, copies[0], found) if ours_right else ""
    except Exception as error:  # torch, CuTe and ctypes have errors of many types, and the others may still do
        side.why = f"{type(error).__name__}: {error}"[:400]
    return side


def addresses(request, copies):
    return [calls.Call.pointers([copy.address(array) if array else 0 for array in request.arrays]) for copy in copies]


def cublas_side(pt, library, request, copies, turns, ours_right):
    """The fastest of the algorithms that cuBLAS names, and what must be closed. It writes the outputs of ours."""
    cublas, pointers, ours = calls.Cublas(library, request), addresses(request, copies), copies[0].copy()
    best = None
    for algorithm in range(cublas.count):
        side = Side("cublas", lambda i, algorithm=algorithm: cublas.run(algorithm, pointers[i], pt.cuda.current_stream().cuda_stream))
        try:
            side.prepare(pt, len(copies), turns)
        except calls.Refused as refused:  # not every algorithm that is named works
            side.why = str(refused)
            best = best or side
            continue
        torched.warm(pt, side.replay, SIDE_MS)
        side.quick = min(torched.milliseconds(pt, side.replay, 1) for _ in range(3))
        if not best or best.why or side.quick < best.quick:
            best = side
    if best and not best.why and ours_right:
        copies[0].poison(request)
        best.call(0)
        best.why = differs(request, ours, {"d": copies[0].wide(request.outputs[0])})
    return best, cublas


def prepared(pt, sides, copies, turns, row):
    """The sides that can be replayed; why the others cannot is a failure of the row."""
    ready = []
    for side in sides:
        try:
            if not side.why:
                side.prepare(pt, copies, turns)
                ready.append(side)
                continue
        except Exception as error:
            side.why = f"{type(error).__name__}: {error}"[:400]
        row["failures"][side.name] = side.why
    return ready


def add_cublas(pt, library, request, copies, turns, sides, row, ours_right):
    try:
        side, cublas = cublas_side(pt, library, request, copies, turns, ours_right)
    except calls.Refused as refused:
        row["failures"]["cublas"] = str(refused)
        return None
    if side and not side.why:
        sides.append(side)
    elif side:
        row["failures"]["cublas"] = side.why
    return cublas


def check_replay(pt, side, request, store):
    """What one replay of our graph leaves in poisoned outputs."""
    store.poison(request)
    side.replay()
    pt.cuda.synchronize()


def add_peers(pt, library, request, options, reasons, copies, turns, sides, row):
    """The peers that do this, after ours in `sides`. cuBLAS, which must be closed, or None."""
    ours_right = "ours" not in row["failures"]
    pt.compiler.reset()
    row["failures"].update((name, why) for name, why in reasons.items() if why)
    every = peers.functions(request, copies[0], options.peers, [name for name, why in reasons.items() if not why]).items()
    others = [side for name, make in every if (side := peer_side(name, make, request, copies, ours_right))]
    sides += prepared(pt, others, len(copies), turns, row)
    return add_cublas(pt, library, request, copies, turns, sides, row, ours_right) if request.call == "gemm" else None


def measure(pt, library, request, options, seed, ceilings, reasons):
    row = {"family": request.family, "label": request.label, "bytes": request.bytes, "failures": {}, "sides": {}}
    copies, sides, call = make_copies(pt, request, seed), [], None
    turns = turns_of(request, len(copies))
    try:
        call = library.make(request)
        row["plan"], row["note"] = call.plan, call.note
        sides = prepared(pt, [our_side(pt, call, request, copies)], len(copies), turns, row)
    except calls.Refused as refused:
        row["refused"] = row["failures"]["ours"] = str(refused)
    cublas = None
    if not options.ours:
        if sides:
            check_replay(pt, sides[0], request, copies[0])
            row["share_of_bound"], wrong = reference.check(request, copies[0], call.bound)
            if wrong:
                row["failures"]["ours"] = row["wrong"] = wrong
        cublas = add_peers(pt, library, request, options, reasons, copies, turns, sides, row)
    race(pt, sides, options.rounds)
    row["sides"] = {side.name: {"turns": side.us("turns"), "alone": side.us("alone"), "rounds": side.times, "calls": side.calls,
                                "note": side.note} for side in sides}
    judge(row, request, ceilings)
    for side in sides:
        side.call = side.replay = None
    pt.cuda.synchronize()
    for made in filter(None, (call, cublas)):
        made.close()
    return row


def judge(row, request, ceilings):
    """Ratios in both modes, the best peer of each, which mode decides, and what bounds ours."""
    ours = row["sides"].get("ours")
    theirs = {name: side for name, side in row["sides"].items() if name != "ours"}
    if not ours:
        return
    row["share"], row["bound"] = share_of_ceiling(request, min(ours["turns"], ours["alone"]), ceilings)
    for mode in MODES:
        if theirs:
            best = min(theirs, key=lambda name: theirs[name][mode])
            row[mode] = {"best": best, "ratio": theirs[best][mode] / ours[mode]}
    if theirs:
        row["decided"] = min(MODES, key=lambda mode: row[mode]["ratio"])
        row["ratio"] = row[row["decided"]]["ratio"]


# ---- all


def spare_gpus(pt):
    """The GPUs beside the one that is measured on, as CUDA_VISIBLE_DEVICES names them: of its kind, which is in the caches' keys."""
    kinds = [pt.cuda.get_device_name(i) for i in range(pt.cuda.device_count())]
    names = ahead.other_gpus(os.environ.get("CUDA_VISIBLE_DEVICES"), len(kinds))
    return [name for name, kind in zip(names, kinds[1:]) if kind == kinds[0]]


def measure_one(pt, library, request, options, seed, ceilings, reasons):
    try:
        return measure(pt, library, request, options, seed, ceilings, reasons)
    except Exception as error:  # one shape must not end the run
        return {"family": request.family, "label": request.label, "bytes": request.bytes, "sides": {},
                "failures": {"shape": f"{type(error).__name__}: {error}"[:400]}}


def is_lost(pt):
    """Whether an error has taken the GPU's context, so that nothing more can run."""
    try:
        pt.cuda.synchronize()
        pt.cuda.empty_cache()
    except RuntimeError as error:
        say(f"the GPU's context is lost: {error}")
        return True
    return False


def measure_all(pt, options, library, ceilings, clock, report):
    requests, written = options.requests, time.monotonic()
    wanted = [(request, [] if options.ours else peers.to_compile(request, options.no_compile)) for request in requests]
    compiling = ahead.Ahead(peers.compile_one, wanted, peers.load, spare_gpus(pt), clock.left)
    try:
        for i, request in enumerate(requests):
            clock.show(i, len(requests), request.label)
            reasons = {} if clock.over() else compiling.reasons(i)
            if clock.over():
                say(f"the budget of {options.budget:g} s is spent: {i} of {len(requests)} shapes ran")
                break
            report["rows"].append(measure_one(pt, library, request, options, request.seed(options.seed), ceilings, reasons))
            if options.json and time.monotonic() - written > JSON_SECONDS:
                options.json.write_text(json.dumps(report, indent=1) + "\n")
                written = time.monotonic()
            if is_lost(pt):
                break
    finally:
        compiling.end()


def is_failure(row):
    """Ours is wrong, fails, or refuses what a peer does."""
    if "refused" in row:
        return bool(row["sides"])
    return "ours" in row["failures"] or "shape" in row["failures"]


def quantile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def show_families(rows, families):
    print(f"{'family':<13} {'shapes':>6} {'least':>12} {'10 %':>12} {'median':>12}   {'goal':<13}   best peer, how often")
    for family in families:
        measured = [row for row in rows if row["family"] == family and "ratio" in row]
        ratios, best = [row["ratio"] for row in measured], collections.Counter(deciding(row)["best"] for row in measured)
        if not ratios:
            print(f"{family:<13} {0:>6}")
            continue
        figures = (min(ratios), quantile(ratios, 0.1), statistics.median(ratios))
        cells = (f"{figure:.2f}{'*' if figure < goal else ' '}" for figure, goal in zip(figures, GOALS[family]))
        print(f"{family:<13} {len(ratios):>6} " + " ".join(f"{cell:>12}" for cell in cells) + "   " +
              f"{' '.join(f'{goal:g}' for goal in GOALS[family]):<13}   " + ", ".join(f"{name} {n}" for name, n in best.most_common()))


def deciding(row):
    """The best peer and its ratio in the mode in which ours is worse."""
    return row[row["decided"]]


def times_of(row, mode):
    ours, best = row["sides"]["ours"], row[mode]["best"]
    return f"{MODES[mode]} ours {ours[mode]:.2f} us, {best} {row['sides'][best][mode]:.2f}"


def show_worst(rows, count=10):
    """A ratio is of the mode that stands first: the best peer's time over ours."""
    for row in sorted((row for row in rows if "ratio" in row), key=lambda row: row["ratio"])[:count]:
        modes = sorted(MODES, key=lambda mode: mode != row["decided"])
        print(f"{row['ratio']:.2f}  {row['label']}\n      {'; '.join(times_of(row, mode) for mode in modes)}; "
              f"{row['bound']}, {row['share']:.2f} of the ceiling; {row['plan']}" + (f" ({row['note']})" if row["note"] else ""))


def show_before(rows, before, count=10):
    """Ours against ours of another run, of the shapes that both have: times over the times before."""
    def us(row):
        return min(row["sides"]["ours"][mode] for mode in MODES)
    earlier = {row["label"]: us(row) for row in before["rows"] if "ours" in row["sides"]}
    both = sorted((us(row) / earlier[row["label"]], earlier[row["label"]], us(row), row) for row in rows
                  if "ours" in row["sides"] and row["label"] in earlier)
    if not both:
        say("the run before has none of these shapes: give its seed")
        return
    ratios = [ratio for ratio, *_ in both]
    print(f"{len(both)} shapes of both runs: times over those before, geometric mean {statistics.geometric_mean(ratios):.3f}; "
          f"{sum(ratio < 0.98 for ratio in ratios)} shorter by 2 % or more, {sum(ratio > 1.02 for ratio in ratios)} longer")
    for ratio, then, now, row in both[:count] + both[max(count, len(both) - count):]:
        print(f"{ratio:.2f}  {row['label']}\n      {then:.2f}, now {now:.2f} us; {row['plan']}")


def show_failures(rows):
    lines = [f"{row['label']}: {name}: {why.splitlines()[0] if why else ''}" for row in rows for name, why in row["failures"].items()]
    if lines:
        print(f"failures: {len(lines)}")
    for line in lines:
        print("  " + line[:300])


def sweep(options, path, clock):
    why = peers.load()
    if why:
        die(f"nothing to measure with: {why}", 77)
    pt = peers.pt
    options.peers = options.peers or next(filter(lambda p: p.exists(), (path.parent / "bin/libbench_peers.so",
                                                                        path.parent / "libbench_peers.so")), None)
    pt.zeros(1, device="cuda")  # the primary context is there before the library takes it
    library = calls.Library(path, "gpu")
    ceilings = measure_ceilings(pt, options.rounds)
    pt.cuda.empty_cache()
    report = {"seed": options.seed, "device": library.name, "torch": pt.__version__, "ceilings": ceilings, "rows": []}
    print(f"{library.name}, torch {pt.__version__}: reads {ceilings['read']:.2f} TB/s, copies {ceilings['copy']:.2f} TB/s, "
          f"multiplies bf16 at {ceilings['product']:.0f} TFLOP/s; CUB {'from ' + str(options.peers) if options.peers else 'absent'}", flush=True)
    with torched.cache():
        measure_all(pt, options, library, ceilings, clock, report)
    progress()
    rows = report["rows"]
    show_failures(rows)
    if not options.ours:
        show_families(rows, options.families)
        show_worst(rows, len(rows) if options.named else 10)
    if options.before:
        show_before(rows, options.before)
    failed = sum(is_failure(row) for row in rows)
    print(f"{len(rows)} shapes in {clock.seconds():.0f} s, seed {options.seed}: {failed} failures of ours")
    return report, failed
