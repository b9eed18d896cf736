# SPDX-License-Identifier: Apache-2.0
"""Every function gives what NumPy computes in f64, for NumPy's arrays, on the CPU device."""
import ml_dtypes
import numpy as np
import pytest
import references
from references import draw, near

import clusterjit as cj
from clusterjit._library import ffi, lib, made, text
from clusterjit.request import PLAN

FLOATS = {np.float32: 2e-6, np.float16: 2e-3, ml_dtypes.bfloat16: 1.6e-2}  # with its tolerance, of values around 1


def odd_shape(rng):
    return tuple(rng.integers(1, 5, rng.integers(0, 3))) + (int(rng.integers(1, 700)),)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_each_float(rng, dtype):
    x, exact = draw(rng, odd_shape(rng), dtype)
    near(cj.softmax(x, scale=0.5), references.softmax(exact, 0.5), FLOATS[dtype])
    near(np.exp(cj.log_softmax(x).astype(np.float64)), references.softmax(exact), 10 * FLOATS[dtype])
    wide = cj.softmax(x, dtype=np.float32)
    assert wide.dtype == np.float32
    near(wide, references.softmax(exact), 1e-5)


def test_softmax_adds_a_mask(rng):
    (x, exact), (mask, added) = draw(rng, (3, 4, 50)), draw(rng, (4, 50))
    near(cj.softmax(x, mask=mask, scale=2.0), references.softmax(exact, 2.0, added), 2e-6)


@pytest.mark.parametrize("log", [False, True])
def test_softmax_backward_is_the_derivative(rng, log):
    forward, backward = (cj.log_softmax, cj.log_softmax_backward) if log else (cj.softmax, cj.softmax_backward)
    (x, exact), (dy, exact_dy) = draw(rng, (3, 9)), draw(rng, (3, 9))
    reference = (lambda z: np.log(references.softmax(z))) if log else references.softmax
    near(backward(dy, forward(x)), references.derivative(reference, exact, exact_dy), 1e-5)


@pytest.mark.parametrize("layer", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_with_everything(rng, layer, dtype):
    shape = odd_shape(rng)[:-1] + (int(rng.integers(2, 300)),)
    (x, x64), (r, r64), (w, w64), (b, b64) = (draw(rng, s, dtype) for s in (shape, shape, shape[-1:], shape[-1:]))
    y, h, *stats = (cj.layer_norm if layer else cj.rms_norm)(x, w, b, residual=r, stats=True, dtype="float32")
    near(h, x64 + r64, 1e-6)
    near(y, references.norm(x64 + r64, w64, b64, layer=layer), 1e-4)
    assert len(stats) == 1 + layer and all(s.shape == shape[:-1] and s.dtype == np.float32 for s in stats)


@pytest.mark.parametrize("layer", [False, True])
def test_norm_backward_is_the_derivative(rng, layer):
    (x, x64), (dy, dy64), (w, w64) = draw(rng, (3, 8)), draw(rng, (3, 8)), draw(rng, 8)
    forward, backward = (cj.layer_norm, cj.layer_norm_backward) if layer else (cj.rms_norm, cj.rms_norm_backward)
    _, *stats = forward(x, w, stats=True)
    dx, dw, db = backward(dy, x, *stats, w, bias_gradient=True)
    near(dx, references.derivative(lambda z: references.norm(z, w64, layer=layer), x64, dy64), 1e-4)
    near(dw, references.derivative(lambda v: references.norm(x64, v, layer=layer), w64, dy64), 1e-4)
    near(db, dy64.sum(0), 1e-5)


def test_cross_entropy_and_its_gradient(rng):
    x, exact = draw(rng, (5, 11))
    labels = rng.integers(0, 11, 5)
    loss, lse, dx = cj.cross_entropy(x, labels, label_smoothing=0.1, gradient=True, scale=0.5)
    wanted, wanted_lse = references.cross_entropy(exact, labels, 0.1)
    near(loss, wanted, 1e-5)
    near(lse, wanted_lse, 1e-5)
    near(dx, 0.5 * references.derivative(lambda z: references.cross_entropy(z, labels, 0.1)[0], exact, np.ones(5)), 1e-5)
    ignored, _ = cj.cross_entropy(x, np.full(5, 3, np.int32), ignore_index=3)
    assert not ignored.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint16, np.int32, np.uint64])
