# SPDX-License-Identifier: Apache-2.0
"""What sweep holds ours against: torch eager, torch.compile, QuACK, cuBLAS through torch, and CUB (libbench_peers.so).

A peer is a name and a function of a call's views by name ({"x": tensor, …}) to its results by name. `torch_function` says what
people write with torch; torch.compile gets the plain formula where eager has an operator that it would not open."""
import ctypes
import functools
import importlib.util
import os

from shared import stores, torched

pt = None  # torch, once load() has found it


def load():
    global pt
    pt, why = torched.load()
    return why


# ---- torch: what each call of ours is there; `fused` for torch.compile


def softmax(form, out, fused):
    turn = pt.log_softmax if form["log"] else pt.softmax

    def run(x):
        wide = out["y"] == pt.float32 and x["x"].dtype != pt.float32
        return {"y": turn(x["x"], -1, dtype=pt.float32) if wide else turn(x["x"], -1).to(out["y"])}
    return run


def softmax_gradient(form, out, fused):
    def plain(x):
        y, dy = x["y"].float(), x["dy"].float()
        if form["log"]:
            return {"dx": (dy - dy.sum(-1, keepdim=True) * y.exp()).to(out["dx"])}
        return {"dx": ((dy - (dy * y).sum(-1, keepdim=True)) * y).to(out["dx"])}

    def eager(x):
        backward = pt.ops.aten._log_softmax_backward_data if form["log"] else pt.ops.aten._softmax_backward_data
        return {"dx": backward(x["dy"], x["y"], -1, x["y"].dtype).to(out["dx"])}
    return plain if fused else eager


def norm(form, out, fused):
    def run(x):
        h = x["x"] + x["residual"] if "residual" in x else x["x"]
        shape = [h.shape[-1]]
        weight, bias = (x[name][0] if name in x else None for name in ("weight", "bias"))
        found = {"sum": h.to(out["sum"])} if "sum" in out else {}
        if form["kind"] == "layer" and "rstd" in out:
            y, mean, rstd = pt.ops.aten.native_layer_norm(h, shape, weight, bias, 1e-5)
            found.update(mean=mean.T, rstd=rstd.T)
        elif form["kind"] == "layer":
            y = pt.nn.functional.layer_norm(h, shape, weight, bias, 1e-5)
        elif "rstd" in out:
            y, rstd = pt.ops.aten._fused_rms_norm(h, shape, weight, 1e-5)
            found["rstd"] = rstd.T
        else:
            y = pt.nn.functional.rms_norm(h, shape, weight, 1e-5)
        return {**found, "y": y.to(out["y"])}
    return run


def norm_gradient(form, out, fused):
    layer = form["kind"] == "layer"

    def plain(x):
        dy, rstd = x["dy"].float(), x["rstd"].T
        normal = (x["x"].float() - (x["mean"].T if layer else 0)) * rstd
        g = dy * x["weight"].float() if "weight" in x else dy
        dx = rstd * (g - (g.mean(-1, keepdim=True) if layer else 0) - normal * (g * normal).mean(-1, keepdim=True))
        sums = {"dw": lambda: (dy * normal).sum(0, keepdim=True), "db": lambda: dy.sum(0, keepdim=True)}
        return {"dx": dx.to(out["dx"]), **{name: sums[name]().to(out[name]) for name in sums if name in out}}

    def eager(x):
        shape, weight = [x["x"].shape[-1]], x["weight"][0] if "weight" in x else None
        wanted, db = [True, "dw" in out and weight is not None], None
        if layer:  # of the bias it wants the shape and the type, which are the weight's
            dx, dw, db = pt.ops.aten.native_layer_norm_backward(x["dy"], x["x"], shape, x["mean"].T, x["rstd"].T, weight, weight,
                                                                 wanted + ["db" in out and weight is not None])
        else:
            dx, dw = pt.ops.aten._fused_rms_norm_backward(x["dy"], x["x"], shape, x["rstd"].T, weight, wanted)
        found = {"dx": dx.to(out["dx"])}
        if wanted[1]:
            found["dw"] = dw[None].to(out["dw"])
        if "db" in out:
            found["db"] = db[None].to(out["db"])
        return found
    # Without a weight torch's operators give no dw.
    return plain if fused or ("dw" in out and not form.get("weight", True)) else eager


