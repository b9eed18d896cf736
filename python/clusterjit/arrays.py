# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, taken as they are: where each lies, its shape and type, its current stream, and new ones like it.

A reader knows the arrays of one library. ``read`` appends all that a plan depends on, as a key that compares fast, and the address,
``read_out`` those of an array to be written; ``view`` gives the same in one form for all libraries; ``allocator`` a function that
makes an array of the same kind.
"""
from __future__ import annotations

import ctypes
import functools
import operator
import sys
from typing import Any, Callable, NamedTuple, Optional, Sequence, TypeVar

from ._library import ffi
from .errors import Error, InvalidArgument, UnsupportedType
from .unrolled import Lines, joined, lines_of, tester

Array = Any  # of numpy, torch, cupy, or with __dlpack__, __cuda_array_interface__ or __array_interface__
Shape = tuple[int, ...]
E = TypeVar("E", bound=Error)

#: The library's name for each type of element, and its bytes.
DTYPES = {
    "float32": ("f32", 4), "float64": ("f64", 8), "float16": ("f16", 2), "bfloat16": ("bf16", 2),
    "float8_e4m3fn": ("e4m3", 1), "float8_e5m2": ("e5m2", 1),
    "int8": ("i8", 1), "int16": ("i16", 2), "int32": ("i32", 4), "int64": ("i64", 8),
    "uint8": ("u8", 1), "uint16": ("u16", 2), "uint32": ("u32", 4), "uint64": ("u64", 8),
}
NAMES = {short: name for name, (short, _) in DTYPES.items()}


def dtype_name(dtype: Any, parameter: str = "dtype") -> str:
    """The library's name of a dtype of any library, or of a name: "bf16" of torch.bfloat16 and of "bfloat16", for a parameter."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = name.rsplit(".", 1)[-1]
    if name in NAMES:
        return str(name)
    if name not in DTYPES or not getattr(dtype, "isnative", True):
        raise UnsupportedType.of(parameter, dtype, f"is none of {', '.join(DTYPES)}, in the order of bytes of this machine",
                                 "give one of these names, or a dtype of NumPy or torch")
    return DTYPES[name][0]


def dtype_of(dtype: Any, name: str) -> str:
    """The library's name of the dtype of an array that was given for a parameter."""
    try:
        return dtype_name(dtype)
    except UnsupportedType as error:
        convert = "x.astype(...) or x.to(...)" if getattr(dtype, "isnative", True) else 'x.astype(x.dtype.newbyteorder("="))'
        raise UnsupportedType.of(name, dtype, error.limit or "", f"convert it: {convert}", what="its dtype") from None


def size_of(dtype: str) -> int:
    """The bytes of an element of "f32" and so on."""
    return DTYPES[NAMES[dtype]][1]


class View(NamedTuple):
    """An array as the library sees it."""

    name: str  # of the parameter that it was given for
    slot: int  # its place among the arrays of the call
    reader: Any
    dtype: str  # "f32"
    shape: Shape
    strides: Shape  # in elements
    device: Optional[int]  # the GPU's ordinal; None: the host's memory
    align: int  # bytes that its address is a multiple of, at most 16
    writable: bool
    like: Any  # what an allocator needs to make another one

    @property
    def size(self) -> int:
        return size_of(self.dtype)

    @property
    def bytes(self) -> int:
        """From the first element to the last one, with what lies between them."""
        return (1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))) * self.size if all(self.shape) else 0

    @property
    def contiguous(self) -> bool:
        return all(n == 1 or s == want for n, s, want in zip(self.shape, self.strides, contiguous(self.shape)))

    @property
    def place(self) -> str:
        return "the host's memory" if self.device is None else f"GPU {self.device}"

    @property
    def layout(self) -> tuple[Any, ...]:
        """What a kernel depends on; strides over one element do not count."""
        return self.dtype, self.shape, tuple(0 if n == 1 else s for n, s in zip(self.shape, self.strides)), self.device

    @property
    def described(self) -> str:
        return f"{self.dtype} of shape {self.shape} with strides {self.strides} in {self.place}"

    def transposed(self) -> View:
        return self._replace(shape=(*self.shape[:-2], self.shape[-1], self.shape[-2]),
                             strides=(*self.strides[:-2], self.strides[-1], self.strides[-2]))

    def refuse(self, what: str, value: Any, limit: str, hint: str = "", kind: type[E] = InvalidArgument) -> E:  # type: ignore[assignment]
        """The error with the message ``name: what value limit``: "its dtype is", "f64", "; it must be f32"."""
        return kind.of(self.name, value, limit, hint, what=what)

    def refuse_shape(self, limit: str, hint: str = "") -> InvalidArgument:
        return self.refuse("its shape is", self.shape, f"; {limit}", hint)

    def refuse_strides(self, limit: str) -> InvalidArgument:
        return self.refuse("strides", self.strides, f"in elements, of shape {self.shape}, {limit}",
                           "copy it: numpy.ascontiguousarray(x), x.contiguous()")


