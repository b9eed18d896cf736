# SPDX-License-Identifier: Apache-2.0
"""Kernels of one's own, in PTX or in CUDA C++, and what is wrong with a text."""
from __future__ import annotations

import functools
import itertools
import operator
import re
import struct
from typing import Any, NamedTuple, Optional, Sequence, Union

from ._library import Handle, call, ffi, lib, made, sized, text
from .arguments import c_text, check_scalar, text_of
from .arrays import READERS, address_of, stream_handle
from .devices import Device, device as device_named
from .errors import Closed, Compiler, Hazard, InvalidArgument, UnsupportedType
from .parameters import params_of
from .request import view_of
from .unrolled import Lines

Extent = Union[int, Sequence[int]]
_PTX = re.compile(r"^\s*\.version\b", re.MULTILINE)


class Diagnostic(NamedTuple):
    """One finding of :func:`check`. Lines and columns count from 1, 0: the whole text; ``source`` is the place in CUDA C++, or ""."""

    severity: str  # "error" or "warning"
    rule: str
    line: int
    column: int
    message: str
    hint: str
    source: str


def check(source: str, *, arch: Optional[str] = None, options: Sequence[str] = (), name: Optional[str] = None) -> list[Diagnostic]:
    """What is wrong with a text of PTX, or of CUDA C++, which NVRTC compiles first: every finding, in the order of the text.

    >>> import clusterjit
    >>> for found in clusterjit.check('''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry k() { mov.u32 %r1, 0; ret; }'''):
    ...     print(found.line, found.severity, found.rule)
    4 error name-undefined
    """
    if not _PTX.search(text_of("source", source)):
        try:
            ptx = _compile(source, name, arch, options, ())
        except Compiler as error:
            return [Diagnostic("error", error.rule, error.line, error.column, error.message, error.hint, error.source or "")]
    else:
        ptx = source
    data = ptx.encode()
    word = ffi.new("char[]", c_text("arch", arch)) if arch and ptx is source else ffi.NULL
    report = made("cj_report *", lib.cj_check_ptx, data, len(data), sized("cj_check_options", {"arch": word}))
    try:
        places = _Places(ptx)
        found = (lib.cj_report_at(report, i) for i in range(lib.cj_report_count(report)))
        return [Diagnostic("warning" if one.severity == lib.CJ_SEVERITY_WARNING else "error", text(one.rule), one.line, one.column,
                           text(one.message), text(one.hint), places.find(one.line)) for one in found]
    finally:
        lib.cj_report_destroy(report)


def emit(family: str, **parameters: Any) -> str:
    """The PTX of a family's kernel, of the parameters that ``ptxgen list`` shows; ``arch`` is the target.

    >>> import clusterjit
    >>> "barrier.cluster" in clusterjit.emit("reduce", n=1024, cluster=4, arch="sm_90")
    True
    """
    arch = c_text("arch", parameters.pop("arch", "sm_90a" if family == "gemm" else "sm_90"))
    params, plan = params_of(family, parameters), ffi.new("cj_plan *")
    call(lib.cj_plan_make, params, made("const cj_limits *", lib.cj_limits_builtin, arch), arch, plan)
    written = ffi.new("char **")
    call(lib.cj_plan_emit, plan, written, ffi.NULL)
    return _taken(written[0])


@functools.lru_cache(maxsize=None)
def _launcher(device: Device, count: int) -> Any:
    """A function that launches with so many arrays; what each launch gives anew is its configuration."""
    return device.launcher(Lines("    status = launch(handle, late, error)", {"launch": lib.cj_launch}), count)


