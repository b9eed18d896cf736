# SPDX-License-Identifier: Apache-2.0
# circles.py SOURCES BUILD NM OBJECTS...: no files of a program call each other in a circle. Each OBJECTS names the object files
# of one program (the library, the driver, the command), one a line, below the build directory. A calls B if A's object uses a
# symbol that B's object defines. Headers of one folder do not include each other in a circle either (between folders CMake
# refuses that). circles.allowed names the circles that stay: the list may shrink, never grow. CJ_UPDATE_INSPECT=1 deletes from
# it what is gone.
import collections
import os
import pathlib
import re
import subprocess
import sys

root, build, nm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
programs = [pathlib.Path(path).read_text().split() for path in sys.argv[4:]]
allowed_file = pathlib.Path(__file__).with_name("circles.allowed")


def name_of(path):  # of an object: "templates/gemm/plan/plan.c"
    folder, source = re.match(r"(.*?)/?CMakeFiles/[^/]+\.dir/(.*)\.o$", os.path.relpath(path, build)).groups()
    return os.path.normpath(os.path.join(folder, source.replace("__/", "../")))


def symbol_calls(objects):
    defined, used = {}, collections.defaultdict(set)
    for path in objects:
        for line in subprocess.run([nm, path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind == "U":
                used[path].add(symbol)
            elif kind in "TDBRVWC":
                defined[symbol] = path
    return {(name_of(a), name_of(defined[s])) for a in objects for s in used[a] if s in defined}


def includes(objects):
    found = set()
    for folder in {(root / name_of(o)).parent for o in objects}:
        for path in folder.glob("*.h"):
            for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
                if (folder / header).exists():
                    found.add((str(path.relative_to(root)), str((folder / header).relative_to(root))))
    return found


def circles(edges):  # strongly connected components of more than one file (Tarjan)
    calls = collections.defaultdict(set)
    for a, b in edges:
        calls[a].add(b)
    number, least, path, found = {}, {}, [], []

    def visit(a):
        number[a] = least[a] = len(number)
        path.append(a)
        for b in sorted(calls[a]):
            if b not in number:
                visit(b)
            if b in path:
                least[a] = min(least[a], least[b])
        if least[a] == number[a]:
            at = path.index(a)
            if len(path) - at > 1:
                found.append(frozenset(path[at:]))
            del path[at:]

    for a in sorted(calls):
        if a not in number:
            visit(a)
    return found


def shown(circle, edges):
    lines = [f"{len(circle)} files: {' '.join(sorted(circle))}"]
    return "\n".join(lines + [f"    {a} -> {b}" for a, b in sorted(edges) if a != b and {a, b} <= circle])


sys.setrecursionlimit(10000)
found, files, calls, edges = [], 0, 0, set()
for objects in programs:
    of_program = symbol_calls(objects) | includes(objects)
    found += circles(of_program)
    edges |= of_program
    files, calls = files + len(objects), calls + len(of_program)
lines = allowed_file.read_text().splitlines()
allowed = [frozenset(line.split()) for line in lines if line and not line.startswith("#")]
new = [c for c in found if not any(c <= a for a in allowed)]
gone = [a for a in allowed if a not in found]
for circle in new:
    print("FAIL: a circle that circles.allowed does not have:", shown(circle, edges))
if gone and os.environ.get("CJ_UPDATE_INSPECT"):
    head = [line for line in lines if line.startswith("#")]
    kept = sorted(" ".join(sorted(c)) for c in found if c not in new)
    allowed_file.write_text("\n".join(head + kept) + "\n")
    gone = []
for circle in gone:
    print("FAIL: circles.allowed has a circle that is no more, or has become smaller (CJ_UPDATE_INSPECT=1 deletes it):",
          " ".join(sorted(circle)))
print(f"{len(programs)} programs, {files} files, {calls} calls, {len(found)} circles")
sys.exit(bool(new or gone))
