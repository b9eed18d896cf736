# SPDX-License-Identifier: Apache-2.0
"""sweep_ahead.py TOOLS: sweep's processes that compile, with jobs that compile nothing. Jobs begin in their order; what fails counts
as done; a process that ends, or does not end its job in time, costs that job alone; too many of them end the compiling."""
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[1])
from shared import ahead  # noqa: E402


def prepare():
    """Once a process."""
    return ""


def refuse():
    return "there is nothing to compile with"


def job(request, name):
    """A request is the number of the shape, and the file that says what was done, on which GPU."""
    number, log = request
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{number} {name} {os.environ.get('CUDA_VISIBLE_DEVICES')}\n")
    if name == "fails":
        raise ValueError("it does")
    if name == "hangs":
        time.sleep(3600)
    if name == "dies":
        os._exit(3)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def check_choices():
    expect("GPUs of two", ahead.other_gpus(None, 2), ["1"])
    expect("GPUs of four", ahead.other_gpus("", 4), ["1", "2", "3"])
    expect("named GPUs", ahead.other_gpus("5, GPU-3f,2", 3), ["GPU-3f", "2"])
    expect("GPUs that are not there", ahead.other_gpus("0,7", 1), [])
    expect("one GPU", ahead.other_gpus("3", 1), [])
    expect("workers", [ahead.worker_count(*of) for of in ((32, 1, 900), (16, 0, 900), (128, 3, 900), (2, 1, 900), (32, 1, 5))],
           [ahead.WORKERS, 12, 3 * ahead.WORKERS, 1, 5])


def compiled(wanted, gpus, prepare=prepare, seconds=60):
    """What Ahead says of all requests, and the lines of what was done."""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        log.touch()
        compiling = ahead.Ahead(job, [((i, str(log)), names) for i, names in enumerate(wanted)], prepare, gpus, lambda: seconds)
        try:
            reasons = [compiling.reasons(i) for i in range(len(wanted))]
        finally:
            compiling.end()
        return reasons, log.read_text(encoding="utf-8").splitlines()


def check_jobs(gpus, seen, wanted):
    """Of one process (`worker_count`), so that the order can be told."""
    reasons, done = compiled(wanted, gpus)
    lost = {"hangs": f"was not compiled within {ahead.JOB_SECONDS} s", "dies": "the process that compiled it ended"}
    expect("reasons", reasons, [{name: lost.get(name, "") for name in names} for names in wanted])
    expect("order", done, [f"{i} {name} {seen}" for i, names in enumerate(wanted) for name in names])


def check_losses():
    reasons, done = compiled([["dies"]] * 3 + [["compile"]], ["1"])
    expect("begun jobs", len(done), 2)
    expect("the jobs after", [list(of.values())[0][:8] for of in reasons[2:]], ["too many"] * 2)
    reasons, done = compiled([["compile"]], [], refuse)
    expect("a process that cannot compile", (reasons, done), ([{"compile": "the process that compiled it ended"}], []))


def check_late_batch():
    """It is measured without what was not compiled, and the next one gets other processes."""
    reasons, _ = compiled([["compile"], ["hangs"], ["compile"], ["compile"], ["compile"]], [])
    expect("reasons of batches", ["" in of.values() for of in reasons], [True, False, False, True, True])


def check_share_of_the_budget():
    """A batch does not take all the time that is left: what was compiled can be measured."""
    begun = time.monotonic()
    reasons, _ = compiled([["compile"], ["hangs"]], [], seconds=6)
    expect("reasons within the budget", ["" in of.values() for of in reasons], [True, False])
    expect("less than the budget", time.monotonic() - begun < 6, True)


if __name__ == "__main__":
    check_choices()
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    ahead.worker_count = lambda cores, gpus, jobs: 1
    ahead.JOB_SECONDS, ahead.BATCH, ahead.LOSSES = 4, 3, 2
    check_jobs(["7"], "7", [["quack", "compile"], [], ["fails"], ["hangs"], ["compile"], ["dies", "compile"]])
    check_jobs([], "None", [["quack", "compile"], [], ["fails"], ["compile"], ["dies", "compile"]])
    check_losses()
    ahead.JOB_SECONDS, ahead.BATCH_SECONDS = 60, 3
    check_late_batch()
    ahead.BATCH_SECONDS = 60
    check_share_of_the_budget()
