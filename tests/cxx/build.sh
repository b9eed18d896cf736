#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh COMPILER INCLUDE LIBRARY SOURCE: compiles a program on clusterjit.hpp as C++17 and C++20 without a warning, and runs it.
set -euo pipefail

compiler=$1 include=$2 library=$3 source=$4
command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for standard in 17 20; do
    "$compiler" "-std=c++$standard" -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I "$include" \
        "$source" -o "$work/program" "$library" "-Wl,-rpath,${library%/*}"
    "$work/program"
done
