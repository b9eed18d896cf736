// SPDX-License-Identifier: Apache-2.0
// What a program's file is: an ELF program or a script, and what of CUDA it links.
#ifndef PTXGEN_IMAGE_H
#define PTXGEN_IMAGE_H

#include <stdbool.h>

enum { IMAGE_PATH = 4096 };

typedef struct image {
    char path[IMAGE_PATH];   // of the file that is run
    bool script;             // it begins with #!: what follows concerns ELF files alone
    bool loads;              // it has an interpreter, which reads LD_LIBRARY_PATH
    bool kernels;            // it contains CUDA kernels that nvcc put there
    bool static_runtime;     // kernels, and no libcudart.so among the libraries that it needs
    bool sanitized;          // it needs the run-time library of a sanitizer, which wants to be loaded before all others
    char runtime[32];        // the libcudart that it needs: "libcudart.so.13"; "": none
    char fixed[IMAGE_PATH];  // the directories of its DT_RPATH, which come before LD_LIBRARY_PATH; "": none
} image;

// Finds the program as a shell does, and reads its file. Returns an exit code, after a message that says why it cannot run.
int image_find(image *i, const char *program);

#endif
