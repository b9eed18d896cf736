// SPDX-License-Identifier: Apache-2.0
// Texels: the image under a handle, the place of a texel, its components as 32-bit values.
#ifndef CJ_CPU_TEXEL_H
#define CJ_CPU_TEXEL_H

#include "exec.h"
#include "image.h"
#include "watch.h"

enum { CJ_CHANNELS = 4, CJ_AXES = 3 };

// The geometry that an instruction names, and where its coordinates are: x, y, z from slot `first` on, after the layer.
typedef struct cj_texel_plan {
    unsigned dims;
    bool     layered;
    bool     integer;       // coordinates; else f32
    uint32_t layer, first;  // slots' numbers
    unsigned texture;       // 1: the handle is a texture's, 0: a surface's
} cj_texel_plan;

// A thread's access.
typedef struct cj_texel_call {
    cj_cpu_warp         *w;
    const cj_cpu_op     *op;
    unsigned             lane;
    const cj_cpu_image  *image;
    const cj_texel_plan *plan;
    uint32_t             slice;  // of a layered image: its layer
} cj_texel_call;

// Fills in the plan for operand k, [handle, {coordinates}], whose first slot is `first`. False: refused, with the reason.
bool cj__texel_plan(cj_cpu_prepare *p, unsigned k, uint32_t first, cj_texel_plan *plan);

// Finds the image and the layer; false: a hazard was reported.
bool cj__texel_begin(cj_texel_call *call);
// The image under the handle of the op's memory operand. NULL: a hazard was reported.
const cj_cpu_image *cj__texel_image(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_image_use use);

uint32_t cj__texel_coordinate(const cj_texel_call *call, unsigned axis);  // its bits

// Reaches bytes in row y of slice z, from byte x on, all inside the image, and reports the access; `use` says what it is. NULL: a
// hazard was reported.
unsigned char *cj__texel_reach(const cj_texel_call *call, uint64_t x, uint64_t y, uint64_t z, uint64_t bytes,
                               cj_watch_use use);

// Whether texels are read as floats.
bool cj__texel_is_real(const cj_cpu_image *image);
// The components of a texel as 32 bits each: of a float, or of an integer, extended; 0 for those that it lacks.
void cj__texel_decode(const cj_cpu_image *image, const unsigned char *texel, uint32_t value[CJ_CHANNELS]);

#endif
