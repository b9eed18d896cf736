# SPDX-License-Identifier: Apache-2.0
"""What calls must give, in float64 by NumPy or torch (`xp`), and how far ours may be off.

A reference returns for each output the wanted values and their `size`: with the plan's error bound b, or the plain one of the
output's type where the library states none, |found - wanted| <= b (|wanted| + size), as tools/models/row_model.c has it.
What is exact has size None: every element is equal."""
import math

from shared import sampling
from shared.draw import SIZE
from shared.rows import ROWS_AT_ONCE, order, place, take, top, total
from shared.stores import POISON, is_integer

ROUNDING = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "e4m3": 2.0**-4}  # half a unit in the last place
LEAST = {"f16": 2.0**-24, "e4m3": 2.0**-9}  # the distance of the smallest numbers; others have 8 bits of exponent or more


def real(x):
    """As f64."""
    return x.double() if hasattr(x, "is_cuda") else x.astype("float64")


def whole(x):
    """As i64."""
    return x.long() if hasattr(x, "is_cuda") else x.astype("int64")


def softmax(xp, form, x):
    largest = top(xp, x["x"])
    powers = xp.exp(x["x"] - largest)
    sums = total(powers)
    if form["log"]:
        return {"y": (x["x"] - largest - xp.log(sums), abs(largest) + xp.log(sums))}
    return {"y": (powers / sums, 2.0**-20 / powers.shape[-1])}


def softmax_gradient(xp, form, x):
    y, dy = x["y"], x["dy"]
    if form["log"]:
        powers = xp.exp(y)
        return {"dx": (dy - total(dy) * powers, (total(abs(dy)) + 1) * top(xp, powers))}
    products = dy * y
    return {"dx": ((dy - total(products)) * y, (total(abs(products)) + 1) * top(xp, abs(y)))}


def norm(xp, form, x):
    h = x["x"] + x["residual"] if "residual" in x else x["x"]
    n, layer = h.shape[-1], form["kind"] == "layer"
    mean = total(h) / n if layer else total(h) * 0
    rstd = 1 / xp.sqrt(total((h - mean) ** 2) / n + 1e-5)
    most = top(xp, abs(h))
    lost = 1 + most * rstd  # what rounding h and the mean costs: where the deviation is small, much
    return {"y": ((h - mean) * rstd * x.get("weight", 1) + x.get("bias", 0), 4 * lost), "sum": (h, 0),
            "mean": (mean.T, most.T), "rstd": (rstd.T, (rstd * lost * lost).T)}


def norm_gradient(xp, form, x):
    dy, rstd, layer = x["dy"], x["rstd"].T, form["kind"] == "layer"
    normal = (x["x"] - (x["mean"].T if layer else 0)) * rstd
    g, n = dy * x.get("weight", 1), dy.shape[-1]
    dx = rstd * (g - (total(g) / n if layer else 0) - normal * (total(g * normal) / n))
    most, steepest = top(xp, abs(normal)), top(xp, abs(dy))
    return {"dx": (dx, rstd * 2 * (1 + most * most)),
            "dw": ((dy * normal).sum(0)[None], (steepest * (1 + most)).sum(0)[None] + abs(dy * normal).sum(0)[None]),
            "db": (dy.sum(0)[None], steepest.sum(0)[None] + abs(dy).sum(0)[None])}


def crossentropy(xp, form, x):
    logits, label, smoothing, n = x["x"], x["label"].T, form["smoothing"], x["x"].shape[-1]
    largest, most, counts = top(xp, logits), top(xp, abs(logits)), label != -100
    lse = largest + xp.log(total(xp.exp(logits - largest)))
    own = take(xp, logits, label * counts)
    loss = (lse - (1 - smoothing) * own - smoothing / n * total(logits)) * counts
    hit = (xp.arange(n, **place(label))[None] == label) * (lse * 0 + (1 - smoothing))  # in float64
    dx = (xp.exp(logits - lse) - hit - smoothing / n) * counts
    return {"lse": (lse.T, (most + math.log(n)).T), "loss": (loss.T, (2 * most + math.log(n)).T),
            "dx": (dx, xp.exp(own - lse) + smoothing / n + 2.0**-20 / n)}


