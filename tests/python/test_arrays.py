# SPDX-License-Identifier: Apache-2.0
"""Arrays are taken as they lie, without a copy; what cannot be taken is refused by name, value, limit and hint."""
import os
import subprocess
import sys
import threading
import types

import ml_dtypes
import numpy as np
import pytest

import clusterjit as cj
from clusterjit.arrays import stream_handle
from clusterjit.call import _Entry

ONES = np.ones((4, 8), np.float32)
TENS = (10.0 - np.arange(32) % 7).astype(np.float32).reshape(4, 8)


class ByDlpack:
    """An array of a library that clusterjit does not know, by DLPack."""

    def __init__(self, x, versions=True):
        self.x, self.versions = x, versions

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if keywords and not self.versions:
            raise TypeError("max_version")
        return self.x.__dlpack__(**keywords)


class ByInterface:
    """The same by NumPy's interface."""

    def __init__(self, x):
        self.x = x

    @property
    def __array_interface__(self):
        return self.x.__array_interface__


def test_rows_at_a_distance_are_taken_and_written_in_place(rng):
    whole = rng.random((6, 40), np.float32)
    x, out = whole[::2, 3:20], np.zeros((3, 64), np.float32)[:, 10:27]
    assert cj.softmax(x, out=out) is out
    np.testing.assert_allclose(out, cj.softmax(x.copy()), rtol=1e-6)
    assert (out.base[:, :10] == 0).all() and (out.base[:, 27:] == 0).all()
    flat = rng.integers(0, 9, 101).astype(np.int32)
    assert (cj.cumsum(flat[1:]) == np.cumsum(flat[1:])).all()  # aligned to 4 bytes alone


def test_calls_that_differ_from_the_last_one_have_plans_of_their_own():
    flat = np.arange(1 + 4 * 8, dtype=np.float32)
    arrays = [flat[:-1].reshape(4, 8), flat[1:].reshape(4, 8), flat[:-1].reshape(8, 4), flat[:-1].reshape(4, 8)[:, :4]]
    cj.cumsum.forget()
    for _ in range(2):
        for x in arrays:  # the second one is as the first, but aligned to 4 bytes alone
            for _ in range(2):
                out = np.empty(x.shape, np.float32)
                assert (cj.cumsum(x) == np.cumsum(x, axis=-1)).all() and (cj.cumsum(x, out=out) == np.cumsum(x, axis=-1)).all()
    assert len(cj.cumsum._entries) == 2 * len(arrays)


@pytest.mark.parametrize("wrap", [ByDlpack, lambda x: ByDlpack(x, versions=False), ByInterface])
def test_protocols_of_other_libraries(wrap):
    x, out = np.arange(8, dtype=np.float32).reshape(2, 4), np.empty((2, 4), np.float32)
    assert type(cj.cumsum(wrap(x), out=out)) is np.ndarray and (out == np.cumsum(x, -1)).all()
    written = wrap(out)
    assert cj.cumsum(x, reverse=True, out=written) is written and out[0, 0] == 6
    with pytest.raises(cj.UnsupportedType, match="does not say how another one is made"):
        cj.cumsum(wrap(x))


def test_arrays_of_the_array_api():
    space = pytest.importorskip("array_api_strict")
    y = cj.softmax(space.zeros((2, 4), dtype=space.float32))
    assert type(y) is type(space.zeros(1)) and float(y[0, 0]) == 0.25


class OfNumPy(ByDlpack):
    """An array of a library of its own, whose results are NumPy's."""

    def __array_namespace__(self):
        return types.SimpleNamespace(float32=np.float32, empty=lambda shape, dtype, device: np.empty(shape, dtype))


def test_results_are_of_the_library_of_their_own_call():
    x = np.ones((2, 4), np.float32)
    for _ in range(2):
        assert type(cj.cumsum(OfNumPy(x))) is np.ndarray
        with pytest.raises(cj.UnsupportedType, match="a ByDlpack does not say how another one is made"):
            cj.cumsum(ByDlpack(x))


