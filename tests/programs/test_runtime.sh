#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_runtime.sh NAME [OPTION...]: runtime/NAME.cu, built by nvcc -cudart shared, as it is: right and silent, also under random
# schedules; with its fault: found. The options are run-program's.
source "$(dirname "$0")/programs.bash"
name=$1
shift
need nvcc
source=$here/runtime/$name.cu

# build PROGRAM OPTION...
build() {
    local program=$1
    shift
    compile "$program.o" "$source" -arch=compute_90 -code=compute_90 "$@" -c &&
        nvcc -arch=compute_90 -code=compute_90 -cudart shared "$program.o" -o "$program" || exit 1
}

right=$kept/$name faulty=$kept/$name.faulty
build "$right" && build "$faulty" -DFAULT
is_right "$name: passed" --hazards off "$@" "$right"
is_right "$name: passed" --leaks on "$@" "$right"
is_right "$name: passed" --schedule "$schedules" "$@" "$right"
is_found "$source" "$@" "$faulty"
finish
