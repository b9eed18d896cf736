# SPDX-License-Identifier: Apache-2.0
"""The kernel families as functions of arrays; those of rows are in rows.py, sorts in sorts.py, matrix products in products.py.

Rows lie along the last axis; the axes before it may have any extents, as long as they make rows at equal distances. ``out`` takes
the result's array (a tuple where there are several), ``stream`` a stream (default: the caller's current one). Further keywords,
``**plan``, are what the plan else chooses, such as ``cluster=4`` (0: without clusters) or ``block=256`` (:data:`clusterjit.request.PLAN`). What is
written must not overlap what is read, but that scans, exchanges without a halo, and a product's c are also written in place.

A body has no use for ``plan``: :class:`clusterjit.call.Function` adds it to what the body asks for.
"""
from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple, Optional

from .arrays import NAMES, Array, Shape, View, dtype_name
from .call import Function, Value
from .errors import InvalidArgument, UnsupportedType
from .parameters import KernelRequest
from .request import Out, Request
from .shapes import (COPY, align, all_elements, at_least_1, blocks, contiguous, contiguous_of, elements, ends, last_axis, numbers, of_dtype, row_stride, same_shape,
                     segment_offsets)

# What is summed is of this type, where it is of a smaller one.
ARITHMETIC = {"f16": "f32", "bf16": "f32", "e4m3": "f32", "e5m2": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}


# ---- reductions of a whole array

def _reduce(x: View, op: str, out: Any, functions: Optional[dict[str, Any]] = None) -> Request[Array]:
    kind = ARITHMETIC.get(x.dtype, x.dtype)
    mean = "f32" if x.dtype in ("f16", "bf16", "f32") else "f64"
    shape, dtype, result = {
        "mean": ((), mean, None),
        "meanvar": ((2,), mean, lambda out: (out[0], out[1])),
        "argmin": ((2,), "i64", lambda out: out[1]),  # the value at byte 0, the index at byte 8
        "argmax": ((2,), "i64", lambda out: out[1]),
    }.get(op, ((), kind, None))
    writes = {"out": Out(shape, dtype, out[0] if out else None)}
    return Request("reduce", {"n": elements(x), "op": op or None, "dtype": x.dtype, **(functions or {})}, {"x": x}, writes, result=result)


