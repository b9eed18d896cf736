# SPDX-License-Identifier: Apache-2.0
"""Reference pages as HTML: of C and C++ from the comments of the headers, of Python from the docstrings."""
import ast
import functools
import html
import re

from highlight import highlight

NAME_OF = (  # what a block of a header declares, in the order in which they are tried
    r"^#define (\w+)", r"^CJ_API [^(]*?[ *](\w+)\(", r"^static inline [^(]*?[ *](\w+)\(",
    r"^typedef (?:struct|enum|union) (\w+)", r"^(?:struct|enum|union|class) (\w+)[^;]*\{", r"^typedef [^;]*?[ *](\w+);",
    r"^template <[^>]*>\s*(?:class|struct) (\w+)", r"^using (\w+) =")


def text_of(comment):
    """A comment as HTML: paragraphs, and as they stand the lines that are indented."""
    made = []
    for part in re.split(r"\n[ \t]*\n", comment):
        run, kind = [], None
        for line in part.split("\n"):
            now = "pre" if line.startswith(("  ", "\t")) and line.strip() else "p"
            if kind and now != kind:
                made.append((kind, run))
                run = []
            kind = now
            run.append(line)
        if run:
            made.append((kind, run))
    return "".join(paragraph(kind, lines) for kind, lines in made if any(line.strip() for line in lines))


def paragraph(kind, lines):
    if kind == "pre":
        code = highlight(dedent(lines), "c")
        return f"<pre><code>{code}</code></pre>\n"
    text = html.escape(" ".join(line.strip() for line in lines), quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return f"<p>{text}</p>\n"


def dedent(lines):
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[indent:] for line in lines)


def uncomment(lines):
    return "\n".join(re.sub(r"^\s*// ?", "", line) for line in lines)


def blocks_of(text):
    """The parts of a header between empty lines, without what a reader of the reference does not want."""
    text = re.sub(r"^#(?:ifndef CLUSTERJIT_\w+|define CLUSTERJIT_\w+_H(?:PP)?)\n", "", text, flags=re.M)
    text = re.sub(r'^#ifdef __cplusplus\n(?:extern "C" \{|\})\n#endif\n', "", text, flags=re.M)
    text = re.sub(r"^#define CJ__(?:[^\n]*\\\n)*[^\n]*\n|^#undef [^\n]*\n", "", text, flags=re.M)  # for the header's own use
    text = re.sub(r"^#endif.*\Z", "", text.rstrip(), flags=re.M)
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.split("\n") if not line.startswith(("#include", "// SPDX"))]
        if any(line.strip() for line in lines):
            yield lines


def depth(lines):
    """Braces that the lines leave open."""
    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"', "", "\n".join(lines))
    return code.count("{") - code.count("}")


def joined(blocks):
    """A declaration whose braces enclose an empty line is one block."""
    held = []
    for lines in blocks:
        held = held + [""] + lines if held else lines
        if depth(held) <= 0 or re.match(r"namespace", held[0]):
            yield held
            held = []
    if held:
        yield held


def names_in(code):
    """What a block declares; a block of one-line declarations declares several."""
    for line in re.sub(r"\n[ \t]+", " ", code).split("\n"):
        for pattern in NAME_OF:
            found = re.match(pattern, line)
            if found:
                if "__" not in found[1].strip("_") and not found[1].endswith("_"):
                    yield found[1]
                break


@functools.cache
def header(text, language):
    """A header as HTML, and the names that it declares, each of which is an anchor of the page."""
    made, names = [], []
    for lines in joined(blocks_of(text)):
        section = re.match(r"// ---- (.*)", lines[0])
        if section:
            made.append(f'<h2 id="{slug(section[1])}">{html.escape(section[1][:1].upper() + section[1][1:])}</h2>\n')
            lines = lines[1:]
        count = next((i for i, line in enumerate(lines) if not line.lstrip().startswith("//")), len(lines))
        comment, code = uncomment(lines[:count]), "\n".join(lines[count:])
        if not comment.strip() and not code.strip():
            continue
        new = [name for name in dict.fromkeys(names_in(code)) if name not in names]
        names += new
        anchors = "".join(f'<span id="{name}"></span>' for name in new)
        shown = f"<pre class=\"declaration\"><code>{highlight(code, language)}</code></pre>\n" if code.strip() else ""
        made.append(f"<section>{anchors}{text_of(comment)}{shown}</section>\n")
    return "".join(made), names


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


# ---- Python

def signature(node):
    arguments = ast.unparse(node.args)
    returned = re.sub(r"^Request\[(.*)\]$", r"\1", ast.unparse(node.returns)) if node.returns else ""
    result = f" -> {returned}" if returned else ""
    made = f"{node.name}({re.sub(r'^self(?:, )?', '', arguments)}){result}"
    if len(made) <= 100:
        return made
    parts = re.sub(r", (?=\*|\w+(?::|=|,|$))", ",\n    ", re.sub(r"^self(?:, )?", "", arguments))
    return f"{node.name}(\n    {parts}){result}"


def docstring(node):
    """Text, and examples from >>> on, as HTML."""
    text = ast.get_docstring(node) or ""
    made = []
    for part in re.split(r"\n\s*\n", text):
        if not part.strip():
            continue
        begin = re.search(r"^\s*>>>", part, re.M)
        prose, example = (part[:begin.start()], part[begin.start():]) if begin else (part, "")
        if prose.strip():
            prose = html.escape(prose, quote=False)
            prose = re.sub(r"``?([^`]+)``?", r"<code>\1</code>", re.sub(r":\w+:`([^`]+)`", r"`\1`", prose))
            items = re.split(r"^- ", prose, flags=re.M)
            if len(items) > 1 and not items[0].strip():
                made.append("<ul>\n" + "".join(f"<li>{item.strip()}</li>\n" for item in items[1:]) + "</ul>\n")
            else:
                made.append(f"<p>{prose}</p>\n")
        if example:
            made.append(f'<pre><code>{highlight(example, "python")}</code></pre>\n')
    return "".join(made)


def described(node, prefix=""):
    """A function or class with its public methods, and the anchors of the page."""
    name = prefix + node.name
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        shown, level = f"class {node.name}({bases})" if bases else f"class {node.name}", 2
    else:
        is_property = any(ast.unparse(d).endswith("property") for d in node.decorator_list)
        shown, level = node.name if is_property else signature(node), 3 if prefix else 2
    made = [f'<h{level} id="{name}">{html.escape(node.name)}</h{level}>\n',
            f'<pre class="declaration"><code>{highlight(shown, "python")}</code></pre>\n', docstring(node)]
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and ast.get_docstring(inner) and not inner.name.startswith("_"):
                made.append(described(inner, name + "."))
    return "".join(made)


def definitions(text):
    """The functions and classes of a module by name."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def exported(text):
    """The names in __all__ but those of modules, which have pages of their own, and the modules that they come from."""
    names, origin = [], {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(node.value)
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            origin.update({alias.name: node.module for alias in node.names})
    return [name for name in names if origin.get(name)], {name: file for name, file in origin.items() if file}
