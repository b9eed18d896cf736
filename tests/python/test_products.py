# SPDX-License-Identifier: Apache-2.0
"""Matrix products give what NumPy computes in f64, of integers exactly, for NumPy's arrays, on the CPU device."""
import ml_dtypes
import numpy as np
import pytest
import references
from references import draw, near

import clusterjit as cj


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_matmul_in_every_order(rng, dtype, turned):
    m, n, k = (8 * int(rng.integers(1, 9)) for _ in range(3))
    a, a64 = draw(rng, (k, m) if turned[0] else (m, k), dtype)
    b, b64 = draw(rng, (n, k) if turned[1] else (k, n), dtype)
    if turned[0]:
        a, a64 = a.T, a64.T
    if turned[1]:
        b, b64 = b.T, b64.T
    near(cj.matmul(a, b, dtype=np.float32), a64 @ b64, 1e-4)


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "silu"])
def test_matmul_with_its_epilogue(rng, activation):
    (a, a64), (b, b64) = draw(rng, (3, 24, 32), np.float16), draw(rng, (32, 16), np.float16)
    (c, c64), (bias, bias64) = draw(rng, (3, 24, 16), np.float16), draw(rng, 16, np.float16)
    found = cj.matmul(a, b, c=c, bias=bias, alpha=0.5, beta=2.0, activation=activation)
    near(found, references.activation(0.5 * (a64 @ b64) + 2 * c64 + bias64, activation), 2e-2)


def test_with_beta_0_matmul_reads_no_c(rng):
    (a, a64), (b, b64) = draw(rng, (24, 32), np.float16), draw(rng, (32, 16), np.float16)
    c = np.full((24, 16), np.nan, np.float16)
    near(cj.matmul(a, b, c=c, beta=0.0), a64 @ b64, 2e-2)
    with cj.matmul.plan(a, b, c=c, beta=0.0) as plan:
        near(plan(a, b, c), a64 @ b64, 2e-2)
    with pytest.raises(cj.InvalidArgument, match="its shape"):  # it is held against the others all the same
        cj.matmul(a, b, c=c[:5], beta=0.0)


@pytest.mark.parametrize("m,n,k", [(5, 3, 7), (33, 11, 64), (40, 48, 101)])
def test_matmul_and_linear_of_any_size_and_address(rng, m, n, k):
    def moved(x):
        """A copy that begins an element after a multiple of 16 bytes."""
        flat = np.empty(x.size + 9, x.dtype)[1:]
        flat[:x.size] = x.ravel()
        return flat[:x.size].reshape(x.shape)

    (a, a64), (b, b64) = (draw(rng, size, np.float16) for size in ((m, k), (k, n)))
    for left, right in ((a, b), (a, moved(b)), (moved(a), b), (moved(a), moved(b))):
        near(cj.matmul(left, right, dtype=np.float32), a64 @ b64, 1e-4)
        near(cj.linear(left, right.T.copy(), dtype=np.float32), a64 @ b64, 1e-4)
        out = moved(np.zeros((m, n), np.float16))
        assert cj.matmul(left, right, out=out) is out
        near(out, a64 @ b64, 1e-2)


def test_matmul_of_float32_and_of_float8(rng):
    (a, a64), (b, b64) = draw(rng, (16, 32)), draw(rng, (24, 32))
    near(cj.matmul(a, b.T), a64 @ b64.T, 2e-2)
    for one, other in (("float8_e4m3fn", "float8_e4m3fn"), ("float8_e4m3fn", "float8_e5m2")):
        x, y = draw(rng, (16, 32), getattr(ml_dtypes, one)), draw(rng, (16, 32), getattr(ml_dtypes, other))
        scale = np.full(1, 0.5, np.float32)
        near(cj.matmul(x[0], y[0].T, scale_a=scale, dtype=np.float32), 0.5 * x[1] @ y[1].T, 1e-2)


@pytest.mark.parametrize("left,right", [(np.int8, np.int8), (np.uint8, np.uint8), (np.int8, np.uint8), (np.uint8, np.int8)])
def test_matmul_of_integers_is_exact(rng, left, right):
    def whole(size, dtype):
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, size).astype(dtype)

    m, n, k = (int(rng.integers(1, 100)) for _ in range(3))
    a, b = whole((m, k), left), whole((n, k), right).T
    want = a.astype(np.int64) @ b.astype(np.int64)
    found = cj.matmul(a, b)
    assert found.dtype == np.int32 and (found == want).all()
    scale, bias = np.full(1, 2.0**-9, np.float32), rng.standard_normal(n).astype(np.float32)
    near(cj.matmul(a, b, alpha=0.5, scale_a=scale, bias=bias, dtype=np.float32), want * 2.0**-10 + bias, 1e-5)
    narrow = cj.matmul(a, b, scale_a=scale, dtype=np.int8)
    assert narrow.dtype == np.int8 and (narrow == np.clip(np.rint(want * 2.0**-9), -128, 127)).all()
    for words, says in (({"alpha": 2.0}, "alpha: 2"), ({"bias": bias.astype(np.int32)}, "there is a bias"), ({"activation": "relu"}, "an activation")):
        with pytest.raises(cj.InvalidArgument, match=says):
            cj.matmul(a, b, **words)


