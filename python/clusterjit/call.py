# SPDX-License-Identifier: Apache-2.0
"""From a Python call to a call of the library.

The body of a function (families.py) makes a Request (request.py) of its arguments. A Request makes a Plan, a handle of the library. A
Function keeps plans under the key of its arguments; so the second call with such arguments reads arrays, finds the plan,
allocates the result, and launches.
"""
from __future__ import annotations

import functools
import inspect
import itertools
import math
import sys
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, Union

from ._library import Handle, ffi, lib, text
from .arguments import check_scalar, start_of
from .arrays import READERS, Array, Known, read_all, size_of, stream_handle
from .devices import Device, device_of
from .errors import Closed, InvalidArgument
from .overlap import refuse, spans_overlap
from .request import Out, R, Request, check_out, view_of
from .unrolled import Lines, arguments_as, function_of, joined, lines_of, unrolled

if sys.version_info >= (3, 10):
    from typing import ParamSpec
else:  # the annotations are not evaluated
    ParamSpec = TypeVar

P = ParamSpec("P")
Value = Union[float, Any]  # a number that each call may give anew, of the same plan; or an array

class _Streams(dict[int, Any]):
    """The library's stream of each handle."""

    def __missing__(self, handle: int) -> Any:
        return self.setdefault(handle, ffi.cast("cj_stream", handle))


_STREAMS = _Streams({0: ffi.NULL})


# The arrays of the results, whose addresses are appended.
_MAKE = """
def call(addresses):
    x# = allocate#()
    addresses.append(address(x#))
    return ({x#, })
"""
_OVERLAP = """
def call(addresses):
    [{address#, }] = addresses
    return OVERLAP
"""
# What is left of a call whose arrays have been tested, before its launch: the results' arrays are made, or the caller's are held against overlaps.
_MAKES = """
    x# = allocate#()
    address# = address(x#)
    stream = streams[current() if stream is None else stream_handle(stream)]
"""
_HOLDS = """
    if OVERLAP:
        refuse_overlap([{address#, }])
    stream = streams[current() if stream is None else stream_handle(stream)]
"""
# All of what is left, where the plan depends on the stream.
_BY_STREAM = """
    return run(entry, [{address#, }], outs, stream, late)
"""


