# SPDX-License-Identifier: Apache-2.0
"""What the references do with rows of NumPy's or torch's arrays (`xp`)."""

ROWS_AT_ONCE = 1 << 26  # elements of float64


def top(xp, x):
    return xp.amax(x, -1)[..., None]


def total(x):
    return x.sum(-1)[..., None]


def place(x):
    """Where new arrays are to be made: nothing to say for NumPy."""
    return {"device": x.device} if hasattr(x, "is_cuda") else {}


def take(xp, x, index):
    return xp.take_along_dim(x, index, -1) if hasattr(xp, "take_along_dim") else xp.take_along_axis(x, index, -1)


def order(xp, x):
    """Indices that sort rows, the least first, of equal elements the first first."""
    return xp.argsort(x, dim=-1, stable=True) if hasattr(x, "is_cuda") else xp.argsort(x, axis=-1, kind="stable")