def ascending(xp, x):
    return xp.sort(x, -1)[0] if hasattr(x, "is_cuda") else xp.sort(x, -1)


def topk(xp, form, x):
    key = x["x"] if form["smallest"] else -x["x"]
    index = order(xp, key)[:, :form["k"]]
    values = take(xp, x["x"], index)
    if form["unsorted"]:  # any order: both sides are sorted
        return {"values": (ascending(xp, values), None), "indices": (ascending(xp, index), None)}
    return {"values": (values, None), "indices": (index, None)}


def sort(xp, form, x):
    index = order(xp, -x["x"] if form["descending"] else x["x"])
    moved = {"sorted_payload": (take(xp, x["payload"], index), None)} if "payload" in x else {}
    return {"values": (take(xp, x["x"], index), None), "indices": (index, None), **moved}


def argmax(xp, form, x):
    n = x["x"].shape[-1]
    places = xp.where(x["x"] == top(xp, x["x"]), xp.arange(n, **place(x["x"]))[None], n)
    return {"out": (xp.amin(places, -1)[None], None)}


def scan(xp, form, x):
    x, op = x["x"], form["op"]
    turn = (lambda y: xp.flip(y, (-1,))) if form["reverse"] else (lambda y: y)
    x = turn(x)
    if op != "sum":
        run = {"max": ("cummax", "maximum"), "min": ("cummin", "minimum")}[op]
        y = getattr(xp, run[0])(x, -1)[0] if hasattr(x, "is_cuda") else getattr(xp, run[1]).accumulate(x, -1)
        return {"out": (turn(y), None)}
    sums, sizes = xp.cumsum(x, -1), xp.cumsum(abs(x), -1)
    if form["exclusive"]:  # not sums - x, which rounds once more than an f64 kernel does
        sums, sizes = (xp.concatenate((xp.zeros_like(y[..., :1]), y[..., :-1]), -1) for y in (sums, sizes))
    return {"out": (turn(sums), turn(sizes))}


def histogram(xp, form, x, dtype):
    x, bins = x["x"][0], form["bins"]
    if dtype == "f32":  # each step in f32, as the call's header says; float64 holds the product, which is then rounded
        single = (lambda y: y.float().double()) if hasattr(x, "is_cuda") else (lambda y: y.astype("float32").astype("float64"))
        at = xp.floor(single(x * bins))
        at = xp.where(at > bins - 1, bins - 1, at)[(x >= 0) & (x < 1)]
    else:
        at = x[x < bins]
    return {"counts": (xp.bincount(whole(at), minlength=bins)[None], None)}


def product(xp, form, x, dtype, out):
    a, b, k = real(x["a"]), real(x["b"].T if form["b"] == "column" else x["b"]), form["k"]  # f64 holds the sums of integers, too
    sums, sizes = a @ b, abs(a) @ abs(b)
    if is_integer(out):
        return {"d": (whole(sums), None)}
    bias = x.get("bias", 0)
    # Of f64 twice the library's bound: these sums are in f64, too.
    once, last = (2.0**-50, 0) if dtype == "f64" else (2.0**-22, 2.0**-20)
    share = {"i8": 2.0**-22, "e4m3": 2.0**-10 + k * 2.0**-18, "f64": k * 2.0**-51}.get(dtype, k * 2.0**-22)
    pre = sums + bias
    act = form["activation"]
    want = {"none": lambda: pre, "relu": lambda: pre * (pre > 0), "silu": lambda: pre / (1 + xp.exp(-pre)),
            "gelu": lambda: pre / 2 * (1 + xp.tanh((2 / math.pi) ** 0.5 * (pre + 0.044715 * pre**3)))}[act]()
    more = 1.13 if act in ("gelu", "silu") else 1
    return {"d": (want, (sizes * share + (sizes + abs(bias)) * once) * more + abs(pre) * last)}


# ---- held against what was found


def output_bound(request, array, bound):
    """Half a unit of the output's type, or what the library says where that is more. A product's size holds the rest."""
    plain = ROUNDING.get(array.dtype, 0) * (2 if request.family not in ("product", "scan") else 1.01)
    return bound if math.isfinite(bound) and bound > 0 and request.family != "product" else plain + 2.0**-20


