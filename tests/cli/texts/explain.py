# SPDX-License-Identifier: Apache-2.0
# explain.py PTXGEN SOURCES LANGUAGE...: every rule of the code's tables has an entry in tools/ptxgen/explain, and every example in
# these languages (ptx, c, cuda) shows its rule with its mistake, and nothing with its cure. Prints what is not so.
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ptxgen, root, languages = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
texts = root / "tools/ptxgen/explain"
head = ".version 9.0\n.target sm_90a\n.address_size 64\n"
# Their examples are not run: a file of 4 GiB takes as much memory; the other two need a GPU's driver, and a GPU's own shape.
# unit.rules and unit.contract_rules break them.
not_run = {"file-size", "ptx-version", "cluster-resident"}
c_program = """#include <clusterjit/clusterjit.h>
#include <stdio.h>
int main(void) {
    cj_builder *b = cj_builder_create("sm_90");
    cj_func    *f = cj_entry(b, "kernel");
    cj_error    error = {0};
    char       *text = NULL;
    %s
    cj_builder_finish(b, &text, NULL, &error);
    if (*error.rule) printf("[%%s]\\n", error.rule);
    cj_text_free(text);
    cj_builder_destroy(b);
    return 0;
}
"""
sources = {"text": ("ptxgen/text/rules.def", r'^CJ_RULE\("([^"]+)"'),
           "launch": ("src/contract/contract.def", r'^(?:KERNEL|LAUNCH)_RULE\("([^"]+)"'),
           "run": ("src/device/cpu/machine/hazards.def", r'^CJ_(?:HAZARD|NOTE)\(\w+, "([^"]+)"')}


def entries(name):
    for entry in re.split(r"^## ", (texts / f"{name}.md").read_text(encoding="utf-8"), flags=re.M)[1:]:
        rule, body = entry.split("\n", 1)
        yield rule, body


def completeness():
    explained = [rule for name in sources for rule, _ in entries(name)]
    wrong = [f"{rule} has two entries" for rule in set(explained) if explained.count(rule) > 1]
    known = set()
    for name, (table, pattern) in sources.items():
        rules = re.findall(pattern, (root / table).read_text(encoding="utf-8"), re.M)
        if len(rules) < 20:
            wrong.append(f"{table}: only {len(rules)} rules are seen in it")
        known.update(rules)
        wrong += [f"{table} has the rule {r}: tools/ptxgen/explain/{name}.md lacks '## {r}'"
                  for r in dict.fromkeys(rules) if r not in explained]
    wrong += [f"'## {r}' explains a rule that no table has" for r in explained if r not in known]
    return wrong + [f"{r} has no cure" for name in sources for r, body in entries(name) if "\nCure: " not in body]


def form(code, without):
    """The example with its mistake (without the lines of its cure) or the other way around."""
    return "".join(line[2:] for line in code.splitlines(True) if not line.startswith(without))


def has_marks(code):
    return re.search(r"^[+-]", code, re.M) is not None


def run(command, directory):
    done = subprocess.run(command, shell=True, cwd=directory, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def judge(rule, faulty, command, directory):
    code, said = run(command.replace("ptxgen ", f"'{ptxgen}' ", 1), directory)
    if faulty and f"[{rule}]" not in said:
        return [f"{rule}: the mistake is not found by: {command}\n{said}"]
    if not faulty and (code or re.search(r"\[[a-z][a-z-]+\]", said)):
        return [f"{rule}: the cured example is not silent, exit code {code}: {command}\n{said}"]
    return []


def ptx_text(code):
    return code if ".version" in code or code.lstrip().startswith(".target") else head + code


def examples(rule, body):
    """(rule, faulty, command, files) of every example."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", body, re.M | re.S)
    commands = [c.strip() for c in re.findall(r"^    ((?:[^ ].*\| )?ptxgen .*)$", body, re.M)]
    marked = [(c.split("#")[0].strip(), c.endswith("# faulty")) for c in commands if "#" in c]
    plain = [c for c in commands if "#" not in c]
    for_cuda = [c for c in plain if "FILE.cu" in c] or plain
    for_ptx = [c for c in plain if "FILE.cu" not in c] or ["ptxgen check FILE"]
    if marked and not blocks and "ptx" in languages:
        yield from ((rule, faulty, c, {}) for c, faulty in marked)
    for language, code in (b for b in blocks if b[0] in languages):
        if language == "ptx" and not has_marks(code):
            yield from ((rule, faulty, c.replace("FILE", "k.ptx"), {"k.ptx": ptx_text(form(code, "+"))}) for c, faulty in marked)
            continue
        for without, faulty in (("+", True), ("-", False)):
            text = form(code, without)
            if language == "ptx":
                yield from ((rule, faulty, c.replace("FILE", "k.ptx"), {"k.ptx": ptx_text(text)}) for c in for_ptx)
            elif language == "cuda":
                yield from ((rule, faulty, c.replace("FILE.cu", "FILE").replace("FILE", "k.cu"), {"k.cu": text}) for c in for_cuda)
            elif language == "c":
                yield rule, faulty, build, {"k.c": text if "int main(" in text else c_program % text}


def try_example(example):
    rule, faulty, command, files = example
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            pathlib.Path(directory, name).write_text(text, encoding="utf-8")
        return judge(rule, faulty, command, directory)


library = pathlib.Path(ptxgen).parent.parent
build = (f"{os.environ['CC']} {os.environ.get('CJ_CFLAGS', '')} -std=c11 -I'{root}/include' k.c -o k -L'{library}' -lclusterjit "
         f"-Wl,-rpath,'{library}' && ./k")
wrong = completeness()
every = [e for name in sources for rule, body in entries(name) for e in examples(rule, body)]
shown = {e[0] for e in every}
if "ptx" in languages:
    wrong += [f"{rule} has no example" for name in sources for rule, _ in entries(name) if rule not in shown | not_run]
    wrong += [f"{rule} has no example to read" for name in sources for rule, body in entries(name)
              if rule in not_run and not re.search(r"^```", body, re.M)]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for found in pool.map(try_example, every):
        wrong += found
print("\n".join(wrong + [f"{len(shown)} rules, {len(every)} examples, {len(wrong)} wrong"]))
sys.exit(1 if wrong else 0)
