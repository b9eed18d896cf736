# SPDX-License-Identifier: Apache-2.0
"""Operators for torch: torch.compile keeps them in its graph, autograd differentiates them, CUDA graphs capture them.

Each takes tensors on the CPU or on a GPU. Call one once, on any stream, before a graph captures it: the first call loads the kernel.

>>> import torch, clusterjit.torch
>>> x = torch.zeros(2, 4, requires_grad=True)
>>> y = clusterjit.torch.softmax(x)
>>> y.select(1, 0).sum().backward()
>>> x.grad[0]
tensor([ 0.1875, -0.0625, -0.0625, -0.0625])
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor

import clusterjit

_library = torch.library.Library("clusterjit", "DEF")
_ops: Any = torch.ops.clusterjit
NONE = ""  # the activation


def use_caching_allocator(device: str = "gpu") -> None:
    """Takes the workspaces of kernels that are made from now on from torch's caching allocator, so that torch counts and reuses
    this memory; ``device`` is "gpu" or "gpu:N". See :meth:`clusterjit.Device.set_workspaces`.

    >>> import torch, clusterjit.torch
    >>> if torch.cuda.is_available():
    ...     clusterjit.torch.use_caching_allocator("gpu:0")
    """
    where = clusterjit.device(device)

    def allocate(size: int, stream: int) -> int:
        return int(torch.cuda.caching_allocator_alloc(size, where.ordinal, stream))

    def free(memory: int, size: int, stream: int) -> None:
        torch.cuda.caching_allocator_delete(memory)

    where.set_workspaces(allocate, free)


def _operator(schema: str, run: Callable[..., Any], fake: Callable[..., Any], save: Optional[Callable[..., None]] = None,
              backward: Optional[Callable[..., Any]] = None) -> None:
    """Defines an operator: what runs, what its results look like, what the gradient keeps, and the gradient."""
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"clusterjit::{name}", fake, lib=_library)
    if backward:
        torch.library.register_autograd(f"clusterjit::{name}", backward, setup_context=save, lib=_library)


def _like(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


# ---- softmax

def _define_softmax(name: str, forward: Any, gradient: Any) -> None:
    def save(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.scale = inputs[1]

    def backward(ctx: Any, dy: Tensor) -> Any:
        return getattr(_ops, name + "_backward")(dy, ctx.saved_tensors[0], ctx.scale), None

    _operator(f"{name}(Tensor x, float scale) -> Tensor", lambda x, scale: forward(x.contiguous(), scale=scale), _like, save, backward)
    _operator(f"{name}_backward(Tensor dy, Tensor y, float scale) -> Tensor",
              lambda dy, y, scale: gradient(dy.contiguous(), y.contiguous(), scale=scale), _like)


_define_softmax("softmax", clusterjit.softmax, clusterjit.softmax_backward)
_define_softmax("log_softmax", clusterjit.log_softmax, clusterjit.log_softmax_backward)


def softmax(x: Tensor, scale: float = 1.0) -> Tensor:
    """Softmax of ``scale * x`` along the last axis. ``x``: (..., columns) of float32, float16 or bfloat16; the result is alike.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.softmax(torch.zeros(1, 4))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    y: Tensor = _ops.softmax(x, scale)
    return y


def log_softmax(x: Tensor, scale: float = 1.0) -> Tensor:
    """The logarithm of :func:`softmax`.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.log_softmax(torch.zeros(1, 2))
    tensor([[-0.6931, -0.6931]])
    """
    y: Tensor = _ops.log_softmax(x, scale)
    return y


# ---- norms: the mean of rms has no elements

def _norm(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, layer: bool) -> Any:
    run = clusterjit.layer_norm if layer else clusterjit.rms_norm
    y, *stats = run(x.contiguous(), weight, bias, eps=eps, stats=True)
    return y, stats[0] if layer else x.new_empty(0, dtype=torch.float32), stats[-1]


def _norm_fake(x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, layer: bool) -> Any:
    rstd = x.new_empty(x.shape[:-1], dtype=torch.float32)
    return _like(x), torch.empty_like(rstd) if layer else rstd.new_empty(0), rstd


