# SPDX-License-Identifier: Apache-2.0
"""From a Python call to a call of the library.

The body of a function (families.py) makes a Request of its arguments, in which a View stands for each array: the library's
description of the problem, the arrays that are read, and what is written. A Request makes a Plan, a handle of the library. A
Function keeps plans under the key of its arguments; so the second call with such arguments reads arrays, finds the plan,
allocates the result, and launches.
"""
from __future__ import annotations

import functools
import inspect
import itertools
import math
import sys
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, Optional, TypeVar, Union

from ._library import check, dtype_number, ffi, lib, made, sized, text, thread
from .arguments import assign, check_values, start_of
from .arrays import READERS, Array, Known, Shape, View, read_all, reader_of, size_of, stream_handle
from .devices import Device, device_of
from .errors import Closed, InvalidArgument, UnsupportedType
from .unrolled import matcher, unrolled

if sys.version_info >= (3, 10):
    from typing import ParamSpec
else:  # the annotations are not evaluated
    ParamSpec = TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Value = Union[float, Any]  # a number that each call may give anew, of the same plan; or an array

NO_CLUSTER = {"cj_reduce", "cj_argmax", "cj_topk", "cj_sort", "cj_sample"}  # where a cluster of UINT32_MAX means none; elsewhere 0 is the default, or 1
FUNCTIONS = {"map": ("x",), "op_function": ("a", "b"), "identity": ()}  # fields that are expressions in CUDA C, of these arguments
HINTS = dict.fromkeys(("axis", "keepdims"), "the function takes all elements of x together, whatever its shape")  # of NumPy's words
# What a plan may be told, where its family has it: these choose how a kernel works, and none changes what it computes but `map`, which says it.
# All other fields of a description are what the arrays and the arguments of a function say.
PLAN = ("cluster", "block", "grid", "strategy", "form", "tile", "depth", "parts", "lanes", "cluster_n", "split", "map")
_STREAMS: dict[int, Any] = {0: ffi.NULL}


class Out(NamedTuple):
    """An array that a call writes. ``given``: the caller's own."""

    shape: Shape
    dtype: str
    given: Optional[View] = None
    strided: bool = False  # the caller's own may have gaps between its rows


class Request(Generic[R]):
    """What a call asks of the library: of the calls `cj_NOUN_create` and `cj_NOUN_RUN`, with the fields of `cj_NOUN_desc`.

    ``reads`` and ``writes`` are in the order of the call's parameters, or have the names of the fields of its structure;
    ``values`` are further fields of that, and ``late`` those which each call may give anew; of those in ``above``, with their limits and
    hints, a 0 is refused. ``run_arrays`` are the call's arrays where some are left out (0 stands for them); ``result`` makes what is
    returned of the arrays that were written; None: themselves.
    """

    def __init__(self, noun: str, fields: dict[str, Any], reads: dict[str, Optional[View]], writes: dict[str, Out], *,
                 run: str = "run", values: Optional[dict[str, float]] = None, late: Optional[dict[str, float]] = None,
                 above: Optional[dict[str, tuple[str, str]]] = None, run_arrays: tuple[str, ...] = (),
                 result: Optional[Callable[..., Any]] = None) -> None:
        self.noun, self.run, self.values, self.late, self.above = "cj_" + noun, run, values or {}, late or {}, above or {}
        self.run_arrays = run_arrays or (*(name for name in reads if reads[name] is not None), *writes)
        self.fields = fields
        self.reads = {name: view for name, view in reads.items() if view is not None}
        self.writes = writes
        self.result = result
        self._check()
        if self.values:
            check_values(getattr(lib, f"{self.noun}_{self.run}"), self.values, self.above)

    def parameters(self) -> list[str]:
        """The names of the fields of the description."""
        return [name for name, _ in ffi.typeof(f"{self.noun}_desc").fields[1:]]  # the first one is the size

    def tell(self, function: str, plan: dict[str, Any]) -> None:
        """Adds the keywords of a call that are its plan's; refuses others."""
        mine = [name for name in self.parameters() if name in PLAN]
        for name, value in plan.items():
            if name not in mine:
                raise InvalidArgument.of(name, None, f"{function} has no such keyword; those of its plan are {', '.join(mine)}",
                                         HINTS.get(name, f"help(clusterjit.{function}) has the other ones"))
            if name != "cluster" and value == 0 and isinstance(value, int):
                raise InvalidArgument.of(name, value, "is not above 0", "leave it out: the plan chooses it")
        self.fields.update(plan)

    def instead(self, reads: dict[str, View], write: Out) -> Request[R]:
        """The same with the arrays as the caller has them, where the body has given them other shapes."""
        self.reads.update(reads)
        self.writes = dict.fromkeys(self.writes, write)
        self._check()
        return self

    @property
    def views(self) -> list[View]:
        """The arrays that are read, in the order of the call."""
        return sorted(self.reads.values(), key=lambda view: view.slot)

    @property
    def like(self) -> View:
        """The array whose library makes the results."""
        return self.views[0]

    def _check(self) -> None:
        for view in self.views:
            if min(view.strides, default=0) < 0:
                raise view.refuse("strides", view.strides, "are below 0", "copy it: numpy.ascontiguousarray(x)")
        given = [out.given for out in self.writes.values() if out.given is not None]
        for view in self.views + given:
            if view.device != self.like.device:
                raise view.refuse("it is in", view.place, f", but {self.like.name} in {self.like.place}", "move one of them: x.to(y.device)")
        for name, out in self.writes.items():
            if out.given is not None:
                check_out(out.given, out)

    def create(self, device: Device) -> Any:
        """The library's handle."""
        desc, kept = self.describe()
        handle = made(self.noun + " *", getattr(lib, self.noun + "_create"), device.handle, desc)
        del kept  # the library has copied what the description points to
        return handle

    def kernel_of(self, handle: Any) -> Any:
        return getattr(lib, self.noun + "_kernel")(handle)

    def arguments(self, device: Device) -> Any:
        """Of a kernel's launch: see KernelRequest. None: the run has parameters of its own."""
        return None

    def describe(self) -> Any:
        """The library's description, `cj_NOUN_desc`, and what it points to."""
        kind = ffi.typeof(f"{self.noun}_desc")
        known = dict(kind.fields[1:])  # the first one is the size
        desc, kept = sized(kind.cname), []
        for name, value in self.fields.items():
            if name == "cluster" and value == 0 and isinstance(value, int):
                value = 2**32 - 1 if self.noun in NO_CLUSTER else int(self.noun in ("cj_stencil", "cj_gemm"))
            if isinstance(value, dict):
                for inner, item in value.items():
                    assign(getattr(desc, name), dict(known[name].type.fields)[inner].type, inner, item)
            elif name in FUNCTIONS and value is not None:
                kept.append(_user_function(name, FUNCTIONS[name], value, lib.cj_dtype_arithmetic(dtype_number(self.fields["dtype"]))))
                setattr(desc, name, kept[-1])
            elif isinstance(value, tuple) and known[name].type.kind == "pointer":
                kept.append(ffi.new("double[]", value))
                setattr(desc, name, kept[-1])
            elif value is not None:
                assign(desc, known[name].type, name, value)
        return desc, kept


