# SPDX-License-Identifier: Apache-2.0
"""Which arrays of a call overlap one that it writes.

A test of their spans, compiled for a plan, comes first: two subtractions a pair. Arrays whose spans overlap may still lie between each
other's rows, as columns of one matrix do; `refuse` tells these apart.
"""
from __future__ import annotations

import itertools
import math
from typing import Any, Callable, NamedTuple, Sequence

from .arrays import View
from .errors import InvalidArgument
from .shapes import COPY


class Place(NamedTuple):
    """An array's bytes: so many in a row, from which others are whole multiples of ``step`` bytes apart (0: there is one row)."""

    name: str
    size: int  # from the first byte to the last one
    row: int
    step: int
    layout: Any
    written: bool

    @classmethod
    def of(cls, view: View, name: str, written: bool) -> Place:
        row, step = view.size, 0
        for stride, n in sorted((stride * view.size, n) for stride, n in zip(view.strides, view.shape) if n != 1):
            if stride == row:
                row *= n
            else:
                step = math.gcd(step, stride)
        return cls(name, view.bytes, row, step, view.layout, written)


def between_rows(a: Place, b: Place, distance: int) -> bool:
    """Whether every row of `b`, which begins `distance` bytes after `a`, lies between rows of `a`."""
    step = math.gcd(a.step, b.step)
    return bool(step) and a.row <= distance % step and distance % step + b.row <= step


def spans_overlap(places: Sequence[Place], in_place: Callable[[Place, Place], bool]) -> str:
    """The condition that the span of an array that is written overlaps another one: from `address0` on `size0` bytes, and so on."""
    terms = []
    for (i, a), (j, b) in itertools.combinations(enumerate(places), 2):
        if a.written or b.written:
            same = f" and address{i} != address{j}" if in_place(a, b) else ""
            terms.append(f"-size{j} < address{j} - address{i} < size{i}{same}")
    return " or ".join(terms)


def refuse(places: Sequence[Place], in_place: Callable[[Place, Place], bool], addresses: Sequence[int]) -> None:
    """Refuses arrays of which one is written and shares bytes with another one."""
    for (a, begin), (b, other) in itertools.combinations(zip(places, addresses), 2):
        distance = other - begin
        apart = not -b.size < distance < a.size or between_rows(a, b, distance) or in_place(a, b) and not distance
        if (a.written or b.written) and not apart:
            raise InvalidArgument.of(b.name, None, f"its {b.size} bytes at {other:#x} overlap {a.name}, {a.size} bytes at {begin:#x}",
                                     f"give another array, or {COPY}")
