# SPDX-License-Identifier: Apache-2.0
"""Kernel families by the names of their parameters, as ``ptxgen list`` shows them: for families that have no calls of their own."""
from __future__ import annotations

from typing import Any, Optional

from ._library import Handle, call, ffi, lib, made, text
from .arguments import c_text
from .arrays import View
from .devices import Device
from .errors import InvalidArgument
from .request import Out, R, Request


def _family(name: str) -> Any:
    return made("const cj_family *", lib.cj_family_find, c_text("family", name))


def names_of(family: str) -> list[str]:
    """The names of the family's parameters, as in its table: with hyphens."""
    found = _family(family)
    return [text(lib.cj_family_param(found, i).name) for i in range(lib.cj_family_param_count(found))]


def params_of(family: str, values: dict[str, Any]) -> Any:
    """A cj_params of the family, with these values; the others are at their defaults."""
    params, names = ffi.new("cj_params *"), names_of(family)
    lib.cj_params_init(params, _family(family))
    for key, value in values.items():
        name = key.replace("_", "-")
        if name not in names:
            raise InvalidArgument.of(key, None, f"{family} has no such parameter; it has {', '.join(names)}")
        word = ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
        call(lib.cj_params_set, params, name.encode(), c_text(key, word))
    return params


class Memory(Handle):
    """Memory of the device that a kernel writes and nobody reads."""

    def __init__(self, device: Device, size: int) -> None:
        self._device = device
        self.address = int(made("cj_ptr", lib.cj_mem_alloc, device.handle, size))

    def __del__(self) -> None:
        if hasattr(self, "address"):
            lib.cj_mem_free(self._device.handle, self.address)


class KernelRequest(Request[R]):
    """What a call asks of a family: `fields` are its parameters, the arrays its kernel's arguments, followed by ``unread`` bytes."""

    def __init__(self, family: str, fields: dict[str, Any], reads: dict[str, Optional[View]], writes: dict[str, Out], unread: int) -> None:
        super().__init__("kernel", fields, reads, writes, run="launch")
        self.family, self.unread = family, unread

    def parameters(self) -> list[str]:
        return [name.replace("-", "_") for name in names_of(self.family)]

    def tell(self, function: str, plan: dict[str, Any]) -> None:
        size = self.fields["cluster"]  # as the arrays say it
        super().tell(function, plan)
        if self.fields["cluster"] == 0:
            self.fields["size"] = size
        elif self.fields["cluster"] != size:
            raise InvalidArgument.of("cluster", self.fields["cluster"], f"is not {size}, as x has rows for blocks, nor 0",
                                     "leave it out; 0 is without clusters")

    def create(self, device: Device) -> Any:
        return made("cj_kernel *", lib.cj_kernel_create, device.handle, params_of(self.family, self.fields))

    def kernel_of(self, handle: Any) -> Any:
        return handle

    def arguments(self, device: Device) -> Any:
        """A function that makes a launch's arguments, and the words that their addresses go to."""
        count, unread = len(self.reads) + len(self.writes) + 1, Memory(device, self.unread)

        def new() -> tuple[Any, Any]:
            values = ffi.new("cj_ptr[]", count)
            values[count - 1] = unread.address
            pointers = ffi.new("void *[]", [values + i for i in range(count)])
            return (pointers, values), memoryview(ffi.buffer(values)).cast("B").cast("Q")
        return new
