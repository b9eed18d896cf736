# SPDX-License-Identifier: Apache-2.0
"""Arrays in the host's memory that the CPU devices of a call of several ranks borrow."""
from __future__ import annotations

import itertools
from typing import Any, Collection, NamedTuple

from ._library import ffi, lib, made
from .errors import InvalidArgument


class Part(NamedTuple):
    """An array of a rank of this process, in the host's memory."""

    begin: int
    size: int
    name: str
    rank: int


def refuse_overlaps(parts: list[Part], writes: Collection[str]) -> None:
    """Nothing overlaps an array that is written, but that a rank may write its result to an array that it reads."""
    for a, b in itertools.combinations(parts, 2):
        written = (a.name in writes) + (b.name in writes)
        if not written or a.begin >= b.begin + b.size or b.begin >= a.begin + a.size:
            continue
        if written == 2 or (a.begin, a.size, a.rank) != (b.begin, b.size, b.rank):
            raise InvalidArgument.of(a.name, None, f"{a.size} bytes of rank {a.rank} at {a.begin:#x} overlap {b.name} of rank {b.rank}, {b.size} "
                                     f"bytes at {b.begin:#x}", "give arrays that do not overlap: copy one of them")


def wrap(handle: Any, begin: int, size: int) -> int:
    """Makes memory of the host's the CPU device's."""
    try:
        return int(made("cj_ptr", lib.cj_mem_wrap, handle, ffi.cast("void *", begin), size))
    except InvalidArgument as error:  # of memory that another call or `register` has given it
        raise InvalidArgument(error.message, hint="give arrays that do not overlap registered ones, nor those of a call that another thread makes; "
                              "or unregister those first") from None
