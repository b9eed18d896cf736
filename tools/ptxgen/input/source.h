// SPDX-License-Identifier: Apache-2.0
// Where a kernel's input comes from: a fill, or a file of numbers. Read once, from front to back, in pieces.
#ifndef PTXGEN_SOURCE_H
#define PTXGEN_SOURCE_H

#include <stdio.h>

#include "fill.h"
#include "npy.h"

typedef struct source {
    cj_dtype type, stored;  // of the elements; and in the file: what numpy has no name for comes as f32, and is rounded
    fill     fill;
    FILE    *file;          // NULL: the fill
    const char *name;       // of the file
    uint64_t    available;  // elements; UINT64_MAX for a fill
    uint64_t    position;
    npy         shape;  // of a .npy file; of others dims is 0
} source;

// `path` is a file, "-" for standard input, or NULL: then `spec` says what to make up. Returns an exit code.
int  source_open(source *s, cj_dtype type, const char *path, const char *spec);
void source_close(source *s);

// Reads the next `count` elements, no more than are available. Returns an exit code.
int source_read(source *s, void *to, size_t count);

// The same of all that rows span, and refuses a file that holds less.
int source_read_rows(source *s, void *to, size_t count);

#endif
