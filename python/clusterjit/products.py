# SPDX-License-Identifier: Apache-2.0
"""Matrix products on tensor cores."""
from __future__ import annotations

import math
from typing import Any, Optional

from .arrays import Array, View, dtype_name
from .call import Function
from .errors import InvalidArgument
from .request import Out, Request
from .shapes import COPY, contiguous_of, last_axis, of_dtype, row_stride, same_dtype, same_shape

_OUT = {"tf32": "f32", "e4m3": "bf16", "e5m2": "bf16", "i8": "i32", "u8": "i32"}
_MIXED = ({"e4m3", "e5m2"}, {"i8", "u8"})
_EIGHT_BITS = ("e4m3", "e5m2", "i8", "u8")
_ALONG_K = ("f32", *_EIGHT_BITS)  # of which the elements of K must follow each other


class Matrix:
    """How a matrix of a batch lies: by rows or columns, from one line to the next, from one product's matrix to the next one's. One of a
    single row or column may lie either way: the one that is ``wanted``."""

    def __init__(self, view: View, wanted: str = "row") -> None:
        if len(view.shape) < 2:
            raise view.refuse_shape("it must be (..., rows, columns)")
        (self.rows, self.columns), (down, along) = view.shape[-2:], view.strides[-2:]
        by_rows = (along == 1 or self.columns == 1) and (down >= self.columns or self.rows == 1)
        by_columns = (down == 1 or self.rows == 1) and (along >= self.rows or self.columns == 1)
        if not by_rows and not by_columns:
            raise view.refuse_strides("have neither contiguous rows nor contiguous columns")
        by_rows = by_rows and (wanted == "row" or not by_columns)
        self.order = "row" if by_rows else "column"
        self.line = 0 if (self.rows if by_rows else self.columns) == 1 else down if by_rows else along
        self.batch = math.prod(view.shape[:-2])
        outer = [(n, s) for n, s in zip(view.shape[:-2], view.strides[:-2]) if n != 1]
        if any(s != n * step for (_, s), (n, step) in zip(outer, outer[1:])):
            raise view.refuse_strides("are not those of matrices at equal distances")
        self.stride = outer[-1][1] if outer else 0
        lines, size = (self.rows, self.columns) if by_rows else (self.columns, self.rows)
        self.apart = self.batch == 1 or self.stride >= (lines - 1) * self.line + size  # whether each begins after the end of the one before


def _along_k(x: View, order: str, wanted: str, copy: str) -> None:
    if order != wanted:
        raise x.refuse("it lies by", f"{order}s", f"; of {x.dtype} it must lie by {wanted}s", f"copy it: numpy.{copy}({x.name})")


def _result_of(kind: str, dtype: Any) -> str:
    """The result's type, of matrices of this one."""
    result = dtype_name(dtype) if dtype is not None else _OUT.get(kind, kind)
    if result == "f64" and kind != "f64":
        raise InvalidArgument.of("dtype", result, f"is the result of f64 alone; sums of {kind} have no more than 32 bits", "convert a and b, or the result")
    return result


def _check_scales(scales: dict[str, Optional[View]], kind: str, result: str) -> None:
    for name, view in scales.items():
        of_dtype(view, "f32")
        if view is not None and math.prod(view.shape) != 1:
            raise view.refuse_shape("it must be one number")
        scaled = result if name == "scale_d" else kind
        if view is not None and (scaled not in _EIGHT_BITS or result == "i32"):
            raise InvalidArgument.of(name, None, f"a product of {kind} to {result} does not take it: types of 8 bits have scales", "leave it out, or give alpha=")


def _matmul(a: View, b: View, c: Optional[View], bias: Optional[View], scales: dict[str, Optional[View]], alpha: float, beta: float,
            activation: Optional[str], dtype: Any, out: Any) -> Request[Array]:
    of_dtype(a, "f16", "bf16", "f32", "f64", "e4m3", "e5m2", "i8", "u8")
    left, right = Matrix(a), Matrix(b, "column" if a.dtype in _ALONG_K else "row")
    if left.columns != right.rows:
        raise b.refuse_shape(f"{a.name} is {a.shape}, so it needs {left.columns} row{'s' * (left.columns > 1)}")
    if not any({a.dtype, b.dtype} <= together for together in _MIXED):
        same_dtype(a, b)
    if a.dtype in _ALONG_K:
        _along_k(a, left.order, "row", "ascontiguousarray")
        _along_k(b, right.order, "column", "asfortranarray")
    kind = "tf32" if a.dtype == "f32" else a.dtype
    result = _result_of(kind, dtype)
    if a.shape[:-2] and b.shape[:-2] and a.shape[:-2] != b.shape[:-2]:
        raise b.refuse_shape(f"the axes before its last two must be those of {a.name}, {a.shape}, or none")
    shape = (*(a.shape[:-2] or b.shape[:-2]), left.rows, right.columns)
    given = out[0] if out else None
    target = Matrix(given) if given is not None and given.shape == shape else None
    if given is not None and target and not target.apart:
        raise given.refuse_strides("are not those of matrices one after the other")
    order = target.order if target else "row"
    added = "bf16" if result in ("e4m3", "e5m2", "i8") else result  # the type of C and of the bias
    addend = Matrix(c) if c is not None else None
    batch = math.prod(shape[:-2])
    if batch > 1 and not left.stride and not right.stride:
        raise b.refuse_strides(f"are those of one matrix, as {a.name}'s are: all {batch} products would be the same")
    fields = {"m": left.rows, "n": right.columns, "k": left.columns, "dtype": kind, "dtype_b": "tf32" if kind == "tf32" else b.dtype,
              "a": left.order, "b": right.order, "d": order, "lda": left.line, "ldb": right.line, "out": result,
              "ldd": target.line if target else 0, "activation": _activation(activation), "batch": batch,
              "stride_a": left.stride, "stride_b": right.stride,
              "stride_d": (target.stride if target else left.rows * right.columns) if batch > 1 else 0,
              "align_a": a.align, "align_b": b.align, "align_d": given.align if given is not None else 0}
    if addend and c:
        of_dtype(c, added)
        same_shape(a, {"c": c}, shape)
        if addend.order != order and left.rows > 1 and right.columns > 1:
            raise c.refuse("it lies by", f"{addend.order}s", f"; the result by {order}s", COPY)
    if addend and c and beta != 0:  # with beta 0 BLAS reads no C, whose NaN would stay
        fields.update(adds_c=True, ldc=addend.line, stride_c=addend.stride, align_c=c.align)
    if bias is not None:
        of_dtype(bias, added)
        contiguous_of(bias, (right.columns,))
        fields["bias"] = "n"
    _check_scales(scales, a.dtype, result)
    factors = {"alpha_f64": alpha, "beta_f64": beta} if kind == "f64" else {"alpha": alpha, "beta": beta}
    return Request("gemm", fields, {"a": a, "b": b, "c": c, "bias": bias, **scales}, {"d": Out(shape, result, given, True)},
                   values=factors, in_place="c")


