#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CuPy contains NVIDIA's runtime, which takes NVIDIA's driver alone: the report says so.
source "$(dirname "$0")/programs.bash"
python=${CJ_PYTHON:-python3}
has cupy numpy
run_program "$python" "$here/python/cupy_raw.py"
[[ $code == 1 ]] || failed cupy_raw "exit code $code"
[[ $(<"$dir/err") == *"has NVIDIA's CUDA runtime in it"*'-cudart shared'* ]] || failed cupy_raw 'the report does not say why'
finish
