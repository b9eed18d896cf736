# SPDX-License-Identifier: Apache-2.0
"""Odd arguments: each is refused by the name of its parameter, and none is taken for something else."""
import array

import numpy as np
import pytest

import clusterjit as cj

ONES = np.ones((4, 8), np.float32)
ROW8 = np.ones((8, 8), np.float32)
GRID = np.ones((4, 2, 8), np.float32)
HALF, ROWS = np.ones((16, 32), np.float16), np.ones((8, 32), np.float16)

#: Of each function, arguments that it takes.
TAKEN = {
    **{name: (ONES,) for name in ("sum", "prod", "min", "max", "mean", "meanvar", "argmin", "argmax", "softmax", "log_softmax", "rms_norm",
                                  "layer_norm", "cumsum", "cumprod", "cummin", "cummax", "sort", "argsort", "sample", "stencil")},
    "softmax_backward": (ONES, ONES), "log_softmax_backward": (ONES, ONES), "cross_entropy": (ONES, np.zeros(4, np.int64)),
    "topk": (ONES, 2), "kthvalue": (ONES, 2), "histogram": (ONES,), "exchange": (GRID,), "collective": (GRID,),
    "matmul": (HALF, ROWS.T), "linear": (HALF, ROWS), "rms_norm_backward": (ONES, ONES, np.ones(4, np.float32)),
    "layer_norm_backward": (ONES, ONES, np.ones(4, np.float32), np.ones(4, np.float32)), "reduce": (ONES, "a + b", "0"),
    "scan": (ONES, "a + b", "0"),
}
NO_ARRAYS = {"a list": ONES.tolist(), "an empty list": [], "a tuple": (1.0, 2.0), "a number": 3.0, "None": None, "True": True,
             "bytes": b"abc", "a bytearray": bytearray(16), "a memoryview": memoryview(ONES), "an array of Python's": array.array("f", [1]),
             "a text": "abc", "a scalar": np.float32(1)}
NO_ARRAYS_OF_OURS = {
    "a mask": lambda x: np.ma.masked_array(x, mask=x == 1), "long double": lambda x: x.astype(np.longdouble),
    "complex": lambda x: x.astype(np.complex64), "bool": lambda x: x.astype(bool), "objects": lambda x: x.astype(object),
    "times": lambda x: x.astype("i8").astype("M8[s]"), "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "no elements": lambda x: x[:0], "no address of elements": lambda x: _at_an_odd_address(x),
}


def _at_an_odd_address(x):
    return np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)


def test_these_are_all_functions():
    assert TAKEN.keys() == {name for name in cj.__all__ if isinstance(getattr(cj, name), cj.Function)}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_no_array_is_refused_by_name(name):
    x, *others = TAKEN[name]
    parameter = "a" if name == "matmul" else "logits" if name == "sample" else "dy" if name.endswith("backward") else "x"
    for what, value in NO_ARRAYS.items():
        with pytest.raises(cj.UnsupportedType, match=f"^{parameter}: an? .* is no array") as caught:
            getattr(cj, name)(value, *others)
        assert "numpy.asarray" in caught.value.hint, what
    for what, change in NO_ARRAYS_OF_OURS.items():
        with pytest.raises(cj.InvalidArgument, match=f"^{parameter}: ") as caught:
            getattr(cj, name)(change(x), *others)
        assert caught.value.field == parameter and caught.value.limit and caught.value.hint, what


@pytest.mark.parametrize("call", [lambda out: cj.softmax(ONES, out=out), lambda out: cj.softmax.plan(ONES)(ONES, out=out)])
def test_an_out_that_is_no_array_is_refused_by_name(call):
    for out in ([1, 2], [ONES.copy()], "x", (None,), 3.0):
        with pytest.raises(cj.UnsupportedType, match="^out: an? .* is no array"):
            call(out)
    with pytest.raises(cj.UnsupportedType, match="^out: a MaskedArray has a mask, which would be ignored"):
        call(np.ma.masked_array(ONES.copy(), mask=ONES == 1))


class Image:
    __array_interface__ = {"data": b"abcd", "shape": (4,), "typestr": "|u1", "version": 3}