def crossentropy(form, out, fused):
    def loss_of(x):
        label = x["label"][0].long()
        logits = x["x"].float() if fused else x["x"]
        return {"loss": pt.nn.functional.cross_entropy(logits, label, reduction="none", label_smoothing=form["smoothing"])[None]}

    def both(x):
        s, label = form["smoothing"], x["label"].T.long()
        counts = label != -100
        logs = pt.log_softmax(x["x"], -1, dtype=pt.float32)
        n, at = logs.shape[-1], pt.where(counts, label, 0)
        loss = -((1 - s) * logs.gather(-1, at) + s / n * logs.sum(-1, keepdim=True)) * counts
        hit = (pt.arange(n, device=logs.device)[None] == at) * (1 - s) + s / n
        return {"loss": loss.T, "dx": ((logs.exp() - hit) * counts).to(out["dx"])}
    return both if "dx" in out else loss_of


def topk(form, out, fused):
    def run(x):
        values, indices = pt.topk(x["x"], form["k"], -1, largest=not form["smallest"], sorted=not form["unsorted"])
        return {"values": values, "indices": indices}
    return run


def sort(form, out, fused):
    if "segments" in form:
        return None

    def run(x):
        values, indices = pt.sort(x["x"], dim=-1, descending=form["descending"], stable=True)
        moved = {"sorted_payload": x["payload"].gather(-1, indices)} if "payload" in x else {}
        return {"values": values, "indices": indices, **moved}
    return run


def sample(form, out, fused):
    """As samplers of models have it: filters on what is in order, then the largest of probabilities over exponential numbers.
    Nobody has a draft in an operator or two, so such a call has no peer."""
    if "accepted" in out:
        return None

    def run(x):
        logits = x["x"].float()
        if "counts" in x:
            repeated = pt.where(logits > 0, logits / x["repetition"].T, logits * x["repetition"].T)
            logits = pt.where(x["counts"] > 0, repeated - x["counts"] * x["frequency"].T - x["presence"].T, logits)
        logits = logits / x["temperature"].T
        if "mask" in x:
            bits = x["mask"][..., None] >> pt.arange(32, device=logits.device) & 1
            logits = logits.masked_fill(bits.flatten(-2)[:, :logits.shape[-1]] == 0, -pt.inf)
        index = None
        if form["top_k"]:
            logits, index = pt.topk(logits, form["top_k"], -1)
        elif form["top_p"]:
            logits, index = pt.sort(logits, dim=-1, descending=True)
        share = pt.softmax(logits, -1)
        if form["top_p"]:
            share = share.masked_fill(share.cumsum(-1) - share >= form["top_p"], 0)
        if form["min_p"]:
            share = share.masked_fill(share < form["min_p"] * share.amax(-1, keepdim=True), 0)
        place = (share / pt.empty_like(share).exponential_()).argmax(-1, keepdim=True)
        found = {"tokens": (place if index is None else index.gather(-1, place)).T.int()}
        if "log_probability" in out:
            found["log_probability"] = (share.gather(-1, place) / share.sum(-1, keepdim=True)).log().T
        if form["top"]:
            most, places = pt.topk(share, min(form["top"], share.shape[-1]), -1)
            found["top_tokens"] = (places if index is None else index.gather(-1, places)).int()
            found["top_log_probabilities"] = (most / share.sum(-1, keepdim=True)).log()
        if "probabilities" in out:
            part = share / share.sum(-1, keepdim=True)
            found["probabilities"] = part if index is None else pt.zeros(x["x"].shape, device=part.device).scatter(-1, index, part)
        return found
    return run


def argmax(form, out, fused):
    return lambda x: {"out": pt.argmax(x["x"], -1)[None]}


def scan(form, out, fused):
    def run(x):
        x = x["x"].flip(-1) if form["reverse"] else x["x"]
        y = {"sum": lambda: pt.cumsum(x, -1, dtype=x.dtype), "max": lambda: pt.cummax(x, -1)[0],
             "min": lambda: pt.cummin(x, -1)[0]}[form["op"]]()
        y = y - x if form["exclusive"] else y
        return {"out": y.flip(-1) if form["reverse"] else y}
    return run


