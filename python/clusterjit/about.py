# SPDX-License-Identifier: Apache-2.0
"""What the library tells of several GPUs."""
from __future__ import annotations

from typing import Any, NamedTuple

from ._library import call, ffi, lib, sized, text

_REACH = ("none", "own", "peer", "ipc")
_WAYS = ("mail", "pieces", "nccl", "memory", "multicast")


class Info(NamedTuple):
    """Which ranks there are, how the first of this process reaches each ("own", "peer", "ipc", "none"), and why some do not. ``local``: ranks of
    this process; ``nccl``: its version, 22809 of 2.28.9, 0 without it; ``mail_bytes``: of a set of mail on each device.

    Of :meth:`Gpus.about` also the ``way`` of a collective, how many ``launches`` it takes on each device, and ``why`` it goes so:

    - "mail": one launch, through mailboxes
    - "pieces": several launches, through mailboxes
    - "memory": one launch, straight into registered arrays
    - "multicast": one launch, by multimem instructions, where it is asked for
    - "nccl"
    """

    rank: int
    ranks: int
    reach: tuple[str, ...]
    unreached: str
    local: int
    nccl: int
    mail_bytes: int
    way: str = ""
    launches: int = 0
    why: str = ""


def about(handle: Any, desc: Any = ffi.NULL) -> Info:
    """What a cj_gpus is, and which way the collective goes that is described."""
    found = sized("cj_gpus_info")
    call(lib.cj_gpus_about, handle, desc, found)
    reach = tuple(_REACH[found.reach[r]] for r in range(min(found.count, 8)))
    info = Info(found.rank, found.count, reach, text(found.unreached), found.local, found.nccl, found.mail_bytes)
    return info._replace(way=_WAYS[found.way], launches=found.launches, why=text(found.why)) if desc else info
