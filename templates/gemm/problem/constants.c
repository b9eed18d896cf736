// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

const gemm_constants cj__gemm_constants = {
#define GEMM_CONSTANT(name, value, ...) .name = value,
#include "constants.def"
};

#define TILE(m, n) [GEMM_TILE_##m##x##n] = {m, n},

const gemm_tile cj__gemm_tiles[GEMM_TILES] = {GEMM_TILES_FIRST(TILE) GEMM_TILES_LAST(TILE)};