class Plan(Handle, Generic[R]):
    """A kernel, loaded, for arrays of given shapes, strides and types, at addresses as aligned (up to 16 bytes) as those that it was made with.

    Call it with arrays like those that it was made for, in their order. Launches of one plan on several streams need an order if
    ``workspace_bytes`` is not 0. ``close()``, or the end of a with-block, frees it; its launches must have ended.

    >>> import clusterjit, numpy
    >>> x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
    >>> with clusterjit.cumsum.plan(x) as plan:
    ...     plan(x)[1]
    array([ 4.,  9., 15., 22.], dtype=float32)
    """

    _handle: Any = None

    def __init__(self, request: Request[R], device: Device) -> None:
        self._request, self.device, self._late = request, device, request.late
        self._views = request.views
        self._destroy = getattr(lib, request.noun + "_destroy")
        self._handle = request.create(device)
        self._function = getattr(lib, f"{request.noun}_{request.run}")
        like = request.like
        self._waits = like.reader.waits and device.ordinal is not None
        self._current = like.reader.current(device.ordinal)
        self.make: Callable[[list[int]], tuple[Array, ...]] = self._make_first
        self._sizes = [view.bytes for view in self._views] + [_bytes(out) for out in request.writes.values()]
        self._start = start_of(self, request, self._views)
        self._launch = device.launcher(self._start, len(self._sizes))
        self._places = request.places()
        self._overlap = spans_overlap(self._places, request.may_share)
        self.overlap = unrolled(_OVERLAP.replace("OVERLAP", self._overlap), len(self._sizes), {}, size=self._sizes)
        self._given, self._made = Known(None), Known(None)  # arrays of the last calls that gave `out`, and that did not
        self.address = like.reader.address
        self._result: Any = request.result
        self._single = len(request.writes) == 1

    def __call__(self, *arrays: Array, out: Any = None, stream: Any = None, **late: float) -> R:
        outs: tuple[Array, ...] = () if out is None else out if type(out) is tuple else (out,)
        known = self._made if out is None else self._given
        if known.repeat:
            result: Optional[R] = known.repeat(arrays, late, outs, stream)
            if result is not None:
                return result
        addresses = known.test(arrays + outs) if known.test else None
        if addresses is None:
            addresses = self._read(arrays, outs, known)
        results = outs
        if out is None:
            results = self.make(addresses)
        elif self.overlap(addresses):
            self.refuse_overlap(addresses)
        if late.keys() - self._late.keys():
            name = next(iter(late.keys() - self._late.keys()))
            raise InvalidArgument.of(name, None, f"a call of this plan has no such value; it has {', '.join(self._late) or 'none'}")
        for name, value in late.items():
            check_scalar(name, "Value", value)
        found = self.go(addresses, results, self._current() if stream is None else stream_handle(stream), late)
        if known.lines and not known.repeat:
            known.repeat = _repeat(arrays, late, outs, late if self._late else None, known.lines, self.rest(bool(outs)))
        return found

    def _read(self, arrays: tuple[Array, ...], outs: tuple[Array, ...], known: Known) -> list[int]:
        """The addresses of the caller's arrays, which are held against `known` and those that the plan was made for."""
        keys, addresses = read_all(arrays, outs)
        if keys != known.keys:
            self._accept(arrays, self.make([]) if known is self._made else outs)
            known.keys, known.test = keys, known.test or None  # a test of earlier ones stays right
        elif known.test is None:
            known.learn(arrays, outs, addresses)
        return addresses

    def _make_first(self, addresses: list[int]) -> tuple[Array, ...]:
        """Makes the arrays of the results, whose addresses it appends, and the function that later calls do this with."""
        allocators = self._allocators()
        self.make = unrolled(_MAKE, len(allocators), {"address": self.address}, allocate=allocators)
        made: tuple[Array, ...] = self.make(addresses)
        return made

    def _allocators(self) -> list[Callable[[], Array]]:
        like = self._request.like
        return [like.reader.allocator(like.like, out.shape, out.dtype) for out in self._request.writes.values()]

    def rest(self, given: bool) -> Lines:
        """The rest of a function that makes a call: it has tested the arrays `x#`, and has `address#` of each, `stream` and `late`."""
        count, read = len(self._sizes), len(self._views)
        names = {"streams": _STREAMS, "current": self._current, "stream_handle": stream_handle, "refuse_overlap": self.refuse_overlap,
                 "address": self.address, "result": self._result}
        if given:
            begin = lines_of(_HOLDS.replace("OVERLAP", self._overlap), range(count), names)
        else:
            begin = lines_of(_MAKES, range(read, count), names, allocate=self._allocators())
        sizes = {f"size{i}": size for i, size in enumerate(self._sizes)}
        results = ", ".join(f"x{i}" for i in range(read, count))
        end = Lines(f"    return result({results})\n" if self._result else f"    return {results}\n", sizes)
        return joined(begin, self.device.launching(self._start, count), end)

    def refuse_overlap(self, addresses: list[int]) -> None:
        """Refuses a result of the caller's that overlaps another array of the call. Their spans do: ``overlap`` has told it."""
        refuse(self._places, self._request.may_share, addresses)

    def go(self, addresses: list[int], outs: Any, stream: int, late: Optional[dict[str, Any]] = None) -> R:
        """Launches. The arrays have been checked; of values that are not in `late` those of the plan hold."""
        if self._handle is None:
            raise Closed("the plan is closed", hint="make another one: FUNCTION.plan(...)")
        late = (late or {}) if self._late else None
        if self._waits:
            self.device.synchronize()
        try:
            self._launch(addresses, self._sizes, _STREAMS[stream], late)
        except InvalidArgument as error:
            raise self._request.of_address(error) from None
        if self._waits:
            self.device.synchronize(stream)
        result: R = self._result(*outs) if self._result else outs[0] if self._single else outs
        return result

    def _accept(self, arrays: Any, outs: Any) -> None:
        """Holds arrays that the plan has not seen before against those that it was made for."""
        names = [view.name for view in self._views]
        if len(arrays) != len(names):
            raise InvalidArgument.of("arrays", len(arrays), f"were given; this plan takes {len(names)}: {', '.join(names)}")
        if len(outs) != len(self._request.writes):
            raise InvalidArgument.of("out", len(outs), f"arrays were given; this plan writes {len(self._request.writes)}")
        for x, mine in zip(arrays, self._views):
            view = view_of(x, mine.name, mine.slot)
            if view.layout != mine.layout:
                raise view.refuse("it is", view.described, f"; the plan was made for {mine.described}", "make a plan for it")
        for x, spec in zip(outs, self._request.writes.values()):
            view = view_of(x, "out", 0)
            if spec.given is not None and view.layout != spec.given.layout or view.device != self._request.like.device:
                raise view.refuse("it is", view.described, "; the plan was made for another out", "make a plan with it")
            check_out(view, spec._replace(strided=spec.given is not None))

    @property
    def _kernel(self) -> Any:
        if self._handle is None:
            raise Closed("the plan is closed", hint="make another one: FUNCTION.plan(...)")
        return self._request.kernel_of(self._handle)

    @property
    def ptx(self) -> str:
        """The kernel's text.

        >>> import clusterjit, numpy
        >>> ".entry" in clusterjit.softmax.plan(numpy.ones((4, 8), numpy.float32)).ptx
        True
        """
        return text(lib.cj_kernel_ptx(self._kernel))

    @property
    def workspace_bytes(self) -> int:
        """The device memory that a launch works in; launches that share it need an order. 0: there is none.

        >>> import clusterjit, numpy
        >>> clusterjit.softmax.plan(numpy.ones((4, 8), numpy.float32)).workspace_bytes
        0
        """
        return int(lib.cj_kernel_plan(self._kernel).workspace_bytes)

    @property
    def error_bound(self) -> float:
        """Of a rounded result, as the family's header says; 0 if it is exact, NaN if nothing is known.

        >>> import clusterjit, numpy
        >>> clusterjit.sum.plan(numpy.ones(1000, numpy.int32)).error_bound
        0.0
        """
        return float(lib.cj_kernel_plan(self._kernel).error_bound)

    @property
    def shape(self) -> dict[str, tuple[int, int, int]]:
        """grid, block and cluster, each (x, y, z); the cluster is (0, 0, 0) if the kernel has none.

        >>> import clusterjit, numpy
        >>> clusterjit.sum.plan(numpy.ones(1000, numpy.int32), cluster=4).shape["cluster"]
        (4, 1, 1)
        """
        plan = lib.cj_kernel_plan(self._kernel)
        return {name: (d.x, d.y, d.z) for name in ("grid", "block", "cluster") for d in [getattr(plan, name)]}

    @property
    def note(self) -> str:
        """What the plan changed of what was asked, and why; or empty.

        >>> import clusterjit, numpy
        >>> clusterjit.sum.plan(numpy.ones(1000, numpy.int32), cluster=4).note
        ''
        """
        return text(lib.cj_kernel_plan(self._kernel).note)

    def close(self) -> None:
        """Frees the kernel. Its launches must have ended.

        >>> import clusterjit, numpy
        >>> plan = clusterjit.sum.plan(numpy.ones(1000, numpy.int32))
        >>> plan.close()
        """
        if self._handle is not None:
            self._destroy(self._handle)
            self._handle = None
            self._given, self._made = Known(None), Known(None)  # a call that repeats the one before does not ask for the handle

    def __enter__(self) -> Plan[R]:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _bytes(out: Out) -> int:
    if out.given is not None:
        return out.given.bytes
    return math.prod(out.shape) * size_of(out.dtype)


