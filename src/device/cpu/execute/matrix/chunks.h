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

// The chunks of some panels of a matrix.
typedef struct cj_chunks {
    bool     by_k;                  // neighbours in memory are neighbours along k
    unsigned first, panels, tiles;  // the first panel; how many; of each so many tiles along k
} cj_chunks;

// Finds them in a matrix with that descriptor: their addresses, tile after tile, of each tile 8. False: a hazard was reported.
bool cj__chunks_find(cj_cpu_warp *w, const cj_cpu_op *op, const cj_tile_set *set, uint64_t descriptor,
                     const cj_chunks *wanted, uint32_t *at);
// The same without a report; false: some may be out of bounds.
bool cj__chunks_are_inside(const cj_cpu_block *block, const cj_tile_set *set, uint64_t descriptor,
                           const cj_chunks *wanted, uint32_t *at);
// The runs of bytes that so many chunks fill, in ascending order; returns how many.
unsigned cj__chunks_runs(const uint32_t *at, unsigned count, cj_watch_piece run[CJ_CHUNKS_MAX]);
// Reads the words of tiles, as registers hold them, by the addresses of their chunks.
void cj__chunks_read(const cj_cpu_block *block, const cj_tile_set *set, bool by_k, const uint32_t *at, unsigned tiles,
                     uint32_t *words);

#endif
