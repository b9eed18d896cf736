# SPDX-License-Identifier: Apache-2.0
"""Collectives of several GPUs: one process a GPU, from a process group of torch.distributed; or all of them in one process.

>>> import clusterjit.gpus, numpy
>>> gpus = clusterjit.gpus.Gpus.of(["cpu", "cpu", "cpu"])
>>> gpus.all_reduce([numpy.full(4, rank, numpy.float32) for rank in range(3)])[0]
array([3., 3., 3., 3.], dtype=float32)
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union

from ._library import call, ffi, lib, made, sized, text
from .arrays import READ, READERS, Array, View, address_of
from .devices import Device, device
from .errors import Closed, Error, InvalidArgument

Gather = Callable[[bytes], Sequence[bytes]]  # what this rank gives, to what all give, in the order of ranks
_REACH = ("none", "own", "peer", "ipc")
_COMBINE = {"sum": 0, "min": 1, "max": 2}


class Info(NamedTuple):
    """Who the ranks are, how the first of this process reaches each ("own", "peer", "ipc", "none"), and why some do not."""

    rank: int
    ranks: int
    reach: tuple[str, ...]
    unreached: str


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
                raise InvalidArgument(
                    f"the group gathered {[len(part) for part in parts]} bytes, not {count} of each of {self.size} ranks")
            ffi.memmove(everything, b"".join(parts), count * self.size)
            return 0
        except BaseException as caught:  # it goes on in the caller, after the library's frames
            self.raised = caught
            if error:
                message = str(caught).encode()[:ffi.sizeof(error.message) - 1] + b"\0"
                ffi.memmove(error.message, message, len(message))
                error.status = lib.CJ_DRIVER
            return int(lib.CJ_DRIVER)


class Gpus:
    """Several GPUs, of which this process has one or all: see :meth:`from_group`, :meth:`from_nccl`, :meth:`from_env` and
    :meth:`of`.

    Its calls are made by all ranks in the same order. ``close`` it on all ranks, after their work.
    """

    def __init__(self, handle: Any, devices: list[Device]) -> None:
        self.handle, self.devices = handle, devices

    @classmethod
    def from_group(cls, group: Any = None, on: Union[str, Device, None] = None, *, mail_bytes: int = 0, limit: int = 0,
                   distributed: Any = None) -> Gpus:
        """One process a GPU: the ranks of a process group of torch.distributed, the default one if it is None.

        ``on``: this rank's GPU, "gpu:1"; else torch's current one. The group carries handles alone, so it may be one of gloo.
        """
        if distributed is None or on is None:
            import torch
            import torch.distributed
            distributed = distributed or torch.distributed
        if on is None:
            on = f"gpu:{torch.cuda.current_device()}"
        size = distributed.get_world_size(group)

        def gather(mine: bytes) -> list[bytes]:
            parts: list[Any] = [None] * size
            distributed.all_gather_object(parts, mine, group=group)
            return parts

        return cls.from_exchange(distributed.get_rank(group), size, gather, on, mail_bytes=mail_bytes, limit=limit)

    @classmethod
    def from_exchange(cls, rank: int, size: int, gather: Gather, on: Union[str, Device], *, mail_bytes: int = 0,
                      limit: int = 0) -> Gpus:
        """One process a GPU, over any exchange of bytes: ``gather(mine)`` gives what all ranks gave, in the order of ranks."""
        own = on if isinstance(on, Device) else device(on)
        exchange = Exchange(rank, size, gather)
        options = sized("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit})
        try:
            return cls(made("cj_gpus *", lib.cj_gpus_create_rank, own.handle, exchange.structure, options), [own])
        except Error:
            if exchange.raised:
                raise exchange.raised from None
            raise

    @classmethod
    def from_nccl(cls, communicator: int, on: Union[str, Device], *, mail_bytes: int = 0, limit: int = 0, timeout_ms: int = 0) -> Gpus:
        """One process a GPU: the ranks of an ncclComm_t of that device, an address, which stays valid until ``close``. What GPUs do not
        reach, and what the mailboxes have no room for, goes by NCCL."""
        own = on if isinstance(on, Device) else device(on)
        options = sized("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit, "timeout_ms": timeout_ms})
        return cls(made("cj_gpus *", lib.cj_gpus_create_nccl, own.handle, ffi.cast("void *", communicator), options), [own])

    @classmethod
    def from_env(cls, on: Union[str, Device, None] = None, *, mail_bytes: int = 0, limit: int = 0, timeout_ms: int = 0) -> Gpus:
        """One process a GPU: the processes that torchrun, mpirun or srun has started, which meet over TCP."""
        rank, size, local = (ffi.new("uint32_t *") for _ in range(3))
        call(lib.cj_gpus_env, rank, size, local)
        own = on if isinstance(on, Device) else device(on or f"gpu:{local[0]}")
        options = sized("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit, "timeout_ms": timeout_ms})
        return cls(made("cj_gpus *", lib.cj_gpus_create_env, own.handle, options), [own])

    @classmethod
    def of(cls, devices: Sequence[Union[str, Device]], *, mail_bytes: int = 0, limit: int = 0) -> Gpus:
        """All of them in this process: rank r is ``devices[r]``. Several may be one device."""
        own = [one if isinstance(one, Device) else device(one) for one in devices]
        options = sized("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit})
        handles = ffi.new("cj_device *[]", [one.handle for one in own])
        return cls(made("cj_gpus *", lib.cj_gpus_create, handles, len(own), options), own)

    @property
    def info(self) -> Info:
        found = sized("cj_gpus_info")
        call(lib.cj_gpus_about, self._open(), ffi.NULL, found)
        reach = tuple(_REACH[found.reach[r]] for r in range(min(found.count, 8)))
        return Info(found.rank, found.count, reach, text(found.unreached))

    def all_reduce(self, x: Any, op: str = "sum", *, ordered: bool = False) -> Any:
        """The sum ("min", "max") of all ranks' x, to all. x is this rank's array, or a list of all ranks' of :meth:`of`."""
        return self._run(lib.CJ_GPUS_ALLREDUCE, x, lambda shape: shape, op, ordered=ordered)

    def reduce_scatter(self, x: Any, op: str = "sum", *, ordered: bool = False) -> Any:
        """Rank r gets the sum of the parts r of all ranks' x, along its first axis, which is as long as there are ranks."""
        return self._run(lib.CJ_GPUS_REDUCE_SCATTER, x, lambda shape: shape[1:], op, ordered=ordered)

    def all_gather(self, x: Any) -> Any:
        """What all ranks have, along a new first axis."""
        return self._run(lib.CJ_GPUS_ALL_GATHER, x, lambda shape: (self.info.ranks, *shape))

    def all_to_all(self, x: Any) -> Any:
        """Rank r gets x[r] of each rank."""
        return self._run(lib.CJ_GPUS_ALL_TO_ALL, x, lambda shape: shape)

    def broadcast(self, x: Any, root: int = 0) -> Any:
        """What rank `root` has."""
        return self._run(lib.CJ_GPUS_BROADCAST, x, lambda shape: shape, root=root)

    def check(self) -> None:
        """Raises what went wrong in calls whose streams were synchronized: it names a rank that did not come."""
        call(lib.cj_gpus_check, self._open())

    def close(self) -> None:
        lib.cj_gpus_destroy(self.handle)
        self.handle = ffi.NULL

    def __enter__(self) -> Gpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Any:
        if not self.handle:
            raise Closed("the Gpus were closed")
        return self.handle

    def _run(self, which: int, x: Any, shape_of: Callable[[tuple[int, ...]], tuple[int, ...]], op: str = "sum", root: int = 0,
             ordered: bool = False) -> Any:
        handle, own = self._open(), x if isinstance(x, (list, tuple)) else [x]
        if len(own) != len(self.devices):
            raise InvalidArgument(f"x: {len(own)} arrays are given, and this process has {len(self.devices)} ranks")
        if op not in _COMBINE:
            raise InvalidArgument(f"op: {op!r} is none of {', '.join(_COMBINE)}")
        views = [self._view(array, i) for i, array in enumerate(own)]
        if any(view.shape != views[0].shape or view.dtype != views[0].dtype for view in views):
            raise InvalidArgument("x: the ranks' arrays have different shapes or types")
        parts = which in (lib.CJ_GPUS_REDUCE_SCATTER, lib.CJ_GPUS_ALL_TO_ALL)
        if parts and views[0].shape[:1] != (self.info.ranks,):
            raise views[0].refuse(f"its shape is {views[0].shape}; its first axis must be {self.info.ranks}, as there are ranks")
        count = views[0].bytes // views[0].size // (self.info.ranks if parts else 1)
        desc = sized("cj_gpus_desc", {"op": which, "dtype": getattr(lib, "CJ_" + views[0].dtype.upper()), "count": count,
                                      "combine": _COMBINE[op], "root": root, "ordered": ordered})
        outs = [view.reader.allocator(view.like, shape_of(view.shape), view.dtype)() for view in views]
        streams = ffi.new("cj_stream[]", [ffi.cast("cj_stream", view.reader.current(view.device)()) for view in views])
        with self._addresses(own) as read, self._addresses(outs) as written:
            call(lib.cj_gpus_run, handle, desc, read, written, streams)
        return outs if isinstance(x, (list, tuple)) else outs[0]

    def _view(self, array: Array, index: int) -> View:
        view: View = READERS[type(array)].view(array, "x", index)
        if view.device != self.devices[index].ordinal:
            raise view.refuse(f"it is in {view.place}, and this rank is {self.devices[index]!r}", "move it there")
        if not view.contiguous:
            raise view.refuse("it is not contiguous", "copy it")
        return view

    @contextlib.contextmanager
    def _addresses(self, arrays: Sequence[Array]) -> Iterator[Any]:
        """Where kernels find the arrays: those in the host's memory are the CPU device's while they run."""
        found = ffi.new("cj_ptr[]", len(arrays))
        wrapped = []
        try:
            for i, array in enumerate(arrays):
                own, pointer = self.devices[i], address_of(READ[type(array)](array)[1])
                found[i] = pointer
                if own.kind == "cpu":
                    size = READERS[type(array)].view(array, "x", i).bytes
                    found[i] = made("cj_ptr", lib.cj_mem_wrap, own.handle, ffi.cast("void *", pointer), size)
                    wrapped.append((own, found[i]))
            yield found
        finally:
            for own, memory in wrapped:
                lib.cj_mem_free(own.handle, memory)