def _repeat(args: tuple[Any, ...], kwargs: dict[str, Any], outs: tuple[Any, ...], late: Optional[dict[str, Any]], test: Lines, rest: Lines) -> Any:
    """A function of `args`, `kwargs`, `outs` and `stream` that makes a later call like this one; of any other it returns None. It is one
    function, since each one that it called would take 0.05 to 0.1 us.
    """
    return function_of(arguments_as(args, kwargs, len(outs), _is_array, late), test, rest)


class _Entry(Generic[R]):
    """The plans of one key: one for all streams if it has no workspace, else one for each."""

    def __init__(self, request: Request[R]) -> None:
        self.request, self.device = request, device_of(request.like.device)
        self.current = request.like.reader.current(self.device.ordinal)
        self.plans: dict[int, Plan[R]] = {}
        self.common: Optional[Plan[R]] = None
        self.captured: Optional[Plan[R]] = None  # with a workspace, for launches that are captured into graphs

    def plan(self, stream: int) -> Plan[R]:
        return self.common or self.plans.get(stream) or self._make(stream)

    def _make(self, stream: int) -> Plan[R]:
        if self.device.kind == "gpu" and self.device.is_capturing(stream):
            if not self.captured:
                raise InvalidArgument("a first call cannot be captured: it loads the kernel", hint="call it once before the capture")
            return self.captured
        made = Plan(self.request, self.device)
        if not made.workspace_bytes:
            self.common = made
        else:
            self.plans[stream] = made
            if self.device.kind == "gpu" and not self.captured:
                self.captured = Plan(self.request, self.device)
        return made


