// SPDX-License-Identifier: Apache-2.0
// What all roles of the kernel share: its parameters, thread identity, the order of tiles.
#ifndef CJ_TEMPLATES_GEMM_KERNEL_H
#define CJ_TEMPLATES_GEMM_KERNEL_H

#include "gemm.h"

// Where K is split: a block's place among those that compute one tile, and its steps of it.
typedef struct gemm_split {
    cj_reg rank, part;    // of its multicast group in the cluster, of its cluster among those of the tile
    cj_reg mate, mates;   // its rank in its multicast group, and the cluster rank of that group's first block
    cj_reg first, steps;  // the first step, and how many: every cj__gemm_splits-th from there on
} gemm_split;

typedef struct gemm_kernel {
    const cj_plan    *plan;
    const gemm_shape *g;
    cj_func          *f;
    cj_var            map[GEMM_MAPS], alpha, beta, bias, scale_a, scale_b, scale_d;
    cj_var            d, d_leading, d_stride, d_rows, d_columns;  // where D's lines have a tail
    cj_var            tiles_m, tiles_n, steps, batches, bias_length, workspace;
    cj_reg            thread, lane, warp, group;  // the warp's and the warp group's number in the block
    cj_reg            leader;                     // predicate: lane 0
    cj_reg            rank_m, rank_n;             // the block's place in its multicast group, where that has several
    cj_reg            cluster, clusters;          // this cluster's number and how many there are
    cj_reg            rows, columns, count;       // tiles_m, tiles_n, and tiles in all
    cj_reg            of_one;                     // tiles of one product of a batch
    gemm_split        split;
    cj_pipeline       stages;
    cj_reg            shared;   // where the stages of A begin; those of B follow, then the store buffers
    cj_reg            c_ready;  // the warps' mbarriers for C
    cj_reg            sums_arrived, peer_sums;  // split-K: mbarriers and memory for the sums of peers
} gemm_kernel;

void cj__gemm_declare(gemm_kernel *k);
void cj__gemm_identify(gemm_kernel *k);

// Of all forms: the parameters of values, and thread, lane and warp. The comment of a parameter, if it is used.
void cj__gemm_declare_values(gemm_kernel *k);
void cj__gemm_identify_thread(gemm_kernel *k);
static inline const char *cj__gemm_comment(bool used, const char *comment) { return used ? comment : "not used"; }

// A consumer warp's number among those that multiply a tile together.
cj_reg cj__gemm_warp_of_tile(const gemm_kernel *k);

// Until the kernels before have ended: no global memory is touched before this.
void cj__gemm_wait(const gemm_kernel *k);

// ---- small pieces

// The generic address of a tensor map: a new u64 register.
cj_reg cj__gemm_map_address(const gemm_kernel *k, unsigned which);

// ---- tiles

// Element coordinates of a block's tile, s32; `batch` where there are several products.
typedef struct gemm_place {
    cj_reg row, column, batch;
} gemm_place;

gemm_place cj__gemm_place(const gemm_kernel *k, cj_reg tile);

// Which product of a batch a tile belongs to. The tile becomes its number there.
cj_reg cj__gemm_find_batch(const gemm_kernel *k, cj_reg *tile);

// Coordinates for a tensor copy: returns how many, 3 where each product of a batch has a matrix of its own.
uint32_t cj__gemm_at(const gemm_kernel *k, cj_reg at[3], cj_reg inner, cj_reg outer, cj_reg batch, bool shared);

#endif
