# SPDX-License-Identifier: Apache-2.0
"""Sorts of rows, or of segments of one array, with a payload or without."""
from __future__ import annotations

import math
from typing import Any, Optional, Union

from .arrays import Array, View, dtype_name
from .call import Function
from .errors import InvalidArgument, UnsupportedType
from .request import Out, Request
from .shapes import COPY, at_least_1, last_axis, row_stride, same_shape, segment_offsets


def _sort(x: View, axis: int, offsets: Optional[View], longest: Optional[int], payload: Optional[View], writes: dict[str, Out],
          fields: dict[str, Any]) -> Request[Any]:
    last_axis(x, axis)
    same_shape(x, {"payload": payload})
    index = writes["indices"].dtype if "indices" in writes else "i64"
    if index not in ("i64", "u32"):
        raise UnsupportedType.of("index_dtype", index, "is none of i64, u32")
    fields = {"rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "dtype": x.dtype, "stride": row_stride(x),
              "index_u32": index == "u32", "values_only": "indices" not in writes, "indices_only": "values" not in writes, **fields}
    if offsets is not None:
        fields.update(_segments(x, offsets, longest, payload))
    elif longest is not None:
        raise InvalidArgument.of("longest", longest, "is given without offsets: rows are as long as x", "give the offsets, or leave it out")
    if payload is not None:
        fields.update(payload_bytes=payload.size, payload_stride=0 if offsets is not None else row_stride(payload))
    reads = {"x": x, "payload": payload, "offsets": offsets}
    if payload is not None:
        return Request("sort", fields, reads, writes, run="run_pairs")
    segments = ("offsets",) if offsets is not None else ()
    return Request("sort", fields, reads, writes, run="run_segmented" if segments else "run", run_arrays=("x", *segments, "values", "indices"))


def _segments(x: View, offsets: View, longest: Optional[int], payload: Optional[View]) -> dict[str, Any]:
    """The fields of a sort that say how x and the payload lie."""
    segment_offsets(offsets)
    for array in (x, payload):
        if array is not None and (len(array.shape) != 1 or not array.contiguous):
            raise array.refuse_shape(f"with strides {array.strides}; with offsets it must be one axis, contiguous", COPY)
    lengths = {"rows": offsets.shape[0] - 1, "columns": x.shape[0] if longest is None else at_least_1("longest", longest)}
    return {**lengths, "elements": _rounded(x.shape[0]), "stride": 0, "offsets": offsets.dtype}


def _rounded(elements: int) -> int:
    """At most an eighth more, so that arrays of about the same length share a kernel."""
    step = 1 << max(0, elements.bit_length() - 4)
    return -(-elements // step) * step


@Function
def sort(x: Array, *, axis: int = -1, descending: bool = False, offsets: Optional[Array] = None, longest: Optional[int] = None,
         payload: Optional[Array] = None, index_dtype: Any = "int64", return_values: bool = True, return_indices: bool = True, out: Any = None,
         stream: Any = None, **plan: Any) -> Request[Union[tuple[Array, ...], Array]]:
    """The elements of each row in order, and where they were: two arrays, like ``x``, which has any dtype of 8 to 64
    bits but e4m3 and e5m2; without ``return_indices`` the elements alone. ``descending``: the greatest first; ``index_dtype``: int64 or
    uint32. Equal elements keep their order; NaN is greater than
    any number, and -0 equals 0. ``payload``: an array of the shape of x and of any dtype, whose elements are put into the order of x's; it comes
    last, after the elements, without which ``return_values=False`` leaves it, and the indices. ``offsets``: (segments + 1,) of i32 or i64,
    ascending: x has one axis, and segment i of it, from offsets[i] to
    offsets[i + 1], is sorted by itself. ``longest``: elements that no segment exceeds (default: the length of x). Elements
    outside of the segments are not written.

    >>> import clusterjit, numpy
    >>> clusterjit.sort(numpy.array([[5, 1, 4]], numpy.float32))
    (array([[1., 4., 5.]], dtype=float32), array([[1, 2, 0]]))
    >>> clusterjit.sort(numpy.array([5, 1, 4, 3], numpy.float32), offsets=numpy.array([0, 3, 4]))
    (array([1., 4., 5., 3.], dtype=float32), array([1, 2, 0, 0]))
    >>> clusterjit.sort(numpy.array([5, 1, 4], numpy.int8), return_indices=False)
    array([1, 4, 5], dtype=int8)
    >>> clusterjit.sort(numpy.array([5, 1, 4], numpy.int8), payload=numpy.array([0.5, 0.1, 0.4]), return_indices=False)
    (array([1, 4, 5], dtype=int8), array([0.1, 0.4, 0.5]))
    """
    results = {"values": (x.shape, x.dtype)} if return_values else {}
    if return_indices:
        results["indices"] = (x.shape, dtype_name(index_dtype, "index_dtype"))
    if payload is not None:
        results["sorted_payload"] = (payload.shape, payload.dtype)
    if not results:
        raise InvalidArgument.of("return_values", return_values, "and return_indices are False, and there is no payload: nothing would be written",
                                 "leave one of them at True, or give a payload")
    writes = {name: Out(*result, given) for (name, result), given in zip(results.items(), [*(out or ()), None, None, None])}
    return _sort(x, axis, offsets, longest, payload, writes, {"descending": descending})


@Function
def argsort(x: Array, *, axis: int = -1, descending: bool = False, offsets: Optional[Array] = None, longest: Optional[int] = None,
            index_dtype: Any = "int64", out: Optional[Array] = None, stream: Any = None, **plan: Any) -> Request[Array]:
    """Where the elements of each row are in order: the indices of :func:`sort` alone, whose parameters are these and more.

    >>> import clusterjit, numpy
    >>> clusterjit.argsort(numpy.array([[5, 1, 4]], numpy.float32))
    array([[1, 2, 0]])
    """
    writes = {"indices": Out(x.shape, dtype_name(index_dtype, "index_dtype"), out[0] if out else None)}
    return _sort(x, axis, offsets, longest, None, writes, {"descending": descending})
