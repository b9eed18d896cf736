# SPDX-License-Identifier: Apache-2.0
"""For sweep --tune: what `ptxgen tune` finds on drawn shapes that the plan did not choose."""
import json
import os
import statistics
import subprocess
import tempfile

from . import calls
from .ours import say

MATTERS = 1.03  # times as fast as the plan's choice: from here on the plan has something to learn
REFUSED = (4, 64)  # ptxgen's exit codes for a family that has nothing to tune, and for words that it does not take


def tune(ptxgen, problem, options, folder, seconds):
    """The report of `ptxgen tune`. What it keeps goes into a folder of this run, so that no shape finds another run's choices."""
    words = ["--dry-run"] if options.device == "cpu" else ["--rounds", str(options.rounds)]
    done = subprocess.run([ptxgen, "tune", *problem, "--device", options.device, *words, "--json"], capture_output=True, text=True, check=False,
                          timeout=seconds, env={**os.environ, "CLUSTERJIT_CACHE_DIR": folder, "CLUSTERJIT_TUNING": "on"})
    if done.returncode:
        kind = calls.Refused if done.returncode in REFUSED else RuntimeError
        raise kind(f"ptxgen {' '.join(done.args[1:])}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def row_of(report):
    """How many candidates were tried; with times, the fastest one's, and the plan's time over it."""
    row = {"candidates": len(report["candidates"])}
    if report["time_source"] != "host clock":
        best = report["candidates"][0]
        row.update(choice=best["choice"], ms=best["time_ms"], ratio=best["ratio"])
    return row


def measure(ptxgen, library, request, options, folder, seconds):
    row = {"family": request.family, "label": request.label}
    try:
        call = library.make(request)
        row["problem"], row["plan"] = " ".join(call.problem), call.plan
        call.close()
        row.update(row_of(tune(ptxgen, call.problem, options, folder, seconds)))
    except subprocess.TimeoutExpired as late:
        row["late"] = f"{late.timeout:.0f} s"
    except calls.Refused as refused:
        row["refused"] = str(refused)
    except RuntimeError as wrong:
        row["wrong"] = str(wrong)
    for name in ("wrong", "refused", "late"):
        if name in row:
            say(f"{request.label}: {name}: {row[name]}")
    return row


def show(rows):
    """Quantiles of the fastest candidate's speed over the plan's, and the ten shapes that say most."""
    rows = sorted((row for row in rows if "ratio" in row), key=lambda row: -row["ratio"])
    if not rows:
        return
    ratios = [row["ratio"] for row in rows]
    print(f"{len(rows)} shapes: the fastest candidate is as fast as the plan's choice times {statistics.median(ratios):.3f} (median), "
          f"{ratios[len(ratios) // 10]:.3f} (90 % quantile), {ratios[0]:.3f} (most); {sum(r >= MATTERS for r in ratios)} by {MATTERS} or more")
    for row in rows[:10]:
        print(f"{row['ratio']:.2f}  {row['label']}\n      {1e3 * row['ms']:.2f} us with {row['choice']}; the plan: {row['plan']}")


def sweep(options, path, clock):
    """The report, and whether a candidate was wrong. Problems are read off the CPU device, so that this process takes no GPU."""
    library, ptxgen, rows = calls.Library(path, "cpu"), path.parent / "bin/ptxgen", []
    if not ptxgen.exists():
        raise OSError(f"{ptxgen} is not there: --tune wants it beside the library")
    with tempfile.TemporaryDirectory() as folder:
        for i, request in enumerate(options.requests):
            if clock.over():
                say(f"the budget of {options.budget:g} s is spent: {i} of {len(options.requests)} shapes were tuned")
                break
            clock.show(i, len(options.requests), request.label)
            rows.append(measure(ptxgen, library, request, options, folder, min(clock.left(), options.limit)))
    show(rows)
    print(f"{options.device}, seed {options.seed}: {len(rows)} shapes, {sum(row.get('candidates', 0) for row in rows)} candidates, "
          f"{sum('wrong' in row for row in rows)} shapes with a wrong one, {sum('refused' in row for row in rows)} refused, "
          f"{sum('late' in row for row in rows)} late, {clock.seconds():.0f} s")
    return {"seed": options.seed, "device": options.device, "rows": rows}, any("wrong" in row for row in rows)
