# SPDX-License-Identifier: Apache-2.0
"""Collectives of several GPUs: one process a GPU, from a process group of torch.distributed; or all of them in one process.

>>> import clusterjit.gpus, numpy
>>> gpus = clusterjit.gpus.Gpus.of(["cpu", "cpu", "cpu"])
>>> gpus.all_reduce([numpy.full(4, rank, numpy.float32) for rank in range(3)])[0]
array([3., 3., 3., 3.], dtype=float32)
"""
from __future__ import annotations

import contextlib
import math
from typing import Any, Callable, Collection, Iterator, NamedTuple, Optional, Sequence, Union

from ._library import call, dtype_number, ffi, lib, made, sized
from .about import Info as Info, about
from .arguments import check_scalar, described
from .arrays import READERS, Shape, View, address_of, dtype_name
from .borrowed import Part, refuse_overlaps, wrap
from .devices import Device, cpu_of_rank, device, merged
from .errors import Closed, Error, InvalidArgument, UnsupportedType
from .exchange import Exchange, Gather
from .families import ARITHMETIC
from .ranks import Ranks
from .request import Out, check_out
from .shapes import at_least_1, ends, of_dtype, positive, same_dtype

_OPS = {"all_reduce": lib.CJ_GPUS_ALLREDUCE, "reduce_scatter": lib.CJ_GPUS_REDUCE_SCATTER, "all_gather": lib.CJ_GPUS_ALL_GATHER,
        "all_to_all": lib.CJ_GPUS_ALL_TO_ALL, "broadcast": lib.CJ_GPUS_BROADCAST}
_COMBINE = {"sum": 0, "min": 1, "max": 2}
_NORMS = {"rms": lib.CJ_NORM_RMS, "layer": lib.CJ_NORM_LAYER}


class _Registered(NamedTuple):
    """Memory that is registered: where it is of each rank of this process, and the arrays whose memory it is."""

    addresses: Any
    size: int
    arrays: list[Any]


