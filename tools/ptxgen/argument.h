// SPDX-License-Identifier: Apache-2.0
// Arguments of a kernel as a command line gives them: u32=5, f32[1024]=iota.
#ifndef PTXGEN_ARGUMENT_H
#define PTXGEN_ARGUMENT_H

#include <clusterjit/device.h>
#include <stdbool.h>

// For help texts.
#define ARGUMENT_HELP                                                                                                  \
    "TYPE=VALUE, or TYPE[COUNT]=FILL for a buffer, whose address is passed; types u8 to u64, s8 to s64, f16, bf16, "   \
    "f32, f64; FILL: iota, zeros, const:V, mod:P:S, rand:SEED, or @FILE (raw, little-endian, exactly COUNT elements)"

typedef struct value_type value_type;

typedef struct argument {
    const value_type *type;
    bool              is_buffer;
    uint64_t          count;   // elements; 1 for a scalar
    unsigned char    *bytes;   // owned: the host's copy
    cj_ptr            memory;  // of a buffer, on the device
    const char       *text;    // as given
} argument;

// Reads "TYPE=VALUE" or "TYPE[COUNT]=FILL". Returns an exit code; *a is freed with argument_free either way.
int  argument_parse(const char *text, argument *a);
void argument_free(argument *a);

size_t argument_bytes(const argument *a);  // of all elements
// Prints the first `count` elements on one line, blank-separated.
void argument_print(const argument *a, uint64_t count);

#endif
