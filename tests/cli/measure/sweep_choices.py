# SPDX-License-Identifier: Apache-2.0
"""sweep_choices.py TOOLS LIBRARY: what sweep --tune would measure on a GPU, made on the CPU device."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
from shared import calls, choices, draw


def plan_of(library, request):
    call = library.make(request)
    plan = call.plan
    call.close()
    return plan


def check(library, request):
    """Kernels that differ, the plan's first; a second round keeps what it begins with; and nothing of it is left."""
    own = plan_of(library, request)
    for base in ("", "block=128"):
        made, tried = choices.make_all(library, request, base)
        plans = [call.plan for call in made.values()]
        assert plans[0] == own and next(iter(made)) == choices.PLAN, f"{request.label}: {own} became {plans[0]}"
        assert 1 + (not base) < len(plans) <= tried + 1 and len(set(plans)) == len(plans), f"{request.label}: {plans}"
        assert all(choice.startswith(base) for choice in list(made)[1:]), f"{request.label}: {list(made)}"
        for call in made.values():
            call.close()
        assert plan_of(library, request) == own, f"{request.label}: a choice is kept"


def refused(library, request, why):
    try:
        choices.make_all(library, request, "")
    except calls.Refused as no:
        assert why in str(no), f"{request.label}: {no}"
        return
    raise AssertionError(f"{request.label} is not refused")


with tempfile.TemporaryDirectory() as folder:
    os.environ.update(CLUSTERJIT_CACHE_DIR=folder, CLUSTERJIT_TUNING="on")
    device = calls.Library(pathlib.Path(sys.argv[2]), "cpu")
    for drawn in draw.draw(5, 2, draw.Limits(1 << 16, 1 << 20), ["scan", "argmax", "histogram"]):
        check(device, drawn)
    refused(device, draw.draw(5, 1, draw.Limits(1 << 16, 1 << 20), ["product"])[0], "variants.py")
    refused(device, draw.draw(5, 1, draw.Limits(1 << 16, 1 << 20), ["reduce"])[0], "no parameters that tuning may choose")
