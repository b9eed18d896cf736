// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

const gemm_constants cj__gemm_constants = {
#define GEMM_CONSTANT(name, value, ...) .name = value,
#define GEMM_TILE(...)
#include "constants.def"
};

const gemm_tile_cost cj__gemm_tiles[GEMM_TILES] = {
#define GEMM_CONSTANT(...)
#define GEMM_TILE(m, n, step, end, ...) [GEMM_TILE_##m##x##n] = {m, n, step, end},
#include "constants.def"
};