def contiguous(shape: Shape) -> Shape:
    """Strides, in elements, of rows one after the other."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def align_of(address: int) -> int:
    """Bytes that the address is a multiple of, at most 16."""
    return (address | 16) & -(address | 16)


class Reader:
    """What readers share. ``waits``: launches wait for the array's library, and it for them, by the host."""

    waits = False

    @classmethod
    def read(cls, x: Array, keys: list[Any], addresses: list[int]) -> None:
        """Of what is no array: it has no key that arrays have, so that a view is asked for, which refuses it by name."""
        keys.append(cls)
        addresses.append(0)

    @classmethod
    def read_out(cls, x: Array, keys: list[Any], addresses: list[int]) -> None:
        cls.read(x, keys, addresses)

    @classmethod
    def address(cls, x: Array) -> int:
        addresses: list[int] = []
        cls.read(x, [], addresses)
        return addresses[0]

    @staticmethod
    def current(device: Optional[int]) -> Callable[[], int]:
        """A function that gives the handle of the caller's current stream on the device; of the default one, if none is known."""
        return int

    @staticmethod
    def test(arrays: Sequence[Array], outs: Sequence[Array]) -> Optional[Lines]:
        """A test that arrays like these pass, aligned to 16 bytes, and no others; None if the keys are all there is."""
        return None


_BUFFER, _CHARS, _ZERO = ffi.from_buffer, ffi.typeof("char[]"), ffi.cast("char *", 0)

# A buffer is refused of an array that is not contiguous, and of one that is read-only where it is to be written.
_NUMPY_TEST = """
    try:
        if type(x#) is not kind# or x#.dtype is not dtype# or x#.shape != shape#: return None
        address# = -(zero - buffer(BUFFER))
    except (ValueError, TypeError, BufferError):
        return None
    if ({address# | } 0) & 15: return None
"""
_TORCH_TEST = """
    if not alike({x#, }): return None
    address# = x#.data_ptr()
    if ({address# | } 0) & 15: return None
"""


def _numpy_test(buffer: str, arrays: Sequence[Array], numbers: range) -> Lines:
    names = {"buffer": _BUFFER, "chars": _CHARS, "zero": _ZERO}
    return lines_of(_NUMPY_TEST.replace("BUFFER", buffer), numbers, names, kind=[type(x) for x in arrays], dtype=[x.dtype for x in arrays],
                    shape=[x.shape for x in arrays])