def test_matmul_of_integers_refuses_other_types(rng):
    a = np.ones((8, 8), np.int8)
    with pytest.raises(cj.Error, match="float16|f16"):
        cj.matmul(a, a.astype(np.float16))
    with pytest.raises(cj.Error, match="it lies by rows; of i8 it must lie by columns"):
        cj.matmul(a, a[:, ::1])


@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_matmul_of_float64_is_as_exact_as_f64(rng, turned):
    m, n, k = (int(rng.integers(1, 90)) for _ in range(3))
    a, b = rng.standard_normal((k, m) if turned[0] else (m, k)), rng.standard_normal((n, k) if turned[1] else (k, n))
    a, b = a.T if turned[0] else a, b.T if turned[1] else b
    c, bias = rng.standard_normal((m, n)), rng.standard_normal(n)
    near(cj.matmul(a, b), a @ b, 1e-13)
    for alpha, beta in ((0.1, 1 / 3), (1e-300, 1.0), (0.0, 0.1), (2**60 + 1.0, 2.0**60)):  # in f32 each of these is another number
        want = alpha * (a @ b) + beta * c + bias
        near(cj.matmul(a, b, c=c, bias=bias, alpha=alpha, beta=beta) / max(1, beta), want / max(1, beta), 1e-12)
    near(cj.matmul(a, b, bias=bias, activation="relu"), np.maximum(a @ b + bias, 0), 1e-13)
    near(cj.linear(np.ascontiguousarray(a), np.ascontiguousarray(b.T), bias), a @ b + bias, 1e-13)


def test_matmul_of_float64_refuses_other_types_and_activations():
    a = np.ones((8, 8))
    with pytest.raises(cj.Error, match="float32|f32"):
        cj.matmul(a, a.astype(np.float32))
    with pytest.raises(cj.InvalidArgument, match="dtype: f32, but the sums of f64 are f64"):
        cj.matmul(a, a, dtype=np.float32)
    with pytest.raises(cj.InvalidArgument, match="activation: gelu"):
        cj.matmul(a, a, activation="gelu")
    with pytest.raises(cj.InvalidArgument, match="is no number"):
        cj.matmul(a, a, alpha="x")


def test_linear_of_a_batch(rng):
    (x, x64), (w, w64), (b, b64) = draw(rng, (2, 3, 32), np.float16), draw(rng, (8, 32), np.float16), draw(rng, 8, np.float16)
    out = np.empty((2, 3, 8), np.float16)
    assert cj.linear(x, w, b, activation="relu", out=out) is out
    near(out, np.maximum(x64 @ w64.T + b64, 0), 2e-2)


def test_a_bias_with_gaps_is_refused(rng):
    a, b, bias = (draw(rng, shape, np.float16)[0] for shape in ((8, 16), (16, 4), 8))
    for call in (lambda x: cj.matmul(a, b, bias=x), lambda x: cj.linear(a, b.T, x)):
        for gaps in (bias[::2], bias[::-2].copy()[::-1], np.broadcast_to(bias[0], 4)):
            with pytest.raises(cj.InvalidArgument, match=r"^bias: strides \(.*\) .*(are not those of a contiguous array|are below 0)") as caught:
                call(gaps)
            assert "numpy.ascontiguousarray" in caught.value.hint
        call(bias[:4])


HALVES, BYTES = np.ones((4, 8, 8), np.float16), np.ones((8, 8), np.int8)
NUMBER = np.full(1, 2, np.float32)
REFUSED = {
    "a scale of halves": (lambda: cj.matmul(HALVES, HALVES, scale_a=NUMBER), "scale_a: a product of f16 to f16 does not take it"),
    "a scale of exact sums": (lambda: cj.matmul(BYTES, BYTES.T, scale_b=NUMBER), "scale_b: a product of i8 to i32 does not take it"),
    "a scale of a result of 32 bits": (lambda: cj.matmul(BYTES, BYTES.T, scale_d=NUMBER, dtype="float32"), "scale_d: a product of i8 to f32 does not take it"),
    "a result of integers": (lambda: cj.matmul(HALVES, HALVES, dtype=np.int32), "dtype: i32 is the sums of i8 and u8"),
    "a result of f64": (lambda: cj.matmul(HALVES, HALVES, dtype=np.float64), "dtype: 'f64' is the result of f64 alone"),
    "a bias of exact sums": (lambda: cj.matmul(BYTES, BYTES.T, bias=np.ones(8, np.int32)), "dtype: i32, but there is a bias"),
    "one product many times": (lambda: cj.matmul(HALVES[0], np.broadcast_to(HALVES[0], (4, 8, 8))), "b: strides .* are those of one matrix, as a's are: all 4"),
    "results on each other": (lambda: cj.matmul(HALVES, HALVES, out=np.lib.stride_tricks.as_strided(HALVES.copy(), (4, 8, 8), (0, 16, 2))),
                              "out: strides .* are not those of matrices one after the other"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_product_does_not_use_is_refused_by_its_parameter(what):
    call, message = REFUSED[what]
    with pytest.raises(cj.InvalidArgument, match="^" + message) as caught:
        call()
    assert caught.value.hint and "out=" not in caught.value.hint
