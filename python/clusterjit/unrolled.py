# SPDX-License-Identifier: Apache-2.0
"""Loops over the arrays of a call, unrolled: for two arrays a loop itself takes 0.2 us, as much as what it does to one of them.

A text is a function with `#` for the number of an array: a line that has one stands once for each array, and so does what is between
`{` and `}`. Names that it does not define are those of `names`, where a list `NAME#` has a value for each array.
"""
from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Any, Sequence


@functools.lru_cache(maxsize=None)
def _compiled(text: str, count: int) -> CodeType:
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
