# SPDX-License-Identifier: Apache-2.0
"""What variants.py measures: products that have had surprises, and the kernels of a product that the plan could take, as the words
of a call of calls.c."""
import itertools
import math
import random

from shared import draw, gemm_model

SOME_TIMES, SOME = 1.5, 6  # kernels at random, of those predicted to take at most so many times the fewest clocks
BEST = (                   # how many kernels, how many of a tile, of which
    (16, 4, lambda kernel: True), (8, 2, lambda kernel: kernel.split * kernel.parts == 1 and not kernel.in_turn),
    (6, 2, lambda kernel: kernel.split * kernel.parts > 1), (2, 1, lambda kernel: kernel.in_turn))

_of = draw.product_request
KNOWN = [  # few rows or columns; then what the plan once chose wrongly; large ones
    _of(1, 8192, 8192), _of(3, 2048, 1024), _of(5, 8192, 8192, "e4m3", out="bf16"), _of(8, 8192, 5120), _of(16, 1024, 5313),
    _of(8, 1888, 8192, "f16", out="f32", pad=1), _of(12, 6144, 3072), _of(16, 2048, 624), _of(16, 4096, 4096), _of(16, 8192, 8192),
    _of(16, 12288, 1024), _of(7168, 8, 5120, b="row"), _of(32, 7168, 3072), _of(36, 16384, 2048, "f16", b="row", out="f32"),
    _of(38, 11496, 12288), _of(40, 6224, 5120, pad=1), _of(64, 5120, 13824), _of(80, 4096, 4096), _of(3584, 67, 2560),
    _of(2880, 87, 8192), _of(208, 1152, 14288, out="f32"), _of(256, 512, 65536), _of(2880, 3072, 3072, bias=True, pad=1),
    _of(4096, 5120, 2048, "f16", bias=True), _of(1024, 8192, 8192), _of(4096, 4096, 4096), _of(8192, 8192, 8192)]


def words_of(kernel):
    return (f"form=wgmma tile={kernel.tile[0]}x{kernel.tile[1]} cluster={kernel.group[0]} cluster_n={kernel.group[1]} "
            f"split={kernel.split} parts={kernel.parts}")


def splits_of(p, tile, group, room):
    """By split-K; those of four blocks in a row have none."""
    blocks = group[0] * group[1]
    yield gemm_model.Kernel(tile, group)
    for split in (1, 2, 4, 8, 16) if 4 not in group else ():
        if blocks * split > gemm_model.SPLIT_MAX or p.steps < 2 * split:
            return
        at_once = room(blocks * split) // gemm_model.Kernel(tile, group).tiles(p)
        for parts in range(1, max(1, min(gemm_model.PARTS_MAX, at_once, p.steps // split)) + 1):
            if split * parts > 1:
                yield gemm_model.Kernel(tile, group, split, parts)


def kernels_of(p, c, sms):
    """All that the plan could take, with their predicted clocks, fewest first; of consumers together and in turn those of fewer."""
    def room(blocks):
        return gemm_model.room_unknown(c, sms, blocks)
    found = {}
    for name, group in itertools.product(gemm_model.TILES, gemm_model.GROUPS):
        tile = tuple(map(int, name.split("x")))
        if p.m <= tile[0] * (group[0] // 2) or p.n <= tile[1] * (group[1] // 2):
            continue
        may_turn = tile[0] == gemm_model.GROUP_ROWS and tile[1] >= gemm_model.TURN_COLUMNS
        kernels = [*splits_of(p, tile, group, room)] + [gemm_model.Kernel(tile, group, in_turn=True)] * may_turn
        for kernel in (kernel.with_stages(p, c) for kernel in kernels):
            if kernel.stages >= gemm_model.STAGES_MIN:
                clocks = gemm_model.predict(c, p, kernel, room(kernel.blocks))
                words = words_of(kernel)
                found[words] = min(found.get(words, (math.inf,)), (clocks, kernel), key=lambda of: of[0])
    return sorted(found.values(), key=lambda of: of[0])


def other_forms(request):
    few = min(request.form["m"], request.form["n"]) <= 16
    if not few or request.inputs[0].dtype == "e4m3" or request.form["b"] == "row":
        return []
    return [f"form=skinny tile=16x{n}" for n in (64, 32, 16)] + [f"form=mma tile=16x128 parts={parts}" for parts in (2, 4, 8)]


def chosen(request, c, sms):
    """Words of the kernels that are measured, "" for the plan's, and their predicted clocks, where they are known."""
    p = gemm_model.Product.of(dict(word.split("=", 1) for word in request.words.split()))
    every, taken = kernels_of(p, c, sms), {"": None}
    for count, each, fits in BEST:
        of_tile = {}
        fitting = [(words_of(kernel), clocks, kernel) for clocks, kernel in every if fits(kernel) and words_of(kernel) not in taken]
        for words, clocks, kernel in fitting:
            of_tile[kernel.tile] = of_tile.get(kernel.tile, 0) + 1
            if count and of_tile[kernel.tile] <= each:
                count -= 1
                taken[words] = clocks
    near = [(words_of(kernel), clocks) for clocks, kernel in every if clocks < SOME_TIMES * every[0][0] and words_of(kernel) not in taken]
    taken.update(random.Random(request.label).sample(near, min(SOME, len(near))))
    return {**taken, **dict.fromkeys(other_forms(request))}