def test_reductions_of_a_whole_array(rng, dtype):
    x = rng.integers(0, 9, odd_shape(rng)).astype(dtype)
    assert cj.sum(x) == x.astype(np.float64).sum() and cj.mean(x) == pytest.approx(x.astype(np.float64).mean())
    assert cj.min(x) == x.min() and cj.max(x) == x.max()
    assert cj.argmin(x) == x.argmin() and cj.argmax(x) == x.argmax()
    mean, variance = cj.meanvar(x)
    assert (mean, variance) == pytest.approx((x.astype(np.float64).mean(), x.astype(np.float64).var()), abs=1e-4)
    assert cj.prod(np.full(5, 3, dtype)) == 243 or dtype == np.int8


def test_a_cluster_is_chosen_by_a_keyword(rng):
    x, exact = draw(rng, 4096)
    for cluster in (0, 1, 4):
        with cj.sum.plan(x, cluster=cluster) as plan:
            assert plan.shape["cluster"][0] == cluster
            assert abs(float(plan(x)) - exact.sum()) <= plan.error_bound * np.abs(exact).sum()


def test_argmax_of_rows(rng):
    x, _ = draw(rng, (3, 5, 77))
    assert (cj.argmax(x, axis=-1) == x.argmax(-1)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint32])
@pytest.mark.parametrize("skip", [0, 1])
def test_argmax_of_rows_of_any_type_that_begin_anywhere(rng, dtype, skip):
    x = (rng.integers(0, 2**30, 3 * 300 + skip) - (2**29 if dtype != np.uint32 else 0)).astype(np.int32 if dtype != np.uint32 else dtype)
    x = (x if dtype in (np.int32, np.uint32) else x / 2**18).astype(dtype)[skip:].reshape(3, 300)
    assert (cj.argmax(x, axis=-1) == x.argmax(-1)).all()
    assert (cj.argmax(x[:, :77], axis=-1) == x[:, :77].argmax(-1)).all()
    assert cj.argmax(np.zeros(9, dtype)[1:].reshape(2, 4), axis=-1).tolist() == [0, 0]
    with cj.argmax.plan(x, axis=-1) as plan:
        assert (plan(x) == x.argmax(-1)).all()


def test_argmax_of_rows_refuses_other_types():
    with pytest.raises(cj.UnsupportedType, match="its dtype is i64; it must be f32 or f16 or bf16 or i32 or u32"):
        cj.argmax(np.zeros((2, 3), np.int64), axis=-1)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float64])
def test_scans(rng, dtype):
    x = rng.integers(1, 4, odd_shape(rng)).astype(dtype)
    assert (cj.cumsum(x) == np.cumsum(x, -1)).all()
    assert (cj.cumsum(x, exclusive=True) == np.cumsum(x, -1) - x).all()
    assert (cj.cumsum(x, reverse=True) == np.cumsum(x[..., ::-1], -1)[..., ::-1]).all()
    assert (cj.cummax(x) == np.maximum.accumulate(x, -1)).all() and (cj.cummin(x) == np.minimum.accumulate(x, -1)).all()
    assert (cj.cumprod(x[..., :20].copy()) == np.cumprod(x[..., :20], -1)).all()


def test_scan_in_segments(rng):
    x = rng.integers(0, 9, 500).astype(np.int32)
    offsets = np.unique(np.concatenate([[0, 500], rng.integers(0, 500, 7)]))
    flags = np.zeros(500, np.uint8)
    flags[offsets[:-1]] = 1
    wanted = np.concatenate([np.cumsum(part) for part in np.split(x, offsets[1:-1])])
    assert (cj.cumsum(x, offsets=offsets) == wanted).all() and (cj.cumsum(x, flags=flags) == wanted).all()
    assert (cj.cumsum(x, offsets=offsets.astype(np.int32)) == wanted).all()


