// SPDX-License-Identifier: Apache-2.0
// Tensor maps as the command line describes them: tensor:f16[64x128]@0,box=64x32,swizzle=128.
#ifndef PTXGEN_TILE_H
#define PTXGEN_TILE_H

#include <clusterjit/tensormap.h>

#include "spec.h"
#include "value.h"

#define TILE_HELP                                                                                                   \
    "A tensor map: tensor:TYPE[DIMS]@I views argument I's buffer, tensor:TYPE[DIMS]=FILL has a buffer of its own. " \
    "DIMS "                                                                                                         \
    "and the other lists are written AxBxC, dimension 0, the innermost, first. Options, after commas: box=LIST "    \
    "(elements; needed), offset=BYTES (into the buffer), stride=LIST (bytes, from dimension 1; default dense), "    \
    "estride=LIST (default 1), swizzle=none|32|64|128, interleave=none|16|32, l2=none|64|128|256, fill=zeros|nan. " \
    "Types besides: tf32, tf32.ftz, f32.ftz"

enum { TILE_RANK_MAX = 5 };

typedef struct tile {
    cj_tensormap_type       type;
    const value_type       *element;  // the type of the buffer's elements
    uint32_t                rank;
    uint64_t                dims[TILE_RANK_MAX], strides[TILE_RANK_MAX];  // one stride less than dimensions, in bytes
    uint32_t                box[TILE_RANK_MAX], element_strides[TILE_RANK_MAX];
    cj_tensormap_interleave interleave;
    cj_tensormap_swizzle    swizzle;
    cj_tensormap_l2         l2;
    cj_tensormap_fill       fill;
    uint64_t                offset;  // bytes into the buffer
    int                     buffer;  // the argument whose buffer it views; SPEC_OWN
} tile;

// Reads the text after "tensor:"; `text` is the whole argument, for messages. For a tile with a buffer of its own, the
// fill's text is [*spec, *spec + *length). Returns an exit code.
int tile_parse(tile *t, const char *text, const char **spec, size_t *length);

// How many bytes of the buffer it views, from the buffer's start, the offset included. UINT64_MAX: more than any buffer
// has.
uint64_t tile_reach(const tile *t);

// Returns an exit code.
int tile_encode(const tile *t, const char *text, cj_device *device, cj_ptr buffer, cj_tensormap *map);

#endif
