// SPDX-License-Identifier: Apache-2.0
// Arrays: memory with up to three dimensions and elements of 1 to 4 channels, its rows one after another.
#ifndef CJ_DRIVER_ARRAY_H
#define CJ_DRIVER_ARRAY_H

#include "memory.h"

typedef struct cj_array {
    cj_object               base;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    size_t                  element;  // bytes
    size_t                  width;    // bytes of a row
    size_t                  rows, slices;
    uint64_t                memory, id;  // of its block
} cj_array;

#endif
