#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the CPU device is: a table, and all figures as JSON, each with the command that measures it again.

    cpu.py [--only TEXT] [--rounds N] [--json FILE] [--ptxgen PATH] [--folder DIR] [--list] [--slowest N]

Kernels of one kind of instruction are written to PTX files (--folder) and run by `ptxgen exec`, families by `ptxgen run`: on one
host thread, except where two are compared. A figure is that of the fastest of some rounds; a product of m x n x k is 2 m n k
operations. There is one for each form, type and shape of `ptxgen isa`; the slowest of them stand once more at the end. `hazards` rows are ratios of times: with hazards on over off, or one host thread over two.
Exit codes: 0 measured, 1 a failure, 2 usage, 77 no ptxgen."""
import argparse
import json
import pathlib
import shlex

from shared import cpu_kernels, cpu_products, ours

FAMILIES = [  # each of 0.1 to 1 s without hazards on a core of 2.6 GHz, before
    "reduce --n 33554432", "reduce --n 4194304 --dtype f64 --op meanvar", "softmax --rows 1024 --columns 8192",
    "logsoftmax --rows 1024 --columns 4096", "rmsnorm --rows 2048 --columns 4096", "layernorm --rows 1024 --columns 4096",
    "crossentropy --rows 1024 --columns 4096", "scan --columns 4194304", "scan --rows 1024 --columns 4096",
    "topk --rows 512 --columns 4096", "argmax --rows 2048 --columns 4096", "histogram --n 2097152",
    "stencil --nx 1024 --ny 1024", "stencil --dim 3 --nx 64 --ny 64 --nz 64", "exchange --pattern all-to-all --n 4096 --cluster 8 --repeat 16",
    "collective --op allreduce --cluster 8 --count 512 --rounds 64", "gemm --m 512 --n 512 --k 1024", "gemm --m 512 --n 512 --k 512 --dtype tf32 --b column",
    "gemm --m 1024 --n 512 --k 512 --dtype e4m3 --b column"]
THREADED = ["softmax --rows 1024 --columns 8192", "topk --rows 512 --columns 4096", "gemm --m 512 --n 512 --k 1024", "scan --columns 4194304"]
GOAL = 20  # GFLOP/s of a product
FORMAT = "{:<58} {:>10}  {}"


class Failed(Exception):
    pass


def milliseconds(options, words):
    """Of the fastest round of a command, and the words that it was called by."""
    best, command = None, [options.ptxgen, *words, "--json"]
    for _ in range(options.rounds):
        done = ours.run(*command)
        if done.returncode:
            raise Failed(f"'{shlex.join(command)}' failed with exit code {done.returncode}:\n{done.stderr.rstrip()}")
        took = json.loads(done.stdout)["time_ms"]
        best = took if best is None else min(best, took)
    return best, shlex.join(["ptxgen", *words, "--json"])


def run_kernel(options, kernel):
    path = options.folder / (kernel.name.replace(" ", "-").replace("/", "-") + ".ptx")
    path.write_text(kernel.text, encoding="ascii")
    took, command = milliseconds(options, ["exec", str(path), "--threads", "1", *kernel.words])
    return {"value": kernel.rate(took), "unit": kernel.unit, "milliseconds": [took], "commands": [command]}


def family_words(family, *more):
    return ["run", *family.split(), "--device", "cpu", *more]


def run_ratio(options, family, first, second):
    pairs = [milliseconds(options, family_words(family, *more)) for more in (first, second)]
    return {"value": pairs[0][0] / pairs[1][0], "unit": "x", "milliseconds": [took for took, _ in pairs],
            "commands": [command for _, command in pairs]}


def products(ptxgen):
    done = ours.run(ptxgen, "isa", "--json")
    if done.returncode:
        raise Failed(f"'{shlex.join(done.args)}' failed with exit code {done.returncode}:\n{done.stderr.rstrip()}")
    return cpu_products.products(json.loads(done.stdout)["forms"])


def figures(ptxgen):
    """Every figure: its name, and the function that measures it."""
    one, watched = ("--threads", "1"), ("--hazards", "on")
    for kernel in (*products(ptxgen), *cpu_kernels.KERNELS):
        yield kernel.name, lambda o, k=kernel: run_kernel(o, k)
    for family in FAMILIES:
        yield f"hazards on/off {family}", lambda o, f=family: run_ratio(o, f, (*watched, *one), ("--hazards", "off", *one))
    for family in THREADED:
        two = (*watched, "--threads", "2")
        yield f"hazards on, 1/2 threads {family}", lambda o, f=family, t=two: run_ratio(o, f, (*watched, *one), t)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="of the figures, those with all these words in their names")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/bench-cpu"), help="of the kernels (build/bench-cpu)")
    parser.add_argument("--list", action="store_true", help="name the figures and measure none")
    parser.add_argument("--slowest", type=int, default=10, metavar="N", help="products that are printed once more (10)")
    ours.add_options(parser, 3)
    options = ours.parse(parser)
    if not options.ptxgen:
        ours.die("there is no ptxgen: build the release preset, or name one with --ptxgen", 77)
    options.rows = [row for row in figures(options.ptxgen) if all(word in row[0] for word in options.only.split())]
    return options if options.rows else parser.error(f"no figure has all words of '{options.only}'")


def show(name, row):
    print(FORMAT.format(name, f"{row['value']:.2f}", row["unit"]), flush=True)


def show_slowest(options, rows):
    slowest = sorted((row["value"], name) for name, row in rows.items() if "mma" in name and row["unit"] == "GFLOP/s")
    below = sum(value < GOAL for value, _ in slowest)
    if slowest and options.slowest:
        print(f"\nThe slowest of {len(slowest)} products; {below} are below {GOAL} GFLOP/s:")
    for _, name in slowest[:options.slowest]:
        show(name, rows[name])


def measure_all(options):
    rows = {}
    for name, measure in options.rows:
        ours.progress(name)
        rows[name] = measure(options)
        ours.progress()
        show(name, rows[name])
        if options.json:
            options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    show_slowest(options, rows)


def main():
    try:
        options = parse()
        if options.list:
            print("\n".join(name for name, _ in options.rows))
            return
        options.folder.mkdir(parents=True, exist_ok=True)
        measure_all(options)
    except Failed as failed:
        ours.die(str(failed))


if __name__ == "__main__":
    main()
