// SPDX-License-Identifier: Apache-2.0
// Headers of .npy files: reads formats 1.0, 2.0 and 3.0 (numpy.lib.format), writes 1.0.
#ifndef PTXGEN_NPY_H
#define PTXGEN_NPY_H

#include <clusterjit/base.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAGIC_SIZE = 6, NPY_DIMS = 8, NPY_HEADER = 512 };

typedef struct npy {
    cj_dtype type;
    uint64_t count;  // elements of all dimensions together, in the order in which they were written
    uint64_t start;  // where the data begin, bytes
    unsigned dims;   // `extent` has the outermost NPY_DIMS of them at most
    uint64_t extent[NPY_DIMS];
    bool     fortran;  // the first index is contiguous
} npy;

// Reads the header from the file's start; the data follow it. `name` is for messages. Returns an exit code.
int npy_read_header(FILE *file, const char *name, npy *header);

// The type of a file's elements for a type: numpy has no bf16, tf32, e4m3 and e5m2, which are written as f32, exactly.
cj_dtype npy_type(cj_dtype type);

// Writes the header of an array with `dims` extents, dims <= NPY_DIMS, of a type that files have, to `to`; returns its
// bytes.
size_t npy_write_header(cj_dtype type, unsigned dims, const uint64_t *extent, char to[NPY_HEADER]);

#endif
