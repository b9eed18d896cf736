# SPDX-License-Identifier: Apache-2.0
# sizes.py SOURCES: no function of more than 50 lines (from its name to its last brace, comments and blank lines included), no file
# of more than 600, no folder of more than 25 sources. In a test the lines of a table within a function (from `= {` to `};`) do not
# count: they are the cases, each of which is read alone. sizes.allowed names what is still larger, each with its number and, for a
# folder, the reason: it may become smaller, never larger, and the list may shrink, never grow. A folder with a file for each thing that
# the library has (a family, a planted fault) grows with it: its number is "any". CJ_UPDATE_INSPECT=1 deletes from the list what is gone.
import ast
import collections
import os
import pathlib
import re
import sys

FUNCTION, FILE, FOLDER = 50, 600, 25
FOLDERS = ["src", "ptxgen", "templates", "include", "tools", "tests", "python"]
C, OTHERS = {".c", ".h", ".cu", ".cpp", ".hpp"}, {".def", ".py", ".sh"}
HEAD = re.compile(r"(?:[\w\s*]*[\s*])?CJ_EXEC\((\w+)\)|(?:extern \"C\" )?\w[\w\s*]*[\s*](\w+)\(")
root = pathlib.Path(sys.argv[1])
allowed_file = pathlib.Path(__file__).with_name("sizes.allowed")


def functions(lines):
    start = None
    for i, line in enumerate(lines):
        if line.startswith("}"):
            if start is not None and name:
                yield name, start, i + 1
            start = None
        elif line[:1].isalpha() and start is None:
            head = HEAD.match(line)
            name = head and (head.group(1) or head.group(2))
            start = i if head and name != "_Alignas" else None
            if start is not None and line.rstrip().endswith(("}", ";")):
                start = None
        elif start is not None and line.rstrip().endswith(");") and line[:1] == " " and not opened(lines, start, i):
            start = None  # a declaration of several lines


def opened(lines, start, end):
    return any(line.split("//")[0].rstrip().endswith("{") for line in lines[start:end + 1])


def without_tables(lines):
    kept, end = [], None
    for line in lines:
        if end is None:
            kept.append(line)
            if re.search(r"= \{$", line.rstrip()):
                end = re.match(r" *", line)[0] + "};"
        elif line.startswith(end):
            end = None
    return kept


def lengths(path, text):
    """Of the functions of a file, as (name, lines)."""
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, node.end_lineno - node.lineno + 1
    elif path.suffix in C:
        lines = text.splitlines()
        for name, start, end in functions(lines):
            body = lines[start:end]
            yield name, len(without_tables(body) if path.parts[len(root.parts)] == "tests" else body)


found, count, sources = {}, 0, collections.Counter()
for folder in FOLDERS:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in C | OTHERS or not path.is_file():
            continue
        text, name = path.read_text(errors="replace"), str(path.relative_to(root))
        count += 1
        sources[str(path.parent.relative_to(root)) + "/"] += 1
        if text.count("\n") > FILE:
            found[name] = text.count("\n")
        for function, length in lengths(path, text):
            if length > FUNCTION:
                found[f"{name}:{function}"] = length
found.update({folder: files for folder, files in sources.items() if files > FOLDER})


def limit(key):
    return f"{FOLDER} sources" if key.endswith("/") else f"{FUNCTION if ':' in key else FILE} lines"


text = allowed_file.read_text().splitlines()
rows = [line.split(maxsplit=2) for line in text if line and not line.startswith("#")]
grows = {key for key, most, *_ in rows if most == "any"}
allowed = {key: int(most) for key, most, *_ in rows if key not in grows}
reasons = {key: reason for key, _, *reason in rows}
larger = {k: v for k, v in found.items() if k not in grows and v > allowed.get(k, 0)}
gone = [k for k, v in allowed.items() if found.get(k, 0) < v] + [k for k in grows if k not in found]
for key, number in larger.items():
    print(f"FAIL: {key} has {number}; the limit is {allowed.get(key, limit(key))}")
if gone and os.environ.get("CJ_UPDATE_INSPECT"):
    kept = [" ".join([k, "any" if k in grows else str(min(found[k], allowed[k])), *reasons[k]]) for k in reasons if k in found]
    allowed_file.write_text("\n".join([line for line in text if line.startswith("#")] + kept) + "\n")
    gone = []
for key in gone:
    print(f"FAIL: sizes.allowed says {key} has {allowed.get(key, 'many')}; it has fewer (CJ_UPDATE_INSPECT=1 corrects it)")
unexplained = [k for k in reasons if k.endswith("/") and not reasons[k]]
for key in unexplained:
    print(f"FAIL: sizes.allowed gives no reason for {key}")
print(f"{count} files in {len(sources)} folders, {len(found)} of them, or of their functions, too large")
sys.exit(bool(larger or gone or unexplained))
