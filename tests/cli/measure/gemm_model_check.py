# SPDX-License-Identifier: Apache-2.0
"""gemm_model_check.py TOOLS <LINES: what gemm_costs printed, against the formula of tools/bench/shared/gemm_model.py."""
import dataclasses
import sys

sys.path.insert(0, sys.argv[1])
from shared import gemm_model  # noqa: E402


def check(line, c):
    words = dict(word.split("=", 1) for word in line.split())
    product, kernel = gemm_model.Product.of(words), gemm_model.Kernel.of(words)
    gpcs = [int(sms) for sms in words["gpcs"].split(",") if sms]
    room = gemm_model.room(gpcs, kernel.blocks) if gpcs else gemm_model.room_unknown(c, int(words["sms"]), kernel.blocks)
    clocks, predicted = float(words["cost"]), gemm_model.predict(c, product, kernel, room)
    stages = dataclasses.replace(kernel, stages=0).with_stages(product, c).stages
    if (room, stages) != (int(words["room"]), kernel.stages) or abs(predicted - clocks) > 1e-9 * clocks:
        sys.exit(f"{line.strip()}: room {room}, stages {stages}, cost {predicted!r}")
    return kernel, product


if __name__ == "__main__":
    kernels, products = zip(*(check(line, gemm_model.constants()) for line in sys.stdin))
    seen = [any(map(test, kernels)) for test in (lambda k: k.in_turn, lambda k: k.split > 1, lambda k: k.parts > 1)]
    seen.append(any(product.turned for product in products))
    if len(kernels) < 200 or not all(seen):
        sys.exit(f"{len(kernels)} kernels; in turn, split, parts, turned: {seen}")
