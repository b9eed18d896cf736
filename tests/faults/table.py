#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of planted faults in README.md and docs/faults.md, from faults.txt, sanitizer.txt and seconds.txt beside this file.

    table.py --check           fails if a table is not what these files make of it (the test inspect.faults)
    table.py --write           writes the tables
    table.py --measure PTXGEN  runs every fault and writes seconds.txt
"""
import argparse
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BEGIN, END = "<!-- tests/faults/table.py writes this -->", "<!-- up to here -->"
TOP = 5  # rows that README shows
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
WORDS = {"found": "found", "-": "nothing", "driver": "the driver's error", "hung": "hangs", "hangs": "not run", "": "not measured"}


def rows(name, columns):
    """The rows of a table, by their first column; a row that is too short or names an unknown fault ends the program."""
    found = {}
    for line in (HERE / name).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != len(columns) or cells[0] in found:
            sys.exit(f"{name}: '{line}' has {len(cells)} columns, not {len(columns)}, or is there twice")
        found[cells[0]] = dict(zip(columns, cells))
    return found


def read():
    faults = rows("faults.txt", ("name", "rule", "launch", "result", "seen", "mistake"))
    for name, columns in (("sanitizer.txt", ("name", "alone") + TOOLS), ("seconds.txt", ("name", "ptx", "cold", "warm"))):
        for key, row in rows(name, columns).items():
            if key not in faults:
                sys.exit(f"{name}: there is no fault '{key}'")
            faults[key].update(row)
    return list(faults.values())


def source(fault, up):
    cuda = f", [.cu]({up}tests/faults/{fault['name']}.cu)" if has_cuda(fault) else ""
    return f"{fault['mistake']} ([.ptx]({up}tests/faults/{fault['name']}.ptx){cuda})"


def has_cuda(fault):
    return (HERE / f"{fault['name']}.cu").exists()


def finders(fault):
    """What compute-sanitizer's tools say, in one cell."""
    if "memcheck" not in fault:
        return "not measured"
    if fault["memcheck"] == "hangs":
        return "not run: hangs"
    found = [tool for tool in TOOLS if fault[tool] == "found"]
    return ", ".join(found) if found else "none of four tools"


def rule(fault):
    return " or ".join(f"`{name}`" for name in fault["rule"].split())


def seconds(fault):
    if "ptx" not in fault:
        return "not measured"
    return f"{fault['ptx']} s" + (f"; .cu {fault['warm']} s, compiled first {fault['cold']} s" if has_cuda(fault) else "")


def readme(faults):
    lines = ["| planted fault | compute-sanitizer, on a GPU | `ptxgen`, without one |", "| --- | --- | --- |"]
    for fault in faults[:TOP]:
        took = fault.get("warm" if has_cuda(fault) else "ptx", "")
        lines.append(f"| {source(fault, '')} | {finders(fault)} | {rule(fault)}, {took} s |")
    count, cuda = len(faults), sum(map(has_cuda, faults))
    lines += ["", f"[docs/faults.md](docs/faults.md) has all {count} kinds, {cuda} of them in CUDA C++, too, and how each cell was measured:",
              "compute-sanitizer of CUDA 13.0 on an H200, ours on one core, with NVRTC's PTX in the cache. Each fault is found at its line under",
              "twenty random schedules; a correct twin of each runs under the same schedules, and nothing is reported."]
    return lines


def page(faults):
    lines = ["| fault | on a GPU | " + " | ".join(TOOLS) + " | `ptxgen` reports | in |", "| --- " * (len(TOOLS) + 4) + "|"]
    for fault in faults:
        says = " | ".join(WORDS[fault.get(tool, "")] for tool in TOOLS)
        lines.append(f"| {source(fault, '../')} | {seen(fault)} | {says} | {rule(fault)} | {seconds(fault)} |")
    return lines


def seen(fault):
    """What is expected, and what is measured, if it is run."""
    is_measured = fault.get("alone", "") not in ("", "hangs")
    return fault["seen"] + (f"; measured: {fault['alone']}" if is_measured else "")


def put(path, lines, write):
    text = (ROOT / path).read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: '{BEGIN}' and '{END}' must stand there once")
    before, rest = text.split(BEGIN)
    made = before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1]
    if write:
        (ROOT / path).write_text(made)
    return made == text


def spent():
    """Seconds that the programs run so far have had of the processor: what else it does leaves this alone."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command, cache, runs):
    took = []
    for _ in range(runs):
        begin = spent()
        made = subprocess.run(command, env=dict(os.environ, CLUSTERJIT_CACHE_DIR=cache), capture_output=True, text=True)
        took.append(spent() - begin)
        if made.returncode != 1:
            sys.exit(f"{shlex.join(command)} exits with {made.returncode}, not with 1: {made.stderr}")
    return f"{min(took):.2f}" if min(took) >= 0.005 else "<0.01"


def measure(ptxgen, faults):
    lines = ["# Written by `table.py --measure`: seconds of one core, the least of several runs.",
             "# name | NAME.ptx by exec --hazards on | NAME.cu by check --run: compiled first | from the cache"]
    for fault in faults:
        name, launch = fault["name"], fault["launch"].split()
        with tempfile.TemporaryDirectory() as directory:
            text = (HERE / f"{name}.ptx").read_text().splitlines()
            ptx = pathlib.Path(directory) / "fault.ptx"
            ptx.write_text("".join(("" if "!fix" in line else line) + "\n" for line in text))
            row = [name, timed([ptxgen, "exec", str(ptx), *launch, "--hazards", "on"], directory, 5)]
            if has_cuda(fault):
                check = [ptxgen, "check", "--run", str(HERE / f"{name}.cu"), *launch]
                row += [timed(check, tempfile.mkdtemp(dir=directory), 1), timed(check, tempfile.mkdtemp(dir=directory), 5)]
            else:
                row += ["", ""]
        lines.append(" | ".join(row).replace("|  |", "| |").rstrip())
        print(lines[-1], flush=True)
    (HERE / "seconds.txt").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    what.add_argument("--measure", metavar="PTXGEN")
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure, read())
    faults = read()
    same = [put("README.md", readme(faults), asked.write), put("docs/faults.md", page(faults), asked.write)]
    if asked.check and not all(same):
        sys.exit("README.md or docs/faults.md has another table: run tests/faults/table.py --write")


if __name__ == "__main__":
    main()
