# SPDX-License-Identifier: Apache-2.0
"""build.py FOLDER: the site as static HTML: the documents of docs/, README.md and its neighbours, reference pages, and the
source files that any of them links to. Started by docs/build."""
import html
import os
import pathlib
import re
import shutil
import sys

from markdown_it import MarkdownIt

import cxx
import reference
from highlight import highlight

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"

# Sections of the navigation: a title, and pages as files in the repository; * stands for the other pages of a folder.
SECTIONS = (
    ("Start", ["README.md"]),
    ("Your first cluster kernel", ["docs/tutorial/README.md", "docs/tutorial/*"]),
    ("Questions", ["docs/why_did_my_launch_fail.md", "docs/what_is_this_hazard.md", "docs/does_a_cluster_pay.md",
                   "docs/features.md", "docs/limits.md", "docs/rules.md"]),
    ("Kernel families", ["docs/families/README.md", "docs/families/*"]),
    ("Tools", ["docs/*", "tools/bench/RESULTS.md"]),
    ("C reference", ["include/clusterjit/clusterjit.h", "include/clusterjit/*.h"]),
    ("C++ reference", ["include/clusterjit/clusterjit.hpp", "include/clusterjit/cxx/*.hpp"]),
    ("Python reference", ["python/clusterjit/__init__.py", "python/clusterjit/torch.py", "python/clusterjit/gpus.py"]),
    ("The maintainers' book", ["docs/maintaining/README.md", "docs/maintaining/*"]),
    ("The project", ["CHANGELOG.md", "CONTRIBUTING.md"]),
)
TITLES = {"README.md": "clusterjit", "python/clusterjit/__init__.py": "clusterjit",
          "python/clusterjit/torch.py": "clusterjit.torch", "python/clusterjit/gpus.py": "clusterjit.gpus"}


class Page:
    def __init__(self, source, section):
        self.source, self.section = source, section  # the file in the repository
        self.text = (ROOT / source).read_text()
        self.output = self.place()
        heading = re.search(r"^# (.*)$", self.text, re.M) if source.endswith(".md") else None
        self.title = TITLES.get(source) or (plain(heading[1]) if heading else pathlib.Path(source).name)

    def place(self):
        """Where the page is in the site."""
        if self.source == "README.md":
            return "index.html"
        path = self.source.removeprefix("docs/").removeprefix("include/")
        if path.endswith(".md"):
            return re.sub(r"(?:^|(?<=/))README$", "index", path.removesuffix(".md")) + ".html"
        return re.sub(r"\.py$", "", path).replace("/__init__", "/index") + ".html"

    def menu(self):
        """The title in the navigation."""
        if self.source == "README.md":
            return "Five minutes"
        if self.section == "Kernel families":
            return self.title.split(":")[0]
        return re.sub(r"^Step (\d+): ", r"\1. ", self.title)


def relative(to, output):
    """The link from the page at `output` to another place of the site."""
    return os.path.relpath(to, os.path.dirname(output) or ".")


def plain(text):
    return re.sub(r"[`*]", "", text)


def pages_of_sections():
    pages, seen = [], set()
    for section, patterns in SECTIONS:
        for pattern in patterns:
            if "*" in pattern:
                pattern += "" if pattern.endswith((".h", ".hpp")) else ".md"
                found = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(pattern))
            else:
                found = [pattern]
            for source in found:
                if source not in seen:
                    seen.add(source)
                    pages.append(Page(source, section))
    return pages


