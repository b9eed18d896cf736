# SPDX-License-Identifier: Apache-2.0
"""What the functions compute, in NumPy and f64; shared by the tests on the CPU and on a GPU."""
import numpy as np


def softmax(x, scale=1.0, mask=0.0):
    t = scale * x + mask
    e = np.exp(t - t.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, weight=1.0, bias=0.0, eps=1e-5, layer=False):
    centred = x - x.mean(-1, keepdims=True) if layer else x
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight + bias


def cross_entropy(x, labels, smoothing=0.0):
    lse = np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1)
    taken = np.take_along_axis(x, labels[..., None], -1)[..., 0]
    return lse - (1 - smoothing) * taken - smoothing * x.mean(-1), lse


def activation(z, name):
    if name == "relu":
        return np.maximum(z, 0)
    if name == "silu":
        return z / (1 + np.exp(-z))
    return z if name is None else z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def derivative(function, x, dy, step=1e-6):
    """The gradient of sum(function(x) * dy), by differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = x.copy()
        moved[at] += step
        upper = (function(moved) * dy).sum()
        moved[at] -= 2 * step
        found[at] = (upper - (function(moved) * dy).sum()) / (2 * step)
    return found


# ---- arrays


def near(found, wanted, tolerance):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=tolerance, atol=tolerance)


def draw(rng, shape, dtype=np.float32):
    x = rng.standard_normal(shape).astype(dtype)
    return x, x.astype(np.float64)
