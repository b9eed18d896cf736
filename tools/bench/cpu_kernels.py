# SPDX-License-Identifier: Apache-2.0
"""The kernels of cpu.py: each repeats one kind of instruction in a loop."""
import dataclasses
import typing

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
WARPS = 4


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    text: str
    words: tuple           # after `ptxgen exec FILE`
    amount: float          # of work in a launch
    unit: str              # GFLOP/s, M/s: a rate; ns: the time of one
    rate_of: typing.Callable

    def rate(self, milliseconds):
        return self.rate_of(self.amount, milliseconds)


def giga(amount, milliseconds):
    return amount / milliseconds * 1e-6


def mega(amount, milliseconds):
    return amount / milliseconds * 1e-3


def nanoseconds(amount, milliseconds):
    return milliseconds * 1e6 / amount


def entry(body, declarations, loop, turns, end=""):
    """An entry that executes `body` once, `loop` in turns, then `end`."""
    return (f"{HEADER}.visible .entry k(.param .u64 p)\n{{\n{declarations}    .reg .b32 %turn;\n    .reg .pred %more;\n{body}"
            f"    mov.u32 %turn, {turns};\nagain:\n{loop}    sub.u32 %turn, %turn, 1;\n    setp.ne.u32 %more, %turn, 0;\n"
            f"    @%more bra again;\n{end}    ret;\n}}\n")


def launch(block=32 * WARPS, cluster=1, bytes_of=0):
    words = ["--arg", "u32[65536]=zeros", "--block", str(block)]
    if cluster > 1:
        words += ["--grid", str(cluster), "--cluster", str(cluster)]
    return tuple(words + (["--smem", str(bytes_of)] if bytes_of else []))


# ---- matrices: a register is full of ones of its type, so sums stay small numbers

ONES = {"f16": "0x3c003c00", "bf16": "0x3f803f80", "tf32": "0x3f800000", "e4m3": "0x38383838", "e5m2": "0x3c3c3c3c", "s8": "0x01010101",
        "u8": "0x01010101", "s4": "0x11111111", "u4": "0x11111111", "b1": "0x5555aaaa", "f32": "0x3f800000", "s32": "1"}
