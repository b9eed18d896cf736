// SPDX-License-Identifier: Apache-2.0
// The constants of constants.def, as the plan reads them. There is one table: sm_90a, which the form wgmma needs, is
// the H100 and H200; of the form mma (mma_*) nothing is measured yet.
#ifndef CJ_TEMPLATES_GEMM_CONSTANTS_H
#define CJ_TEMPLATES_GEMM_CONSTANTS_H

#include <stdint.h>

typedef struct gemm_tile_cost {
    uint32_t m, n;
    double   step, end;
} gemm_tile_cost;

typedef struct gemm_constants {
#define GEMM_CONSTANT(name, value, unit, gpu, date, command) double name;
#define GEMM_TILE(m, n, step, end, gpu, date, command)
#include "constants.def"
#undef GEMM_CONSTANT
#undef GEMM_TILE
} gemm_constants;

extern const gemm_constants cj__gemm_constants;

// Of tiles, in the order of the words of `tile`; 0 is auto.
enum { GEMM_TILES = 6 };
extern const gemm_tile_cost cj__gemm_tiles[GEMM_TILES];

#endif