def test_scan_in_place(rng):
    x = rng.integers(0, 9, (3, 40)).astype(np.int32)
    wanted = np.cumsum(x, -1)
    assert cj.cumsum(x, out=x) is x and (x == wanted).all()


def test_topk_and_kthvalue(rng):
    x = rng.permuted(np.tile(np.arange(300, dtype=np.float32), (4, 1)), axis=1)
    values, indices = cj.topk(x, 7)
    assert (values == np.sort(x, -1)[:, ::-1][:, :7]).all() and (np.take_along_axis(x, indices, -1) == values).all()
    values, indices = cj.topk(x, 7, largest=False, index_dtype=np.uint32, sorted=False)
    assert (np.sort(values) == np.arange(7)).all() and indices.dtype == np.uint32
    assert (cj.kthvalue(x, 5)[0] == 4).all() and (cj.kthvalue(x, 5, largest=True)[0] == 295).all()


def test_sample_keeps_what_the_filters_keep(rng):
    logits = rng.standard_normal((50, 300)).astype(np.float32)
    order = np.argsort(-logits, -1, kind="stable")
    p = np.take_along_axis(references.softmax(logits.astype(float) / 0.7), order, -1)
    rank = np.argsort(order, -1)
    of = lambda tokens: np.take_along_axis(rank, tokens[:, None].astype(int), -1)[:, 0]  # noqa: E731
    assert (cj.sample(logits, temperature=0) == order[:, 0]).all() and (cj.sample(logits, top_k=1, seed=3) == order[:, 0]).all()
    assert (of(cj.sample(logits, temperature=0.7, top_k=7, seed=4)) < 7).all()
    nucleus = 1 + (p.cumsum(-1) < 0.5).sum(-1)
    assert (of(cj.sample(logits, temperature=0.7, top_p=0.5, seed=5)) < nucleus).all()
    assert (of(cj.sample(logits, temperature=0.7, min_p=0.5, seed=6)) < (p >= 0.4999 * p[:, :1]).sum(-1)).all()
    counts = np.zeros(logits.shape, np.uint32)
    np.put_along_axis(counts, order[:, :1], 1, -1)
    assert (cj.sample(logits, temperature=0, presence=100.0, counts=counts) == order[:, 1]).all()
    mask = np.full((50, 10), 0xffffffff, np.uint32)
    mask[np.arange(50), order[:, 0] // 32] &= ~(np.uint32(1) << (order[:, 0] % 32).astype(np.uint32))
    assert (cj.sample(logits, temperature=0, mask=mask) == order[:, 1]).all()


def test_sample_draws_by_seed_of_one_plan(rng):
    logits = np.tile(rng.standard_normal(20).astype(np.float32), (4000, 1))
    cj.sample.forget()
    first = cj.sample(logits, seed=1)
    assert (first == cj.sample(logits, seed=1)).all() and (first != cj.sample(logits, seed=2)).any()
    assert (first != cj.sample(logits, seed=1, offset=1)).any() and len(cj.sample._entries) == 2
    expected = 4000 * references.softmax(logits[0].astype(float))
    assert ((np.bincount(first, minlength=20) - expected) ** 2 / expected).sum() < 60  # 19 degrees of freedom
    seeds = np.arange(4000, dtype=np.int64)
    each = cj.sample(logits, seed=seeds)
    assert (each == cj.sample(logits, seed=seeds, cluster=2, block=64)).all() and (each != first).any()
    with cj.sample.plan(logits, top_k=3, seed=0) as plan:
        assert (plan(logits, seed=9) == cj.sample(logits, top_k=3, seed=9)).all()
        assert (plan(logits) == cj.sample(logits, top_k=3, seed=0)).all()
        assert (plan(logits, top_k=1) == logits.argmax(-1)).all()
        with pytest.raises(cj.InvalidArgument, match="top_p: a call of this plan has no such value; it has temperature, top_k"):
            plan(logits, top_p=0.5)
    with pytest.raises(cj.InvalidArgument, match="top_p: 1.5 is not above 0 and at most 1"):
        cj.sample(logits, top_p=1.5)
    with pytest.raises(cj.InvalidArgument, match="counts: penalties need them"):
        cj.sample(logits, presence=1.0)
    with pytest.raises(cj.InvalidArgument, match="mask: its shape is"):
        cj.sample(logits, mask=np.zeros((4000, 2), np.uint32))
    with pytest.raises(cj.UnsupportedType, match="temperature: its dtype is f64"):
        cj.sample(logits, temperature=np.ones(4000))


def test_sample_tells_more(rng):
    logits = rng.standard_normal((30, 200)).astype(np.float32)
    p = references.softmax(logits.astype(float) / 0.8)
    order = np.argsort(-logits, -1, kind="stable")
    p *= np.argsort(order, -1) < 12
    p /= p.sum(-1, keepdims=True)
    found = cj.sample(logits, temperature=0.8, top_k=12, seed=2, log_probability=True, top=20)
    taken = np.take_along_axis(p, found.tokens[:, None].astype(int), -1)[:, 0]
    np.testing.assert_allclose(found.log_probability, np.log(taken), atol=1e-4)
    assert (found.top_tokens[:, :12] == order[:, :12]).all() and (found.top_tokens[:, 12:] == -1).all() and found.probabilities is None
    np.testing.assert_allclose(found.top_log_probabilities[:, :12], np.log(np.take_along_axis(p, order[:, :12], -1)), atol=1e-4)
    assert (found.top_log_probabilities[:, 12:] == -np.inf).all()
    whole = cj.sample(logits, temperature=0.8, top_k=12, seed=2, distribution=True)
    np.testing.assert_allclose(whole.probabilities, p, atol=1e-5)
    assert (whole.tokens == found.tokens).all() and (cj.sample(logits, temperature=0.8, top_k=12, seed=2) == found.tokens).all()


def test_sample_of_one_row_takes_arrays_of_no_axis():
    logits = np.array([0, 5, 4, -3], np.float32)
    assert int(cj.sample(logits, temperature=np.zeros((), np.float32))) == 1
    with pytest.raises(cj.InvalidArgument, match=r"temperature: its shape is \(4,\); logits needs \(\)"):
        cj.sample(logits, temperature=np.zeros(4, np.float32))


def test_sample_takes_or_replaces_the_tokens_of_a_draft(rng):
    logits = np.tile(rng.standard_normal(12).astype(np.float32), (6000, 1))
    q = np.tile(rng.dirichlet(np.ones(12)).astype(np.float32), (6000, 1))
    drafted = rng.choice(12, 6000, p=q[0].astype(float) / q[0].astype(float).sum()).astype(np.int32)
    found = cj.sample(logits, draft_tokens=drafted, draft_probabilities=q, seed=3)
    p = references.softmax(logits[0].astype(float))
    assert ((np.bincount(found.tokens, minlength=12) - 6000 * p) ** 2 / (6000 * p)).sum() < 45  # 11 degrees of freedom
    assert (found.tokens[found.accepted == 1] == drafted[found.accepted == 1]).all()
    assert abs(found.accepted.mean() - np.minimum(p, q[0]).sum()) < 0.03
    with pytest.raises(cj.InvalidArgument, match="draft_tokens: it is given without draft_probabilities"):
        cj.sample(logits, draft_tokens=drafted)
    with pytest.raises(cj.UnsupportedType, match="draft_tokens: its dtype is i64"):
        cj.sample(logits, draft_tokens=drafted.astype(np.int64), draft_probabilities=q)


def test_histogram(rng):
    x = rng.integers(0, 100, 5000).astype(np.uint8)
    wanted = np.bincount(x, minlength=128)
    counts = cj.histogram(x, 128)
    assert (counts == wanted).all()
    assert cj.histogram(x, 128, accumulate=True, out=counts) is counts and (counts == 2 * wanted).all()
    f = rng.random(999, np.float32) * 3
    assert (cj.histogram(f, 3, (0, 3), dtype="uint64", cluster=2, strategy="remote") == np.histogram(f, 3, (0, 3))[0]).all()


def test_stencil(rng):
    x, exact = draw(rng, (2, 30, 20), np.float64)
    w = [0.1, 0.2, 0.3, 0.25, 0.15]
    p = np.pad(exact, ((0, 0), (1, 1), (1, 1)), mode="wrap")
    wanted = w[0] * p[:, :-2, 1:-1] + w[1] * p[:, 1:-1, :-2] + w[2] * exact + w[3] * p[:, 1:-1, 2:] + w[4] * p[:, 2:, 1:-1]
    near(cj.stencil(x, w, dim=2, boundary="periodic"), wanted, 1e-12)
    near(cj.stencil(cj.stencil(x, w, dim=2), w, dim=2), cj.stencil(x, w, dim=2, steps=2), 0)


def test_functions_of_ones_own(rng):
    x = rng.integers(-9, 9, 3000).astype(np.int32)
    try:
        assert cj.reduce(x, "a ^ b", "0", map="abs(x)") == np.bitwise_xor.reduce(np.abs(x))
    except cj.Unsupported as error:
        pytest.skip(str(error))
    assert (cj.scan(x, "a > b ? a : b", "INT_MIN") == np.maximum.accumulate(x)).all()
    assert cj.sum(x, map="x * x") == (x * x).sum()
    with pytest.raises(cj.Compiler, match="y"):
        cj.sum(x, map="y * y")


@pytest.mark.parametrize("strategy", ["push", "pull", "global"])
def test_exchange(rng, strategy):
    x = rng.integers(0, 99, (3, 4, 8)).astype(np.int32)
    assert (cj.exchange(x, strategy=strategy) == x[:, [1, 0, 3, 2]]).all()
    assert (cj.exchange(x, "ring", shift=3, strategy=strategy) == np.roll(x, -3, 1)).all()
    assert (cj.exchange(x, "all_to_all", strategy=strategy) == x.reshape(3, 4, 4, 2).swapaxes(1, 2).reshape(3, 4, 8)).all()
    halo = np.concatenate([np.roll(x, 1, 1)[..., -2:], x, np.roll(x, -1, 1)[..., :2]], -1)
    assert (cj.exchange(x, "halo", halo=2, strategy=strategy) == halo).all()


def collected(x, op, combine=np.add, root=0, distance=1):
    """What the blocks get of x, (clusters, size, n)."""
    clusters, size, n = x.shape
    rows = np.zeros_like(x)
    total = combine.reduce(x, 1)
    if op in ("allreduce", "scan", "shift", "broadcast"):
        return {"allreduce": np.repeat(total[:, None], size, 1), "scan": combine.accumulate(x, 1), "shift": np.roll(x, distance, 1),
                "broadcast": np.repeat(x[:, root:root + 1], size, 1)}[op]
    whole = x.reshape(clusters, 1, size * n)
    if op == "gather":
        rows = np.zeros((clusters, size, size * n), x.dtype)
        rows[:, root] = whole[:, 0]
    elif op == "reduce":
        rows[:, root] = total
    parts = {"allgather": lambda: np.repeat(whole, size, 1), "scatter": lambda: x[:, root].reshape(clusters, size, -1),
             "reduce_scatter": lambda: total.reshape(clusters, size, -1),
             "all_to_all": lambda: x.reshape(clusters, size, size, -1).swapaxes(1, 2).reshape(x.shape)}
    return parts[op]() if op in parts else rows


@pytest.mark.parametrize("way", [{}, {"strategy": "pull"}, {"cluster": 0}, {"block": 64}])
@pytest.mark.parametrize("op", ["broadcast", "reduce", "allreduce", "gather", "allgather", "scatter", "reduce_scatter", "all_to_all", "scan", "shift"])
def test_collective(rng, op, way):
    dtype = rng.choice([np.int32, np.uint64, np.float64])
    size = int(rng.choice([1, 2, 4, 8]))
    x = rng.integers(0, 99, (int(rng.integers(1, 4)), size, size * int(rng.choice([1, 1, 5])))).astype(dtype)
    given = {"root": int(rng.integers(size))} if op in ("broadcast", "reduce", "gather", "scatter") else {}
    wanted = np.ascontiguousarray(collected(x, op, **given), dtype)
    for _ in range(3):
        assert (cj.collective(x, op, **given, **way) == wanted).all()
    out = np.empty_like(wanted)
    assert cj.collective(x, op, **given, **way, out=out) is out and (out == wanted).all()
    plan = cj.collective.plan(x, op, **given, **way)
    assert (plan(x) == wanted).all() and (plan.shape["cluster"][0] == size or "cluster" in way) and op.replace("_", "-")[:4] in plan.ptx


def test_a_collective_of_single_values_and_of_its_parameters(rng):
    x = rng.random((8, 1), np.float32)
    assert (cj.collective(x, combine="max") == x.max()).all() and (cj.collective(x, combine="min") == x.min()).all()
    assert (cj.collective(x, "shift", distance=-3) == np.roll(x, -3, 0)).all()
    assert (cj.collective(x, "shift", distance=3, around=False)[3:] == x[:5]).all()
    ones = np.ones((4, 1), np.int32)
    assert cj.collective(ones, "scan", exclusive=True)[:, 0].tolist() == [0, 1, 2, 3]
    with cj.device("cpu").watch(seed=5):
        assert (cj.collective(ones, "allgather") == 1).all()
    for call, message in ((lambda: cj.collective(x, "fold"), "op: 'fold' is none of broadcast"),
                          (lambda: cj.collective(x[0]), r"its shape is \(1,\)"),
                          (lambda: cj.collective(x, "scatter"), "its rows must be parts for each of 8 blocks"),
                          (lambda: cj.collective(x, clusters=2, foo=1), "clusters: collective has no such keyword; those of its plan are strategy, cluster, block"),
                          (lambda: cj.collective(x, cluster=4), "cluster: 4 is not 8, as x has rows for blocks, nor 0"),
                          (lambda: cj.collective(x, combine="xor"), "combine: 'xor' is none of")):
        with pytest.raises(cj.InvalidArgument, match=message):
            call()


def test_numpys_words_that_a_function_lacks_are_answered():
    for words in ({"axis": 1}, {"keepdims": True}):
        with pytest.raises(cj.InvalidArgument, match="all elements of x together"):
            cj.sum(np.ones((2, 3), np.float32), **words)
    with pytest.raises(cj.UnsupportedType, match=r"astype\(numpy.float32\)"):
        cj.softmax(np.ones((2, 3)))
    assert cj.gpus.Gpus  # without an import of its own


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "argmin", "argmax"])
def test_an_axis_is_taken_where_it_is_all_there_is(name):
    x = np.array([3, 1, 2, 1], np.float32)
    wanted = getattr(np, name)(x)
    for given in ({}, {"axis": None}, {"axis": -1}, {"axis": 0}):
        assert np.ravel(getattr(cj, name)(x, **given))[0] == wanted
    if name != "argmax":
        with pytest.raises(cj.InvalidArgument, match="axis: -1 is one of 2") as caught:
            getattr(cj, name)(x.reshape(2, 2), axis=-1)
        assert (caught.value.field, caught.value.value) == ("axis", "-1")


