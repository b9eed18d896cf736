# SPDX-License-Identifier: Apache-2.0
"""The problems that sweep measures, drawn from a seed: shapes, types, strides and alignments of each family.

A Request says how ours is called (a call of calls.c and its words), the arrays in the order of that call's pointers, and in
`form` what the references and the peers must know besides. Equal seeds and limits give equal requests on every machine."""
import dataclasses
import math
import random
import zlib

SIZE = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2, "u8": 1, "i8": 1, "e4m3": 1}

HIDDEN = [768, 1024, 1152, 1280, 1536, 2048, 2304, 2560, 2880, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 12288, 14336, 16384]
VOCABULARY = [32000, 50257, 128256, 151936, 152064, 262144]
HEAD = [64, 72, 80, 96, 112, 128, 192, 256, 512]
ROUTER = [8, 16, 32, 60, 64, 128, 160, 256, 384, 512]
HALF_OR_SINGLE = ["bf16", "bf16", "bf16", "f16", "f32", "f32"]


@dataclasses.dataclass(frozen=True)
class Array:
    """`rows` x `columns` elements, `stride` apart from row to row, the first `offset` elements after a multiple of 256 bytes.
    `fill` says what it is filled with ("normal", "label", …); "" for an array that the call writes."""
    name: str
    dtype: str
    rows: int
    columns: int
    stride: int
    fill: str = ""
    offset: int = 0

    @property
    def elements(self):
        return self.offset + (self.rows - 1) * self.stride + self.columns

    @property
    def bytes(self):  # that a call moves
        return self.rows * self.columns * SIZE[self.dtype]


@dataclasses.dataclass(frozen=True)
class Request:
    family: str
    call: str      # of calls.c
    words: str     # its description
    arrays: tuple  # of Array, or None where the call takes a 0
    form: dict

    @property
    def label(self):
        return f"{self.family} {self.words}"

    @property
    def inputs(self):
        return [array for array in self.arrays if array and array.fill]

    @property
    def outputs(self):
        return [array for array in self.arrays if array and not array.fill]

    def seed(self, seed):
        """Of what its inputs are filled with: the same whatever else is drawn."""
        return zlib.crc32(f"{seed} {self.label}".encode())

    @property
    def bytes(self):
        return sum(array.bytes for array in self.arrays if array)


@dataclasses.dataclass(frozen=True)
class Limits:
    bytes: int       # of an input
    operations: int  # multiplications of a product


def log_uniform(rng, low, high):
    return int(round(math.exp(rng.uniform(math.log(low), math.log(high)))))


