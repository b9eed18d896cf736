# SPDX-License-Identifier: Apache-2.0
"""What copy and pickle make of the package's objects: functions and errors go by name and value, handles are refused."""
import copy
import pickle

import numpy as np
import pytest

import clusterjit as cj

ONES = np.ones((4, 8), np.float32)
NOTHING = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }"
HANDLES = {"Plan": lambda: cj.softmax.plan(ONES), "Kernel": lambda: cj.Kernel(NOTHING, device="cpu"), "Device": lambda: cj.device("cpu"),
           "Gpus": lambda: cj.gpus.Gpus.of(["cpu", "cpu"])}
WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HANDLES)
def test_a_handle_is_not_copied(name, way):
    handle = HANDLES[name]()
    with pytest.raises(cj.UnsupportedType, match=f"^a {name} is of this process, and can be neither copied nor pickled") as caught:
        WAYS[way](handle)
    assert caught.value.hint


@pytest.mark.parametrize("name", [name for name in cj.__all__ if isinstance(getattr(cj, name), cj.Function)])
def test_a_function_is_copied_by_name(name):
    function = getattr(cj, name)
    assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function


def test_an_error_is_pickled_with_its_parts():
    with pytest.raises(cj.InvalidArgument) as caught:
        cj.topk(ONES, 9)
    for twin in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(twin) is cj.InvalidArgument and str(twin) == str(caught.value) and vars(twin) == vars(caught.value)