@Function
def sum(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The sum of all elements of ``x``, contiguous, of any shape and of any dtype but float8; f16 and bf16 are summed
    in f32, to an f32, integers of 8 and 16 bits in 32. Sums of 32 bits wrap, where NumPy's have
    64. ``axis``: None, or that of an array of one axis.

    >>> import clusterjit, numpy
    >>> float(clusterjit.sum(numpy.arange(1024, dtype=numpy.float32), cluster=4))
    523776.0
    """
    all_elements(x, axis)
    return _reduce(x, "sum", out)


@Function
def reduce(x: Array, op: str, identity: str, *, map: Optional[str] = None, out: Optional[Array] = None, stream: Any = None,
           **plan: Any) -> Request[Array]:
    """All elements of ``x``, contiguous, of any dtype but float8, combined by an expression of your own, which NVRTC compiles: ``op``, in CUDA C
    of a and b, is associative and commutative, and leaves every value as it is where the other one is ``identity``. ``map``, of x, is
    what each element becomes first; the other reductions take it, too.

    >>> import clusterjit, numpy
    >>> x = numpy.array([1, 2, 4, 9], numpy.int32)
    >>> try:
    ...     print(int(clusterjit.reduce(x, "a ^ b", "0", map="x & 7")))
    ... except clusterjit.Unsupported:  # there is no NVRTC
    ...     print(6)
    6
    """
    return _reduce(x, "", out, {"op_function": op, "identity": identity, "map": map})


@Function
def prod(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The product of all elements of ``x``, contiguous, of any shape and of any dtype but float8, in the
    dtype that :func:`sum` has. ``axis``: as there.

    >>> import clusterjit, numpy
    >>> int(clusterjit.prod(numpy.arange(1, 11, dtype=numpy.int64)))
    3628800
    """
    all_elements(x, axis)
    return _reduce(x, "product", out)


@Function
def min(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The least element of ``x``, contiguous, of any shape and of any dtype but float8. NaN is passed
    over, where NumPy's is NaN. ``axis``: None, or that of an array of one axis.

    >>> import clusterjit, numpy
    >>> float(clusterjit.min(numpy.array([3.0, -2.0, 5.0])))
    -2.0
    """
    all_elements(x, axis)
    return _reduce(x, "min", out)


@Function
def max(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The greatest element of ``x``, contiguous, of any shape and of any dtype but float8. NaN is passed
    over, where NumPy's is NaN. ``axis``: None, or that of an array of one axis.

    >>> import clusterjit, numpy
    >>> float(clusterjit.max(numpy.array([3.0, -2.0, 5.0])))
    5.0
    """
    all_elements(x, axis)
    return _reduce(x, "max", out)


@Function
def mean(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The mean of all elements of ``x``, contiguous, of any shape and of any dtype but float8: f32 of f16, bf16
    and f32, else f64. ``axis``: as of :func:`sum`.

    >>> import clusterjit, numpy
    >>> float(clusterjit.mean(numpy.arange(5, dtype=numpy.int32)))
    2.0
    """
    all_elements(x, axis)
    return _reduce(x, "mean", out)


@Function
def meanvar(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[tuple[Array, Array]]:
    """The mean and the variance (over n) of all elements of ``x``, contiguous, of the shapes and dtypes of :func:`mean`, in one pass, of its dtype.
    Both are NaN where an element is infinite, whose mean :func:`mean` gives. ``out`` has the shape (2,).

    >>> import clusterjit, numpy
    >>> [float(value) for value in clusterjit.meanvar(numpy.array([1, 2, 3, 4], numpy.float32))]
    [2.5, 1.25]
    """
    return _reduce(x, "meanvar", out)


@Function
def argmin(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The index, i64, of the first least element of ``x``, contiguous, of any dtype but float8, flattened. ``axis``: as of :func:`sum`.
    ``out``: i64 of shape (2,), whose second element it is. NaN is passed over, where NumPy's is the first NaN.

    >>> import clusterjit, numpy
    >>> int(clusterjit.argmin(numpy.array([3.0, -2.0, 5.0, -2.0])))
    1
    """
    all_elements(x, axis)
    return _reduce(x, "argmin", out)


@Function
def argmax(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The index of the first greatest element: of ``x`` flattened, contiguous, of any dtype but float8 (i64), or with ``axis=-1`` of each row of f32,
    f16, bf16, i32 or u32 (u32). Without ``axis`` NaN is passed over, where NumPy's is the first NaN; of a row NaN is the greatest, as
    NumPy's is: ``argmax(x.reshape(1, -1), axis=-1)`` has NumPy's answer for all of ``x``. ``out``: without ``axis`` i64 of shape (2,), whose
    second element it is.

    >>> import clusterjit, numpy
    >>> x = numpy.array([[1, 7, 2], [9, 0, 9]], numpy.float32)
    >>> int(clusterjit.argmax(x)), clusterjit.argmax(x, axis=-1)
    (3, array([1, 0], dtype=uint32))
    """
    if axis is None:
        return _reduce(x, "argmax", out)
    last_axis(x, axis)
    of_dtype(x, "f32", "f16", "bf16", "i32", "u32")
    fields = {"rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "stride": row_stride(x), "dtype": x.dtype, "align": x.align}
    return Request("argmax", fields, {"x": x}, {"out": Out(x.shape[:-1], "u32", out[0] if out else None)})


# ---- scan, top-k, histogram

def _scan(op: str, x: View, axis: int, exclusive: bool, reverse: bool, flags: Optional[View], offsets: Optional[View], out: Any,
          functions: Optional[dict[str, Any]] = None) -> Request[Array]:
    last_axis(x, axis)
    given = out[0] if out else None
    fields = {"op": op or None, "rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "dtype": x.dtype, "exclusive": exclusive,
              "reverse": reverse, "stride": row_stride(x), "align": align(x, given), **(functions or {})}
    if given is not None:
        fields["out_stride"] = row_stride(given)
    heads = None
    if flags is not None and offsets is not None:
        raise InvalidArgument.of("offsets", None, "segments are given by flags, too", "give one of them")
    if flags is not None:
        of_dtype(flags, "u8")
        same_shape(x, {"flags": flags})
        if row_stride(flags) != fields["stride"]:
            raise flags.refuse("its rows are", row_stride(flags), f"elements apart; those of x are {fields['stride']}", COPY)
        heads, fields["heads"] = flags, "flags"
    elif offsets is not None:
        segment_offsets(offsets)
        if fields["rows"] != 1:
            raise x.refuse_shape("with offsets it is one row", "rows that lie one after the other are one: x.reshape(-1)")
        heads, fields["heads"], fields["segments"] = offsets, f"offsets_{offsets.dtype}", offsets.shape[0] - 1
    return Request("scan", fields, {"x": x, "heads": heads}, {"out": Out(x.shape, x.dtype, given, True)},
                   run="run_segmented" if heads else "run", in_place="x")


@Function
def cumsum(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
           offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running sums along the last axis. ``x``: (..., columns) of f32, f64, f16, bf16 or an integer of 32 or 64 bits; the result
    is alike. ``exclusive``: without the element itself; ``reverse``: from the row's end.
    ``flags``: u8 of x's shape, not 0 where a segment begins; ``offsets``: (segments + 1,) of i32 or i64, of one row.

    >>> import clusterjit, numpy
    >>> clusterjit.cumsum(numpy.array([1, 2, 3, 4], numpy.int32), exclusive=True)
    array([0, 1, 3, 6], dtype=int32)
    >>> clusterjit.cumsum(numpy.array([1, 2, 3, 4], numpy.int32), offsets=numpy.array([0, 2, 4]))
    array([1, 3, 3, 7], dtype=int32)
    """
    return _scan("sum", x, axis, exclusive, reverse, flags, offsets, out)


@Function
def scan(x: Array, op: str, identity: str, *, axis: int = -1, exclusive: bool = False, reverse: bool = False,
         flags: Optional[Array] = None, offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None,
         **plan: Any) -> Request[Array]:
    """A running result of an expression of your own, as of :func:`reduce`; it need not be commutative: a stands before b. Other
    parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> x = numpy.array([1, 2, 4, 9], numpy.int32)
    >>> try:
    ...     print(clusterjit.scan(x, "a | b", "0"))
    ... except clusterjit.Unsupported:  # there is no NVRTC
    ...     print(numpy.bitwise_or.accumulate(x))
    [ 1  3  7 15]
    """
    return _scan("", x, axis, exclusive, reverse, flags, offsets, out, {"op_function": op, "identity": identity})


@Function
def cumprod(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
            offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running products along the last axis; parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> clusterjit.cumprod(numpy.array([1, 2, 3, 4], numpy.float32), reverse=True)
    array([24., 24., 12.,  4.], dtype=float32)
    """
    return _scan("product", x, axis, exclusive, reverse, flags, offsets, out)


@Function
def cummin(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
           offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running minima along the last axis; parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> clusterjit.cummin(numpy.array([3, 1, 2], numpy.int32))
    array([3, 1, 1], dtype=int32)
    """
    return _scan("min", x, axis, exclusive, reverse, flags, offsets, out)


@Function
def cummax(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
           offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running maxima along the last axis; parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> clusterjit.cummax(numpy.array([1, 3, 2], numpy.int32))
    array([1, 3, 3], dtype=int32)
    """
    return _scan("max", x, axis, exclusive, reverse, flags, offsets, out)


def _topk(x: View, k: int, axis: int, shape: Shape, index_dtype: Any, out: Any, fields: dict[str, Any]) -> Request[Any]:
    last_axis(x, axis)
    index = dtype_name(index_dtype, "index_dtype")
    if index not in ("i64", "u32"):
        raise UnsupportedType.of("index_dtype", index, "is none of i64, u32")
    given = [*(out or ()), None, None]
    fields = {"rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "k": k, "dtype": x.dtype, "stride": row_stride(x),
              "align": x.align, "index_u32": index == "u32", **fields}
    return Request("topk", fields, {"x": x}, {"values": Out(shape, x.dtype, given[0]), "indices": Out(shape, index, given[1])})


@Function
def topk(x: Array, k: int, *, axis: int = -1, largest: bool = True, sorted: bool = True, index_dtype: Any = "int64", out: Any = None,
         stream: Any = None, **plan: Any) -> Request[tuple[Array, Array]]:
    """The ``k`` largest (or smallest) elements of each row, and their indices: two arrays, (..., k). ``x``: (..., columns) of f32,
    f16, bf16, i32 or u32; ``k``: 1 to 2048; ``axis``: the last one. Of equal elements those of lower index come first; without ``sorted``
    the k are in any order. ``index_dtype``: int64 or uint32.

    >>> import clusterjit, numpy
    >>> clusterjit.topk(numpy.array([[5, 1, 4, 3]], numpy.float32), 2)
    (array([[5., 4.]], dtype=float32), array([[0, 2]]))
    """
    return _topk(x, k, axis, (*x.shape[:-1], k), index_dtype, out, {"smallest": not largest, "unsorted": not sorted})


@Function
def kthvalue(x: Array, k: int, *, axis: int = -1, largest: bool = False, index_dtype: Any = "int64", out: Any = None,
             stream: Any = None, **plan: Any) -> Request[tuple[Array, Array]]:
    """The ``k``-th smallest (or largest) element of each row, and its index: two arrays, (...). All parameters as of :func:`topk`.

    >>> import clusterjit, numpy
    >>> clusterjit.kthvalue(numpy.array([[5, 1, 4, 3]], numpy.float32), 2)
    (array([3.], dtype=float32), array([3]))
    """
    return _topk(x, k, axis, x.shape[:-1], index_dtype, out, {"smallest": not largest, "kth": True})


class Sampled(NamedTuple):
    """What :func:`sample` tells; None is what was not asked for. Beyond the last token that the filters keep ``top_tokens`` are -1."""

    tokens: Array
    log_probability: Optional[Array] = None
    top_tokens: Optional[Array] = None
    top_log_probabilities: Optional[Array] = None
    probabilities: Optional[Array] = None
    accepted: Optional[Array] = None


_SAMPLED = {"temperature": ("f32",), "top_p": ("f32",), "min_p": ("f32",), "repetition": ("f32",), "frequency": ("f32",),
            "presence": ("f32",), "top_k": ("i32",), "seed": ("i64", "u64"), "offset": ("i64", "u64")}


_ABOVE_0 = {"top_p": ("is not above 0 and at most 1", "1 keeps all tokens"), "repetition": ("is not above 0", "1 is no penalty")}


def _tokens(name: str, x: Optional[View], shape: Shape) -> Optional[View]:
    """An array of u32 (i32 has the same bits), of this shape."""
    of_dtype(x, "u32", "i32")
    contiguous_of(x, shape)
    return x


def _values_of_rows(logits: View, values: dict[str, Any]) -> dict[str, Optional[View]]:
    """Those that are arrays, with a value for each row of logits."""
    found: dict[str, Optional[View]] = {}
    for name, dtypes in _SAMPLED.items():
        value = values[name]
        if isinstance(value, View):
            of_dtype(value, *dtypes)
            _beside(logits, name, value, logits.shape[:-1])
            found[name + "_rows"] = value
    return found


def _draft(logits: View, tokens: Optional[View], probabilities: Optional[View]) -> dict[str, Optional[View]]:
    """The tokens of a draft and their distributions: both or none."""
    if (tokens is None) != (probabilities is None):
        name, other = ("draft_tokens", "draft_probabilities")[::-1 if tokens is None else 1]
        raise InvalidArgument.of(name, None, f"it is given without {other}", f"give both: {other}=...")
    of_dtype(tokens, "i32")
    of_dtype(probabilities, "f32")
    _beside(logits, "draft_tokens", tokens, logits.shape[:-1])
    _beside(logits, "draft_probabilities", probabilities, logits.shape)
    return {"draft_tokens": tokens, "draft_probabilities": probabilities}


def _beside(logits: View, name: str, x: Optional[View], shape: Shape) -> None:
    """Refuses an array that is not contiguous, of this shape."""
    same_shape(logits, {name: x}, shape)
    if x is not None:
        contiguous(x)


@Function
def sample(logits: Array, *, temperature: Value = 1.0, top_k: Optional[Value] = None, top_p: Optional[Value] = None,
           min_p: Optional[Value] = None, repetition: Optional[Value] = None, frequency: Optional[Value] = None,
           presence: Optional[Value] = None, mask: Optional[Array] = None, counts: Optional[Array] = None, seed: Value = 0,
           offset: Value = 0, log_probability: bool = False, top: int = 0, distribution: bool = False,
           draft_tokens: Optional[Array] = None, draft_probabilities: Optional[Array] = None, out: Any = None, stream: Any = None,
           **plan: Any) -> Request[Any]:
    """A token, i32, of each row of logits, (..., columns) of f32, f16 or bf16: drawn by its probability after penalties, mask,
    temperature, top-k, top-p and min-p, in this order. -1 where no token is left. Each value is a number, which may be another one in
    each call of the same plan, or an array with one a row. Temperature 0 takes the largest logit, top_k 0 all. ``counts``: u32 like logits, how
    often each token is in the text, for the penalties; ``mask``: u32 (..., columns / 32, rounded up), a bit for each token that is allowed.
    The same seed and offset give the same tokens, on every device. ``top_p`` keeps the fewest tokens that are as probable together, ``min_p``
    those that are so probable of the most probable one's. A logit above 0 of a token that is in the text is divided by ``repetition``, one below
    0 multiplied; ``frequency`` times the token's count and, once, ``presence`` are subtracted.

    More can be told of what the filters keep; the result is then a :class:`Sampled`: ``log_probability`` of the token; the ``top`` most
    probable tokens, up to 32, with theirs; the ``distribution``. With ``draft_tokens``, i32 one a row, and ``draft_probabilities``,
    f32 like logits, tokens of a draft are accepted, or replaced, so that they have the distribution of the logits (speculative sampling).

    >>> import clusterjit, numpy
    >>> logits = numpy.array([[0, 5, 4, -3], [2, 1, 9, 8]], numpy.float32)
    >>> clusterjit.sample(logits, temperature=0.0)
    array([1, 2], dtype=int32)
    >>> set(clusterjit.sample(numpy.repeat(logits[:1], 100, 0), top_k=2, seed=7).tolist())
    {1, 2}
    >>> clusterjit.sample(logits, temperature=0.0, top=2).top_tokens
    array([[ 1, -1],
           [ 2, -1]], dtype=int32)
    """
    last_axis(logits, -1)
    rows, columns = logits.shape[:-1], logits.shape[-1]
    values: dict[str, Any] = {
        "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "repetition": repetition, "frequency": frequency,
        "presence": presence, "seed": seed, "offset": offset}
    if counts is None and any(values[name] is not None for name in ("repetition", "frequency", "presence")):
        raise InvalidArgument.of("counts", None, "penalties need them: how often each token is in the text", "give them: counts=...")
    reads = {"logits": logits, "mask": _tokens("mask", mask, (*rows, (columns + 31) // 32)), "counts": _tokens("counts", counts, logits.shape),
             **_values_of_rows(logits, values), **_draft(logits, draft_tokens, draft_probabilities)}
    fields = {"rows": math.prod(rows), "columns": columns, "dtype": logits.dtype, "stride": row_stride(logits), "align": logits.align,
              "top_k": top_k is not None, "top_p": top_p is not None, "min_p": min_p is not None, "penalties": counts is not None,
              "mask": mask is not None, "log_probability": log_probability, "top": top, "distribution": distribution,
              "draft": draft_tokens is not None}
    late = {name: value for name, value in values.items() if value is not None and not isinstance(value, View)}
    told = {"tokens": (rows, "i32", True), "log_probability": (rows, "f32", log_probability), "top_tokens": ((*rows, top), "i32", top > 0),
            "top_log_probabilities": ((*rows, top), "f32", top > 0), "probabilities": (logits.shape, "f32", distribution),
            "accepted": (rows, "u32", draft_tokens is not None)}
    names = [name for name, (_, _, wanted) in told.items() if wanted]
    given = [*(out or ()), *(None for _ in names)]
    writes = {name: Out(*told[name][:2], given[i]) for i, name in enumerate(names)}
    return Request("sample", fields, reads, writes, values=late, late=late, above=_ABOVE_0,
                   result=None if len(names) == 1 else lambda *found: Sampled(**dict(zip(names, found))))


@Function
def histogram(x: Array, bins: int = 256, range: Optional[tuple[float, float]] = None, *, dtype: Any = "uint32",
              accumulate: bool = False, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """How many elements of ``x`` fall into each of ``bins`` bins of equal width between the ends of ``range`` (default: 0 to bins;
    of f32 0 to 1); those outside are not counted. ``x``: contiguous, of u8, u16, u32 or f32. The counts are u32 or u64; with
    ``accumulate`` they are added to those in ``out``.

    >>> import clusterjit, numpy
    >>> clusterjit.histogram(numpy.array([0.1, 0.2, 0.6, 0.9], numpy.float32), 2)
    array([2, 2], dtype=uint32)
    """
    if accumulate and not out:
        raise InvalidArgument.of("out", None, "accumulate needs the counts to add to", "give them: out=counts")
    counts = dtype_name(dtype)
    lower, upper = ends(range)
    fields = {"n": elements(x), "bins": at_least_1("bins", bins), "dtype": x.dtype, "counts": counts, "lower": lower, "upper": upper}
    return Request("histogram", fields, {"x": x}, {"counts": Out((bins,), counts, out[0] if out else None)},
                   run="add" if accumulate else "run")


# ---- stencil, exchange, collective

@Function
def stencil(x: Array, weights: Optional[tuple[float, ...]] = None, *, dim: Optional[int] = None, steps: int = 1, radius: int = 1,
            shape: str = "star", boundary: str = "zero", out: Optional[Array] = None, stream: Any = None,
            **plan: Any) -> Request[Array]:
    """Every point of a grid becomes a weighted sum of its neighbours, ``steps`` times. ``x``: (..., y, x), contiguous, of f32 or
    f64, whose last ``dim`` axes (default: all, 3 at most) are the grid, the others a batch. ``weights``: as they lie in memory,
    by ``shape`` 2 dim radius + 1 of a "star", (2 radius + 1)**dim of a "box", 32 at most; ``boundary``: "zero", "clamp" or "periodic".

    >>> import clusterjit, numpy
    >>> clusterjit.stencil(numpy.array([0, 4, 0, 0], numpy.float32), [0.25, 0.5, 0.25])
    array([1., 2., 1., 0.], dtype=float32)
    """
    if not x.shape:
        raise x.refuse_shape("at least one axis is needed")
    dim = builtins.min(len(x.shape), 3) if dim is None else dim
    if not 1 <= dim <= 3 or dim > len(x.shape):
        raise InvalidArgument.of("dim", dim, f"is outside 1 to {builtins.min(len(x.shape), 3)}")
    if weights is not None and not numbers("weights", weights):
        raise InvalidArgument.of("weights", 0, "were given; there is one for each neighbour and the point", "leave them out for the default")
    for view in (x, *(out or ())):
        if view.align < 16:
            raise view.refuse("its address is a multiple of", view.align, "bytes alone; grids are read and written 16 at a time", "copy it: x.copy()")
    extents = x.shape[len(x.shape) - dim:]
    fields = {"dim": dim, "extent": list(reversed(extents)), "batch": elements(x) // builtins.max(math.prod(extents), 1),
              "steps": at_least_1("steps", steps), "radius": at_least_1("radius", radius), "shape": shape, "boundary": boundary, "weights": weights,
              "weight_count": len(weights) if weights else 0, "dtype": x.dtype}
    return Request("stencil", fields, {"x": x}, {"out": Out(x.shape, x.dtype, out[0] if out else None)})


@Function
def exchange(x: Array, pattern: str = "pair", *, shift: int = 1, halo: int = 1, out: Optional[Array] = None, stream: Any = None,
             **plan: Any) -> Request[Array]:
    """The blocks of clusters trade their chunks of ``x``: (..., size, n), contiguous, a cluster of ``size`` blocks for each (size, n).
    ``pattern``: "pair", "ring" (block b gets chunk b + shift), "halo" (its own, between ``halo`` elements of each neighbour: n + 2
    halo elements) or "all_to_all" (part j of block b is part b of chunk j).

    >>> import clusterjit, numpy
    >>> clusterjit.exchange(numpy.array([[1, 2], [3, 4]], numpy.int32))
    array([[3, 4],
           [1, 2]], dtype=int32)
    """
    size, n = blocks(x)
    given = out[0] if out else None
    fields = {"pattern": pattern, "n": n, "size": size, "groups": math.prod(x.shape[:-2]), "dtype": x.dtype, "shift": shift,
              "halo": halo, "align": align(x, given)}
    for name, of in (("halo", "halo"), ("shift", "ring")):
        if pattern == of:
            at_least_1(name, fields[name])
        else:
            del fields[name]
    after = (*x.shape[:-1], n + 2 * halo * (pattern == "halo"))
    return Request("exchange", fields, {"x": x}, {"out": Out(after, x.dtype, given)}, in_place="" if pattern == "halo" else "x")


_PARTS = {  # of a block: those that it gives and those that it gets; True: one for each block
    "broadcast": (False, False), "reduce": (False, False), "allreduce": (False, False), "gather": (False, True), "allgather": (False, True),
    "scatter": (True, False), "reduce_scatter": (True, False), "all_to_all": (True, True), "scan": (False, False), "shift": (False, False)}
_COMBINING = ("allreduce", "reduce", "reduce_scatter", "scan")
_DEFAULTS = {"combine": "sum", "root": 0, "exclusive": "no", "distance": 1, "around": "yes"}  # those of other operations are left out


@Function
def collective(x: Array, op: str = "allreduce", *, combine: str = "sum", root: int = 0, exclusive: bool = False, distance: int = 1,
               around: bool = True, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """A collective of the blocks of a cluster, through distributed shared memory. ``x``: (..., size, n), contiguous, of any dtype but
    float8: a cluster of ``size`` blocks, 16 at most, for each (size, n), of which block b has row b. ``op``: "allreduce", "reduce"
    (to ``root``), "reduce_scatter", "scan" (``exclusive``), all by ``combine``, "sum", "product", "min", "max", and not of integers of 8 and 16
    bits; "broadcast", "gather" and "scatter" (from or to ``root``), "allgather", "all_to_all", "shift" (row b goes to b + ``distance``;
    ``around``: from the last to the first one). Where a block gives or gets a part for each block its row is those parts: n is a multiple of size, or the
    result's row has size * n elements. A block that gets nothing has zeros.

    >>> import clusterjit, numpy
    >>> x = numpy.array([[1, 2], [3, 4]], numpy.int32)
    >>> clusterjit.collective(x)
    array([[4, 6],
           [4, 6]], dtype=int32)
    >>> clusterjit.collective(x, "allgather")
    array([[1, 2, 3, 4],
           [1, 2, 3, 4]], dtype=int32)
    """
    if op not in _PARTS:
        raise InvalidArgument.of("op", op, f"is none of {', '.join(_PARTS)}")
    size, n = blocks(x)
    refused = ("e4m3", "e5m2", *(("i8", "i16", "u8", "u16") if op in _COMBINING else ()))
    of_dtype(x, *(dtype for dtype in NAMES if dtype not in refused))
    if not 0 <= root < size:
        raise InvalidArgument.of("root", root, f"is no rank of a cluster of {size}", "ranks begin at 0: choose one below the number of blocks")
    gives, gets = _PARTS[op]
    if gives and n % size:
        raise x.refuse_shape(f"its rows must be parts for each of {size} blocks")
    count, clusters = n // size if gives else n, math.prod(x.shape[:-2])
    given = {"combine": combine, "root": root, "exclusive": "yes" if exclusive else "no", "distance": builtins.abs(distance),
             "around": "yes" if around else "no"}
    fields = {"op": op.replace("_", "-"), "dtype": x.dtype, "count": count, "cluster": size, "clusters": clusters,
              **{name: value for name, value in given.items() if value != _DEFAULTS[name]}}
    if distance < 0:
        fields["toward"] = "lower"
    after = (*x.shape[:-1], count * size if gets else count)
    return KernelRequest("collective", fields, {"x": x}, {"out": Out(after, x.dtype, out[0] if out else None)},
                         8 * size * clusters)
