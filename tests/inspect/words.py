# SPDX-License-Identifier: Apache-2.0
# words.py SOURCES FOLDER...: in these folders (or files) code, comments, messages, documents and emitted texts use the field's word where
# there is one. WORDS has those that are not used, as regular expressions, with what to say instead. words.allowed lists where such a word
# is right: word, path (* as in a shell), reason. A row that allows nothing is a failure, too; CJ_UPDATE_INSPECT=1 deletes it.
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

WORDS = {
    "behind": "after",
    "whom?": "the thread that, the block that, the caller",
    "claim(s|ed|ing)?": "take a tile; tile scheduler, work counter",
    "meets?": "combine, exchange; wait for each other",
    "post(s|ed|ing)?": "write a mailbox, write a tile status",
    "rings? of (stages|buffers|slots)": "pipeline",
}
TEXTS = {"", ".c", ".h", ".cu", ".cuh", ".cpp", ".hpp", ".def", ".py", ".sh", ".bash", ".md", ".txt", ".ptx", ".cmake", ".yml"}
root, folders = pathlib.Path(sys.argv[1]), sys.argv[2:]
allowed_file = pathlib.Path(__file__).with_name("words.allowed")
text = allowed_file.read_text().splitlines()
rows = [line.split(maxsplit=2) for line in text if line and not line.startswith("#")]
used = set()


def allows(word, path):
    for i, (what, pattern, _) in enumerate(rows):
        if what == word and fnmatch.fnmatch(path, pattern):
            used.add(i)
            return True
    return False


files = subprocess.run(["git", "-C", root, "ls-files", *folders], capture_output=True, text=True, check=False).stdout.split()
if not files:
    print("skipped: no checkout")
    sys.exit(77)
forbidden = re.compile(r"(?<![A-Za-z])(?:" + "|".join(f"(?P<w{i}>{w})" for i, w in enumerate(WORDS)) + r")(?![A-Za-z])", re.I)
words, read, wrong = list(WORDS), 0, 0
for path in files:
    if path.startswith("tests/inspect/words.") or pathlib.Path(path).suffix not in TEXTS or not (root / path).is_file():
        continue
    read += 1
    for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):  # in C "\nwho" begins with a word
        for found in forbidden.finditer(line.replace("\\n", "  ")):
            if not allows(found[0].lower(), path):
                wrong += 1
                print(f"FAIL: {path}:{number}: '{found[0]}': say {WORDS[words[int(found.lastgroup[1:])]]}")
gone = [i for i in range(len(rows)) if i not in used]
if gone and os.environ.get("CJ_UPDATE_INSPECT"):
    kept = [" ".join(row) for i, row in enumerate(rows) if i in used]
    allowed_file.write_text("\n".join([line for line in text if line.startswith("#")] + kept) + "\n")
    gone = []
for i in gone:
    print(f"FAIL: words.allowed allows '{rows[i][0]}' in {rows[i][1]}, which has none (CJ_UPDATE_INSPECT=1 deletes the row)")
print(f"{read} files, {len(WORDS)} words, {len(rows)} exceptions")
sys.exit(bool(wrong or gone))
