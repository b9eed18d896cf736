# SPDX-License-Identifier: Apache-2.0
# links.py SITE: each link and anchor of the site leads somewhere, nothing refers to another host, no anchor is there twice,
# every page can be reached from the first one, and has one heading of the first level; the C reference is complete.
import os
import pathlib
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

site = pathlib.Path(sys.argv[1])
LOADS = {"link": "href", "script": "src", "img": "src", "source": "src", "iframe": "src", "object": "data", "video": "src"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.loaded, self.headings = [], [], [], 0

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.anchors.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADS and LOADS[tag] in found:
            self.loaded.append(found[LOADS[tag]])
        self.headings += tag == "h1"


pages, bad = {}, []
for path in sorted(site.rglob("*.html")):
    reader = Reader()
    reader.feed(path.read_text())
    pages[path.relative_to(site).as_posix()] = reader


def target_of(page, link):
    name, _, anchor = link.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(page), unquote(name))) if name else page), unquote(anchor)


for page, reader in pages.items():
    for link in reader.links + reader.loaded:
        if link.startswith("data:"):
            continue
        to, anchor = target_of(page, link)
        if ":" in link.split("/")[0] or link.startswith("//"):
            bad.append(f"{page}: '{link}' is of another host")
        elif to not in pages and not (site / to).is_file():
            bad.append(f"{page}: the link '{link}' leads nowhere")
        elif anchor and anchor not in pages[to].anchors:
            bad.append(f"{page}: '{link}': no such place in {to}")
    bad += [f"{page}: the anchor '{a}' is there twice" for a in set(reader.anchors) if reader.anchors.count(a) > 1]
    if reader.headings != 1:
        bad.append(f"{page}: {reader.headings} headings of the first level")

seen, todo = set(), ["index.html"]
while todo:
    page = todo.pop()
    if page in seen or page not in pages:
        continue
    seen.add(page)
    todo += [target_of(page, link)[0] for link in pages[page].links]
bad += [f"{page}: cannot be reached from index.html" for page in sorted(set(pages) - seen)]
# The reference has every function of the public headers.
headers = pathlib.Path(__file__).resolve().parents[2] / "include" / "clusterjit"
anchors = {anchor for reader in pages.values() for anchor in reader.anchors}
text = "".join(header.read_text() for header in headers.glob("*.h"))
functions = set(re.findall(r"^CJ_API [^(]*?\b(cj_\w+)\(", text, re.M))
bad += [f"the reference lacks {name}" for name in sorted(functions - anchors)]

for sheet in site.glob("*.css"):
    if re.search(r"url\(|@import", sheet.read_text()):
        bad.append(f"{sheet.name}: refers to another file")

for line in sorted(set(bad)):
    print("FAIL:", line)
print(f"{len(pages)} pages, {sum(len(reader.links) for reader in pages.values())} links")
sys.exit(bool(bad) or len(pages) < 50 or len(functions) < 200)
