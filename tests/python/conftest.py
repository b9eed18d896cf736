# SPDX-License-Identifier: Apache-2.0
"""Randomized tests draw from `rng`, whose seed a failure shows; CJ_SEED repeats it."""
import os
import random

import numpy
import pytest


@pytest.fixture
def rng(record_property):
    seed = int(os.environ.get("CJ_SEED", random.randrange(2**31)))
    print(f"CJ_SEED={seed}")
    return numpy.random.default_rng(seed)


@pytest.fixture
def cpu():
    import clusterjit
    return clusterjit.device("cpu")