def histogram(form, out, fused):
    def run(x):
        x, bins = x["x"][0], form["bins"]
        return {"counts": (pt.histc(x, bins, 0, 1) if x.is_floating_point() else pt.bincount(x, minlength=bins))[None]}
    return run


def reduce(form, out, fused):
    def run(x):
        x = x["x"][0]
        wide = pt.float64 if x.dtype == pt.float64 else pt.float32
        return {"out": {"sum": lambda: x.sum(dtype=wide) if x.is_floating_point() else x.sum(), "max": x.max, "min": x.min,
                        "argmax": x.argmax, "argmin": x.argmin, "mean": lambda: x.mean(dtype=wide),
                        "meanvar": lambda: pt.var_mean(x if x.is_floating_point() else x.float(), correction=0)}[form["op"]]()}
    return run


def product(form, out, fused):
    act = {"none": lambda d: d, "relu": pt.relu, "silu": pt.nn.functional.silu,
           "gelu": lambda d: pt.nn.functional.gelu(d, approximate="tanh")}[form["activation"]]

    def run(x):
        a, b, bias = x["a"], x["b"].T if form["b"] == "column" else x["b"], x["bias"][0] if "bias" in x else None
        if a.dtype == pt.float8_e4m3fn:
            fused_bias = bias if out["d"] != pt.float32 else None  # what cuBLAS has
            d = pt._scaled_mm(a, b, scale_a=form["one"], scale_b=form["one"], bias=fused_bias, out_dtype=out["d"], use_fast_accum=True)
            d = d + bias if bias is not None and fused_bias is None else d
        elif a.dtype == pt.int8:
            d = pt._int_mm(a, b)
            d = d if out["d"] == pt.int32 else (d.float() + bias if bias is not None else d.float()).to(out["d"])
        elif out["d"] != a.dtype:
            d = pt.mm(a, b, out_dtype=out["d"])
            d = d + bias if bias is not None else d
        else:
            d = pt.addmm(bias, a, b) if bias is not None else a @ b
        return {"d": act(d)}
    return run


CALLS = {"softmax": softmax, "norm": norm, "crossentropy": crossentropy, "topk": topk, "sort": sort, "sample": sample, "argmax": argmax, "scan": scan,
         "histogram": histogram, "reduce": reduce, "gemm": product}


def with_gaps(request, run):
    """`run`, whose results go where the request's have gaps between their rows: no operator of torch's or QuACK's writes there itself."""
    gaps = {array.name: array.stride for array in request.outputs if array.rows > 1 and array.stride != array.columns}
    if not run or not gaps or request.call == "gemm":  # a product of torch's may have any distance of rows
        return run

    def into(found, stride):
        return pt.empty_strided(found.shape, (stride, 1), dtype=found.dtype, device=found.device).copy_(found)
    return lambda x: {name: into(found, gaps[name]) if name in gaps else found for name, found in run(x).items()}


def torch_function(request, types, fused):
    """What people write with torch for a request; `types` are torch's types of the outputs, by name."""
    make, form = CALLS[request.call], dict(request.form)
    if form.get("backward"):
        make = {"softmax": softmax_gradient, "norm": norm_gradient}[request.call]
        form["weight"] = any(array.name == "weight" for array in request.inputs)
    if request.call == "gemm" and request.inputs[0].dtype == "e4m3":
        form["one"] = pt.ones((), device="cuda")
    return with_gaps(request, make(form, types, fused))


def types_of(store, request):
    return {array.name: store.type_of(array.dtype) for array in request.outputs}


def views(store, request):
    return {array.name: store.view(array) for array in request.inputs}


def can_compile(request):
    """Whether torch has the request, and torch.compile opens it: bincount and histc stay what they are, and break the graph."""
    return request.call != "histogram" and "segments" not in request.form and all(array.name != "accepted" for array in request.outputs)


def to_compile(request, without):
    """The peers of a request that must be compiled; `without`: families that torch.compile is not asked for."""
    names = ["quack"] if has_quack() and request.call in QUACK_CALLS else []
    return names + (["compile"] if can_compile(request) and request.family not in without else [])


