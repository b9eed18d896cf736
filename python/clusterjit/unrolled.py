# SPDX-License-Identifier: Apache-2.0
"""Loops over the arrays of a call, unrolled: for two arrays a loop itself takes 0.2 us, as much as what it does to one of them.

A text is a function with `#` for the number of an array: a line that has one stands once for each array, and so does what is between
`{` and `}`. Names that it does not define are those of `names`, where a list `NAME#` has a value for each array.
"""
from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Any, Callable, Container, Sequence


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


@functools.lru_cache(maxsize=None)
def _matcher_code(count: int, names: tuple[str, ...], kinds: str, outs: bool) -> CodeType:
    """Of `count` arguments by position and some by name, each an array ("a"), a value ("v"), or a number that may be another one ("n")."""
    def each(text: str, kind: str) -> str:
        return "".join(text.replace("#", str(i)) for i, own in enumerate(kinds) if own == kind)

    positional = "".join(f"v{i}, " for i in range(count))
    named = "; ".join(f"v{count + i} = kwargs[{name!r}]" for i, name in enumerate(names))
    numbers = ", ".join(f"{names[i - count]!r}: v{i}" for i, kind in enumerate(kinds) if kind == "n")
    text = f"""
def call(args, kwargs, outs):
    if len(kwargs) != {len(names)} or {"not outs" if outs else "outs"}: return None
    try:
        [{positional}] = args
        {named}
    except (ValueError, KeyError):
        return None
{each("    if type(v#) is not type#: return None" + chr(10), "n")}
{each("    if v# is not value# and (type(v#) is not type# or v# != value#): return None" + chr(10), "v")}
    return test(({each("v#, ", "a")}){" + outs" if outs else ""}), {f"{{{numbers}}}" if numbers else "None"}
"""
    return compile(text, "<for arguments as before>", "exec")


def matcher(args: Sequence[Any], kwargs: dict[str, Any], outs: bool, is_array: Callable[[Any], bool], late: Container[str], test: Any) -> Any:
    """A function of a later call's `args`, `kwargs` and `outs`: what `test` says of its arrays, and its values of the names in `late` or
    None, if all other arguments are those of this call; None if they are not."""
    values = [list(value) if type(value) is list else value for value in (*args, *kwargs.values())]
    places = [*[""] * len(args), *kwargs]
    kinds = "".join("a" if is_array(value) else "n" if place in late else "v" for place, value in zip(places, values))
    scope: dict[str, Any] = {f"value{i}": value for i, value in enumerate(values) if kinds[i] == "v"}  # arrays are not kept alive
    scope.update((f"type{i}", type(value)) for i, value in enumerate(values))
    scope["test"] = test
    exec(_matcher_code(len(args), tuple(kwargs), kinds, outs), scope)
    return scope["call"]
