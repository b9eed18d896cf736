# SPDX-License-Identifier: Apache-2.0
"""What the functions ask of their arrays' shapes, strides and types."""
from __future__ import annotations

import builtins
import math
from typing import Any, Optional

from .arrays import NAMES, Shape, View
from .errors import InvalidArgument, UnsupportedType

_NOT_OF_NUMPY = ("bf16", "e4m3", "e5m2")
MOST_BLOCKS = 16  # of a cluster
COPY = "copy it: numpy.ascontiguousarray(x), x.contiguous()"

def row_stride(x: View) -> int:
    """Elements from row to row, where rows lie along the last axis, contiguous, and at equal distances from each other."""
    outer = [(n, s) for n, s in zip(x.shape[:-1], x.strides[:-1]) if n != 1]
    equal = all(s == n * step for (_, s), (n, step) in zip(outer, outer[1:]))
    if x.shape[-1] != 1 and x.strides[-1] != 1 or not equal:
        raise x.refuse_strides("are not those of contiguous rows at equal distances")
    if outer and outer[-1][1] == 0:  # of which the library would take rows one after the other
        raise x.refuse_strides("are those of one row that stands for several")
    if outer and 0 < outer[-1][1] < x.shape[-1]:
        raise x.refuse_strides("are those of rows that overlap")
    return outer[-1][1] if outer else x.shape[-1]


def contiguous(x: View) -> None:
    """Refuses an array whose elements do not lie one after the other."""
    if not x.contiguous:
        raise x.refuse_strides("are not those of a contiguous array")


def contiguous_of(x: Optional[View], shape: Shape) -> None:
    """Refuses an array of another shape, and one with gaps."""
    if x is None:
        return
    if x.shape != shape:
        raise x.refuse_shape(f"it must be {shape}, contiguous")
    contiguous(x)


def elements(x: View) -> int:
    """How many elements x has, which must lie one after the other."""
    contiguous(x)
    return math.prod(x.shape)


def blocks(x: View) -> tuple[int, int]:
    """size and n of x: (..., size, n), contiguous, of which each block of a cluster has a row."""
    if len(x.shape) < 2 or not x.contiguous:
        raise x.refuse_shape(f"with strides {x.strides}; it must be (..., size, n), contiguous", COPY)
    if x.shape[-2] > MOST_BLOCKS:
        raise x.refuse_shape(f"a cluster has a block for each of its {x.shape[-2]} rows, and {MOST_BLOCKS} at most", "make several clusters of fewer rows: x.reshape(clusters, size, n)")
    return x.shape[-2], x.shape[-1]


def all_elements(x: View, axis: Optional[int]) -> None:
    """Refuses an axis that is not all there is."""
    if axis is not None and not (len(x.shape) == 1 and axis in (-1, 0)):
        raise InvalidArgument.of("axis", axis, f"is one of {len(x.shape)}; the function takes all elements of x together",
                                 "leave it out; of rows there are topk(x, 1), the maxima, argmax(x, axis=-1), and cumsum(x)[..., -1], the sums")


def last_axis(x: View, axis: int) -> None:
    if not x.shape:
        raise x.refuse_shape("at least one axis is needed")
    if axis not in (-1, len(x.shape) - 1):
        raise InvalidArgument.of("axis", axis, f"is not the last one, {len(x.shape) - 1}", "move it there: numpy.moveaxis, and copy")


def same_shape(x: View, others: dict[str, Optional[View]], shape: Optional[Shape] = None) -> None:
    wanted = x.shape if shape is None else shape
    for y in others.values():
        if y is not None and y.shape != wanted:
            raise y.refuse_shape(f"{x.name} needs {wanted}")


def same_dtype(x: View, *others: Optional[View]) -> None:
    for y in others:
        if y is not None and y.dtype != x.dtype:
            raise y.refuse("its dtype is", y.dtype, f"; that of {x.name} is {x.dtype}", "convert one of them", UnsupportedType)


def of_dtype(x: Optional[View], *dtypes: str) -> None:
    if x is not None and x.dtype not in dtypes:
        numpys = next((dtype for dtype in dtypes if dtype not in _NOT_OF_NUMPY), None)
        hint = f"convert it: {x.name}.astype(numpy.{NAMES[numpys]}), " if numpys else "convert it: "
        raise x.refuse("its dtype is", x.dtype, f"; it must be {' or '.join(dtypes)}",
                       f"{hint}{x.name}.to(torch.{NAMES[numpys or dtypes[0]]})", UnsupportedType)


def positive(name: str, value: float) -> float:
    if not number(name, value) > 0:
        raise InvalidArgument.of(name, value, "is not above 0")
    return value


def at_least_1(name: str, value: int) -> int:
    """For fields of which the library takes 0 as "the default"."""
    if not number(name, value) >= 1:
        raise InvalidArgument.of(name, value, "is below 1", "leave it out for the default")
    return value


def number(name: str, value: Any) -> Any:
    if not hasattr(value, "__float__") or hasattr(value, "__len__") or isinstance(value, bool):
        raise InvalidArgument.of(name, value, "is no number", "give one")
    try:
        float(value)
    except OverflowError:
        raise InvalidArgument.of(name, value, "is beyond f64", "give a number of at most 1.8e308") from None
    return value


def numbers(name: str, values: Any) -> int:
    """How many numbers a tuple or a list has."""
    if not isinstance(values, (tuple, list)):
        raise InvalidArgument.of(name, values, "is no tuple or list of numbers")
    return len([number(name, value) for value in values])


def ends(range: Optional[tuple[float, float]]) -> tuple[float, float]:
    """The ends of a histogram's range; the library takes (0, 0) as the default, which None stands for here."""
    if range is None:
        return 0, 0
    if numbers("range", range) != 2 or not range[0] < range[1]:
        raise InvalidArgument.of("range", range, "is not two numbers, the second above the first", "leave it out for the default")
    if math.inf in (-range[0], range[1]):
        raise InvalidArgument.of("range", range, "is not finite: bins have equal widths", "leave it out for the default")
    return range


def align(*views: Optional[View]) -> int:
    return builtins.min(view.align for view in views if view is not None)


def segment_offsets(offsets: View) -> None:
    of_dtype(offsets, "i32", "i64")
    if len(offsets.shape) != 1 or offsets.shape[0] < 2:
        raise offsets.refuse_shape("it must be (segments + 1,), contiguous")
    contiguous(offsets)
