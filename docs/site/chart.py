# SPDX-License-Identifier: Apache-2.0
"""The picture of "Does a cluster pay?": a bar for each problem of tools/bench/RESULTS.md, from its verdict."""
import html
import re

LEFT, WIDTH, ROW, TOP, LEAST, MOST = 370, 360, 34, 46, 0.5, 2.5
STYLE = """text { font: 13px system-ui, sans-serif; fill: #1c2733; } .soft { fill: #5b6875; } line { stroke: #98a5b1; }
.pays { fill: #1b6e3c; } .not { fill: #b3261e; }
@media (prefers-color-scheme: dark) {
    text { fill: #dde4ea; } .soft { fill: #98a5b1; } .pays { fill: #77c796; } .not { fill: #f2857d; }
}"""


def ratios(results):
    """Problem, and how many times as fast the best kernel with clusters is: of several sizes the first one."""
    table = re.search(r"^## Does a cluster pay.*?\n((?:\|[^\n]*\n)+)", results, re.S | re.M)[1]
    for row in table.strip().split("\n")[2:]:
        problem, _, _, verdict = [cell.strip() for cell in row.strip("|").split("|")]
        factor = float(re.search(r"\d+\.\d+", verdict)[0])
        name, _, sizes = problem.partition(":")
        name += f", {sizes.split(',')[0].strip()} blocks" if sizes else ""
        yield name, factor if verdict.startswith("pays") else 1 / factor


def place(ratio):
    return LEFT + WIDTH * (ratio - LEAST) / (MOST - LEAST)


def clusters(results):
    rows = list(ratios(results))
    high = TOP + ROW * len(rows) + 16
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {high}" role="img">',
            "<title>Time without clusters over time with them, on an H200</title>", f"<style>{STYLE}</style>",
            f'<text x="{LEFT}" y="16" class="soft">time without clusters / time with them (H200)</text>']
    for tick in (0.5, 1, 1.5, 2, 2.5):
        dash = "" if tick == 1 else ' stroke-dasharray="2 4"'
        made.append(f'<line x1="{place(tick):.0f}" x2="{place(tick):.0f}" y1="{TOP - 6}" y2="{high - 12}"{dash}/>')
        made.append(f'<text x="{place(tick):.0f}" y="{TOP - 12}" text-anchor="middle" class="soft">{tick:g}</text>')
    for i, (problem, ratio) in enumerate(rows):
        y, low, up = TOP + i * ROW + 6, min(place(ratio), place(1)), max(place(ratio), place(1))
        made.append(f'<text x="{LEFT - 12}" y="{y + 15}" text-anchor="end">{html.escape(problem)}</text>')
        kind = "pays" if ratio > 1 else "not"
        made.append(f'<rect class="{kind}" x="{low:.1f}" y="{y}" width="{up - low:.1f}" height="20"/>')
        made.append(f'<text x="{up + 6:.0f}" y="{y + 15}">{ratio:.2f}</text>')
    return "\n".join(made + ["</svg>", ""])