VALUES = {
    "an array for a number": (lambda: cj.topk(ONES, np.array(2)), "k: a ndarray was given, and no array is taken here"),
    "an array for a plan's number": (lambda: cj.sum(ONES, cluster=ONES), "cluster: a ndarray was given"),
    "an array for True": (lambda: cj.sort(ONES, descending=ONES), "descending: a ndarray was given"),
    "a fraction": (lambda: cj.stencil(ONES, dim=1.5), "dim: 1.5 is no whole number"),
    "a text for a number": (lambda: cj.softmax(ONES, scale="big"), "scale: 'big' is no number"),
    "None for a number": (lambda: cj.sample(ONES, top=None), "top: None is no whole number"),
    "True for a number": (lambda: cj.kthvalue(ONES, True), "k: True is no whole number"),
    "True for an axis": (lambda: cj.cumsum(ONES[:3], axis=True), "axis: True is no whole number"),
    "NaN for a number": (lambda: cj.rms_norm(ONES, eps=float("nan")), "eps: nan is not above 0"),
    "a word for True": (lambda: cj.collective(GRID, "shift", around="no"), "around: 'no' is neither True nor False"),
    "NaN for True": (lambda: cj.topk(ONES, 2, largest=float("nan")), "largest: nan is neither True nor False"),
    "a number for a range": (lambda: cj.histogram(ONES, 4, 3.0), "range: 3.0 is no tuple or list of numbers"),
    "a range of one": (lambda: cj.histogram(ONES, 4, (0,)), "range: .* is not two numbers"),
    "a range of lists": (lambda: cj.histogram(ONES, 4, (0, [1])), r"range: \[1\] is no number"),
    "a range without an end": (lambda: cj.histogram(ONES, 4, (0, float("inf"))), r"range: \(0, inf\) is not finite"),
    "a weight beyond f64": (lambda: cj.stencil(ONES, [2**2000] * 5), "weights: [0-9]+ is beyond f64"),
    "a number for weights": (lambda: cj.stencil(ONES, 3.0), "weights: 3.0 is no tuple or list of numbers"),
    "a word in weights": (lambda: cj.stencil(ONES, [0.5, "a", 0.5]), "weights: 'a' is no number"),
    "flags and offsets": (lambda: cj.cumsum(ONES[0], flags=np.zeros(8, np.uint8), offsets=np.array([0, 8])), "offsets: segments are given by flags, too"),
    "offsets of rows": (lambda: cj.cumsum(ONES, offsets=np.array([0, 8])), r"x: its shape is \(4, 8\); with offsets it is one row"),
    "rows that overlap": (lambda: cj.softmax(np.lib.stride_tricks.sliding_window_view(ONES[0], 3)), r"x: strides \(1, 1\) .* are those of rows that overlap"),
    "results that overlap": (lambda: cj.cumsum(ONES[:2, :4], out=np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (2, 4), (8, 4))),
                             "out: strides .* are those of rows that overlap"),
    "a mask of other columns": (lambda: cj.softmax(ONES, mask=ONES[:, :7].copy()), r"mask: its shape is \(4, 7\); its last axis must be that of x"),
    "an array for a keyword of NumPy's": (lambda: cj.sum(ONES, where=ONES), "where: sum has no such keyword"),
    "too many blocks": (lambda: cj.exchange(np.ones((17, 4), np.int32)), r"x: its shape is \(17, 4\); a cluster has a block for each of its 17 rows, and 16 at most"),
    "bytes that are combined": (lambda: cj.collective(GRID[0].astype(np.uint8), "scan"), "x: its dtype is u8; it must be f32 or "),
    "a root below 0": (lambda: cj.collective(GRID[0], "broadcast", root=-1), "root: -1 is no rank of a cluster of 2"),
    "an image's bytes": (lambda: cj.histogram(Image()), "array: a Image does not say where its elements lie"),
    "None for a word": (lambda: cj.stencil(ONES, boundary=None), "boundary: None is no word"),
    "None for a number of each call": (lambda: cj.sample(ONES, temperature=None), "temperature: None is no number"),
    "None for a seed": (lambda: cj.sample(ONES, seed=None), "seed: None is no number"),
    "True for a number of each call": (lambda: [cj.sample(ONES), cj.sample(ONES, top_k=True)], "top_k: True is no number"),
    "True for a plan's number": (lambda: cj.sample.plan(ONES)(ONES, temperature=True), "temperature: True is no number"),
    "a word in capitals": (lambda: cj.exchange(GRID, "HALO"), "pattern: 'HALO' is none of pair, ring, halo, all_to_all"),
    "no word of an enum": (lambda: cj.stencil(ONES, shape=-1), "shape: -1 is none of star, box"),
    "a number for an expression": (lambda: cj.reduce(ONES, 0, "0"), "op: 0 is no expression"),
    "a dtype": (lambda: cj.sort(ONES, index_dtype="i4"), "index_dtype: 'i4' is none of"),
    "a label's name": (lambda: cj.cross_entropy(ONES, np.zeros(4, np.int64), label_smoothing=-1), "label_smoothing: -1 is outside 0 to 1"),
    "a type of another family": (lambda: cj.stencil(ONES.astype(np.int32)), "x: its dtype is i32; it must be one of: f32 f64"),
    "no axis": (lambda: cj.stencil(np.array(ONES[0, 0])), r"x: its shape is \(\); at least one axis"),
    "no axis of a gradient": (lambda: cj.softmax_backward(np.array(ONES[0, 0]), ONES), r"dy: its shape is \(\)"),
    "no axis of a product": (lambda: cj.linear(np.array(HALF[0, 0]), ROWS), r"x: its shape is \(\)"),
    "a weight that lies the other way": (lambda: cj.linear(HALF, ROWS.T), r"weight: its shape is \(32, 8\); x is \(16, 32\), so it must be \(n, 32\)"),
    "a grid at an element": (lambda: cj.stencil(np.ones(33, np.float32)[1:]), "x: its address is a multiple of 4 bytes alone; grids are read"),
    "a stream": (lambda: cj.sum(ONES, stream=True), "stream: a bool is no stream"),
    "a stream below 0": (lambda: cj.sum(ONES, stream=-1), "stream: -1 is no stream"),
    "a stream of 65 bits": (lambda: cj.sum(ONES, stream=2**64), "stream: 18446744073709551616 is no stream"),
}


