#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_package.sh STEP BUILD: the Python package as a user gets it, in a virtual environment in BUILD/python.
#   wheel    builds the wheel as `pip wheel .` does, and installs it
#   pytest   runs the tests and the examples of the docstrings and of README.md
#   fresh    installs the wheel and what it depends on into a new environment, as its metadata says, and runs README.md's example
#   types    holds the annotations of the installed package, and a user's program (user.py), against mypy --strict
# Skipped (exit code 77) where there is no Python 3.9 or later with venv, and where what the tests need is not installed and PyPI
# cannot be reached. CJ_PYTHON names the Python.
set -euo pipefail

step=$1 build=$2/python
root=$(cd "$(dirname "$0")/../.." && pwd)
venv=$build/venv
needs=(scikit-build-core cffi numpy ml_dtypes array-api-strict pytest mypy ninja)

skip() {
    echo "skipped: $*"
    exit 77
}

environment() {
    local python=${CJ_PYTHON:-python3}
    [ -e "$venv/ready" ] && return
    "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
        skip "$python is no Python 3.9 or later with venv (Debian: python3-venv)"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "${needs[@]}" || skip "PyPI cannot be reached"
    touch "$venv/ready"
}

do_wheel() {
    environment
    rm -rf "$build/wheels"
    PATH=$venv/bin:$PATH "$venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --config-settings build-dir="$build/objects" --wheel-dir "$build/wheels" "$root"
    local wheel
    wheel=$(echo "$build"/wheels/*.whl)
    case $wheel in
    *-py3-none-linux_*.whl) ;;
    *) echo "FAIL: $wheel is for one version of Python"; exit 1 ;;
    esac
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall "$wheel"
    cd / && "$venv/bin/python" -c 'import clusterjit; print(clusterjit.__version__, clusterjit.device("cpu"))'
}

installed() {
    if ! "$venv/bin/pip" show --quiet clusterjit 2>/dev/null; then skip "the wheel is not installed"; fi
}

do_pytest() {
    installed
    "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$root/tests/python"
}

do_fresh() {
    installed
    local fresh=$build/fresh
    rm -rf "$fresh"
    "$venv/bin/python" -m venv "$fresh"
    "$fresh/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$build/reached" cffi 2>/dev/null || skip "PyPI cannot be reached"
    "$fresh/bin/pip" install --quiet --disable-pip-version-check "$build"/wheels/*.whl
    "$fresh/bin/pip" check
    cd /
    "$fresh/bin/python" -c 'import clusterjit; print(clusterjit.device("cpu"))'  # NumPy is not needed for this
    "$fresh/bin/pip" install --quiet --disable-pip-version-check numpy
    sed -n '/^```python$/,/^```$/{/^```/!p}' "$root/README.md" > "$build/readme.py"
    [ -s "$build/readme.py" ]
    "$fresh/bin/python" "$build/readme.py"
}

do_types() {
    installed
    cd "$build" && "$venv/bin/mypy" --config-file "$root/pyproject.toml" -p clusterjit
    "$venv/bin/mypy" --config-file "$root/pyproject.toml" "$root/tests/python/user.py"
}

"do_$step"
