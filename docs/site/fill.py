#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills in what the pages of docs/ take from elsewhere, so that each thing has one source.

    fill.py --check    fails if a page is not what its sources make of it (the test docs.pages)
    fill.py --write    writes the pages

A page has such a place between two comments, the first of which says what is wanted:

    <!-- fill: code tutorial/01_ranks.c write_kernel -->    a function of a file in docs/, or the whole file
    <!-- fill: output 01_ranks mistake -->                  what a program of the tutorial prints
    <!-- fill: command contract --grid 15 -->              what ptxgen prints when it is called so
    <!-- fill: parameters softmax -->                       the table of a family's parameters, from `ptxgen list`
    <!-- fill: results "Rows" softmax -->                   a table under a heading of tools/bench/RESULTS.md: its
                                                            rows that match a regular expression; none: all rows
    <!-- fill: rules Launches -->                           the rules of a chapter of docs/rules.md, with their causes
    <!-- fill: picture templates/scan/scan.c "x: |" -->     a picture: the indented lines around a text in the comment at
                                                            the head of a source file
    <!-- fill: families -->                                 the families, with a link to the page of each
    <!-- filled -->
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

import chart

DOCS = pathlib.Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
BEGIN = re.compile(r"^<!-- fill: ", re.M)
PLACE = re.compile(r"^<!-- fill: (.*?) -->\n(.*?)<!-- filled -->", re.M | re.S)


def fenced(language, text):
    return f"```{language}\n{text.rstrip()}\n```\n"


def code(_, file, name=None):
    """A function as it stands in the file, with the comment above it."""
    text = (DOCS / file).read_text()
    if name:
        found = re.search(rf"^(?://[^\n]*\n)*(?:\w[^\n;]*[ *])?{name}\((?:[^;]*?)\) \{{\n.*?^\}}", text, re.S | re.M)
        if not found:
            sys.exit(f"docs/{file}: there is no function {name}")
        text = found[0]
    return fenced("c", text)


def output(asked, program, *arguments):
    command = [str(asked.programs / f"tutorial_{program}"), *arguments]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{shlex.join(command)} exits with {made.returncode}: {made.stdout}{made.stderr}")
    text = re.sub(r"\bat 0x[0-9a-f]{8,}", "at 0x…", made.stdout)  # of the host's memory: another one in each run
    return fenced("ptx" if "ptx" in arguments else "text", text)


def command(asked, *arguments):
    made = subprocess.run([asked.ptxgen, *arguments], capture_output=True, text=True, check=False)
    if made.stderr or not made.stdout:
        sys.exit(f"ptxgen {shlex.join(arguments)} exits with {made.returncode}: {made.stderr or 'it prints nothing'}")
    return fenced("text", made.stdout)


def picture(_, file, text):
    head = re.split(r"^#(?:include|ifndef)", (ROOT / file).read_text(), maxsplit=1, flags=re.M)[0]
    for part in re.split(r"^//(?: ?\S[^\n]*)?\n", head, flags=re.M):
        if text in part:
            return fenced("picture", "\n".join(line.removeprefix("//   ") for line in part.rstrip().split("\n")))
    sys.exit(f"{file}: no picture in the comment at its head has '{text}'")


def families_of(asked):
    made = subprocess.run([asked.ptxgen, "list", "--json"], capture_output=True, text=True, check=True)
    return json.loads(made.stdout)["families"]


def number(value):
    """As `ptxgen list` writes it: powers of two from 2^20 on, and one less."""
    for exponent in range(20, 63):
        if value in (1 << exponent, (1 << exponent) - 1):
            return f"2^{exponent}" + ("-1" if value % 2 else "")
    return str(value)


def values(row):
    if row["type"] == "choice":
        return ", ".join(f"`{word}`" for word in row["choices"])
    if row["type"] == "number":
        many = f", a multiple of {row['multiple']}" if row.get("multiple", 0) > 1 else ""
        return f"{number(row['minimum'])} … {number(row['maximum'])}{many}"
    if row["type"] == "function":
        names = ", ".join(f"`{name}`" for name in row["arguments"])
        return f"CUDA C of {names}" if names else "CUDA C, a constant"
    return {"real": "any number", "reals": "numbers with commas"}[row["type"]]