@pytest.mark.parametrize("what", VALUES)
def test_a_value_is_refused_by_name(what):
    call, message = VALUES[what]
    with pytest.raises(cj.InvalidArgument, match="^" + message):
        call()


def test_a_hint_about_all_elements_is_of_functions_of_all_elements():
    for call, told in ((lambda: cj.meanvar(ONES, axis=0), True), (lambda: cj.sum(ONES, keepdims=True), True), (lambda: cj.sample(ONES, axis=-1), False),
                       (lambda: cj.stencil(ONES, axis=0), False)):
        with pytest.raises(cj.InvalidArgument) as caught:
            call()
        assert ("all elements of x" in caught.value.hint) == told


# ---- overlaps

def test_what_is_written_overlaps_nothing():
    flat = np.arange(64, dtype=np.float32)
    x, later = flat[:32].reshape(4, 8), flat[16:48].reshape(4, 8)
    indices = np.zeros((4, 8), np.int64)
    half = np.zeros((4, 8), np.float32)
    for call, name in (
            (lambda out: cj.softmax(x, out=out), "out"), (lambda out: cj.cumsum(x, out=out), "out"), (lambda out: cj.stencil(x, out=out), "out"),
            (lambda out: cj.sort(x, out=(out, indices)), r"out\[0\]"), (lambda out: cj.rms_norm(x, residual=x, out=(half, out)), r"out\[1\]"),
            (lambda out: cj.softmax.plan(x)(x, out=out), "out")):
        for _ in range(3):  # also of calls that have been made before
            with pytest.raises(cj.InvalidArgument, match=f"^{name}: its 128 bytes at 0x.* overlap x, 128 bytes at 0x"):
                call(later)
            call(np.zeros((4, 8), np.float32))
    with pytest.raises(cj.InvalidArgument, match=r"^out\[1\]: its 16 bytes at 0x.* overlap out\[0\]"):
        cj.cross_entropy(x, np.zeros(4, np.int64), out=(half[0, :4], half[0, :4]))
    with pytest.raises(cj.InvalidArgument, match="^out: its 128 bytes at 0x.* overlap x"):
        cj.stencil(x, out=x)
    assert (flat == np.arange(64)).all()


def test_columns_of_one_matrix_do_not_overlap(rng):
    whole = rng.integers(0, 9, (5, 24)).astype(np.int32)
    wanted = np.cumsum(whole[:, :8], -1)
    cj.cumsum(whole[:, :8], out=whole[:, 8:16])
    assert (whole[:, 8:16] == wanted).all()
    with pytest.raises(cj.InvalidArgument, match="overlap x"):
        cj.cumsum(whole[:, :8], out=whole[:, 7:15])
    with pytest.raises(cj.InvalidArgument, match="overlap x"):  # the last columns of a row and the first ones of the next
        cj.cumsum(whole[:4, 16:], out=whole.reshape(-1)[20:116].reshape(4, 24)[:, :8])


