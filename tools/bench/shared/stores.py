# SPDX-License-Identifier: Apache-2.0
"""Where a request's arrays lie and how they are filled: NumPy's memory for the CPU device, torch's for a GPU.

A flat array holds an Array's elements from a multiple of 256 bytes on; types that one of the two lacks are kept as their bits.
`wide` gives the elements as float64, integers as int64: what the references compute with."""
from shared.draw import SIZE

POISON = 0xFF  # NaN in every type of floats, -1 in integers
RANGES = {"seed": (0, 1 << 62), "bits": (-(1 << 31), 1 << 31)}  # of whole numbers that are drawn evenly
E4M3_ONE = 0x38  # its code; fills take codes up to that of 2, with either sign


def e4m3_values():
    values = []
    for code in range(256):
        exponent, fraction = code >> 3 & 15, code & 7
        value = fraction / 512 if not exponent else (1 + fraction / 8) * 2.0 ** (exponent - 7)
        values.append(float("nan") if code & 127 == 127 else -value if code & 128 else value)
    return values


def is_integer(dtype):
    return dtype[0] in "iu"


def whole(dtype):
    """The ends of what is drawn of all bits."""
    bits = 8 * SIZE[dtype] - 1
    return (-(1 << bits) + 1 if dtype[0] == "i" else 0), (1 << bits) - 1


class Numpy:
    """The arrays of one call on the host. `seed` alone says what they are filled with."""

    def __init__(self, np, request, seed):
        self.np = self.xp = np
        self.rng, self.flat, self.raw = np.random.default_rng(seed), {}, []
        self.columns, self.bins = request.inputs[0].columns, request.form.get("bins")
        for array in filter(None, request.arrays):
            size = array.elements * SIZE[array.dtype]
            raw = np.full(size + 256, POISON, np.uint8)
            begin = -raw.ctypes.data % 256
            self.raw.append(raw)
            self.flat[array.name] = raw[begin:begin + size].view(self.type_of(array.dtype))
            if array.fill:
                self.flat[array.name][:] = self.bits(self.fill(array), array.dtype)

    def type_of(self, dtype):
        np = self.np
        named = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "e4m3": np.uint8}
        return named.get(dtype) or np.dtype(("int" if dtype[0] == "i" else "uint") + dtype[1:]).type

    def fill(self, array):
        rng, n = self.rng, array.elements
        if array.dtype == "e4m3":
            return rng.integers(0, E4M3_ONE + 9, n) | rng.integers(0, 2, n) << 7
        if array.fill == "whole":  # any bits, but that what has no sign fits a type that has one
            return rng.integers(*whole(array.dtype), n)
        if "segments:" in array.fill:
            longest, last = map(int, array.fill.split(":")[1:])
            lengths = (rng.random(n) ** 9 * (longest + 1)).astype(int) if array.fill[0] == "m" else rng.integers(0, longest + 1, n)
            lengths[0] %= 5  # what stands before the first one
            return self.np.minimum(self.np.cumsum(lengths), last)
        if array.fill == "counts":
            return self.np.where(rng.random(n) < 0.1, rng.integers(1, 4, n), 0)
        if array.fill == "token":  # of a draft, which a tenth of the rows has not
            return self.np.where(rng.random(n) < 0.1, -1, rng.integers(0, self.columns, n))
        if array.fill == "draft":  # probabilities, whose sum is about 1
            return self.np.minimum(self.np.exp(4 * rng.standard_normal(n) - 8) / self.columns, 1)
        if array.fill == "label":  # of them a tenth is ignored
            return self.np.where(rng.random(n) < 0.1, -100, rng.integers(0, self.columns, n))
        if array.fill in ("seed", "bits"):
            return rng.integers(*RANGES[array.fill], n)
        if array.fill.startswith("value:"):
            return self.np.full(n, float(array.fill[6:]))
        if array.fill in ("uniform", "skewed", "equal"):
            unit = rng.random(n) ** {"uniform": 1, "skewed": 4, "equal": 0}[array.fill] * (1 / 3 if array.fill == "equal" else 1)
            return unit if not is_integer(array.dtype) else self.np.floor(unit * self.bins)
        x = {"normal": lambda: rng.standard_normal(n), "coarse": lambda: rng.integers(-50, 50, n) / 8.0,
             "logits": lambda: 4 * rng.standard_normal(n), "weight": lambda: rng.uniform(0.5, 1.5, n), "small": lambda: rng.uniform(-0.1, 0.1, n),
             "share": lambda: rng.uniform(0, 1, n), "logarithm": lambda: rng.uniform(-8, 0, n)}[array.fill]()
        return self.np.rint(x * 20).clip(0 if array.dtype[0] == "u" else -128, 127) if is_integer(array.dtype) else x

    def bits(self, x, dtype):
        if dtype != "bf16":
            return x.astype(self.type_of(dtype))
        word = x.astype(self.np.float32).view(self.np.uint32)
        return (word + 0x7FFF + (word >> 16 & 1) >> 16).astype(self.np.uint16)

    def view(self, array):
        flat = self.flat[array.name]
        size = flat.itemsize
        return self.np.lib.stride_tricks.as_strided(flat[array.offset:], (array.rows, array.columns), (array.stride * size, size))

    def bytes(self, array):
        """Of each element of an array of one row."""
        return self.view(array)[0].view(self.np.uint8).reshape(array.columns, SIZE[array.dtype])

    def wide(self, array, rows=slice(None), columns=slice(None)):
        np, x = self.np, self.view(array)[rows, columns]
        if array.dtype == "bf16":
            return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if array.dtype == "e4m3":
            return np.array(e4m3_values())[x]
        return x.astype(np.int64 if is_integer(array.dtype) else np.float64)

    def numbers(self, function, *x):
        """A function of NumPy's uint64, of whole numbers that are not negative."""
        return function(*(one.astype(self.np.uint64) for one in x))

    def result(self, array, dtype, at):
        """The value of a type `at` bytes into an output of bytes."""
        value = self.flat[array.name][at:at + SIZE[dtype]].view(self.type_of(dtype))[0]
        return int(value) if is_integer(dtype) else float(value)

    def untouched(self, array):
        """Whether nothing between rows, or before the first element, was written."""
        flat = self.flat[array.name]
        if array.offset and not (flat[:array.offset].view(self.np.uint8) == POISON).all():
            return False
        if array.stride == array.columns or array.rows == 1:
            return True
        size = flat.itemsize
        raw = flat[array.offset:].view(self.np.uint8)[array.columns * size:]
        gaps = self.np.lib.stride_tricks.as_strided(raw, (array.rows - 1, (array.stride - array.columns) * size),
                                                    (array.stride * size, 1))
        return bool((gaps == POISON).all())

    def address(self, array):
        return self.flat[array.name].ctypes.data + array.offset * SIZE[array.dtype]


