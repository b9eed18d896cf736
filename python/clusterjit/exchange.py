# SPDX-License-Identifier: Apache-2.0
"""How ranks in several processes tell each other where their memory lies: a function of Python's as the library's exchange."""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

from ._library import ffi, lib, sized
from .errors import InvalidArgument

Gather = Callable[[bytes], Sequence[bytes]]  # what this rank gives, to what all give, in the order of ranks


class Exchange:
    """A cj_gpus_exchange over a function of Python's, as ``structure``. What that function raises is in ``raised``."""

    def __init__(self, rank: int, size: int, gather: Gather) -> None:
        self.size, self.gather = size, gather
        self.raised: Optional[BaseException] = None
        kind = dict(ffi.typeof("cj_gpus_exchange").fields)["all_gather"].type
        self._function = ffi.callback(kind, self._all_gather, error=lib.CJ_DRIVER)
        self.structure = sized("cj_gpus_exchange", {"rank": rank, "size": size, "all_gather": self._function})

    def _all_gather(self, _: Any, mine: Any, everything: Any, count: int, error: Any) -> int:
        try:
            parts = [bytes(part) for part in self.gather(bytes(ffi.buffer(mine, count)))]
            if [len(part) for part in parts] != [count] * self.size:
                raise InvalidArgument.of("gather", [len(part) for part in parts], f"bytes, not {count} of each of {self.size} ranks", what="it gave")
            ffi.memmove(everything, b"".join(parts), count * self.size)
            return 0
        except BaseException as caught:  # it goes on in the caller, after the library's frames
            self.raised = caught
            if error:
                message = str(caught).encode()[:ffi.sizeof(error.message) - 1] + b"\0"
                ffi.memmove(error.message, message, len(message))
                error.status = lib.CJ_DRIVER
            return int(lib.CJ_DRIVER)
