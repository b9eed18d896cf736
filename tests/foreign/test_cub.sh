#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_cub.sh PART: CUB's device-wide algorithms of cub/PART.cu, as whole programs, on the CPU device with two host
# threads. nvcc compiles them as it does for a GPU, the libraries of $CJ_PROGRAMS take the place of libcudart and libcuda, and
# each result is held against the host's. CJ_REPEAT=200 repeats every algorithm with other sizes and data, CJ_SEED repeats a
# run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
part=$1
. "$here/../ptxas/nvcc.bash"
need nvcc
need_no_sanitizer
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}

# nvcc's host code has warnings of its own, in CUB's headers.
options=(-std=c++17 -O1 -w -arch=compute_90 -code=compute_90 -cudart shared)

# object SOURCE: prints the path of its object, kept until the source is newer.
object() {
    local source=$here/cub/$1.cu made=$nvcc_kept/cub_$part.$1.o
    if ! [ "$made" -nt "$source" ] || ! [ "$made" -nt "$here/cub/cases.cuh" ] || ! [ "$made" -nt "$(type -P nvcc)" ]; then
        mkdir -p "$nvcc_kept"
        ${CJ_LAUNCHER:-} nvcc "${options[@]}" -c "$source" -o "$made.$$.o" || return
        mv "$made.$$.o" "$made"
    fi
    echo "$made"
}

main=$(object main) && cases=$(object "$part") || exit 1
program=$nvcc_kept/cub_$part
nvcc "${options[@]}" "$main" "$cases" -o "$program" || exit 1
CLUSTERJIT_THREADS=${CLUSTERJIT_THREADS:-2} LD_LIBRARY_PATH=$programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$program"
