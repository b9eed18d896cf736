#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several GPUs: our collectives and fused kernels beside NCCL, torch's symmetric memory and our own kernels on one GPU.

    gpus.py [--gpus N] [--only allreduce,norm,...] [--rounds N] [--no-compile] [--json FILE]
    gpus.py [--gpus N] --again  # all-reduces of registered memory, held against their sums again and again

One process a GPU, all of one node. Each side is a CUDA graph of many calls; all ranks replay it at once, sides in turn; a time is the
median of rounds, of the slowest rank. Results are held against a float64 reference of poisoned outputs. It needs the installed package
and torch 2.6 or later with NCCL. NVLink multicast stays off.
Exit codes: 0 measured, 1 a failure or a wrong result, 2 usage, 77 nothing to measure: no torch, or fewer than two GPUs."""
import argparse
import datetime
import json
import math
import os
import signal
import statistics
import sys

from shared import torched
from shared.ours import die, new_file, say

os.environ.update(NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", NVSHMEM_DISABLE_NVLS="1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # each rank compiles: no pool of workers for each of them
# A graph's least time, a round's, and the most calls of a graph. Calls of less than 60 us of the host's time, which is what an estimate sees
# of the shortest ones, come to 64 a graph: a graph's own launch is then a small part of each, and the same one of each side.
GRAPH_US, ROUND_US, CALLS = 4000, 20000, 64
COLLECTIVE_S, READY_S = 60, 45  # after which a collective fails; a rank may compile for less, as the others wait for it in one
ALLREDUCE = {1 << 14: 3.0, 1 << 16: 3.6, 1 << 18: 5.5, 1 << 20: 10, 1 << 22: 25, 1 << 26: None, 1 << 28: None}  # bytes, goal in us
TOLERANCE = 4e-2  # of bf16: of the largest element of the reference


class Side:
    """One way to do it: `call()` returns what it found, a tensor or a tuple; `reset()` makes its inputs new; `ready()` compiles what it needs,
    without other ranks."""

    def __init__(self, name, call, reset=lambda: None, ready=None):
        self.name, self.call, self.reset, self.ready, self.why, self.times = name, call, reset, ready, "", []


class Case:
    """A row of the table: what is done, our goal in words, the sides, and what they should find."""

    def __init__(self, label, goal, sides, want=None):
        self.label, self.goal, self.sides, self.want = label, goal, sides, want


class Rank:
    """What a process has: its rank, the group, our Gpus, and how to reach symmetric memory."""

    def __init__(self, pt, rank, size, options):
        import torch.distributed as dist
        import clusterjit
        self.pt, self.dist, self.cj, self.rank, self.size, self.options = pt, dist, clusterjit, rank, size, options
        pt.cuda.set_device(rank)
        dist.init_process_group("nccl", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=COLLECTIVE_S),
                                device_id=pt.device("cuda", rank))
        self.group = dist.group.WORLD.group_name
        dist.barrier()
        self.open()
        pt.manual_seed(options.seed + rank)

    def open(self):
        communicator = self.dist.group.WORLD._get_backend(self.pt.device("cuda"))._comm_ptr()
        self.gpus = self.cj.gpus.Gpus.from_nccl(communicator, f"gpu:{self.rank}", mail_bytes=256 << 20)

    def agree(self, good):
        """Whether it holds on all ranks."""
        good = self.pt.tensor([bool(good)], device="cuda", dtype=self.pt.int32)
        self.dist.all_reduce(good, self.dist.ReduceOp.MIN)
        return bool(int(good))

    def check(self):
        """What went wrong in our launches, "" if nothing did; then all ranks begin anew."""
        why = ""
        try:
            self.pt.cuda.synchronize()
            self.gpus.check()
        except self.cj.Error as error:
            why = f"rank {self.rank}: {error}"
        if not self.agree(not why):
            self.gpus.close()
            self.open()
        return why

    def random(self, *shape, dtype="bfloat16"):
        return self.pt.randn(*shape, device="cuda", dtype=getattr(self.pt, dtype))

    def same(self, x):
        """x of rank 0, on all ranks."""
        self.dist.broadcast(x, 0)
        return x

    def summed(self, x):
        """The sum over ranks in float64."""
        total = x.double()
        self.dist.all_reduce(total)
        return total

    def gathered(self, x):
        """What all ranks have, side by side along the last axis."""
        parts = [self.pt.empty_like(x) for _ in range(self.size)]
        self.dist.all_gather(parts, x.contiguous())
        return self.pt.cat(parts, dim=-1)

    def symmetric(self, shape, dtype="bfloat16"):
        import torch.distributed._symmetric_memory as symmetric
        x = symmetric.empty(*shape, dtype=getattr(self.pt, dtype), device=f"cuda:{self.rank}")
        symmetric.rendezvous(x, self.group)
        return x


# ---- what is measured: functions of a rank, which yield cases


def allreduce(r):
    for size, goal in ALLREDUCE.items():
        x = r.random(size // 2)
        out, plain, mine, theirs = r.pt.empty_like(x), x.clone(), x.clone(), r.pt.empty_like(x)
        shared, gpus = r.symmetric(x.shape), r.gpus
        for array in (mine, theirs):
            gpus.register(array)
        sides = [Side("ours", lambda: r.gpus.all_reduce(x, out=out), lambda: out.fill_(math.nan)),
                 Side("ours, registered", lambda: r.gpus.all_reduce(mine, out=theirs), lambda: theirs.fill_(math.nan)),
                 Side("NCCL", lambda: (r.dist.all_reduce(plain), plain)[1], lambda: plain.copy_(x)),
                 Side("symmetric, one shot", lambda: r.pt.ops.symm_mem.one_shot_all_reduce(shared, "sum", r.group),
                      lambda: shared.copy_(x)),
                 Side("symmetric, two shots", lambda: r.pt.ops.symm_mem.two_shot_all_reduce_(shared, "sum", r.group),
                      lambda: shared.copy_(x))]
        if size > 1 << 22:
            sides = [side for side in sides if "one shot" not in side.name]
        yield Case(f"all-reduce {size >> 10} KiB bf16", f"{goal} us" if goal else "1.0 of NCCL", sides, r.summed(x))
        r.pt.cuda.synchronize()
        r.dist.barrier()
        for array in (mine, theirs) if gpus is r.gpus else ():
            gpus.unregister(array)


def norm(r):
    weight = r.same(r.random(8192))
    for rows in (1, 4, 16, 64, 256):
        x, residual = r.random(rows, 8192), r.same(r.random(rows, 8192))
        plain, shared = x.clone(), r.symmetric(x.shape)

        def then_norm(summed):
            return r.cj.rms_norm(summed, weight, residual=residual)[0]
        h = r.summed(x) + residual.double()
        want = h / (h.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()
        one = rows <= 16
        yield Case(f"all-reduce + residual + rmsnorm {rows} x 8192 bf16", "1.7 x the best peer", [
            Side("ours", lambda: r.gpus.norm(x, residual=residual, weight=weight)[1]),
            Side("NCCL, our rmsnorm", lambda: (r.dist.all_reduce(plain), then_norm(plain))[1], lambda: plain.copy_(x)),
            Side("symmetric, our rmsnorm",
                 lambda: then_norm(r.pt.ops.symm_mem.one_shot_all_reduce(shared, "sum", r.group)) if one else
                 then_norm(r.pt.ops.symm_mem.two_shot_all_reduce_(shared, "sum", r.group)), lambda: shared.copy_(x))], want)


def crossentropy(r):
    pt, rows, columns = r.pt, 4096, 32768
    x, label = r.random(rows, columns), r.same(pt.randint(0, columns * r.size, (rows,), device="cuda"))
    low, own = r.rank * columns, label % columns

    def greatest(x):
        return x.float().amax(1)

    def parts(x, most, label):
        inside = (label >= low) & (label < low + columns)
        at = pt.where(inside, label - low, 0)
        picked = pt.where(inside, x.gather(1, at[:, None])[:, 0].float(), 0)
        return pt.stack(((x.float() - most[:, None]).exp().sum(1), picked))

    def finish(x, most, both, label):
        inside = (label >= low) & (label < low + columns)
        at = pt.where(inside, label - low, 0)
        p = (x.float() - most[:, None]).exp() / both[0][:, None]
        hit = (pt.arange(columns, device="cuda")[None, :] == at[:, None]) & inside[:, None]
        return most + both[0].log() - both[1], pt.where(hit, p - 1, p).to(x.dtype)

    def whole(greatest, parts, finish):
        most = greatest(x)
        r.dist.all_reduce(most, r.dist.ReduceOp.MAX)
        both = parts(x, most, label)
        r.dist.all_reduce(both)
        return finish(x, most, both, label)[0]
    full = r.gathered(x)
    want = pt.cat([pt.nn.functional.cross_entropy(full[i:i + 256].double(), label[i:i + 256], reduction="none")
                   for i in range(0, rows, 256)])
    del full
    sides = [Side("ours", lambda: r.gpus.cross_entropy(x, label, gradient=True)[0]),
             Side("our kernel of one GPU", lambda: (r.cj.cross_entropy(x, own, gradient=True), want)[1]),
             Side("torch eager and NCCL", lambda: whole(greatest, parts, finish))]
    if r.options.compile:
        quick = [torched.compiled(pt, one) for one in (greatest, parts, finish)]

        def compile_all():
            most = quick[0](x)
            quick[2](x, most, quick[1](x, most, label), label)
        sides.append(Side("torch.compile and NCCL", lambda: whole(*quick), ready=compile_all))
    yield Case(f"cross-entropy {rows} x {r.size} x {columns} bf16, loss and gradient", "1.15 of one GPU's; 5 x eager; 2 x compiled",
               sides, want)


def topk(r):
    x = r.random(128, 32064)
    full = r.gathered(x)
    for k in (1, 50):
        want = full.topk(k).values.double()
        yield Case(f"top-{k} of 128 x {r.size} x 32064 bf16", "one GPU's + 4 us", [
            Side("ours", lambda k=k: r.gpus.topk(x, k)[0]),
            Side("our kernel of one GPU", lambda k=k, want=want: (r.cj.topk(x, k), want)[1])], want)


def whole(r):
    x = r.random((1 << 30) // r.size, dtype="float32")
    yield Case(f"sum of 2^30 f32 on {r.size} GPUs", "one GPU's + 6 us", [
        Side("ours", lambda: r.gpus.reduce(x)), Side("our kernel of one GPU", lambda: r.cj.sum(x))])
    yield Case(f"histogram of 2^30 f32 on {r.size} GPUs", "one GPU's + 6 us", [
        Side("ours", lambda: r.gpus.histogram(x, 256, (-3.0, 3.0))),
        Side("our kernel of one GPU", lambda: r.cj.histogram(x, 256, (-3.0, 3.0)))])


def product(r):
    for m, n, k in ((4096, 8192, 28672 // r.size), (1024, 8192, 28672 // r.size), (8192, 8192, 8192 // r.size)):
        a, b = r.random(m, k), r.random(k, n) / 64
        out, full = r.pt.empty(m // r.size, n, device="cuda", dtype=a.dtype), r.pt.empty(m, n, device="cuda", dtype=a.dtype)
        total = r.summed(a.float() @ b.float())
        want = total[r.rank * (m // r.size):(r.rank + 1) * (m // r.size)]
        yield Case(f"product {m} x {n} x {k} bf16, reduce-scatter", "as far as it beats the sequence", [
            Side("ours", lambda: r.gpus.matmul_reduce_scatter(a, b)),
            Side("torch, NCCL", lambda: (r.pt.matmul(a, b, out=full), r.dist.reduce_scatter_tensor(out, full), out)[2]),
            Side("symmetric", lambda: r.pt.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, r.group))], want)
        del total
        part, weight = r.random(m // r.size, n), r.random(n, k) / 64
        every = r.pt.empty(m, n, device="cuda", dtype=part.dtype)
        r.dist.all_gather_into_tensor(every, part)
        yield Case(f"all-gather, product {m} x {k} x {n} bf16", "as far as it beats the sequence", [
            Side("ours", lambda: r.gpus.all_gather_matmul(part, weight)),
            Side("NCCL, torch", lambda: (r.dist.all_gather_into_tensor(every, part), every @ weight)[1]),
            Side("symmetric", lambda: r.pt.ops.symm_mem.fused_all_gather_matmul(part, [weight], 0, r.group)[1][0])],
                   (every.float() @ weight.float()).double())


FAMILIES = {one.__name__: one for one in (allreduce, norm, crossentropy, topk, whole, product)}


# ---- one of them again and again


def where(r, found, want):
    """How many elements are wrong, and of the first: its index, whose part it is, what is there, and what should be."""
    off = ((found.double() - want).abs() <= TOLERANCE * want.abs().max()).logical_not_()
    count = int(off.sum())
    if not count:
        return ""
    at, last = int(off.int().argmax()), len(off) - 1 - int(off.flip(0).int().argmax())
    part = -(-len(off) // r.size)
    return (f"rank {r.rank}: {count} of {len(off)} wrong, {at} (part {at // part} + {at % part}) to {last} (part {last // part} + "
            f"{last % part}); the first is {float(found[at])}, not {float(want[at])}; {int(found.isnan().sum())} are still poison")


def repeat(r, label, mine, theirs, want, waits):
    """20 calls, each into fresh poison; `waits`: all ranks have poisoned theirs before one begins."""
    said, wrong, longest = [], 0, 0.0
    for call in range(20):
        theirs.fill_(math.nan)
        if waits:
            r.pt.cuda.synchronize()
            r.dist.barrier()
        longest = max(longest, torched.milliseconds(r.pt, lambda: r.gpus.all_reduce(mine, out=theirs), 1))
        why, gpus = where(r, theirs, want), r.gpus
        wrong += not r.agree(not why)
        why = "; ".join(filter(None, (why, r.check())))
        said += [f"{label}: call {call}: {why}"] if why and len(said) < 3 else []
        if gpus is not r.gpus:
            break
    for line in said:
        say(line)
    if r.rank == 0:
        print(f"{label}: {wrong} of {call + 1} calls wrong, the longest {longest:.2f} ms", flush=True)
    return wrong


def again(r):
    """All-reduces of registered memory, as `allreduce` has them: first alone, then after graphs of NCCL, which registers what it is
    given, too. Arrays are new for each size; in the second turn at addresses that others had before."""
    wrong = 0
    for turn in range(2):
        for size in (1 << 22, 1 << 23, 1 << 24, 1 << 25, 1 << 26, 1 << 27):
            x = r.random(size // 2)
            out, plain, mine, theirs, gpus = r.pt.empty_like(x), x.clone(), x.clone(), r.pt.empty_like(x), r.gpus
            want, label = r.summed(x), f"registered {size >> 20} MiB, turn {turn}"
            for array in (mine, theirs):
                gpus.register(array)
            wrong += repeat(r, label, mine, theirs, want, waits=False)
            sides = [Side("ours", lambda: r.gpus.all_reduce(x, out=out)), Side("NCCL", lambda: (r.dist.all_reduce(plain), plain)[1])]
            for side in sides:
                prepare(r, side, None)
            for waits in (False, True):
                if gpus is r.gpus:
                    wrong += repeat(r, label + ", after graphs" + waits * ", poisoned before a barrier", mine, theirs, want, waits)
            for side in sides:
                side.graph = side.kept = None
            r.dist.barrier()
            for array in (mine, theirs) if gpus is r.gpus else ():
                gpus.unregister(array)
            if turn:
                x = out = plain = mine = theirs = want = None
                r.pt.cuda.empty_cache()
    return wrong


# ---- how it is measured


def error_of(pt, found, want):
    """The largest difference over the largest element; infinite where one is no number."""
    found = found.double().reshape(want.shape)
    if not bool(pt.isfinite(found).all()):
        return math.inf
    return float((found - want).abs().max() / want.abs().max().clamp_min(1e-30))


def within(seconds, work):
    """Does it, or raises TimeoutError when it takes longer."""
    def late(*_):
        raise TimeoutError(f"not ready after {seconds} s")
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        work()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def call_first(r, side, want):
    """The first calls, and the check."""
    side.call()
    side.reset()
    found = side.call()
    r.pt.cuda.synchronize()
    wrong = 0 if want is None else error_of(r.pt, found, want)
    if wrong > TOLERANCE:
        side.why = f"wrong by {wrong:.2g}"


def estimate(r, side):
    """How many calls a graph has, and how often a round replays it: the same on all ranks."""
    us = r.pt.tensor([torched.milliseconds(r.pt, side.call, 4) * 1e3 / 4], device="cuda")
    r.dist.all_reduce(us, r.dist.ReduceOp.MAX)
    us = max(2, float(us))
    side.calls = max(1, min(CALLS, math.ceil(GRAPH_US / us)))
    side.repeat = max(1, math.ceil(ROUND_US / us / side.calls))


def capture(r, side):
    def work():
        for _ in range(side.calls):
            side.kept = side.call()
    side.graph = torched.record(r.pt, work)


def prepare(r, side, want):
    """All that is done before a side is measured; False, with the reason, if a rank has failed. Ranks agree after each step: one that
    went on alone, with a graph that others do not have, would wait for them until its limit, and leave epochs out of step."""
    steps = (lambda: call_first(r, side, want), lambda: estimate(r, side), lambda: capture(r, side), lambda: side.graph.replay())
    ready = (lambda: within(READY_S, side.ready),) if side.ready else ()
    for step in ready + steps:
        try:
            step()
            r.pt.cuda.synchronize()
        except Exception as error:  # of one side: the others are measured
            side.why = side.why or torched.reason_of(error)
        if not r.agree(not side.why):
            side.why = side.why or "failed on another rank"
            return False
    return True


def measure(r, case):
    """Rounds in turn; microseconds a call by the slowest rank."""
    pt, able, gpus = r.pt, [], r.gpus
    for side in case.sides:
        if gpus is not r.gpus and side.name.startswith("ours"):
            side.why = "the ranks have begun anew"
            continue
        able += [side] if prepare(r, side, case.want) else []
        why = r.check()
        if why:
            side.why = side.why or why
            say(f"{case.label}: {side.name}: {why}")
        if gpus is not r.gpus:  # graphs of ours are of mailboxes that are gone
            able = [one for one in able if not one.name.startswith("ours")]
    for _ in range(r.options.rounds):
        for side in able:
            side.graph.replay()
            r.dist.barrier()
            us = pt.tensor([torched.milliseconds(pt, side.graph.replay, side.repeat) * 1e3 / side.repeat / side.calls], device="cuda")
            r.dist.all_reduce(us, r.dist.ReduceOp.MAX)
            side.times.append(float(us))
    row = {"case": case.label, "goal": case.goal,
           "us": {side.name: statistics.median(side.times) for side in able}, "why": {side.name: side.why for side in case.sides if side.why}}
    for side in case.sides:
        side.graph = side.kept = None
    return row


def show(row):
    words = ", ".join(f"{name} {us:.2f}" for name, us in row["us"].items())
    print(f"{row['case']:62} {words}   (goal {row['goal']})", flush=True)
    for name, why in row["why"].items():
        say(f"{row['case']}: {name}: {why}")


def run_rank(rank, options, size):
    pt, _ = torched.load()
    r, rows = Rank(pt, rank, size, options), []
    if rank == 0:
        print(f"{size} x {pt.cuda.get_device_name()}, torch {pt.__version__}, NCCL {'.'.join(map(str, pt.cuda.nccl.version()))}, "
              f"seed {options.seed}; us a call; each rank reaches the others by {', '.join(r.gpus.info.reach)}", flush=True)
    if options.again and again(r):
        rows.append({"why": {"again": "wrong"}})
    for name in options.only:
        for case in FAMILIES[name](r):
            rows.append(measure(r, case))
            if rank == 0:
                show(rows[-1])
                if options.json:
                    options.json.write_text(json.dumps({"gpus": size, "seed": options.seed, "rows": rows}, indent=1) + "\n")
    r.gpus.check()
    pt.cuda.synchronize()
    r.dist.barrier()
    r.gpus.close()
    r.dist.destroy_process_group()
    if any("wrong" in why for row in rows for why in row["why"].values()):
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, metavar="N", help="of this node (all)")
    parser.add_argument("--only", metavar="FAMILIES", help=f"with commas ({','.join(FAMILIES)}; with --again none)")
    parser.add_argument("--again", action="store_true", help="all-reduces of registered memory, each held against its sum, without times")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="of each side (9)")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (1)")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="without torch.compile")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="where all figures go")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else [] if options.again else list(FAMILIES)
    if set(options.only) - set(FAMILIES) or options.rounds < 1:
        parser.error(f"no such family: {', '.join(set(options.only) - set(FAMILIES))}" if options.rounds > 0 else "--rounds is at least 1")
    pt, why = torched.load()
    if not pt:
        die(why, 77)
    size = options.gpus or pt.cuda.device_count()
    if not 2 <= size <= pt.cuda.device_count():
        die(f"{size} GPUs are asked for, of {pt.cuda.device_count()}; at least 2 are needed", 77)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    import torch.multiprocessing
    torch.multiprocessing.spawn(run_rank, (options, size), size)


if __name__ == "__main__":
    main()
