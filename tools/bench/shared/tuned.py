# SPDX-License-Identifier: Apache-2.0
"""For sweep --tune: what `ptxgen tune` would find on drawn shapes that the plan did not choose."""
import json
import os
import statistics
import subprocess
import tempfile

from . import calls
from .ours import progress, say

MATTERS = 1.03  # times as fast as the plan's choice: from here on the plan has something to learn
REFUSED = (4, 64)  # ptxgen's exit codes for a family that has nothing to tune, and for words that it does not take


def tune(ptxgen, problem, folder, seconds):
    """How many candidates `ptxgen tune` has on the CPU device, whose results it checks. Nothing of another run is found in the folder."""
    done = subprocess.run([ptxgen, "tune", *problem, "--device", "cpu", "--dry-run", "--json"], capture_output=True, text=True, check=False,
                          timeout=seconds, env={**os.environ, "CLUSTERJIT_CACHE_DIR": folder, "CLUSTERJIT_TUNING": "on"})
    if done.returncode:
        kind = calls.Refused if done.returncode in REFUSED else RuntimeError
        raise kind(f"ptxgen {' '.join(done.args[1:])}: exit code {done.returncode}: {done.stderr.strip()}")
    return len(json.loads(done.stdout)["candidates"])


def check(ptxgen, library, request, folder, seconds):
    row = {"family": request.family, "label": request.label}
    try:
        call = library.make(request)
        row["problem"], row["plan"] = " ".join(call.problem), call.plan
        call.close()
        row["candidates"] = tune(ptxgen, call.problem, folder, seconds)
    except subprocess.TimeoutExpired as late:
        row["late"] = f"{late.timeout:.0f} s"
    except calls.Refused as refused:
        row["refused"] = str(refused)
    except RuntimeError as wrong:
        row["wrong"] = str(wrong)
    return row


def check_all(options, path, clock):
    """Rows of all shapes, and the device's name."""
    library, ptxgen, rows = calls.Library(path, "cpu"), path.parent / "bin/ptxgen", []
    if not ptxgen.exists():
        raise OSError(f"{ptxgen} is not there: --tune wants it beside the library")
    with tempfile.TemporaryDirectory() as folder:
        for i, request in enumerate(options.requests):
            if clock.over():
                break
            clock.show(i, len(options.requests), request.label)
            rows.append(check(ptxgen, library, request, folder, min(clock.left(), options.limit)))
    return rows, library.name


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
    """The report, and whether a candidate was wrong or failed."""
    if options.device == "gpu":
        from shared import choices  # which takes torch
        rows, name = choices.sweep(options, path, clock)
    else:
        rows, name = check_all(options, path, clock)
    progress()
    for row, word in ((row, word) for row in rows for word in ("wrong", "refused", "late") if word in row):
        say(f"{row['label']}: {word}: {row[word]}")
    if len(rows) < len(options.requests):
        say(f"{len(rows)} of {len(options.requests)} shapes were tuned: {'the budget was spent' if clock.over() else 'the GPU was lost'}")
    show(rows)
    print(f"{name}, seed {options.seed}: {len(rows)} shapes, {sum(row.get('candidates', 0) for row in rows)} candidates, "
          f"{sum('wrong' in row for row in rows)} shapes with a wrong one, {sum('refused' in row for row in rows)} refused, "
          f"{sum('late' in row for row in rows)} late, {clock.seconds():.0f} s")
    return {"seed": options.seed, "device": name, "rows": rows}, any("wrong" in row for row in rows)