def _user_function(field: str, names: tuple[str, ...], expression: str, dtype: int) -> Any:
    """An expression in CUDA C of arguments with these names, compiled."""
    if not isinstance(expression, str):
        raise InvalidArgument.of(field, expression, "is no expression in CUDA C", "give a text")
    words = [ffi.new("char[]", name.encode()) for name in names]
    source = ffi.new("char[]", expression.encode())
    signature = {"result": dtype, "count": len(names), "argument": [dtype] * len(names), "name": words}
    desc = sized("cj_cuda_desc", {"expression": source, "signature": signature})
    return ffi.gc(made("cj_user_function *", lib.cj_function_from_cuda, desc), lib.cj_user_function_destroy)


def check_out(view: View, out: Out) -> None:
    if view.dtype != out.dtype and not (view.dtype[0] in "iu" and view.dtype[1:] == out.dtype[1:] and out.dtype[0] in "iu"):
        raise view.refuse("its dtype is", view.dtype, f"; the result is {out.dtype}", kind=UnsupportedType)
    if view.shape != out.shape:
        raise view.refuse_shape(f"the result's is {out.shape}")
    if not view.writable:
        raise view.refuse("", None, "it is read-only", "give an array that may be written")
    if not view.contiguous and not out.strided:
        raise view.refuse("strides", view.strides, "in elements are not those of a contiguous array", "give a contiguous array")


# The arrays of the results, whose addresses are appended.
_MAKE = """
def call(addresses):
    x# = allocate#()
    addresses.append(address(x#))
    return ({x#, })
"""