def compile_one(request, name):
    """In a process of its own: a peer does the request once, which fills the caches with what the process that measures will ask for."""
    try:
        pt.compiler.reset()
        store = stores.Inputs(pt, request)
        function = functions(request, store, None, [name])[name]()
        if function:
            function(views(store, request))
    finally:
        function = store = None
        try:
            pt.cuda.synchronize()
            pt.cuda.empty_cache()
        except RuntimeError:  # the GPU's context is lost, and all that this process would do
            os._exit(1)


# ---- QuACK


QUACK_CALLS = ("softmax", "norm", "crossentropy", "topk", "gemm")


@functools.lru_cache(None)
def has_quack():
    return importlib.util.find_spec("quack") is not None


def quack_function(request, types):
    """QuACK's function for a request, or None where it has none of that kind."""
    form, given = request.form, {array.name for array in request.inputs}
    same = all(types[array.name] == pt.float32 or array.dtype == request.inputs[0].dtype for array in request.outputs)
    keeps_type = all(array.dtype == request.inputs[0].dtype for array in request.outputs if array.name in ("y", "dx"))
    if request.call == "softmax" and keeps_type and not form["log"]:
        from quack.softmax import softmax_bwd, softmax_fwd
        if form.get("backward"):
            return lambda x: {"dx": softmax_bwd(x["dy"], x["y"])}
        return lambda x: {"y": softmax_fwd(x["x"])}
    if request.call == "norm" and form["kind"] == "rms" and same and "residual" not in given and "rstd" not in types:
        from quack.rmsnorm import rmsnorm_bwd, rmsnorm_fwd
        if form.get("backward"):
            if "weight" not in given or "dw" not in types or not keeps_type:
                return None

            def back(x):
                dx, dw, *_ = rmsnorm_bwd(x["x"], x["weight"][0], x["dy"], x["rstd"][0])
                return {"dx": dx, "dw": dw[None]}
            return back
        return lambda x: {"y": rmsnorm_fwd(x["x"], x["weight"][0] if "weight" in x else None, out_dtype=types["y"], eps=1e-5)[0]}
    if request.call == "crossentropy" and keeps_type and not form["smoothing"]:
        from quack.cross_entropy import cross_entropy_fwd
        if "dx" in types:
            def both(x):
                loss, *_, dx = cross_entropy_fwd(x["x"], x["label"][0], return_lse=True, return_dx=True)
                return {"loss": loss[None], "dx": dx}
            return both
        return lambda x: {"loss": cross_entropy_fwd(x["x"], x["label"][0], return_lse=True)[0][None]}
    columns = request.inputs[0].columns
    if request.call == "topk" and not form["smallest"] and form["k"] <= 128 and columns <= 4096 and columns & (columns - 1) == 0:
        from quack.topk import topk_fwd
        return lambda x: dict(zip(("values", "indices"), topk_fwd(x["x"], form["k"])))
    if request.call == "gemm" and request.inputs[0].dtype in ("bf16", "f16") and form["activation"] == "none":
        from quack.gemm_interface import gemm
        return lambda x: {"d": gemm(x["a"], x["b"].T if form["b"] == "column" else x["b"], bias=x["bias"][0] if "bias" in x else None,
                                    out_dtype=types["d"], tuned=False)}
    return None


# ---- CUB, and kernels in plain CUDA: peers.h


class Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("work", "type", "fill")] + [("n", ctypes.c_uint64)] + \
        [(name, ctypes.c_uint32) for name in ("bins", "height", "width", "problems", "steps", "columns", "k", "blocks", "cluster",
                                              "bytes", "rounds")]


SUM, ARGMAX, MEAN_VARIANCE, HISTOGRAM, _STENCIL, _ALL_TO_ALL, SCAN, SCAN_ROWS, _FLAGS, TOPK, SORT, SORT_ROWS, SORT_RADIX = range(13)
TYPES = {"f32": 0, "f64": 1, "bf16": 2, "i32": 3, "u32": 4}


