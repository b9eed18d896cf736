# SPDX-License-Identifier: Apache-2.0
"""What the plan of gemm predicts (templates/gemm/plan/model.c), for variants.py and fit_gemm.py: the same formula on numbers, or on
NumPy's arrays of many kernels, with the constants of constants.def or others. `cli.variants` holds it against the C code.

D lies in rows, or, with A and B exchanged (`swap`), in columns. Products and kernels are read from words as requests, plans and `ptxgen` have them ("m=4096", "tile=64x128")."""
import dataclasses
import datetime
import math
import pathlib
import re
import types

from shared import draw

TABLE = pathlib.Path(__file__).resolve().parents[3] / "templates/gemm/problem/constants.def"
LINE = re.compile(r'GEMM_CONSTANT\((?P<name>\w+), *(?P<value>[^, ]+)(?P<gap>, *)"(?P<unit>[^"]*)", *"(?P<gpu>[^"]*)", *'
                  r'"(?P<date>[^"]*)", *"(?P<command>[^"]*)"\)')
FIXED = ("products",)  # the tensor cores' rate; all other times are told by it
TILES = ("128x256", "128x128", "64x256", "64x128", "64x64", "128x224", "128x192", "128x160", "128x96", "64x192", "64x160", "64x96",
         "192x192", "192x160", "192x128")
GROUPS = ((2, 1), (1, 2), (1, 1), (2, 2), (4, 1), (1, 4))  # of choose.c
SIZE = {**draw.SIZE, "tf32": 4, "e5m2": 1}
ROW, BOX, NARROW, PATTERN_ROWS, WARP_ROWS, GROUP_ROWS, WIDEST = 128, 64, 32, 8, 16, 64, 256  # of gemm.h
STAGES_MIN, STAGES_MAX, SPLIT_MAX, PARTS_MAX, PORTABLE_CLUSTER, TURN_COLUMNS = 2, 8, 16, 64, 8, 128
SUBTILE_LEAST, SUBTILES_MAX = 16, 8
SHARED, RESERVED, STORE_BYTES = 232448, 512 + 1024, 2048  # of a block on sm_90a; mbarriers and alignment; a warp's subtile


def ceil_div(value, by):
    return -(-value // by)


# ---- the constants


def constants():
    """All of the table, by name."""
    return types.SimpleNamespace(**{row["name"]: float(row["value"]) for row in LINE.finditer(TABLE.read_text(encoding="utf-8"))})


def fitted():
    """The names of those that are fitted."""
    rows = LINE.finditer(TABLE.read_text(encoding="utf-8"))
    return [row["name"] for row in rows if row["command"] == "fit" and row["name"] not in FIXED]


def as_text(value):
    """Three digits that count."""
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):.{max(0, digits)}f}".rstrip("0" if digits > 0 else "").rstrip(".")


def table_lines(values, gpu):
    """The table's lines of these constants, with new values, GPU and date."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        row = LINE.match(line)
        if row and row["name"] in values:
            width = row.end("gap") - row.start("value")
            head = line[:row.start("value")] + (as_text(values[row["name"]]) + ",").ljust(width)
            yield head + f'"{row["unit"]}"' + line[row.end("unit") + 1:row.start("gpu")] + f'{gpu}", "{datetime.date.today()}' + line[row.end("date"):]


# ---- the shape


@dataclasses.dataclass(frozen=True)
class Operand:
    """A or B: whether it lies by K, its lines, and whether these begin within the 128 bytes that L2 reads at once."""
    by_k: bool
    extent: int
    cut: bool

    def stage_bytes(self, lines):
        return (lines if self.by_k else draw.round_up(lines, BOX)) * ROW

    def loaded(self, lines, needed, loaders):
        """Bytes of L2's lines that a block loads itself for a step of a tile; so many blocks load a part of the needed lines each."""
        some = min(lines, draw.round_up(needed, loaders * PATTERN_ROWS)) * ROW if self.by_k else self.stage_bytes(lines)
        return some / loaders * (2 if self.cut else 1)


def cut_lines(words, size, lengths):
    """Whether the lines of A and B are cut: by `lines`, or as cj_gemm_create says it by lda and ldb."""
    if words.get("lines", "auto") != "auto":
        return [words["lines"] == "cut"] * 2
    asked = [int(words.get(name, length)) * size % ROW != 0 for name, length in zip(("lda", "ldb"), lengths)]
    plain = [length * size % ROW != 0 for length in lengths]
    return plain if asked == plain else [any(asked)] * 2