class Site:
    def __init__(self, folder):
        self.folder, self.pages = folder, pages_of_sections()
        self.by_source = {page.source: page for page in self.pages}
        self.sources = {}  # files that pages link to and that are no pages: their place in the site
        self.symbols = {}  # name of the C interface: the page that declares it, and the anchor
        self.markdown = MarkdownIt("commonmark").enable("table")

    def write(self, output, text):
        path = self.folder / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, page_source, output, target):
        """A link of a document, as the site has it."""
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        name, _, anchor = target.partition("#")
        source = os.path.normpath(os.path.join(os.path.dirname(page_source), name))
        if not (ROOT / source).exists() or source.startswith(".."):
            sys.exit(f"{page_source}: the link '{target}' leads nowhere")
        if source in self.by_source:
            to = self.by_source[source].output
        else:
            to = self.sources.setdefault(source, f"source/{source}.html")
        return relative(to, output) + (f"#{anchor}" if anchor else "")

    def picture(self, page, name):
        """A picture of a document, which stands where it stands in the repository."""
        path = (ROOT / page.source).parent / name
        to = self.folder / "pictures" / path.name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
        return relative(f"pictures/{path.name}", page.output)

    # ---- documents

    def document(self, page):
        text = page.text
        for found in re.finditer(r"<!-- site: rules (\w+) -->", page.text):  # the entries stand on this page
            entries = chapter(found[1])
            here = set(re.findall(r"^### (\S+)$", entries, re.M))
            text = re.sub(r"\(rules\.md#([\w-]+)\)", lambda link: f"(#{link[1]})" if link[1] in here else link[0], text)
            text = text.replace(found[0], entries)
        text = re.sub(r"^<!--.*?-->\n?", "", text, flags=re.M | re.S)
        tokens = self.markdown.parse(text)
        slugs = {}
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                slug = reference.slug(plain(tokens[i + 1].content))
                slugs[slug] = slugs.get(slug, -1) + 1
                token.attrSet("id", slug + (f"-{slugs[slug]}" if slugs[slug] else ""))
            for child in token.children or []:
                if child.attrGet("href"):
                    child.attrSet("href", self.link(page.source, page.output, child.attrGet("href")))
                if child.attrGet("src"):
                    child.attrSet("src", self.picture(page, child.attrGet("src")))
            if token.type in ("fence", "code_block"):
                token.type, token.content = "html_block", self.code(token)
        made = self.markdown.renderer.render(tokens, self.markdown.options, {})
        made = re.sub(r"<table>.*?</table>", r'<div class="scroll">\g<0></div>', made, flags=re.S)
        made = re.sub(r'<(h[123]) id="([^"]+)">(.*?)</\1>',
                      r'<\1 id="\2">\3<a class="anchor" href="#\2" aria-label="Link to this heading">#</a></\1>', made)
        return self.with_symbols(page, made)

    def code(self, token):
        language = token.info.strip()
        shown = highlight(token.content, language)
        if language == "ptx":  # examples of rules: lines of the mistake and of its cure
            shown = re.sub(r"(?m)^- .*$", r'<span class="minus">\g<0></span>', shown)
            shown = re.sub(r"(?m)^\+ .*$", r'<span class="plus">\g<0></span>', shown)
        kind = ' class="output"' if language in ("text", "") and token.markup else ""
        return f"<pre{kind}><code>{shown}</code></pre>\n"

    def with_symbols(self, page, made):
        """`cj_launch` and `clusterjit/gemm.h` in a document lead to the reference, `race-block` to the rule."""
        def one(found):
            place = self.symbols.get(found[1])
            if not place or place == page.output:
                return found[0]
            to = relative(place, page.output) + ("" if "/" in found[1] else f"#{found[1]}")
            return f'<a href="{to}"><code>{found[1]}{found[2]}</code></a>'
        parts = re.split(r"(<a .*?</a>|<pre.*?</pre>)", made, flags=re.S)
        name = re.compile(r"<code>([\w./-]+)(\(?\)?)</code>")
        return "".join(part if part.startswith(("<a ", "<pre")) else name.sub(one, part) for part in parts)

    # ---- reference

    def header(self, page):
        text = cxx.interface(page.text) if page.source.endswith(".hpp") else page.text
        made, names = reference.header(text, "c")
        made = re.sub(r"<p>.*?</p>", lambda found: self.with_names(page, found[0]), made, flags=re.S)
        index = ", ".join(f'<a href="#{name}"><code>{name}</code></a>' for name in names)
        head = f"<h1>{html.escape(page.title)}</h1>\n"
        head += f"<p><code>#include &lt;{page.source.removeprefix('include/')}&gt;</code></p>\n"
        head += f"<details><summary>{len(names)} names</summary><p>{index}</p></details>\n" if names else ""
        return head + made

    def with_names(self, page, text):
        """A paragraph of a header: headers and names of the interface lead to where they are."""
        def one(found):
            header = self.by_source.get(f"include/{found[0]}")
            to = header.output if header else self.symbols.get(found[0])
            if not to or to == page.output and "/" in found[0]:
                return found[0]
            anchor = "" if "/" in found[0] else f"#{found[0]}"
            return f'<a href="{relative(to, page.output)}{anchor}">{found[0]}</a>'
        return re.sub(r"\bclusterjit/[\w/]+\.hpp|\bclusterjit/\w+\.h|\b(?:cj|CJ)_\w+", one, text)

    def python(self, page):
        folder = pathlib.Path(page.source).parent
        names, origin = reference.exported(page.text)
        module = reference.ast.parse(page.text)
        made = [f"<h1>{page.title}</h1>\n", reference.docstring(module)]
        if names:
            found = {}
            for file in sorted(set(origin.values())):
                found.update(reference.definitions((ROOT / folder / f"{file}.py").read_text()))
        else:
            found = reference.definitions(page.text)
            names = [name for name in found if not name.startswith("_")]
        missing = [name for name in names if name not in found]
        if missing:
            sys.exit(f"{page.source}: no definition of {', '.join(missing)}")
        nodes = [found[name] for name in names]
        functions = [node for node in nodes if not isinstance(node, reference.ast.ClassDef)]
        classes = [node for node in nodes if isinstance(node, reference.ast.ClassDef)]
        links = (f'<a href="#{node.name}"><code>{node.name}</code></a>' for node in functions + classes)
        made.append(f"<p>{', '.join(links)}</p>\n")
        made += [reference.described(node) for node in functions + classes]
        return "".join(made)

    # ---- all

    def navigation(self, current):
        made = []
        for section, _ in SECTIONS:
            own = [page for page in self.pages if page.section == section]
            items = []
            for page in own:
                here = ' aria-current="page"' if page is current else ""
                items.append(f'<li><a href="{relative(page.output, current.output)}"{here}>{html.escape(page.menu())}</a></li>')
            is_open = " open" if current.section == section else ""
            made.append(f"<details{is_open}><summary>{html.escape(section)}</summary><ul>{''.join(items)}</ul></details>\n")
        return "".join(made)

    def frame(self, output, title, body, page=None):
        up = relative(".", output)
        up = "" if up == "." else up + "/"
        navigation = self.navigation(page) if page else f'<p><a href="{up}index.html">All pages</a></p>'
        name = title if title == "clusterjit" else f"{title} - clusterjit"
        self.write(output, f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(name)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{up}style.css">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<a class="to-pages" href="#pages">All pages</a>
<div class="page">
<nav id="pages" aria-label="Pages"><a class="site" href="{up}index.html">clusterjit</a>
{navigation}</nav>
<main id="content">
{body}
<footer>clusterjit {version()}. License: Apache-2.0.</footer>
</main>
</div>
</body>
</html>
""")

    def build(self):
        self.folder.mkdir(parents=True)
        shutil.copy(DOCS / "site/style.css", self.folder / "style.css")  # first: by it a later run knows the folder
        for rule in re.findall(r"^### (\w+-[\w-]+|deadlock|livelock)$", (DOCS / "rules.md").read_text(), re.M):
            self.symbols[rule] = "rules.html"
        for page in self.pages:
            if page.source.endswith((".h", ".hpp")):
                self.symbols[page.source.removeprefix("include/")] = page.output
            if page.source.endswith(".h"):
                for name in reference.header(page.text, "c")[1]:
                    self.symbols.setdefault(name, page.output)
        for page in self.pages:
            make = {".md": self.document, ".py": self.python}.get(pathlib.Path(page.source).suffix, self.header)
            self.frame(page.output, page.title, make(page), page)
        for source, output in sorted(self.sources.items()):
            self.source(source, output)

    def source(self, source, output):
        path = ROOT / source
        if path.is_dir():
            listed = "".join(f"<li><code>{html.escape(p.name)}</code></li>" for p in sorted(path.iterdir()))
            body = f"<ul>{listed}</ul>"
        else:
            shown = highlight(path.read_text(errors="replace"), path.suffix.lstrip(".") or "bash")
            body = f"<pre><code>{shown}</code></pre>"
        self.frame(output, source, f"<h1>{html.escape(source)}</h1>\n{body}")


def chapter(name):
    """The entries of a chapter of rules.md, for the pages that answer questions; headings one level down."""
    text = (DOCS / "rules.md").read_text()
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    if not found:
        sys.exit(f"docs/rules.md has no chapter '{name}'")
    return found[1]


def version():
    text = (ROOT / "include/clusterjit/base.h").read_text()
    return ".".join(re.search(rf"CJ_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def main():
    folder = pathlib.Path(sys.argv[1])
    if folder.exists() and any(folder.iterdir()):
        if not (folder / "style.css").exists():
            sys.exit(f"{folder} is not empty and holds no site: name another folder")
        shutil.rmtree(folder)
    site = Site(folder)
    site.build()
    print(f"{len(site.pages)} pages and {len(site.sources)} source files in {folder}")


if __name__ == "__main__":
    try:
        main()
    except OSError as failure:
        sys.exit(f"docs/build: {failure.filename}: {failure.strerror}")
