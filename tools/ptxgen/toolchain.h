// SPDX-License-Identifier: Apache-2.0
// CUDA compilers on this machine. clusterjit needs none of them; some commands and tests use them where they are.
#ifndef PTXGEN_TOOLCHAIN_H
#define PTXGEN_TOOLCHAIN_H

typedef struct toolchain_item {
    const char *name;         // "nvcc"
    char        path[1024];   // empty where it was not found
    char        version[32];  // "13.0.88"; empty where it does not say
} toolchain_item;

enum { TOOLCHAIN_COUNT = 3 };  // nvcc, ptxas, NVRTC

void toolchain_find(toolchain_item items[TOOLCHAIN_COUNT]);

#endif
