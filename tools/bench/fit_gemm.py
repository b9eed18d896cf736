#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of gemm's cost model to what variants.py measured: those of constants.def whose command is "fit".

    fit_gemm.py [--gpcs 18,18,16] [--mhz 1755] FILE ...

Least squares of the logarithms of predicted and measured time, by a loss that outliers sway little. What counts is which of a
shape's kernels is the fastest: so the errors are relative to their mean over the shape, those of kernels near the fastest weigh
most, and the mean itself counts little. Constants stay near those of now where the measurements do not say otherwise.
Prints what the choice by the prediction would lose against the fastest of the kernels measured, by the constants of now, by the
fitted ones, and by ones that were fitted to the other three quarters of the shapes; then the fitted constants as lines for
constants.def. --gpcs: SMs of the chip's GPCs, where they are known (`ptxgen occupancy`); else the prediction counts clusters as the
plan does on a device.
Exit codes: 0 fitted, 1 a failure, 2 usage, 77 NumPy or SciPy are absent."""
import argparse
import json
import pathlib
import types

from shared import gemm_model
from shared.ours import die

try:
    import numpy as np
    from scipy.optimize import least_squares
except ImportError as missing:
    die(f"{missing}: pip install numpy scipy", 77)

LAUNCH = 3600               # clocks of a launch in a graph, which all kernels take
SLOW = 2.5                  # times the fastest: kernels that the plan must not take, whatever is predicted
NEAR, LEAST = 1.5, 0.1      # a kernel that takes 1 + x of the fastest's time weighs exp(-NEAR x), and LEAST at least
MEAN, STAY, LOSS = 0.35, 0.05, 0.06  # weights of a shape's mean and of staying; the error from which it is an outlier
PARTS = 4                   # of the shapes, for the figure of shapes that were not fitted to


# ---- what was measured


def words_of(text):
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def read_one(file):
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        return die(f"{file} is not what variants.py --json writes: {error}", 1)


def read(files):
    return [row for file in files for row in read_one(file) if "kernels" in row]


def kernels_of(row):
    """Those of the form wgmma that ran in a graph, and are not too slow to count."""
    found = [kernel for kernel in row["kernels"] if "us" in kernel and not kernel.get("note") and "form=wgmma" in kernel["plan"].split()]
    return [kernel for kernel in found if kernel["us"] <= SLOW * min(other["us"] for other in found)]


class Data:
    """All kernels measured as arrays: the terms of the model, microseconds, the number of the shape."""

    def __init__(self, rows, gpcs):
        c, every = gemm_model.constants(), []
        self.labels, self.plans = [], []
        for row in rows:
            kernels = kernels_of(row)
            if len(kernels) < 2:
                continue
            for measured in kernels:
                plan = words_of(measured["plan"])
                product = gemm_model.Product.of({**words_of(row["label"]), "swap": plan.get("swap", "no")})
                kernel = gemm_model.Kernel.of(plan).with_stages(product, c)  # as the plan counts them
                room = gemm_model.room(gpcs, kernel.blocks) if gpcs else gemm_model.room_unknown(c, row["sms"], kernel.blocks)
                every.append({**gemm_model.terms(product, kernel, room), "us": measured["us"], "shape": len(self.labels)})
                self.plans.append(measured["plan"])
            self.labels.append(row["label"])
        if not every:
            die("the files have no shape with two kernels that were measured", 1)
        self.columns = {name: np.array([kernel[name] for kernel in every]) for name in every[0]}

    def of(self, chosen):
        """Terms, microseconds and shapes of the kernels of those shapes."""
        some = np.isin(self.columns["shape"], chosen)
        return types.SimpleNamespace(**{name: column[some] for name, column in self.columns.items()}, at=np.flatnonzero(some))


# ---- the fit


def with_values(names, values):
    c = gemm_model.constants()
    for name, value in zip(names, values):
        setattr(c, name, float(value))
    return c


def fit(data, names, mhz):
    now = gemm_model.constants()
    start, measured = np.log([getattr(now, name) for name in names]), np.log(data.us * mhz)
    shapes, shape = np.unique(data.shape, return_inverse=True)
    fastest = np.full(len(shapes), np.inf)
    np.minimum.at(fastest, shape, data.us)
    weight = LEAST + (1 - LEAST) * np.exp(-NEAR * (data.us / fastest[shape] - 1))
    whole = np.bincount(shape, weight)

    def errors(values):
        error = np.log(gemm_model.cost(with_values(names, np.exp(values)), data) + LAUNCH) - measured
        mean = np.bincount(shape, weight * error) / whole
        return np.concatenate([weight * (error - mean[shape]), MEAN * mean, STAY * (values - start)])
    return with_values(names, np.exp(least_squares(errors, start, loss="soft_l1", f_scale=LOSS, max_nfev=300).x))


def losses(data, c):
    """Of each shape: the time of the kernel of the fewest predicted clocks over the fastest's, the shape, both kernels' numbers."""
    predicted, found = gemm_model.cost(c, data), []
    for shape in np.unique(data.shape):
        some = np.flatnonzero(data.shape == shape)
        taken, fastest = some[np.argmin(predicted[some])], some[np.argmin(data.us[some])]
        found.append((data.us[taken] / data.us[fastest], int(shape), data.at[taken], data.at[fastest]))
    return found


def cross_validated(data, names, mhz):
    shapes, found = np.random.RandomState(0).permutation(len(data.labels)), []
    for part in range(min(PARTS, len(shapes) - 1)):
        left_out = shapes[part::PARTS]
        found += losses(data.of(left_out), fit(data.of(np.setdiff1d(shapes, left_out)), names, mhz))
    return found


# ---- what is printed


def show(title, found):
    loss = np.array([figures[0] for figures in found])
    print(f"{title:<42} mean {loss.mean():.4f}, median {np.median(loss):.3f}, 90 % {np.quantile(loss, 0.9):.3f}, most {loss.max():.2f}")


def short(plan):
    words = words_of(plan)
    return (f"{words['tile']} {words['cluster']}x{words['cluster-n']} split={words['split']} parts={words['parts']}" +
            (" in turn" if words["consumers"] == "in-turn" else ""))


def show_worst(data, found):
    us = data.columns["us"]
    for loss, shape, taken, fastest in sorted(found, reverse=True)[:10]:
        print(f"{loss:.2f}  {data.labels[shape]}\n      {short(data.plans[taken])}: {us[taken]:.2f} us; "
              f"{short(data.plans[fastest])}: {us[fastest]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE", help="of variants.py --json")
    parser.add_argument("--gpcs", type=lambda text: [int(sms) for sms in text.split(",")], help="SMs of each GPC, with commas")
    parser.add_argument("--mhz", type=float, default=1755, help="of an SM's clock while it was measured (1755)")
    options = parser.parse_args()
    rows, names = read(options.files), gemm_model.fitted()
    data = Data(rows, options.gpcs)
    every = data.of(range(len(data.labels)))
    print(f"{len(data.labels)} shapes, {len(data.plans)} kernels; the time of the kernel that is chosen, over the fastest's:")
    fitted = fit(every, names, options.mhz)
    now, then = losses(every, gemm_model.constants()), losses(every, fitted)
    show("by the constants of now", now)
    show("by the fitted ones", then)
    show("by ones fitted to the other shapes", cross_validated(data, names, options.mhz))
    for title, found in (("now", now), ("fitted", then)):
        print(f"the worst, {title}: chosen; fastest")
        show_worst(data, found)
    gpu = (rows[0]["device"].split() + ["-"])[1]
    print(*gemm_model.table_lines({name: getattr(fitted, name) for name in names}, gpu), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, ValueError) as error:
        die(f"{type(error).__name__}: {error}")
