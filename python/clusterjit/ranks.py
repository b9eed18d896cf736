# SPDX-License-Identifier: Apache-2.0
"""The arrays and the streams of this process's ranks: one of each, or a list of all ranks'."""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from ._library import Handle, dtype_number, ffi
from .arrays import Array, Shape, View, stream_handle
from .devices import Device
from .errors import InvalidArgument
from .request import Out, check_out, view_of
from .shapes import contiguous


class Ranks(Handle):
    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices

    def _of_ranks(self, name: str, array: Any) -> list[Any]:
        own = list(array) if isinstance(array, (list, tuple)) else [array]
        if len(own) != len(self.devices):
            raise InvalidArgument.of(name, len(own), f"arrays are given, and this process has {len(self.devices)} ranks")
        return own

    def _view(self, array: Array, index: int, name: str = "x") -> View:
        view = view_of(array, name, index)
        if view.device != self.devices[index].ordinal:
            raise view.refuse("it is in", view.place, f", and this rank is {self.devices[index]!r}", "move it there")
        contiguous(view)
        return view

    def _views(self, given: dict[str, Any]) -> dict[str, View]:
        """Of each array that is given, the first rank's, which all others are like."""
        found: dict[str, View] = {}
        for name, array in given.items():
            if array is None and found:  # the first one is always needed
                continue
            views = [self._view(own, i, name) for i, own in enumerate(self._of_ranks(name, array))]
            if any(view.shape != views[0].shape or view.dtype != views[0].dtype for view in views):
                raise InvalidArgument.of(name, None, "the ranks' arrays have different shapes or types")
            found[name] = views[0]
        return found

    @staticmethod
    def _same_shape(view: View, shape: Shape) -> None:
        if view.shape != shape:
            raise view.refuse_shape(f"it must be {shape}")

    @staticmethod
    def _rows(x: View) -> dict[str, Any]:
        if not x.shape:
            raise x.refuse_shape("at least one axis is needed")
        return {"rows": math.prod(x.shape[:-1]), "columns": x.shape[-1], "dtype": dtype_number(x.dtype)}

    def _streams(self, stream: Any, current: Sequence[Callable[[], int]]) -> Any:
        """The ranks' streams: what is given, of one rank or a list of all, or the current ones."""
        given = list(stream) if isinstance(stream, (list, tuple)) else [stream] * len(self.devices)
        if len(given) != len(self.devices):
            raise InvalidArgument.of("stream", len(given), f"streams are given, and this process has {len(self.devices)} ranks")
        handles = [now() if one is None else stream_handle(one) for one, now in zip(given, current)]
        return ffi.new("cj_stream[]", [ffi.cast("cj_stream", handle) for handle in handles])

    def _targets(self, out: Any, writes: dict[str, tuple[Shape, str]], views: list[View]) -> dict[str, list[Any]]:
        """The ranks' arrays of each result: new ones, or the caller's."""
        if out is None:
            return {name: [view.reader.allocator(view.like, shape, dtype)() for view in views] for name, (shape, dtype) in writes.items()}
        ranks = self._of_ranks("out", [out] if len(self.devices) == 1 and not isinstance(out, list) else out)
        rows = [tuple(one) if len(writes) > 1 and isinstance(one, (list, tuple)) else (one,) for one in ranks]
        for i, row in enumerate(rows):
            if len(row) != len(writes):
                raise InvalidArgument.of("out", len(row), f"arrays were given; this call writes {len(writes)}: {', '.join(writes)}",
                                         "give a tuple of as many")
            for array, (shape, dtype) in zip(row, writes.values()):
                check_out(self._view(array, i, "out"), Out(shape, dtype))
        return {name: [row[i] for row in rows] for i, name in enumerate(writes)}
