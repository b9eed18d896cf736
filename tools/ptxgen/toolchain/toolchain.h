// SPDX-License-Identifier: Apache-2.0
// CUDA compilers on this machine. clusterjit needs none of them; some commands and tests use them if they are
// installed.
#ifndef PTXGEN_TOOLCHAIN_H
#define PTXGEN_TOOLCHAIN_H

#include <stdbool.h>

typedef struct toolchain_item {
    const char *name;         // "nvcc"
    char        path[1024];   // empty if it was not found
    char        version[32];  // "13.0.88"; empty if it is unknown
} toolchain_item;

enum { TOOLCHAIN_COUNT = 4 };  // nvcc, ptxas, NVRTC, nvJitLink

void toolchain_find(toolchain_item items[TOOLCHAIN_COUNT]);

// Finds a program or a library: in CUDA_HOME and CUDA_PATH, else where the system searches and in /usr/local/cuda.
bool  toolchain_program(toolchain_item *item, const char *name);
void *toolchain_library(toolchain_item *item, const char *name, const char *stem);  // stays loaded; NULL: not found

// Copies a function's address from the library into the function pointer at `function`; false: the library has no
// function of that name.
bool toolchain_function(void *library, const char *name, void *function);

#endif