class NumPy(Reader):
    @staticmethod
    def read(x: Array, keys: list[Any], addresses: list[int], buffer: Any = _BUFFER, zero: Any = _ZERO) -> None:
        strides = None
        try:
            address = -(zero - buffer(x))  # a difference of pointers is an int, in a quarter of the time of a cast
        except (ValueError, TypeError, BufferError):  # it is not contiguous, or of a type that buffers do not have
            address, strides = x.__array_interface__["data"][0], x.strides
        keys.append((x.dtype, x.shape, strides, address & 15))
        addresses.append(address)

    @staticmethod
    def read_out(x: Array, keys: list[Any], addresses: list[int], buffer: Any = _BUFFER, zero: Any = _ZERO) -> None:
        strides = None
        try:
            address = -(zero - buffer(_CHARS, x, True))
        except (ValueError, TypeError, BufferError):  # or it is read-only
            address, strides = x.__array_interface__["data"][0], (x.strides, x.flags.writeable)
        keys.append((x.dtype, x.shape, strides, address & 15))
        addresses.append(address)

    @staticmethod
    def address(x: Array, buffer: Any = _BUFFER, zero: Any = _ZERO) -> int:
        try:
            return -(zero - buffer(x))  # type: ignore[no-any-return]
        except (ValueError, TypeError, BufferError):
            return x.__array_interface__["data"][0]  # type: ignore[no-any-return]

    @staticmethod
    def test(arrays: Sequence[Array], outs: Sequence[Array]) -> Optional[Lines]:
        read = _numpy_test("x#", arrays, range(len(arrays)))  # the short form takes 0.05 us less
        written = _numpy_test("chars, x#, True", outs, range(len(arrays), len(arrays) + len(outs)))
        return joined(read, written) if outs else read

    @classmethod
    def view(cls, x: Array, name: str, slot: int) -> View:
        strides = _elements(name, x.strides, x.itemsize)
        return View(name, slot, cls, dtype_of(x.dtype, name), x.shape, strides, None, align_of(address_of(x)), x.flags.writeable, None)

    @staticmethod
    def allocator(like: Any, shape: Shape, dtype: str) -> Callable[[], Array]:
        import numpy
        kind = _ml_dtype(NAMES[dtype]) if dtype in ("bf16", "e4m3", "e5m2") else numpy.dtype(NAMES[dtype])
        return functools.partial(numpy.empty, shape, kind)


class Masked(Reader):
    """NumPy's arrays with a mask, of which no function knows."""

    @staticmethod
    def view(x: Array, name: str, slot: int) -> View:
        raise UnsupportedType.of(name, type(x).__name__, "has a mask, which would be ignored",
                                 "give its elements, those that are masked replaced: x.filled(0)", what="a")

    @classmethod
    def address(cls, x: Array) -> int:
        return cls.view(x, "array", 0).align  # which refuses it


class Torch(Reader):
    @staticmethod
    def read(x: Array, keys: list[Any], addresses: list[int]) -> None:
        address = x.data_ptr()
        keys.append((x.dtype, x.shape, x.stride(), x.device, address & 15))
        addresses.append(address)

    read_out = read
    address: Any = staticmethod(operator.methodcaller("data_ptr"))

    @staticmethod
    def test(arrays: Sequence[Array], outs: Sequence[Array]) -> Optional[Lines]:
        tensors = (*arrays, *outs)
        alike = _test_of(tensors)
        return lines_of(_TORCH_TEST, range(len(tensors)), {"alike": alike}) if alike else None

    @classmethod
    def view(cls, x: Array, name: str, slot: int) -> View:
        if x.device.type not in ("cpu", "cuda"):
            raise UnsupportedType.of(name, x.device, "is neither on the CPU nor on a CUDA device", "move it: x.cuda()", what="a tensor on")
        device = None if x.device.type == "cpu" else x.device.index
        return View(name, slot, cls, dtype_of(x.dtype, name), tuple(x.shape), x.stride(), device, align_of(x.data_ptr()), True, x.device)

    @staticmethod
    def allocator(like: Any, shape: Shape, dtype: str) -> Callable[[], Array]:
        import torch
        kind, strides = getattr(torch, NAMES[dtype]), contiguous(shape)
        model = torch.empty((), dtype=kind, device=like).expand(shape)  # of one element in memory
        slow = functools.partial(torch.empty_like, model, memory_format=torch.contiguous_format)  # half the time of torch.empty
        fast = getattr(_guards(), f"_empty_strided_{like.type}", None)  # what torch's compiled code calls: less than half of that
        if fast is None or like.type == "cpu" or torch.cuda.device_count() == 1:
            return functools.partial(fast, shape, strides, kind) if fast else slow
        current = torch._C._cuda_getDevice
        return lambda: fast(shape, strides, kind) if current() == like.index else slow()  # `fast` takes the current device's memory

    @staticmethod
    def current(device: Optional[int]) -> Callable[[], int]:
        if device is None:
            return int
        raw = sys.modules["torch"]._C._cuda_getCurrentRawStream  # as torch.cuda.current_stream(device).cuda_stream, in 0.1 us
        return functools.partial(raw, device)


