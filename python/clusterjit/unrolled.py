# SPDX-License-Identifier: Apache-2.0
"""Loops over the arrays of a call, unrolled: for two arrays a loop itself takes 0.2 us, as much as what it does to one of them.

A text is a function with `#` for the number of an array: a line that has one stands once for each array, and so does what is between
`{` and `}`. Names that it does not define are those of `names`, where a list `NAME#` has a value for each array.
"""
from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Any, Callable, Container, NamedTuple, Sequence


@functools.lru_cache(maxsize=None)
def _compiled(text: str, count: int) -> CodeType:
    """The code of a text, for so many arrays."""
    def repeat(pattern: str) -> str:
        return "".join(pattern.replace("#", str(i)) for i in range(count))

    text = re.sub(r"\{(.*?)\}", lambda found: repeat(found[1]), text)
    return compile("".join(repeat(line) if "#" in line else line for line in text.splitlines(True)), f"<for {count} arrays>", "exec")


def unrolled(text: str, count: int, names: dict[str, Any], **lists: Sequence[Any]) -> Any:
    """The function `call` that the text defines, for so many arrays."""
    scope = dict(names)
    for name, values in lists.items():
        scope.update((f"{name}{i}", value) for i, value in enumerate(values))
    exec(_compiled(text, count), scope)
    return scope["call"]


class Start(NamedTuple):
    """How a kernel is started: ``lines`` set `status`, of the addresses `address#` of ``count`` arrays, the `stream`, values `late` that each call
    gives anew, and the thread's `error`; ``names`` are what they use.
    """

    lines: str
    count: int
    names: dict[str, Any]


class Test(NamedTuple):
    """How a reader tests arrays: ``lines`` return None unless the arrays `x#` are like those that it was made for, and set `address#`
    of each; ``names`` are what they use.
    """

    lines: str
    names: dict[str, Any]


@functools.lru_cache(maxsize=None)
def _code(text: str) -> CodeType:
    return compile(text, "<for calls as before>", "exec")


def _listed(name: str, count: int, first: int = 0) -> str:
    return "".join(f"{name}{first + i}, " for i in range(count))


_TESTER = """
def call(arrays):
    try:
        [{arrays}] = arrays
    except ValueError:
        return None
{lines}
    return [{addresses}]
"""


def tester(test: Test, count: int) -> Any:
    """A function of so many arrays: their addresses, or None if they fail the test."""
    scope = dict(test.names)
    exec(_code(_TESTER.format(arrays=_listed("x", count), lines=test.lines, addresses=_listed("address", count))), scope)
    return scope["call"]


_MATCHER = """
def call(args, kwargs, outs):
    if len(kwargs) != {named}: return None
    try:
        [{positional}] = args
        {keywords}
        [{outs}] = outs
    except (ValueError, KeyError):
        return None
{values}
{lines}
    return [{addresses}], {late}
"""
_SAME_TYPE = "    if type(v#) is not type#: return None\n"
_SAME_VALUE = "    if v# is not value# and (type(v#) is not type# or v# != value#): return None\n"


def matcher(args: Sequence[Any], kwargs: dict[str, Any], outs: int, is_array: Callable[[Any], bool], late: Container[str], test: Test) -> Any:
    """A function of a later call's `args`, `kwargs` and as many `outs`: the addresses of its arrays, which pass the test, and its values of the
    names in `late` or None, if all other arguments are those of this call; None if they are not. One function does all of it, since
    a call of another takes 0.1 us.
    """
    scope: dict[str, Any] = dict(test.names)
    names, checks, numbers, arrays = [], "", "", 0  # of the arguments; an array is x#, by its place among the arrays, as the test has it
    for i, (place, value) in enumerate(zip([*[""] * len(args), *kwargs], [*args, *kwargs.values()])):
        if is_array(value):  # it is not kept alive
            names.append(f"x{arrays}")
            arrays += 1
            continue
        names.append(f"v{i}")
        scope[f"type{i}"], scope[f"value{i}"] = type(value), list(value) if type(value) is list else value
        checks += (_SAME_TYPE if place in late else _SAME_VALUE).replace("#", str(i))
        numbers += f"{place!r}: v{i}, " if place in late else ""
    keywords = "; ".join(f"{own} = kwargs[{name!r}]" for own, name in zip(names[len(args):], kwargs))
    exec(_code(_MATCHER.format(
        named=len(kwargs), positional="".join(f"{name}, " for name in names[:len(args)]), keywords=keywords, outs=_listed("x", outs, arrays),
        values=checks, lines=test.lines, addresses=_listed("address", arrays + outs), late=f"{{{numbers}}}" if numbers else "None")), scope)
    return scope["call"]
