// SPDX-License-Identifier: Apache-2.0
// Headers of .npy files, formats 1.0, 2.0 and 3.0 (numpy.lib.format).
#ifndef PTXGEN_NPY_H
#define PTXGEN_NPY_H

#include <clusterjit/base.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAGIC_SIZE = 6 };

typedef struct npy {
    cj_dtype type;
    uint64_t count;  // elements of all dimensions together; the order of a matrix' elements is left as it lies
    uint64_t start;  // where the data begin, bytes
} npy;

// Reads the header from the file's start; the data come next. `name` is for messages. Returns an exit code.
int npy_read_header(FILE *file, const char *name, npy *header);

#endif