M = np.ones((4, 8), np.float32)
H, INDICES = np.ones((8, 8), np.float16), np.zeros(4, np.int64)
CALLS = {  # a call of each function that has keywords for its plan
    **{name: (M,) for name in ("sum", "prod", "min", "max", "mean", "meanvar", "argmin", "argmax", "cumsum", "cumprod", "cummin", "cummax", "sort",
                               "argsort", "sample", "stencil", "exchange", "collective")},
    "reduce": (M, "a ^ b", "0"), "scan": (M, "a | b", "0"), "topk": (M, 2), "kthvalue": (M, 2), "histogram": (M, 4), "matmul": (H, H), "linear": (H, H)}
MORE = [("argmax", (M,), {"axis": -1}), ("cumsum", (M,), {"flags": np.ones((4, 8), np.uint8)}), ("cumsum", (M[0],), {"offsets": INDICES}),
        ("sort", (M[0],), {"offsets": INDICES}), ("sort", (M,), {"payload": M}), ("sample", (M,), {"top_k": 2, "draft_tokens": np.zeros(4, np.int32), "draft_probabilities": M})]


def test_every_function_with_keywords_for_its_plan_has_a_call_here():
    functions = {name for name in cj.__all__ if isinstance(getattr(cj, name), cj.Function)}
    assert set(CALLS) == {name for name in functions if getattr(cj, name)._named != list(getattr(cj, name)._signature.parameters)}