BITS = {"f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}


def vector(name, count):
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


def registers(name, kind, count):
    """The declaration and the filling of a fragment's registers."""
    if kind == "f64":
        fill = "".join(f"    mov.f64 %{name}{i}, 0d3ff0000000000000;\n" for i in range(count))
        return f"    .reg .f64 %{name}<{count}>;\n", fill
    word = "f32" if kind == "f32" else "b32"
    ones = "0f3f800000" if kind == "f32" else ONES[kind]
    fill = "".join(f"    mov.{word} %{name}{i}, {ones};\n" for i in range(count))
    return f"    .reg .{word} %{name}<{count}>;\n", fill


def fragment(kind, elements):
    return max(1, elements * min(BITS[kind], 32) // 32 // 32) if kind != "f64" else elements // 32


def product_of_warp(opcode, name, shape, kinds, counts, extra="", turns=16000, metadata="", batches=1):
    """A loop of four instructions with registers of D, A, B and C: so many of each, of the kinds d and a. `metadata`: fills its register."""
    m, n, k = shape
    d, a = kinds
    parts = [registers(letter, kind, counts[letter]) for letter, kind in (("d", d), ("a", a), ("b", a), ("c", d))]
    vectors = ", ".join(vector(letter, counts[letter]) for letter in "dabc")
    line = f"    {opcode}{extra} {vectors}{', %metadata, 0x0' if metadata else ''};\n"
    words = "".join(words for words, _ in parts) + ("    .reg .b32 %metadata;\n" if metadata else "")
    text = entry("".join(fill for _, fill in parts) + metadata, words, line * 4, turns)
    return Kernel(f"{name} m{m}n{n}k{k} {d}.{a}", text, launch(), 2 * m * n * k * batches * 4 * turns * WARPS, "GFLOP/s", giga)


def mma(m, n, k, d, a, extra="", turns=16000, counts=None, batches=1):
    counts = counts or {"d": fragment(d, m * n), "a": fragment(a, m * k), "b": fragment(a, k * n), "c": fragment(d, m * n)}
    opcode = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{a}.{d}"
    return product_of_warp(opcode, "mma", (m, n, k), (d, a), counts, extra, turns, batches=batches)


def sparse_mma(m, n, k, d, a, turns=8000):
    """Metadata 0x4 for each four: the first two elements."""
    counts = {"d": fragment(d, m * n), "a": fragment(a, m * k // 2), "b": fragment(a, k * n), "c": fragment(d, m * n)}
    opcode = f"mma.sp.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{a}.{d}"
    return product_of_warp(opcode, "mma.sp", (m, n, k), (d, a), counts, "", turns, "    mov.b32 %metadata, 0x44444444;\n")


def wmma(m, n, k, d, a, counts, turns=10000, extra=""):
    kinds = f"{d}.{d}" if a == "f16" else f"{d}.{a}.{a}.{d}"
    rounding = ".rn" if a == "f64" else ""
    opcode = f"wmma.mma{extra}.sync.aligned.row.col.m{m}n{n}k{k}{rounding}.{kinds}"
    return product_of_warp(opcode, "wmma", (m, n, k), (d, a), counts, "", turns)


def wgmma(n, k, d, a, kinds=None, turns=200):
    """m64: A of 8 KiB at 0, B at 8 KiB, both without swizzling: 64 bytes of k in 4 chunks, a line of 8 rows each 128 bytes."""
    count = n // 2 * BITS[d] // 32
    words, fill = registers("d", d, count)
    describe = [(at << 0) | (8 << 16) | (16 << 32) for at in (0, 512)]
    fill += ("    mov.u32 %at, %tid.x;\n    mul.lo.u32 %at, %at, 4;\nfill:\n"
             f"    st.shared.b32 [%at], {ONES[a]};\n    add.u32 %at, %at, 512;\n    setp.lt.u32 %more, %at, 24576;\n    @%more bra fill;\n"
             f"    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mov.b64 %a, {describe[0]};\n    mov.b64 %b, {describe[1]};\n")
    words += "    .reg .b64 %a, %b;\n    .reg .b32 %at;\n    .reg .pred %adds, %not;\n"
    scales = {"s32": "", "f16": ", 1, 1, 0, 0", "f32": ", 1, 1"}[d] if a not in ("f16", "bf16") else ", 1, 1, 0, 0"
    if a in ("e4m3", "e5m2"):
        scales = ", 1, 1"
    kinds = kinds or f"{d}.{a}.{a}"
    line = f"    wgmma.mma_async.sync.aligned.m64n{n}k{k}.{kinds} {vector('d', count)}, %a, %b, "
    begin = "    setp.ne.u32 %not, 0, 0;\n    setp.eq.u32 %adds, 0, 0;\n    wgmma.fence.sync.aligned;\n"
    loop = (begin + line + f"%not{scales};\n" + (line + f"%adds{scales};\n") * 3 +
            "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n")
    return Kernel(f"wgmma m64n{n}k{k} {d}.{a}", entry(fill, words, loop, turns, ""), launch(128, 1, 40960), 2 * 64 * n * k * 4 * turns,
                  "GFLOP/s", giga)


# ---- scalars

def scalar(name, instruction, declarations, fill="", turns=60000, amount=1, unit="M/s", rate=mega):
    """`amount` of work for a thread in each of the loop's 16 instructions."""
    text = entry(fill, declarations, f"    {instruction}\n" * 16, turns)
    return Kernel(name, text, launch(), 16 * turns * 32 * WARPS * amount, unit, rate)


F64 = ("    .reg .f64 %d<4>;\n", "    mov.f64 %d0, 0d3ff0000000000000;\n    mov.f64 %d1, 0d3ff0000000000000;\n    mov.f64 %d2, 0d3ff0000000000000;\n")
F32 = ("    .reg .f32 %d<4>;\n", "    mov.f32 %d0, 0f3f800000;\n    mov.f32 %d1, 0f3f800000;\n    mov.f32 %d2, 0f3f800000;\n")
U32 = ("    .reg .b32 %d<4>;\n", "    mov.u32 %d0, %tid.x;\n    mov.u32 %d1, 1;\n    mov.u32 %d2, 2;\n")
AT = ("    .shared .align 16 .b32 line[1024];\n    .reg .b32 %d<4>, %at;\n    .reg .b64 %g, %o;\n",
      "    mov.u32 %d0, %tid.x;\n    mul.lo.u32 %d0, %d0, 4;\n    mov.u32 %at, line;\n    add.u32 %at, %at, %d0;\n    ld.param.u64 %g, [p];\n"
      "    cvt.u64.u32 %o, %d0;\n    add.u64 %g, %g, %o;\n    st.shared.b32 [%at], %d0;\n")


# ---- asynchronous work in clusters: every block copies 16 bytes a thread, `depth` copies in flight

def copies(cluster, depth, turns):
    declarations = "    .shared .align 16 .b8 line[65536];\n    .reg .b32 %at, %i;\n    .reg .b64 %g, %o;\n"
    fill = ("    ld.param.u64 %g, [p];\n    mov.u32 %i, %tid.x;\n    mul.lo.u32 %i, %i, 16;\n    mov.u32 %at, line;\n"
            "    add.u32 %at, %at, %i;\n    cvt.u64.u32 %o, %i;\n    add.u64 %g, %g, %o;\n")
    one = "".join(f"    cp.async.cg.shared.global [%at+{i * 512}], [%g+{i * 512}], 16;\n    cp.async.commit_group;\n" for i in range(depth))
    text = entry(fill, declarations, one + "    cp.async.wait_group 0;\n", turns)
    return Kernel(f"cp.async cluster {cluster}, {depth} in flight", text, launch(32, cluster), 32 * cluster * depth * turns, "ns", nanoseconds)


def waits(cluster, depth, turns):
    """Thread 0 of a block starts `depth` bulk copies of 16 bytes, each with an mbarrier of its own; then all wait for each."""
    declarations = ("    .shared .align 8 .b64 bar[64];\n    .shared .align 16 .b8 line[1024];\n    .reg .b32 %at, %i, %t, %line;\n"
                    "    .reg .b64 %g;\n    .reg .pred %first, %done;\n")
    fill = ("    ld.param.u64 %g, [p];\n    mov.u32 %i, %tid.x;\n    setp.eq.u32 %first, %i, 0;\n    mov.u32 %at, bar;\n    mov.u32 %line, line;\n"
            "    mov.u32 %t, 0;\n" + "".join(f"    @%first mbarrier.init.shared.b64 [%at+{8 * i}], 1;\n" for i in range(depth)) +
            "    bar.sync 0;\n")
    loop = "".join(f"    @%first mbarrier.arrive.expect_tx.shared.b64 _, [%at+{8 * i}], 16;\n"
                   "    @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                   f"[%line+{16 * i}], [%g], 16, [%at+{8 * i}];\n" for i in range(depth))
    loop += "".join(f"wait{i}:\n    mbarrier.try_wait.parity.shared.b64 %done, [%at+{8 * i}], %t;\n    @!%done bra wait{i};\n"
                    for i in range(depth))
    text = entry(fill, declarations, loop + "    xor.b32 %t, %t, 1;\n    bar.sync 0;\n", turns)
    return Kernel(f"mbarrier cluster {cluster}, {depth} in flight", text, launch(32, cluster), cluster * depth * turns, "ns", nanoseconds)


FULL = {"d": 8, "a": 8, "b": 8, "c": 8}
KERNELS = [
    mma(16, 8, 16, "f32", "f16"), mma(16, 8, 16, "f16", "f16"), mma(16, 8, 8, "f32", "f16"), mma(16, 8, 16, "f32", "bf16"),
    mma(16, 8, 8, "f32", "bf16"), mma(16, 8, 8, "f32", "tf32"), mma(16, 8, 4, "f32", "tf32", turns=32000), mma(16, 8, 32, "f32", "e4m3"),
    mma(16, 8, 32, "f32", "e5m2"), mma(16, 8, 32, "s32", "s8"), mma(16, 8, 32, "s32", "u8"), mma(16, 8, 16, "s32", "s8"),
    mma(8, 8, 16, "s32", "s8", turns=32000), mma(16, 8, 64, "s32", "s4"), mma(16, 8, 64, "s32", "u4"), mma(8, 8, 32, "s32", "s4", turns=32000),
    mma(16, 8, 256, "s32", "b1", ".xor.popc", 4000), mma(16, 8, 128, "s32", "b1", ".and.popc", 4000), mma(8, 8, 128, "s32", "b1", ".xor.popc", 8000),
    mma(16, 8, 16, "f64", "f64"), mma(16, 8, 8, "f64", "f64"), mma(16, 8, 4, "f64", "f64", turns=64000), mma(8, 8, 4, "f64", "f64", turns=64000),
    mma(8, 8, 4, "f32", "f16", turns=4000, counts={"d": 8, "a": 2, "b": 2, "c": 8}, batches=4),
    sparse_mma(16, 8, 32, "f32", "f16"), sparse_mma(16, 8, 16, "f32", "tf32"), sparse_mma(16, 8, 64, "s32", "s8"),
    wmma(16, 16, 16, "f32", "f16", FULL), wmma(32, 8, 16, "f32", "f16", FULL), wmma(8, 32, 16, "f32", "f16", FULL),
    wmma(16, 16, 16, "f16", "f16", {"d": 4, "a": 8, "b": 8, "c": 4}), wmma(16, 16, 16, "f32", "bf16", {"d": 8, "a": 4, "b": 4, "c": 8}),
    wmma(16, 16, 8, "f32", "tf32", {"d": 8, "a": 4, "b": 4, "c": 8}), wmma(16, 16, 16, "s32", "s8", {"d": 8, "a": 2, "b": 2, "c": 8}),
    wmma(16, 16, 16, "s32", "u8", {"d": 8, "a": 2, "b": 2, "c": 8}), wmma(8, 8, 32, "s32", "s4", {"d": 2, "a": 1, "b": 1, "c": 2}, 32000),
    wmma(8, 8, 128, "s32", "b1", {"d": 2, "a": 1, "b": 1, "c": 2}, extra=".xor.popc"),
    wmma(8, 8, 4, "f64", "f64", {"d": 2, "a": 1, "b": 1, "c": 2}, 64000),
    wgmma(256, 16, "f32", "f16"), wgmma(256, 16, "f16", "f16"), wgmma(256, 16, "f32", "bf16"), wgmma(256, 8, "f32", "tf32"),
    wgmma(256, 32, "f32", "e4m3"), wgmma(256, 32, "f32", "e5m2"), wgmma(256, 32, "f16", "e4m3"), wgmma(256, 32, "s32", "s8"),
    wgmma(256, 32, "s32", "u8"), wgmma(256, 256, "s32", "b1", "s32.b1.b1.and.popc", 60),
    wgmma(64, 16, "f32", "f16"), wgmma(8, 16, "f32", "f16", turns=4000), wgmma(8, 8, "f32", "tf32", turns=4000),
    scalar("fma.rn.f64", "fma.rn.f64 %d3, %d0, %d1, %d2;", *F64, amount=2, unit="GFLOP/s", rate=giga),
    scalar("add.f64", "add.f64 %d3, %d0, %d1;", *F64, amount=1, unit="GFLOP/s", rate=giga),
    scalar("mul.f64", "mul.f64 %d3, %d0, %d1;", *F64, amount=1, unit="GFLOP/s", rate=giga),
    scalar("fma.rz.f64", "fma.rz.f64 %d3, %d0, %d1, %d2;", *F64, amount=2, unit="GFLOP/s", rate=giga),
    scalar("div.rn.f64", "div.rn.f64 %d3, %d0, %d1;", *F64, amount=1, unit="GFLOP/s", rate=giga),
    scalar("fma.rn.f32", "fma.rn.f32 %d3, %d0, %d1, %d2;", *F32, amount=2, unit="GFLOP/s", rate=giga),
    scalar("add.u32", "add.u32 %d3, %d0, %d1;", *U32), scalar("ld.shared.b32", "ld.shared.b32 %d3, [%at];", *AT),
    scalar("ld.global.b32", "ld.global.b32 %d3, [%g];", *AT, turns=20000), scalar("st.global.b32", "st.global.b32 [%g], %d0;", *AT, turns=20000),
    *(copies(cluster, depth, 4096 // cluster // depth) for cluster in (1, 4, 16) for depth in (1, 8, 64)),
    *(waits(cluster, depth, 4096 // cluster // depth) for cluster in (1, 4, 16) for depth in (1, 8, 64)),
]
