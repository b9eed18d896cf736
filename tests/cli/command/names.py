# SPDX-License-Identifier: Apache-2.0
# names.py PTXGEN SOURCES: which strings of the command and the library name an option, a parameter, a variable of the
# environment or a public function that does not exist. Prints each, and how many names were held against what there is.
import json
import pathlib
import re
import subprocess
import sys

ptxgen, root = sys.argv[1], pathlib.Path(sys.argv[2])


def output(*arguments):
    return subprocess.run([ptxgen, *arguments], capture_output=True, text=True, check=True).stdout


def options_of(*command):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", output("help", *command)))


commands = re.findall(r"^  ([a-z]+(?:-[a-z]+)*) {2,}", output("help"), re.M)
families = {f["name"]: {p["name"] for p in f["parameters"]} for f in json.loads(output("list", "--json"))["families"]}
parameters = set().union(*families.values())
options = {c: options_of(c) for c in commands}
of_families = {"emit", "run", "bench", "compare", "tune", "occupancy"}
every = parameters.union(*options.values())
# Options of other programs, which the library and tests' twins of it pass on.
foreign = {"src/nvrtc/compile.c": {"gpu-architecture"}, "src/nvrtc/function.c": {"include-path"},
           "src/driver/code/fatbin.c": {"compress-mode"},
           "tools/ptxgen/toolchain/toolchain.c": {"version"}}
# What stands before a = in messages and is no parameter: of --arg, --fill and tensor maps; of PTX and PTX's pictures; of nvcc.
words = set("arch code channels layers filter address arg u64 f32 u32 bytes n cj_version box offset stride estride swizzle interleave l2 fill element at".split())
public = set(re.findall(r"\b(cj_[a-z0-9_]+)\b", "".join(p.read_text() for p in (root / "include").rglob("*.h"))))
table = (root / "tools/ptxgen/manual/environment.def").read_text()
variables = set(re.findall(r"CLUSTERJIT_[A-Z_]+", table))


def strings(text):
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    text = re.sub(r"'\\?\"'", "0", text)
    for run in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*(?:PRI\w+\s*|CJ_NUMBER_FORMS\s*)?)+', text):
        yield text.count("\n", 0, run.start()) + 1, "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run[0]))


def options_for(path, string):
    named = re.findall(r"ptxgen (?:help )?([a-z]+(?:-[a-z]+)*)", string)
    own = [path.stem.replace("_", "-")] if path.parent.name == "commands" else []
    known = [c for c in named + own if c in options] or commands
    allowed = set().union(*(options[c] for c in known)) | foreign.get(str(path), set())
    return allowed | (parameters if of_families.intersection(known) else set())


wrong = count = 0
seen = set()
for source in sorted(p for d in ("src", "ptxgen", "templates", "tools/ptxgen") for p in (root / d).rglob("*.[ch]")):
    path = source.relative_to(root)
    for line, string in strings(source.read_text()):
        checks = [(n, variables, "variable") for n in re.findall(r"CLUSTERJIT_[A-Z_]+", string)]
        seen.update(n for n, _, _ in checks)
        if not re.search(r"-->|--[a-z-]+--|^--|  --|->", string):  # a picture's arrows
            checks += [(n, options_for(path, string), "option") for n in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", string)]
        if " " in string and ";" not in string:  # PTX has no sentences
            checks += [(n, parameters | words, "parameter") for n in re.findall(r"(?<![\w:.$-])([a-z][a-z-]*[a-z]|n|m|k)=(?!=)", string)]
            checks += [(n, public, "function") for n in re.findall(r"(?<!\w)(cj_[a-z0-9_]+)\b(?!\w)", string)]
        for name, known, what in checks:
            count += 1
            if name not in known:
                wrong += 1
                print(f"{path}:{line}: there is no {what} '{name}': {string[:160]}")
for name in sorted(variables - seen):
    wrong += 1
    print(f"environment.def: no source reads the variable {name}")
for name in sorted(set(re.findall(r"CLUSTERJIT_[A-Z_]+", (root / "docs/environment.md").read_text())) - variables):
    wrong += 1
    print(f"docs/environment.md: environment.def has no variable {name}")
print(f"{count} names, {wrong} wrong")
sys.exit(1 if wrong else 0)
