// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "half.h"

#define MARK 0x504d4a43u  // "CJMP"

enum { PIECE = 16, BOX_MAX = 256, PIXELS_MAX = 1024 };  // bytes that a swizzle keeps together; elements, pixels

static const uint32_t element_bytes[] = {
#define CJ_X(name, value, text, bytes) [CJ_TENSORMAP_##name] = bytes,
    CJ_TENSORMAP_TYPE_LIST(CJ_X)
#undef CJ_X
};

// Every 16 bits of an element outside of the tensor, if the map asks for NaNs; the same for wider types (measured on an
// H200).
static uint64_t outside(void) { return CJ_HALF_OUTSIDE * UINT64_C(0x0001000100010001); }

static uint32_t swizzle_bytes(uint8_t swizzle) { return swizzle ? (uint32_t)PIECE << swizzle : 0; }

// ---- maps

cj_status cj__cpu_tensor_encode(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, cj_error *error) {
    (void)device;
    if (tile->interleave != CJ_TENSORMAP_INTERLEAVE_NONE) {
        return cj__fail(error, CJ_UNSUPPORTED, "the CPU device knows no interleaved tensor layouts");
    }
    cj_cpu_tensor made = {.mark = MARK,
                          .address = tile->address,
                          .rank = (uint8_t)tile->rank,
                          .type = (uint8_t)tile->type,
                          .swizzle = (uint8_t)tile->swizzle,
                          .fill = (uint8_t)tile->fill};
    made.im2col = !tile->box;
    if (made.im2col) {
        made.box[0] = (uint16_t)tile->channels;
        made.box[1] = (uint16_t)tile->pixels;
    }
    for (uint32_t i = 0; i + 2 < tile->rank && made.im2col; i++) {
        made.lower[i] = (int16_t)tile->lower[i];
        made.upper[i] = (int16_t)tile->upper[i];
    }
    for (uint32_t i = 0; i < tile->rank; i++) {
        made.last[i] = (uint32_t)(tile->dims[i] - 1);
        if (tile->box) made.box[i] = (uint16_t)tile->box[i];
        made.element_stride[i] = (uint8_t)tile->element_strides[i];
        if (i) made.stride[i - 1] = tile->strides[i - 1];
    }
    memcpy(map, &made, sizeof made);
    return CJ_OK;
}

// Checks the fields that im2col has besides those of a tile.
static const char *columns_fault(const cj_cpu_tensor *map) {
    if (map->rank < 3) return "its rank is not 3 to 5";
    if (!map->box[0] || map->box[0] > BOX_MAX) return "its channels are not 1 to 256";
    if (!map->box[1] || map->box[1] > PIXELS_MAX) return "its pixels are not 1 to 1024";
    for (uint32_t i = 0; i + 2 < map->rank; i++) {
        if ((int64_t)map->last[i + 1] + map->upper[i] < map->lower[i]) return "its bounding box is empty";
    }
    return NULL;
}

const char *cj__cpu_tensor_fault(const cj_cpu_tensor *map) {
    if (map->cleared || (map->mark && map->mark != MARK)) return "these 128 bytes are no tensor map of the CPU device";
    if (!map->rank || map->rank > CJ_TENSOR_RANK_MAX) return "its rank is not 1 to 5";
    if (map->type >= sizeof element_bytes / sizeof *element_bytes) return "its element type is unknown";
    if (map->interleave) return "its layout is interleaved, which the CPU device does not know";
    if (map->swizzle > CJ_TENSORMAP_SWIZZLE_128B) return "its swizzle is not none, 32B, 64B or 128B";
    if (map->address % PIECE) return "its global address is no multiple of 16";
    for (uint32_t i = 0; i < map->rank; i++) {
        if (!map->im2col && (!map->box[i] || map->box[i] > BOX_MAX))
            return "its box is not 1 to 256 in every dimension";
        if (!map->element_stride[i] || map->element_stride[i] > 8) return "its element strides are not 1 to 8";
        if (i && map->stride[i - 1] % PIECE) return "its strides are no multiples of 16";
    }
    const char    *fault = map->im2col ? columns_fault(map) : NULL;
    const uint32_t row = map->box[0] * element_bytes[map->type];
    if (fault) return fault;
    if (row % PIECE) return "a row of its box is no multiple of 16 bytes";
    if (map->swizzle && row > swizzle_bytes(map->swizzle)) return "a row of its box is longer than its swizzle";
    return NULL;
}