def _activation(name: Optional[str]) -> str:
    if name not in (None, "relu", "gelu", "silu"):
        raise InvalidArgument.of("activation", name, "is none of relu, gelu, silu, None")
    return {None: "activation_none"}.get(name, name)  # type: ignore[return-value, arg-type]


@Function
def matmul(a: Array, b: Array, *, c: Optional[Array] = None, bias: Optional[Array] = None, alpha: float = 1.0, beta: float = 1.0,
           activation: Optional[str] = None, dtype: Any = None, scale_a: Optional[Array] = None, scale_b: Optional[Array] = None,
           scale_d: Optional[Array] = None, out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """``activation(alpha * a @ b + beta * c + bias)`` on tensor cores, with sums in f32. ``a``: (..., m, k), ``b``: (..., k, n), of
    f16, bf16, f32 (multiplied as tf32), f64 (sums, alpha and beta in f64), float8_e4m3fn or float8_e5m2, int8 or uint8 (sums in int32,
    exact); ``c`` and the result: (..., m, n); ``bias``: (n,); ``activation``: "relu", "gelu" (tanh), "silu"; of f64 "relu". Rows or
    columns of each are contiguous (a.T is taken as it is); those of all begin at multiples of 16 bytes, or the product takes longer. Of f32 and types of 8 bits ``a`` lies by rows, ``b`` by columns: numpy.asfortranarray(b), or the transpose of a
    matrix that lies by rows. ``dtype``: that of the result (default: that of a, of float8 bfloat16, of int8 and uint8 int32: the
    sums as they are, without alpha, c, bias, activation and scales). ``scale_a``, ``scale_b``, ``scale_d``: one f32 each, of types of 8 bits; a result
    of int8 is rounded, and what is too large becomes 127 or -128. With ``beta=0`` ``c`` is not read, as in BLAS: its NaN do not
    reach the result.

    >>> import clusterjit, numpy
    >>> a, b = numpy.full((16, 32), 0.5, numpy.float16), numpy.ones((32, 8), numpy.float16)
    >>> float(clusterjit.matmul(a, b)[0, 0])
    16.0
    >>> bytes_of = numpy.full((16, 32), -3, numpy.int8)
    >>> int(clusterjit.matmul(bytes_of, bytes_of.T)[0, 0])
    288
    """
    return _matmul(a, b, c, bias, {"scale_a": scale_a, "scale_b": scale_b, "scale_d": scale_d}, alpha, beta, activation, dtype, out)


@Function
def linear(x: Array, weight: Array, bias: Optional[Array] = None, *, activation: Optional[str] = None, dtype: Any = None,
           out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """``activation(x @ weight.T + bias)``. ``x``: (..., k), ``weight``: (n, k), ``bias``: (n,), the result: (..., n). Types,
    ``dtype`` and activations as of :func:`matmul`.

    >>> import clusterjit, numpy
    >>> x, weight = numpy.ones((4, 32), numpy.float16), numpy.ones((8, 32), numpy.float16)
    >>> float(clusterjit.linear(x, -weight, activation="relu")[0, 0])
    0.0
    """
    last_axis(x, -1)
    if len(weight.shape) != 2:
        raise weight.refuse_shape(f"that of x is {x.shape}; it must be (n, k), and x (..., k)")
    if weight.shape[1] != x.shape[-1]:
        raise weight.refuse_shape(f"x is {x.shape}, so it must be (n, {x.shape[-1]})")
    rows, shape = math.prod(x.shape[:-1]), (*x.shape[:-1], weight.shape[0])
    flat = x._replace(shape=(rows, x.shape[-1]), strides=(row_stride(x), 1))
    given = out[0] if out else None
    if given is not None and given.shape == shape:
        given = given._replace(shape=(rows, shape[-1]), strides=(row_stride(given), 1))
    request = _matmul(flat, weight.transposed(), None, bias, {}, 1.0, 0.0, activation, dtype, given and (given,))
    return request.instead({"a": x, "b": weight}, Out(shape, request.writes["d"].dtype, out[0] if out else None, True))
