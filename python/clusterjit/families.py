# SPDX-License-Identifier: Apache-2.0
"""The kernel families as functions of arrays.

Rows lie along the last axis; the axes before it may have any extents, as long as they make rows at equal distances. ``out`` takes
the result's array (a tuple where there are several), ``stream`` a stream (default: the caller's current one). Further keywords,
``**plan``, are fields of the C description, such as ``cluster=4`` (0: without clusters) or ``block=256``; the default leaves them
to the library. What is written must not overlap what is read.
"""
from __future__ import annotations

import builtins
import math
from typing import Any, Optional

from .arrays import Array, Shape, View, dtype_name
from .call import Function, Out, Request
from .errors import InvalidArgument, UnsupportedType

COPY = "copy it: numpy.ascontiguousarray(x), x.contiguous()"
_ARITHMETIC = {"f16": "f32", "bf16": "f32", "tf32": "f32", "e4m3": "f32", "e5m2": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}


# ---- shapes

def row_stride(x: View, axes: int = 1) -> int:
    """Elements from row to row, where the last `axes` axes are a row, contiguous, and those before them rows at equal distances."""
    shape, strides = x.shape[:len(x.shape) - axes], x.strides[:len(x.shape) - axes]
    length = math.prod(x.shape[len(x.shape) - axes:])
    outer = [(n, s) for n, s in zip(shape, strides) if n != 1]
    inner = x._replace(shape=x.shape[len(x.shape) - axes:], strides=x.strides[len(x.shape) - axes:])
    equal = all(s == n * step for (_, s), (n, step) in zip(outer, outer[1:]))
    if not inner.contiguous or not equal:
        raise x.refuse(f"strides {x.strides} in elements, of shape {x.shape}, are not those of contiguous rows at equal distances", COPY)
    return outer[-1][1] if outer else length


def last_axis(x: View, axis: int) -> None:
    if not x.shape:
        raise x.refuse("its shape is (); at least one axis is needed")
    if axis not in (-1, len(x.shape) - 1):
        raise InvalidArgument(f"axis: {axis} is not the last one, {len(x.shape) - 1}", hint="move it there: numpy.moveaxis, and copy")


def same_shape(x: View, others: dict[str, Optional[View]], shape: Optional[Shape] = None) -> None:
    for y in others.values():
        if y is not None and y.shape != (shape or x.shape):
            raise y.refuse(f"its shape is {y.shape}; {x.name} needs {shape or x.shape}")


def same_dtype(x: View, *others: Optional[View]) -> None:
    for y in others:
        if y is not None and y.dtype != x.dtype:
            raise UnsupportedType(f"{y.name}: its dtype is {y.dtype}; that of {x.name} is {x.dtype}", hint="convert one of them")


def of_dtype(x: Optional[View], *dtypes: str) -> None:
    if x is not None and x.dtype not in dtypes:
        raise UnsupportedType(f"{x.name}: its dtype is {x.dtype}; it must be {' or '.join(dtypes)}", hint="convert it")


def positive(name: str, value: float) -> float:
    if not value > 0:
        raise InvalidArgument(f"{name}: {value} is not above 0")
    return value


def align(*views: Optional[View]) -> int:
    return builtins.min(view.align for view in views if view is not None)


class Rows:
    """What the calls on rows of a matrix share: cj_rows of clusterjit/rows.h, and the results of its shape."""

    def __init__(self, x: View, axis: int, dtype: Any, out: Any, read: tuple[Optional[View], ...] = (),
                 columns: tuple[Optional[View], ...] = ()) -> None:
        last_axis(x, axis)
        self.x, self.given = x, list(out or ())
        self.dtype = x.dtype if dtype is None else dtype_name(dtype)
        of_dtype(x, "f32", "f16", "bf16")
        if self.dtype not in ("f32", "f16", "bf16"):
            raise UnsupportedType(f"dtype: {self.dtype} is none of f32, f16, bf16")
        same_dtype(x, *read, *columns)
        self.columns, self.rows = x.shape[-1], math.prod(x.shape[:-1])
        self.stride = row_stride(x)
        for y in read:
            if y is not None and row_stride(y) != self.stride and y.shape[:-1] != (1,) * (len(y.shape) - 1):
                raise y.refuse(f"its rows are {row_stride(y)} elements apart; those of {x.name} are {self.stride}", COPY)
        for y in columns:
            if y is not None and (y.shape != (self.columns,) or not y.contiguous):
                raise y.refuse(f"its shape is {y.shape}; it must be ({self.columns},), contiguous")
        self.aligned = align(x, *read, *columns)

    def take(self, shape: Optional[Shape] = None, dtype: str = "", matrix: bool = False) -> Out:
        """The next result: of x's shape and the rows' dtype, unless it is said."""
        given = self.given.pop(0) if self.given else None
        if given is not None and (matrix or not dtype):
            self.aligned = builtins.min(self.aligned, given.align)
        return Out(self.x.shape if shape is None else shape, dtype or self.dtype, given, matrix or shape is None)

    def each(self, dtype: str = "f32") -> Out:
        """A result with one value for each row."""
        return self.take(self.x.shape[:-1], dtype)

    def shape(self, writes: dict[str, Out]) -> dict[str, Any]:
        strides = {row_stride(out.given) for out in writes.values() if out.given is not None and out.strided}
        if len(strides) > 1:
            raise InvalidArgument(f"out: rows are {sorted(strides)} elements apart; all results need the same", hint="give contiguous ones")
        out = "same" if self.dtype == self.x.dtype else self.dtype
        return {"rows": self.rows, "columns": self.columns, "dtype": self.x.dtype, "out": out, "stride": self.stride,
                "out_stride": strides.pop() if strides else 0, "align": self.aligned}


