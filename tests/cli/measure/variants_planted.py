# SPDX-License-Identifier: Apache-2.0
"""variants_planted.py TOOLS LIBRARY JSON: variants.py without a GPU: kernels are made for the CPU device and never run, and the time of
each is what the cost model predicts, but for one product's plan, which takes three times as long. The lines of JSON are fit_gemm.py's."""
import argparse
import contextlib
import io
import json
import pathlib
import sys
import types

sys.path.insert(0, sys.argv[1])
from shared import calls, draw, gemm_model, judge, torched  # noqa: E402
import variants  # noqa: E402

C = gemm_model.constants()
PRODUCTS = [draw.product_request(16, 4096, 4096), draw.product_request(1024, 2048, 512, "f16", bias=True, activation="gelu", pad=1),
            draw.product_request(640, 80, 2048, "e4m3", out="f32"), draw.product_request(2048, 208, 256, b="row")]
SLOW = PRODUCTS[1]
TORCH = types.SimpleNamespace(cuda=types.SimpleNamespace(
    synchronize=lambda: None, empty_cache=lambda: None, get_device_properties=lambda _: types.SimpleNamespace(multi_processor_count=132),
    current_stream=lambda: types.SimpleNamespace(cuda_stream=0)))


class Replay:
    """A graph of a kernel that takes so long."""

    def __init__(self, us):
        self.us = us

    def __call__(self):
        pass


def words_of(text):
    return dict(word.split("=", 1) for word in text.split())


def microseconds(request, plan):
    if "form=wgmma" not in plan.split():
        return 1000
    product = gemm_model.Product.of(words_of(request.words))
    kernel = gemm_model.Kernel.of(words_of(plan)).with_stages(product, C)  # as the plan counts them
    clocks = gemm_model.predict(C, product, kernel, gemm_model.room_unknown(C, 132, kernel.blocks))
    return (clocks + 3600) / 1755


def plant(request):
    """What variants.py calls of a GPU. The plan's kernel is captured first."""
    captured, ran = [], []
    calls.Call.run = lambda self, *_: ran.append(self.plan)

    def capture(_, call, copies, turns):
        call(*copies[0])
        captured.append(ran[-1])
        us = microseconds(request, ran[-1]) * (3 if request is SLOW and len(captured) == 1 else 1)
        return Replay(us * turns), turns, ""

    def cublas_side(*_):
        if request is not PRODUCTS[0]:
            raise calls.Refused("it has none of these")
        side = judge.Side(variants.CUBLAS, None)
        side.replay, side.calls = Replay(10), 1
        return side, types.SimpleNamespace(close=lambda: None)
    judge.make_copies, judge.addresses, judge.turns_of = lambda *_: [None], lambda *_: [None], lambda *_: 8
    judge.cublas_side, torched.capture, torched.milliseconds = cublas_side, capture, lambda _, replay, repeat: replay.us * repeat / 1e3


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


if __name__ == "__main__":
    library, rows = calls.Library(pathlib.Path(sys.argv[2]), "cpu"), []
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        for product in PRODUCTS:
            plant(product)
            with contextlib.redirect_stdout(io.StringIO()):
                rows += variants.measure_all(TORCH, argparse.Namespace(requests=[product], seed=1, budget=None), library, file)
    expect("errors", [row["error"] for row in rows if "error" in row], [])
    expect("refused", [kernel for row in rows for kernel in row["kernels"] if "refused" in kernel], [])
    expect("rows", [row["label"] for row in rows], [product.label for product in PRODUCTS])
    for row in rows:
        for kernel in row["kernels"][1:]:
            asked = {name.replace("_", "-"): word for name, word in words_of(kernel["words"]).items()}
            expect(f"{row['label']}: the kernel", {name: words_of(kernel["plan"]).get(name) for name in asked}, asked)
    ratios = [plan / fastest for plan, fastest, *_ in map(variants.figures, rows)]
    expect("cuBLAS", [cublas and round(cublas, 3) for _, _, cublas, _ in map(variants.figures, rows)], [10, None, None, None])
    expect("the plan is the fastest", [round(ratio, 3) for i, ratio in enumerate(ratios) if i != 1], [1.0] * 3)
    if not 2.5 < ratios[1] <= 3:
        sys.exit(f"the slow plan: {ratios[1]}")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        variants.show_all(rows)
    expect("the worst one", shown.getvalue().splitlines()[2].endswith(SLOW.label), True)
    expect("lines", [json.loads(line)["label"] for line in open(sys.argv[3], encoding="utf-8")], [product.label for product in PRODUCTS])
