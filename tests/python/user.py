# SPDX-License-Identifier: Apache-2.0
"""A user's program, which mypy --strict reads and nobody runs: what it sees of the package's types. A line with `type: ignore` is a
mistake that mypy must find: an ignore that is not needed is an error."""
from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np
from typing_extensions import assert_type

import clusterjit as cj
from clusterjit.gpus import Gpus

x = np.ones((4, 8), np.float32)

assert_type(cj.topk(x, 2), tuple[Any, Any])
assert_type(cj.sort(x, descending=True, cluster=2), Union[tuple[Any, ...], Any])
assert_type(cj.meanvar(x), tuple[Any, Any])
cj.softmax(x, scale=0.5, out=np.empty_like(x), stream=7)
cj.softmax(x, scales=0.5)  # type: ignore[call-arg]
cj.softmax(x, scale="half")  # type: ignore[arg-type]
cj.softmax()  # type: ignore[call-arg]
cj.topk(x, k=2.5)  # type: ignore[arg-type]
cj.collective(x, combine=3)  # type: ignore[arg-type]

with cj.topk.plan(x, 2) as plan:
    assert_type(plan, cj.Plan[tuple[Any, Any]])
    assert_type(plan(x), tuple[Any, Any])
    assert_type(plan.shape, dict[str, tuple[int, int, int]])
    assert_type(plan.workspace_bytes, int)
    assert_type(plan.note, str)
    assert_type(plan.error_bound, float)
cj.softmax.plan(x, scales=0.5)  # type: ignore[call-arg]

assert_type(cj.device("cpu"), cj.Device)
assert_type(cj.device("cpu").hazards(), list[cj.Found])
assert_type(cj.check("text"), list[cj.Diagnostic])
assert_type(cj.emit("reduce", n=1024), str)
try:
    cj.Kernel("text")(x, grid=1, block=(32, 1))
except cj.Hazard as hazard:
    assert_type(hazard.field, Optional[str])
    assert_type(hazard.rule, str)
assert_type(cj.InvalidArgument.of("scale", 0, "is not above 0"), cj.InvalidArgument)

with Gpus.of(["cpu", "cpu"]) as gpus:
    assert_type(gpus, Gpus)
    assert_type(gpus.info.ranks, int)
    gpus.norm([x, x], kinds="rms")  # type: ignore[call-arg]
