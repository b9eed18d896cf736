// SPDX-License-Identifier: Apache-2.0
#include "constants.h"

const gemm_constants cj__gemm_constants = {
#define GEMM_CONSTANT(name, value, unit, gpu, date, command) .name = value,
#define GEMM_TILE(m, n, step, end, gpu, date, command)
#include "constants.def"
#undef GEMM_CONSTANT
#undef GEMM_TILE
};

const gemm_tile_cost cj__gemm_tiles[GEMM_TILES] = {
    {0, 0, 0, 0},
#define GEMM_CONSTANT(name, value, unit, gpu, date, command)
#define GEMM_TILE(m, n, step, end, gpu, date, command) {m, n, step, end},
#include "constants.def"
#undef GEMM_CONSTANT
#undef GEMM_TILE
};
