# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings and in README.md run and give what they show."""
import doctest
import importlib
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


def test_the_readme():
    readme = pathlib.Path(__file__).resolve().parents[2] / "README.md"
    examples = re.findall(r"^```python\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