class Kernel(Handle):
    """A kernel of your own: an entry of a text in PTX, or in CUDA C++, which NVRTC compiles. The source is trusted code.

    ``entry`` may be left out where the text has one; a template is named with its arguments, "scale<float, 4>". ``device``: a name as
    :func:`device` takes it, or a Device; default: a GPU that has clusters, else the CPU device. ``options`` are NVRTC's. Arguments of
    a launch are typed by the entry's parameters: an array (or an address) for a pointer, a number in range for an integer, a float, a
    NumPy scalar or bytes for a structure.

    >>> import clusterjit, numpy
    >>> kernel = clusterjit.Kernel('''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry fill(.param .u64 out, .param .u32 value) {
    ...     .reg .u32 %v, %t; .reg .u64 %o;
    ...     ld.param.u64 %o, [out]; ld.param.u32 %v, [value];
    ...     mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
    ...     st.global.u32 [%o], %v; ret;
    ... }''', device="cpu")
    >>> out = numpy.zeros(4, numpy.uint32)
    >>> kernel(out, 7, grid=1, block=4)
    >>> out
    array([7, 7, 7, 7], dtype=uint32)
    """

    _module: Any = None

    def __init__(self, source: str, entry: Optional[str] = None, *, device: Union[str, Device] = "auto", name: Optional[str] = None,
                 options: Sequence[str] = ()) -> None:
        self.device = device if isinstance(device, Device) else device_named(device)
        expressions = (entry,) if entry is not None and "<" in text_of("entry", entry) else ()
        self.ptx = source if _PTX.search(text_of("source", source)) else _compile(source, name, _arch(self.device), options, expressions)
        data = self.ptx.encode()
        self._module = made("cj_module *", lib.cj_module_from_ptx, self.device.handle, data, len(data))
        self.entry = self._only_entry() if entry is None else entry
        self._function = made("cj_function *", lib.cj_module_function, self._module, c_text("entry", self.entry))
        count = lib.cj_function_param_count(self._function)
        self._parameters = [_Parameter(self._function, i) for i in range(count)]

    def _only_entry(self) -> str:
        entries = list(itertools.takewhile(bool, (text(lib.cj_module_entry(self._module, i)) for i in itertools.count())))
        if not entries:
            raise InvalidArgument.of("entry", None, "the text has none, and a kernel is one", "write .visible .entry, in CUDA C++ __global__")
        if len(entries) != 1:
            raise InvalidArgument.of("entry", len(entries), f": {', '.join(entries)}; one is needed", "name one: entry=...", what="the text has")
        return entries[0]

    def __call__(self, *arguments: Any, grid: Extent, block: Extent, cluster: Extent = 0, shared: int = 0, stream: Any = None,
                 nonportable: bool = False, cooperative: bool = False) -> None:
        """Launches on ``grid`` blocks of ``block`` threads, in clusters of ``cluster`` blocks: ints, or up to three of them, x
        first. ``shared``: bytes of dynamic shared memory. A GPU runs it on the stream; the CPU device runs it to its end.
        """
        if self._module is None:
            raise Closed("the kernel is closed", hint="make another one: clusterjit.Kernel(...)")
        if len(arguments) != len(self._parameters):
            names = ", ".join(parameter.name for parameter in self._parameters)
            raise InvalidArgument.of("arguments", len(arguments), f"were given; {self.entry} takes {len(self._parameters)}: {names}")
        check_scalar("nonportable", "bool", nonportable)
        check_scalar("cooperative", "bool", cooperative)
        addresses: list[int] = []
        sizes: list[int] = []
        reader = None
        values = []
        for parameter, argument in zip(self._parameters, arguments):
            if READERS[type(argument)] is not None:
                view, address = self._array(parameter, argument)
                reader = reader or view.reader
                addresses.append(address)
                sizes.append(view.bytes)
                values.append(parameter.pack(address))
            else:
                values.append(parameter.pack(argument))
        buffers = [ffi.from_buffer(value) for value in values]
        config = sized("cj_launch_config", {
            "function": self._function, "grid": _extent("grid", grid), "block": _extent("block", block),
            "cluster": _extent("cluster", 0 if cluster is None else cluster), "dynamic_shared": _whole("shared", shared), "nonportable": nonportable,
            "argument_count": len(buffers), "attributes": {"cooperative": cooperative}})
        kept = ffi.new("void *[]", buffers), ffi.new("size_t[]", [len(value) for value in values])
        config.arguments, config.argument_bytes = kept
        handle = stream_handle(stream) if stream is not None else reader.current(self.device.ordinal)() if reader else 0
        config.stream = ffi.cast("cj_stream", handle)
        try:
            if reader and reader.waits and self.device.ordinal is not None:
                self.device.synchronize()
            _launcher(self.device, len(sizes))(addresses, sizes, config.stream, config)
            if reader and reader.waits and self.device.ordinal is not None:
                self.device.synchronize(handle)
        except Hazard as hazard:
            hazard.source = _Places(self.ptx).find(hazard.line) or None
            raise

    def _array(self, parameter: Any, argument: Any) -> Any:
        view = view_of(argument, parameter.name, 0)
        if min(view.strides, default=0) < 0:
            raise view.refuse("strides", view.strides, "are below 0", "copy it: numpy.ascontiguousarray(x)")
        if parameter.kind not in (lib.CJ_PARAM_POINTER, lib.CJ_PARAM_INTEGER) or parameter.size != 8:
            raise UnsupportedType.of(parameter.name, "array", f"was given for {parameter.described}", what="an")
        if view.device != self.device.ordinal:
            raise view.refuse("it is in", view.place, f", but the kernel runs on {self.device.name}",
                              f"move it, or make the kernel with device={'cpu' if view.device is None else f'gpu:{view.device}'!r}")
        return view, address_of(argument)

    def close(self) -> None:
        """Unloads the kernel. Its launches must have ended.

        >>> import clusterjit
        >>> text = ".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry nothing() { ret; }"
        >>> with clusterjit.Kernel(text, device="cpu") as kernel:
        ...     kernel(grid=1, block=32)
        >>> kernel.close()  # which the end of a with-block has done
        """
        if self._module is not None:
            lib.cj_module_unload(self._module)
            self._module = None

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class _Parameter:
    """A parameter of an entry, and how a Python value becomes its bytes."""

    def __init__(self, function: Any, index: int) -> None:
        self.name = text(lib.cj_function_param_name(function, index))
        self.size = int(lib.cj_function_param_bytes(function, index))
        self.kind = int(lib.cj_function_param_kind(function, index))
        word = {lib.CJ_PARAM_INTEGER: "an integer", lib.CJ_PARAM_FLOAT: "a float", lib.CJ_PARAM_POINTER: "a pointer",
                lib.CJ_PARAM_TENSORMAP: "a tensor map"}.get(self.kind, "a structure")
        self.described = f"{word} of {self.size} bytes"

    def pack(self, value: Any) -> bytes:
        if isinstance(value, (bytes, bytearray)) or hasattr(value, "tobytes") and hasattr(value, "dtype"):
            return self._bytes(value)
        integer = self.kind in (lib.CJ_PARAM_INTEGER, lib.CJ_PARAM_POINTER)
        if value is None and self.kind == lib.CJ_PARAM_POINTER:
            value = 0
        try:
            if integer:
                return operator.index(value).to_bytes(self.size, "little", signed=value < 0)
            if self.kind == lib.CJ_PARAM_FLOAT:
                return struct.pack({2: "<e", 4: "<f", 8: "<d"}[self.size], value)
        except OverflowError:
            raise InvalidArgument.of(self.name, value, f"is outside {self.described}") from None
        except (TypeError, ValueError, struct.error):
            pass
        raise UnsupportedType.of(self.name, value, f"was given for {self.described}", "structures are bytes, or a scalar of a NumPy dtype")

    def _bytes(self, value: Any) -> bytes:
        kind = getattr(getattr(value, "dtype", None), "kind", None)
        taken = {lib.CJ_PARAM_INTEGER: "biu", lib.CJ_PARAM_POINTER: "biu", lib.CJ_PARAM_FLOAT: "f"}.get(self.kind)
        if taken and kind not in (None, "V", *taken):  # a void is bytes
            raise UnsupportedType.of(self.name, value.dtype, f"was given for {self.described}", what="a")
        if taken == "biu" and kind not in (None, "V"):
            return self.pack(int(value))
        data = bytes(value) if kind is None else value.tobytes()
        if len(data) != self.size:
            raise InvalidArgument.of(self.name, len(data), f"bytes were given for {self.described}")
        return data


