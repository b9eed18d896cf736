// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces as the command line describes them: texture:u8[64x32]@0,channels=4,filter=linear.
#ifndef PTXGEN_TEXELS_H
#define PTXGEN_TEXELS_H

#include <clusterjit/texture.h>

#include "spec.h"
#include "value.h"

#define TEXELS_HELP                                                                                                   \
    "A texture (CPU device): texture:TYPE[DIMS]@I or texture:TYPE[DIMS]=FILL, DIMS texels in 1 to 3 dimensions of a " \
    "type of up to 32 bits. Options: channels=1|2|4, layers=N, filter=point|linear, "                                 \
    "address=wrap|clamp|mirror|border, "                                                                              \
    "coordinates=texels|normalized, read=float|integer, memory=array|linear; the first word is what holds without "   \
    "the "                                                                                                            \
    "option. A surface: surface:TYPE[DIMS]…, of the options channels and layers"

typedef struct texels {
    cj_image          image;  // the address is that of the buffer, once that has one
    cj_sampler        sampler;
    bool              is_surface;
    const value_type *element;
    int               buffer;  // the argument whose buffer it views; SPEC_OWN
} texels;

// Whether the argument's text begins as one of these.
bool texels_are(const char *text);
// Reads it. For texels with a buffer of their own, the fill's text is [*fill, *fill + *length). Returns an exit code.
int      texels_parse(texels *t, const char *text, const char **fill, size_t *length);
uint64_t texels_count(const texels *t);  // elements; UINT64_MAX: more than any buffer has
int      texels_create(texels *t, const char *text, cj_device *device, cj_ptr buffer, uint64_t *handle);
void     texels_destroy(const texels *t, cj_device *device, uint64_t handle);

#endif