def compare(store, array, found, want, size, bound, row):
    """The worst share of the allowance, and the first element that is beyond it, in words."""
    xp = store.xp
    if size is None or is_integer(array.dtype):
        mask = (1 << 8 * SIZE[array.dtype]) - 1
        wrong = (found & mask) != (want & mask) if is_integer(array.dtype) and SIZE[array.dtype] < 8 else found != want
        worst = 2.0 if bool(wrong.any()) else 0.0
    elif array.name == "d":  # the size of a product's error is absolute
        allowed = ROUNDING[array.dtype] * abs(want) + size + LEAST.get(array.dtype, 2.0**-126)
        share = abs(found - want) / allowed
        wrong, worst = ~(share <= 1), float(xp.amax(share)) if share.shape else float(share)
    else:
        share = xp.where(abs(found - want) <= LEAST.get(array.dtype, 2.0**-126), 0.0, 1.0) * abs(found - want) / \
            (bound * (abs(want) + size) + LEAST.get(array.dtype, 2.0**-126))
        wrong, worst = ~(share <= 1), float(xp.amax(share))
    if not bool(wrong.any()):
        return worst, ""
    at = int(xp.argmax(wrong.reshape(-1).long() if hasattr(wrong, "is_cuda") else wrong.reshape(-1)))
    r, c = divmod(at, wrong.shape[-1])
    return worst, (f"{array.name}[{row + r}][{c}] is {found[r, c].item():.9g}, not {want[r, c].item():.9g} "
                   f"({int(wrong.sum())} elements of {wrong.size if not hasattr(wrong, 'is_cuda') else wrong.numel()} are wrong)")


REFERENCES = {"softmax": softmax, "norm": norm, "crossentropy": crossentropy, "topk": topk, "sort": sort, "argmax": argmax, "scan": scan,
              "histogram": histogram, "gemm": product}


def expect(request, xp, x):
    """The wanted outputs of these rows."""
    function = REFERENCES[request.call]
    if request.form.get("backward"):
        function = {"softmax": softmax_gradient, "norm": norm_gradient}[request.call]
    dtype = request.inputs[0].dtype
    if function is product:
        return product(xp, request.form, x, dtype, request.outputs[0].dtype)
    return function(xp, request.form, x, dtype) if function is histogram else function(xp, request.form, x)


EACH, TOTAL = {"mean", "rstd", "label", "loss", "lse"}, {"dw", "db"}  # one value a row; sums over rows


def part(request, store, array, rows):
    """What these rows have of an array."""
    if array.name in EACH or (request.call == "argmax" and array.name == "out"):
        return store.wide(array, columns=rows)
    if array.rows == 1:
        return store.wide(array)
    return store.wide(array, rows)


