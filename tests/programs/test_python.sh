#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_python.sh NAME MODULE...: python/NAME.py by the Python that CJ_PYTHON names, which has the modules: right and silent, also
# under random schedules; with its fault: found.
CJ_SCHEDULES=2
source "$(dirname "$0")/programs.bash"
name=$1
shift
python=${CJ_PYTHON:-python3}
source=$here/python/$name.py
has "$@"
export CJ_NAME=$source TRITON_CACHE_DIR=$dir/triton CUPY_CACHE_DIR=$dir/cupy
is_right "$name: passed" --hazards off "$python" "$source"
is_right "$name: passed" --schedule "$schedules" "$python" "$source"
is_found "$source" "$python" "$source" fault
finish
