#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every error code has the name that NVIDIA's runtime gives it, and some words.
set -u
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
theirs=${CUDA_HOME:-/usr/local/cuda}/lib64/libcudart.so.13
[ -e "$theirs" ] || { echo "skipped: there is no $theirs"; exit 77; }
[ -z "${CJ_CFLAGS:-}" ] || { echo "skipped: a program without sanitizers loads the libraries"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/names.c" <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    const char *(*name)(int), *(*text)(int);
    *(void **)&name = dlsym(library, "cudaGetErrorName");
    *(void **)&text = dlsym(library, "cudaGetErrorString");
    for (int code = -1; code <= 10001; code++) printf("%d %s%s\n", code, name(code), *text(code) ? "" : " without words");
}
SOURCE
"${CC:-cc}" "$dir/names.c" -o "$dir/names" -ldl || exit 1
"$dir/names" "$theirs" >"$dir/theirs" || exit 1
"$dir/names" "$programs/libcudart.so.13" >"$dir/ours" || exit 1
diff "$dir/theirs" "$dir/ours"
