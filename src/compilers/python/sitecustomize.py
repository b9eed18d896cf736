# SPDX-License-Identifier: Apache-2.0
# For Python in programs of `ptxgen run-program`, which puts this folder into PYTHONPATH. cuda.bindings contains NVIDIA's CUDA runtime,
# linked statically, which takes NVIDIA's driver alone. Its modules offer each function in a table (__pyx_capi__), from which the
# others take it when they are imported: before that, the functions of libcudart.so.13 beside this folder take their places.
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(os.path.dirname(HERE), "libcudart.so.13")
TABLES = {"cuda.bindings._internal.runtime": "", "cuda.bindings._internal.runtime_ptds": "_ptsz",
          "cuda.bindings._bindings.cyruntime": "", "cuda.bindings._bindings.cyruntime_ptds": "_ptsz"}


def replace(table, suffix):
    """Gives the table's functions the addresses of the library's; those that the library lacks stay."""
    import ctypes

    library = ctypes.CDLL(LIBRARY)
    api = ctypes.pythonapi
    api.PyCapsule_SetPointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
    for name, capsule in table.items():
        for symbol in (name.lstrip("_") + suffix, name.lstrip("_")):
            if name.startswith("_cuda") and hasattr(library, symbol):
                api.PyCapsule_SetPointer(capsule, ctypes.cast(getattr(library, symbol), ctypes.c_void_p))
                break


class Loader(importlib.abc.Loader):
    """Loads as another loader does, then replaces the functions."""

    def __init__(self, loader, suffix):
        self.loader, self.suffix = loader, suffix

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        replace(getattr(module, "__pyx_capi__", {}), self.suffix)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in TABLES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = Loader(spec.loader, TABLES[name])
        return spec


def run_next():
    """Runs the sitecustomize that would have been found without this one."""
    spec = importlib.machinery.PathFinder.find_spec(
        "sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != HERE])
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.path.exists(LIBRARY):
    sys.meta_path.insert(0, Finder())
run_next()
