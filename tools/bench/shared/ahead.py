# SPDX-License-Identifier: Apache-2.0
"""Compiling ahead of measuring, in other processes, which share caches on the disk with the one that measures.

Each process has a thread of this one, which hands it its jobs. A job that fails is compiled again, and its error shown, where it is
measured. A process that ends, or does not end its job in time, costs that job alone, and another process takes its place."""
import concurrent.futures
import fcntl
import itertools
import multiprocessing
import os
import signal
import sys
import tempfile
import threading

from shared.ours import progress, say

WORKERS, SPARE_CORES = 24, 4  # processes at most a GPU, whose memory they share; cores left to the process that measures
JOB_SECONDS, LOSSES = 180, 24  # that a job may take, its process's start included; lost processes in a row after which no job is begun
BATCH, BATCH_SECONDS = 48, 240  # requests that are compiled before they are measured, where both have the same GPU, and how long at most
BATCH_SHARE = 0.5               # of the time that is left: what is compiled is to be measured, too
FOREVER = 3600


def worker_count(cores, gpus, jobs):
    """Processes for so many jobs on `gpus` GPUs: one a core, but for the cores of the process that measures."""
    return max(1, min(cores - SPARE_CORES, WORKERS * max(1, gpus), jobs))


def other_gpus(visible, count):
    """All of `count` GPUs but the first, as CUDA_VISIBLE_DEVICES names each; `visible` is what that says here, or None."""
    names = visible.split(",") if visible else [str(i) for i in range(count)]
    return [name.strip() for name in names[1:count]]


# ---- a process that compiles


def benchmark_alone(lock):
    """Inductor's own measurements happen in one process at a time on a GPU: beside others' kernels it would choose badly. `lock` is a
    file, whose lock the system takes from a process that ends."""
    from torch._inductor.runtime.benchmarking import benchmarker
    measure = benchmarker.benchmark_gpu

    def alone(*arguments, **named):
        with open(lock, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return measure(*arguments, **named)

    benchmarker.benchmark_gpu = alone


def work(pipe, prepare, gpu, lock):
    """Does jobs until nobody sends any, if `prepare()` does not say why it cannot, and answers with their errors. `gpu` is the only one
    it sees; None: those that its parent sees."""
    os.nice(10)  # the process that measures goes first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that process answers it, and ends this one
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    if prepare():
        return
    if "torch" in sys.modules:
        benchmark_alone(lock)
    while True:
        try:
            job, arguments = pipe.recv()
        except EOFError:
            return
        error = ""
        try:
            job(*arguments)
        except Exception as failed:  # torch, inductor and CuTe have errors of many types
            error = f"{type(failed).__name__}: {failed}"[:400]
        pipe.send(error)


class Worker:
    """A process, as this one sees it."""

    def __init__(self, *how):
        context = multiprocessing.get_context("spawn")
        self.pipe, its = context.Pipe()
        self.process = context.Process(target=work, args=(its, *how), daemon=True)
        self.process.start()
        its.close()  # so that its end is an end of the file here

    def run(self, job, arguments):
        """Why the job has not ended, or ""; and its error, or ""."""
        try:
            self.pipe.send((job, arguments))
            if not self.pipe.poll(JOB_SECONDS):
                return f"was not compiled within {JOB_SECONDS} s", ""
            return "", self.pipe.recv()
        except (EOFError, OSError):
            return "the process that compiled it ended", ""

    def end(self):
        self.process.kill()


class Workers:
    """As many processes as `jobs` jobs are worth, which begin when there is a job for them."""

    def __init__(self, jobs, prepare, gpus=()):
        self.prepare, self.gpus, self.locks = prepare, gpus or [None], tempfile.TemporaryDirectory(prefix="bench-")
        self.starts, self.mine, self.lock = itertools.count(), threading.local(), threading.Lock()
        self.alive, self.losses, self.errors, self.ended = set(), 0, [], False
        count = worker_count(len(os.sched_getaffinity(0)), len(gpus), jobs)
        self.threads = concurrent.futures.ThreadPoolExecutor(count)

    def submit(self, job, *arguments):
        """A future: "" when the job has ended, with or without an error, or why it has not."""
        return self.threads.submit(self.run, job, arguments)

    def worker(self):
        """This thread's."""
        if not getattr(self.mine, "worker", None):
            gpu = self.gpus[next(self.starts) % len(self.gpus)]
            self.mine.worker = Worker(self.prepare, gpu, os.path.join(self.locks.name, f"gpu {gpu}"))
            self.alive.add(self.mine.worker)
        return self.mine.worker

    def run(self, job, arguments):
        if self.losses >= LOSSES:
            return "too many of the processes that compile were lost"
        try:
            worker = self.worker()
            why, error = ("the run ended", "") if self.ended else worker.run(job, arguments)
        except Exception as failed:  # no process, or nothing that can be sent to one
            return f"{type(failed).__name__}: {failed}"
        with self.lock:
            self.errors += [error] if error else []
            self.losses = self.losses + 1 if why else 0
            if self.losses == LOSSES and not self.ended:
                say(f"{LOSSES} processes that compile were lost, one after the other: the other shapes are measured without what they compile")
        if why:
            self.mine.worker = None
            self.alive.discard(worker)
            worker.end()
        return why

    def end(self):
        """The processes end, whatever they do."""
        self.ended = True
        self.threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self.alive):
            worker.end()
        self.locks.cleanup()
        if self.errors:
            say(f"{len(self.errors)} were compiled where they were measured, after errors in other processes; the first: {self.errors[0]}")


def wait_for(jobs, seconds=None):
    """Whether all these futures ended in time."""
    try:
        for i, _ in enumerate(concurrent.futures.as_completed(jobs, seconds)):
            progress(f"compiled: {i + 1} of {len(jobs)}")
    except concurrent.futures.TimeoutError:
        return False
    return True


# ---- what is compiled when


class Ahead:
    """Compiles for requests that are measured in their order: all of them at once on `gpus`, beside the measuring; without such GPUs
    a batch, before its first is measured. `wanted`: pairs of a request and the names of its jobs, compile_one(request, name) each;
    `left()`: the seconds that the run has yet."""

    def __init__(self, compile_one, wanted, prepare, gpus, left):
        self.compile_one, self.wanted, self.prepare, self.gpus, self.left = compile_one, wanted, prepare, gpus, left
        self.workers, self.jobs = None, {}
        if gpus:
            self.submit(range(len(wanted)))

    def submit(self, indices):
        count = sum(len(self.wanted[i][1]) for i in indices)
        if count and not self.workers:
            self.workers = Workers(count, self.prepare, self.gpus)
        for i in indices:
            request, names = self.wanted[i]
            self.jobs[i] = {name: self.workers.submit(self.compile_one, request, name) for name in names}

    def compile_batch(self, first):
        indices = range(first, min(first + BATCH, len(self.wanted)))
        self.submit(indices)
        jobs = [job for i in indices for job in self.jobs[i].values()]
        if not wait_for(jobs, min(BATCH_SECONDS, BATCH_SHARE * self.left())):
            say(f"{sum(not job.done() for job in jobs)} of {len(jobs)} were not compiled in time")
            self.end()

    def reasons(self, i):
        """By name of request i's jobs: "" for one that has ended, or why it has not. Waits for them."""
        if i not in self.jobs:
            self.compile_batch(i)
        return {name: self.reason(job) for name, job in self.jobs[i].items()}

    def reason(self, job):
        try:
            return job.result(min(FOREVER, self.left()))
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError):
            return "was not compiled in time"

    def end(self):
        if self.workers:
            self.workers.end()
            self.workers = None
