# SPDX-License-Identifier: Apache-2.0
"""Devices: GPUs, and the CPU device, which executes the same PTX on the host's memory and finds missing synchronization."""
from __future__ import annotations

import contextlib
import ctypes
import itertools
import textwrap
import threading
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

from ._library import Handle, call, check, ffi, lib, made, sized, text, thread
from .arguments import c_text, check_scalar, described, text_of
from .arrays import stream_handle
from .errors import Error, UnsupportedType
from .unrolled import Lines, function_of, lines_of


class Side(NamedTuple):
    """One party of a hazard: the instruction, its line in the PTX (0: there is none), thread and block, each (x, y, z)."""

    line: int
    what: str
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    rank: int


class Found(NamedTuple):
    """A hazard that the CPU device found."""

    rule: str
    message: str
    hint: str
    first: Side
    second: Side
    variable: str
    times: int


class Device(Handle):
    """Where kernels run. Use :func:`device`, which opens each once.

    ``kind`` is "gpu" or "cpu", ``name`` such as "NVIDIA H200", ``ordinal`` the GPU's number, None of the CPU device.

    >>> import clusterjit
    >>> clusterjit.device("cpu").kind
    'cpu'
    """

    def __init__(self, spec: str) -> None:
        name = ffi.new("char[]", c_text("device", spec))
        self.handle = made("cj_device *", lib.cj_device_open, sized("cj_device_options", {"spec": name}))
        self.kind = text(lib.cj_device_kind(self.handle))
        self.name = text(lib.cj_device_name(self.handle))
        self.ordinal = int(spec.partition(":")[2] or 0) if self.kind == "gpu" else None
        self.lock = threading.Lock()  # of the CPU device: one launch at a time
        self._watches: list[dict[str, Any]] = [{}]  # options of the with-blocks that are open, of all threads; the last ones hold
        self._answer = ffi.new("cj_ptr *")  # cj_mem_wrap writes the address that it was given
        self._pools: list[Any] = []

    def __repr__(self) -> str:
        return f"<clusterjit device {self.name}>"

    @property
    def limits(self) -> dict[str, Any]:
        """What the device allows: cj_limits of clusterjit/device.h.

        >>> import clusterjit
        >>> clusterjit.device("cpu").limits["max_cluster"]
        16
        """
        limits = lib.cj_device_limits(self.handle)[0]
        return {name: _plain(getattr(limits, name)) for name, _ in ffi.typeof(limits).fields if name != "reserved"}

    def synchronize(self, stream: Any = 0) -> None:
        """Waits for all work on the stream, a CUstream as an int or as any function takes it, and raises the faults of its kernels.

        >>> import clusterjit
        >>> clusterjit.device("cpu").synchronize()
        """
        call(lib.cj_synchronize, self.handle, ffi.cast("cj_stream", stream_handle(stream)))

    def trim(self) -> None:
        """Lets go of the kernels that the device keeps. Their launches must have ended.

        >>> import clusterjit
        >>> clusterjit.device("cpu").trim()
        """
        lib.cj_device_trim(self.handle)

    def set_workspaces(self, allocate: Optional[Callable[[int, int], int]],
                       free: Optional[Callable[[int, int, int], None]] = None) -> None:
        """Takes the workspaces of kernels that are made from now on from a pool of the program's: ``allocate(bytes, stream)`` returns
        an address, a multiple of 256, or 0 where there is none; ``free(address, bytes, stream)`` gets it back. Streams are CUstreams
        as ints, 0 the default one. None: from the device again. :func:`clusterjit.torch.use_caching_allocator` does this with torch's.

        >>> import clusterjit
        >>> clusterjit.device("cpu").set_workspaces(None)
        """
        if allocate is None and free is None:
            call(lib.cj_workspaces_set, self.handle, ffi.NULL)
            return
        if not callable(allocate) or not callable(free):
            name, given = ("free", free) if callable(allocate) else ("allocate", allocate)
            raise UnsupportedType.of(name, type(given).__name__, "is no function", "give both functions, or None alone", what="a")

        def take(_: Any, size: int, stream: Any) -> int:
            return allocate(size, int(ffi.cast("uintptr_t", stream)))

        def give(_: Any, memory: int, size: int, stream: Any) -> None:
            free(memory, size, int(ffi.cast("uintptr_t", stream)))

        fields = dict(ffi.typeof("cj_workspaces").fields)
        made = {"allocate": ffi.callback(fields["allocate"].type, take, error=0), "free": ffi.callback(fields["free"].type, give)}
        call(lib.cj_workspaces_set, self.handle, sized("cj_workspaces", made))
        self._pools.append(made)  # kernels give back to them at any time

    @contextlib.contextmanager
    def watch(self, *, hazards: bool = True, seed: Optional[int] = None, late: bool = False, threads: int = 0,
              instruction_limit: int = 0) -> Iterator[Device]:
        """The CPU device runs the kernels of a with-block with hazards on: races and missing synchronization are exceptions.

        ``seed`` draws the order of warps and of asynchronous work, ``late`` completes asynchronous work as late as can be,
        ``instruction_limit`` stops a launch after so many instructions of threads, as a livelock. A block holds for launches of all
        threads, the one that was entered last before others; at the end of the last one all is as before.

        >>> import clusterjit, numpy
        >>> with clusterjit.device("cpu").watch(seed=7):
        ...     float(clusterjit.sum(numpy.ones(1000, numpy.float32)))
        1000.0
        """
        for name, kind, value in (("hazards", "bool", hazards), ("seed", "Optional[int]", seed), ("late", "bool", late)):
            check_scalar(name, kind, value)
        options = {"hazards": hazards, "random_schedule": seed is not None, "seed": seed or 0, "late_schedule": late,
                   "threads": threads, "instruction_limit": instruction_limit}
        with self.lock:
            self._configure(options)
            self._watches.append(options)
        try:
            yield self
        finally:
            with self.lock:
                self._watches = [one for one in self._watches if one is not options]
                self._configure(self._watches[-1])

    def _configure(self, options: dict[str, Any]) -> None:
        call(lib.cj_cpu_configure, self.handle, described("cj_cpu_options", options))

    def hazards(self) -> list[Found]:
        """What the last launch on the CPU device broke, each pair of lines once: what the exception :class:`Hazard` has, too.

        >>> import clusterjit, numpy
        >>> device = clusterjit.device("cpu")
        >>> with device.watch(seed=7):
        ...     total = clusterjit.sum(numpy.ones(1000, numpy.float32))
        >>> device.hazards()
        []
        """
        return [_found(lib.cj_cpu_hazard_at(self.handle, i)[0]) for i in range(lib.cj_cpu_hazard_count(self.handle))]

    def is_capturing(self, stream: int) -> bool:
        """Whether launches on the stream are captured into a CUDA graph. A GPU alone."""
        status = ctypes.c_int(0)
        code = ctypes.CDLL("libcuda.so.1").cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(status))
        return code == _CAPTURE_IMPLICIT or status.value != 0

    def launching(self, start: Lines, count: int) -> Lines:
        """Lines that start a kernel of so many arrays by the lines `start`. The CPU device borrows the arrays meanwhile: from each
        `address#` on `size#` bytes.
        """
        names = {**start.names, "handle": self.handle, "thread": thread, "check": check}
        if self.ordinal is not None:
            return Lines(_LAUNCH_ON_GPU.replace("START", start.text), names)
        names.update({"device": self, "answer": self._answer, "acquire": self.lock.acquire, "release": self.lock.release,
                      "wrap": _wrap, "free": _free, "count": count})
        text = lines_of(_LAUNCH_ON_CPU, range(count), names).text
        return Lines(text.replace("START", textwrap.indent(start.text, 8 * " ")), names)

    def launcher(self, start: Lines, count: int) -> Any:
        """A function `launch(addresses, sizes, stream, late)` of these lines."""
        return function_of(lines_of(_LAUNCH, range(count), {}), self.launching(start, count))

    def borrow_spans(self, addresses: Sequence[int], sizes: Sequence[int], borrowed: int) -> list[int]:
        """Borrows arrays that overlap, of which the first ones are borrowed already, as spans, and says where these begin."""
        self.give_back(addresses[:borrowed])
        spans: list[int] = []
        try:
            for begin, size in merged(addresses, sizes):
                call(_wrap, self.handle, begin, size, self._answer)
                spans.append(begin)
        except BaseException:
            self.give_back(spans)
            raise
        return spans

    def give_back(self, spans: Sequence[int]) -> None:
        """Ends the borrowing of what begins there."""
        for begin in spans:
            _free(self.handle, begin)

    def check(self, status: int) -> None:
        """Raises what a launch on the CPU device has failed with."""
        check(status, hazards=self.hazards() if status == lib.CJ_HAZARD else ())