class CuPy(Reader):
    @staticmethod
    def read(x: Array, keys: list[Any], addresses: list[int]) -> None:
        data, address = x.data, x.data.ptr
        keys.append((x.dtype, x.shape, x.strides, data.device_id, address & 15))
        addresses.append(address)

    @classmethod
    def view(cls, x: Array, name: str, slot: int) -> View:
        strides = _elements(name, x.strides, x.itemsize)
        return View(name, slot, cls, dtype_of(x.dtype, name), x.shape, strides, x.data.device_id, align_of(x.data.ptr), True, x.data.device_id)

    @staticmethod
    def allocator(like: Any, shape: Shape, dtype: str) -> Callable[[], Array]:
        import cupy
        kind = _ml_dtype(NAMES[dtype]) if dtype in ("bf16", "e4m3", "e5m2") else cupy.dtype(NAMES[dtype])

        def allocate() -> Array:
            with cupy.cuda.Device(like):
                return cupy.empty(shape, kind)
        return allocate

    @staticmethod
    def current(device: Optional[int]) -> Callable[[], int]:
        get = sys.modules["cupy"].cuda.get_current_stream
        return lambda: get(device).ptr


class Other(Reader):
    """Arrays of any library, by their protocols. Its streams are not known: so launches and the library wait for each other."""

    waits = True

    @classmethod
    def read(cls, x: Array, keys: list[Any], addresses: list[int]) -> None:
        key, address = cls.ask(x)
        keys.append((type(x), *key, address & 15))  # results are of the library of x
        addresses.append(address)

    @staticmethod
    def ask(x: Array) -> tuple[Any, int]:
        """Dtype, shape, strides, device and whether it may be written; and the address."""
        for protocol, reads in (("__dlpack__", _dlpack), ("__cuda_array_interface__", _interface), ("__array_interface__", _interface)):
            if hasattr(x, protocol):
                found: tuple[Any, int] = reads(x, protocol)
                return found
        raise UnsupportedType(f"a {type(x).__name__} has none of __dlpack__, __cuda_array_interface__ and __array_interface__")

    @classmethod
    def view(cls, x: Array, name: str, slot: int) -> View:
        (dtype, shape, strides, device, writable), address = cls.ask(x)
        strides = contiguous(shape) if strides is None else strides
        space = x.__array_namespace__() if hasattr(x, "__array_namespace__") else None
        like = space, getattr(x, "device", None), type(x).__name__
        return View(name, slot, cls, dtype_of(dtype, name), shape, strides, device, align_of(address), writable, like)

    @staticmethod
    def allocator(like: Any, shape: Shape, dtype: str) -> Callable[[], Array]:
        space, device, name = like
        if space is None:
            raise UnsupportedType(f"a {name} does not say how another one is made", hint="give the result's array: out=")
        return lambda: space.empty(shape, dtype=getattr(space, NAMES[dtype]), device=device)


# ---- protocols

_TYPESTR = {"f": "float", "i": "int", "u": "uint"}