class _Places:
    """The places of the source that lines of a PTX text were made of."""

    def __init__(self, ptx: str) -> None:
        data = ptx.encode()
        self._map = ffi.gc(made("cj_source_map *", lib.cj_source_map_create, data, len(data)), lib.cj_source_map_destroy)

    def find(self, line: int) -> str:
        """"kernel.cu:8:5", or "" where the text does not say it."""
        place = lib.cj_source_map_find(self._map, line)
        return f"{text(place.file)}:{place.line}" + (f":{place.column}" if place.column else "") if place else ""


def _taken(pointer: Any) -> str:
    """A text of the library's, which is freed."""
    try:
        return text(pointer)
    finally:
        lib.cj_text_free(pointer)


def _arch(device: Device) -> str:
    limits = device.limits
    number = 90 if limits["every_target"] else limits["compute_capability"]
    return f"sm_{number}a" if number >= 90 else f"sm_{number}"


def _compile(source: str, name: Optional[str], arch: Optional[str], options: Sequence[str], expressions: Sequence[str]) -> str:
    """The PTX of CUDA C++."""
    if isinstance(options, str):
        raise InvalidArgument.of("options", options, "is one text, and a list of options is wanted", "give a list: options=[...]")
    kept = [[ffi.new("char[]", c_text("options", word)) for word in words] for words in (expressions, options)]
    names, flags = (ffi.new("char *[]", words) for words in kept)
    words = [ffi.new("char[]", c_text(what, word)) if word is not None else ffi.NULL
             for what, word in (("source", source), ("name", name), ("arch", arch or None))]
    desc = sized("cj_cuda_source", {"text": words[0], "name": words[1], "arch": words[2], "names": names, "options": flags,
                                        "name_count": len(kept[0]), "option_count": len(kept[1])})
    written = ffi.new("char **")
    call(lib.cj_ptx_from_cuda, desc, written, ffi.NULL)
    return _taken(written[0])


def _whole(name: str, value: Any) -> int:
    """A number of 32 bits."""
    if not hasattr(value, "__index__") or not 0 <= operator.index(value) < 2**32:
        raise InvalidArgument.of(name, value, "is no whole number below 2^32", "give one, 0 or above")
    return operator.index(value)


def _extent(name: str, extent: Extent) -> tuple[int, ...]:
    """Up to three numbers as three. A cluster of 0 is none: 0 x 0 x 0."""
    whole = _numbers(extent)
    if not 1 <= len(whole) <= 3 or not all(0 <= n < 2**32 for n in whole):
        raise InvalidArgument.of(name, extent, "is not one to three whole numbers below 2^32", "give an int, or a tuple of them, x first")
    rest = int(name != "cluster" or any(whole))
    return (*whole, rest, rest)[:3]


def _numbers(extent: Any) -> list[int]:
    """The whole numbers of an extent; none, if it has others."""
    try:
        return [operator.index(extent)]
    except TypeError:
        try:
            return [operator.index(n) for n in extent]
        except TypeError:
            return []
