# SPDX-License-Identifier: Apache-2.0
"""Ours for sweep: the library's typed calls through libbench_calls.so (calls.c), which ctypes loads."""
import ctypes
import math
import pathlib

TEXT, POINTERS = 2048, 20  # CALLS_TEXT, CALLS_POINTERS of calls.h
BUILT = pathlib.Path(__file__).resolve().parents[3] / "build"


class Refused(Exception):
    """The library said no, in its own words."""


def find(library):
    """libclusterjit.so as --library names it, else the release build's, else the development build's."""
    places = [library] if library else [BUILT / preset / "libclusterjit.so" for preset in ("release", "dev")]
    return next((pathlib.Path(place) for place in places if pathlib.Path(place).exists()), None)


class Library:
    """A device of the library's: "gpu" works in the primary context, which is torch's too, and "cpu" on the host's memory."""

    def __init__(self, library, spec):
        self.main = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)  # so that the next one finds it, wherever it lies
        beside = [library.parent / "bin/libbench_calls.so", library.parent / "libbench_calls.so"]
        self.calls = ctypes.CDLL(str(next((path for path in beside if path.exists()), beside[0])))
        self.text = ctypes.create_string_buffer(TEXT)
        self.device = ctypes.c_void_p()
        self.calls.calls_free.argtypes = [ctypes.c_void_p]
        self.calls.calls_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
        self.calls.calls_plan.argtypes = self.calls.calls_problem.argtypes = self.calls.calls_tunable.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.main.cj_mem_wrap.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self.main.cj_mem_free.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self.main.cj_device_name.argtypes, self.main.cj_device_name.restype = [ctypes.c_void_p], ctypes.c_char_p
        self.check(self.calls.calls_open(spec.encode(), ctypes.byref(self.device), self.text))

    def check(self, status, text=None):
        if status:
            raise Refused((text or self.text).value.decode(errors="replace"))

    @property
    def name(self):
        return self.main.cj_device_name(self.device).decode()

    def make(self, request, more=""):
        """With more words than the request's. Threads may make calls at the same time."""
        made, text, words = ctypes.c_void_p(), ctypes.create_string_buffer(TEXT), f"{request.words} {more}"
        self.check(self.calls.calls_make(self.device, request.call.encode(), words.encode(), ctypes.byref(made), text), text)
        return Call(self, made, text)

    def make_tuned(self, request, like, choice):
        """The call that `like` is, with the kernel that it would have if tuning had found this choice, "warps=4 form=direct"; the plan's own
        where the plan refuses it. Threads may do so at the same time for different requests."""
        made, text = ctypes.c_void_p(), ctypes.create_string_buffer(TEXT)
        self.check(self.calls.calls_make_tuned(self.device, like.made, request.words.encode(), choice.encode(), ctypes.byref(made), text), text)
        return Call(self, made, text)

    def forget(self, like):
        """The choices with which calls like this one were made."""
        text = ctypes.create_string_buffer(TEXT)
        self.check(self.calls.calls_forget(self.device, like.made, text), text)

    def run_on_host(self, request, store):
        """Runs a request once on the CPU device, in place in a stores.Numpy: the plan's text and its error bound."""
        call, wrapped = self.make(request), []
        try:
            for raw in store.raw:
                wrapped.append(self.wrap(raw.ctypes.data, raw.nbytes))
            call.run(call.pointers([store.address(array) if array else 0 for array in request.arrays]))
            return call.plan, call.bound
        finally:
            call.close()
            for at in wrapped:
                self.unwrap(at)

    def wrap(self, address, size):
        """Lets the CPU device see memory of the host's; the address is then the pointer."""
        at = ctypes.c_uint64()
        if self.main.cj_mem_wrap(self.device, address, size, ctypes.byref(at), None):
            raise Refused(f"cj_mem_wrap refused {size} bytes")
        return at.value

    def unwrap(self, at):
        self.main.cj_mem_free(self.device, at)


class Call:
    """A handle. `problem` is words for ptxgen, `plan` what the library chose, as text, `bound` its error bound, NaN where none is known."""

    def __init__(self, library, made, text):
        self.library, self.made = library, made
        library.calls.calls_problem(made, text)
        self.problem = text.value.decode(errors="replace").split()
        library.calls.calls_plan(made, text)
        self.plan, _, self.note = text.value.decode(errors="replace").partition(" note=")
        self.bound = float(dict(word.split("=", 1) for word in self.plan.split()).get("bound", math.nan))

    def tunable(self):
        """The parameters that tuning may choose: the values that it tries of each."""
        text = ctypes.create_string_buffer(TEXT)
        self.library.calls.calls_tunable(self.made, text)
        return {name: values for name, *values in (line.split() for line in text.value.decode().splitlines())}

    @staticmethod
    def pointers(addresses):
        """Addresses, 0 for an array that the call does without, as run takes them."""
        return (ctypes.c_uint64 * POINTERS)(*addresses)

    def run(self, pointers, stream=None):
        self.library.check(self.library.calls.calls_run(self.made, pointers, stream, self.library.text))

    def close(self):
        self.library.calls.calls_free(self.made)
        self.made = None


class Cublas:
    """cuBLAS's algorithms for a product: `count` of them. Refused where there is no library, or none that does it."""

    def __init__(self, library, request):
        self.library, self.calls, count = library, library.calls, ctypes.c_uint()
        self.made = ctypes.c_void_p()
        self.calls.calls_cublas_run.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
        self.calls.calls_cublas_close.argtypes = [ctypes.c_void_p]
        library.check(self.calls.calls_cublas_open(library.device, request.words.encode(), ctypes.byref(self.made),
                                                    ctypes.byref(count), library.text))
        self.count = count.value

    def run(self, algorithm, pointers, stream):
        self.library.check(self.calls.calls_cublas_run(self.made, algorithm, pointers, stream, self.library.text))

    def close(self):
        self.calls.calls_cublas_close(self.made)
