# SPDX-License-Identifier: Apache-2.0
"""gpus_planted.py DIRECTORY: of tools/bench, the captures of torched.py and the steps of gpus.py, on a torch that is played: one whose
captures break as the real one's do, and two ranks that are threads."""
import contextlib
import sys
import threading
import types

sys.path.insert(0, sys.argv[1])
import gpus  # noqa: E402
from shared import torched  # noqa: E402

wrong = []


def expect(what, good):
    if not good:
        wrong.append(what)


class Graph:
    """As torch's: it gives its pool back itself where its capture was ended."""

    def __init__(self):
        self.ended = self.replays = 0

    def pool(self):
        if not self.ended:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return 0, 1

    def replay(self):
        self.replays += 1


class Torch:
    """What of torch the two files call. `breaks`: work that fails breaks the capture, as a call that is not allowed in it does."""

    int32 = None

    def __init__(self, breaks=False):
        self.done, self.stream = [], "default"
        self.cuda = types.SimpleNamespace(
            CUDAGraph=Graph, Event=lambda **_: types.SimpleNamespace(record=lambda: None, synchronize=lambda: None, elapsed_time=lambda _: 1.0), graph=self.graph,
            graph_pool_handle=lambda: (0, 1), current_stream=lambda: self.stream, set_stream=self.set_stream, current_device=lambda: 3,
            synchronize=lambda: None)
        self._C = types.SimpleNamespace(_cuda_endAllocateToPool=lambda *given: self.done.append(("end", *given)),
                                        _cuda_releasePool=lambda *given: self.done.append(("release", *given)))
        self.breaks = breaks

    def set_stream(self, stream):
        self.stream = stream

    @contextlib.contextmanager
    def graph(self, graph, pool, **_):
        self.stream = "capture"
        try:
            yield
        except Exception:
            if self.breaks:
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture\nand more")
            graph.ended, self.stream = 1, "default"
            raise
        graph.ended, self.stream = 1, "default"

    @staticmethod
    def tensor(values, **_):
        return values[0]


def fail():
    raise ValueError("cuMemAlloc in a capture\nhint: no")


def captures_leave_torch_whole():
    for breaks, done in ((True, [("end", 3, (0, 1)), ("release", 3, (0, 1))]), (False, [])):
        pt, said = Torch(breaks), ""
        try:
            torched.record(pt, fail)
        except (RuntimeError, ValueError) as error:
            said = torched.reason_of(error)
        expect(f"pools of a capture that fails: {pt.done}", pt.done == done)
        expect(f"the stream after it: {pt.stream}", pt.stream == "default")
        expect(f"the reason: {said}", "ValueError: cuMemAlloc in a capture" in said and "hint" not in said)
    pt = Torch()
    expect("a capture that is good", torched.record(pt, lambda: None).ended and not pt.done)


class Rank:
    """A rank that is a thread: all wait for each other in agree."""

    def __init__(self, number, board):
        self.number, self.board, self.pt = number, board, Torch(breaks=True)
        self.dist = types.SimpleNamespace(all_reduce=lambda *_: None, ReduceOp=types.SimpleNamespace(MAX=0))

    def agree(self, good):
        board = self.board
        board.votes[self.number] = good
        board.barrier.wait(10)
        everyone = all(board.votes)
        board.barrier.wait(10)
        return everyone


def no_rank_goes_on_alone():
    """Each step fails on one rank alone: both end there, both say why, and nobody replays."""
    for step in ("call", "capture", "none"):
        board = types.SimpleNamespace(votes=[True, True], barrier=threading.Barrier(2))
        ranks, sides, results = [Rank(number, board) for number in range(2)], [], [None, None]

        def make(rank, step=step):
            def call():
                if rank.number == 1 and (step == "call" or (step == "capture" and rank.pt.stream == "capture")):
                    fail()
            return gpus.Side("ours", call)
        sides = [make(rank) for rank in ranks]

        def run(number):
            results[number] = gpus.prepare(ranks[number], sides[number], None)
        threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        expect(f"{step}: {results}", results == [step == "none"] * 2)
        replays = [getattr(getattr(side, "graph", None), "replays", 0) for side in sides]
        expect(f"{step}: replays {replays}", replays == ([1, 1] if step == "none" else [0, 0]))
        if step != "none":
            expect(f"{step}: {[side.why for side in sides]}", sides[0].why == "failed on another rank" and "cuMemAlloc" in sides[1].why)


captures_leave_torch_whole()
no_rank_goes_on_alone()
for one in wrong:
    print("wrong:", one)
sys.exit(bool(wrong))
