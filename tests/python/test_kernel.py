# SPDX-License-Identifier: Apache-2.0
"""Kernels of one's own: arguments by the entry's parameters, hazards with their lines, findings of a text."""
import decimal
import fractions
import pathlib

import numpy as np
import pytest

import clusterjit as cj

FAULTS = pathlib.Path(__file__).resolve().parents[1] / "faults"
TYPES = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry types(.param .u64 out, .param .s8 a, .param .u16 b, .param .s32 c, .param .u64 d, .param .f32 e, .param .f64 f,
                      .param .align 8 .b8 g[16]) {
    .reg .u64 %o, %d; .reg .s16 %a; .reg .u16 %b; .reg .s32 %c; .reg .f32 %e; .reg .f64 %x, %f, %s; .reg .u64 %g;
    ld.param.u64 %o, [out];
    ld.param.s8 %a, [a];  cvt.rn.f64.s16 %s, %a;
    ld.param.u16 %b, [b]; cvt.rn.f64.u16 %x, %b; add.f64 %s, %s, %x;
    ld.param.s32 %c, [c]; cvt.rn.f64.s32 %x, %c; add.f64 %s, %s, %x;
    ld.param.u64 %d, [d]; cvt.rn.f64.u64 %x, %d; add.f64 %s, %s, %x;
    ld.param.f32 %e, [e]; cvt.f64.f32 %x, %e;    add.f64 %s, %s, %x;
    ld.param.f64 %f, [f];                        add.f64 %s, %s, %f;
    ld.param.u64 %g, [g + 8]; cvt.rn.f64.u64 %x, %g; add.f64 %s, %s, %x;
    st.global.f64 [%o], %s;
    ret;
}
"""
CUDA = """
template <typename T> __global__ void scale(T *y, const T *x, T by) { y[threadIdx.x] = by * x[threadIdx.x]; }
__global__ void race(float *y, const float *x) {
    __shared__ float s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[threadIdx.x ^ 32];
}
"""


def fault(name, corrected):
    lines = (FAULTS / f"{name}.ptx").read_text().splitlines()
    return "\n".join(line for line in lines if ("!fault" if corrected else "!fix") not in line)


def compiled(*arguments, **keywords):
    try:
        return cj.Kernel(CUDA, *arguments, device="cpu", name="race.cu", **keywords)
    except cj.Unsupported as error:
        pytest.skip(str(error))


def test_arguments_have_the_types_of_the_parameters():
    kernel, out = cj.Kernel(TYPES, device="cpu"), np.zeros(1)
    structure = np.array([(1, 2**40)], dtype=[("a", "u8"), ("b", "u8")])[0]
    for last in (structure, structure.tobytes()):
        out[:] = 0
        kernel(out, -5, np.uint16(60000), -2**31, 2**33, 0.5, np.float64(0.25), last, grid=1, block=1)
        assert out[0] == -5 + 60000 - 2**31 + 2**33 + 0.75 + 2**40


WRONG = {
    "b: 65536 is outside an integer of 2 bytes": {2: 65536},
    "a: 1.5 was given for an integer of 1 bytes": {1: 1.5},
    "e: 'x' was given for a float of 4 bytes": {5: "x"},
    "c: a float32 was given for an integer of 4 bytes": {3: np.float32(1)},
    "g: 3 bytes were given for a structure of 16 bytes": {7: b"abc"},
    "e: an array was given for a float of 4 bytes": {5: np.zeros(1, np.float32)},
    "out: 1.0 was given for a pointer of 8 bytes": {0: 1.0},
    "c: 7.9 was given for an integer of 4 bytes": {3: decimal.Decimal("7.9")},
    "c: 15/2 was given for an integer of 4 bytes": {3: fractions.Fraction(15, 2)},
    "d: a complex64 was given for an integer of 8 bytes": {4: np.complex64(1)},
    "f: a complex64 was given for a float of 8 bytes": {6: np.complex64(1)},
}


@pytest.mark.parametrize("message", WRONG)
def test_an_argument_is_refused(message):
    arguments = [np.zeros(1), 0, 0, 0, 0, 0.0, 0.0, bytes(16)]
    for at, value in WRONG[message].items():
        arguments[at] = value
    with pytest.raises(cj.InvalidArgument, match=message):
        cj.Kernel(TYPES, device="cpu")(*arguments, grid=1, block=1)


def test_a_wrong_number_of_arguments_is_refused():
    with pytest.raises(cj.InvalidArgument, match="1 were given; types takes 8: out, a, b, c, d, e, f, g"):
        cj.Kernel(TYPES, device="cpu")(np.zeros(1), grid=1, block=1)


@pytest.mark.parametrize("extent", [(), (1, 1, 1, 1), -1, 2**32, 1.5, "4"])
def test_an_extent_is_refused(extent):
    with pytest.raises(cj.InvalidArgument, match="grid: .* is not one to three whole numbers"):
        cj.Kernel(TYPES, device="cpu")(np.zeros(1), 0, 0, 0, 0, 0.0, 0.0, bytes(16), grid=extent, block=np.int64(1))


@pytest.mark.parametrize("extent", [np.array([2, 1]), np.array(2), range(2, 3), [2], np.int64(2)])
def test_an_extent_is_any_sequence_of_whole_numbers(extent):
    out = np.zeros(1)
    cj.Kernel(TYPES, device="cpu")(out, np.True_, 0, 0, 0, 0.0, 0.0, bytes(16), grid=extent, block=1, cluster=extent)
    assert out[0] == 1


@pytest.mark.parametrize("words, message", [
    ({"cluster": ""}, "cluster: '' is not one to three"), ({"cluster": []}, r"cluster: \[\] is not one to three"),
    ({"nonportable": "no"}, "nonportable: 'no' is neither True nor False"), ({"cooperative": 2}, "cooperative: 2 is neither True nor False")])
def test_a_launchs_keyword_is_refused_by_name(words, message):
    with pytest.raises(cj.InvalidArgument, match="^" + message) as caught:
        cj.Kernel(TYPES, device="cpu")(np.zeros(1), 0, 0, 0, 0, 0.0, 0.0, bytes(16), grid=1, block=1, **words)
    assert caught.value.hint


def test_a_text_without_an_entry_is_told():
    with pytest.raises(cj.InvalidArgument, match="^entry: the text has none"):
        cj.Kernel(".version 8.0\n.target sm_90\n.address_size 64", device="cpu")


def test_the_contract_names_its_rule():
    with pytest.raises(cj.Contract) as caught:
        cj.Kernel(TYPES, device="cpu")(np.zeros(1), 0, 0, 0, 0, 0.0, 0.0, bytes(16), grid=4, block=32, cluster=32)
    assert caught.value.rule.startswith("cluster") and "32" in caught.value.message and caught.value.hint
    with pytest.raises(cj.Contract, match="is not a multiple") as caught:
        cj.Kernel(TYPES, device="cpu")(np.zeros(1), 0, 0, 0, 0, 0.0, 0.0, bytes(16), grid=3, block=32, cluster=2)
    assert caught.value.rule == "cluster-grid-multiple"
    assert (caught.value.field, caught.value.value, caught.value.limit) == (None, None, None)  # it speaks of two fields


def test_a_hazard_is_an_exception_with_rule_and_lines(cpu):
    for corrected in (True, False):
        kernel, out = cj.Kernel(fault("exit_before_peer_reads", corrected), device="cpu"), np.zeros(64, np.uint32)
        with cpu.watch(seed=3):
            if corrected:
                kernel(out, grid=2, block=32, cluster=2)
                assert cpu.hazards() == []
                continue
            with pytest.raises(cj.Hazard) as caught:
                kernel(out, grid=2, block=32, cluster=2)
    found = caught.value
    assert found.rule == "peer-exited" and found.hint and found.hazards[0].rule == "peer-exited"
    assert "ld.shared::cluster" in kernel.ptx.splitlines()[found.hazards[0].second.line - 1]


def test_a_hazard_of_cuda_names_the_line_of_the_source(cpu):
    kernel = compiled("race")
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with cpu.watch(), pytest.raises(cj.Hazard) as caught:
        kernel(y, x, grid=1, block=64)
    assert caught.value.rule == "race-block" and caught.value.source.endswith("race.cu:7:5")
    kernel(y, x, grid=1, block=64)  # the device watches no longer


def test_a_template_of_cuda_by_its_arguments():
    x, y = np.arange(4.0), np.zeros(4)
    compiled("scale<double>")(y, x, 3.0, grid=1, block=4)
    assert (y == 3 * x).all()


def test_an_error_of_the_compiler_is_an_exception():
    compiled("race")
    with pytest.raises(cj.Compiler, match="undefined") as caught:
        cj.Kernel("__global__ void k() { undefined(); }", device="cpu")
    assert (caught.value.field, caught.value.value, caught.value.limit) == (None, None, None)
    assert "undefined" in cj.check("__global__ void k() { undefined(); }")[0].message


def test_an_entry_must_be_chosen_among_several():
    two = TYPES + ".visible .entry other() { ret; }"
    with pytest.raises(cj.InvalidArgument, match="the text has 2: types, other"):
        cj.Kernel(two, device="cpu")
    assert cj.Kernel(two, "other", device="cpu").entry == "other"
    with pytest.raises(cj.InvalidArgument, match="types"):
        cj.Kernel(two, "none", device="cpu")


def test_a_closed_kernel_says_so():
    with cj.Kernel(TYPES, device="cpu") as kernel:
        pass
    with pytest.raises(cj.Closed):
        kernel(grid=1, block=1)


def test_check_finds_nothing_in_a_right_text():
    assert cj.check(TYPES) == [] and cj.check(fault("exit_before_peer_reads", True), arch="sm_90") == []
    assert cj.check("nonsense .version 8.0\n")[0].severity == "error"


def test_a_text_that_breaks_a_rule_is_no_kernel():
    with pytest.raises(cj.InvalidKernel) as caught:
        cj.Kernel(TYPES.replace("add.f64", "add.f65", 1), device="cpu")
    assert caught.value.line == 10


def test_emit_is_the_text_of_a_family():
    for family in ("reduce", "collective", "gemm"):
        assert cj.check(cj.emit(family)) == []


def test_workspaces_are_from_a_pool():
    from clusterjit._library import ffi, lib, thread
    device, live = cj.device("cpu"), {}

    def allocate(size, stream):
        memory = ffi.new("cj_ptr *")
        assert stream == 0 and lib.cj_mem_alloc(device.handle, size, memory, thread.error) == 0
        live[memory[0]] = size
        return memory[0]

    def free(memory, size, stream):
        assert live.pop(memory) == size and stream == 0
        lib.cj_mem_free(device.handle, memory)

    x = np.ones(4000, np.float32)
    device.set_workspaces(allocate, free)
    try:
        with cj.sum.plan(x, cluster=2, grid=8) as plan:
            assert list(live.values()) == [plan.workspace_bytes] and plan(x) == 4000
            device.set_workspaces(lambda size, stream: 0, free)
            with pytest.raises(cj.OutOfMemory, match="has no [0-9]+ bytes for a workspace"):
                cj.sum.plan(x, cluster=2, grid=8)
    finally:
        device.set_workspaces(None)
    assert not live


def test_a_structure_says_its_size():
    from clusterjit._library import ffi, lib, made, sized
    assert sized("cj_reduce_desc").struct_size == ffi.sizeof("cj_reduce_desc")
    with pytest.raises(cj.InvalidArgument, match="cj_reduce_desc: struct_size is 0"):
        made("cj_reduce *", lib.cj_reduce_create, cj.device("cpu").handle, ffi.new("cj_reduce_desc *"))
