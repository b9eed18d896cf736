// SPDX-License-Identifier: Apache-2.0
// Arguments of a kernel as the command line describes them: u32=5, f32[1024]=iota, bytes:16=@FILE,
// tensor:f16[64x64]@0,box=64x32.
#ifndef PTXGEN_ARGUMENT_H
#define PTXGEN_ARGUMENT_H

#include <clusterjit/device.h>
#include <stdbool.h>

#include "texels.h"
#include "tile.h"
#include "value.h"

// For help texts.
#define ARGUMENT_HELP                                                                                                      \
    "TYPE=VALUE; TYPE[COUNT]=FILL, a buffer, whose address is passed; bytes:N=HEX or bytes:N=@FILE, a structure by "       \
    "value; tensor:TYPE[DIMS]@I,OPTION=…, a tensor map; texture:… and surface:…. Types: u8 to u64, s8 to s64, f16, " \
    "bf16, f32, f64. FILL: iota, "                                                                                         \
    "zeros, const:V, mod:P:S, rand:SEED, or @FILE (raw, little-endian, exactly COUNT elements)"

typedef enum argument_kind {
    ARGUMENT_SCALAR,
    ARGUMENT_BUFFER,
    ARGUMENT_BYTES,
    ARGUMENT_TENSOR,
    ARGUMENT_TEXELS  // a texture or a surface
} argument_kind;

typedef struct argument {
    const char       *text;  // as given
    argument_kind     kind;
    const value_type *type;    // of an element; u8 for BYTES
    uint64_t          count;   // elements; 1 for a scalar, 0 for a view of another argument's buffer
    unsigned char    *bytes;   // owned: the host's copy of the elements
    cj_ptr            memory;  // of a buffer, on the device
    tile              tile;    // of a tensor map
    cj_tensormap      map;     // the map that is passed
    texels            texels;  // of a texture or a surface
    uint64_t          handle;  // the handle that is passed
} argument;

enum { ARGUMENTS_MAX = 32 };

typedef struct arguments {
    argument item[ARGUMENTS_MAX];
    unsigned count;
} arguments;

// Reads the next argument; the caller keeps `text`. Returns an exit code; call arguments_free in either case.
int  arguments_add(arguments *all, const char *text);
void arguments_free(arguments *all);

// Checks, after all arguments are known, which buffers tensor maps, textures and surfaces view. Returns an exit code.
int arguments_check(const arguments *all);

// Allocates the buffers with their first contents, and makes the tensor maps, textures and surfaces. Returns an exit code.
int  arguments_upload(arguments *all, cj_device *device);
void arguments_release(arguments *all, cj_device *device);

bool        argument_has_buffer(const argument *a);
size_t      argument_bytes(const argument *a);  // of all elements
size_t      argument_size(const argument *a);   // of the value that the kernel gets
const void *argument_value(const argument *a);  // the value that the kernel gets

// Prints the first `count` elements on one line, blank-separated.
void argument_print(const argument *a, uint64_t count);

// The elements as an array of numbers.
json_t *argument_json(const argument *a, uint64_t count);

#endif