def cub_problem(request, segments=SORT_ROWS):
    """How peers.h has the request; None where it has not. `segments`: which of CUB's sorts of several rows."""
    x, form = request.inputs[0], request.form
    n, columns, dense = x.rows * x.columns, x.columns, x.stride == x.columns or x.rows == 1
    if x.dtype not in TYPES or not dense:
        return None
    if request.call == "reduce":
        work = {"sum": SUM if x.dtype != "u32" else None, "argmax": ARGMAX if x.dtype == "f32" else None,
                "meanvar": MEAN_VARIANCE if x.dtype == "f32" else None}.get(form["op"])
        return None if work is None else Problem(work=work, type=TYPES[x.dtype], n=n)
    if request.call == "histogram" and x.dtype == "u32":
        return Problem(work=HISTOGRAM, type=TYPES["u32"], n=n, bins=form["bins"])
    if x.dtype != "f32":
        return None
    if request.call == "scan" and form["op"] == "sum" and not form["exclusive"] and not form["reverse"]:
        return Problem(work=SCAN if x.rows == 1 else SCAN_ROWS, type=0, n=n, columns=columns)
    if request.call == "topk" and (columns, form["k"]) in ((65536, 64), (131072, 50)):
        return Problem(work=TOPK, type=0, n=n, columns=columns, k=form["k"])
    if request.call == "sort" and not form["descending"] and [a.name for a in request.outputs] == ["values", "indices"] and "segments" not in form and n < 2**31:
        return Problem(work=SORT if x.rows == 1 else segments, type=0, n=n, columns=columns)
    return None


@functools.lru_cache(None)
def cub_library(path):
    library = ctypes.CDLL(str(path))
    library.peers_run.restype = library.peers_prepare.restype = ctypes.c_char_p
    library.peers_prepare.argtypes = [ctypes.POINTER(Problem), ctypes.c_void_p]
    library.peers_run.argtypes = [ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p,
                                  ctypes.c_void_p, ctypes.c_void_p]
    return library


def cub_function(request, path, segments=SORT_ROWS):
    problem = cub_problem(request, segments)
    if not problem or not path:
        return None
    library, size = cub_library(path), ctypes.c_size_t(0)
    if not library.peers_have(ctypes.byref(problem)):
        return None

    def expect(said):
        if said:
            raise RuntimeError(said.decode())

    def run_with(temporary, x, out):
        stream = pt.cuda.current_stream().cuda_stream
        expect(library.peers_run(ctypes.byref(problem), temporary, ctypes.byref(size), x, out, stream))

    run_with(None, None, None)
    temporary = pt.empty(size.value + 1, dtype=pt.uint8, device="cuda")
    expect(library.peers_prepare(ctypes.byref(problem), temporary.data_ptr()))
    name = request.outputs[0].name
    out_bytes = sum(array.elements * stores.SIZE[array.dtype] for array in request.outputs) + 16

    def run(x):
        out = pt.empty(out_bytes, dtype=pt.uint8, device="cuda")
        run_with(temporary.data_ptr(), x["x"].data_ptr(), out.data_ptr())
        array = request.outputs[0]
        if request.call in ("scan", "histogram"):
            typed = pt.float32 if request.call == "scan" else pt.int32
            return {name: out.view(pt.uint8)[:array.rows * array.columns * 4].view(typed).view(array.rows, array.columns)}
        if request.call == "sort":
            halves = out[:8 * problem.n].view(2, array.rows, 4 * array.columns)
            return {"values": halves[0].view(pt.float32), "indices": halves[1].view(pt.int32)}
        return {"raw": out}
    return run


def functions(request, store, cub, compiled):
    """Every peer for a request: name and a function that makes its function, None where it has none. `compiled`: those of `to_compile`
    that are wanted."""
    types = types_of(store, request)
    every = {"eager": lambda: torch_function(request, types, False), "cub": lambda: cub_function(request, cub)}
    if request.call == "sort" and request.inputs[0].rows > 1:
        every["cub radix"] = lambda: cub_function(request, cub, SORT_RADIX)
    if "quack" in compiled:
        every["quack"] = lambda: with_gaps(request, quack_function(request, types))
    if "compile" in compiled:
        every["compile"] = lambda: (function := torch_function(request, types, True)) and torched.compiled(pt, function)
    return every
