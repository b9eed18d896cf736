# SPDX-License-Identifier: Apache-2.0
"""What a call asks of the library: the description of the problem, the arrays that are read, and what is written.

The body of a function (families.py) makes a Request of its arguments, in which a View stands for each array.
"""
from __future__ import annotations

import re
from typing import Any, Callable, Generic, NamedTuple, Optional, TypeVar

from ._library import dtype_number, ffi, lib, made, sized
from .arguments import assign, c_text, check_values, refuse_array
from .arrays import Shape, View, contiguous, reader_of
from .devices import Device
from .errors import InvalidArgument, UnsupportedType
from .overlap import Place

R = TypeVar("R")

NO_CLUSTER = {"cj_reduce", "cj_argmax", "cj_topk", "cj_sort", "cj_sample"}  # where a cluster of UINT32_MAX means none; elsewhere 0 is the default, or 1
FUNCTIONS = {"map": ("x",), "op_function": ("a", "b"), "identity": ()}  # fields that are expressions in CUDA C, of these arguments
HINTS = dict.fromkeys(("axis", "keepdims"), "the function takes all elements of x together, whatever its shape")  # of NumPy's words
# What a plan may be told, where its family has it: these choose how a kernel works, and none changes what it computes but `map`, which says it.
# All other fields of a description are what the arrays and the arguments of a function say.
PLAN = ("cluster", "block", "grid", "strategy", "form", "tile", "depth", "parts", "lanes", "cluster_n", "split", "map")
_PARAMETERS = {"smoothing": "label_smoothing", "ignore": "ignore_index", "epsilon": "eps", "op_function": "op", "cj_gemm.out": "dtype"}  # of fields with other names


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
    returned of the arrays that were written; None: themselves. ``in_place``: the array that is read which the one result may be.
    """

    def __init__(self, noun: str, fields: dict[str, Any], reads: dict[str, Optional[View]], writes: dict[str, Out], *,
                 run: str = "run", values: Optional[dict[str, float]] = None, late: Optional[dict[str, float]] = None,
                 above: Optional[dict[str, tuple[str, str]]] = None, run_arrays: tuple[str, ...] = (),
                 result: Optional[Callable[..., Any]] = None, in_place: str = "") -> None:
        self.in_place = in_place
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
        hints = HINTS if self.noun in ("cj_reduce", "cj_histogram") else {}
        for name, value in plan.items():
            if name not in mine:
                raise InvalidArgument.of(name, None, f"{function} has no such keyword; those of its plan are {', '.join(mine)}",
                                         hints.get(name, f"help(clusterjit.{function}) has the other ones"))
            refuse_array(name, value)
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
            if view.align < view.size:
                raise view.refuse("its address is a multiple of", view.align, f"bytes alone; elements of {view.dtype} need {view.size}", "copy it: x.copy()")
            if view.device != self.like.device:
                raise view.refuse("it is in", view.place, f", but {self.like.name} in {self.like.place}", "move one of them: x.to(y.device)")
        for name, out in self.writes.items():
            if out.given is not None:
                check_out(out.given, out)

    def create(self, device: Device) -> Any:
        """The library's handle."""
        try:
            desc, kept = self.describe()
            handle = made(self.noun + " *", getattr(lib, self.noun + "_create"), device.handle, desc)
        except InvalidArgument as error:
            raise self._of_parameter(error) from None
        del kept  # the library has copied what the description points to
        return handle

    def _of_parameter(self, error: InvalidArgument) -> InvalidArgument:
        """The same refusal of the parameter that a field's value came from."""
        if error.field == "dtype" and error.value == self.like.dtype and error.limit:
            return self.like.refuse("its dtype is", error.value, "; it " + error.limit.replace("is none of:", "must be one of:"),
                                    f"convert it: {self.like.name}.astype(...), {self.like.name}.to(...)", UnsupportedType)
        field = error.field or error.message.split(":")[0]
        name = _PARAMETERS.get(f"{self.noun}.{field}") or _PARAMETERS.get(field)
        if not name:
            return error
        hint = re.sub(rf"\b{field}\b", name, error.hint)
        return InvalidArgument(name + error.message[len(field):], field=name, value=error.value, limit=error.limit, hint=hint)

    def of_address(self, error: InvalidArgument) -> InvalidArgument:
        """The same refusal of an array's address by the name that the caller knows; other refusals as they are."""
        if not (error.limit or "").startswith("is not a multiple of"):
            return error
        names = {name: view.name for name, view in self.reads.items()}
        names.update((name, f"out[{i}]" if len(self.writes) > 1 else "out") for i, name in enumerate(self.writes))
        name = names.get(error.field or "", error.field or "")
        return InvalidArgument.of(name, error.value, error.limit or "", f"give a copy, {name}.copy(), or try a plan that is made with it", what="its address")

    def places(self) -> list[Place]:
        """Where the arrays lie that are read, and the results, which are contiguous unless they are given."""
        like, count = self.like, len(self.writes)
        outs = [out.given or like._replace(dtype=out.dtype, shape=out.shape, strides=contiguous(out.shape)) for out in self.writes.values()]
        return ([Place.of(view, view.name, False) for view in self.views]
                + [Place.of(view, f"out[{i}]" if count > 1 else "out", True) for i, view in enumerate(outs)])

    def may_share(self, a: Place, b: Place) -> bool:
        """Whether `b` may be written in place of `a`, which is read."""
        return a.name == self.in_place and b.written and a.layout == b.layout

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
        raise InvalidArgument.of(_PARAMETERS.get(field, field), expression, "is no expression in CUDA C", "give a text")
    words = [ffi.new("char[]", name.encode()) for name in names]
    source = ffi.new("char[]", c_text(_PARAMETERS.get(field, field), expression))
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


def view_of(x: Any, name: str, slot: int) -> View:
    view: View = reader_of(x, name).view(x, name, slot)
    if 0 in view.shape:
        raise view.refuse("its shape", view.shape, "has no elements; at least one is needed", "leave out the call where there is nothing to do")
    return view
