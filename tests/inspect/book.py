# SPDX-License-Identifier: Apache-2.0
# book.py SOURCES: what the maintainers' book and CONTRIBUTING.md name is there. In `code` and in indented blocks these are
# looked for:
#   src/cache/disk.c, kit/family.h, disk.c   a file or folder, or the end of a path; * and {a,b} as in a shell
#   cj__disk_put, cj_launch, CJ_IF, may_be_kept, build(     a word of the sources
#   build/dev/tests/test_cpu_scan, cpu.scan                 a test
# Words with NAME, TOPIC, FAMILY or another word of capitals in their place are patterns and are left alone. Links lead to files
# and headings that are there, and the book's README.md links every page.
import fnmatch
import itertools
import os
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
book = root / "docs" / "maintaining"
SOURCES = ("src", "ptxgen", "templates", "include", "tools", "tests", "python", "cmake")
MADE_AT_RUN_TIME = {"tuning-1.txt"}
PATTERNS = {"cj_noun_verb"}
FILE = r"[\w-]+\.(?:c|h|def|sh|py|md|cu|cuh|cmake|allowed|ptx|txt)"
LABELS = "unit|golden|cpu|cli|ptxas|gpu|inspect|examples|foreign"


def tree():
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f != ".git" and (folder != str(root) or f != "build")]
        for name in itertools.chain(folders, files):
            yield os.path.relpath(os.path.join(folder, name), root)


paths = list(tree())
ends = {"/".join(parts[i:]) for path in paths for parts in [path.split("/")] for i in range(len(parts))}
texts = [p for p in paths if p.split("/")[0] in SOURCES and re.search(r"\.(c|h|def|cu|py|sh|cmake|txt)$", p)]
texts += ["CMakeLists.txt"]
this = os.path.relpath(__file__, root)
words = set()
for p in texts:
    if p != this:
        words.update(re.findall(r"\w+", (root / p).read_text(errors="replace")))
tests = {re.sub(r"^tests/(\w+)/(?:\w+/)?test_(\w+)\.(?:c|sh)$", r"\1.\2", p) for p in paths if "/test_" in p}
tests.update(re.findall(rf"\b(?:{LABELS})\.\w+", (root / "tests/CMakeLists.txt").read_text()))
tests.update("examples." + pathlib.Path(p).stem for p in paths if p.startswith("tests/examples/"))


def is_pattern(word):  # NAME, TOPIC, ...: capitals that stand for something
    return re.search(r"(?<![A-Za-z])[A-Z]{2,}(?![A-Za-z])|_[A-Z]{2,}\b|…|\.\.\.", word) is not None


def expanded(path):
    found = re.match(r"(.*?)\{([^}]*)\}(.*)", path)
    if not found:
        return [path]
    return [p for part in found[2].split(",") for p in expanded(found[1] + part + found[3])]


def has_path(path):
    path = path.rstrip("/")
    return path in ends if "*" not in path else any(fnmatch.fnmatch(p, path) for p in ends)


def has_program(path):  # of a build directory
    name = path.split("/")[-1]
    if "/tests/" in path:
        label = re.match(rf"test_({LABELS})_(\w+)$", name)
        return bool(label and f"{label[1]}.{label[2]}" in tests) or name in words
    return name == "ptxgen" or f"tools/bench/{name.removeprefix('bench_')}.c" in paths or name in words


def missing_in_text(text):  # of a command or a block: what is certain to be a name
    for word in re.findall(r"[\w./{},*-]+", text):
        word = word.rstrip(".,")
        if is_pattern(word):
            continue
        if re.match(r"build/\w[\w-]*/", word):
            if not has_program(word):
                yield word
        elif re.match(r"(?:%s|docs)/\w" % "|".join(SOURCES), word):
            yield from (p for p in expanded(word) if not has_path(p))
    for word in re.findall(r"\b(?:cj__?[a-z]\w*|CLUSTERJIT_\w+|CJ_\w+)", text):
        if not is_pattern(word.removeprefix("CJ_").removeprefix("CLUSTERJIT_")) or word.isupper():
            if word not in words | PATTERNS and not word.endswith("_"):
                yield word


def missing_in_code(code):  # of `code`
    yield from missing_in_text(code)
    if " " in code or is_pattern(code) or code in MADE_AT_RUN_TIME | PATTERNS:
        return
    if re.fullmatch(rf"(?:{LABELS})\.\w+", code) and not re.fullmatch(FILE, code):
        if code not in tests:
            yield code
    elif re.fullmatch(r"[\w.{},*-]+(?:/[\w.{},*-]+)*/?", code) and ("/" in code or re.fullmatch(FILE, code)):
        if not re.match(r"build/|\.\w", code):
            yield from (p for p in expanded(code) if not has_path(p))
    elif re.fullmatch(r"[A-Za-z]\w*\(.*|[a-z][a-z0-9]*(?:_[a-z0-9]+)+", code):
        word = re.match(r"\w+", code)[0]
        if word not in words:
            yield word


def slug(heading):  # of a heading, as GitHub makes it
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def dead_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = page if not name else page.parent / name
        if not to.exists():
            yield target
        elif anchor and anchor not in {slug(h) for h in re.findall(r"^#+ (.*)$", to.read_text(), re.M)}:
            yield target


def findings(page):
    text = page.read_text()
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("    "):
            found = missing_in_text(line)
        else:
            found = (m for code in re.findall(r"`([^`]+)`", line) for m in missing_in_code(code))
        for name in dict.fromkeys(found):
            yield f"{page.relative_to(root)}:{number}: '{name}' is not there"
    for target in dead_links(page, text):
        yield f"{page.relative_to(root)}: the link '{target}' leads nowhere"


pages = sorted(book.glob("*.md")) + [root / "CONTRIBUTING.md"]
bad = [f for page in pages for f in findings(page)]
contents = (book / "README.md").read_text()
bad += [f"docs/maintaining/README.md: no link to {p.name}" for p in pages[:-1]
        if p.name != "README.md" and f"({p.name})" not in contents]
print(*(f"FAIL: {f}" for f in bad), sep="\n") if bad else None
print(f"{len(pages)} pages, {len(words)} words of {len(texts)} sources, {len(tests)} tests")
sys.exit(bool(bad))
