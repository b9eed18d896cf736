# SPDX-License-Identifier: Apache-2.0
"""The kernels of cpu.py, but for products: each repeats one kind of instruction in a loop."""
import dataclasses
import typing

HEADER = ".version 8.7\n.target sm_90a\n.address_size 64\n"
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


KERNELS = [
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
