// SPDX-License-Identifier: Apache-2.0
// Matrices of wgmma in shared memory (PTX ISA, "Shared Memory Matrix Layout", "Matrix Descriptor Format"): chunks of 16 bytes,
// each a line's part of a tile, or one k of all 8 lines.
#ifndef CJ_CPU_CHUNKS_H
#define CJ_CPU_CHUNKS_H

#include "machine.h"
#include "tile.h"
#include "watch.h"

enum {
    CJ_CHUNK_BYTES = 16,
    CJ_PANEL_MAX = 256 / CJ_TILE,  // panels of B
    CJ_PANEL_TILES_MAX = 4,        // tiles of a panel, along k
    CJ_CHUNKS_MAX = CJ_PANEL_MAX * CJ_PANEL_TILES_MAX * CJ_TILE
};

// The chunks of some panels, tile after tile, of each tile 8.
typedef struct cj_chunks {
    unsigned count;
    uint32_t at[CJ_CHUNKS_MAX];
} cj_chunks;

// Finds those of so many panels, from `first` on, of a matrix with that descriptor. by_k: neighbours in memory are neighbours
// along k. False: a hazard was reported.
bool cj__chunks_find(cj_cpu_warp *w, const cj_cpu_op *op, uint64_t descriptor, bool by_k, unsigned first,
                     unsigned panels, unsigned tiles, cj_chunks *found);
// The runs of bytes that they fill, in ascending order; returns how many.
unsigned cj__chunks_runs(const cj_chunks *chunks, cj_watch_piece run[CJ_CHUNKS_MAX]);
// Reads the words of tiles, as registers hold them, by the addresses of their chunks.
void cj__chunks_read(const cj_cpu_block *block, const cj_tile_set *set, bool by_k, const uint32_t *at, unsigned tiles,
                     uint32_t *words);

#endif
