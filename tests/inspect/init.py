# SPDX-License-Identifier: Apache-2.0
"""init.py ROOT: in C, every structure that begins with its size (CJ_STRUCT_SIZE) is initialized with CJ_INIT, in sources and pages.

Otherwise the library refuses it, but only when that line runs."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
sized = re.compile(r"CJ_STRUCT_SIZE\((cj_\w+)\)")
types = sorted({name for header in (root / "include/clusterjit").glob("*.h") for name in sized.findall(header.read_text())})
name = "(?:" + "|".join(types) + ")"
START = re.compile(rf"(?:\b{name}\s+\w+\s*=\s*|\({name}\) *)\{{(?!\s*CJ_INIT\b)"  # a variable, a compound literal,
                   rf"|\b{name}\s+\w+\[\w*\]\s*=\s*\{{\s*\{{(?!\s*CJ_INIT\b)")    # the first of an array
files = subprocess.run(["git", "-C", root, "ls-files", "*.c", "*.h", "*.md"], capture_output=True, text=True, check=False).stdout.split()
if not files:
    print("skipped: no checkout")
    sys.exit(77)
wrong = 0
for file in files:
    if not (root / file).is_file():
        continue
    text = (root / file).read_text(errors="replace")
    for found in START.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        print(f"{file}:{line}: {' '.join(found[0].split())} … without CJ_INIT")
        wrong += 1
if wrong or len(types) < 30:
    sys.exit(f"FAIL: {wrong} of {len(types)} types: begin them with CJ_INIT (clusterjit/base.h)")
