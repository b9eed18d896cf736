# SPDX-License-Identifier: Apache-2.0
# order.py ROOT: no call has two arguments that emit instructions. C does not say which argument is made first, so the text of a kernel
# would depend on the compiler: gcc on x86-64 begins with the last one, clang and gcc on aarch64 with the first.
import pathlib
import re
import sys

from source import plain

root = pathlib.Path(sys.argv[1])
sources = [path for folder in ("templates", "ptxgen/build", "ptxgen/cluster", "tools/probe") for path in sorted((root / folder).rglob("*.[ch]"))]
NAME = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
WITHOUT = {"cj_always", "cj_none", "cj_is_none"}  # they make no register


REGISTER = r"\b(?:cj_reg|cj_label|cj_var|row_part|gemm_place)\s+\*?(\w+)\s*\("  # a function that returns one, or several


def emitting():
    """Of all files: functions that return registers, and the public macros; a static function is its file's."""
    found = set()
    for path in [*(root / "include/clusterjit").glob("*.h"), *sources]:
        text = path.read_text()
        found |= set(re.findall(r"(?<!static )" + REGISTER, text))
        if path.parent.name == "clusterjit":
            found |= set(re.findall(r"#define (cj_[a-z_0-9]+)\(", text))
    return found - WITHOUT


def arguments(text, at):
    """Of the call whose parenthesis is at that place."""
    depth, start, found = 0, at + 1, []
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if not depth:
                return [*found, text[start:i]]
        elif text[i] == "," and depth == 1:
            found.append(text[start:i])
            start = i + 1
    return []


emits, calls, wrong = emitting(), 0, 0
for path in sources:
    text = plain(path.read_text())
    here = emits | set(re.findall(r"static " + REGISTER, text))
    for call in NAME.finditer(text):
        line = text[text.rfind("\n", 0, call.start()) + 1:call.start()]
        if call[1] in ("if", "for", "while", "switch") or re.match(r"\w", line) or line.startswith("#"):
            continue  # no call; the head of a function; a macro
        calls += 1
        made = [a for a in arguments(text, call.end() - 1) if any(name in here for name in NAME.findall(a))]
        if len(made) > 1:
            wrong += 1
            print(f"FAIL: {path.relative_to(root)}:{text.count(chr(10), 0, call.start()) + 1}: {call[1]} has {len(made)} arguments that "
                  "emit instructions: make them before, in the order that the kernel shall have")
print(f"{len(emits)} functions that emit, {calls} calls")
assert len(emits) > 100 and calls > 1000
sys.exit(wrong > 0)
