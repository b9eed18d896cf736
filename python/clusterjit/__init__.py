# SPDX-License-Identifier: Apache-2.0
"""clusterjit: kernels for NVIDIA thread block clusters, for arrays of NumPy, torch, CuPy and JAX.

Arrays are taken where they lie: on a GPU, on the caller's current stream; in the host's memory on the CPU device, which executes the
same PTX. The functions, each of which ``help(clusterjit.sort)`` and so on tells more of:

- all elements: sum, prod, min, max, mean, meanvar, argmin, argmax, reduce (an operation of your own), histogram
- along the last axis: softmax, log_softmax, rms_norm, layer_norm and their ``_backward``, cross_entropy, cumsum, cumprod, cummin,
  cummax, scan (an operation of your own), sort, argsort, topk, kthvalue, argmax(axis=-1), sample
- matrices and grids: matmul, linear, stencil; between the blocks of a cluster: exchange, collective

Each takes ``out=``, the array or the tuple of arrays that it writes, and ``stream=``, else the caller's current one; ``sort.plan(x)`` makes a
:class:`Plan` for loops. Further keywords set what the plan would choose: ``sum(x, cluster=4)``; a wrong one is answered with the list.
The plans of softmax, log_softmax, rms_norm, layer_norm, their ``_backward`` and cross_entropy have no such parameters.

What differs from NumPy: sum, prod, min, max, mean and argmin are of all elements (``axis=None``, the default), argmax also of rows
(``axis=-1``); ``topk(x, 1)`` has maxima of rows. min, max, argmin and argmax of all elements pass over NaN, where NumPy's give it; in
argmax of rows NaN is the greatest, as in NumPy.

:class:`Kernel` launches kernels of your own, :func:`check` finds what is wrong with their text, and :func:`device` opens a device and
watches its launches. :mod:`clusterjit.torch` has operators that torch.compile and autograd know, :mod:`clusterjit.gpus` the
collectives of several GPUs. Errors are exceptions, :class:`Error`, with rule, value, limit and hint.

>>> import clusterjit, numpy
>>> x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
>>> clusterjit.softmax(x).sum(axis=1).round(4)
array([1., 1.], dtype=float32)
"""
from . import gpus
from ._library import lib as _lib
from ._library import text as _text
from .call import Function, Plan
from .devices import Device, Found, Side, device
from .errors import (Closed, Compiler, Contract, Driver, Error, File, Hazard, InvalidArgument, InvalidKernel, LibraryMissing, NoDevice,
                     OutOfMemory, Unsupported, UnsupportedType)
from .families import (Sampled, argmax, argmin, collective, cummax, cummin, cumprod, cumsum, exchange, histogram, kthvalue, max, mean, meanvar, min,
                       prod, reduce, sample, scan, stencil, sum, topk)
from .kernel import Diagnostic, Kernel, check, emit
from .products import linear, matmul
from .rows import (cross_entropy, layer_norm, layer_norm_backward, log_softmax, log_softmax_backward, rms_norm, rms_norm_backward, softmax,
                   softmax_backward)
from .sorts import argsort, sort

__version__ = _text(_lib.cj_version())
__all__ = [
    "Closed", "Compiler", "Contract", "Device", "Diagnostic", "Driver", "Error", "File", "Found", "Function", "Hazard",
    "InvalidArgument", "InvalidKernel", "Kernel", "LibraryMissing", "NoDevice", "OutOfMemory", "Plan", "Sampled", "Side", "Unsupported",
    "UnsupportedType", "argmax", "argmin", "argsort", "check", "collective", "cross_entropy", "cummax", "cummin", "cumprod", "cumsum", "device", "emit",
    "exchange", "gpus", "histogram", "kthvalue", "layer_norm", "layer_norm_backward", "linear", "log_softmax", "log_softmax_backward",
    "matmul", "max", "mean", "meanvar", "min", "prod", "reduce", "rms_norm", "rms_norm_backward", "sample", "scan", "softmax",
    "softmax_backward", "sort", "stencil", "sum", "topk",
]
