# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status of the library, each also of the Python class that fits."""
from __future__ import annotations

import re
from typing import Any, Optional

_VALUE = re.compile(r"^(?P<field>[\w .\[\],-]+?)(?::| is) (?P<value>[^\s;,]+) ?(?P<limit>.*)$", re.DOTALL)


class Error(Exception):
    """What the library refuses or finds.

    ``message`` says what, which value and which limit; ``hint`` what to do. ``field``, ``value`` and ``limit`` are the parts of a
    message of the form ``field: value is outside limit``, else empty. ``rule`` names the broken rule
    (``ptxgen explain RULE``), or is empty; ``line`` and ``column`` are places in the text, from 1, or 0.

    >>> import clusterjit
    >>> try:
    ...     clusterjit.emit("reduce", cluster=17)
    ... except clusterjit.Error as error:
    ...     print(error.field, error.value, error.limit)
    cluster 17 is outside 0 to 16
    """

    def __init__(self, message: str, *, hint: str = "", rule: str = "", line: int = 0, column: int = 0,
                 source: Optional[str] = None, hazards: Any = ()) -> None:
        self.message, self.hint, self.rule, self.line, self.column = message, hint, rule, line, column
        self.source = source  # "kernel.cu:8:5": the place in the source that the PTX was made of
        self.hazards = list(hazards)  # of a Hazard: all that were found
        parts = _VALUE.match(message)
        self.field, self.value, self.limit = parts.group("field", "value", "limit") if parts else ("", "", "")
        super().__init__(message + (f" [{rule}]" if rule else "") + (f"\nhint: {hint}" if hint else ""))


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


def of_status(name: str) -> type[Error]:
    """The class of a status: Hazard of "HAZARD", InvalidArgument of "INVALID_ARGUMENT"."""
    found: type[Error] = globals().get(name.title().replace("_", ""), Error)
    return found