def _is_number(value: Any) -> bool:
    return value is not None and type(value) is not bool and READERS[type(value)] is None


#: The key of a Function's last call (one that repeats itself needs no hash), its arrays, and its plans.
_NO_CALL = None, Known(None), None


def _is_array(value: Any) -> bool:
    return READERS[type(value)] is not None


class Function(Generic[P, R]):
    """A function of the library. ``f(x, ...)`` runs it at once, ``f.plan(x, ...)`` makes a :class:`Plan` to run again and again."""

    def __init__(self, body: Callable[P, Request[R]]) -> None:
        self._body, self._signature = body, inspect.signature(body)
        self._arrays = {name for name, parameter in self._signature.parameters.items() if "Array" in str(parameter.annotation)}
        self._late = {name for name, parameter in self._signature.parameters.items() if "Value" in str(parameter.annotation)}
        self._named = [name for name, parameter in self._signature.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
        self._entries: dict[Any, _Entry[R]] = {}
        self._last: tuple[Any, Known, Any] = _NO_CALL
        functools.update_wrapper(self, body)
        result = str(self._signature.return_annotation)
        self.__signature__ = self._signature.replace(return_annotation=result[len("Request["):-1])  # of what a call returns
        bare = [parameter.replace(annotation=parameter.empty) for parameter in self._signature.parameters.values()]
        self.__doc__ = f"{body.__name__}{inspect.Signature(bare)}\n\n{inspect.getdoc(body)}"  # help() shows no more of an object

    def __repr__(self) -> str:
        return f"<function clusterjit.{self._body.__name__}>"

    def __reduce__(self) -> str:
        return self._body.__name__  # copied and pickled by name, as any function

    def _call(self, *args: Any, out: Any = None, stream: Any = None, **kwargs: Any) -> R:
        outs: tuple[Any, ...] = () if out is None else out if type(out) is tuple else (out,)
        repeat = self._last[1].repeat
        if repeat:
            result: Optional[R] = repeat(args, kwargs, outs, stream)
            if result is not None:
                return result
        addresses, entry, late = self._find(args, kwargs, outs)
        return self._run(entry, addresses, outs, stream, late)

    def _run(self, entry: _Entry[R], addresses: list[int], outs: tuple[Any, ...], stream: Any, late: Optional[dict[str, Any]]) -> R:
        """Makes a call with the entry's plan for its stream."""
        handle = entry.current() if stream is None else stream_handle(stream)
        plan = entry.common or entry.plans.get(handle) or self._make(entry, handle)
        if not outs:
            outs = plan.make(addresses)
        elif plan.overlap(addresses):
            plan.refuse_overlap(addresses)
        return plan.go(addresses, outs, handle, late)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any], outs: tuple[Any, ...]) -> tuple[list[int], _Entry[R], Any]:
        """The addresses of the arrays, the plans for such arguments, and the values that this call gives anew."""
        key: list[Any] = [len(args), *kwargs]
        arrays: list[Array] = []
        given, late = kwargs.values(), None  # type: Any, Any
        if self._late:
            given, late = self._split(kwargs)
        for value in (*args, *given) if kwargs else args:
            reader = READERS[type(value)]
            if reader:
                key.append(reader)
                arrays.append(value)
            else:
                key.append(type(value))  # 2.0 and True equal 2 and 1, but are other arguments
                key.append(tuple(value) if type(value) is list else value)
        last, known, entry = self._last
        addresses = known.test((*arrays, *outs)) if known.test and key == last else None
        if addresses is None:
            keys, addresses = read_all(arrays, outs)
            if key != last or keys != known.keys:
                entry = self._entry(key, keys, args, kwargs, outs)
                self._last = key, Known(keys), entry
            elif known.test is None:
                known.learn(arrays, outs, addresses)
                if known.lines:
                    by_stream = lines_of(_BY_STREAM, range(len(addresses)), {"run": self._run, "entry": entry})
                    rest = entry.common.rest(bool(outs)) if entry.common else by_stream
                    known.repeat = _repeat(args, kwargs, outs, late, known.lines, rest)
        return addresses, entry, late

    def _entry(self, key: list[Any], keys: list[Any], args: Any, kwargs: Any, outs: Any) -> _Entry[R]:
        whole = tuple(key), tuple(keys)
        try:
            found = self._entries.get(whole)
        except (TypeError, ValueError):  # an argument has no hash, as a list of lists or a memoryview: the request refuses it by name
            return _Entry(self._request(args, kwargs, outs))
        return found or self._entries.setdefault(whole, _Entry(self._request(args, kwargs, outs)))

    def _make(self, entry: _Entry[R], stream: int) -> Plan[R]:
        """The entry's plan for this stream; an entry without any plan is not kept."""
        try:
            return entry.plan(stream)
        except BaseException:
            if not entry.common and not entry.plans:
                self._last = _NO_CALL
                for key, kept in list(self._entries.items()):
                    if kept is entry:
                        self._entries.pop(key, None)
            raise

    if TYPE_CHECKING:  # with the names and the types of the body's parameters
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    else:
        __call__ = _call

    def _split(self, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments by name, with a type in place of each number that a call may give anew; and those numbers."""
        late = {name: kwargs[name] for name in self._late & kwargs.keys() if _is_number(kwargs[name])}
        return [float if name in late else value for name, value in kwargs.items()], late

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> Plan[R]:
        """A plan for these arguments: their arrays say shapes, strides and types; their contents are not read.

        >>> import clusterjit, numpy
        >>> x = numpy.ones((4, 8), numpy.float32)
        >>> plan = clusterjit.softmax.plan(x, scale=0.5)
        >>> for step in range(3):
        ...     y = plan(x)
        """
        out = kwargs.pop("out", None)
        kwargs.pop("stream", None)
        request = self._request(args, kwargs, () if out is None else out if type(out) is tuple else (out,))
        return Plan(request, device_of(request.like.device))

    def forget(self) -> None:
        """Lets go of the plans that calls have made. Their launches must have ended.

        >>> import clusterjit
        >>> clusterjit.softmax.forget()
        """
        self._entries.clear()
        self._last = _NO_CALL

    def _refuse_unknown(self, kwargs: dict[str, Any]) -> None:
        """Refuses what no parameter is called, of a function that has no further keywords for its plan."""
        unknown = [name for name in kwargs if name not in self._named]
        if unknown and len(self._named) == len(self._signature.parameters):
            raise InvalidArgument.of(unknown[0], None, f"{self._body.__name__} has no such parameter; it has {', '.join(self._named)}",
                                     "its plan has no parameters: the library chooses it by the shape")

    def _request(self, args: Any, kwargs: Any, outs: tuple[Any, ...]) -> Request[R]:
        """What the body asks for, with views in place of arrays."""
        slots = itertools.count()

        def viewed(name: str, value: Any) -> Any:
            parameter = self._signature.parameters[name]
            if name in self._arrays and (value is not None or parameter.default is parameter.empty):
                return view_of(value, name, next(slots))
            if name in self._late and READERS[type(value)] is not None:
                return view_of(value, name, next(slots))
            check_scalar(name, str(parameter.annotation), value)
            return tuple(value) if type(value) is list else value

        self._refuse_unknown(kwargs)
        self._signature.bind(*args, **kwargs)  # else a TypeError, as of any function
        positional = [viewed(name, value) for name, value in zip(self._signature.parameters, args)]
        named = {name: viewed(name, value) for name, value in kwargs.items() if name in self._named}
        if outs:
            views = tuple(view_of(x, f"out[{i}]" if len(outs) > 1 else "out", 0) for i, x in enumerate(outs))
            named["out"] = views
        request = self._body(*positional, **named)
        plan = {name: value for name, value in kwargs.items() if name not in self._named and value is not None}  # None: the plan chooses
        request.tell(self._body.__name__, plan)
        if outs and len(outs) != len(request.writes):
            raise InvalidArgument.of("out", len(outs), f"arrays were given; {self._body.__name__} writes {len(request.writes)}: "
                                     f"{', '.join(request.writes)}", "give a tuple of as many")
        return request
