// SPDX-License-Identifier: Apache-2.0
// Tensor maps and the copies made with them (PTX ISA, "Tensors"; CUDA driver API, cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col).
//
// The 128 bytes have a layout of this device's own: only this device reads them. Kernels make maps too, by
// tensormap.replace of every field of 128 zero bytes: such a map has no mark. Host programs clear bit 21 of the second
// 64 bits in maps of small tensors, so no field uses that bit. A tile is a map at coordinates: a box, or (im2col) a
// column of pixels, moved by offsets. Its bytes have an order, rows of the innermost dimension one after another:
//
//   global  rows have the tensor's strides; elements outside of the tensor do not exist
//   shared  rows follow one another, each at least as long as the swizzle, whose 16-byte pieces change places: the
//           lower address bits [4, 4 + n) are xored with bits [7, 7 + n), n = 1, 2, 3 for 32, 64, 128 bytes.
//           A tile whose rows are as long as the swizzle fills one run there, with its pieces in another order
#ifndef CJ_CPU_TENSOR_H
#define CJ_CPU_TENSOR_H

#include <clusterjit/tensormap.h>

#include "address.h"
#include "device.h"

enum { CJ_TENSOR_RANK_MAX = 5, CJ_TENSOR_SPACE_MAX = CJ_TENSOR_RANK_MAX - 2 };

typedef struct cj_cpu_tensor {
    uint64_t address;
    uint32_t cleared;                         // by host programs
    uint32_t mark;                            // set by this device's encoder; 0: a kernel made the map
    uint64_t stride[CJ_TENSOR_RANK_MAX - 1];  // bytes; [i] of dimension i + 1
    uint32_t last[CJ_TENSOR_RANK_MAX];        // the greatest coordinate
    uint16_t box[CJ_TENSOR_RANK_MAX];         // im2col: channels, pixels
    uint8_t  element_stride[CJ_TENSOR_RANK_MAX];
    uint8_t  rank, type, interleave, swizzle, fill;
    uint8_t  im2col;
    int16_t  lower[CJ_TENSOR_SPACE_MAX], upper[CJ_TENSOR_SPACE_MAX];  // of im2col's bounding box: W, H, D
    uint8_t  unused[26];
} cj_cpu_tensor;

_Static_assert(sizeof(cj_cpu_tensor) == sizeof(cj_tensormap), "a tensor map has 128 bytes");

typedef struct cj_cpu_tile {
    uint32_t      users;
    bool          stores;  // whole units of 16 bytes
    cj_cpu_tensor map;
    int32_t       at[CJ_TENSOR_RANK_MAX];
    uint16_t      offset[CJ_TENSOR_SPACE_MAX];  // im2col
    uint32_t      count[CJ_TENSOR_RANK_MAX];    // elements of the tile, 1 beyond the rank
    uint32_t      element;                      // bytes of one
    uint32_t      row, pitch, rows;             // bytes of a row, from row to row in shared memory; number of rows
} cj_cpu_tile;

// A run of a tile's bytes: its offset in their order, and its address.
typedef struct cj_cpu_run {
    uint32_t offset, bytes;
    uint64_t address;
} cj_cpu_run;

cj_status cj__cpu_tensor_encode(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, cj_error *error);

// Why this tensor map cannot be used, or NULL.
const char *cj__cpu_tensor_fault(const cj_cpu_tensor *map);
// The tile of a valid map at coordinates (as many as its rank; of an im2col map, two offsets fewer), with one user;
// NULL when out of memory.
cj_cpu_tile           *cj__cpu_tile_new(const cj_cpu_tensor *map, const int32_t *at, const uint16_t *offset);
void                   cj__cpu_tile_drop(cj_cpu_tile *tile);  // NULL is allowed
static inline uint32_t cj__cpu_tile_bytes(const cj_cpu_tile *tile) { return tile->row * tile->rows; }

// The next run in global memory, from row *next; false after the last one. *next starts at 0.
bool cj__cpu_tile_global(const cj_cpu_tile *tile, uint32_t *next, cj_cpu_run *run);
// The next run in shared memory, from byte *next, for a tile at `base`: of bytes that cj__cpu_tile_swizzle has ordered.
bool cj__cpu_tile_shared(const cj_cpu_tile *tile, uint64_t base, uint32_t *next, cj_cpu_run *run);
// Brings all bytes of a tile from their order to that of its runs in shared memory, or back.
void cj__cpu_tile_swizzle(const cj_cpu_tile *tile, uint64_t base, unsigned char *data);
// The addresses that the tile touches in global memory, [*begin, *end); false if it is outside of its tensor.
bool cj__cpu_tile_extent(const cj_cpu_tile *tile, uint64_t *begin, uint64_t *end);
// Fills bytes with the value of elements outside of the tensor.
void cj__cpu_tile_fill(const cj_cpu_tile *tile, unsigned char *data, uint32_t bytes);
// Converts bytes read from the tensor to what a load writes: tf32 maps round.
void cj__cpu_tile_round(const cj_cpu_tile *tile, unsigned char *data, uint32_t bytes);

#endif
