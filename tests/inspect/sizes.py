# SPDX-License-Identifier: Apache-2.0
# sizes.py SOURCES: no function of more than 50 lines (from its name to its last brace, comments and blank lines included),
# no file of more than 600. sizes.allowed names those that are still longer, each with its lines: they may become shorter,
# never longer, and the list may shrink, never grow. CJ_UPDATE_INSPECT=1 deletes from it what is gone.
import os
import pathlib
import re
import sys

FUNCTION, FILE = 50, 600
root = pathlib.Path(sys.argv[1])
allowed_file = pathlib.Path(__file__).with_name("sizes.allowed")


def functions(lines):
    start = None
    for i, line in enumerate(lines):
        if line.startswith("}"):
            if start is not None and name:
                yield name, i - start + 1
            start = None
        elif line[:1].isalpha() and start is None:
            head = re.match(r"(?:[\w\s*]*[\s*])?CJ_EXEC\((\w+)\)|\w[\w\s*]*[\s*](\w+)\(", line)
            start, name = (i, head.group(1) or head.group(2)) if head else (None, None)
            if start is not None and line.rstrip().endswith(("}", ";")):
                start = None
        elif start is not None and line.rstrip().endswith(");") and line[:1] == " " and not opened(lines, start, i):
            start = None  # a declaration of several lines


def opened(lines, start, end):
    return any(line.split("//")[0].rstrip().endswith("{") for line in lines[start:end + 1])


found, count = {}, 0
for folder in ["src", "ptxgen", "templates"]:
    for path in sorted([*(root / folder).rglob("*.c"), *(root / folder).rglob("*.h")]):
        lines, name = path.read_text().splitlines(), str(path.relative_to(root))
        count += 1
        if len(lines) > FILE:
            found[name] = len(lines)
        for function, length in functions(lines):
            if length > FUNCTION:
                found[f"{name}:{function}"] = length

text = allowed_file.read_text().splitlines()
allowed = {line.split()[0]: int(line.split()[1]) for line in text if line and not line.startswith("#")}
longer = {k: v for k, v in found.items() if v > allowed.get(k, 0)}
gone = [k for k, v in allowed.items() if found.get(k, 0) < v]
for key, lines in longer.items():
    print(f"FAIL: {key} has {lines} lines; the limit is {allowed.get(key, FUNCTION if ':' in key else FILE)}")
if gone and os.environ.get("CJ_UPDATE_INSPECT"):
    kept = [f"{k} {min(v, allowed[k])}" for k, v in found.items() if k in allowed]
    allowed_file.write_text("\n".join([line for line in text if line.startswith("#")] + kept) + "\n")
    gone = []
for key in gone:
    print(f"FAIL: sizes.allowed says {key} has {allowed[key]} lines; it has fewer (CJ_UPDATE_INSPECT=1 corrects it)")
print(f"{count} files, {len(found)} that are too long or have a function that is")
sys.exit(bool(longer or gone))
