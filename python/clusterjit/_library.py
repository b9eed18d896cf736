# SPDX-License-Identifier: Apache-2.0
"""The C library: `lib` has its functions, `ffi` their types, `check` makes exceptions of their errors."""
from __future__ import annotations

import os
import pathlib
import threading
from typing import Any, NoReturn

from . import errors

try:
    from ._declarations import ffi as ffi
except ModuleNotFoundError as missing:
    if not str(missing.name).endswith("_declarations"):  # cffi itself is missing
        raise
    raise errors.LibraryMissing(
        f"clusterjit was not built: {pathlib.Path(__file__).parent} has no declarations of the library ({missing})",
        hint="install the wheel: pip install . in the source tree; and import clusterjit from another directory",
    ) from missing


def _open() -> Any:
    path = os.environ.get("CLUSTERJIT_LIBRARY") or str(pathlib.Path(__file__).with_name("libclusterjit.so"))
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise errors.LibraryMissing(
            f"the library cannot be loaded: {error}",
            hint="reinstall clusterjit; CLUSTERJIT_LIBRARY names another libclusterjit.so of the same version",
        ) from None


lib: Any = _open()


class _Errors(threading.local):
    """A cj_error for each thread."""

    def __init__(self) -> None:
        self.error = ffi.new("cj_error *")


thread = _Errors()


class Handle:
    """What holds something of the library's, which it destroys: a copy would destroy it again."""

    def __reduce__(self) -> NoReturn:
        kind = type(self).__name__
        raise errors.UnsupportedType(f"a {kind} is of this process, and can be neither copied nor pickled",
                                     hint=f"share it among threads, or make another {kind}")


def text(pointer: Any) -> str:
    """A C string; of NULL the empty one."""
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


def dtype_number(name: str) -> int:
    """CJ_F32 of "f32"."""
    value: int = getattr(lib, "CJ_" + name.upper())
    return value


def check(status: int, **context: Any) -> None:
    """Raises what the thread's cj_error says, if `status` is not CJ_OK; `context` are fields of the exception."""
    if status:
        error = thread.error
        message = text(error.message)
        raise errors.of_status(text(lib.cj_status_name(status)))(
            message, **errors.parts_of(message), hint=text(error.hint), rule=text(error.rule), line=error.line, column=error.column, **context)


def sized(kind: str, fields: Any = None) -> Any:
    """A new structure of the library's, which says its own size, with these fields."""
    structure = ffi.new(kind + " *", fields or {})
    structure.struct_size = ffi.sizeof(structure[0])
    return structure


def call(function: Any, *arguments: Any, **context: Any) -> None:
    """Calls a function whose last parameter is a cj_error."""
    check(function(*arguments, thread.error), **context)


def made(kind: str, function: Any, *arguments: Any, **context: Any) -> Any:
    """What a function writes through its last but one parameter, a `kind *`."""
    result = ffi.new(kind + " *")
    check(function(*arguments, result, thread.error), **context)
    return result[0]
