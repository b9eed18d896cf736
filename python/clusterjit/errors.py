# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status of the library, each also of the Python class that fits."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from typing_extensions import Self

# "cluster: 17 is outside 0 to 16", "op: 'xor' is none of: sum min": the library's form for a value that it refuses
_VALUE = re.compile(r"(?P<field>[A-Za-z]\w*): (?P<value>'[^']*'|[\w.+-]*\d[\w.+-]*) (?P<limit>(?:\w+ )*?(?:is|are) .*)", re.DOTALL)


class Error(Exception):
    """What the library refuses or finds.

    ``message`` says what, which value and which limit; ``hint`` what to do. ``field``, ``value`` and ``limit`` are texts: what is
    refused (the name of a parameter), its value, and what the value must be; None where there is no such part. ``rule`` names the broken rule
    (``ptxgen explain RULE``), or is empty; ``line`` and ``column`` are places in the text, from 1, or 0.

    >>> import clusterjit
    >>> try:
    ...     clusterjit.emit("reduce", cluster=17)
    ... except clusterjit.Error as error:
    ...     print(error.field, error.value, error.limit)
    cluster 17 is outside 0 to 16
    """

    def __init__(self, message: str, *, field: Optional[str] = None, value: Optional[str] = None, limit: Optional[str] = None,
                 hint: str = "", rule: str = "", line: int = 0, column: int = 0, source: Optional[str] = None, hazards: Any = ()) -> None:
        self.message, self.hint, self.rule, self.line, self.column = message, hint, rule, line, column
        self.source = source  # "kernel.cu:8:5": the place in the source that the PTX was made of
        self.hazards = list(hazards)  # of a Hazard: all that were found
        self.field, self.value, self.limit = field, value, limit
        super().__init__(message + (f" [{rule}]" if rule else "") + (f"\nhint: {hint}" if hint else ""))

    @classmethod
    def of(cls, field: str, value: Any, limit: str, hint: str = "", *, what: str = "") -> Self:
        """The error with the message ``field: what value limit``. Without a ``value``, None, the limit says it all, unless it goes on a sentence."""
        if value is None and not limit.startswith(("is ", "was ")):
            return cls(f"{field}: {limit}", field=field, limit=limit, hint=hint)
        shown = f"{what} {value}" if what else repr(value) if isinstance(value, str) else str(value)
        space = "" if limit[:1] in (";", ",", ":") else " "
        return cls(f"{field}: {shown}{space}{limit}", field=field, value=str(value), limit=limit.lstrip(";,: "), hint=hint)


class InvalidArgument(Error, ValueError):
    """An argument or parameter is out of range."""


class UnsupportedType(InvalidArgument, TypeError):
    """An argument is of a type that is not taken."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory is exhausted."""


class Unsupported(Error, NotImplementedError):
    """The device or target cannot do this."""


class InvalidKernel(Error, ValueError):
    """The PTX text breaks a rule of PTX."""


class Contract(Error, ValueError):
    """The launch breaks a rule of its contract."""


class Hazard(Error, RuntimeError):
    """The CPU device found a synchronization or memory error; ``hazards`` has all that it found."""


class File(Error, OSError):
    """A file cannot be read or written, or holds something else."""


class Compiler(Error, ValueError):
    """The PTX or CUDA C compiler refused its input."""


class NoDevice(Error, RuntimeError):
    """There is no usable device."""


class Driver(Error, RuntimeError):
    """The driver reported an error."""


class Closed(Error, RuntimeError):
    """A plan or a kernel was closed before it was called."""


class LibraryMissing(Error, ImportError):
    """libclusterjit.so cannot be found or loaded."""


def parts_of(message: str) -> dict[str, Optional[str]]:
    """field, value and limit of a message of the library's, where it has them."""
    found = _VALUE.fullmatch(message)
    return {part: found and found[part].strip("'") for part in ("field", "value", "limit")}


def of_status(name: str) -> type[Error]:
    """The class of a status: Hazard of "HAZARD", InvalidArgument of "INVALID_ARGUMENT"."""
    found: type[Error] = globals().get(name.title().replace("_", ""), Error)
    return found