def _interface(x: Array, protocol: str) -> tuple[Any, int]:
    """NumPy's __array_interface__, and __cuda_array_interface__, which extends it."""
    interface = getattr(x, protocol)
    if not isinstance(interface.get("data"), tuple):  # as an image's, whose bytes are made for each reader
        raise UnsupportedType.of("array", type(x).__name__, "does not say where its elements lie", "make an array of it: numpy.asarray(x)", what="a")
    order, kind, size = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    strides, (address, readonly) = interface.get("strides"), interface["data"]
    native = order != (">" if sys.byteorder == "little" else "<")
    dtype = f"{_TYPESTR[kind]}{8 * size}" if kind in _TYPESTR and native else interface["typestr"]
    device = _ordinal(address) if protocol == "__cuda_array_interface__" else None
    shape = tuple(interface["shape"])
    return (dtype, shape, strides and _elements("array", strides, size), device, not readonly), address


def _ordinal(address: int) -> int:
    """The GPU of an address, which the protocol does not say."""
    found, attribute = ctypes.c_int(0), 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    try:
        ctypes.CDLL("libcuda.so.1").cuPointerGetAttribute(ctypes.byref(found), attribute, ctypes.c_uint64(address))
    except OSError:  # without a driver the device cannot be opened, which says more
        pass
    return found.value


class _Tensor(ctypes.Structure):
    """A DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """A DLManagedTensorVersioned."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_CODES = {(0, 0): "int", (1, 0): "uint", (2, 0): "float", (5, 0): "complex", (6, 0): "bool", (4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2"}
_CPU, _CUDA, _PINNED, _MANAGED = 1, 2, 3, 13
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def _dlpack(x: Array, protocol: str) -> tuple[Any, int]:
    """The tensor of a capsule, which is not consumed: it gives the tensor back when it is freed, and x keeps the memory."""
    ready = {"stream": 1} if x.__dlpack_device__()[0] in (_CUDA, _MANAGED) else {}  # for the default stream
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **ready)
    except (TypeError, NotImplementedError):  # a producer of an earlier version
        capsule = x.__dlpack__(**ready)
    writable = True
    if "dltensor_versioned" in repr(capsule):
        managed = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        tensor, writable = managed.tensor, not managed.flags & 1
    else:
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    if tensor.device not in (_CPU, _CUDA, _PINNED, _MANAGED):
        raise UnsupportedType.of("array", tensor.device, "is neither the CPU nor CUDA", what="its DLPack device type")
    name = _CODES.get((tensor.code, tensor.bits)) or _CODES.get((tensor.code, 0), "?") + str(tensor.bits)
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None
    device = tensor.ordinal if tensor.device in (_CUDA, _MANAGED) else None
    return (name, shape, strides, device, writable), (tensor.data or 0) + tensor.offset


# ---- which reader

_NAMED = {("numpy", "ndarray"): NumPy, ("numpy", "MaskedArray"): Masked, ("torch", "Tensor"): Torch, ("cupy", "ndarray"): CuPy,
          ("numpy", "generic"): None}


class _Readers(dict[type, Any]):
    """The reader of each type's arrays; None: the type is no array's."""

    def __missing__(self, kind: type) -> Any:
        return self.setdefault(kind, _find(kind))


READERS = _Readers()


def reader_of(x: Any, name: str = "array") -> Any:
    reader = READERS[type(x)]
    if reader is None:
        kind = type(x).__name__ if type(x).__module__ == "builtins" else f"{type(x).__module__}.{type(x).__name__}"
        raise UnsupportedType.of(name, kind, "is no array", "give an array of NumPy, torch, CuPy or JAX, or one with __dlpack__; "
                                 "numpy.asarray makes one of a list or a number", what="an" if kind[0] in "aeiou" else "a")
    return reader


def address_of(x: Array) -> int:
    address: int = reader_of(x).address(x)
    return address