def draw_rows_columns(rng, limits, size, widths=(HIDDEN, VOCABULARY, HEAD, ROUTER), longest=1 << 28):
    """Rows and columns of a matrix: the columns of models in use, odd, tiny or huge ones; few rows, or many."""
    room = max(1, limits.bytes // size)
    style = rng.choice(["model", "model", "model", "odd", "odd", "tiny", "power", "huge"])
    columns = {"model": lambda: rng.choice(rng.choice(widths)), "odd": lambda: log_uniform(rng, 33, 1 << 18) | 1,
               "tiny": lambda: rng.randint(1, 40), "power": lambda: 1 << rng.randint(5, 18),
               "huge": lambda: log_uniform(rng, 1 << 18, 1 << 26)}[style]()
    columns = min(columns, room, longest)
    most = max(1, min(room // columns, 1 << 22))
    style = rng.choice(["one", "few", "tokens", "tokens", "random", "random", "all", "million"])
    rows = {"one": lambda: 1, "few": lambda: rng.randint(2, 64), "tokens": lambda: 1 << rng.randint(7, 15),
            "random": lambda: log_uniform(rng, 1, most), "all": lambda: most, "million": lambda: 1 << 20}[style]()
    return min(rows, most), columns


def draw_stride(rng, columns):
    return columns + rng.choice([0, 0, 0, 0, 8, 64, rng.randint(1, 63)])


def draw_offset(rng, dtype):
    return rng.choice([0, 0, 0, 0, 1, 8 // SIZE[dtype]])


def alignment(arrays):
    """The largest power of two, at most 16, that all these arrays begin at a multiple of."""
    at = 16
    for array in arrays:
        while array.offset * SIZE[array.dtype] % at:
            at //= 2
    return at


def words_of(**values):
    return " ".join(f"{name.replace('__', '.')}={int(value) if isinstance(value, bool) else value}"
                    for name, value in values.items() if value not in (None, 0, "", False))


class Matrices:
    """What the calls on rows draw alike: shape, type of inputs and outputs, strides, alignment."""

    def __init__(self, rng, limits, dtypes, widths=(HIDDEN, VOCABULARY, HEAD, ROUTER), mixed=True):
        self.dtype = rng.choice(dtypes)
        self.rows, self.columns = draw_rows_columns(rng, limits, SIZE[self.dtype], widths)
        self.out = rng.choice(["f32", "bf16"]) if mixed and rng.random() < 0.1 else self.dtype
        self.stride, self.out_stride = draw_stride(rng, self.columns), draw_stride(rng, self.columns)
        self.offset = draw_offset(rng, self.dtype) if self.out == self.dtype else 0

    def read(self, name, fill="normal"):
        return Array(name, self.dtype, self.rows, self.columns, self.stride, fill, self.offset)

    def written(self, name):
        return Array(name, self.out, self.rows, self.columns, self.out_stride, "", self.offset)

    def column(self, name, fill="weight"):
        return Array(name, self.dtype if fill else self.out, 1, self.columns, self.columns, fill, self.offset)

    def each(self, name, fill="", dtype="f32"):
        return Array(name, dtype, 1, self.rows, self.rows, fill)

    def request(self, family, call, arrays, form, **words):
        own = [array for array in arrays if array and array.dtype in (self.dtype, self.out) and array.offset]
        shape = words_of(shape__rows=self.rows, shape__columns=self.columns, shape__dtype=self.dtype,
                         shape__out=self.out if self.out != self.dtype else None,
                         shape__stride=self.stride if self.stride != self.columns else None,
                         shape__out_stride=self.out_stride if self.out_stride != self.columns else None,
                         shape__align=alignment(own) if alignment(own) < 16 else None)
        return Request(family, call, " ".join(filter(None, (shape, words_of(**words)))), tuple(arrays), form)


# ---- the families

def draw_softmax(rng, limits, log=False):
    m = Matrices(rng, limits, HALF_OR_SINGLE)
    return m.request("logsoftmax" if log else "softmax", "softmax", [m.read("x"), m.written("y")], {"log": log}, log=log)


def draw_logsoftmax(rng, limits):
    return draw_softmax(rng, limits, log=True)


def draw_norm(rng, limits, kind):
    m = Matrices(rng, limits, HALF_OR_SINGLE, (HIDDEN, HIDDEN, HEAD))
    weight, bias = rng.random() < 0.8, kind == "layer" and rng.random() < 0.6
    residual, stats = rng.random() < 0.25, rng.random() < 0.25
    arrays = [m.read("x"), m.read("residual") if residual else None, m.column("weight") if weight else None,
              m.column("bias", "normal") if bias else None, m.written("y"), m.written("sum") if residual else None,
              m.each("mean") if stats and kind == "layer" else None, m.each("rstd") if stats else None]
    return m.request(kind + "norm", "norm", arrays, {"kind": kind}, kind=kind, weight=weight, bias=bias,
                     residual=residual, stats=stats)


def draw_rmsnorm(rng, limits):
    return draw_norm(rng, limits, "rms")


def draw_layernorm(rng, limits):
    return draw_norm(rng, limits, "layer")


def draw_gradient(rng, limits):
    kind = rng.choice(["softmax", "logsoftmax", "rms", "rms", "layer", "layer"])
    if kind.endswith("softmax"):
        log = kind == "logsoftmax"
        m = Matrices(rng, limits, HALF_OR_SINGLE)
        arrays = [None, m.read("y", "logarithm" if log else "share"), None, m.read("dy"), m.written("dx")]
        return m.request("gradient", "softmax", arrays, {"log": log, "backward": True}, log=log, backward=True)
    m = Matrices(rng, limits, HALF_OR_SINGLE, (HIDDEN, HIDDEN, HEAD))
    weight, dw = rng.random() < 0.8, rng.random() < 0.7
    db = kind == "layer" and dw and rng.random() < 0.8
    arrays = [m.read("x"), None, m.column("weight") if weight else None, None, None, None,
              m.each("mean", "small") if kind == "layer" else None, m.each("rstd", "weight"), m.read("dy"), m.written("dx"),
              m.column("dw", "") if dw else None, m.column("db", "") if db else None]
    return m.request("gradient", "norm", arrays, {"kind": kind, "backward": True}, kind=kind, backward=True, weight=weight,
                     weight_gradient=dw, bias_gradient=db)


def draw_crossentropy(rng, limits):
    m = Matrices(rng, limits, HALF_OR_SINGLE, (VOCABULARY, VOCABULARY, ROUTER), mixed=False)
    gradient, smoothing = rng.random() < 0.4, rng.choice([0, 0, 0, 0.1])
    label = rng.choice(["i64", "i64", "i32"])
    arrays = [m.read("x"), m.each("label", "label", label), m.each("loss"), m.each("lse"), m.written("dx") if gradient else None]
    return m.request("crossentropy", "crossentropy", arrays, {"smoothing": smoothing}, gradient=gradient, smoothing=smoothing,
                     label=label if label == "i32" else None)


def draw_topk(rng, limits):
    dtype = rng.choice(["f32", "f32", "bf16", "f16", "i32"])
    rows, columns = draw_rows_columns(rng, limits, SIZE[dtype], (VOCABULARY, ROUTER, ROUTER, HIDDEN))
    most = min(columns, 2048)
    k = min(most, rng.choice([1, 2, 4, 6, 8, 8, 20, 40, 50, 64, 100, 256, 1024, 2048, log_uniform(rng, 1, most)]))
    stride, offset = draw_stride(rng, columns), draw_offset(rng, dtype)
    smallest, unsorted, narrow = rng.random() < 0.1, rng.random() < 0.3, rng.random() < 0.3
    x = Array("x", dtype, rows, columns, stride, "normal", offset)
    index = "u32" if narrow else "i64"
    words = words_of(rows=rows, columns=columns, k=k, dtype=dtype, smallest=smallest, index_u32=narrow, unsorted=unsorted,
                     stride=stride if stride != columns else None, align=alignment([x]) if alignment([x]) < 16 else None)
    arrays = (x, Array("values", dtype, rows, k, k), Array("indices", index, rows, k, k))
    return Request("topk", "topk", words, arrays, {"k": k, "smallest": smallest, "unsorted": unsorted})


SORTED = ["f32", "f32", "f32", "bf16", "bf16", "f16", "f64", "i32", "i32", "u32", "i64", "u64", "i16", "u16", "i8", "u8"]
PAYLOADS = ["i8", "i16", "i32", "i32", "i64"]  # by their bytes
LONGEST = 1 << 16  # of a segment where the number of all elements is not told, for which a workspace would be too large: a cluster holds it


def draw_sort(rng, limits):
    dtype = rng.choice(SORTED)
    rows, columns = draw_rows_columns(rng, limits, SIZE[dtype], (VOCABULARY, ROUTER, HIDDEN, HIDDEN))
    stride, offset = draw_stride(rng, columns), draw_offset(rng, dtype)
    descending, narrow, result = rng.random() < 0.5, rng.random() < 0.3, rng.choice(["both", "both", "both", "both", "values", "indices"])
    fill = rng.choice(["normal", "whole"]) if dtype[0] in "iu" else "normal"  # equal elements, or all digits
    payload = None
    if rng.random() < 0.3:  # keys with values, mostly without their indices
        payload, result = rng.choice(PAYLOADS), rng.choice(["values", "values", "values", "both", "neither"])
    if rng.random() < 0.2:
        told = rng.random() < 0.6
        return segments_request(rng, limits, rows, columns if told else min(columns, LONGEST), told, dtype, offset, descending, narrow, result, fill, payload)
    payload_stride = draw_stride(rng, columns) if payload else None
    return sort_request(rows, columns, dtype, stride, offset, descending, narrow, result, fill, payload, payload_stride)


def sort_words(result, **values):
    return words_of(**values, values_only=result in ("values", "neither"), indices_only=result in ("indices", "neither"))


def sort_arrays(x, result, narrow, offsets=None, payload=None):
    def like(name, dtype):
        return Array(name, dtype, x.rows, x.columns, x.columns)
    moved = like("sorted_payload", payload.dtype) if payload else None
    return (x, like("values", x.dtype) if result in ("both", "values") else None,
            like("indices", "u32" if narrow else "i64") if result in ("both", "indices") else None, offsets, payload, moved)


def sort_request(rows, columns, dtype, stride, offset=0, descending=False, narrow=False, result="both", fill="normal", payload=None, payload_stride=None):
    x = Array("x", dtype, rows, columns, stride, fill, offset)
    more = Array("payload", payload, rows, columns, payload_stride or columns, "whole") if payload else None
    words = sort_words(result, rows=rows, columns=columns, dtype=dtype, descending=descending, index_u32=narrow,
                       stride=stride if stride != columns else None, payload_bytes=SIZE[payload] if payload else None,
                       payload_stride=payload_stride if payload_stride != columns else None)
    return Request("sort", "sort", words, sort_arrays(x, result, narrow, None, more), {"descending": descending})


def segments_request(rng, limits, segments, longest, told, dtype, offset, descending, narrow, result, fill, payload):
    """One array of segments of 0 to `longest` elements; as much of it as they take, on the average, or some more or less. Where it is told how many
    elements they have, half of such arrays have few long ones among short ones: lengths are the ninth power of a uniform number."""
    mean, kind = rng.choice([(0.5, "segments"), (0.1, "mixed-segments")]) if told else (0.5, "segments")
    n = max(1, min(limits.bytes // SIZE[dtype], int(segments * longest * mean * rng.choice([0.8, 1, 1.2]))))
    lengths = f"{kind}:{longest}:{n}"
    x, kind = Array("x", dtype, 1, n, n, fill, offset), rng.choice(["i32", "i64"])
    offsets = Array("offsets", kind, 1, segments + 1, segments + 1, lengths)
    words = sort_words(result, rows=segments, columns=longest, dtype=dtype, descending=descending, index_u32=narrow, offsets=kind,
                       elements=n if told else None, payload_bytes=SIZE[payload] if payload else None)
    more = Array("payload", payload, 1, n, n, "whole") if payload else None
    return Request("sort", "sort", words, sort_arrays(x, result, narrow, offsets, more), {"descending": descending, "segments": True})


def draw_sample(rng, limits):
    dtype = rng.choice(["bf16", "bf16", "f16", "f32"])
    rows, columns = draw_rows_columns(rng, limits, SIZE[dtype], (VOCABULARY, VOCABULARY, ROUTER, HIDDEN), 1 << 22)
    stride, offset = draw_stride(rng, columns), draw_offset(rng, dtype)
    top_k = min(columns, rng.choice([0, 0, 1, 20, 50, 50, 64, 1000]))
    top_p, min_p = rng.choice([0, 0.5, 0.9, 0.9, 0.95]), rng.choice([0, 0, 0, 0.05, 0.3])
    masked, told = rng.random() < 0.2, rng.random() < 0.3
    more = {"penalties": rng.random() < 0.25, "offset": rng.random() < 0.2, "top": rng.choice([0, 0, 0, 0, 1, 5, 20, 32]),
            "distribution": rng.random() < 0.15, "draft": rng.random() < 0.2}
    return sample_request(rows, columns, dtype, stride, offset, top_k, top_p, min_p, masked, told, **more)


def sample_request(rows, columns, dtype, stride, begin=0, top_k=0, top_p=0, min_p=0, masked=False, told=False, penalties=False, offset=False,
                   top=0, distribution=False, draft=False):
    x = Array("x", dtype, rows, columns, stride, "logits", begin)

    def each(name, kind, fill, wanted=True):
        return Array(name, kind, 1, rows, rows, fill) if wanted else None

    def matrix(name, kind, width, fill, wanted):
        return Array(name, kind, rows, width, width, fill) if wanted else None

    words = words_of(rows=rows, columns=columns, dtype=dtype, top_k=top_k > 0, top_p=top_p > 0, min_p=min_p > 0, penalties=penalties,
                     mask=masked, log_probability=told, top=top, distribution=distribution, draft=draft,
                     stride=stride if stride != columns else None, align=alignment([x]) if alignment([x]) < 16 else None)
    arrays = (x, each("tokens", "i32", ""), matrix("mask", "i32", -(-columns // 32), "bits", masked), each("temperature", "f32", "weight"),
              each("top_k", "i32", f"value:{top_k}", top_k), each("top_p", "f32", f"value:{top_p}", top_p),
              each("min_p", "f32", f"value:{min_p}", min_p), each("seed", "i64", "seed"), each("log_probability", "f32", "", told),
              matrix("counts", "u32", columns, "counts", penalties), each("repetition", "f32", "weight", penalties),
              each("frequency", "f32", "small", penalties), each("presence", "f32", "weight", penalties), each("offset", "i64", "seed", offset),
              matrix("top_tokens", "i32", top, "", top), matrix("top_log_probabilities", "f32", top, "", top),
              matrix("probabilities", "f32", columns, "", distribution), each("draft_tokens", "i32", "token", draft),
              matrix("draft_probabilities", "f32", columns, "draft", draft), each("accepted", "u32", "", draft))
    return Request("sample", "sample", words, arrays, {"top_k": top_k, "top_p": top_p, "min_p": min_p, "top": top})


def draw_argmax(rng, limits):
    dtype = rng.choice(["f32", "f32", "bf16", "f16", "i32"])
    rows, columns = draw_rows_columns(rng, limits, SIZE[dtype], (VOCABULARY, VOCABULARY, ROUTER, HIDDEN))
    stride, offset = draw_stride(rng, columns), draw_offset(rng, dtype)
    x = Array("x", dtype, rows, columns, stride, rng.choice(["normal", "coarse"]), offset)
    words = words_of(rows=rows, columns=columns, dtype=dtype, stride=stride if stride != columns else None,
                     align=alignment([x]) if alignment([x]) < 16 else None)
    return Request("argmax", "argmax", words, (x, Array("out", "u32", 1, rows, rows)), {})


def draw_length(rng, limits, size):
    most = limits.bytes // size
    style = rng.choice(["tiny", "random", "random", "power", "all"])
    return min(most, {"tiny": lambda: rng.randint(1, 4096), "random": lambda: log_uniform(rng, 1, most),
                      "power": lambda: 1 << rng.randint(10, 30), "all": lambda: most - rng.randint(0, 7)}[style]())


FIELDS = {"argmin": 2, "argmax": 2, "meanvar": 2}  # values that a reduction writes; one, if it is not here


def draw_reduce(rng, limits):
    dtype = rng.choice(["f32", "f32", "f32", "bf16", "bf16", "f16", "f64", "i32", "i64", "i8", "u8"])
    op = rng.choice(["sum", "sum", "sum", "max", "min", "argmax", "argmin", "mean", "meanvar"])
    n = draw_length(rng, limits, SIZE[dtype])
    # The result's bytes: sweep reads them by the op and the type.
    arrays = (Array("x", dtype, 1, n, n, rng.choice(["normal", "normal", "coarse"]), draw_offset(rng, dtype)),
              Array("out", "u8", 1, 16 if op in FIELDS else 8, 16))
    return Request("reduce", "reduce", words_of(n=n, op=op, dtype=dtype), arrays, {"op": op})


def draw_scan(rng, limits):
    dtype = rng.choice(["f32", "f32", "f32", "bf16", "f16", "f64", "i32", "i64"])
    op = rng.choice(["sum", "sum", "sum", "sum", "max", "min"])
    if rng.random() < 0.4:
        rows, columns = 1, draw_length(rng, limits, SIZE[dtype])
    else:
        rows, columns = draw_rows_columns(rng, limits, SIZE[dtype])
    stride, out_stride, offset = draw_stride(rng, columns), draw_stride(rng, columns), draw_offset(rng, dtype)
    exclusive, reverse = op == "sum" and rng.random() < 0.2, rng.random() < 0.15
    arrays = (Array("x", dtype, rows, columns, stride, "normal", offset), Array("out", dtype, rows, columns, out_stride, "", offset))
    at = alignment(arrays)
    words = words_of(rows=rows, columns=columns, op=op, dtype=dtype, exclusive=exclusive, reverse=reverse,
                     stride=stride if stride != columns else None, out_stride=out_stride if out_stride != columns else None,
                     align=at if at < 16 else None)
    return Request("scan", "scan", words, arrays, {"op": op, "exclusive": exclusive, "reverse": reverse})


def draw_histogram(rng, limits):
    dtype = rng.choice(["u32", "u32", "f32", "f32", "u8", "u16"])
    n = draw_length(rng, limits, SIZE[dtype])
    bins = rng.choice([10, 64, 256, 256, 1000, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, log_uniform(rng, 1, 1 << 20)])
    bins = min(bins, {"u8": 256, "u16": 1 << 16}.get(dtype, 1 << 20), max(1, limits.bytes // 8))
    spread = rng.choice(["uniform", "uniform", "skewed", "equal"])
    arrays = (Array("x", dtype, 1, n, n, spread, draw_offset(rng, dtype)), Array("counts", "u32", 1, bins, bins))
    return Request("histogram", "histogram", words_of(n=n, bins=bins, dtype=dtype), arrays, {"bins": bins})


def draw_edge(rng, most):
    side = {"model": lambda: rng.choice(HIDDEN), "few": lambda: rng.randint(1, 128), "tokens": lambda: 1 << rng.randint(4, 14),
            "random": lambda: log_uniform(rng, 1, 16384), "eights": lambda: 8 * log_uniform(rng, 1, 2048)}
    return min(most, side[rng.choice(["model", "model", "few", "tokens", "random", "eights"])]())


def round_up(value, multiple):
    return -(-value // multiple) * multiple


def draw_product(rng, limits):
    dtype = rng.choice(["bf16", "bf16", "bf16", "f16", "e4m3", "i8"] * 2 + ["f64"])
    most = limits.bytes // SIZE[dtype]
    m, n, k = (draw_edge(rng, 1 << 16) for _ in range(3))
    while m * n * k > limits.operations or max(m * k, n * k, m * n) > most:
        m, n, k = (max(1, edge // 2) for edge in (m, n, k))
    b = "row" if SIZE[dtype] > 1 and rng.random() < 0.25 else "column"
    out = rng.choice({"e4m3": ["bf16", "f32"], "i8": ["i32", "i32", "bf16", "f32"], "f64": ["f64"]}.get(dtype, [dtype, dtype, dtype, "f32"]))
    bias, activation = rng.random() < 0.3, rng.choice(["none"] * 6 + ["relu", "gelu", "silu"])
    if out == "i32":  # sums as they are
        bias, activation = False, "none"
    if dtype == "f64" and activation != "relu":  # which has no other
        activation = "none"
    pad, unaligned = rng.choice([0, 0, 0, 1]), rng.random() < 0.25
    gaps = [rng.choice([0, 0, 1, rng.randint(1, 15)]) for _ in range(3)] if unaligned else None
    offsets = [draw_offset(rng, of) for of in (dtype, dtype, out)] if unaligned else [0, 0, 0]
    return product_request(m, n, k, dtype, b, out, bias, activation, pad, gaps, offsets)


def product_request(m, n, k, dtype="bf16", b="column", out=None, bias=False, activation="none", pad=0, gaps=None, offsets=(0, 0, 0)):
    """Lines of A, B and D begin at multiples of 16 bytes, with `pad` after gaps of 16 bytes; or, with `gaps`, so many elements after the
    end of the line before, wherever that is. `offsets`: elements before A, B and D."""
    out = out or dtype

    def leading(which, length, of):
        return length + gaps[which] if gaps else round_up(length, 16 // SIZE[of]) + pad * (16 // SIZE[of])

    lda, ldb, ldd = leading(0, k, dtype), leading(1, k if b == "column" else n, dtype), leading(2, n, out)
    lines = (n, k) if b == "column" else (k, n)
    arrays = (Array("a", dtype, m, k, lda, "normal", offsets[0]), Array("b", dtype, *lines, ldb, "normal", offsets[1]),
              Array("d", out, m, n, ldd, "", offsets[2]), Array("bias", out, 1, n, n, "normal") if bias else None)
    at = {f"align_{array.name}": alignment([array]) for array in arrays[:3] if alignment([array]) < 16}
    words = words_of(m=m, n=n, k=k, dtype=dtype, b=b, lda=lda, ldb=ldb, ldd=ldd, out=out, bias="n" if bias else None,
                     activation=activation if activation != "none" else None, **at)
    return Request("product", "gemm", words, arrays, {"m": m, "n": n, "k": k, "b": b, "activation": activation})


def named(families):
    """The shapes that have goals of their own: sorts by rows, from the shortest, and tokens of a vocabulary of 128256."""
    sorts = [(65536, 1024), (16384, 4096), (4096, 16384), (4096, 65536), (1024, 262144)]
    few = [(128, 32768), (32, 131072), (1, 1 << 18), (1, 1 << 20), (1, 1 << 23), (1, 1 << 26)]
    requests = [sort_request(rows, columns, dtype, columns) for dtype, shapes in (("f32", sorts + few), ("bf16", sorts)) for rows, columns in shapes]
    requests += [sample_request(rows, 128256, "bf16", 128256, top_k=top_k, top_p=top_p)
                 for top_k, top_p in ((50, 0.9), (0, 0.9), (0, 0)) for rows in (1, 8, 32, 128)]
    return [request for request in requests if request.family in families]


FAMILIES = {"reduce": draw_reduce, "softmax": draw_softmax, "logsoftmax": draw_logsoftmax, "rmsnorm": draw_rmsnorm,
            "layernorm": draw_layernorm, "gradient": draw_gradient, "crossentropy": draw_crossentropy, "topk": draw_topk,
            "sort": draw_sort, "sample": draw_sample, "argmax": draw_argmax, "scan": draw_scan, "histogram": draw_histogram, "product": draw_product}


def draw(seed, shapes, limits, families=tuple(FAMILIES)):
    """`shapes` requests of each family, the families in turn. A family's are the same whichever others are drawn."""
    streams = {family: random.Random(f"{seed} {family}") for family in families}
    return [FAMILIES[family](streams[family], limits) for _ in range(shapes) for family in families]