@pytest.mark.parametrize(("name", "arrays", "words"), [*((name, arrays, {}) for name, arrays in CALLS.items()), *MORE])
def test_what_a_function_sets_itself_is_no_keyword(name, arrays, words):
    function = getattr(cj, name)
    request = function._request(arrays, words, ())
    mine = [field for field in request.parameters() if field in PLAN]
    listed = f"those of its plan are {', '.join(mine)}"
    fields = {*request.parameters(), *request.fields, "axes", "plan", "fields"} - set(function._named) - set(mine)
    assert mine and len(fields) > 4
    for field in fields:
        for value in (1, 3, True, "i32"):
            with pytest.raises(cj.InvalidArgument) as caught:
                function(*arrays, **words, **{field: value})
            assert caught.value.field == field and caught.value.limit.endswith(listed), caught.value
    for field in set(mine) - {"cluster", "map", "strategy", "form", "tile"}:
        with pytest.raises(cj.InvalidArgument, match=f"{field}: 0 is not above 0"):
            function(*arrays, **words, **{field: 0})
        function._request(arrays, {**words, field: None}, ())


def test_a_plan_may_be_told_all_that_the_library_chooses():
    """What the families' tables leave to the plan, where the C description has it."""
    for name, arrays, words in [*((name, arrays, {}) for name, arrays in CALLS.items()), *MORE]:
        request = getattr(cj, name)._request(arrays, words, ())
        family = request.noun[3:] if request.noun != "cj_kernel" else request.family
        found = made("const cj_family *", lib.cj_family_find, family.encode())
        infos = [lib.cj_family_param(found, i) for i in range(lib.cj_family_param_count(found))]
        chosen = {text(info.name).replace("-", "_") for info in infos if info.automatic or info.tune != ffi.NULL}
        assert chosen & set(request.parameters()) <= set(PLAN)