def test_some_are_written_in_place(rng):
    x = rng.integers(0, 9, (6, 2, 8)).astype(np.int32)
    wanted = x[:, ::-1].copy()
    assert cj.exchange(x, out=x) is x and (x == wanted).all()
    c = rng.random((16, 8), np.float32).astype(np.float16)
    wanted = HALF.astype(np.float32) @ ROWS.T.astype(np.float32) + c
    cj.matmul(HALF, ROWS.T, c=c, out=c)
    np.testing.assert_allclose(c, wanted, rtol=1e-3)
    with pytest.raises(cj.InvalidArgument, match="overlap x"):
        halo = np.zeros((6, 2, 10), np.int32)
        cj.exchange(halo.reshape(-1)[:96].reshape(6, 2, 8), "halo", out=halo)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 5, 1), (5, 1, 1), (1, 1, 5), (1, 5, 7), (5, 1, 7), (5, 7, 1)])
def test_f32_of_one_row_or_column_lies_either_way(rng, m, n, k):
    a, b = rng.integers(0, 9, (m, k)).astype(np.float32), rng.integers(0, 9, (k, n)).astype(np.float32)
    assert (cj.matmul(a, np.asfortranarray(b)) == a @ b).all()
    if n == 1 or k == 1:
        assert (cj.matmul(a, b) == a @ b).all()
    for x, y in ((a, np.asfortranarray(b)), (a.astype(np.float16), b.astype(np.float16))):  # with gaps between what there is one of
        wide, high = np.zeros((m, 5 * k), x.dtype), np.zeros((5 * k, n), y.dtype)
        if k == 1 or m == 1 and x.dtype == np.float16:
            wide[:, ::5] = x
            assert (cj.matmul(wide[:, ::5], y) == a @ b).all()
        if k == 1 or n == 1 and x.dtype == np.float16:
            high[::5] = y
            assert (cj.matmul(x, high[::5]) == a @ b).all()


def test_f32_that_lies_the_wrong_way_is_refused_with_a_cure(rng):
    a, b = rng.random((16, 32), np.float32), rng.random((32, 8), np.float32)
    with pytest.raises(cj.InvalidArgument, match="^b: it lies by rows; of f32 it must lie by columns") as caught:
        cj.matmul(a, b)
    assert "numpy.asfortranarray(b)" in caught.value.hint
    with pytest.raises(cj.InvalidArgument, match="^a: it lies by columns; of f32 it must lie by rows"):
        cj.matmul(np.asfortranarray(a), np.asfortranarray(b))
    np.testing.assert_allclose(cj.matmul(a, np.asfortranarray(b)), a @ b, rtol=1e-2)


# ---- kernels, texts, devices, several ranks

