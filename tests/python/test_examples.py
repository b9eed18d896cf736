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


def test_every_function_has_an_example():
    functions = [value for value in vars(clusterjit).values() if isinstance(value, clusterjit.Function)]
    assert len(functions) >= 25
    assert [f.__name__ for f in functions if ">>> " not in (f.__doc__ or "")] == []


def test_help_and_signatures_say_what_a_caller_sees():
    for name in ("softmax", "sort", "sample", "cross_entropy"):
        function = getattr(clusterjit, name)
        assert function.__doc__.startswith(f"{name}({'logits' if name == 'sample' else 'x'}, ")
        assert "Request" not in str(inspect.signature(function))
    assert str(inspect.signature(clusterjit.sort)).endswith("-> 'tuple[Array, Array]'")
    unnamed = [name for name in clusterjit.__all__ if isinstance(getattr(clusterjit, name), clusterjit.Function)
               and not name.endswith("_backward") and not re.search(rf"\b{name}\b", clusterjit.__doc__)]
    assert not unnamed, "the list in clusterjit/__init__.py"


@pytest.mark.parametrize("page", ["README.md", "docs/gpus.md", "docs/python.md"])
def test_pages(page):
    text = (pathlib.Path(__file__).resolve().parents[2] / page).read_text()
    examples = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    here = [example for example in examples if "torch.distributed" not in example]  # that one needs several processes and GPUs
    assert here
    for example in here:
        exec(compile(example, page, "exec"), {"__name__": "__main__"})
