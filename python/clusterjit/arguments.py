# SPDX-License-Identifier: Apache-2.0
"""Values of a call as fields of the library's structures, and a plan's addresses as the arguments of its run."""
from __future__ import annotations

import functools
import re
from typing import Any, Mapping, NoReturn, Sequence

from ._library import ffi, sized
from .arrays import READERS, View
from .errors import InvalidArgument, UnsupportedType
from .unrolled import Lines, lines_of


def assign(structure: Any, kind: Any, name: str, value: Any) -> None:
    """A field of a description; of an enum also by a word: "box" for CJ_STENCIL_BOX."""
    if isinstance(value, str) and kind.cname != "_Bool":
        if kind.kind != "enum":
            raise InvalidArgument.of(name, value, "is no number", "give one")
        words = _words(kind.relements)
        if value not in words:
            raise InvalidArgument.of(name, value, f"is none of {', '.join(words)}", "give one of them")
        value = words[value]
    try:
        setattr(structure, name, value)
    except (OverflowError, TypeError):
        raise InvalidArgument.of(name, value, *_limit(kind, value)) from None


def described(kind: str, fields: Mapping[str, Any]) -> Any:
    """A structure of the library's with these fields, of which it names one that cannot hold its value."""
    structure, members = sized(kind), dict(ffi.typeof(kind).fields)
    for name, value in fields.items():
        assign(structure, members[name].type, name, value)
    return structure


def refuse_array(name: str, value: Any) -> None:
    if READERS[type(value)] is not None:
        raise InvalidArgument.of(name, type(value).__name__, "was given, and no array is taken here", "give a number, x.item(), or a list, x.tolist()", what="a")


# What a value of a parameter with this annotation must have, and must be.
_SCALARS = {"bool": ("__bool__", "is neither True nor False"), "int": ("__index__", "is no whole number"), "float": ("__float__", "is no number"),
            "Value": ("__float__", "is no number")}


def check_scalar(name: str, annotation: str, value: Any) -> None:
    """Refuses a value that is none of its parameter's annotation: an array, True for a number, a word for True."""
    refuse_array(name, value)
    bare = annotation[len("Optional["):-1] if annotation.startswith("Optional[") else annotation
    if value is None and bare == annotation == "str":
        raise InvalidArgument.of(name, value, "is no word", "leave it out for the default")
    if bare not in _SCALARS or value is None and bare != annotation:
        return
    attribute, limit = _SCALARS[bare]
    fits = value in (True, False) if bare == "bool" else hasattr(value, attribute) and not isinstance(value, bool)
    if not fits:
        raise InvalidArgument.of(name, value, limit, "give one" if bare != "bool" else "give one of them")


def text_of(name: str, value: Any) -> str:
    """The value of a parameter that is a text."""
    if not isinstance(value, str):
        raise UnsupportedType.of(name, type(value).__name__, "is no text", "give a str", what="a")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument.of(name, value[error.start], f"at character {error.start} cannot be written as UTF-8", "leave it out") from None
    return value


def c_text(name: str, value: Any) -> bytes:
    """The same as a C string, which a NUL would end."""
    if "\0" in text_of(name, value):
        raise InvalidArgument.of(name, value, "has a NUL character, which no text has", "leave it out")
    return bytes(value.encode())


_WHOLE = re.compile(r"(unsigned |signed )?(char|short|int|long|long long)|u?int\d+_t|size_t")


def _limit(kind: Any, value: Any) -> tuple[str, str]:
    """What a value of a field must be, and what to do."""
    if kind.cname == "_Bool":
        return _SCALARS["bool"][1], "give one of them"
    if kind.kind == "enum":
        return f"is none of {', '.join(_words(kind.relements))}", "give one of them"
    if kind.kind != "primitive" or not _WHOLE.fullmatch(kind.cname):
        return f"is no {'number' if kind.kind == 'primitive' else kind.cname}", "give one"
    if not hasattr(value, "__index__"):
        return "is no whole number", f"give one: int({value})" if isinstance(value, float) else "give one"
    bits = 8 * ffi.sizeof(kind)
    signed = int(ffi.cast(kind, -1)) < 0
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return f"is outside {low} to {high}", f"give a number that is {'not below ' + str(low) if value < low else 'at most ' + str(high)}"


