# SPDX-License-Identifier: Apache-2.0
"""Softmax, norms and cross-entropy along the rows of a matrix, and their gradients."""
from __future__ import annotations

import builtins
import math
from typing import Any, Optional

from .arrays import Array, Shape, View, dtype_name, size_of
from .call import Function
from .errors import InvalidArgument, UnsupportedType
from .request import Out, Request
from .shapes import COPY, contiguous_of, last_axis, of_dtype, positive, row_stride, same_dtype, same_shape

def _least_aligned(*views: Optional[View]) -> View:
    return builtins.min((view for view in views if view is not None), key=lambda view: view.align)


class Rows:
    """What the calls on rows of a matrix share: cj_rows of clusterjit/rows.h, and the results of its shape."""

    def __init__(self, x: View, axis: int, dtype: Any, out: Any, read: tuple[Optional[View], ...] = (),
                 columns: tuple[Optional[View], ...] = ()) -> None:
        last_axis(x, axis)
        self.x, self.given = x, list(out or ())
        self.dtype = x.dtype if dtype is None else dtype_name(dtype)
        of_dtype(x, "f32", "f16", "bf16")
        if self.dtype not in ("f32", "f16", "bf16"):
            raise UnsupportedType.of("dtype", self.dtype, "is none of f32, f16, bf16")
        same_dtype(x, *read, *columns)
        self.columns, self.rows = x.shape[-1], math.prod(x.shape[:-1])
        self.stride = row_stride(x)
        for y in read:
            if y is not None and row_stride(y) != self.stride and y.shape[:-1] != (1,) * (len(y.shape) - 1):
                raise y.refuse("its rows are", row_stride(y), f"elements apart; those of {x.name} are {self.stride}", COPY)
        for y in columns:
            contiguous_of(y, (self.columns,))
        self.least = _least_aligned(x, *read, *columns)

    def take(self, shape: Optional[Shape] = None, dtype: str = "", matrix: bool = False) -> Out:
        """The next result: of x's shape and the rows' dtype, unless it is said."""
        given = self.given.pop(0) if self.given else None
        if given is not None and (matrix or not dtype):
            self.least = _least_aligned(self.least, given)
        return Out(self.x.shape if shape is None else shape, dtype or self.dtype, given, matrix or shape is None)

    def each(self, dtype: str = "f32") -> Out:
        """A result with one value for each row."""
        return self.take(self.x.shape[:-1], dtype)

    def shape(self, writes: dict[str, Out]) -> dict[str, Any]:
        strides = {row_stride(out.given) for out in writes.values() if out.given is not None and out.strided}
        if len(strides) > 1:
            raise InvalidArgument.of("out", sorted(strides), "elements apart; all results need the same", "give contiguous ones", what="rows are")
        wider = builtins.max(self.x.dtype, self.dtype, key=size_of)
        if self.least.align < size_of(wider):
            raise self.least.refuse("its address is a multiple of", self.least.align, f"bytes alone; elements of {wider} need {size_of(wider)}", "copy it: x.copy()")
        out = "same" if self.dtype == self.x.dtype else self.dtype
        return {"rows": self.rows, "columns": self.columns, "dtype": self.x.dtype, "out": out, "stride": self.stride,
                "out_stride": strides.pop() if strides else 0, "align": self.least.align}


def _softmax(x: View, axis: int, log: bool, scale: float, mask: Optional[View], dtype: Any, out: Any) -> Request[Array]:
    if mask is not None and mask.shape[-1:] != x.shape[-1:]:
        raise mask.refuse_shape(f"its last axis must be that of x, {x.shape}")
    rows = Rows(x, axis, dtype, out, (mask,))
    writes = {"y": rows.take()}
    fields = {"shape": rows.shape(writes), "log": log, "scale": positive("scale", scale), "mask": mask is not None,
              "mask_rows": math.prod(mask.shape[:-1]) if mask is not None else 0}
    return Request("softmax", fields, {"x": x, "mask": mask}, writes)