ZEROS = {
    "bins: 0 is below 1": lambda: cj.histogram(M, 0), "bins: -1 is below 1": lambda: cj.histogram(M, -1),
    r"range: \(0, 0\) is not two numbers, the second above the first": lambda: cj.histogram(M, 4, (0, 0)),
    "range: .* is not two numbers": lambda: cj.histogram(M, 4, (1, np.nan)),
    "steps: 0 is below 1": lambda: cj.stencil(M, steps=0), "radius: 0 is below 1": lambda: cj.stencil(M, radius=0),
    "weights: 0 were given": lambda: cj.stencil(M, []), "dim: 0 is outside 1 to 2": lambda: cj.stencil(M, dim=0),
    "shift: 0 is below 1": lambda: cj.exchange(M, "ring", shift=0), "halo: 0 is below 1": lambda: cj.exchange(M, "halo", halo=0),
    "k: 0 is below 1": lambda: cj.topk(M, 0), "^k: 0 is below 1": lambda: cj.kthvalue(M, 0),
    "k: -1 is outside 0 to 4294967295": lambda: cj.topk(M, -1), "k: 2.5 is no whole number": lambda: cj.topk(M, 2.5),
    "longest: 0 is below 1": lambda: cj.sort(M[0], offsets=INDICES, longest=0),
    "longest: -1 is below 1": lambda: cj.argsort(M[0], offsets=INDICES, longest=-1),
    "longest: 5 is given without offsets": lambda: cj.sort(M, longest=5),
    "eps: 0 is not above 0": lambda: cj.rms_norm(M, eps=0), "^eps: 0 is not above 0": lambda: cj.layer_norm(M, eps=0),
    "scale: 0 is not above 0": lambda: cj.softmax(M, scale=0), "^scale: 0 is not above 0": lambda: cj.cross_entropy(M, INDICES, scale=0),
    "scale: 'x' is no number": lambda: cj.softmax(M, scale="x"), "top: -1 is outside 0 to": lambda: cj.sample(M, top=-1),
    "epsilon: 0 is not above 0": lambda: gpus(lambda ranks: ranks.norm([M, M], epsilon=0)),
    "scale: 0 is not above": lambda: gpus(lambda ranks: ranks.cross_entropy([M, M], [INDICES, INDICES], scale=0)),
    "bins: 0 is below": lambda: gpus(lambda ranks: ranks.histogram([M, M], 0)),
}