class Gpus(Ranks):
    """Several GPUs, of which this process has one or all: see :meth:`from_group`, :meth:`from_nccl`, :meth:`from_env` and
    :meth:`of`.

    Its calls are made by all ranks in the same order. ``close`` it on all ranks, after their work. Arrays are contiguous, of f32, f16 or
    bf16 (those of the collectives, of `topk` and of `reduce` also of i32 and u32; of `all_gather`, `all_to_all` and `broadcast` of any),
    each on the device of its rank. A call takes this
    rank's array and gives its result; of :meth:`of` it takes a list of all ranks' arrays and gives a list. Each takes ``out=``, of the
    form of its result, and ``stream=``, this rank's or a list of all ranks' (default: the arrays' current ones). There is no ``plan``: the
    library keeps the kernel of each description that a call was made with.

    >>> import clusterjit.gpus, numpy
    >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
    >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
    ...     parts, whole, best = gpus.reduce_scatter(x), gpus.all_gather(x), gpus.topk(x, 1)
    ...     summed, normed = gpus.norm(x, residual=[numpy.ones_like(x[0])] * 2)[0]
    >>> parts[1], whole[0].shape  # rank 1 has the second row of the sum
    (array([4., 8.], dtype=float32), (2, 2, 2))
    >>> best[0]  # rows of 4 columns, of which each rank has 2
    (array([[7.],
           [6.]], dtype=float32), array([[2],
           [3]]))
    >>> summed
    array([[9., 9.],
           [5., 9.]], dtype=float32)
    """

    def __init__(self, handle: Any, devices: list[Device], exchange: Optional[Exchange] = None) -> None:
        super().__init__(devices)
        self.handle = handle
        self._exchange = exchange  # the library calls it when memory is registered
        self._registered: dict[tuple[int, ...], _Registered] = {}

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
        options = described("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit})
        try:
            return cls(made("cj_gpus *", lib.cj_gpus_create_rank, own.handle, exchange.structure, options), [own], exchange)
        except Error:
            if exchange.raised:
                raise exchange.raised from None
            raise

    @classmethod
    def from_nccl(cls, communicator: int, on: Union[str, Device], *, mail_bytes: int = 0, limit: int = 0, timeout_ms: int = 0) -> Gpus:
        """One process a GPU: the ranks of an ncclComm_t of that device, an address, which stays valid until ``close``. What GPUs do not
        reach, and what the mailboxes have no room for, goes by NCCL."""
        own = on if isinstance(on, Device) else device(on)
        options = described("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit, "timeout_ms": timeout_ms})
        return cls(made("cj_gpus *", lib.cj_gpus_create_nccl, own.handle, ffi.cast("void *", communicator), options), [own])

    @classmethod
    def from_env(cls, on: Union[str, Device, None] = None, *, mail_bytes: int = 0, limit: int = 0, timeout_ms: int = 0) -> Gpus:
        """One process a GPU: the processes that torchrun, mpirun or srun has started, which find each other over TCP."""
        rank, size, local = (ffi.new("uint32_t *") for _ in range(3))
        call(lib.cj_gpus_env, rank, size, local)
        own = on if isinstance(on, Device) else device(on or f"gpu:{local[0]}")
        options = described("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit, "timeout_ms": timeout_ms})
        return cls(made("cj_gpus *", lib.cj_gpus_create_env, own.handle, options), [own])

    @classmethod
    def of(cls, devices: Sequence[Union[str, Device]], *, mail_bytes: int = 0, limit: int = 0, multicast: bool = False) -> Gpus:
        """All of them in this process: rank r is ``devices[r]``. Several may be one CPU device; a GPU is that of one rank,
        since both ranks' launches would be on torch's one stream. ``multicast``: registered arrays can be reduced by multimem instructions; for
        CPU devices, since NVLink multicast is not used on GPUs. Each "cpu" is then a device of its own.

        >>> import clusterjit.gpus, numpy
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.info.ranks
        2
        """
        own = [one if isinstance(one, Device) else cpu_of_rank(i) if multicast and one == "cpu" else device(one)
               for i, one in enumerate(devices)]
        options = described("cj_gpus_options", {"mail_bytes": mail_bytes, "limit": limit, "multicast": multicast})
        handles = ffi.new("cj_device *[]", [one.handle for one in own])
        return cls(made("cj_gpus *", lib.cj_gpus_create, handles, len(own), options), own)

    @property
    def info(self) -> Info:
        """Which ranks there are, and how each reaches the others.

        >>> import clusterjit.gpus, numpy
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.info.reach
        ('own', 'peer')
        """
        return about(self._open())

    def about(self, function: str, x: Any, op: str = "sum", *, root: int = 0, ordered: bool = False, registered: bool = False) -> Info:
        """The same, and which way :meth:`all_reduce` or another collective, named by ``function``, goes of such arrays. Nothing is launched.
        ``registered``: the call's arrays will be registered ones.

        >>> import clusterjit.gpus, numpy
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"], mail_bytes=1024) as gpus:
        ...     info = gpus.about("all_reduce", [numpy.ones(1000, numpy.float32)] * 2)
        ...     info.mail_bytes, info.way, info.launches
        (1024, 'pieces', 16)
        """
        if function not in _OPS:
            raise InvalidArgument.of("function", function, f"is none of {', '.join(_OPS)}")
        memory = lib.CJ_GPUS_MEMORY_REGISTERED if registered else lib.CJ_GPUS_MEMORY_ANY
        desc = self._describe(function, x, op, root, ordered, memory)[0]
        return about(self.handle, desc)

    def all_reduce(self, x: Any, op: str = "sum", *, ordered: bool = False, multicast: bool = False, out: Any = None, stream: Any = None) -> Any:
        """The sum ("min", "max") of all ranks' x, to all. x is this rank's array, or a list of all ranks' of :meth:`of`.

        ``out``, of this and of the others: what to write to, a new array if it is None; x itself where both have the same shape.
        ``multicast``: by multimem instructions, in the order of ranks; x and out are registered, and the Gpus were made with that option.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.all_reduce(x)[0]
        array([[8., 8.],
               [4., 8.]], dtype=float32)
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"], multicast=True) as gpus:
        ...     gpus.register(x)
        ...     gpus.about("all_reduce", x).way, gpus.all_reduce(x, multicast=True, out=x)[1]
        ('mail', array([[8., 8.],
               [4., 8.]], dtype=float32))
        """
        return self._run("all_reduce", x, lambda shape: shape, op, ordered=ordered, multicast=multicast, out=out, stream=stream)

    def reduce_scatter(self, x: Any, op: str = "sum", *, ordered: bool = False, multicast: bool = False, out: Any = None,
                       stream: Any = None) -> Any:
        """Rank r gets the sum of the parts r of all ranks' x, along its first axis, which is as long as there are ranks. ``multicast``: as of
        :meth:`all_reduce`; x is registered.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.reduce_scatter(x)[1]
        array([4., 8.], dtype=float32)
        """
        return self._run("reduce_scatter", x, lambda shape: shape[1:], op, ordered=ordered, multicast=multicast, out=out, stream=stream)

    def all_gather(self, x: Any, *, out: Any = None, stream: Any = None) -> Any:
        """What all ranks have, along a new first axis.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.all_gather(x)[0].shape
        (2, 2, 2)
        """
        return self._run("all_gather", x, lambda shape: (self.info.ranks, *shape), out=out, stream=stream)

    def all_to_all(self, x: Any, *, out: Any = None, stream: Any = None) -> Any:
        """Rank r gets x[r] of each rank.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.all_to_all(x)[0]
        array([[1., 5.],
               [7., 3.]], dtype=float32)
        """
        return self._run("all_to_all", x, lambda shape: shape, out=out, stream=stream)

    def broadcast(self, x: Any, root: int = 0, *, out: Any = None, stream: Any = None) -> Any:
        """What rank `root` has.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.broadcast(x, root=1)[0]
        array([[7., 3.],
               [0., 6.]], dtype=float32)
        """
        return self._run("broadcast", x, lambda shape: shape, root=root, out=out, stream=stream)

    # ---- memory that all ranks know

    def register(self, x: Any) -> None:
        """Tells all ranks where x lies, this rank's array or a list of all ranks' of :meth:`of`, until :meth:`unregister`: collectives
        whose arrays lie in it, at the same place on all ranks, copy straight into the peers' arrays where that is faster. All ranks
        register arrays of the same size in the same order. What is registered is kept alive.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.register(x)
        ...     gpus.all_reduce(x, out=x)[0]
        ...     gpus.unregister(x)
        array([[8., 8.],
               [4., 8.]], dtype=float32)
        """
        handle, own = self._open(), self._of_ranks("x", x)
        self._views({"x": x})
        views = [self._view(array, i) for i, array in enumerate(own)]
        addresses, size = ffi.new("cj_ptr[]", len(own)), views[0].bytes
        wrapped = []
        try:
            for i, array in enumerate(own):
                addresses[i] = address_of(array)
                if self.devices[i].kind == "cpu" and not self._is_registered(self.devices[i], addresses[i], size):
                    wrapped.append((self.devices[i].handle, wrap(self.devices[i].handle, addresses[i], size)))
            self._calling(lib.cj_gpus_register, handle, addresses, size)
        except BaseException:
            for own_handle, memory in wrapped:
                lib.cj_mem_free(own_handle, memory)
            raise
        self._registered[tuple(addresses)] = _Registered(addresses, size, own)

    def unregister(self, x: Any) -> None:
        """The end of that, on all ranks: waits for the work on this process's devices, and for the other ranks."""
        own = self._of_ranks("x", x)
        key = tuple(address_of(array) for array in own)
        addresses = ffi.new("cj_ptr[]", key)
        self._calling(lib.cj_gpus_unregister, self._open(), addresses)
        self._forget(key)

    def _forget(self, key: tuple[int, ...]) -> None:
        for own, memory in zip(self.devices, self._registered.pop(key).addresses):
            if own.kind == "cpu":
                lib.cj_mem_free(own.handle, memory)

    def _calling(self, function: Any, *arguments: Any) -> None:
        """A call that may call the group's exchange: what that raised is what the caller gets."""
        try:
            call(function, *arguments)
        except Error:
            if self._exchange and self._exchange.raised:
                raise self._exchange.raised from None
            raise

    def barrier(self, stream: Any = None) -> None:
        """What was done before it on one rank, on ``stream`` (or a list of all ranks' of :meth:`of`), is seen by what follows it on all.

        >>> import clusterjit.gpus, numpy
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.barrier()
        ...     gpus.check()
        """
        desc = sized("cj_gpus_desc", {"op": lib.CJ_GPUS_BARRIER})
        call(lib.cj_gpus_run, self._open(), desc, ffi.NULL, ffi.NULL, self._streams(stream, [int] * len(self.devices)))

    # ---- fused: of each array this rank's, or a list of all ranks' of `of`

    def norm(self, x: Any, *, residual: Any = None, weight: Any = None, bias: Any = None, kind: str = "rms",
             epsilon: float = 1e-5, out: Any = None, stream: Any = None) -> Any:
        """The sum of all ranks' x and of ``residual``, and its "rms" or "layer" norm along the last axis: a tuple (sum, norm) of x's
        shape and dtype, f32, f16 or bf16. ``residual``, ``weight`` and ``bias`` (columns) are the same on all ranks.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.norm(x, kind="rms")[0][1].round(3)
        array([[1.   , 1.   ],
               [0.632, 1.265]], dtype=float32)
        """
        if kind not in _NORMS:
            raise InvalidArgument.of("kind", kind, f"is none of {', '.join(_NORMS)}")
        given = {"x": x, "residual": residual, "weight": weight, "bias": bias}
        first = self._views(given)
        shape = first["x"].shape
        same_dtype(*first.values())
        for name, view in first.items():
            self._same_shape(view, shape if name in ("x", "residual") else shape[-1:])
        fields = {**self._rows(first["x"]), "kind": _NORMS[kind], "epsilon": positive("epsilon", epsilon),
                  **{name: name in first for name in ("residual", "weight", "bias")}}
        return self._fused(lib.cj_gpus_norm, "cj_gpus_norm_desc", fields, given,
                           {name: (shape, first["x"].dtype) for name in ("sum", "y")}, out, stream, "cj_gpus_norm_arrays")

    def cross_entropy(self, x: Any, label: Any, *, ignore: int = -100, smoothing: float = 0, gradient: bool = False,
                      scale: float = 1, out: Any = None, stream: Any = None) -> Any:
        """The loss of rows of logits whose columns are sharded, rank r's x (..., columns) being columns r * columns and so on, and the
        logarithm of the sum of e^x: a tuple (loss, lse) of f32, and with ``gradient`` scale times that of the own logits. ``label``: i64
        or i32, of the columns of all ranks, the same on all.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     loss, lse = gpus.cross_entropy(x, [numpy.array([2, 3])] * 2)[0]
        ...     loss.round(3)
        array([0.145, 0.145], dtype=float32)
        """
        given = {"x": x, "label": label}
        first = self._views(given)
        shape = first["x"].shape
        self._same_shape(first["label"], shape[:-1])
        of_dtype(first["label"], "i64", "i32")
        fields = {**self._rows(first["x"]), "label": dtype_number(first["label"].dtype), "has_ignore": True, "ignore": ignore,
                  "smoothing": smoothing, "gradient": gradient, "scale": positive("scale", scale)}
        writes = {"loss": (shape[:-1], "f32"), "lse": (shape[:-1], "f32"), "dx": (shape, first["x"].dtype)}
        if not gradient:
            del writes["dx"]
        return self._fused(lib.cj_gpus_crossentropy, "cj_gpus_crossentropy_desc", fields, given, writes, out, stream,
                           "cj_gpus_crossentropy_arrays")

    def softmax(self, x: Any, *, log: bool = False, out: Any = None, stream: Any = None) -> Any:
        """The own columns of the softmax, or of its logarithm, of rows whose columns are sharded as in :meth:`cross_entropy`.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.softmax(x)[1].round(3)
        array([[0.865, 0.016],
               [0.002, 0.865]], dtype=float32)
        """
        first = self._views({"x": x})["x"]
        return self._fused(lib.cj_gpus_softmax, "cj_gpus_softmax_desc", {**self._rows(first), "log": log}, {"x": x},
                           {"y": (first.shape, first.dtype)}, out, stream)

    def topk(self, x: Any, k: int, *, largest: bool = True, index_dtype: Any = "int64", out: Any = None,
             stream: Any = None) -> Any:
        """The ``k`` largest (or smallest) elements of rows whose columns are sharded as in :meth:`cross_entropy`, in order, and their
        columns of all ranks: a tuple (values, indices) of shape (..., k), the same on all ranks.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.topk(x, 1)[0]
        (array([[7.],
               [6.]], dtype=float32), array([[2],
               [3]]))
        """
        first, index = self._views({"x": x})["x"], dtype_name(index_dtype)
        if index not in ("i64", "u32"):
            raise UnsupportedType.of("index_dtype", index, "is none of i64, u32")
        check_scalar("k", "int", k)
        check_scalar("largest", "bool", largest)
        if k == 0:
            raise InvalidArgument.of("k", k, "is below 1: there is nothing to choose", "give 1 or more")
        shape = (*first.shape[:-1], k)
        fields = {**self._rows(first), "k": k, "smallest": not largest, "index_u32": index == "u32"}
        writes = {"values": (shape, first.dtype), "indices": (shape, index)}
        return self._fused(lib.cj_gpus_topk, "cj_topk_desc", fields, {"x": x}, writes, out, stream)

    def argmax(self, x: Any, *, out: Any = None, stream: Any = None) -> Any:
        """The column, i64, of the first greatest element of each row, as :meth:`topk` finds it.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.argmax(x)[0]
        array([2, 3])
        """
        targets = None
        if out is not None:
            views = [self._view(one, i) for i, one in enumerate(self._of_ranks("x", x))]
            for i, one in enumerate(self._of_ranks("out", out)):
                check_out(self._view(one, i, "out"), Out(views[i].shape[:-1], "i64"))
            values = [view.reader.allocator(view.like, (*view.shape[:-1], 1), view.dtype)() for view in views]
            targets = list(zip(values, (one[..., None] for one in self._of_ranks("out", out))))
        many = isinstance(x, (list, tuple))
        found = self.topk(x, 1, out=targets if many or targets is None else targets[0], stream=stream)
        if out is not None:
            return out
        return [pair[1][..., 0] for pair in found] if many else found[1][..., 0]

    def reduce(self, x: Any, op: str = "sum", *, out: Any = None, stream: Any = None) -> Any:
        """The sum ("min", "max") of all elements of all ranks' x, an array of shape (): f32 of f16, bf16 and f32, else i32 or u32.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     float(gpus.reduce(x, "max")[0])
        7.0
        """
        first = self._views({"x": x})["x"]
        if op not in tuple(_COMBINE):
            raise InvalidArgument.of("op", op, f"is none of {', '.join(_COMBINE)}")
        fields = {"n": math.prod(first.shape), "op": (lib.CJ_REDUCE_SUM, lib.CJ_REDUCE_MIN, lib.CJ_REDUCE_MAX)[_COMBINE[op]],
                  "dtype": dtype_number(first.dtype)}
        writes: dict[str, tuple[Shape, str]] = {"out": ((), ARITHMETIC.get(first.dtype, first.dtype))}
        return self._fused(lib.cj_gpus_reduce, "cj_reduce_desc", fields, {"x": x}, writes, out, stream)

    def histogram(self, x: Any, bins: int = 256, range: Optional[tuple[float, float]] = None, *, out: Any = None,
                  stream: Any = None) -> Any:
        """How many elements of all ranks' x fall into each of ``bins`` bins, u32, as :func:`clusterjit.histogram` says it.

        >>> import clusterjit.gpus, numpy
        >>> x = [numpy.array([[1, 5], [4, 2]], numpy.float32), numpy.array([[7, 3], [0, 6]], numpy.float32)]  # of each rank
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     gpus.histogram(x, 4, range=(0, 8))[0]
        array([2, 2, 2, 2], dtype=uint32)
        """
        first = self._views({"x": x})["x"]
        lower, upper = ends(range)
        fields = {"n": math.prod(first.shape), "bins": at_least_1("bins", bins), "dtype": dtype_number(first.dtype), "counts": lib.CJ_U32,
                  "lower": lower, "upper": upper}
        return self._fused(lib.cj_gpus_histogram, "cj_histogram_desc", fields, {"x": x}, {"counts": ((bins,), "u32")}, out,
                           stream)

    # ---- matrix products with a collective, chunk by chunk

    def matmul_reduce_scatter(self, a: Any, b: Any, *, chunks: int = 0, out: Any = None, stream: Any = None) -> Any:
        """The rows of this rank of the sum of all ranks' a @ b, as torch's fused_matmul_reduce_scatter: a (m, k), b (k, n), out
        (m / ranks, n), f16 or bf16. b may be the transpose of a contiguous array. The exchange of one of ``chunks`` chunks runs beside
        the product of the next one; 0: as many as are predicted best.

        >>> import clusterjit.gpus, numpy
        >>> a, b = [numpy.ones((4, 16), numpy.float16)] * 2, [numpy.ones((16, 8), numpy.float16)] * 2
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     out = gpus.matmul_reduce_scatter(a, b)[0]
        ...     out.shape, float(out[0, 0])
        ((2, 8), 32.0)
        """
        m, n, k, fields = self._product(a, b, chunks, 1)
        if m % self.info.ranks:
            raise InvalidArgument.of("a", m, f"rows are no multiple of the {self.info.ranks} ranks", what="its")
        return self._multiply(lib.cj_gpus_gemm_reduce_scatter, a, b, {**fields, "m": m}, (m // self.info.ranks, n), out, stream)

    def all_gather_matmul(self, a: Any, b: Any, *, chunks: int = 0, out: Any = None, stream: Any = None) -> Any:
        """All ranks' rows a (m / ranks, k), one below the other, times this rank's b (k, n): out (m, n). Otherwise as
        :meth:`matmul_reduce_scatter`.

        >>> import clusterjit.gpus, numpy
        >>> a, b = [numpy.ones((4, 16), numpy.float16)] * 2, [numpy.ones((16, 8), numpy.float16)] * 2
        >>> with clusterjit.gpus.Gpus.of(["cpu", "cpu"]) as gpus:
        ...     out = gpus.all_gather_matmul(a, b)[0]
        ...     out.shape, float(out[0, 0])
        ((8, 8), 16.0)
        """
        m, n, k, fields = self._product(a, b, chunks, self.info.ranks)
        return self._multiply(lib.cj_gpus_all_gather_gemm, a, b, {**fields, "m": m}, (m, n), out, stream)

    def _product(self, a: Any, b: Any, chunks: int, times: int) -> tuple[int, int, int, dict[str, Any]]:
        left = self._views({"a": a})["a"]
        own = self._of_ranks("b", b)
        transposed = all(self._is_transposed(one) for one in own)
        right = self._views({"b": [one.T for one in own] if transposed else b})["b"]
        if len(left.shape) != 2 or len(right.shape) != 2:
            raise left.refuse_shape(f"that of b is {right.shape}; both must have two axes")
        k, n = right.shape[::-1] if transposed else right.shape
        if left.shape[1] != k or left.dtype != right.dtype:
            raise left.refuse("it is", left.shape, f"of {left.dtype}, and b is {(k, n)} of {right.dtype}")
        of_dtype(left, "f16", "bf16")
        return left.shape[0] * times, n, k, {"n": n, "k": k, "dtype": dtype_number(left.dtype), "chunks": chunks,
                                             "b": lib.CJ_GEMM_COLUMN if transposed else lib.CJ_GEMM_ROW}

    @staticmethod
    def _is_transposed(array: Any) -> bool:
        reader = READERS[type(array)]
        return bool(reader) and len(array.shape) == 2 and not reader.view(array, "b", 0).contiguous and reader.view(array.T, "b", 0).contiguous

    def _multiply(self, function: Any, a: Any, b: Any, fields: dict[str, Any], shape: Shape, out: Any, stream: Any) -> Any:
        own = self._of_ranks("b", b)
        if fields["b"] == lib.CJ_GEMM_COLUMN:
            own = [one.T for one in own]
        given = {"x": a, "b": own if isinstance(a, (list, tuple)) else own[0]}
        return self._fused(function, "cj_gpus_gemm_desc", fields, given, {"out": (shape, self._views({"a": a})["a"].dtype)}, out, stream)

    def check(self) -> None:
        """Raises what went wrong in calls whose streams were synchronized: it names a rank that did not come."""
        call(lib.cj_gpus_check, self._open())

    def close(self) -> None:
        """Frees mailboxes and kernels, on all ranks, after their work. The end of a with-block does it, too."""
        lib.cj_gpus_destroy(self.handle)
        self.handle = ffi.NULL
        for key in list(self._registered):
            self._forget(key)

    def __enter__(self) -> Gpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Any:
        if not self.handle:
            raise Closed("the Gpus were closed")
        return self.handle

    def _fused(self, function: Any, kind: str, fields: dict[str, Any], given: dict[str, Any], writes: dict[str, tuple[Shape, str]],
               out: Any, stream: Any, structure: Optional[str] = None) -> Any:
        """A typed call. Its arrays are parameters in this order, or fields of `structure`. `out` is like the result."""
        handle, desc = self._open(), described(kind, fields)
        arrays = {name: self._of_ranks(name, array) for name, array in given.items() if array is not None}
        views = [self._view(own, i, "x") for i, own in enumerate(arrays["x"])]
        arrays.update(self._targets(out, writes, views))
        streams = self._streams(stream, [view.reader.current(view.device) for view in views])
        with self._borrowed(arrays, writes) as at:
            call(function, handle, desc, *([sized(structure, at)] if structure else at.values()), streams)
        rows = [tuple(arrays[name][i] for name in writes) for i in range(len(views))]
        ranks = rows if len(writes) > 1 else [row[0] for row in rows]
        return ranks if isinstance(given["x"], (list, tuple)) else ranks[0]

    def _describe(self, function: str, x: Any, op: str, root: int, ordered: bool, memory: int = 0) -> tuple[Any, list[Any], list[View]]:
        """A collective of these arrays, which are this process's ranks', and their views."""
        self._open()
        own = list(x) if isinstance(x, (list, tuple)) else [x]
        if op not in tuple(_COMBINE):
            raise InvalidArgument.of("op", op, f"is none of {', '.join(_COMBINE)}")
        self._views({"x": x})
        views = [self._view(array, i) for i, array in enumerate(own)]
        parts = function in ("reduce_scatter", "all_to_all")
        if parts and views[0].shape[:1] != (self.info.ranks,):
            raise views[0].refuse_shape(f"its first axis must be {self.info.ranks}, as there are ranks")
        count = views[0].bytes // views[0].size // (self.info.ranks if parts else 1)
        desc = described("cj_gpus_desc", {"op": _OPS[function], "dtype": dtype_number(views[0].dtype), "count": count, "combine": _COMBINE[op],
                                          "root": root, "ordered": ordered, "memory": memory})
        return desc, own, views

    def _run(self, function: str, x: Any, shape_of: Callable[[tuple[int, ...]], tuple[int, ...]], op: str = "sum", root: int = 0,
             ordered: bool = False, multicast: bool = False, out: Any = None, stream: Any = None) -> Any:
        check_scalar("multicast", "bool", multicast)
        memory = lib.CJ_GPUS_MEMORY_MULTICAST if multicast else lib.CJ_GPUS_MEMORY_ANY
        desc, own, views = self._describe(function, x, op, root, ordered, memory)
        outs = self._targets(out, {"out": (shape_of(views[0].shape), views[0].dtype)}, views)["out"]
        streams = self._streams(stream, [view.reader.current(view.device) for view in views])
        with self._borrowed({"x": own, "out": outs}) as at:
            call(lib.cj_gpus_run, self.handle, desc, at["x"], at["out"], streams)
        return outs if isinstance(x, (list, tuple)) else outs[0]

    def _is_registered(self, own: Device, address: int, size: int) -> bool:
        return any(0 <= address - begin <= one.size - size for one in self._registered.values() for begin, device_ in zip(one.addresses, self.devices)
                   if device_.handle == own.handle)

    @contextlib.contextmanager
    def _borrowed(self, arrays: dict[str, list[Any]], writes: Collection[str] = ()) -> Iterator[dict[str, Any]]:
        """Where kernels find the arrays of a call: those in the host's memory are the CPU device's meanwhile. Of those that overlap spans are
        borrowed, unless one is in `writes`, which is refused."""
        found = {name: ffi.new("cj_ptr[]", [address_of(array) for array in own]) for name, own in arrays.items()}
        parts: dict[Any, list[Part]] = {}
        for name, own in arrays.items():
            for i, array in enumerate(own):
                size = READERS[type(array)].view(array, name, i).bytes if self.devices[i].kind == "cpu" else 0
                if size and not self._is_registered(self.devices[i], found[name][i], size):
                    parts.setdefault(self.devices[i].handle, []).append(Part(found[name][i], size, name, i))
        borrowed = []
        try:
            for handle, mine in parts.items():
                refuse_overlaps(mine, writes)
                for begin, size in merged([part.begin for part in mine], [part.size for part in mine]):
                    borrowed.append((handle, wrap(handle, begin, size)))
            yield found
        finally:
            for handle, begin in borrowed:
                lib.cj_mem_free(handle, begin)