def check_rows(request, store, bound):
    count, wide = request.inputs[0].rows, request.inputs[0].columns
    whole = request.call in ("gemm", "histogram")
    once = count if whole else max(1, ROWS_AT_ONCE // wide)
    worst, sums = 0.0, {}
    for row in range(0, count, once):
        rows = slice(None) if whole else slice(row, min(count, row + once))
        expected = expect(request, store.xp, {array.name: part(request, store, array, rows) for array in request.inputs})
        for array in request.outputs:
            want, size = expected[array.name]
            if array.name in TOTAL:
                before = sums.get(array.name, (0, 0))
                sums[array.name] = (before[0] + want, before[1] + size)
                continue
            found = part(request, store, array, rows)
            if request.form.get("unsorted"):
                found = ascending(store.xp, found)
            share, text = compare(store, array, found, want, size, output_bound(request, array, bound), row)
            worst = max(worst, share)
            if text:
                return worst, text
    for array in request.outputs:
        if array.name in sums:
            share, text = compare(store, array, store.wide(array), *sums[array.name], output_bound(request, array, bound), 0)
            worst = max(worst, share)
            if text:
                return worst, text
    return worst, ""


def near(name, found, want, allowed):
    """The share of what is allowed, and what is wrong."""
    if abs(found - want) <= allowed:
        return abs(found - want) / allowed if allowed else 0.0, ""
    return 2.0, f"the {name} is {found:.12g}, not {want:.12g}; {allowed:.3g} is allowed"


def check_sum(request, store, bound, x):
    """Sums and moments: the bounds of include/clusterjit/reduce.h, and what float64 itself may lose."""
    out, dtype, op, n = request.outputs[0], request.inputs[0].dtype, request.form["op"], x.shape[0]
    narrow = is_integer(dtype) and SIZE[dtype] < 8
    if op == "sum" and is_integer(dtype):  # modulo 2^32 or 2^64
        mask, found, want = (1 << (32 if narrow else 64)) - 1, store.result(out, "i32" if narrow else dtype, 0), int(x.sum())
        return (0.0, "") if found & mask == want & mask else (2.0, f"the sum is {found}, not {want}")
    kind = "f64" if is_integer(dtype) or dtype == "f64" else "f32"
    x = real(x)
    sums, sizes = float(x.sum()), float(abs(x).sum())
    if op == "sum":
        return near("sum", store.result(out, kind, 0), sums, (bound + 2.0**-49) * sizes)
    share, text = near("mean", store.result(out, kind, 0), sums / n, (bound + 2.0**-49) * sizes / n)
    if op == "mean" or text:
        return share, text
    variance, squares = float(((x - sums / n) ** 2).sum()) / n, float((x * x).sum()) / n
    allowed = bound * squares**0.5 * (variance**0.5 + bound * squares**0.5) + squares * 2.0**-49
    return near("variance", store.result(out, kind, SIZE[kind]), variance, allowed)


def check_reduce(request, store, bound):
    """One value, or two."""
    x, dtype, op = store.wide(request.inputs[0])[0], request.inputs[0].dtype, request.form["op"]
    if op in ("sum", "mean", "meanvar"):
        return check_sum(request, store, bound, x)
    kind = {"f16": "f32", "bf16": "f32", "i8": "i32", "u8": "i32"}.get(dtype, dtype)  # u8's values fit i32
    found, want = store.result(request.outputs[0], kind, 0), (x.max() if op.endswith("max") else x.min()).item()
    if found != want:
        return 2.0, f"the {op} is {found}, not {want}"
    if op.startswith("arg"):
        first, index = int((x == want).nonzero()[0][0]), store.result(request.outputs[0], "i64", 8)
        return (0.0, "") if index == first else (2.0, f"the index of the {op} is {index}, not {first}")
    return 0.0, ""


def check_segments(request, store, bound):
    """Segments of one array in order; elements outside of them are not written."""
    xp, form = store.xp, request.form
    x, offsets, *payload = (store.wide(array)[0] for array in request.inputs)
    at = xp.arange(x.shape[0], **place(x))
    segment = xp.searchsorted(offsets, at, **{"right": True} if hasattr(x, "is_cuda") else {"side": "right"}) - 1
    inside = (segment >= 0) & (segment < offsets.shape[0] - 1)
    by_value = order(xp, -x if form["descending"] else x)
    source = by_value[order(xp, segment[by_value])]
    begin = offsets[xp.where(inside, segment, 0)]
    wanted = {"values": x[source], "indices": source - begin, **{"sorted_payload": y[source] for y in payload}}
    for array in request.outputs:
        found = store.wide(array)
        untouched = (store.bytes(array) == POISON).all(-1)
        _, text = compare(store, array, xp.where(inside, found[0], 0)[None], xp.where(inside, wanted[array.name], 0)[None], None, bound, 0)
        if text or not bool((inside | untouched).all()):
            return 2.0, text or f"{array.name}: something is written outside of the segments"
    return 0.0, ""


def check_sort(request, store, bound):
    return (check_segments if "segments" in request.form else check_rows)(request, store, bound)


def check(request, store, bound):
    """The worst share of what is allowed, and what is wrong, "" for nothing."""
    for array in request.outputs:
        if request.call != "reduce" and not store.untouched(array):
            return 2.0, f"{array.name}: something is written outside of its rows"
    return {"reduce": check_reduce, "sort": check_sort, "sample": sampling.check}.get(request.call, check_rows)(request, store, bound)