// ---- tiles

cj_cpu_tile *cj__cpu_tile_new(const cj_cpu_tensor *map, const int32_t *at, const uint16_t *offset) {
    cj_cpu_tile *tile = cj__calloc(1, sizeof *tile);
    if (!tile) return NULL;
    tile->users = 1;
    tile->map = *map;
    tile->element = element_bytes[map->type];
    tile->rows = 1;
    for (uint32_t i = 0; i < CJ_TENSOR_RANK_MAX; i++) {
        const bool     beyond = i >= map->rank;
        const uint32_t stride = i && !beyond ? map->element_stride[i] : 1;
        tile->at[i] = beyond ? 0 : at[i];
        tile->count[i] = beyond || (map->im2col && i) ? 1 : (map->box[i] + stride - 1) / stride;
        if (i) tile->rows *= tile->count[i];
    }
    if (map->im2col) tile->rows = map->box[1];
    for (uint32_t i = 0; i + 2 < map->rank && map->im2col; i++) tile->offset[i] = offset[i];
    tile->row = tile->count[0] * tile->element;
    tile->pitch = map->swizzle ? swizzle_bytes(map->swizzle) : tile->row;
    return tile;
}

void cj__cpu_tile_drop(cj_cpu_tile *tile) {
    if (tile && !--tile->users) cj__free(tile);
}

// The part of the innermost dimension that is inside of the tensor: elements [*first, *end) of a row. Stores write
// whole units of 16 bytes, also at the end of a row (measured on an H200; not documented).
static bool clip_row(const cj_cpu_tile *tile, uint32_t *first, uint32_t *end) {
    const int64_t unit = tile->stores ? PIECE / tile->element : 1;
    const int64_t at = tile->at[0], length = ((int64_t)tile->map.last[0] + unit) / unit * unit;
    const int64_t from = at < 0 ? -at : 0, to = length - at < tile->count[0] ? length - at : tile->count[0];
    *first = from < to ? (uint32_t)from : 0;
    *end = from < to ? (uint32_t)to : 0;
    return from < to;
}

// The coordinate of a row of a box in dimension i. *steps: in, how many rows come before it; out, how many steps of the
// next dimension.
static int64_t box_coordinate(const cj_cpu_tile *tile, uint32_t i, uint64_t *steps) {
    const int64_t at = tile->at[i] + (int64_t)(*steps % tile->count[i]) * tile->map.element_stride[i];
    *steps /= tile->count[i];
    return at;
}

// The same for a pixel of a column: it starts in the middle of the bounding box, and continues from the box's lower
// end.
static int64_t pixel_coordinate(const cj_cpu_tile *tile, uint32_t i, uint64_t *steps) {
    const int64_t stride = tile->map.element_stride[i], first = tile->at[i];
    if (i + 1 == tile->map.rank) return first + (int64_t)*steps * stride;  // images have no bounds
    const int64_t  lower = tile->map.lower[i - 1], upper = (int64_t)tile->map.last[i] + tile->map.upper[i - 1];
    const uint64_t in_first = first > upper ? 1 : (uint64_t)((upper - first) / stride) + 1;
    const uint64_t in_each = (uint64_t)((upper - lower) / stride) + 1;
    uint64_t       at = *steps;
    *steps = at < in_first ? 0 : (at - in_first) / in_each + 1;
    const int64_t from = at < in_first ? first : lower;
    at = at < in_first ? at : (at - in_first) % in_each;
    return from + (int64_t)at * stride + tile->offset[i - 1];
}

// The address of element 0 of the tensor in the row's other dimensions; false if the row is outside of the tensor.
static bool row_address(const cj_cpu_tile *tile, uint32_t row, uint64_t *address) {
    const cj_cpu_tensor *map = &tile->map;
    uint64_t             steps = row;
    *address = map->address;
    for (uint32_t i = 1; i < map->rank; i++) {
        const int64_t at = map->im2col ? pixel_coordinate(tile, i, &steps) : box_coordinate(tile, i, &steps);
        if (at < 0 || at > map->last[i]) return false;
        *address += (uint64_t)at * map->stride[i - 1];
    }
    return true;
}

