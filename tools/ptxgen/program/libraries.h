// SPDX-License-Identifier: Apache-2.0
// The libraries that take the place of CUDA's in a program: libcuda.so.1 over the CPU device, and those beside it.
#ifndef PTXGEN_LIBRARIES_H
#define PTXGEN_LIBRARIES_H

#include "image.h"

typedef struct libraries {
    char folder[IMAGE_PATH];
    char preload
        [4 * IMAGE_PATH];  // what LD_PRELOAD gets: the compilers, and what the program's own RPATH would find elsewhere
    char found[IMAGE_PATH + 64];   // the file that this RPATH would find; "": none
    char python[IMAGE_PATH + 64];  // what Python loads first; "": there is none
    char ptxas[IMAGE_PATH + 64];   // what stands for ptxas; "": there is none
} libraries;

// Finds the folder: CLUSTERJIT_PROGRAMS, else beside the library or the command, as installed or in a build. Returns an exit code.
int libraries_find(libraries *l, const image *program);

#endif