@dataclasses.dataclass(frozen=True)
class Product:
    m: int
    n: int
    k: int
    batches: int
    size: int  # bytes of an element of A, and of D
    out: int
    a: Operand
    b: Operand
    special: bool  # GELU or SiLU
    adds_c: bool = False
    turned: bool = False  # D lies in columns

    @classmethod
    def of(cls, words):
        m, n, k = (int(words[name]) for name in "mnk")
        dtype, a_by_k, b_by_k = words["dtype"], words.get("a", "row") == "row", words.get("b", "row") == "column"
        out = words.get("out", "auto")
        if out == "auto":
            out = {"tf32": "f32", "e4m3": "bf16", "e5m2": "bf16", "i8": "i32", "u8": "i32"}.get(dtype, dtype)
        cut = cut_lines(words, SIZE[dtype], (k if a_by_k else m, k if b_by_k else n))
        p = cls(m, n, k, int(words.get("batch", 1)), SIZE[dtype], SIZE[out], Operand(a_by_k, m, cut[0]), Operand(b_by_k, n, cut[1]),
                words.get("activation") in ("gelu", "silu"), words.get("c") == "yes")
        return p.swapped() if words.get("swap") == "yes" else p

    def swapped(self):
        """D' = B' A'."""
        return dataclasses.replace(self, m=self.n, n=self.m, a=self.b, b=self.a, turned=not self.turned)

    @property
    def steps(self):
        return ceil_div(self.k * self.size, ROW)


def subtile_of(p, columns):
    """Columns of a subtile of a tile; 0 where a turned one that reads C has none that divides it."""
    most = NARROW if p.out == 4 else BOX
    if not p.turned:
        return NARROW if columns % most else most
    if not p.adds_c:
        return draw.round_up(ceil_div(columns, ceil_div(columns, most)), PATTERN_ROWS)
    subtile = max(width for width in range(PATTERN_ROWS, most + 1, PATTERN_ROWS) if columns % width == 0)
    return 0 if subtile < SUBTILE_LEAST or subtile * SUBTILES_MAX < columns else subtile


@dataclasses.dataclass(frozen=True)
class Kernel:
    tile: tuple   # as it is named: of a product that is turned, the most columns
    group: tuple  # blocks that multicast, one below the other and side by side
    split: int = 1
    parts: int = 1
    in_turn: bool = False
    stages: int = 0

    @classmethod
    def of(cls, words):
        """Of a plan's words."""
        tile = tuple(map(int, words["tile"].split("x")))
        group = max(1, int(words["cluster"])), int(words["cluster-n"])
        return cls(tile, group, int(words["split"]), int(words["parts"]), words["consumers"] == "in-turn", int(words["stages"]))

    @property
    def blocks(self):
        """Of a cluster."""
        return self.group[0] * self.group[1] * self.split

    @property
    def groups(self):
        return self.tile[0] // GROUP_ROWS

    def columns(self, p):
        """Of a tile: turned ones side by side share them evenly; with C, as far as that is a whole number of subtiles."""
        if not p.turned:
            return self.tile[1]
        unit, tiles = PATTERN_ROWS * self.group[0], draw.round_up(ceil_div(p.n, self.tile[1]), self.group[1])
        columns = draw.round_up(ceil_div(p.n, tiles), unit)
        while columns < self.tile[1] and not subtile_of(p, columns):
            columns += unit
        return min(columns, self.tile[1])

    def rows(self, p):
        """Of D that a tile stores: few tiles below each other share them evenly."""
        tiles = ceil_div(p.m, self.tile[0] * self.group[0]) * self.group[0]
        return self.tile[0] if tiles == 1 or not p.a.by_k else min(self.tile[0], draw.round_up(ceil_div(p.m, tiles), WARP_ROWS))

    def tiles(self, p):
        return ceil_div(p.m, self.tile[0] * self.group[0]) * ceil_div(p.n, self.columns(p) * self.group[1]) * p.batches

    def stores_at_once(self, p):
        """Whether a tile's results are stored before the next tile's first step, not during it."""
        sums = self.columns(p) // 2
        held = sums + sums * p.out // 4 <= (120 if self.groups > 2 else 168)
        return not held or ceil_div(self.columns(p), subtile_of(p, self.columns(p))) > p.steps or self.split * self.parts > 1 or self.in_turn

    def with_stages(self, p, c):
        """With the stages that there is room for, as the plan counts them; where no two fit, with fewer."""
        columns, warps = self.columns(p), self.groups * (2 if self.in_turn else 1) * 4
        subtile = subtile_of(p, columns)
        stage = p.a.stage_bytes(self.tile[0]) + p.b.stage_bytes(columns)
        peers = ceil_div(warps * ceil_div(columns, subtile), self.split) * (self.split - 1) * 64 * subtile
        room = SHARED - RESERVED - warps * (1 if self.groups > 2 else 2) * STORE_BYTES
        apart, most = max(0, room - peers) // stage, room // stage
        is_long = apart < c.sums_stages and ceil_div(p.steps, self.split * self.parts) >= c.sums_steps
        in_stages = self.split > 1 and most > apart and (apart < STAGES_MIN or is_long) and most * stage >= peers
        return dataclasses.replace(self, stages=min(most if in_stages else apart, STAGES_MAX))