class Torch:
    """The same on a GPU. Types without a sign, of which torch has few, are kept as those with one."""

    def __init__(self, pt, request, seed):
        self.pt = self.xp = pt
        self.rng, self.flat = pt.Generator("cuda").manual_seed(seed), {}
        self.columns, self.bins = request.inputs[0].columns, request.form.get("bins")
        for array in filter(None, request.arrays):
            self.flat[array.name] = self.pt.empty(array.elements, dtype=self.type_of(array.dtype), device="cuda")
            if array.fill:
                self.fill(array, self.flat[array.name])
        self.poison(request)

    def poison(self, request):
        for array in request.outputs:
            self.flat[array.name].view(self.pt.uint8).fill_(POISON)

    def type_of(self, dtype):
        pt = self.pt
        return {"f64": pt.float64, "f32": pt.float32, "f16": pt.float16, "bf16": pt.bfloat16, "e4m3": pt.float8_e4m3fn,
                "i64": pt.int64, "u64": pt.int64, "i32": pt.int32, "u32": pt.int32, "i16": pt.int16, "u16": pt.int16, "u8": pt.uint8, "i8": pt.int8}[dtype]

    def fill(self, array, flat):
        pt, n = self.pt, array.elements

        def unit():
            return pt.rand(n, generator=self.rng, device="cuda")

        def below(low, high):
            return pt.randint(low, high, (n,), generator=self.rng, device="cuda")

        if array.dtype == "e4m3":
            return flat.view(pt.uint8).copy_(below(0, E4M3_ONE + 9) | below(0, 2) << 7)
        if array.fill == "whole":
            return flat.copy_(below(*whole(array.dtype)))
        if "segments:" in array.fill:
            longest, last = map(int, array.fill.split(":")[1:])
            lengths = (unit() ** 9 * (longest + 1)).long().clamp(max=longest) if array.fill[0] == "m" else below(0, longest + 1)
            lengths[0] %= 5
            return flat.copy_(lengths.cumsum(0).clamp(max=last))
        if array.fill == "counts":
            return flat.copy_(pt.where(unit() < 0.1, below(1, 4), 0))
        if array.fill == "token":
            return flat.copy_(pt.where(unit() < 0.1, -1, below(0, self.columns)))
        if array.fill == "draft":
            return flat.copy_(((4 * pt.randn(n, generator=self.rng, device="cuda") - 8).exp() / self.columns).clamp(max=1))
        if array.fill == "label":
            return flat.copy_(pt.where(unit() < 0.1, -100, below(0, self.columns)))
        if array.fill in ("seed", "bits"):
            return flat.copy_(below(*RANGES[array.fill]))
        if array.fill.startswith("value:"):
            return flat.fill_(float(array.fill[6:]))
        if array.fill in ("uniform", "skewed", "equal"):
            x = {"uniform": unit, "skewed": lambda: unit() ** 4, "equal": lambda: pt.full((n,), 1 / 3, device="cuda")}[array.fill]()
            if not is_integer(array.dtype):
                return flat.copy_(x)
            return flat.copy_((x.double() * self.bins).floor().clamp(max=self.bins - 1).long())
        x = {"normal": lambda: pt.randn(n, generator=self.rng, device="cuda"), "coarse": lambda: below(-50, 50) / 8.0,
             "logits": lambda: 4 * pt.randn(n, generator=self.rng, device="cuda"), "weight": lambda: unit() + 0.5, "small": lambda: unit() * 0.2 - 0.1, "share": unit,
             "logarithm": lambda: unit() * -8}[array.fill]()
        if is_integer(array.dtype):
            x = (x * 20).round().clamp(0 if array.dtype[0] == "u" else -128, 127)
        return flat.copy_(x)

    def copy(self):
        """Another set of arrays with the same contents at other addresses."""
        other = object.__new__(Torch)
        other.__dict__.update(self.__dict__, flat={name: flat.clone() for name, flat in self.flat.items()})
        return other

    def view(self, array):
        return self.flat[array.name].as_strided((array.rows, array.columns), (array.stride, 1), array.offset)

    def bytes(self, array):
        return self.view(array)[0].view(self.pt.uint8).reshape(array.columns, SIZE[array.dtype])

    def wide(self, array, rows=slice(None), columns=slice(None)):
        x = self.view(array)[rows, columns]
        if is_integer(array.dtype):
            return x.long() & (1 << 8 * SIZE[array.dtype]) - 1 if array.dtype in ("u32", "u16") else x.long()
        return (x.float() if array.dtype == "e4m3" else x).double()

    def numbers(self, function, *x):
        return self.pt.from_numpy(function(*(one.cpu().numpy().astype("uint64") for one in x))).cuda()

    def result(self, array, dtype, at):
        value = self.flat[array.name][at:at + SIZE[dtype]].cpu().view(self.type_of(dtype))[0].item()
        return value

    def untouched(self, array):
        raw = self.flat[array.name].view(self.pt.uint8)
        size = SIZE[array.dtype]
        if not bool((raw[:array.offset * size] == POISON).all()):
            return False
        if array.stride == array.columns or array.rows == 1:
            return True
        gaps = raw.as_strided((array.rows - 1, (array.stride - array.columns) * size), (array.stride * size, 1),
                              (array.offset + array.columns) * size)
        return bool((gaps == POISON).all())

    def address(self, array):
        return self.flat[array.name].data_ptr() + array.offset * SIZE[array.dtype]


class Inputs(Torch):
    """Inputs alone, to compile with: filled in place, for little memory, with something that a call may be given."""

    def __init__(self, pt, request):
        self.pt, self.flat = pt, {}
        for array in request.inputs:
            flat = self.flat[array.name] = pt.empty(array.elements, dtype=self.type_of(array.dtype), device="cuda")
            if array.dtype == "e4m3":
                flat.view(pt.uint8).random_(0, E4M3_ONE + 9)
            elif is_integer(array.dtype):
                flat.zero_()
            else:
                flat.normal_()