@pytest.mark.parametrize("wrap", [ByDlpack, ByInterface])
def test_an_array_of_another_library_is_refused_by_its_parameter(wrap):
    for x in np.ones((2, 4), bool), np.ones((2, 4), complex):
        with pytest.raises(cj.UnsupportedType, match="^x: its dtype .* is none of float32, ") as caught:
            cj.cumsum(wrap(x))
        assert caught.value.field == "x" and caught.value.hint


def test_arrays_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    y = cj.softmax(jnp.zeros((2, 4), jnp.bfloat16))
    assert type(y) is type(jnp.zeros(1)) and y.dtype == jnp.bfloat16 and float(y[0, 0]) == 0.25


def test_a_read_only_array_is_read():
    x = np.ones((2, 4), np.float32)
    x.flags.writeable = False
    assert cj.sum(x) == 8


def test_a_plan_takes_arrays_like_its_own(rng):
    x = rng.random((4, 8), np.float32)
    plan = cj.softmax.plan(ONES)
    out = np.empty_like(x)
    assert plan(x, out=out) is out and (plan(x) == out).all() and (plan(x.copy()) == out).all()
    assert ".entry" in plan.ptx and plan.shape["block"][0] > 0


def test_threads_share_functions_and_plans(rng):
    x = rng.random((64, 100), np.float32)
    wanted, plan, wrong = cj.softmax(x), cj.softmax.plan(x), []

    def work():
        for _ in range(20):
            if not ((plan(x) == wanted).all() and (cj.softmax(x) == wanted).all()):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Gpu:
    """Takes a GPU's part in the choice of plans; the CPU device makes them."""

    kind, ordinal, capturing = "gpu", 0, False
    handle = cj.device("cpu").handle

    def is_capturing(self, stream):
        return self.capturing

    def launcher(self, start, count):
        """Nothing is launched."""


def test_streams_and_captures_have_plans_of_their_own(monkeypatch):
    gpu = Gpu()
    monkeypatch.setattr("clusterjit.call.device_of", lambda ordinal: gpu)
    one, many = (_Entry(f._request((x,), {}, ())) for f, x in ((cj.softmax, ONES), (cj.cumsum, np.ones(2**17, np.float32))))
    assert one.plan(0) is one.plan(7) and not one.plan(0).workspace_bytes
    assert many.plan(0) is many.plan(0) is not many.plan(7) and many.plan(0).workspace_bytes
    gpu.capturing = True
    assert one.plan(8) is one.plan(0) and many.plan(8) is many.plan(9)
    assert many.plan(8) not in (many.plan(0), many.plan(7))
    with pytest.raises(cj.InvalidArgument, match="a first call cannot be captured") as caught:
        _Entry(cj.softmax._request((ONES,), {}, ())).plan(0)
    assert "before the capture" in caught.value.hint


class Stream:
    """A stream by one of its names."""

    def __init__(self, **names):
        self.__dict__.update(names)


def test_streams_of_other_libraries():
    assert stream_handle(7) == 7 and stream_handle(Stream(cuda_stream=8)) == 8 and stream_handle(Stream(ptr=9)) == 9
    assert stream_handle(Stream(__cuda_stream__=lambda: (0, 10), ptr=9)) == 10 and stream_handle(Stream(handle=Stream(value=11))) == 11


class OnGpu:
    """Says that it is on GPU 0."""

    def __init__(self, x):
        self.x = x

    @property
    def __cuda_array_interface__(self):
        return self.x.__array_interface__


FROZEN = np.ones((4, 8), np.float32)
FROZEN.flags.writeable = False


