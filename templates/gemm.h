// SPDX-License-Identifier: Apache-2.0
// What the matrix product's files share: a problem and the way it is done as numbers, and the kernel's pieces. gemm.c
// describes the family and writes the way from tensors to sums, gemm_epilogue.c the way from sums to D, gemm_plan.c
// chooses.
#ifndef CJ_TEMPLATES_GEMM_H
#define CJ_TEMPLATES_GEMM_H

#include <clusterjit/pipeline.h>
#include <clusterjit/tensormap.h>
#include <clusterjit/warpgroup.h>

#include "family.h"

// Parameters, in the order of the table.
enum {
    GEMM_M,
    GEMM_N,
    GEMM_K,
    GEMM_DTYPE,
    GEMM_A,
    GEMM_B,
    GEMM_D,
    GEMM_C,
    GEMM_TILE,
    GEMM_CLUSTER,
    GEMM_CLUSTER_N,
    GEMM_STAGES
};

// Bytes of a row of a box and elements of it; K of a step; rows of a warp group and of a warp; rows of clusters that
// are worked on side by side, so that what they read stays in L2.
enum {
    GEMM_ROW = 128,
    GEMM_BOX = 64,
    GEMM_STEP = 64,
    GEMM_GROUP_ROWS = 64,
    GEMM_WARP_ROWS = 16,
    GEMM_SIDE_BY_SIDE = 8,
    GEMM_GROUP = 128,
    GEMM_WARPS = 4,
    GEMM_WARP = 32
};

// A warp's buffer for results on their way out, and how many it has.
enum { GEMM_STORE_BYTES = GEMM_WARP_ROWS * GEMM_ROW, GEMM_STORES = 2 };

enum { GEMM_CLUSTER_MAX = 4, GEMM_PIECES_MAX = 4, GEMM_SUMS_MAX = 128 };

// A product as the kernel sees it: D lies in rows. (D in columns is D' = B' A' in rows: `flipped`.)
typedef struct gemm_shape {
    const char     *type;  // "bf16"
    uint64_t        m, n, k;
    bool            flipped, adds_c, clustered;
    cj_matrix_order a, b;
    uint32_t        tile_m, tile_n;
    uint32_t        cluster_m, cluster_n;     // blocks
    uint32_t        groups, pieces, stages;   // consumer warp groups; 64 columns each of a tile; of the ring
    uint32_t        a_bytes, b_bytes;         // of a stage
    uint64_t        tiles_m, tiles_n, steps;  // tiles of clusters; steps of K a tile
} gemm_shape;

// Of parameters whose tile, cluster and stages are chosen.
void cj__gemm_read(const cj_params *params, gemm_shape *g);

cj_status cj__gemm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// The tensor maps that a kernel takes, in its order.
enum { GEMM_MAP_A, GEMM_MAP_B, GEMM_MAP_C, GEMM_MAP_D, GEMM_MAPS };

// One of them as numbers: dimension 0 is the contiguous one.
typedef struct gemm_map {
    uint64_t dims[2];
    uint32_t box[2];
} gemm_map;

void cj__gemm_map(const gemm_shape *g, unsigned which, gemm_map *map);

// What the steps share.
typedef struct gemm_kernel {
    const cj_plan    *plan;
    const gemm_shape *g;
    cj_func          *f;
    cj_var            map[GEMM_MAPS], alpha, beta, tiles_m, tiles_n, steps;
    cj_reg            thread, lane, warp, group;  // the warp's and the group's number in the block
    cj_reg            leader;                     // lane 0
    cj_reg            rank_m, rank_n;             // the block's place in its cluster, in clusters of several blocks
    cj_reg            cluster, clusters;          // this one's number and how many there are
    cj_reg            rows, columns, count;       // tiles_m, tiles_n, and tiles in all
    cj_pipeline       ring;
    cj_reg            shared;   // where the stages of A begin
    cj_reg            c_ready;  // the warps' mbarriers for C
} gemm_kernel;

// Element coordinates of a block's tile, s32.
typedef struct gemm_place {
    cj_reg row, column;
} gemm_place;

// ---- from sums to D (gemm_epilogue.c)

// A warp's results on their way out.
typedef struct gemm_results {
    cj_reg     buffer, fragment;           // the first buffer; cj_fragment_address of it
    cj_reg     packed[GEMM_SUMS_MAX / 2];  // two elements each
    gemm_place place;                      // of the warp's rows
    cj_reg     some;                       // predicate: there are any
    cj_reg     map, map_c, alpha, beta;
    cj_reg     c_ready, c_parity;
} gemm_results;

void cj__gemm_results_begin(gemm_kernel *k, gemm_results *r);

// The sums of a tile become packed results, which cj__gemm_results_store sends on piece by piece.
void cj__gemm_results_take(gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);
void cj__gemm_results_store(gemm_kernel *k, const gemm_results *r, uint32_t piece);

// The generic address of a tensor map: a new u64 register.
cj_reg cj__gemm_map_address(const gemm_kernel *k, unsigned which);

#endif
