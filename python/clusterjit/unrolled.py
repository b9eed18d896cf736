# SPDX-License-Identifier: Apache-2.0
"""Functions made of lines: a call of one more function takes 0.05 to 0.1 us and a pass of a loop 0.1 us, as much as what is done to an array.

A text is lines with `#` for the number of an array: a line that has one stands once for each array, and so does what is between `{` and
`}`. Names that it does not define are those of `names`, where a list `NAME#` has a value for each array. Lines of several texts
make one function: in all of them an array is `x#`, its address `address#` and its bytes `size#`, in the order of the call and then of the
results. What depends on shapes is a value of a name and not in the text, since the code of each text is kept.
"""
from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Any, Callable, Container, NamedTuple, Optional, Sequence


class Lines(NamedTuple):
    """Lines of a function, and what the names in them stand for."""

    text: str
    names: dict[str, Any]


@functools.lru_cache(maxsize=None)
def _expanded(text: str, numbers: range) -> str:
    def repeat(pattern: str) -> str:
        return "".join(pattern.replace("#", str(i)) for i in numbers)

    text = re.sub(r"\{(.*?)\}", lambda found: repeat(found[1]), text)
    return "".join(repeat(line) if "#" in line else line for line in text.splitlines(True))


@functools.lru_cache(maxsize=None)
def _code(text: str) -> CodeType:
    return compile(text, "<unrolled>", "exec")


def lines_of(text: str, numbers: range, names: dict[str, Any], **lists: Sequence[Any]) -> Lines:
    """The lines of a text, for arrays with these numbers."""
    scope = dict(names)
    for name, values in lists.items():
        scope.update((f"{name}{i}", value) for i, value in zip(numbers, values))
    return Lines(_expanded(text, numbers), scope)


def joined(*parts: Lines) -> Lines:
    """Lines after each other. A name stands for one thing in all of them."""
    names: dict[str, Any] = {}
    for part in parts:
        assert all(names.get(name, value) is value for name, value in part.names.items())
        names.update(part.names)
    return Lines("".join(part.text for part in parts), names)


def function_of(*parts: Lines) -> Any:
    """The function `call` that the lines define."""
    text, scope = joined(*parts)
    exec(_code(text), scope)
    return scope["call"]


def unrolled(text: str, count: int, names: dict[str, Any], **lists: Sequence[Any]) -> Any:
    """The function `call` that the text defines, for so many arrays."""
    return function_of(lines_of(text, range(count), names, **lists))


# A test (Reader.test) has lines that return None unless the arrays `x#` are like those that it was made for, and that set `address#` of each.
_ARRAYS = """
def call(arrays):
    try:
        [{x#, }] = arrays
    except ValueError:
        return None
"""
_ADDRESSES = "    return [{address#, }]\n"


def tester(test: Lines, count: int) -> Any:
    """A function of so many arrays: their addresses, or None if they fail the test."""
    numbers = range(count)
    return function_of(lines_of(_ARRAYS, numbers, {}), test, lines_of(_ADDRESSES, numbers, {}))


_ARGUMENTS = """
def call(args, kwargs, outs, stream):
    if len(kwargs) != COUNT: return None
    try:
        [POSITIONAL] = args
        KEYWORDS
        [OUTS] = outs
    except (ValueError, KeyError):
        return None
"""
_SAME_TYPE = "    if type(v#) is not type#: return None\n"
_SAME_VALUE = "    if v# is not value# and (type(v#) is not type# or v# != value#): return None\n"


def arguments_as(args: Sequence[Any], kwargs: dict[str, Any], outs: int, is_array: Callable[[Any], bool], late: Optional[Container[str]]) -> Lines:
    """How a function begins, of a later call's `args`, `kwargs`, as many `outs`, and `stream`: it returns None unless all arguments that are no
    arrays are those of this call. Its values of the names in `late` may be other ones: these become the dictionary `late`.
    """
    names: dict[str, Any] = {}
    variables, checks, numbers, arrays = [], "", "", 0
    for i, (place, value) in enumerate(zip([*[""] * len(args), *kwargs], [*args, *kwargs.values()])):
        if is_array(value):  # which is not kept alive
            variables.append(f"x{arrays}")
            arrays += 1
            continue
        variables.append(f"v{i}")
        names[f"type{i}"], names[f"value{i}"] = type(value), list(value) if type(value) is list else value
        is_late = late is not None and place in late
        checks += (_SAME_TYPE if is_late else _SAME_VALUE).replace("#", str(i))
        numbers += f"{place!r}: v{i}, " if is_late else ""
    words = {"COUNT": str(len(kwargs)), "POSITIONAL": ", ".join(variables[:len(args)]), "OUTS": ", ".join(f"x{arrays + i}" for i in range(outs)),
             "KEYWORDS": "; ".join(f"{variable} = kwargs[{name!r}]" for variable, name in zip(variables[len(args):], kwargs))}
    text = re.sub("|".join(words), lambda found: words[found[0]], _ARGUMENTS)
    return Lines(text + checks + f"    late = {'None' if late is None else f'{{{numbers}}}'}\n", names)