def gpus(call):
    with cj.gpus.Gpus.of(["cpu", "cpu"]) as ranks:
        return call(ranks)


@pytest.mark.parametrize("message", ZEROS)
def test_a_zero_that_the_library_takes_for_the_default_is_refused(message):
    with pytest.raises(cj.InvalidArgument, match=message):
        ZEROS[message]()


def test_a_zero_that_means_0_is_taken(rng):
    logits = rng.standard_normal((50, 20)).astype(np.float32)
    assert (cj.sample(logits, temperature=0) == logits.argmax(-1)).all()
    for words in ({"top_k": 0}, {"min_p": 0.0}, {"frequency": 0.0, "presence": 0.0, "counts": np.ones((50, 20), np.uint32)}, {"top_p": 1.0}):
        assert (cj.sample(logits, seed=3, **words) == cj.sample(logits, seed=3)).all()
    assert (cj.matmul(H, H, alpha=0) == 0).all() and (cj.matmul(H, H, c=H, beta=0) == 8).all()
    loss, _ = cj.cross_entropy(M, INDICES, label_smoothing=0, ignore_index=0)
    assert not loss.any() and (cj.collective(M, "shift", distance=0) == M).all()
    assert cj.sum.plan(M, cluster=0).shape["cluster"][0] == 0