# ---- clusters that run at once


def gpcs_of(sms, each):
    return [each] * (sms // each) + ([sms % each] if sms % each else [])


def room(gpcs, blocks):
    return max(1, sum(sms // blocks for sms in gpcs))


def room_unknown(c, sms, blocks):
    """Where the GPCs are not known, as on a device."""
    return min(room(gpcs_of(sms, int(each)), blocks) for each in (c.gpc_sms, c.gpc_sms_few))


# ---- the model


def terms(p, kernel, at_once):
    """What the prediction takes of a kernel, without constants; `at_once` clusters run at once. A term that a kernel has not is 0."""
    (tile_m, _), (along_m, along_n), split, parts, tile_n = kernel.tile, kernel.group, kernel.split, kernel.parts, kernel.columns(p)
    area, clusters, turns = tile_m * tile_n, kernel.tiles(p) * parts, int(kernel.in_turn)
    loaded = p.a.loaded(tile_m, min(kernel.rows(p), p.m), along_n) + p.b.loaded(tile_n, p.n, along_m)
    return {
        "turns": turns, "turn_columns": turns * tile_n / WIDEST,
        "operands": kernel.groups * (GROUP_ROWS + tile_n) * ROW,
        "products": area * (kernel.groups > 1), "one_group": area * (kernel.groups == 1 and not turns),
        "loaded": p.k * p.size / (p.steps * ROW) * loaded, "blocks": min(clusters, at_once) * kernel.blocks,
        "ahead": min(kernel.stages, STAGES_MAX) - 1, "steps": ceil_div(p.steps, split * parts), "rounds": ceil_div(clusters, at_once),
        "special": tile_n * p.special, "stored": tile_n * kernel.stores_at_once(p), "last": area * p.out * (not p.turned),
        "turned": area * p.out * p.turned,
        "exchanges": int(split > 1), "sent": area * 4 * (split - 1) / split, "wide": int(split > 1 and kernel.blocks > PORTABLE_CLUSTER),
        "combines": int(parts > 1), "combined": area * 4 / split * (parts + 1) * (parts > 1),
        "read": p.batches * p.k * p.size * (p.m + p.n), "written": p.batches * p.m * p.n * p.out}


def larger(a, b):  # of arrays, too
    return (a + b + abs(a - b)) / 2


def cost(c, t):
    """Clocks, by constants and terms: cj__gemm_cost."""
    products = c.turn_step * t.turn_columns + (t.products + t.one_group * c.one_group) / c.products
    each = (larger(products, t.operands / c.operand_bytes), t.loaded / c.block_bytes, t.loaded * t.blocks / c.l2_bytes, c.refill / t.ahead)
    steps = t.steps * sum(time**3 for time in each) ** (1 / 3)
    special = c.activate * t.special
    round_ = t.turns * larger(steps, c.turn_end + special / 2) + (1 - t.turns) * (steps + c.end + special + c.stored * t.stored)
    partials = (t.exchanges * c.exchange + t.sent / c.send_bytes + t.wide * c.wide_cluster +
                t.combines * c.combine + t.combined / c.combine_bytes)
    memory = t.read / c.read_bytes + t.written / c.write_bytes
    return ((steps + (t.rounds - 1) * round_) ** 2 + memory**2) ** 0.5 + (t.last + t.turned * c.turned_last) / c.last_bytes + special + t.rounds * partials


def predict(c, p, kernel, at_once):
    return cost(c, types.SimpleNamespace(**terms(p, kernel, at_once)))
