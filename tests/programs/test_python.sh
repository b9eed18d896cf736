#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_python.sh NAME MODULE...: python/NAME.py, with its kernels there or in python/NAME.cu, by the Python that CJ_PYTHON
# names, which has the modules: right and silent, also
# under random schedules; with its fault: found.
CJ_SCHEDULES=2
source "$(dirname "$0")/programs.bash"
name=$1
shift
python=${CJ_PYTHON:-python3}
program=$here/python/$name.py source=$here/python/$name.cu
[[ -e $source ]] || source=$program
has "$@"
export TRITON_CACHE_DIR=$dir/triton CUPY_CACHE_DIR=$dir/cupy
is_right "$name: passed" --hazards off "$python" "$program"
is_right "$name: passed" --schedule "$schedules" "$python" "$program"
is_found "$source" "$python" "$program" fault
if [[ $name == core_cluster ]]; then
    run_program --json "$python" "$program"
    ! grep -q 'private tables' "$dir/out" || failed "$program" 'what NVRTC asks of the driver is told as the mistake of the program'
fi
finish