class Plan(Generic[R]):
    """A kernel, loaded, for arrays of given shapes, strides and types.

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
        self._start = start_of(self, request, self._views)  # with the arrays' addresses, in the order of the call and then of the results
        like = request.like
        self._waits = like.reader.waits and device.ordinal is not None
        self._plain = not self._waits and device.ordinal is not None  # a launch needs nothing before or after it
        self._current = like.reader.current(device.ordinal)
        self.make: Callable[[list[int]], tuple[Array, ...]] = self._make_first
        self._sizes = [view.bytes for view in self._views] + [_bytes(out) for out in request.writes.values()]
        self._launch = device.launcher(len(self._sizes))
        self._given, self._made = Known(None), Known(None)  # arrays of the last calls that gave `out`, and that did not
        self.address = like.reader.address
        self._result: Any = request.result
        self._single = len(request.writes) == 1

    def __call__(self, *arrays: Array, out: Any = None, stream: Any = None, **late: float) -> R:
        if out is None:
            test = self._made.test
            addresses = test(arrays) if test else None
            if addresses is None:
                addresses = self._read(arrays, None, self._made)
            outs = self.make(addresses)
        else:
            outs = out if type(out) is tuple else (out,)
            test = self._given.test
            addresses = test(arrays + outs) if test else None
            if addresses is None:
                addresses = self._read(arrays, outs, self._given)
        if late and late.keys() - self._late.keys():
            name = next(iter(late.keys() - self._late.keys()))
            raise InvalidArgument.of(name, None, f"a call of this plan has no such value; it has {', '.join(self._late) or 'none'}")
        return self.go(addresses, outs, self._current() if stream is None else stream_handle(stream), late)

    def _read(self, arrays: tuple[Array, ...], outs: Optional[tuple[Array, ...]], known: Known) -> list[int]:
        """The addresses of the caller's arrays, which are held against `known` and those that the plan was made for."""
        given = outs or ()
        keys, addresses = read_all(arrays, given)
        if keys != known.keys:
            self._accept(arrays, self.make([]) if outs is None else outs)
            known.keys, known.test = keys, known.test or None  # a test of earlier ones stays right
        elif known.test is None:
            known.learn(arrays, given, addresses)
        return addresses

    def _make_first(self, addresses: list[int]) -> tuple[Array, ...]:
        """Makes the arrays of the results, whose addresses it appends, and the function that later calls do this with."""
        like, writes = self._request.like, self._request.writes.values()
        allocators = [like.reader.allocator(like.like, out.shape, out.dtype) for out in writes]
        self.make = unrolled(_MAKE, len(writes), {"address": self.address}, allocate=allocators)
        made: tuple[Array, ...] = self.make(addresses)
        return made

    def go(self, addresses: list[int], outs: Any, stream: int, late: Optional[dict[str, Any]] = None) -> R:
        """Launches. The arrays have been checked; of values that are not in `late` those of the plan hold."""
        if self._handle is None:
            raise Closed("the plan is closed", hint="make another one: FUNCTION.plan(...)")
        where = _STREAMS.get(stream)
        if where is None:
            where = _STREAMS.setdefault(stream, ffi.cast("cj_stream", stream))
        late = (late or {}) if self._late else None
        if self._plain:
            status = self._start(addresses, where, late, thread.error)
            if status:
                check(status)
        else:
            if self._waits:
                self.device.synchronize()
            self._launch(addresses, self._sizes, self._start, where, late)
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


def view_of(x: Any, name: str, slot: int) -> View:
    view: View = reader_of(x, name).view(x, name, slot)
    if 0 in view.shape:
        raise view.refuse("its shape", view.shape, "has no elements; at least one is needed", "leave out the call where there is nothing to do")
    return view


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
    return value is not None and READERS[type(value)] is None


#: The key of a Function's last call (one that repeats itself needs no hash), its arrays, its plans, and how many arrays it had if it had
#: no other arguments.
_NO_CALL = None, Known(None), None, None


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
        self._last: tuple[Any, Known, Any, Optional[int]] = _NO_CALL
        functools.update_wrapper(self, body)
        result = str(self._signature.return_annotation)
        self.__signature__ = self._signature.replace(return_annotation=result[len("Request["):-1])  # of what a call returns
        bare = [parameter.replace(annotation=parameter.empty) for parameter in self._signature.parameters.values()]
        self.__doc__ = f"{body.__name__}{inspect.Signature(bare)}\n\n{inspect.getdoc(body)}"  # help() shows no more of an object

    def __repr__(self) -> str:
        return f"<function clusterjit.{self._body.__name__}>"

    def _call(self, *args: Any, out: Any = None, stream: Any = None, **kwargs: Any) -> R:
        outs: tuple[Any, ...] = () if out is None else out if type(out) is tuple else (out,)
        _, known, entry, arrays = self._last  # type: Any, Known, _Entry[R], Optional[int]
        late = addresses = None
        if known.test:
            if len(args) == arrays and not kwargs:
                addresses = known.test(args + outs)
            elif known.match:  # another thread may be about to make it
                found = known.match(args, kwargs, outs)
                if found:
                    addresses, late = found
        if addresses is None:
            addresses, entry, late = self._find(args, kwargs, outs)
        handle = entry.current() if stream is None else stream_handle(stream)
        plan = entry.common or entry.plans.get(handle) or self._make(entry, handle)
        if not outs:
            outs = plan.make(addresses)
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
                key.append(tuple(value) if type(value) is list else value)
        last, known, entry, _ = self._last
        addresses = known.test((*arrays, *outs)) if known.test and key == last else None
        if addresses is None:
            keys, addresses = read_all(arrays, outs)
            if key != last or keys != known.keys:
                entry = self._entry(key, keys, args, kwargs, outs)
                self._last = key, Known(keys), entry, len(arrays) if len(arrays) == len(args) and not kwargs else None
            elif known.test is None:
                known.learn(arrays, outs, addresses)
                known.match = matcher(args, kwargs, bool(outs), _is_array, late or (), known.test)
        return addresses, entry, late

    def _entry(self, key: list[Any], keys: list[Any], args: Any, kwargs: Any, outs: Any) -> _Entry[R]:
        whole = tuple(key), tuple(keys)
        return self._entries.get(whole) or self._entries.setdefault(whole, _Entry(self._request(args, kwargs, outs)))

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
            if name in self._arrays and value is not None or READERS[type(value)] is not None:
                return view_of(value, name, next(slots))
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
