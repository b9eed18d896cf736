# SPDX-License-Identifier: Apache-2.0
"""Sorts give what NumPy's stable sort gives, on the CPU device."""
import numpy as np
import pytest

import clusterjit as cj


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint64])
def test_sort(rng, dtype):
    x = (rng.integers(0, 90, (3, 200)) - (40 if np.dtype(dtype).kind != "u" else 0)).astype(dtype)
    values, indices = cj.sort(x)
    assert (indices == np.argsort(x, -1, kind="stable")).all() and (values == np.sort(x, -1)).all()
    values, indices = cj.sort(x, descending=True, index_dtype=np.uint32, cluster=2, block=64)
    assert (np.take_along_axis(x, indices, -1) == values).all() and (values == np.sort(x, -1)[:, ::-1]).all()
    assert indices.dtype == np.uint32 and (np.diff(indices.astype(int))[np.diff(values.astype(float)) == 0] > 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint64])
def test_sort_gives_values_alone(rng, dtype):
    x = rng.integers(0, 90, (3, 200)).astype(dtype)
    wanted = np.sort(x, -1)
    for _ in range(3):
        assert (cj.sort(x, return_indices=False) == wanted).all()
    out = np.empty_like(x)
    assert cj.sort(x, descending=True, return_indices=False, out=out) is out and (out == wanted[:, ::-1]).all()
    with pytest.raises(cj.InvalidArgument, match="out: 2 arrays were given; sort writes 1: values"):
        cj.sort(x, return_indices=False, out=(out, out))


def test_argsort(rng):
    x = rng.integers(0, 90, (3, 200)).astype(np.float32)
    assert (cj.argsort(x) == np.argsort(x, -1, kind="stable")).all()
    found = cj.argsort(x, descending=True, index_dtype=np.uint32, out=np.empty(x.shape, np.uint32))
    assert (found == np.argsort(-x, -1, kind="stable")).all()
    with pytest.raises(cj.UnsupportedType, match="index_dtype: .f32. is none of i64, u32"):
        cj.argsort(x, index_dtype=np.float32)


def test_segments_are_sorted_by_themselves(rng):
    lengths = [7, 0, 300, 1, 40]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    x = rng.integers(0, 50, offsets[-1]).astype(np.float32)
    for at in (offsets, offsets.astype(np.int64)):
        values, indices = cj.sort(x, offsets=at, longest=300)
        for begin, end in zip(offsets, offsets[1:]):
            assert (indices[begin:end] == np.argsort(x[begin:end], kind="stable")).all() and (values[begin:end] == np.sort(x[begin:end])).all()
    assert (cj.argsort(x, offsets=offsets) == indices).all()
    assert (cj.sort(x, offsets=offsets, return_indices=False) == values).all()
    with pytest.raises(cj.InvalidArgument, match="with offsets it must be one axis"):
        cj.sort(x[None], offsets=offsets)
    with pytest.raises(cj.InvalidArgument, match="offsets: its shape is"):
        cj.sort(x, offsets=offsets[:1])


def test_segments_of_any_length_beside_each_other(rng):
    lengths = [3, 17000, 0, 700, 250, *[9] * 300]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x, y = rng.integers(0, 5000, offsets[-1]).astype(np.uint16), rng.integers(0, 99, offsets[-1]).astype(np.int8)
    values, indices, moved = cj.sort(x, offsets=offsets, payload=y, index_dtype=np.uint32, descending=True)
    for begin, end in zip(offsets, offsets[1:]):
        order = np.argsort(-x[begin:end].astype(int), kind="stable")
        assert (indices[begin:end] == order).all() and (values[begin:end] == x[begin:end][order]).all() and (moved[begin:end] == y[begin:end][order]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.int64])
@pytest.mark.parametrize("payload", [np.int8, np.float16, np.float32, np.uint64])
def test_a_payload_follows_its_keys(rng, dtype, payload):
    whole = rng.integers(0, 90, (3, 260)).astype(dtype)
    x, y = whole[:, :250], rng.integers(0, 100, (3, 300)).astype(payload)[:, 50:]  # of strides of their own
    order = np.argsort(x, -1, kind="stable")
    wanted, moved = np.take_along_axis(x, order, -1), np.take_along_axis(y, order, -1)
    for _ in range(3):  # made, found, repeated
        found = cj.sort(x, payload=y)
        assert len(found) == 3 and (found[0] == wanted).all() and (found[1] == order).all() and (found[2] == moved).all()
    assert found[2].dtype == payload
    pair = cj.sort(x, payload=y, return_indices=False, block=64)
    assert len(pair) == 2 and (pair[0] == wanted).all() and (pair[1] == moved).all()
    pair = cj.sort(x, payload=y, return_values=False, index_dtype=np.uint32)
    assert (pair[0] == order).all() and pair[0].dtype == np.uint32 and (pair[1] == moved).all()
    out = np.empty_like(moved)
    assert cj.sort(x, payload=y, return_values=False, return_indices=False, out=out) is out and (out == moved).all()
    with cj.sort.plan(x, payload=y, return_indices=False) as plan:
        assert (plan(x, y)[1] == moved).all()


def test_a_payload_of_segments_and_one_that_is_none(rng):
    offsets = np.array([0, 7, 7, 107, 130])
    x, y = rng.integers(0, 50, 130).astype(np.float32), rng.integers(0, 1000, 130).astype(np.int16)
    found = cj.sort(x, offsets=offsets, payload=y, return_indices=False)
    for begin, end in zip(offsets, offsets[1:]):
        assert (found[1][begin:end] == y[begin:end][np.argsort(x[begin:end], kind="stable")]).all()
    with pytest.raises(cj.InvalidArgument, match="payload: its shape is .129,.; x needs .130,."):
        cj.sort(x, payload=y[:-1])
    with pytest.raises(cj.InvalidArgument, match="with offsets it must be one axis"):
        cj.sort(x, offsets=offsets, payload=np.repeat(y, 2)[::2])
    with pytest.raises(cj.InvalidArgument, match="payload: strides .*rows at equal distances"):
        cj.sort(x, payload=np.repeat(y, 2)[::2])
    with pytest.raises(cj.InvalidArgument, match="nothing would be written"):
        cj.sort(x, return_values=False, return_indices=False)
    with pytest.raises(cj.InvalidArgument, match="out.1.* overlaps|overlap"):
        cj.sort(x, payload=y, return_indices=False, out=(np.empty_like(x), y))
    with pytest.raises(cj.InvalidArgument, match="out: 3 arrays were given; sort writes 2: values, sorted_payload"):
        cj.sort(x, payload=y, return_indices=False, out=(np.empty_like(x), np.empty_like(y), np.empty_like(x)))
