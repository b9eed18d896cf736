// SPDX-License-Identifier: Apache-2.0
// The input of a kernel: a fill, or a file of numbers. Read once, from start to end, in pieces.
#ifndef PTXGEN_SOURCE_H
#define PTXGEN_SOURCE_H

#include <stdio.h>

#include "fill.h"
#include "npy.h"

typedef struct source {
    cj_dtype    type, stored;  // of the elements; in the file: types that numpy lacks are stored as f32, and rounded
    fill        fill;
    FILE       *file;       // NULL: a fill
    const char *name;       // of the file
    uint64_t    available;  // elements; UINT64_MAX for a fill
    uint64_t    position;
    npy         shape;  // of a .npy file; dims is 0 for other files
} source;

// `path` is a file, "-" for standard input, or NULL: then `spec` is the fill. Returns an exit code.
int  source_open(source *s, cj_dtype type, const char *path, const char *spec);
void source_close(source *s);

// Reads the next `count` elements, no more than are available. Returns an exit code.
int source_read(source *s, void *to, size_t count);

// Reads all elements that the rows span; refuses a file that has fewer. Returns an exit code.
int source_read_rows(source *s, void *to, size_t count);

#endif