def test_nan_is_passed_over():
    x = np.array([np.nan, 3, 1, np.nan, 2], np.float32)
    assert (float(cj.min(x)), float(cj.max(x)), int(cj.argmin(x)), int(cj.argmax(x))) == (1, 3, 2, 1)
    assert cj.argmax(x[None], axis=-1).tolist() == [np.argmax(x)] == [0]  # but not of rows
    half = x.astype(np.float16)
    assert cj.argmax(half[None], axis=-1).tolist() == [0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_means_of_infinite_elements(dtype):
    x = np.array([1, np.inf, 2, 3], dtype)
    assert float(cj.mean(x)) == float(cj.sum(x)) == np.inf and float(cj.mean(-x)) == -np.inf
    assert all(np.isnan(cj.meanvar(x)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "rms_norm", "layer_norm",
                                  "rms_norm_backward", "layer_norm_backward", "cross_entropy"])
def test_a_keyword_of_no_parameter_is_answered_with_the_list(name):
    function = getattr(cj, name)
    with pytest.raises(cj.InvalidArgument, match=f"cluster: {name} has no such parameter; it has [a-z]+, .*dtype, out, stream") as caught:
        function(np.ones((2, 4), np.float32), cluster=4)
    assert caught.value.field == "cluster" and "chooses it by the shape" in caught.value.hint
    with pytest.raises(TypeError, match="positional"):
        function(*[np.ones((2, 4), np.float32)] * 9)
