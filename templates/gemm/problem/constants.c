// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

const gemm_constants cj__gemm_constants = {
#define GEMM_CONSTANT(name, value, ...) .name = value,
#include "constants.def"
};

#define TILE(m, n) [GEMM_TILE_##m##x##n] = {m, n}

const gemm_tile cj__gemm_tiles[GEMM_TILES] = {
    TILE(128, 256), TILE(128, 128), TILE(64, 256), TILE(64, 128),  TILE(64, 64),   TILE(128, 224), TILE(128, 192), TILE(128, 160),
    TILE(128, 96),  TILE(64, 192),  TILE(64, 160), TILE(64, 96),   TILE(192, 192), TILE(192, 160), TILE(192, 128),
};