def _softmax_backward(dy: View, y: View, axis: int, log: bool, scale: float, dtype: Any, out: Any) -> Request[Array]:
    same_shape(y, {"dy": dy})
    rows = Rows(y, axis, dtype, out, (dy,))
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
    """The gradient of x, of ``y = softmax(x)``: ``scale * (dy - sum(dy * y)) * y``. Both are (..., columns), of f32, f16 or bf16, and the
    result is like y, of ``dtype`` if it is given. ``axis``: the last one.

    >>> import clusterjit, numpy
    >>> y = numpy.array([[0.25, 0.75]], numpy.float32)
    >>> clusterjit.softmax_backward(numpy.array([[1, 0]], numpy.float32), y)
    array([[ 0.1875, -0.1875]], dtype=float32)
    """
    return _softmax_backward(dy, y, axis, False, scale, dtype, out)


@Function
def log_softmax_backward(dy: Array, y: Array, *, axis: int = -1, scale: float = 1.0, dtype: Any = None,
                         out: Optional[Array] = None, stream: Any = None) -> Request[Array]:
    """The gradient of x, of ``y = log_softmax(x)``: ``scale * (dy - sum(dy) * exp(y))``. Parameters as of :func:`softmax_backward`.

    >>> import clusterjit, numpy
    >>> y = numpy.log(numpy.array([[0.25, 0.75]], numpy.float32))
    >>> clusterjit.log_softmax_backward(numpy.array([[1, 0]], numpy.float32), y).round(4)
    array([[ 0.75, -0.75]], dtype=float32)
    """
    return _softmax_backward(dy, y, axis, True, scale, dtype, out)


def _norm(kind: str, x: View, weight: Optional[View], bias: Optional[View], residual: Optional[View], eps: float, stats: bool,
          axis: int, dtype: Any, out: Any) -> Request[Any]:
    same_shape(x, {"residual": residual})
    rows = Rows(x, axis, dtype, out, (residual,), (weight, bias))
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
    same_shape(x, {"dy": dy})
    rows = Rows(x, axis, dtype, out, (dy,), (weight,))
    for view in stats.values():
        of_dtype(view, "f32")
        contiguous_of(view, x.shape[:-1])
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
    """The gradients of :func:`rms_norm`: dx, of x (of h, if there was a residual), then, as asked by ``weight_gradient`` and
    ``bias_gradient``, that of weight and of bias, (columns,).

    ``dy``, ``x`` (h, if there was a residual): (..., columns) of f32, f16 or bf16; ``rstd``: (...) of f32, as ``stats=True`` gives it;
    ``weight``: (columns,), of x's dtype. The gradients have ``dtype`` or x's. ``axis``: the last one.

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
    """The gradients of :func:`layer_norm`: dx, then, as asked, that of weight and of bias. ``mean``, ``rstd``: (...) of f32, as
    ``stats=True`` gives them; other parameters as of :func:`rms_norm_backward`.

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
    ``ignore_index`` has the loss 0, one with another label that is no class NaN. ``label_smoothing``, from 0 to 1: so much of the target is spread evenly over all classes.

    >>> import clusterjit, numpy
    >>> loss, lse = clusterjit.cross_entropy(numpy.zeros((1, 4), numpy.float32), numpy.array([2]))
    >>> loss.round(4)
    array([1.3863], dtype=float32)
    """
    rows = Rows(x, -1, dtype, out)
    of_dtype(labels, "i64", "i32")
    contiguous_of(labels, x.shape[:-1])
    writes = {"loss": rows.each(), "lse": rows.each()}
    if gradient:
        writes["dx"] = rows.take()
    fields = {"shape": rows.shape(writes), "label": labels.dtype, "has_ignore": 1, "ignore": ignore_index,
              "smoothing": label_smoothing, "gradient": gradient, "scale": positive("scale", scale)}
    return Request("crossentropy", fields, {"x": x, "label": labels}, writes)
