# SPDX-License-Identifier: Apache-2.0
# handles.py ROOT: no template reads the id of a handle (cj_reg, cj_var, cj_label). An id of 0 is a handle that nobody has set, and the
# builder refuses to use it; a template that asks for the id takes it for "absent" or "always" instead. For these there are cj_none()
# and cj_always(), and cj_is_none and cj_is_always ask for them.
import pathlib
import re
import sys

from source import plain

root = pathlib.Path(sys.argv[1])
READ = re.compile(r"(?:\.|->)\s*id\b")
HANDLE = re.compile(r"\bcj_reg\b")

assert READ.search(plain('when.id ? "a" : "b"')) and READ.search("k->row -> id") and not READ.search(plain("x.identity; // y.id"))
files, handles, wrong = 0, 0, 0
for path in sorted((root / "templates").rglob("*.[ch]")):
    files += 1
    for number, line in enumerate(plain(path.read_text()).split("\n"), 1):
        handles += len(HANDLE.findall(line))
        if READ.search(line):
            wrong += 1
            print(f"FAIL: {path.relative_to(root)}:{number}: {line.strip()}: reads a handle's id: ask cj_is_none or cj_is_always")
print(f"{files} files, {handles} handles")
assert files > 100 and handles > 1000
sys.exit(wrong > 0)