_LAUNCH = """
def call(addresses, sizes, stream, late=None):
    [{address#, }] = addresses
    [{size#, }] = sizes
"""
_LAUNCH_ON_GPU = """
    error = thread.error
START
    if status:
        check(status)
"""
# `borrowed` counts the arrays before the first one that cannot be borrowed. A with-block takes 0.1 us more than the calls of the lock, and START
# in a function of its own 0.1 us.
_LAUNCH_ON_CPU = """
    error = thread.error
    acquire()
    try:
        borrowed = {# if wrap(handle, address#, size#, answer, error) else } count
        spans = None if borrowed == count else device.borrow_spans([{address#, }], [{size#, }], borrowed)
        try:
START
            if status:
                device.check(status)
        finally:
            if spans is None:
                {free(handle, address#); }pass
            else:
                device.give_back(spans)
    finally:
        release()
"""
_CAPTURE_IMPLICIT = 906  # CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: asked of the default stream while another one is captured
_free = lib.cj_mem_free
_wrap = ffi.cast("cj_status (*)(cj_device *, uintptr_t, size_t, cj_ptr *, cj_error *)", lib.cj_mem_wrap)  # of an address as an int


def merged(addresses: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The same bytes in spans that do not overlap: the address and the size of each."""
    merged: list[tuple[int, int]] = []
    for begin, size in sorted(zip(addresses, sizes)):
        if merged and begin < merged[-1][0] + merged[-1][1]:
            first, before = merged[-1]
            merged[-1] = first, max(before, begin + size - first)
        elif size:
            merged.append((begin, size))
    return merged


def _found(hazard: Any) -> Found:
    return Found(text(hazard.rule), text(hazard.message), text(hazard.hint), _side(hazard.first), _side(hazard.second),
                 text(hazard.variable) or text(hazard.symbol), hazard.count)


def _side(side: Any) -> Side:
    return Side(side.line, text(side.what), _plain(side.thread), _plain(side.block), side.rank)


def _plain(value: Any) -> Any:
    """A cj_dim3 as (x, y, z), characters as str, an array as a list."""
    if isinstance(value, (int, bool)):
        return value
    kind = ffi.typeof(value)
    if kind.kind == "struct":
        return value.x, value.y, value.z
    return text(value) if kind.item.cname == "char" else list(value)


_devices: dict[str, Device] = {}
_opening = threading.Lock()


def device(spec: str = "auto") -> Device:
    """The device "auto" (the first GPU that has clusters, else the CPU device), "gpu" (the first one), "gpu:N" or "cpu"; opened once.

    >>> import clusterjit
    >>> clusterjit.device("cpu") is clusterjit.device("cpu")
    True
    """
    if spec == "auto":
        return _first_with_clusters()
    spec = "gpu:0" if text_of("device", spec) == "gpu" else spec
    with _opening:
        if spec not in _devices:
            _devices[spec] = Device(spec)
        return _devices[spec]


def _first_with_clusters() -> Device:
    for ordinal in itertools.count():
        try:
            found = device(f"gpu:{ordinal}")
        except Error:  # no driver, or no GPU of that number
            return device("cpu")
        if found.limits["max_cluster"]:
            return found
    raise AssertionError


def cpu_of_rank(rank: int) -> Device:
    """The CPU device of a rank that shares none with the others; each is opened once."""
    with _opening:
        name = f"cpu of rank {rank}"
        if name not in _devices:
            _devices[name] = Device("cpu")
        return _devices[name]


def device_of(ordinal: Optional[int]) -> Device:
    """The device of an array: that of a GPU's ordinal, or the CPU device of None."""
    spec = "cpu" if ordinal is None else f"gpu:{ordinal}"
    return _devices.get(spec) or device(spec)