FILL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 out, .param .u32 value) {
    .reg .u32 %v, %t; .reg .u64 %o;
    ld.param.u64 %o, [out]; ld.param.u32 %v, [value];
    mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
    st.global.u32 [%o], %v; ret;
}"""
OF_KERNELS = {
    "no grid": (lambda kernel, out: kernel(out, 7, grid=None, block=4), "grid: None is not one to three whole numbers"),
    "no shared memory": (lambda kernel, out: kernel(out, 7, grid=1, block=4, shared=None), "shared: None is no whole number"),
    "shared memory below 0": (lambda kernel, out: kernel(out, 7, grid=1, block=4, shared=-1), "shared: -1 is no whole number"),
    "None for a number": (lambda kernel, out: kernel(out, None, grid=1, block=4), "value: None was given for an integer"),
    "from the end": (lambda kernel, out: kernel(out[::-1], 7, grid=1, block=4), r"out: strides \(-1,\) are below 0"),
    "a mask": (lambda kernel, out: kernel(np.ma.masked_array(out), 7, grid=1, block=4), "out: a MaskedArray has a mask"),
    "no text": (lambda kernel, out: cj.Kernel(None, device="cpu"), "source: a NoneType is no text"),
    "bytes": (lambda kernel, out: cj.check(FILL.encode()), "source: a bytes is no text"),
    "no entry's name": (lambda kernel, out: cj.Kernel(FILL, 0, device="cpu"), "entry: a int is no text"),
    "no target's name": (lambda kernel, out: cj.emit("reduce", arch=90), "arch: a int is no text"),
    "no family's name": (lambda kernel, out: cj.emit(None), "family: a NoneType is no text"),
    "one option": (lambda kernel, out: cj.check("__global__ void k() {}", options="--use_fast_math"), "options: '--use_fast_math' is one text"),
    "a NUL in a family's name": (lambda kernel, out: cj.emit("reduce\0"), r"family: 'reduce\\x00' has a NUL character"),
    "a NUL in a word": (lambda kernel, out: cj.emit("reduce", dtype="f32\0"), r"dtype: 'f32\\x00' has a NUL character"),
    "a NUL in a target": (lambda kernel, out: cj.check(FILL, arch="sm_90\0a"), "arch: .* has a NUL character"),
    "a NUL in an entry's name": (lambda kernel, out: cj.Kernel(FILL, "fill\0", device="cpu"), "entry: .* has a NUL character"),
    "a NUL in a device's name": (lambda kernel, out: cj.device("cpu\0"), "device: .* has a NUL character"),
    "a NUL in an expression": (lambda kernel, out: cj.reduce(ONES, "a + b\0", "0"), "op: .* has a NUL character"),
    "half a character": (lambda kernel, out: cj.check("// \ud800"), r"source: '\\ud800' at character 3 cannot be written as UTF-8"),
    "no device": (lambda kernel, out: cj.Device(None), "device: a NoneType is no text"),
    "no device's name": (lambda kernel, out: cj.device(None), "device: a NoneType is no text"),
    "a word for hazards": (lambda kernel, out: cj.device("cpu").watch(hazards="no").__enter__(), "hazards: 'no' is neither True nor False"),
    "an array for a seed": (lambda kernel, out: cj.device("cpu").watch(seed=out).__enter__(), "seed: a ndarray was given"),
    "a word for late": (lambda kernel, out: cj.device("cpu").watch(late="no").__enter__(), "late: 'no' is neither True nor False"),
    "half of a pool": (lambda kernel, out: cj.device("cpu").set_workspaces(lambda size, stream: 0), "free: a NoneType is no function"),
    "numbers for a pool": (lambda kernel, out: cj.device("cpu").set_workspaces(3, 4), "allocate: a int is no function"),
    "no stream": (lambda kernel, out: cj.device("cpu").synchronize("x"), "stream: a str is no stream"),
    "a seed below 0": (lambda kernel, out: cj.device("cpu").watch(seed=-1).__enter__(), "seed: -1 is outside 0 to"),
}


@pytest.mark.parametrize("what", OF_KERNELS)
def test_a_kernels_argument_is_refused_by_name(what):
    call, message = OF_KERNELS[what]
    with cj.Kernel(FILL, device="cpu") as kernel, pytest.raises(cj.InvalidArgument, match="^" + message):
        call(kernel, np.zeros(4, np.uint32))


def test_a_watch_that_is_refused_leaves_the_device_as_it_was(cpu):
    with pytest.raises(cj.InvalidArgument):
        with cpu.watch(seed=2**64):
            pass
    with cpu.watch(seed=7):
        assert float(cj.sum(ONES)) == 32


def test_watches_that_end_in_the_order_they_began_leave_the_device_as_it_was(cpu):
    first, second = cpu.watch(instruction_limit=10), cpu.watch(instruction_limit=100)
    first.__enter__(), second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(cj.Hazard, match="its limit of 100 thread instructions"):
        cj.sum(ONES)
    second.__exit__(None, None, None)
    assert cj.sum(ONES) == 32


def test_what_ranks_lack_is_refused_by_name():
    with cj.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        for call, message in ((lambda: gpus.softmax(None), "x: 1 arrays are given, and this process has 2 ranks"),
                              (lambda: gpus.softmax([ONES, None]), "x: a NoneType is no array"),
                              (lambda: gpus.topk([ONES, ONES], True), "k: True is no whole number"),
                              (lambda: gpus.all_reduce([ONES, ONES], op=["sum"]), r"op: \['sum'\] is none of sum, min, max")):
            with pytest.raises(cj.InvalidArgument, match="^" + message):
                call()


VECTORS = {
    "weight": lambda x: cj.rms_norm(ONES, x), "bias": lambda x: cj.layer_norm(ONES, bias=x), "rstd": lambda x: cj.rms_norm_backward(ROW8, ROW8, x),
    "labels": lambda x: cj.cross_entropy(ROW8, x.astype(np.int64).repeat(2)[::2]), "counts": lambda x: cj.sample(ONES[0], counts=x.astype(np.uint32).repeat(2)[::2]),
    "offsets": lambda x: cj.cumsum(ONES[0], offsets=x.astype(np.int64).repeat(2)[::2]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_an_array_with_gaps_is_refused_by_its_strides(name):
    with pytest.raises(cj.InvalidArgument, match=rf"^{name}: strides \(2,\) in elements, of shape \(8,\), are not those of a contiguous array") as caught:
        VECTORS[name](np.arange(16, dtype=np.float32)[::2])
    assert "numpy.ascontiguousarray" in caught.value.hint
