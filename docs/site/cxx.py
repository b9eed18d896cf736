# SPDX-License-Identifier: Apache-2.0
"""What a C++ header offers: without function bodies, private members, namespaces, and definitions outside of their class."""
import re

SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
TYPE = re.compile(r"\s*(?:\w+:\s*)?(?:template\s*<.*?>\s*)?(?:class|struct|enum|union|namespace)\s", re.S)


def closing(text, at):
    """The end of the braces that open at `at`."""
    depth = 0
    while at < len(text):
        skipped = SKIPPED.match(text, at)
        if skipped:
            at = skipped.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    return at


def without_bodies(text):
    made, head, at = [], 0, 0  # head: where the statement begins
    while at < len(text):
        skipped = SKIPPED.match(text, at)
        if skipped:
            at = skipped.end()
            continue
        if text[at] == "{":
            statement = SKIPPED.sub("", text[head:at])
            if "(" in statement and not TYPE.match(statement) and "=" not in statement.split(")")[-1]:
                comments = [found.end() for found in SKIPPED.finditer(text, head, at) if found[0].startswith("//")]
                code = comments[-1] if comments else head
                shown = re.sub(r"\)(\s*noexcept)?\s*:(?!:).*\Z", r")\1", text[code:at], flags=re.S)  # no initializers
                made.append(text[head:code] + shown.rstrip() + ";")
                at = head = closing(text, at)
                continue
        if text[at] in ";{}":
            made.append(text[head:at + 1])
            head = at + 1
        at += 1
    return "".join(made) + text[head:]


def interface(text):
    while True:  # namespaces of details, and inner ones of them
        found = re.search(r"^namespace detail \{", text, re.M)
        if not found:
            break
        rest = text[closing(text, found.end() - 1):].lstrip("\n")
        text = text[:found.start()] + rest.removeprefix("  // namespace detail")
    text = without_bodies(text)
    text = re.sub(r"^  private:\n.*?(?=^\};|^  public:)", "", text, flags=re.M | re.S)
    text = re.sub(r"^namespace \w+ \{\n|^\}  // namespace \w+\n", "", text, flags=re.M)
    outside = r"^(?:template <[^>\n]*>\s*)?(?:inline )?[\w:<> *&]+ (?:\w+|\w+<\w+>)::~?\w+\([^;{]*;\n"
    text = re.sub(outside, "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\n\n(\};)", r"\n\1", text))