bool cj__cpu_tile_global(const cj_cpu_tile *tile, uint32_t *next, cj_cpu_run *run) {
    uint32_t first, end;
    if (!clip_row(tile, &first, &end)) return false;
    while (*next < tile->rows) {
        const uint32_t row = (*next)++;
        uint64_t       address;
        if (!row_address(tile, row, &address)) continue;
        *run = (cj_cpu_run){.offset = row * tile->row + first * tile->element,
                            .bytes = (end - first) * tile->element,
                            .address = address + (uint64_t)(tile->at[0] + (int64_t)first) * tile->element};
        return true;
    }
    return false;
}

// Where the swizzle puts a piece.
static uint64_t swizzled(const cj_cpu_tile *tile, uint64_t address) {
    const uint64_t pieces = (1u << tile->map.swizzle) - 1;
    return address ^ (address >> 7 & pieces) << 4;
}

bool cj__cpu_tile_shared(const cj_cpu_tile *tile, uint64_t base, uint32_t *next, cj_cpu_run *run) {
    const uint32_t offset = *next, bytes = tile->row < tile->pitch ? PIECE : cj__cpu_tile_bytes(tile);
    if (offset >= cj__cpu_tile_bytes(tile)) return false;
    const uint64_t address = base + offset / tile->row * tile->pitch + offset % tile->row;
    *run = (cj_cpu_run){
        .offset = offset, .bytes = bytes, .address = tile->row < tile->pitch ? swizzled(tile, address) : address};
    *next = offset + bytes;
    return true;
}

void cj__cpu_tile_swizzle(const cj_cpu_tile *tile, uint64_t base, unsigned char *data) {
    if (!tile->map.swizzle || tile->row < tile->pitch) return;
    for (uint32_t at = 0; at < cj__cpu_tile_bytes(tile); at += PIECE) {
        const uint64_t other = swizzled(tile, base + at) - base;
        unsigned char  piece[PIECE];
        if (other <= at) continue;
        memcpy(piece, data + at, PIECE);
        memcpy(data + at, data + other, PIECE);
        memcpy(data + other, piece, PIECE);
    }
}

bool cj__cpu_tile_extent(const cj_cpu_tile *tile, uint64_t *begin, uint64_t *end) {
    cj_cpu_run run;
    *begin = UINT64_MAX;
    *end = 0;
    for (uint32_t next = 0; cj__cpu_tile_global(tile, &next, &run);) {
        if (run.address < *begin) *begin = run.address;
        if (run.address + run.bytes > *end) *end = run.address + run.bytes;
    }
    return *end > 0;
}

void cj__cpu_tile_fill(const cj_cpu_tile *tile, unsigned char *data, uint32_t bytes) {
    const uint64_t nan = outside();
    memset(data, 0, bytes);
    for (uint32_t at = 0; tile->map.fill && at < bytes; at += tile->element) memcpy(data + at, &nan, tile->element);
}

// Rounds any number to nearest, ties to even; every NaN becomes this one.
static uint32_t rounded_to_tf32(uint32_t bits) {
    enum { STEP = 0x2000, INFINITE = 0x7f800000, NOT_A_NUMBER = 0x7fffe000 };
    if ((bits & 0x7fffffff) > INFINITE) return NOT_A_NUMBER;
    return (bits + STEP / 2 - 1 + (bits / STEP & 1)) & ~(STEP - 1u);
}

void cj__cpu_tile_round(const cj_cpu_tile *tile, unsigned char *data, uint32_t bytes) {
    if (tile->map.type != CJ_TENSORMAP_TF32 && tile->map.type != CJ_TENSORMAP_TF32_FTZ) return;
    for (uint32_t at = 0; at < bytes; at += tile->element) {
        uint32_t value;
        memcpy(&value, data + at, sizeof value);
        value = rounded_to_tf32(value);
        memcpy(data + at, &value, sizeof value);
    }
}
