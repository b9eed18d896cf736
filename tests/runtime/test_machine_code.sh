#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program with machine code alone fails at its first launch, and is told what it has and how to compile it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ptxas/nvcc.bash"
need nvcc
need_no_sanitizer
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.cu" <<'SOURCE'
#include <cstdio>
__global__ void nothing() {}
int main() {
    nothing<<<1, 1>>>();
    puts(cudaGetErrorName(cudaGetLastError()));
    nothing<<<1, 1>>>();
    puts(cudaGetErrorName(cudaGetLastError()));
}
SOURCE
nvcc -gencode arch=compute_90,code=sm_90 -cudart shared "$dir/a.cu" -o "$dir/a" || exit 1
told=$(LD_LIBRARY_PATH=$programs timeout 60 "$dir/a" 2>"$dir/log")
failures=0
expect() {
    case $2 in
    *"$3"*) ;;
    *) echo "$1: '$3' is not in: $2"; failures=1 ;;
    esac
}
expect "each launch fails" "$told" "cudaErrorNoKernelImageForDevice
cudaErrorNoKernelImageForDevice"
expect "the call that the program made" "$(cat "$dir/log")" "refused: cudaLaunchKernel: "
expect "what there is" "$(cat "$dir/log")" "it holds machine code for sm_90"
expect "what to do" "$(cat "$dir/log")" "-gencode arch=compute_90,code=compute_90"
exit $failures