NAMES = "float32, float64, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
# the call, its exception, message and hint; and the field, the value and the limit of that
REFUSED = {
    "no array": (lambda: cj.softmax([1.0, 2.0]), cj.UnsupportedType, "x: a list is no array", "__dlpack__",
         ("x", "list", "is no array")),
    "a wrong dtype": (lambda: cj.softmax(ONES.astype(np.float64)), cj.UnsupportedType, "x: its dtype is f64; it must be f32", "convert",
         ("x", "f64", "it must be f32 or f16 or bf16")),
    "no dtype of ours": (lambda: cj.sum(ONES.astype(complex)), cj.UnsupportedType, "complex128", "convert",
         ("x", "complex128", f"is none of {NAMES}, in the order of bytes of this machine")),
    "other bytes": (lambda: cj.sum(ONES.astype(">f4")), cj.UnsupportedType, "order of bytes", "convert",
         ("x", ">f4", f"is none of {NAMES}, in the order of bytes of this machine")),
    "another dtype": (lambda: cj.rms_norm(ONES, np.ones(8, np.float16)), cj.UnsupportedType, "weight: its dtype is f16", "convert",
         ("weight", "f16", "that of x is f32")),
    "a wrong shape": (lambda: cj.rms_norm(ONES, np.ones(7, np.float32)), cj.InvalidArgument, r"weight: its shape is \(7,\); it must be \(8,\)", "",
         ("weight", "(7,)", "it must be (8,), contiguous")),
    "inner sizes": (lambda: cj.matmul(np.ones((8, 8), "f2"), np.ones((16, 8), "f2")), cj.InvalidArgument, "needs 8 rows", "",
         ("b", "(16, 8)", "a is (8, 8), so it needs 8 rows")),
    "columns apart": (lambda: cj.softmax(ONES[:, ::2]), cj.InvalidArgument, r"strides \(8, 2\) in elements", "ascontiguousarray",
         ("x", "(8, 2)", "in elements, of shape (4, 4), are not those of contiguous rows at equal distances")),
    "a turned array": (lambda: cj.cumsum(ONES.T), cj.InvalidArgument, "strides", "ascontiguousarray",
         ("x", "(1, 8)", "in elements, of shape (8, 4), are not those of contiguous rows at equal distances")),
    "one row for several": (lambda: cj.sample(np.broadcast_to(ONES[0], (4, 8))), cj.InvalidArgument, "strides", "ascontiguousarray",
         ("logits", "(0, 1)", "in elements, of shape (4, 8), are those of one row that stands for several")),
    "from the end": (lambda: cj.sum(ONES[::-1]), cj.InvalidArgument, "strides", "copy",
         ("x", "(-8, 1)", "in elements, of shape (4, 8), are not those of a contiguous array")),
    "another axis": (lambda: cj.softmax(ONES, axis=0), cj.InvalidArgument, "axis: 0 is not the last one, 1", "moveaxis",
         ("axis", "0", "is not the last one, 1")),
    "no axis": (lambda: cj.softmax(np.ones((), np.float32)), cj.InvalidArgument, r"its shape is \(\)", "",
         ("x", "()", "at least one axis is needed")),
    "no rows": (lambda: cj.softmax(ONES[:0]), cj.InvalidArgument, r"its shape \(0, 8\) has no elements", "leave out",
         ("x", "(0, 8)", "has no elements; at least one is needed")),
    "no columns": (lambda: cj.argmax(ONES[:, :0]), cj.InvalidArgument, r"its shape \(4, 0\) has no elements", "leave out",
         ("x", "(4, 0)", "has no elements; at least one is needed")),
    "out's shape": (lambda: cj.softmax(ONES, out=np.ones((4, 9), "f4")), cj.InvalidArgument, r"out: its shape is \(4, 9\)", "",
         ("out", "(4, 9)", "the result's is (4, 8)")),
    "out's dtype": (lambda: cj.softmax(ONES, out=np.ones((4, 8), "f2")), cj.UnsupportedType, "out: its dtype is f16; the result is f32", "",
         ("out", "f16", "the result is f32")),
    "out is read-only": (lambda: cj.softmax(ONES, out=FROZEN), cj.InvalidArgument, "read-only", "written",
         ("out", None, "it is read-only")),
    "too many outs": (lambda: cj.softmax(ONES, out=(ONES.copy(), ONES.copy())), cj.InvalidArgument, "out: 2 arrays were given; softmax writes 1: y", "tuple",
         ("out", "2", "arrays were given; softmax writes 1: y")),
    "too few outs": (lambda: cj.topk(ONES, 2, out=ONES[:, :2].copy()), cj.InvalidArgument, "out: 1 arrays were given; topk writes 2", "tuple",
         ("out", "1", "arrays were given; topk writes 2: values, indices")),
    "two devices": (lambda: cj.cross_entropy(ONES, OnGpu(np.zeros(4, "i8"))), cj.InvalidArgument, "labels: it is in GPU 0, but x in the host", "move",
         ("labels", "GPU 0", "but x in the host's memory")),
    "a range of the library": (lambda: cj.topk(ONES, 9), cj.Error, "k", "",
         ("k", "9", "is more than the 8 columns of a row")),
    "a word": (lambda: cj.stencil(ONES, boundary="mirror"), cj.InvalidArgument, "'mirror' is none of zero, clamp, periodic", "",
         ("boundary", "mirror", "is none of zero, clamp, periodic")),
    "a keyword": (lambda: cj.sum(ONES, clusters=2), cj.InvalidArgument, "clusters: sum has no such keyword", "help",
         ("clusters", None, "sum has no such keyword; those of its plan are block, cluster, grid, map")),
    "scale": (lambda: cj.softmax(ONES, scale=0), cj.InvalidArgument, "scale: 0 is not above 0", "",
         ("scale", "0", "is not above 0")),
    "an activation": (lambda: cj.matmul(ONES, ONES.T, activation="tanh"), cj.InvalidArgument, "'tanh' is none of relu", "",
         ("activation", "tanh", "is none of relu, gelu, silu, None")),
    "a stream": (lambda: stream_handle("default"), cj.UnsupportedType, "stream: a str is no stream", "__cuda_stream__",
         ("stream", "str", "is no stream")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_is(name):
    call, kind, message, hint, parts = REFUSED[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    error = caught.value
    assert hint in error.hint and error.message
    assert (error.field, error.value, error.limit) == parts


PLANS = {
    "another shape": (lambda plan: plan(np.ones((4, 9), np.float32)), r"x: it is f32 of shape \(4, 9\).*made for f32 of shape \(4, 8\)"),
    "another dtype": (lambda plan: plan(np.ones((4, 8), np.float16)), "x: it is f16 of shape"),
    "other strides": (lambda plan: plan(np.ones((4, 16), np.float32)[:, :8]), r"strides \(16, 1\)"),
    "too many arrays": (lambda plan: plan(ONES, ONES), "arrays: 2 were given; this plan takes 1: x"),
    "no array": (lambda plan: plan(3.0), "a float is no array"),
    "out with gaps": (lambda plan: plan(ONES, out=np.ones((4, 16), np.float32)[:, :8]), "not those of a contiguous array"),
    "a read-only out": (lambda plan: plan(ONES, out=FROZEN), "read-only"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_refuses(name):
    call, message = PLANS[name]
    with cj.softmax.plan(ONES) as plan, pytest.raises(cj.InvalidArgument, match=message):
        for _ in range(3):  # from the third call on, arrays are held against those before by a test of their own
            plan(ONES)
            plan(ONES, out=np.empty_like(ONES))
        call(plan)


ODD = np.arange(33, dtype=np.float32)[1:].reshape(4, 8)
HALVES_ODD = np.ones(33, np.float16)[1:].reshape(4, 8)
ADDRESSES = {
    "an x of a plan": (lambda: cj.softmax.plan(ONES)(ODD), "x: its address 0x[0-9a-f]+ is not a multiple of 16 bytes"),
    "an out of a plan": (lambda: cj.softmax.plan(ONES)(ONES, out=np.empty(33, np.float32)[1:].reshape(4, 8)), "out: its address 0x[0-9a-f]+ is not a"),
    "a sum's out": (lambda: cj.sum(ONES, out=np.empty(2, np.float32)[1:].reshape(())), "out: its address 0x[0-9a-f]+ is not a multiple of 8 bytes"),
    "flags": (lambda: cj.cumsum(ONES, flags=np.zeros(33, np.uint8)[1:].reshape(4, 8)), "flags: its address 0x[0-9a-f]+ is not a multiple of 4 bytes"),
    "halves beside floats": (lambda: cj.softmax(HALVES_ODD, dtype=np.float32), "x: its address is a multiple of 2 bytes alone; elements of f32 need 4"),
    "an out of halves": (lambda: cj.softmax(ONES, dtype=np.float16, out=HALVES_ODD), "out: its address is a multiple of 2 bytes alone; elements of f32"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_is_refused_by_the_name_of_the_array(name):
    call, message = ADDRESSES[name]
    with pytest.raises(cj.InvalidArgument, match="^" + message) as caught:
        call()
    assert "copy()" in caught.value.hint and "align" not in caught.value.hint


LATER = {
    "another shape": np.arange(36, dtype=np.float32).reshape(4, 9),
    "another dtype": np.arange(32, dtype=np.int32).reshape(4, 8),
    "other bytes": np.ones((4, 8), ">f4"),
    "other strides": np.arange(64, dtype=np.float32).reshape(4, 16)[:, :8],
    "another alignment": np.arange(33, dtype=np.float32)[1:].reshape(4, 8),
    "a read-only array": FROZEN,
    "a class of its own": np.arange(32, dtype=np.float32).reshape(4, 8).view(np.matrix),
    "by its protocol": ByInterface(np.arange(32, dtype=np.float32).reshape(4, 8)),
    "a number": np.float32(1),
    "a list": [1.0, 2.0],
}


@pytest.mark.parametrize("name", LATER)
def test_a_call_that_is_not_as_those_before_is_noticed(name):
    """It does what a first call does: gives the same, or is refused by the same words."""
    def outcome(call, x):
        try:
            return call(x).tolist()
        except cj.Error as error:
            return type(error), error.message, error.hint

    def reads(x):
        return cj.cumsum(x)

    def writes(x):
        cj.cumsum(np.ones((4, 8), np.float32), out=x)
        return np.asarray(x)

    for call in reads, writes:
        cj.cumsum.forget()
        first = outcome(call, LATER[name])
        cj.cumsum.forget()
        for _ in range(3):
            assert cj.cumsum(ONES)[0, 7] == 8 and call(np.ones((4, 8), np.float32))[3, 6] == 7
        assert outcome(call, LATER[name]) == first


@pytest.mark.parametrize("change", [
    lambda x: setattr(x, "shape", (8, 4)), lambda x: setattr(x, "dtype", np.int32), lambda x: setattr(x, "strides", (4, 16)),
    lambda x: x.setflags(write=False), lambda x: x.resize((64, 8), refcheck=False)], ids=["shape", "dtype", "strides", "writeable", "size"])
@pytest.mark.filterwarnings("ignore:Setting the")
def test_an_array_that_was_changed_in_place_is_noticed(change):
    def outcome(x, out):
        try:
            return cj.cumsum(x, reverse=False, out=out).tolist()
        except cj.Error as error:
            return type(error), error.message.split(" of shape")[0], error.hint

    for which in "x", "out":
        found = []
        for repeats in 0, 4:
            cj.cumsum.forget()
            arrays = {"x": np.ones((4, 8), np.float32), "out": np.zeros((4, 8), np.float32)}
            for _ in range(repeats):
                assert outcome(**arrays)[3][7] == 8
            change(arrays[which])
            found.append(outcome(**arrays))
        assert found[0] == found[1]


REPEATED = np.ones((5, 8), np.float32)


@pytest.mark.parametrize("words", [
    {"stream": "x"}, {"stream": -1}, {"scale": 0.0}, {"scale": "x"}, {"blok": 1}, {"axis": 0}, {"out": REPEATED[1:]}, {"out": FROZEN},
    {"out": (np.empty((4, 8), np.float32),) * 2}, {"mask": ONES[:, :3].copy()}], ids=lambda words: "-".join(f"{name}" for name in words))
def test_a_call_like_those_before_but_for_one_argument_is_refused_as_a_first_one(words):
    out = np.empty((4, 8), np.float32)
    found = []
    for repeats in 0, 4:
        cj.softmax.forget()
        given = {"scale": 0.5, "out": out}
        for _ in range(repeats):
            assert cj.softmax(REPEATED[:4], **given)[3, 7] == 0.125
        with pytest.raises(cj.Error) as caught:
            cj.softmax(REPEATED[:4], **{**given, **words})
        found.append((caught.type, caught.value.message, caught.value.hint))
    assert found[0] == found[1]
    assert cj.softmax(REPEATED[:4], scale=0.5, out=out)[3, 7] == 0.125


KEYWORDS = [  # calls of one function each, whose arguments differ from each other's
    lambda: cj.softmax(ONES[:, :4].copy(), scale=0.5), lambda: cj.softmax(ONES, scale=0.5), lambda: cj.softmax(ONES, scale=2),
    lambda: cj.softmax(ONES), lambda: cj.softmax(x=ONES, axis=1), lambda: cj.softmax(ONES, mask=np.arange(8, dtype="f4")[None]),
    lambda: cj.softmax(ONES, mask=None, scale=1.0), lambda: cj.softmax(scale=2.0, mask=np.arange(8, dtype="f4")[None], x=ONES),
    lambda: cj.topk(TENS, 2), lambda: cj.topk(TENS, 3), lambda: cj.topk(TENS, k=3), lambda: cj.topk(TENS, 3, largest=False),
    lambda: cj.stencil(TENS, [0.0, 1.0, 0.0], dim=1), lambda: cj.stencil(TENS, [1.0, 0.0, 0.0], dim=1),
    lambda: cj.stencil(TENS, weights=[0.0, 0.0, 1.0], dim=1), lambda: cj.sample(TENS, temperature=0.0), lambda: cj.sample(TENS, seed=3),
    lambda: cj.sample(TENS, seed=4, temperature=0.5), lambda: cj.sample(TENS, seed=5, temperature=np.full(4, 0.5, "f4")),
    lambda: cj.sample(TENS, temperature=np.zeros(4, "f4")), lambda: cj.sample(TENS, temperature=0.5, seed=4, top=2),
    lambda: cj.rms_norm(TENS, weight=ONES[0].copy(), eps=1.0), lambda: cj.rms_norm(TENS, bias=ONES[0].copy(), eps=1.0),
    lambda: cj.layer_norm(TENS, ONES[0].copy(), TENS[0].copy()), lambda: cj.layer_norm(TENS, bias=ONES[0].copy(), weight=TENS[0].copy()),
]


def test_calls_with_keywords_that_repeat_and_change_are_right(rng):
    def tuples(found):
        return [part.tolist() for part in (found if isinstance(found, tuple) else (found,)) if part is not None]

    for function in (cj.softmax, cj.topk, cj.stencil, cj.sample, cj.rms_norm, cj.layer_norm):
        function.forget()
    wanted = [tuples(call()) for call in KEYWORDS]
    assert len({str(one) for one in wanted}) >= 15  # some are the same call, and draws of few tokens may agree
    for _ in range(60):
        which = rng.integers(len(KEYWORDS))
        for _ in range(rng.integers(1, 5)):  # from the third call on the arguments are held against those before
            assert tuples(KEYWORDS[which]()) == wanted[which]


@pytest.mark.parametrize("name, call, good, bad", [
    ("k", lambda k: cj.topk(ONES, k), 2, 2.0), ("k", lambda k: cj.topk(ONES, k), 1, True), ("axis", lambda axis: cj.cumsum(ONES, axis=axis), -1, -1.0),
    ("bins", lambda bins: cj.histogram(ONES, bins), 4, np.float32(4)),
    ("scale", lambda scale: cj.softmax(ONES, scale=scale), 1, True)], ids=lambda value: str(value))
def test_an_argument_that_equals_the_one_before_but_is_of_another_type_is_refused(name, call, good, bad):
    for _ in range(3):
        call(good)
        with pytest.raises(cj.InvalidArgument, match=f"^{name}: .*{bad}.* is no"):
            call(bad)


def test_a_list_that_was_changed_is_noticed():
    weights, x = [0.0, 1.0, 0.0], np.arange(8, dtype=np.float32)
    for _ in range(4):
        assert (cj.stencil(x, weights) == x).all()
    weights[:] = [0.0, 2.0, 0.0]
    assert (cj.stencil(x, weights) == 2 * x).all()


def test_numbers_that_each_call_gives_anew_need_no_plan():
    cj.sample.forget()
    logits = np.zeros((64, 100), np.float32)
    found = [cj.sample(logits, temperature=1.0, seed=seed).tolist() for seed in range(6)]
    assert len({str(one) for one in found}) == 6 and len(cj.sample._entries) == 1
    assert cj.sample(logits, temperature=1.0, seed=2).tolist() == found[2]
    with pytest.raises(cj.InvalidArgument, match="seed") as caught:
        cj.sample(logits, temperature=1.0, seed=2**70)
    assert (caught.value.field, caught.value.value) == ("seed", str(2**70))


BAD = {  # of each value that a call may give anew: some that are none, and one that is
    "seed": ([-1, 2**64, 1.5, "a"], 1), "offset": ([-3, 2**64], 2), "top_k": ([2**40, -(2**40), 2.5], 2), "temperature": (["x", [1.0]], 0.5),
    "top_p": ([0.0, -0.0, 0, "x"], 0.5), "min_p": (["x"], 0.5), "repetition": ([0.0, 0, "x"], 1.5), "frequency": (["x"], 0.5),
    "presence": (["x"], 0.5)}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_refused_first_and_later_and_spoils_nothing(name):
    logits, counts = np.tile(TENS, (40, 1)), np.ones((160, 8), np.uint32)
    given = {"counts": counts} if name in ("repetition", "frequency", "presence") else {}
    assert set(BAD) == cj.sample._late
    bad, good = BAD[name]
    cj.sample.forget()
    wanted = cj.sample(logits, **given, **{name: good}).tolist()
    for value in bad:
        cj.sample.forget()
        for call in (cj.sample, cj.sample.plan) * 2:
            with pytest.raises(cj.InvalidArgument, match=f"{name}: ") as caught:
                call(logits, **given, **{name: value})
            assert caught.value.field == name and caught.value.limit and caught.value.hint
        assert not cj.sample._entries
        for _ in range(4):
            assert cj.sample(logits, **given, **{name: good}).tolist() == wanted
            with pytest.raises(cj.InvalidArgument, match=f"{name}: "):
                cj.sample(logits, **given, **{name: value})
        with cj.sample.plan(logits, **given, **{name: good}) as plan, pytest.raises(cj.InvalidArgument, match=f"{name}: "):
            plan(logits, *given.values(), **{name: value})


def test_a_word_for_a_number_is_refused_first_and_later_by_the_same_words():
    found = []
    for repeats in 0, 3:
        cj.sample.forget()
        for _ in range(repeats):
            cj.sample(ONES, temperature=0.5)
        with pytest.raises(cj.InvalidArgument) as caught:
            cj.sample(ONES, temperature="0.5")
        found.append(str(caught.value))
    assert found[0] == found[1]


def test_no_plan_is_kept_of_a_call_that_failed():
    cj.sum.forget()
    for _ in range(2):
        with pytest.raises(cj.InvalidArgument, match="cluster: 17 is outside"):
            cj.sum(ONES, cluster=17)
    assert not cj.sum._entries and cj.sum(ONES, cluster=2) == 32
    a = np.ones((8, 8), np.float16)
    for words, limit in (({"alpha": "x"}, "is no number"), ({"beta": [2]}, "is no number")):
        with pytest.raises(cj.InvalidArgument, match=limit):
            cj.matmul(a, a, c=a, **words)


def test_an_array_that_was_written_in_place_of_another_is_found(rng):
    x = rng.random((4, 8), np.float32)
    wanted, plan = np.cumsum(x, -1), cj.cumsum.plan(x)
    for _ in range(4):
        mine = x.copy()
        assert plan(mine, out=mine) is mine
        np.testing.assert_allclose(mine, wanted, rtol=1e-6)


@pytest.mark.parametrize("words", [{}, {"out": np.empty_like(ONES)}], ids=["made", "given"])
@pytest.mark.parametrize("calls", [0, 1, 4])
def test_a_closed_plan_says_so(calls, words):
    plan = cj.softmax.plan(ONES)
    for _ in range(calls):
        assert plan(ONES, **words)[0, 0] == 0.125
    plan.close()
    plan.close()
    with pytest.raises(cj.Closed, match="the plan is closed") as caught:
        plan(ONES, **words)
    assert "make another one" in caught.value.hint


def test_a_plan_takes_numbers_anew_in_calls_that_repeat():
    logits = np.zeros((64, 100), np.float32)
    with cj.sample.plan(logits, temperature=1.0, seed=0) as plan:
        for words in {"seed": 1}, {}, {"seed": 2, "temperature": 0.5}, {"temperature": 0.5, "seed": 3}:
            for _ in range(4):
                assert (plan(logits, **words) == cj.sample(logits, **{"temperature": 1.0, "seed": 0, **words})).all()
                with pytest.raises(cj.InvalidArgument, match="seed"):
                    plan(logits, **{**words, "seed": "x"})
                with pytest.raises(cj.InvalidArgument, match="a call of this plan has no such value"):
                    plan(logits, **words, scale=1.0)


OF_THE_LIBRARY = {
    "a range": (lambda: cj.sum(ONES, cluster=17), ("cluster", "17", "is outside 0 to 16")),
    "a fraction": (lambda: cj.cross_entropy(ONES, np.zeros(4, "i8"), label_smoothing=1.5), ("label_smoothing", "1.5", "is outside 0 to 1")),
    "a word": (lambda: cj.emit("reduce", op="xor"), ("op", "xor", "is none of: sum min max product argmin argmax mean meanvar")),
    "a text": (lambda: cj.emit("reduce", n="many"), ("n", "many", "is not a whole number that fits 64 bits")),
    "a number with its unit": (lambda: cj.emit("gemm", lda=1025),
                               ("lda", "1025", "elements of 2 bytes are not a multiple of 16 bytes")),
    "a sentence": (lambda: cj.emit("fold"), (None, None, None)),
    "a parameter of another family": (lambda: cj.collective(ONES, root=2), (None, None, None)),
}


@pytest.mark.parametrize("name", OF_THE_LIBRARY)
def test_an_error_of_the_library_has_its_parts(name):
    call, parts = OF_THE_LIBRARY[name]
    with pytest.raises(cj.Error) as caught:
        call()
    error = caught.value
    assert (error.field, error.value, error.limit) == parts
    assert not parts[0] or isinstance(error, ValueError)


def test_bfloat16_needs_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    x = np.ones((8, 32), ml_dtypes.float8_e5m2)
    with pytest.raises(cj.UnsupportedType, match="ml_dtypes") as caught:
        cj.matmul(x, x.T)
    assert caught.value.hint == "pip install ml_dtypes"


def test_a_missing_library_is_named(tmp_path):
    found = subprocess.run([sys.executable, "-c", "import clusterjit"], capture_output=True, text=True,
                           env={**os.environ, "CLUSTERJIT_LIBRARY": str(tmp_path / "none.so")})
    assert found.returncode == 1 and "LibraryMissing" in found.stderr
    assert "none.so" in found.stderr and "hint: reinstall" in found.stderr
