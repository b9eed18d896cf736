# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings and in the documents run and give what they show."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import pytest

import clusterjit

MADE = ("_declarations", "libclusterjit")  # by the build: they have no docstrings
MODULES = [f"clusterjit.{module.name}" for module in pkgutil.iter_modules(clusterjit.__path__) if module.name not in MADE]


@pytest.mark.parametrize("name", ["clusterjit", *MODULES])
def test_docstrings(name):
    if name == "clusterjit.torch":
        pytest.importorskip("torch")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


#: What has no example: it needs several processes, or is the package's own.
NO_EXAMPLE = {"Gpus.from_group", "Gpus.from_exchange", "Gpus.from_nccl", "Gpus.from_env", "Gpus.unregister", "Gpus.check", "Gpus.close",
              "Plan.go", "Plan.make", "Plan.rest", "Plan.refuse_overlap", "Device.is_capturing", "Device.launching", "Device.launcher",
              "Device.borrow_spans", "Device.give_back", "Device.check", "Error.of"}


def documented(module, names):
    """Each public function of a module, and each public method and property of its classes, by name."""
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value) and not issubclass(value, tuple):
            for attribute, member in vars(value).items():
                inner = getattr(member, "__func__", member)
                if not attribute.startswith("_") and (inspect.isfunction(inner) or isinstance(inner, property)):
                    yield f"{name}.{attribute}", inner
        elif callable(value) and not inspect.isclass(value):
            yield name, value


def of_module(name):
    if name == "clusterjit":
        return list(documented(clusterjit, clusterjit.__all__))
    module = importlib.import_module(name) if name != "clusterjit.torch" else pytest.importorskip("torch") and importlib.import_module(name)
    own = [key for key, value in vars(module).items() if not key.startswith("_") and getattr(value, "__module__", "") == name]
    return list(documented(module, own))


@pytest.mark.parametrize("name", ["clusterjit", "clusterjit.gpus", "clusterjit.torch"])
def test_everything_public_has_a_docstring_and_an_example(name):
    found = of_module(name)
    assert len(found) >= {"clusterjit": 50, "clusterjit.gpus": 20, "clusterjit.torch": 10}[name]
    assert [key for key, value in found if not inspect.getdoc(value)] == []
    assert [key for key, value in found if ">>> " not in (inspect.getdoc(value) or "") and key not in NO_EXAMPLE] == []


def test_help_and_signatures_say_what_a_caller_sees():
    for name in ("softmax", "sort", "sample", "cross_entropy"):
        function = getattr(clusterjit, name)
        assert function.__doc__.startswith(f"{name}({'logits' if name == 'sample' else 'x'}, ")
        assert "Request" not in str(inspect.signature(function))
    assert str(inspect.signature(clusterjit.topk)).endswith("-> 'tuple[Array, Array]'")
    unnamed = [name for name in clusterjit.__all__ if isinstance(getattr(clusterjit, name), clusterjit.Function)
               and not name.endswith("_backward") and not re.search(rf"\b{name}\b", clusterjit.__doc__)]
    assert not unnamed, "the list in clusterjit/__init__.py"


def test_a_docstring_tells_every_parameter():
    """By its name, or as those "of" another function; `axis` of rows is the last one everywhere."""
    untold = {}
    for name in clusterjit.__all__:
        function = getattr(clusterjit, name)
        if not isinstance(function, clusterjit.Function):
            continue
        text = function.__doc__.split("\n\n", 1)[1]
        texts = [text, *(getattr(clusterjit, other).__doc__.split("\n\n", 1)[1] for other in re.findall(r":func:`(\w+)`", text))]
        parameters = set(inspect.signature(function).parameters) - {"plan", "out", "stream", "axis"}
        untold[name] = sorted(word for word in parameters if not any(re.search(rf"\b{word}\b", one) for one in texts))
    assert not {name: words for name, words in untold.items() if words}


@pytest.mark.parametrize("page", ["README.md", "docs/gpus.md", "docs/python.md"])
def test_pages(page):
    text = (pathlib.Path(__file__).resolve().parents[2] / page).read_text()
    examples = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    here = [example for example in examples if "torch.distributed" not in example]  # that one needs several processes and GPUs
    assert here
    for example in here:
        exec(compile(example, page, "exec"), {"__name__": "__main__"})
