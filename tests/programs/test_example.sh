#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda.core's own example of thread block clusters, as it is, from the checkout of NVIDIA/cuda-python that $CJ_CUDA_PYTHON names: its
# kernel comes from NVRTC as a cubin. Then with one index that is too large. The wheels cuda-core, cuda-bindings and numpy are those of
# $CJ_PYTHON.
CJ_SCHEDULES=2
source "$(dirname "$0")/programs.bash"
python=${CJ_PYTHON:-python3}
has cuda.core numpy
example=${CJ_CUDA_PYTHON:-/nowhere}/cuda_core/examples/thread_block_cluster.py
[[ -e $example ]] || { echo 'skipped: CJ_CUDA_PYTHON names no checkout of github.com/NVIDIA/cuda-python'; exit 77; }
export CUDA_PATH=${CUDA_PATH:-$cuda}
is_right 'Grid conversion is correct' --hazards off "$python" "$example"
is_right 'Grid conversion is correct' --schedule "$schedules" "$python" "$example"
sed 's/cluster_dims\[2\] = g/cluster_dims[3] = g/' "$example" >"$dir/faulty.py"
! cmp -s "$example" "$dir/faulty.py" || failed sed 'the example has changed: no fault is planted'
is_shown 'cluster_dims[3] = g' "$python" "$dir/faulty.py"
finish
