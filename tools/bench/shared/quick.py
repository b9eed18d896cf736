# SPDX-License-Identifier: Apache-2.0
"""What variants.py and sweep --tune share: many kernels of one request, each timed for a moment, and the fastest of them in turns."""
import itertools
import math
import os

from shared import judge, torched

THREADS, CORES_LEFT = 12, 3  # that make kernels at most; cores that are left to what measures
ROUND_MS, WARM_MS = 3, 3


def threads():
    return max(1, min(THREADS, (os.cpu_count() or 1) - CORES_LEFT))


def side_of(pt, name, call, pointers, turns):
    """A side with `quick`, microseconds a call: the best of three replays."""
    side = judge.Side(name, lambda i: call.run(pointers[i], pt.cuda.current_stream().cuda_stream))
    side.prepare(pt, len(pointers), turns)
    torched.warm(pt, side.replay, WARM_MS)
    side.quick = min(torched.milliseconds(pt, side.replay, 1) for _ in range(3)) * 1e3 / side.calls
    return side


def finalists(sides, count, plan):
    """The fastest, and that of the plan, by its name, where it is not among them."""
    order = sorted(sides, key=lambda side: side.quick)
    return order[:count] + [side for side in order[count:] if side.name == plan]


def race(pt, sides, rounds):
    """Microseconds of each side by its name: medians of rounds in turn."""
    for side in sides:
        side.repeat = max(1, math.ceil(ROUND_MS / torched.warm(pt, side.replay, WARM_MS)))
    for _, side in itertools.product(range(rounds), sides):
        side.round(pt, "turns")
    return {side.name: side.us("turns") for side in sides}


def end(pt, sides):
    """Graphs go before the calls that they hold are closed."""
    pt.cuda.synchronize()
    for side in sides:
        side.call = side.replay = None