class _Reads(dict[type, Any]):
    """A function of each type's reader."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __missing__(self, kind: type) -> Any:
        return self.setdefault(kind, getattr(READERS[kind] or Reader, self.name))


_READ, _READ_OUT = _Reads("read"), _Reads("read_out")


def read_all(arrays: Sequence[Array], outs: Sequence[Array]) -> tuple[list[Any], list[int]]:
    """Keys and addresses of arrays that are read, and of those that are written."""
    keys: list[Any] = []
    addresses: list[int] = []
    for x in arrays:
        _READ[type(x)](x, keys, addresses)
    for x in outs:
        _READ_OUT[type(x)](x, keys, addresses)
    return keys, addresses


class Known:
    """The arrays of a call, as later calls are held against them: by their keys; and once they have come twice, if they are
    aligned, by their library's own ``test``, in a third of the time. None: it is not yet made; False: there is none. ``repeat`` does
    it with all arguments of a call, by the ``lines`` of the test, and makes the call.
    """

    __slots__ = ("keys", "test", "lines", "repeat")

    def __init__(self, keys: Any) -> None:
        self.keys = keys
        self.test: Any = None
        self.lines: Optional[Lines] = None
        self.repeat: Any = None

    def learn(self, arrays: Sequence[Array], outs: Sequence[Array], addresses: list[int]) -> None:
        """Takes the test from arrays that have these keys."""
        reader, *others = {READERS[type(x)] for x in (*arrays, *outs)}
        lines: Optional[Lines] = None if others else reader.test(arrays, outs)
        test = tester(lines, len(addresses)) if lines else None
        fits = test is not None and test((*arrays, *outs)) == addresses
        self.test, self.lines = test if fits else False, lines if fits else None


def _guards() -> Any:
    """What torch's compiler tests and allocates tensors with, in C++; None of a torch that has it elsewhere."""
    return getattr(getattr(sys.modules["torch"]._C, "_dynamo", None), "guards", None)


def _test_of(tensors: Sequence[Array]) -> Any:
    """A function that tells whether tensors have the types, dtypes, devices, shapes and strides of these; False if there is none."""
    return _tests_hold() and _guards().TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check


@functools.lru_cache(maxsize=None)
def _tests_hold() -> bool:
    """Whether the test, no public part of torch, does what is wanted of it."""
    import torch
    x, y = torch.empty(2, 2, 3, device="cpu")
    others = (x.double(), x[:1], x[:, :2], x.new_empty(2, 4)[:, :3], x.new_empty(3, 2).t(), x.to("meta"), x[0], 0)
    try:
        test = _guards().TensorGuards(x, x, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
        return bool(test(x, y)) and not any(test(x, other) or test(other, x) for other in others)
    except Exception:  # whatever another torch has there
        return False


def _find(kind: type) -> Any:
    for base in kind.__mro__:
        named = base.__module__.split(".")[0], base.__name__
        if named in _NAMED:
            return _NAMED[named]
    protocols = ("__dlpack__", "__cuda_array_interface__", "__array_interface__")
    return Other if any(hasattr(kind, protocol) for protocol in protocols) else None


def _elements(name: str, strides: Any, size: int) -> Shape:
    if any(stride % size for stride in strides):
        raise InvalidArgument.of(name, tuple(strides), f"in bytes are not whole elements of {size} bytes", "copy it: numpy.ascontiguousarray(x)",
                                 what="strides")
    return tuple(stride // size for stride in strides)


def _ml_dtype(name: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedType.of("dtype", name, "is a type that NumPy has with ml_dtypes alone, which is not installed",
                                 "pip install ml_dtypes") from None
    import numpy
    return numpy.dtype(getattr(ml_dtypes, name))


def stream_handle(stream: Any) -> int:
    """The CUstream of an int, or of a stream of torch, CuPy, Numba, cuda.core: of anything with __cuda_stream__."""
    if isinstance(stream, int) and type(stream) is not bool and 0 <= stream < 2**64:
        return stream
    if hasattr(stream, "__cuda_stream__"):
        found = stream.__cuda_stream__
        return int((found() if callable(found) else found)[1])
    for attribute in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, attribute):
            value = getattr(stream, attribute)
            return int(getattr(value, "value", value) or 0)
    hint = "give an int, from 0 to 2**64 - 1, or an object with __cuda_stream__"
    if type(stream) is int:
        raise InvalidArgument.of("stream", stream, "is no stream", hint)
    raise UnsupportedType.of("stream", type(stream).__name__, "is no stream", hint, what="a")
