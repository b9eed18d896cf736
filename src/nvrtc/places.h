// SPDX-License-Identifier: Apache-2.0
// The places where a shared library of CUDA's toolkit may be: of the system, of a toolkit, of pip's wheels.
#ifndef CJ_NVRTC_PLACES_H
#define CJ_NVRTC_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

typedef struct cj_toolkit_library {
    const char *variable;  // of the environment: if it is set, its value is the only place
    const char *name;      // "libnvrtc"
    const char *wheel;     // the folder that CUDA 12's wheel has below nvidia/: "cuda_nvrtc"
} cj_toolkit_library;

// Opens the library; NULL: in no place. `tried` lists the places. `own`: a file that is passed over, of a library that has taken
// the place of the one that is looked for; NULL: none.
void *cj__toolkit_open(const cj_toolkit_library *which, const char *own, cj_text *tried);

// The library in pip's wheels beneath a prefix: ROOT/lib/python3*/site-packages/nvidia/{cu13,WHEEL}/lib. False: there is none.
bool cj__toolkit_wheel(const cj_toolkit_library *which, const char *root, char *path, size_t size);

#endif