def check_values(run: Any, values: Mapping[str, Any], above: Mapping[str, tuple[str, str]]) -> None:
    """Refuses what the fields of the run's structure cannot hold, and a 0 of the fields in `above`, which have the limits and hints there."""
    kind = ffi.typeof(run).args[1].item
    structure, members = sized(kind.cname), dict(kind.fields)
    for name, value in values.items():
        assign(structure, members[name].type, name, value)
        if name in above and not value:
            raise _zero(name, above)


def _zero(name: str, above: Mapping[str, tuple[str, str]]) -> InvalidArgument:
    return InvalidArgument.of(name, 0, *above[name])


@functools.lru_cache(maxsize=None)
def _words_of(elements: tuple[tuple[str, int], ...]) -> dict[str, int]:
    prefix = 0
    while len({name[:prefix + 1] for name, _ in elements}) == 1:
        prefix += 1
    prefix = max(elements[0][0][:prefix].rfind("_") + 1, 0)
    return {name[prefix:].lower(): value for name, value in elements}


def _words(elements: dict[str, int]) -> dict[str, int]:
    return _words_of(tuple(sorted(elements.items(), key=lambda element: element[1])))


# How a plan's addresses, in the order of the call and then of the results, become the arguments of its run: lines that set `status`, of the
# addresses, the `stream`, the values `late` that each call gives anew, and the thread's `error`. `unused` are structures that no thread uses now.
_START_OF_STRUCTURE = """
    try:
        structure, words = made = unused.pop()
    except IndexError:
        structure, words = made = new()
    words[place#] = address#
LATE
    status = plan._function(plan._handle, structure, stream, error)
    unused.append(made)
"""
_START_OF_LAUNCH = """
    try:
        (arguments, kept), words = made = unused.pop()
    except IndexError:
        (arguments, kept), words = made = new()
    words[#] = address#
    status = plan._function(plan._handle, stream, arguments, COUNT, error)
    unused.append(made)
"""
# Every value, since a structure holds those of the call that used it before; the plan's where the call gives none. A 0, where the library takes
# it for none, is refused: that is what leaving the value out is for.
_WRITE_LATE = """
    get = late.get
    try:
        FIELDS
    except (OverflowError, TypeError):
        refuse(structure, late)
"""
_START_OF_POINTERS = """
    status = plan._function(plan._handle, ARGUMENTS, stream, error)
"""


def start_of(plan: Any, request: Any, views: Sequence[View]) -> Lines:
    """Lines that run the plan: see the texts above."""
    names = {view.slot: name for name, view in request.reads.items()}
    order = [names[view.slot] for view in views] + list(request.writes)
    first, new = ffi.typeof(plan._function).args[1], request.arguments(plan.device)
    if new:
        text = _START_OF_LAUNCH.replace("COUNT", str(len(order) + 1))
        return lines_of(text, range(len(order)), {"plan": plan, "unused": [], "new": new})
    if first.kind == "pointer":  # to a structure, cj_NOUN_arrays
        return _start_of_structure(plan, request, order, first.item)
    arguments = ", ".join(f"address{order.index(name)}" if name in order else "0" for name in request.run_arrays)
    return Lines(_START_OF_POINTERS.replace("ARGUMENTS", arguments), {"plan": plan})


def _start_of_structure(plan: Any, request: Any, order: list[str], kind: Any) -> Lines:
    members, late, above = dict(kind.fields), request.late, request.above

    def new() -> tuple[Any, Any]:
        """A structure for the run's arrays, and its words of 8 bytes."""
        structure = sized(kind.cname, request.values)
        return structure, memoryview(ffi.buffer(structure)).cast("B").cast("Q")

    def refuse(structure: Any, given: dict[str, float]) -> None:
        """Names the value that is none of its field's."""
        for name, value in given.items():
            assign(structure, members[name].type, name, value)

    def refuse_zero(name: str) -> NoReturn:
        raise _zero(name, above)

    scope = {"plan": plan, "unused": [], "new": new, "refuse": refuse, "refuse_zero": refuse_zero, **{f"plan_{name}": value for name, value in late.items()}}
    fields = "; ".join(f"structure.{name} = get({name!r}, plan_{name})" + f" or refuse_zero({name!r})" * (name in above) for name in late)
    text = _START_OF_STRUCTURE.replace("LATE", _WRITE_LATE.replace("FIELDS", fields) if fields else "")
    return lines_of(text, range(len(order)), scope, place=[members[name].offset // 8 for name in order])
