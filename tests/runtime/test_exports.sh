#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The runtime exports what NVIDIA's does, with the same version: a program never ends because a function cannot be resolved.
set -u
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
theirs=${CUDA_HOME:-/usr/local/cuda}/lib64/libcudart.so.13
[ -e "$theirs" ] || { echo "skipped: there is no $theirs"; exit 77; }
exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort; }
difference=$(diff <(exported "$theirs") <(exported "$programs/libcudart.so.13")) && exit 0
echo "libcudart.so.13 exports other names than NVIDIA's (<: missing, >: only here)"
echo "$difference"
exit 1