def parameters(asked, name):
    rows = next((f["parameters"] for f in families_of(asked) if f["name"] == name), None)
    if rows is None:
        sys.exit(f"`ptxgen list` has no family {name}")
    lines = ["| parameter | default | values | meaning |", "| --- | --- | --- | --- |"]
    for row in rows:
        default = f"`{row['default']}`" if row.get("default") not in (None, "") else ""
        cells = (f"`--{row['name']}`", default, values(row), row["help"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def results(_, heading, word=""):
    text = (ROOT / "tools/bench/RESULTS.md").read_text()
    found = re.search(rf"^## {re.escape(heading)}[^\n]*\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    if not found:
        sys.exit(f"tools/bench/RESULTS.md has no heading '{heading}'")
    for table in re.findall(r"(?:^\|[^\n]*\n)+", found[1], re.M):
        head, rule, *rows = table.rstrip().split("\n")
        rows = [row for row in rows if re.search(word, row)]
        if rows:
            return "\n".join([head, rule, *rows]) + "\n"
    sys.exit(f"tools/bench/RESULTS.md: no row under '{heading}' matches '{word}'")


def first_sentence(text):
    return re.match(r".*?[.:](?= |$)|.*", " ".join(text.split()))[0].rstrip(":").rstrip(".") + "."


def rules(_, chapter):
    text = (DOCS / "rules.md").read_text()
    found = re.search(rf"^## {chapter}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    lines = ["| rule | cause |", "| --- | --- |"]
    for name, cause in re.findall(r"^### (\S+)\n(.*?)\n\n", found[1], re.S | re.M):
        lines.append(f"| [{name}](rules.md#{name}) | {first_sentence(cause)} |".replace("\\|", "|"))
    return "\n".join(lines) + "\n"


# What every page of a family says, in this order. Others may stand between them.
SECTIONS = ("Calls", "Shapes and limits", "Its memory", "How it works", "Speed", "Parameters")


def check_sections(page, text):
    found = re.findall(r"^## (.*)", text, re.M)
    missing = [section for section in SECTIONS if section not in found]
    if missing:
        sys.exit(f"docs/families/{page.name}: there is no heading '## {missing[0]}': a family's page has {', '.join(SECTIONS)}")
    if [section for section in found if section in SECTIONS] != list(SECTIONS):
        sys.exit(f"docs/families/{page.name}: its headings are not in the order {', '.join(SECTIONS)}")
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        section, _, body = part.partition("\n")
        if not body.strip():
            sys.exit(f"docs/families/{page.name}: nothing stands under '## {section}'")


def families(asked):
    lines = ["| family | what it computes |", "| --- | --- |"]
    for family in families_of(asked):
        page = DOCS / "families" / f"{family['name']}.md"
        if not page.exists():
            sys.exit(f"docs/families/{family['name']}.md: there is no page of this family")
        text = page.read_text()
        check_sections(page, text)
        if f"<!-- fill: parameters {family['name']} -->" not in text:
            sys.exit(f"docs/families/{family['name']}.md: the page has no table of the family's parameters")
        lines.append(f"| [{family['name']}]({family['name']}.md) | {family['summary']} |")
    return "\n".join(lines) + "\n"


KINDS = {kind.__name__: kind for kind in (code, command, output, picture, parameters, results, rules, families)}


def filled(asked, page):
    def one(found):
        kind, *words = shlex.split(found[1])
        if kind not in KINDS:
            sys.exit(f"{page}: 'fill: {kind}' is none of {', '.join(KINDS)}")
        return f"<!-- fill: {found[1]} -->\n{KINDS[kind](asked, *words)}<!-- filled -->"
    text = page.read_text()
    if len(BEGIN.findall(text)) != len(PLACE.findall(text)):
        sys.exit(f"{page}: a '<!-- fill: … -->' has no '<!-- filled -->'")
    return text, PLACE.sub(one, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    parser.add_argument("--ptxgen", default=ROOT / "build/dev/bin/ptxgen", type=pathlib.Path)
    parser.add_argument("--programs", default=ROOT / "build/dev/tests/docs", type=pathlib.Path)
    asked = parser.parse_args()
    pages = sorted(p for p in DOCS.rglob("*.md") if BEGIN.search(p.read_text()))
    stale = []
    made = [(page, *filled(asked, page)) for page in pages]
    picture_file = DOCS / "pictures/clusters.svg"
    now = picture_file.read_text() if picture_file.exists() else ""
    made.append((picture_file, now, chart.clusters((ROOT / "tools/bench/RESULTS.md").read_text())))
    for page, now, wanted in made:
        if now != wanted:
            stale.append(str(page.relative_to(ROOT)))
            if asked.write:
                page.write_text(wanted)
    if stale and asked.check:
        sys.exit(f"FAIL: {', '.join(stale)}: the sources say something else: run python3 docs/site/fill.py --write")
    print(f"{len(pages)} pages, {len(stale)} written" if asked.write else f"{len(pages)} pages are what their sources say")


if __name__ == "__main__":
    try:
        main()
    except OSError as failure:
        sys.exit(f"fill.py: {failure.filename}: {failure.strerror}")
