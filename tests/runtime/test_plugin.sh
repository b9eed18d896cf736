#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A shared object with kernels is loaded, used and unloaded again, twice: its fat binary goes with it. Nothing is left at the end.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ptxas/nvcc.bash"
need nvcc
need_no_sanitizer
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/plugin.cu" <<'SOURCE'
__device__ int  count;
__global__ void bump(int *to) { *to = ++count; }
extern "C" int plugin() {
    int *p = nullptr, value = -1;
    if (cudaMalloc(&p, 4)) return -2;
    bump<<<1, 1>>>(p);
    bump<<<1, 1>>>(p);
    cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
    cudaFree(p);
    return cudaGetLastError() ? -3 : value;
}
SOURCE
cat >"$dir/main.c" <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    for (int i = 0; i < 2; i++) {
        void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
        if (!plugin) return puts(dlerror()), 1;
        int (*call)(void);
        *(void **)&call = dlsym(plugin, "plugin");
        printf("%d\n", call());
        dlclose(plugin);
    }
}
SOURCE
nvcc -arch=compute_90 -cudart shared -shared -Xcompiler -fPIC "$dir/plugin.cu" -o "$dir/plugin.so" || exit 1
"${CC:-cc}" "$dir/main.c" -o "$dir/main" -ldl || exit 1
told=$(CLUSTERJIT_REPORT=$dir/report LD_LIBRARY_PATH=$programs timeout 60 "$dir/main" "$dir/plugin.so" 2>&1)
[ "$told" = "2
2" ] || { echo "the counts are: $told"; exit 1; }
! grep '"leak"' "$dir/report" || { echo "something is left"; exit 1; }
