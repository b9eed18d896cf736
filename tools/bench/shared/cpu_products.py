# SPDX-License-Identifier: Apache-2.0
"""The products of cpu.py: a kernel for each form of wmma.mma, mma and wgmma in the instruction table that the CPU device executes, with
each type and shape; of wgmma those with 8, 16, 64 and 256 columns. A register is full of ones of its type, so sums stay small numbers."""
import math
import re

from shared.cpu_kernels import WARPS, Kernel, entry, giga, launch

PREFIXES = ("wmma.mma.", "mma.", "wgmma.mma_async.")
COLUMNS = (8, 16, 64, 256)
TARGET = 90              # forms of later targets have no executor
OPERATIONS = 1_500_000_000  # of a launch
BODY = 4                 # instructions in a turn
ONES = {"f16": "0x3c003c00", "bf16": "0x3f803f80", "tf32": "0x3f800000", "e4m3": "0x38383838", "e5m2": "0x3c3c3c3c", "s8": "0x01010101",
        "u8": "0x01010101", "s4": "0x11111111", "u4": "0x11111111", "b1": "0x5555aaaa", "f32": "0f3f800000", "s32": "1",
        "f64": "0d3ff0000000000000"}
METADATA = "0x44444444"  # of each four elements the first two


def mnemonics(form):
    """Those of a form, as lists of words: alternative i of all of its types at once; no optional word; .row.col where there is a choice."""
    words = re.sub(r"\{[^}]*\}", "", form).replace("(row|col).(row|col)", "row.col")
    words = re.sub(r"\(sp\|[^)]*\)", "sp", words)
    groups = [group.split("|") for group in re.findall(r"\(([^)]*)\)", words) if not group.startswith("$")]
    shapes = re.search(r"\(\$WGMMA_(?:INT_)?K(\d+)\)", words)
    for shape in [f"m64n{n}k{shapes[1]}" for n in COLUMNS] if shapes else [""]:
        for i in range(max((len(group) for group in groups), default=1)):
            made = words.replace(shapes[0], shape) if shapes else words
            yield re.sub(r"\(([^)]*)\)", lambda group, at=i: group[1].split("|")[at], made).split(".")


class Registers:
    """The registers of a kernel: their declarations, and the instructions that fill them."""

    def __init__(self):
        self.count, self.declarations, self.fill = 0, "", ""

    def add(self, kind, value):
        name, self.count = f"%x{self.count}", self.count + 1
        self.declarations += f"    .reg .{kind} {name};\n"
        self.fill += f"    mov.{kind} {name}, {value};\n"
        return name

    def vector(self, pattern, columns, kind):
        """`pattern`: U4:f32, Un/2:f32, P8:B"""
        count, register = re.match(r"[UP]n?(/?\d+):(\w+)", pattern).groups()
        count = columns // int(count[1:]) if count[0] == "/" else int(count)
        register = register if register in ("f32", "f64") else "b32"
        return "{" + ", ".join(self.add(register, ONES[kind]) for _ in range(count)) + "}"


def extents(words):
    shape = next(word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word))
    return shape, [int(extent) for extent in re.findall(r"\d+", shape)]


def types_of(words):
    """Those of D, A, B and C."""
    types = [word for word in words if word in ONES]
    return {2: [types[0], "f16", "f16", types[-1]], 3: [*types, types[0]], 4: types}[len(types)]


def name_of(words, pattern):
    d, a, b, c = types_of(words)
    kind = words[0] + (".sp" if "sp" in words else "")
    return (f"{kind} {extents(words)[0]} {d}.{a}" + (f".{b}" if a != b else "") + (f" c {c}" if c != d else "") +
            "".join(f" {word}" for word in words if word in ("xor", "and")) + (", A of registers" if pattern[1] == "P4:B" and
                                                                              words[0] == "wgmma" else ""))


def kernel_of(words, operands):
    """A loop of four instructions. Those of wgmma are a group; their matrices have no swizzling: A of 8 KiB at 0, B after it, 64 bytes of
    k in 4 chunks, a line of 8 rows each 128 bytes."""
    _, (m, n, k) = extents(words)
    types, made, used = types_of(words), Registers(), []
    of_group = words[0] == "wgmma"
    for i, pattern in enumerate(operands):
        if pattern[0] in "UP":
            used.append(made.vector(pattern, n, types[i]))
        elif pattern == "s:u64":
            used.append(made.add("b64", (512 if i == 2 else 0) | 8 << 16 | 16 << 32))
        elif pattern.startswith("s:b32"):
            used.append(made.add("b32", METADATA))
        elif pattern.startswith("p="):
            used.append("%adds")
        else:
            used.append("1" if pattern.startswith("i=-1") else "0")
    batches = 4 if (m, n, k, types[1]) == (8, 8, 4, "f16") else 1
    warps = 1 if of_group else WARPS
    amount = 2 * m * n * k * batches * BODY * warps
    turns = math.ceil(OPERATIONS / amount)
    loop = f"    {'.'.join(words)} {', '.join(used)};\n" * BODY
    fill, declarations = made.fill, made.declarations
    if of_group:
        fill += ("    mov.u32 %at, %tid.x;\n    mul.lo.u32 %at, %at, 4;\nfill:\n"
                 f"    st.shared.b32 [%at], {ONES[types[1]]};\n    add.u32 %at, %at, 512;\n    setp.lt.u32 %more, %at, 40960;\n"
                 "    @%more bra fill;\n    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    setp.eq.u32 %adds, 0, 0;\n")
        declarations += "    .reg .b32 %at;\n    .reg .pred %adds;\n"
        loop = ("    wgmma.fence.sync.aligned;\n" + loop + "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n")
    text = entry(fill, declarations, loop, turns)
    return Kernel(name_of(words, operands), text, launch(bytes_of=40960 if of_group else 0), turns * amount, "GFLOP/s", giga)


def products(forms):
    """A kernel for each; `forms`: those of `ptxgen isa --json`."""
    for form in forms:
        if form["form"].startswith(PREFIXES) and int(re.search(r"\d+", form["target"])[0]) <= TARGET:
            for words in mnemonics(form["form"]):
                yield kernel_of(words, form["operands"])
