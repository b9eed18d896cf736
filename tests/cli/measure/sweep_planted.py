# SPDX-License-Identifier: Apache-2.0
"""sweep_planted.py TOOLS LIBRARY: of each family's drawn requests every output in turn keeps one element that was never written, or
gets a byte beyond a row, and sweep's check must find it."""
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
from shared import calls, draw  # noqa: E402
import numpy as np  # noqa: E402
from shared import reference, stores  # noqa: E402


def find(request, store, bound, what):
    if not reference.check(request, store, bound)[1]:
        sys.exit(f"{request.label}: {what} is not found")


library, found = calls.Library(pathlib.Path(sys.argv[2]), "cpu"), 0
np.seterr(all="ignore")
limits = draw.Limits(1 << 14, 1 << 16)
for request in draw.draw(3, 3, limits) + draw.draw(4, 20, limits, ("sort", "sample")):  # which have many forms
    store = stores.Numpy(np, request, 1)
    plan, bound = library.run_on_host(request, store)
    wrong = reference.check(request, store, bound)[1]
    if wrong:
        sys.exit(f"{request.label}: {wrong}")
    for array in request.outputs:
        size, raw = draw.SIZE[array.dtype], store.flat[array.name].view(np.uint8)
        at = (array.offset + (array.rows - 1) * array.stride + array.columns - 1) * size if request.call != "reduce" else 0
        kept = raw[at:at + max(size, 4)].copy()
        if (kept == stores.POISON).all():  # beyond the last segment, or -1 where no token is left
            continue
        raw[at:at + len(kept)] = stores.POISON
        find(request, store, bound, f"an element of {array.name} that was not written")
        raw[at:at + len(kept)] = kept
        found += 1
        if array.rows > 1 and array.stride > array.columns:
            raw[(array.offset + array.columns) * size] = 0
            find(request, store, bound, f"a byte after the first row of {array.name}")
            raw[(array.offset + array.columns) * size] = stores.POISON
            found += 1
assert found > 100, found
