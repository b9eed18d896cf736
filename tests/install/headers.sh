#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh SOURCE CC: what CMake says of CUDA's headers in a folder without nvcc, as conda and PyPI have them: of a version that is new
# enough, of an older one, and of none. Configures alone.
set -euo pipefail

source=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# with_headers VERSION WANTED: a folder whose cuda.h is of that version.
with_headers() {
    mkdir -p "$work/cuda/include"
    echo "#define CUDA_VERSION $1" >"$work/cuda/include/cuda.h"
    touch "$work/cuda/include/cudaTypedefs.h"
    rm -rf "$work/build"
    cmake -G Ninja -S "$source" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCJ_CUDA=ON -DCUDAToolkit_ROOT="$work/cuda" -DCJ_TESTS=OFF \
        -DCJ_TOOLS=OFF >"$work/log" 2>&1 || true
    [[ $(tr -s ' \n' ' ' <"$work/log") == *"$2"* ]] || { cat "$work/log"; echo "FAIL: CUDA $1: not '$2'"; exit 1; }
}

with_headers 13020 'gpu device: on, with the headers of CUDA 13.2'
with_headers 12040 'gpu device: on, with the headers of CUDA 12.4'
with_headers 12030 'no CUDA toolkit 12.4 or later was found; name it, or a folder whose include/ has its headers'
with_headers 9020 'no CUDA toolkit 12.4 or later was found'