def _norm_save(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, _, ctx.layer = inputs
    ctx.bias = bias is not None
    ctx.save_for_backward(x, weight, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _norm_gradient(ctx: Any, dy: Tensor, *_: Any) -> Any:
    x, weight, mean, rstd = ctx.saved_tensors
    dx, dw, db = _ops.norm_backward(dy, x, mean, rstd, weight, ctx.bias, ctx.layer)
    return dx, None if weight is None else dw, db if ctx.bias else None, None, None


def _norm_backward(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Optional[Tensor], bias: bool, layer: bool) -> Any:
    run: Any = clusterjit.layer_norm_backward if layer else clusterjit.rms_norm_backward
    stats = (mean, rstd) if layer else (rstd,)
    found = run(dy.contiguous(), x.contiguous(), *stats, weight, weight_gradient=weight is not None, bias_gradient=bias)
    dx, *rest = found if type(found) is tuple else (found,)
    return dx, rest.pop(0) if weight is not None else x.new_empty(0), rest.pop() if bias else x.new_empty(0)


def _norm_backward_fake(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Optional[Tensor], bias: bool, layer: bool) -> Any:
    columns = x.shape[-1]
    return _like(x), x.new_empty(columns if weight is not None else 0), x.new_empty(columns if bias else 0)


_operator("norm(Tensor x, Tensor? weight, Tensor? bias, float eps, bool layer) -> (Tensor, Tensor, Tensor)",
          _norm, _norm_fake, _norm_save, _norm_gradient)
_operator("norm_backward(Tensor dy, Tensor x, Tensor mean, Tensor rstd, Tensor? weight, bool bias, bool layer) -> (Tensor, Tensor, Tensor)",
          _norm_backward, _norm_backward_fake)


def rms_norm(x: Tensor, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    """``x * rstd * weight + bias`` with ``rstd = 1 / sqrt(mean(x**2) + eps)`` along the last axis. ``x``: (..., columns) of
    float32, float16 or bfloat16; ``weight``, ``bias``: (columns,), of the same dtype.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.rms_norm(torch.tensor([[3.0, 4.0, 0.0, 0.0]]))
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]])
    """
    y: Tensor = _ops.norm(x, weight, bias, eps, False)[0]
    return y


def layer_norm(x: Tensor, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    """``(x - mean) * rstd * weight + bias`` with ``rstd = 1 / sqrt(var(x) + eps)`` along the last axis; shapes as of
    :func:`rms_norm`.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.layer_norm(torch.tensor([[1.0, 3.0, 1.0, 3.0]])).round(decimals=3)
    tensor([[-1.,  1., -1.,  1.]])
    """
    y: Tensor = _ops.norm(x, weight, bias, eps, True)[0]
    return y


# ---- cross-entropy

def _cross_entropy(x: Tensor, labels: Tensor, ignore_index: int, smoothing: float) -> Tensor:
    loss: Tensor = clusterjit.cross_entropy(x.contiguous(), labels.contiguous(), ignore_index=ignore_index, label_smoothing=smoothing)[0]
    return loss


def _cross_entropy_backward(dloss: Tensor, x: Tensor, labels: Tensor, ignore_index: int, smoothing: float) -> Tensor:
    dx: Tensor = clusterjit.cross_entropy(x.contiguous(), labels.contiguous(), ignore_index=ignore_index, label_smoothing=smoothing,
                                        gradient=True)[2]
    return dx.mul_(dloss.unsqueeze(-1))


def _cross_entropy_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, labels, *ctx.rest = inputs
    ctx.save_for_backward(x, labels)


_operator("cross_entropy(Tensor x, Tensor labels, int ignore_index, float smoothing) -> Tensor", _cross_entropy,
          lambda x, *_: x.new_empty(x.shape[:-1], dtype=torch.float32), _cross_entropy_save,
          lambda ctx, dloss: (_ops.cross_entropy_backward(dloss, *ctx.saved_tensors, *ctx.rest), None, None, None))
_operator("cross_entropy_backward(Tensor dloss, Tensor x, Tensor labels, int ignore_index, float smoothing) -> Tensor",
          _cross_entropy_backward, lambda dloss, x, *_: _like(x))


def cross_entropy(x: Tensor, labels: Tensor, *, ignore_index: int = -100, label_smoothing: float = 0.0,
                  reduction: str = "mean") -> Tensor:
    """The loss of logits ``x``: (..., classes), and ``labels``: (...) of int64 or int32: its mean over the rows that are not ignored,
    its "sum", or (...) of float32 with "none".

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.cross_entropy(torch.zeros(3, 4), torch.tensor([0, 2, -100]))
    tensor(1.3863)
    """
    loss: Tensor = _ops.cross_entropy(x, labels, ignore_index, label_smoothing)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction != "mean":
        raise clusterjit.InvalidArgument.of("reduction", reduction, "is none of none, mean, sum")
    return loss.sum() / (labels != ignore_index).sum()


# ---- linear

def _linear(x: Tensor, weight: Tensor, bias: Optional[Tensor], activation: str) -> Tensor:
    y: Tensor = clusterjit.linear(x.contiguous(), weight.contiguous(), bias, activation=activation or None)
    return y


def _linear_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, weight, bias, ctx.activation = inputs
    ctx.save_for_backward(x, weight, bias, output if ctx.activation == "relu" else None)


def _linear_gradient(ctx: Any, dy: Tensor) -> Any:
    x, weight, bias, y = ctx.saved_tensors
    if ctx.activation == "relu":
        dy = dy * (y > 0)
    elif ctx.activation:
        z = _ops.linear(x, weight, bias, NONE)  # computed again, not kept
        dy = torch.ops.aten.gelu_backward(dy, z, approximate="tanh") if ctx.activation == "gelu" else torch.ops.aten.silu_backward(dy, z)
    rows = dy.reshape(-1, dy.shape[-1])
    dx = _product(rows, weight).reshape(x.shape)
    dw = _product(rows.t(), x.reshape(-1, x.shape[-1]))
    return dx, dw, None if bias is None else rows.sum(0), None


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b; of float32, whose operands would have to lie in other orders, by torch."""
    c: Tensor = torch.matmul(a, b) if a.dtype == torch.float32 else _ops.matmul(a, b)
    return c


_operator("linear(Tensor x, Tensor weight, Tensor? bias, str activation) -> Tensor", _linear,
          lambda x, weight, *_: x.new_empty((*x.shape[:-1], weight.shape[0])), _linear_save, _linear_gradient)
_operator("matmul(Tensor a, Tensor b) -> Tensor", lambda a, b: clusterjit.matmul(a, b),
          lambda a, b: a.new_empty((*a.shape[:-1], b.shape[-1])))


def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> Tensor:
    """``activation(x @ weight.T + bias)``. ``x``: (..., k), ``weight``: (n, k), ``bias``: (n,), of one dtype: float16, bfloat16, or
    float32, which is multiplied as tf32. ``activation``: "relu", "gelu" (tanh), "silu". k and n are multiples of 16 bytes.

    >>> import torch, clusterjit.torch
    >>> x, weight = torch.ones(2, 32, dtype=torch.bfloat16), torch.ones(8, 32, dtype=torch.bfloat16)
    >>> clusterjit.torch.linear(x, -weight, activation="relu").sum()
    tensor(0., dtype=torch.bfloat16)
    """
    y: Tensor = _ops.linear(x, weight, bias, activation or NONE)
    return y


# ---- scan, top-k

def _cumsum_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    _, ctx.exclusive, ctx.reverse = inputs


_operator("cumsum(Tensor x, bool exclusive, bool reverse) -> Tensor",
          lambda x, exclusive, reverse: clusterjit.cumsum(x.contiguous(), exclusive=exclusive, reverse=reverse), _like, _cumsum_save,
          lambda ctx, dy: (_ops.cumsum(dy, ctx.exclusive, not ctx.reverse), None, None))


def cumsum(x: Tensor, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running sums along the last axis; the result is like ``x``.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), reverse=True)
    tensor([6., 5., 3.])
    """
    y: Tensor = _ops.cumsum(x, exclusive, reverse)
    return y


def _topk_fake(x: Tensor, k: int, *_: Any) -> Any:
    return x.new_empty((*x.shape[:-1], k)), x.new_empty((*x.shape[:-1], k), dtype=torch.int64)


def _picked_save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape = inputs[0].shape
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _picked_gradient(ctx: Any, dvalues: Tensor) -> Tensor:
    """Of the elements at the indices; 0 of the others."""
    return dvalues.new_zeros(ctx.shape).scatter(-1, ctx.saved_tensors[0], dvalues)


_operator("topk(Tensor x, SymInt k, bool largest, bool sorted) -> (Tensor, Tensor)",
          lambda x, k, largest, sorted: clusterjit.topk(x.contiguous(), k, largest=largest, sorted=sorted), _topk_fake, _picked_save,
          lambda ctx, dvalues, _: (_picked_gradient(ctx, dvalues), None, None, None))


def topk(x: Tensor, k: int, *, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements of each row, and their indices, int64: two tensors, (..., k).

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.topk(torch.tensor([5.0, 1.0, 4.0]), 2)
    (tensor([5., 4.]), tensor([0, 2]))
    """
    values, indices = _ops.topk(x, k, largest, sorted)
    return values, indices


# ---- sort

Segments = Optional[Tensor]  # the offsets


def _sort_save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape = inputs[0].shape
    ctx.save_for_backward(output[1], inputs[2])
    ctx.mark_non_differentiable(output[1])


def _sort_gradient(ctx: Any, dvalues: Tensor, _: Any) -> Any:
    indices, offsets = ctx.saved_tensors
    if offsets is not None:  # an index counts from its segment's begin; elements outside of the segments have none
        place = torch.arange(dvalues.shape[-1], dtype=offsets.dtype, device=offsets.device)
        segment = torch.searchsorted(offsets, place, right=True) - 1
        last = offsets.shape[0] - 2
        inside = (segment >= 0) & (segment <= last)
        indices = torch.where(inside, offsets[segment.clamp(0, last)] + indices, place)
        dvalues = torch.where(inside, dvalues, 0)
    return dvalues.new_zeros(ctx.shape).scatter(-1, indices, dvalues), None, None, None


def _indices_fake(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x, dtype=torch.int64, memory_format=torch.contiguous_format)


def _sorting(run: Any, **given: Any) -> Callable[..., Any]:
    def call(x: Tensor, descending: bool, offsets: Segments = None, longest: Optional[int] = None) -> Any:
        return run(x.contiguous(), descending=descending, offsets=offsets, longest=longest, **given)
    return call


_SORTED = "(Tensor x, bool descending, Tensor? offsets=None, SymInt? longest=None)"
_operator(f"sort{_SORTED} -> (Tensor, Tensor)", _sorting(clusterjit.sort), lambda x, *_: (_like(x), _indices_fake(x)), _sort_save, _sort_gradient)
_operator(f"sort_values{_SORTED} -> Tensor", _sorting(clusterjit.sort, return_indices=False), _like)
_operator(f"argsort{_SORTED} -> Tensor", _sorting(clusterjit.argsort), _indices_fake)


def sort(x: Tensor, *, descending: bool = False, offsets: Segments = None, longest: Optional[int] = None,
         return_indices: bool = True) -> Union[tuple[Tensor, Tensor], Tensor]:
    """The elements of each row in order, equal ones as they came, and where they were, int64: two tensors like ``x``; without
    ``return_indices`` the elements alone. ``offsets``, ``longest``: segments of one row, as of :func:`clusterjit.sort`.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.sort(torch.tensor([5.0, 1.0, 4.0]))
    (tensor([1., 4., 5.]), tensor([1, 2, 0]))
    >>> clusterjit.torch.sort(torch.tensor([5.0, 1.0, 4.0, 3.0]), offsets=torch.tensor([0, 2, 4]), return_indices=False)
    tensor([1., 5., 3., 4.])
    """
    if not return_indices and not (torch.is_grad_enabled() and x.requires_grad):  # a gradient needs the indices
        alone: Tensor = _ops.sort_values(x, descending, offsets, longest)
        return alone
    values, indices = _ops.sort(x, descending, offsets, longest)
    return (values, indices) if return_indices else values


def argsort(x: Tensor, *, descending: bool = False, offsets: Segments = None, longest: Optional[int] = None) -> Tensor:
    """Where the elements of each row are in order: the indices of :func:`sort` alone. It has no gradient.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.argsort(torch.tensor([5.0, 1.0, 4.0]))
    tensor([1, 2, 0])
    """
    indices: Tensor = _ops.argsort(x.detach(), descending, offsets, longest)
    return indices


# ---- sample: each value is a number or a tensor with one a row, which are two arguments of the operator

_VALUES = {"temperature": "float", "top_k": "SymInt", "top_p": "float", "min_p": "float", "repetition": "float", "frequency": "float",
           "presence": "float", "seed": "SymInt", "offset": "SymInt"}
_ARRAYS = ("mask", "counts", "draft_tokens", "draft_probabilities")
_TOLD = ("log_probability", "top", "distribution")


def _sample_arguments(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The operator's arguments after the logits, by the names of :func:`sample`'s; without those that are None."""
    count = 2 * len(_VALUES)
    values = [number if row is None else row for number, row in zip(arguments[:count:2], arguments[1:count:2])]
    found = dict(zip((*_VALUES, *_ARRAYS, *_TOLD), (*values, *arguments[count:])))
    return {name: value for name, value in found.items() if value is not None}


def _sample(logits: Tensor, *arguments: Any) -> list[Tensor]:
    found: Any = clusterjit.sample(logits.contiguous(), **_sample_arguments(arguments))
    return [one for one in found if one is not None] if isinstance(found, clusterjit.Sampled) else [found]


def _sampled_names(log_probability: bool, top: int, distribution: bool, draft: bool) -> list[str]:
    """What is told, in the order of clusterjit.Sampled."""
    told = {"tokens": True, "log_probability": log_probability, "top_tokens": top > 0, "top_log_probabilities": top > 0,
            "probabilities": distribution, "accepted": draft}
    return [name for name, wanted in told.items() if wanted]


def _sample_fake(logits: Tensor, *arguments: Any) -> list[Tensor]:
    given = _sample_arguments(arguments)
    rows, top = logits.shape[:-1], given["top"]
    like = {"tokens": (rows, torch.int32), "log_probability": (rows, torch.float32), "top_tokens": ((*rows, top), torch.int32),
            "top_log_probabilities": ((*rows, top), torch.float32), "probabilities": (logits.shape, torch.float32),
            "accepted": (rows, torch.uint32)}
    names = _sampled_names(given["log_probability"], top, given["distribution"], "draft_tokens" in given)
    return [logits.new_empty(like[name][0], dtype=like[name][1]) for name in names]


_operator("sample(Tensor logits, " + ", ".join(f"{kind}? {name}, Tensor? {name}_rows" for name, kind in _VALUES.items())
          + "".join(f", Tensor? {name}" for name in _ARRAYS) + ", bool log_probability, int top, bool distribution) -> Tensor[]",
          _sample, _sample_fake)
Value = Union[float, Tensor]


def sample(logits: Tensor, *, temperature: Value = 1.0, top_k: Optional[Value] = None, top_p: Optional[Value] = None,
           min_p: Optional[Value] = None, repetition: Optional[Value] = None, frequency: Optional[Value] = None,
           presence: Optional[Value] = None, mask: Optional[Tensor] = None, counts: Optional[Tensor] = None, seed: Value = 0,
           offset: Value = 0, log_probability: bool = False, top: int = 0, distribution: bool = False,
           draft_tokens: Optional[Tensor] = None, draft_probabilities: Optional[Tensor] = None) -> Union[Tensor, clusterjit.Sampled]:
    """A token, int32, of each row of logits; with more that is told a :class:`clusterjit.Sampled`: all as of :func:`clusterjit.sample`, but
    that seed and offset are below 2**63. A CUDA graph keeps numbers as they were: give it seeds as a tensor. It has no gradient.

    >>> import torch, clusterjit.torch
    >>> clusterjit.torch.sample(torch.tensor([[0.0, 5.0, 4.0, -3.0], [2.0, 1.0, 9.0, 8.0]]), temperature=0.0)
    tensor([1, 2], dtype=torch.int32)
    """
    values = (temperature, top_k, top_p, min_p, repetition, frequency, presence, seed, offset)
    pairs: list[Any] = []
    for value in values:
        pairs += (None, value) if isinstance(value, Tensor) else (value, None)
    found = _ops.sample(logits.detach(), *pairs, mask, counts, draft_tokens, draft_probabilities, log_probability, top, distribution)
    names = _sampled_names(log_probability, top, distribution, draft_tokens is not None)
    return found[0] if len(names) == 1 else clusterjit.Sampled(**dict(zip(names, found)))