# ---- reductions of a whole array

def _reduce(x: View, op: str, out: Any, plan: dict[str, Any]) -> Request[Array]:
    if not x.contiguous:
        raise x.refuse(f"strides {x.strides} in elements, of shape {x.shape}, are not those of a contiguous array", COPY)
    kind = _ARITHMETIC.get(x.dtype, x.dtype)
    mean = "f32" if x.dtype in ("f16", "bf16", "f32") else "f64"
    shape, dtype, result = {
        "mean": ((), mean, None),
        "meanvar": ((2,), mean, lambda out: (out[0], out[1])),
        "argmin": ((2,), "i64", lambda out: out[1]),  # the value at byte 0, the index at byte 8
        "argmax": ((2,), "i64", lambda out: out[1]),
    }.get(op, ((), kind, None))
    writes = {"out": Out(shape, dtype, out[0] if out else None)}
    return Request("reduce", {"n": math.prod(x.shape), "op": op or None, "dtype": x.dtype, **plan}, {"x": x}, writes, result=result)


@Function
def sum(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The sum of all elements of ``x``, contiguous, of any shape and dtype; f16 and bf16 are summed in f32, to an f32.

    >>> import clusterjit, numpy
    >>> float(clusterjit.sum(numpy.arange(1024, dtype=numpy.float32), cluster=4))
    523776.0
    """
    return _reduce(x, "sum", out, plan)


@Function
def reduce(x: Array, op: str, identity: str, *, map: Optional[str] = None, out: Optional[Array] = None, stream: Any = None,
           **plan: Any) -> Request[Array]:
    """All elements of ``x``, contiguous, of any dtype, combined by an expression of your own, which NVRTC compiles: ``op``, in CUDA C
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
    return _reduce(x, "", out, {"op_function": op, "identity": identity, "map": map, **plan})


@Function
def prod(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The product of all elements of ``x``, contiguous, of any shape and dtype.

    >>> import clusterjit, numpy
    >>> int(clusterjit.prod(numpy.arange(1, 11, dtype=numpy.int64)))
    3628800
    """
    return _reduce(x, "product", out, plan)


@Function
def min(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The least element of ``x``, contiguous, of any shape and dtype. NaN is passed over.

    >>> import clusterjit, numpy
    >>> float(clusterjit.min(numpy.array([3.0, -2.0, 5.0])))
    -2.0
    """
    return _reduce(x, "min", out, plan)


@Function
def max(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The greatest element of ``x``, contiguous, of any shape and dtype. NaN is passed over.

    >>> import clusterjit, numpy
    >>> float(clusterjit.max(numpy.array([3.0, -2.0, 5.0])))
    5.0
    """
    return _reduce(x, "max", out, plan)


@Function
def mean(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The mean of all elements of ``x``: f32 of f16, bf16 and f32, else f64.

    >>> import clusterjit, numpy
    >>> float(clusterjit.mean(numpy.arange(5, dtype=numpy.int32)))
    2.0
    """
    return _reduce(x, "mean", out, plan)


@Function
def meanvar(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[tuple[Array, Array]]:
    """The mean and the variance (over n) of all elements of ``x``, in one pass. ``out`` has the shape (2,).

    >>> import clusterjit, numpy
    >>> [float(value) for value in clusterjit.meanvar(numpy.array([1, 2, 3, 4], numpy.float32))]
    [2.5, 1.25]
    """
    return _reduce(x, "meanvar", out, plan)


@Function
def argmin(x: Array, *, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The index, i64, of the first least element of ``x``, flattened. ``out``: i64 of shape (2,), whose second element it is.

    >>> import clusterjit, numpy
    >>> int(clusterjit.argmin(numpy.array([3.0, -2.0, 5.0, -2.0])))
    1
    """
    return _reduce(x, "argmin", out, plan)


@Function
def argmax(x: Array, *, axis: Optional[int] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """The index of the first greatest element: of ``x`` flattened (i64), or with ``axis=-1`` of each row of f32 (u32).

    >>> import clusterjit, numpy
    >>> x = numpy.array([[1, 7, 2], [9, 0, 9]], numpy.float32)
    >>> int(clusterjit.argmax(x)), clusterjit.argmax(x, axis=-1)
    (3, array([1, 0], dtype=uint32))
    """
    if axis is None:
        return _reduce(x, "argmax", out, plan)
    last_axis(x, axis)
    of_dtype(x, "f32")
    fields = {"rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "stride": row_stride(x), **plan}
    return Request("argmax", fields, {"x": x}, {"out": Out(x.shape[:-1], "u32", out[0] if out else None)})


# ---- rows: softmax, norms, cross-entropy

def _softmax(x: View, axis: int, log: bool, scale: float, mask: Optional[View], dtype: Any, out: Any) -> Request[Array]:
    rows = Rows(x, axis, dtype, out, (mask,))
    if mask is not None and mask.shape[-1:] != x.shape[-1:]:
        raise mask.refuse(f"its shape is {mask.shape}; its last axis must be that of x, {x.shape[-1]}")
    writes = {"y": rows.take()}
    fields = {"shape": rows.shape(writes), "log": log, "scale": positive("scale", scale), "mask": mask is not None,
              "mask_rows": math.prod(mask.shape[:-1]) if mask is not None else 0}
    return Request("softmax", fields, {"x": x, "mask": mask}, writes)


def _softmax_backward(dy: View, y: View, axis: int, log: bool, scale: float, dtype: Any, out: Any) -> Request[Array]:
    rows = Rows(y, axis, dtype, out, (dy,))
    same_shape(y, {"dy": dy})
    writes = {"dx": rows.take()}
    fields = {"shape": rows.shape(writes), "log": log, "scale": positive("scale", scale), "backward": 1}
    return Request("softmax", fields, {"dy": dy, "y": y}, writes)


@Function
def softmax(x: Array, *, axis: int = -1, scale: float = 1.0, mask: Optional[Array] = None, dtype: Any = None,
            out: Optional[Array] = None, stream: Any = None) -> Request[Array]:
    """Softmax of ``scale * x + mask`` along the last axis. ``x``: (..., columns) of f32, f16 or bf16; the result has its shape,
    and ``dtype`` or its dtype. ``mask``: (mask_rows, columns), of x's dtype; row r of x takes row r mod mask_rows.

    >>> import clusterjit, numpy
    >>> clusterjit.softmax(numpy.array([[0, 0, 0, 0]], numpy.float32))
    array([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """
    return _softmax(x, axis, False, scale, mask, dtype, out)


@Function
def log_softmax(x: Array, *, axis: int = -1, scale: float = 1.0, mask: Optional[Array] = None, dtype: Any = None,
                out: Optional[Array] = None, stream: Any = None) -> Request[Array]:
    """The logarithm of :func:`softmax`, which has the same parameters.

    >>> import clusterjit, numpy
    >>> clusterjit.log_softmax(numpy.array([[0, 0]], numpy.float32)).round(4)
    array([[-0.6931, -0.6931]], dtype=float32)
    """
    return _softmax(x, axis, True, scale, mask, dtype, out)


@Function
def softmax_backward(dy: Array, y: Array, *, axis: int = -1, scale: float = 1.0, dtype: Any = None, out: Optional[Array] = None,
                     stream: Any = None) -> Request[Array]:
    """The gradient of x, of ``y = softmax(x)``: ``scale * (dy - sum(dy * y)) * y``. Both are (..., columns).

    >>> import clusterjit, numpy
    >>> y = numpy.array([[0.25, 0.75]], numpy.float32)
    >>> clusterjit.softmax_backward(numpy.array([[1, 0]], numpy.float32), y)
    array([[ 0.1875, -0.1875]], dtype=float32)
    """
    return _softmax_backward(dy, y, axis, False, scale, dtype, out)


@Function
def log_softmax_backward(dy: Array, y: Array, *, axis: int = -1, scale: float = 1.0, dtype: Any = None,
                         out: Optional[Array] = None, stream: Any = None) -> Request[Array]:
    """The gradient of x, of ``y = log_softmax(x)``: ``scale * (dy - sum(dy) * exp(y))``. Both are (..., columns).

    >>> import clusterjit, numpy
    >>> y = numpy.log(numpy.array([[0.25, 0.75]], numpy.float32))
    >>> clusterjit.log_softmax_backward(numpy.array([[1, 0]], numpy.float32), y).round(4)
    array([[ 0.75, -0.75]], dtype=float32)
    """
    return _softmax_backward(dy, y, axis, True, scale, dtype, out)


def _norm(kind: str, x: View, weight: Optional[View], bias: Optional[View], residual: Optional[View], eps: float, stats: bool,
          axis: int, dtype: Any, out: Any) -> Request[Any]:
    rows = Rows(x, axis, dtype, out, (residual,), (weight, bias))
    same_shape(x, {"residual": residual})
    writes = {"y": rows.take()}
    if residual is not None:
        writes["sum"] = rows.take()
    if stats:
        writes.update({name: rows.each() for name in ("mean", "rstd")[kind == "rms":]})
    fields = {"shape": rows.shape(writes), "kind": kind, "weight": weight is not None, "bias": bias is not None,
              "residual": residual is not None, "stats": stats, "epsilon": positive("eps", eps)}
    return Request("norm", fields, {"x": x, "weight": weight, "bias": bias, "residual": residual}, writes)


def _norm_backward(kind: str, dy: View, x: View, stats: dict[str, View], weight: Optional[View], weight_gradient: bool,
                   bias_gradient: bool, axis: int, dtype: Any, out: Any) -> Request[Any]:
    rows = Rows(x, axis, dtype, out, (dy,), (weight,))
    same_shape(x, {"dy": dy})
    for view in stats.values():
        of_dtype(view, "f32")
        if view.shape != x.shape[:-1] or not view.contiguous:
            raise view.refuse(f"its shape is {view.shape}; it must be {x.shape[:-1]}, contiguous")
    writes = {"dx": rows.take()}
    for name, wanted in (("dw", weight_gradient), ("db", bias_gradient)):
        if wanted:
            writes[name] = rows.take((rows.columns,))
    fields = {"shape": rows.shape({"dx": writes["dx"]}), "kind": kind, "backward": 1, "weight": weight is not None,
              "weight_gradient": weight_gradient, "bias_gradient": bias_gradient}
    return Request("norm", fields, {"x": x, "dy": dy, **stats, "weight": weight}, writes)


@Function
def rms_norm(x: Array, weight: Optional[Array] = None, bias: Optional[Array] = None, *, residual: Optional[Array] = None,
             eps: float = 1e-5, stats: bool = False, axis: int = -1, dtype: Any = None, out: Any = None,
             stream: Any = None) -> Request[Any]:
    """``h * rstd * weight + bias`` with ``h = x + residual`` and ``rstd = 1 / sqrt(mean(h**2) + eps)``, along the last axis.

    ``x``, ``residual``: (..., columns) of f32, f16 or bf16; ``weight``, ``bias``: (columns,), of the same dtype. Returns y; with
    ``residual`` also h; with ``stats`` also rstd, (...) of f32: then a tuple, in this order.

    >>> import clusterjit, numpy
    >>> clusterjit.rms_norm(numpy.array([[3, 4, 0, 0]], numpy.float32)).round(3)
    array([[1.2, 1.6, 0. , 0. ]], dtype=float32)
    """
    return _norm("rms", x, weight, bias, residual, eps, stats, axis, dtype, out)


@Function
def layer_norm(x: Array, weight: Optional[Array] = None, bias: Optional[Array] = None, *, residual: Optional[Array] = None,
               eps: float = 1e-5, stats: bool = False, axis: int = -1, dtype: Any = None, out: Any = None,
               stream: Any = None) -> Request[Any]:
    """``(h - mean) * rstd * weight + bias`` with ``h = x + residual`` and ``rstd = 1 / sqrt(var(h) + eps)``, along the last axis.

    Shapes as of :func:`rms_norm`. Returns y; with ``residual`` also h; with ``stats`` also mean and rstd.

    >>> import clusterjit, numpy
    >>> clusterjit.layer_norm(numpy.array([[1, 3, 1, 3]], numpy.float32)).round(3)
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """
    return _norm("layer", x, weight, bias, residual, eps, stats, axis, dtype, out)


@Function
def rms_norm_backward(dy: Array, x: Array, rstd: Array, weight: Optional[Array] = None, *, weight_gradient: bool = True,
                      bias_gradient: bool = False, axis: int = -1, dtype: Any = None, out: Any = None,
                      stream: Any = None) -> Request[Any]:
    """The gradients of :func:`rms_norm`: dx, of x (of h, if there was a residual), then, as asked, that of weight and of bias.

    >>> import clusterjit, numpy
    >>> x, dy = numpy.array([[3, 4, 0, 0]], numpy.float32), numpy.ones((1, 4), numpy.float32)
    >>> y, rstd = clusterjit.rms_norm(x, stats=True)
    >>> dx, dw = clusterjit.rms_norm_backward(dy, x, rstd)
    >>> dw.round(3)
    array([1.2, 1.6, 0. , 0. ], dtype=float32)
    """
    return _norm_backward("rms", dy, x, {"rstd": rstd}, weight, weight_gradient, bias_gradient, axis, dtype, out)


@Function
def layer_norm_backward(dy: Array, x: Array, mean: Array, rstd: Array, weight: Optional[Array] = None, *,
                        weight_gradient: bool = True, bias_gradient: bool = True, axis: int = -1, dtype: Any = None,
                        out: Any = None, stream: Any = None) -> Request[Any]:
    """The gradients of :func:`layer_norm`: dx, then, as asked, that of weight and of bias.

    >>> import clusterjit, numpy
    >>> x, dy = numpy.array([[1, 3, 1, 3]], numpy.float32), numpy.ones((1, 4), numpy.float32)
    >>> y, mean, rstd = clusterjit.layer_norm(x, stats=True)
    >>> dx, dw, db = clusterjit.layer_norm_backward(dy, x, mean, rstd)
    >>> db
    array([1., 1., 1., 1.], dtype=float32)
    """
    return _norm_backward("layer", dy, x, {"mean": mean, "rstd": rstd}, weight, weight_gradient, bias_gradient, axis, dtype, out)


@Function
def cross_entropy(x: Array, labels: Array, *, ignore_index: int = -100, label_smoothing: float = 0.0, gradient: bool = False,
                  scale: float = 1.0, dtype: Any = None, out: Any = None, stream: Any = None) -> Request[Any]:
    """The loss of each row of logits, and the logarithm of the sum of e^x: two arrays, (...) of f32; with ``gradient`` also that
    of x, times ``scale``. ``x``: (..., classes) of f32, f16 or bf16; ``labels``: (...) of i64 or i32. A row with the label
    ``ignore_index`` has the loss 0.

    >>> import clusterjit, numpy
    >>> loss, lse = clusterjit.cross_entropy(numpy.zeros((1, 4), numpy.float32), numpy.array([2]))
    >>> loss.round(4)
    array([1.3863], dtype=float32)
    """
    rows = Rows(x, -1, dtype, out)
    of_dtype(labels, "i64", "i32")
    if labels.shape != x.shape[:-1] or not labels.contiguous:
        raise labels.refuse(f"its shape is {labels.shape}; it must be {x.shape[:-1]}, contiguous")
    writes = {"loss": rows.each(), "lse": rows.each()}
    if gradient:
        writes["dx"] = rows.take()
    fields = {"shape": rows.shape(writes), "label": labels.dtype, "has_ignore": 1, "ignore": ignore_index,
              "smoothing": label_smoothing, "gradient": gradient, "scale": positive("scale", scale)}
    return Request("crossentropy", fields, {"x": x, "label": labels}, writes)


# ---- scan, top-k, histogram

def _scan(op: str, x: View, axis: int, exclusive: bool, reverse: bool, flags: Optional[View], offsets: Optional[View], out: Any,
          plan: dict[str, Any]) -> Request[Array]:
    last_axis(x, axis)
    given = out[0] if out else None
    fields = {"op": op or None, "rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "dtype": x.dtype, "exclusive": exclusive,
              "reverse": reverse, "stride": row_stride(x), "align": align(x, given), **plan}
    if given is not None:
        fields["out_stride"] = row_stride(given)
    heads = None
    if flags is not None:
        of_dtype(flags, "u8")
        same_shape(x, {"flags": flags})
        if row_stride(flags) != fields["stride"]:
            raise flags.refuse(f"its rows are {row_stride(flags)} elements apart; those of x are {fields['stride']}", COPY)
        heads, fields["heads"] = flags, "flags"
    elif offsets is not None:
        of_dtype(offsets, "i32", "i64")
        if len(offsets.shape) != 1 or offsets.shape[0] < 2 or not offsets.contiguous:
            raise offsets.refuse(f"its shape is {offsets.shape}; it must be (segments + 1,), contiguous")
        heads, fields["heads"], fields["segments"] = offsets, f"offsets_{offsets.dtype}", offsets.shape[0] - 1
    return Request("scan", fields, {"x": x, "heads": heads}, {"out": Out(x.shape, x.dtype, given, True)},
                   run="run_segmented" if heads else "run")


@Function
def cumsum(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
           offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running sums along the last axis. ``x``: (..., columns) of f32, f64, f16, bf16 or an integer of 32 or 64 bits; the result
    is alike. ``flags``: u8 of x's shape, not 0 where a segment begins; ``offsets``: (segments + 1,) of i32 or i64, of one row.

    >>> import clusterjit, numpy
    >>> clusterjit.cumsum(numpy.array([1, 2, 3, 4], numpy.int32), exclusive=True)
    array([0, 1, 3, 6], dtype=int32)
    >>> clusterjit.cumsum(numpy.array([1, 2, 3, 4], numpy.int32), offsets=numpy.array([0, 2, 4]))
    array([1, 3, 3, 7], dtype=int32)
    """
    return _scan("sum", x, axis, exclusive, reverse, flags, offsets, out, plan)


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
    return _scan("", x, axis, exclusive, reverse, flags, offsets, out, {"op_function": op, "identity": identity, **plan})


@Function
def cumprod(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
            offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running products along the last axis; parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> clusterjit.cumprod(numpy.array([1, 2, 3, 4], numpy.float32), reverse=True)
    array([24., 24., 12.,  4.], dtype=float32)
    """
    return _scan("product", x, axis, exclusive, reverse, flags, offsets, out, plan)


@Function
def cummin(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
           offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running minima along the last axis; parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> clusterjit.cummin(numpy.array([3, 1, 2], numpy.int32))
    array([3, 1, 1], dtype=int32)
    """
    return _scan("min", x, axis, exclusive, reverse, flags, offsets, out, plan)


@Function
def cummax(x: Array, *, axis: int = -1, exclusive: bool = False, reverse: bool = False, flags: Optional[Array] = None,
           offsets: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Running maxima along the last axis; parameters as of :func:`cumsum`.

    >>> import clusterjit, numpy
    >>> clusterjit.cummax(numpy.array([1, 3, 2], numpy.int32))
    array([1, 3, 3], dtype=int32)
    """
    return _scan("max", x, axis, exclusive, reverse, flags, offsets, out, plan)


def _topk(x: View, k: int, axis: int, shape: Shape, index_dtype: Any, out: Any, fields: dict[str, Any]) -> Request[Any]:
    last_axis(x, axis)
    index = dtype_name(index_dtype)
    if index not in ("i64", "u32"):
        raise UnsupportedType(f"index_dtype: {index} is none of i64, u32")
    given = list(out or (None, None))
    fields = {"rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "k": k, "dtype": x.dtype, "stride": row_stride(x),
              "align": x.align, "index_u32": index == "u32", **fields}
    return Request("topk", fields, {"x": x}, {"values": Out(shape, x.dtype, given[0]), "indices": Out(shape, index, given[1])})


@Function
def topk(x: Array, k: int, *, axis: int = -1, largest: bool = True, sorted: bool = True, index_dtype: Any = "int64", out: Any = None,
         stream: Any = None, **plan: Any) -> Request[tuple[Array, Array]]:
    """The ``k`` largest (or smallest) elements of each row, and their indices: two arrays, (..., k). ``x``: (..., columns) of f32,
    f16, bf16, i32 or u32; ``k``: 1 to 2048. Of equal elements those of lower index come first.

    >>> import clusterjit, numpy
    >>> clusterjit.topk(numpy.array([[5, 1, 4, 3]], numpy.float32), 2)
    (array([[5., 4.]], dtype=float32), array([[0, 2]]))
    """
    return _topk(x, k, axis, (*x.shape[:-1], k), index_dtype, out, {"smallest": not largest, "unsorted": not sorted, **plan})


@Function
def kthvalue(x: Array, k: int, *, axis: int = -1, largest: bool = False, index_dtype: Any = "int64", out: Any = None,
             stream: Any = None, **plan: Any) -> Request[tuple[Array, Array]]:
    """The ``k``-th smallest (or largest) element of each row, and its index: two arrays, (...). ``x`` as of :func:`topk`.

    >>> import clusterjit, numpy
    >>> clusterjit.kthvalue(numpy.array([[5, 1, 4, 3]], numpy.float32), 2)
    (array([3.], dtype=float32), array([3]))
    """
    return _topk(x, k, axis, x.shape[:-1], index_dtype, out, {"smallest": not largest, "kth": True, **plan})


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
    if not x.contiguous:
        raise x.refuse(f"strides {x.strides} in elements, of shape {x.shape}, are not those of a contiguous array", COPY)
    if accumulate and not out:
        raise InvalidArgument("out: None, but accumulate needs the counts to add to", hint="give them: out=counts")
    counts = dtype_name(dtype)
    lower, upper = (0, 0) if range is None else range
    fields = {"n": math.prod(x.shape), "bins": bins, "dtype": x.dtype, "counts": counts, "lower": lower, "upper": upper, **plan}
    return Request("histogram", fields, {"x": x}, {"counts": Out((bins,), counts, out[0] if out else None)},
                   run="add" if accumulate else "run")


# ---- stencil, exchange

@Function
def stencil(x: Array, weights: Optional[tuple[float, ...]] = None, *, dim: Optional[int] = None, steps: int = 1, radius: int = 1,
            shape: str = "star", boundary: str = "zero", out: Optional[Array] = None, stream: Any = None,
            **plan: Any) -> Request[Array]:
    """Every point of a grid becomes a weighted sum of its neighbours, ``steps`` times. ``x``: (..., y, x), contiguous, of f32 or
    f64, whose last ``dim`` axes (default: all, 3 at most) are the grid, the others a batch. ``weights``: as they lie in memory,
    2 dim radius + 1 of a "star", (2 radius + 1)**dim of a "box"; ``boundary``: "zero", "clamp" or "periodic".

    >>> import clusterjit, numpy
    >>> clusterjit.stencil(numpy.array([0, 4, 0, 0], numpy.float32), [0.25, 0.5, 0.25])
    array([1., 2., 1., 0.], dtype=float32)
    """
    dim = builtins.min(len(x.shape), 3) if dim is None else dim
    if not 1 <= dim <= 3 or dim > len(x.shape):
        raise InvalidArgument(f"dim: {dim} is outside 1 to {builtins.min(len(x.shape), 3)}")
    if not x.contiguous:
        raise x.refuse(f"strides {x.strides} in elements, of shape {x.shape}, are not those of a contiguous array", COPY)
    extents = x.shape[len(x.shape) - dim:]
    fields = {"dim": dim, "extent": list(reversed(extents)), "batch": math.prod(x.shape[:len(x.shape) - dim]), "steps": steps,
              "radius": radius, "shape": shape, "boundary": boundary, "weights": weights,
              "weight_count": len(weights) if weights else 0, "dtype": x.dtype, **plan}
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
    if len(x.shape) < 2 or not x.contiguous:
        raise x.refuse(f"its shape is {x.shape}, with strides {x.strides}; it must be (..., size, n), contiguous", COPY)
    size, n = x.shape[-2:]
    given = out[0] if out else None
    fields = {"pattern": pattern, "n": n, "size": size, "groups": math.prod(x.shape[:-2]), "dtype": x.dtype, "shift": shift,
              "halo": halo, "align": align(x, given), **plan}
    if pattern != "halo":
        del fields["halo"]
    if pattern != "ring":
        del fields["shift"]
    after = (*x.shape[:-1], n + 2 * halo * (pattern == "halo"))
    return Request("exchange", fields, {"x": x}, {"out": Out(after, x.dtype, given)})


# ---- matrix products

_OUT = {"tf32": "f32", "e4m3": "bf16", "e5m2": "bf16"}
_8_BITS = ("e4m3", "e5m2")


class Matrix:
    """How a matrix of a batch lies: by rows or columns, from one line to the next, from one product's matrix to the next one's."""

    def __init__(self, view: View) -> None:
        if len(view.shape) < 2:
            raise view.refuse(f"its shape is {view.shape}; it must be (..., rows, columns)")
        (self.rows, self.columns), (down, along) = view.shape[-2:], view.strides[-2:]
        by_rows = along == 1 and (down >= self.columns or self.rows == 1) or self.columns == 1 and down == 1 and self.rows > 1
        if not by_rows and not (down == 1 and (along >= self.rows or self.columns == 1)):
            raise view.refuse(f"strides {view.strides} in elements, of shape {view.shape}: neither rows nor columns are contiguous", COPY)
        self.order = "row" if by_rows else "column"
        self.line = 0 if (self.rows if by_rows else self.columns) == 1 else down if by_rows else along
        self.batch = math.prod(view.shape[:-2])
        outer = [(n, s) for n, s in zip(view.shape[:-2], view.strides[:-2]) if n != 1]
        if any(s != n * step for (_, s), (n, step) in zip(outer, outer[1:])):
            raise view.refuse(f"strides {view.strides} in elements, of shape {view.shape}: the matrices are not at equal distances", COPY)
        self.stride = outer[-1][1] if outer else 0


def _matmul(a: View, b: View, c: Optional[View], bias: Optional[View], scales: dict[str, Optional[View]], alpha: float, beta: float,
            activation: Optional[str], dtype: Any, out: Any, plan: dict[str, Any]) -> Request[Array]:
    of_dtype(a, "f16", "bf16", "f32", "e4m3", "e5m2")
    left, right = Matrix(a), Matrix(b)
    if left.columns != right.rows:
        raise b.refuse(f"its shape is {b.shape}; {a.name} is {a.shape}, so it needs {left.columns} rows")
    if a.dtype not in _8_BITS or b.dtype not in _8_BITS:
        same_dtype(a, b)
    kind = "tf32" if a.dtype == "f32" else a.dtype
    result = dtype_name(dtype) if dtype is not None else _OUT.get(kind, kind)
    if a.shape[:-2] and b.shape[:-2] and a.shape[:-2] != b.shape[:-2]:
        raise b.refuse(f"its shape is {b.shape}; the axes before its last two must be those of {a.name}, {a.shape}, or none")
    shape = (*(a.shape[:-2] or b.shape[:-2]), left.rows, right.columns)
    given = out[0] if out else None
    target = Matrix(given) if given is not None and given.shape == shape else None
    order = target.order if target else "row"
    addend, summed = (Matrix(c), "bf16" if result in _8_BITS else result) if c is not None else (None, "")
    batch = math.prod(shape[:-2])
    fields = {"m": left.rows, "n": right.columns, "k": left.columns, "dtype": kind, "dtype_b": "tf32" if kind == "tf32" else b.dtype,
              "a": left.order, "b": right.order, "d": order, "lda": left.line, "ldb": right.line, "out": result,
              "ldd": target.line if target else 0, "activation": _activation(activation), "batch": batch,
              "stride_a": left.stride, "stride_b": right.stride,
              "stride_d": (target.stride if target else left.rows * right.columns) if batch > 1 else 0, **plan}
    if addend and c:
        of_dtype(c, summed)
        same_shape(a, {"c": c}, shape)
        if addend.order != order and left.rows > 1 and right.columns > 1:
            raise c.refuse(f"it lies by {addend.order}s; the result by {order}s", COPY)
        fields.update(adds_c=True, ldc=addend.line, stride_c=addend.stride)
    if bias is not None:
        of_dtype(bias, "bf16" if result in _8_BITS else result)
        same_shape(a, {"bias": bias}, (right.columns,))
        fields["bias"] = "n"
    for view in scales.values():
        of_dtype(view, "f32")
        if view is not None and math.prod(view.shape) != 1:
            raise view.refuse(f"its shape is {view.shape}; it must be one number")
    return Request("gemm", fields, {"a": a, "b": b, "c": c, "bias": bias, **scales}, {"d": Out(shape, result, given, True)},
                   values={"alpha": alpha, "beta": beta})


def _activation(name: Optional[str]) -> str:
    if name not in (None, "relu", "gelu", "silu"):
        raise InvalidArgument(f"activation: {name!r} is none of relu, gelu, silu, None")
    return {None: "activation_none"}.get(name, name)  # type: ignore[return-value, arg-type]


@Function
def matmul(a: Array, b: Array, *, c: Optional[Array] = None, bias: Optional[Array] = None, alpha: float = 1.0, beta: float = 1.0,
           activation: Optional[str] = None, dtype: Any = None, scale_a: Optional[Array] = None, scale_b: Optional[Array] = None,
           scale_d: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """``activation(alpha * a @ b + beta * c + bias)`` on tensor cores, with sums in f32. ``a``: (..., m, k), ``b``: (..., k, n), of
    f16, bf16, f32 (multiplied as tf32), float8_e4m3fn or float8_e5m2; ``c`` and the result: (..., m, n); ``bias``: (n,);
    ``activation``: "relu", "gelu" (tanh), "silu". Rows or columns of each are contiguous (a.T is taken as it is), lines begin at
    multiples of 16 bytes. Of f32 and float8 ``a`` lies by rows, ``b`` by columns. ``scale_a``, ``scale_b``, ``scale_d``: one f32 each,
    of float8.

    >>> import clusterjit, numpy
    >>> a, b = numpy.full((16, 32), 0.5, numpy.float16), numpy.ones((32, 8), numpy.float16)
    >>> float(clusterjit.matmul(a, b)[0, 0])
    16.0
    """
    return _matmul(a, b, c, bias, {"scale_a": scale_a, "scale_b": scale_b, "scale_d": scale_d}, alpha, beta, activation, dtype, out, plan)


@Function
def linear(x: Array, weight: Array, bias: Optional[Array] = None, *, activation: Optional[str] = None, dtype: Any = None,
           out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """``activation(x @ weight.T + bias)``. ``x``: (..., k), ``weight``: (n, k), ``bias``: (n,), the result: (..., n). Types and
    activations as of :func:`matmul`.

    >>> import clusterjit, numpy
    >>> x, weight = numpy.ones((4, 32), numpy.float16), numpy.ones((8, 32), numpy.float16)
    >>> float(clusterjit.linear(x, -weight, activation="relu")[0, 0])
    0.0
    """
    if not x.shape or len(weight.shape) != 2:
        raise weight.refuse(f"its shape is {weight.shape}, and that of x {x.shape}; it must be (n, k), and x (..., k)")
    rows, shape = math.prod(x.shape[:-1]), (*x.shape[:-1], weight.shape[0])
    flat = x._replace(shape=(rows, x.shape[-1]), strides=(row_stride(x), 1))
    given = out[0] if out else None
    if given is not None and given.shape == shape:
        given = given._replace(shape=(rows, shape[-1]), strides=(row_stride(given), 1))
    request = _matmul(flat, weight.transposed(), None, bias, {}, 1.0, 0.0, activation, dtype, given and (given,), plan)
    return request.instead({"a": x, "b": weight}, Out(shape, request.writes["d"].dtype, out[0] if out else None, True))
