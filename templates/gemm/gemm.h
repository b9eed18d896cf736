// SPDX-License-Identifier: Apache-2.0
// What the matrix product's files share: a problem and the way it is done as numbers, and the kernel's pieces. gemm.c
// describes the family and writes the kernel's frame, gemm_load.c its producer, gemm_multiply.c its consumers,
// gemm_value.c what becomes of a sum, gemm_epilogue.c the way to D, gemm_tail.c that of the ends of its lines,
// gemm_split.c how the sums of several blocks meet (in global memory by gemm_meet.c), gemm_rest.c what becomes of the
// tiles that are left; gemm_problem.c says what is asked for, gemm_plan.c and gemm_split_plan.c choose.
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
    GEMM_DTYPE_B,
    GEMM_OUT,
    GEMM_A,
    GEMM_B,
    GEMM_D,
    GEMM_C,
    GEMM_BIAS,
    GEMM_ACTIVATION,
    GEMM_BATCH,
    GEMM_SHARED,
    GEMM_TILE,
    GEMM_CLUSTER,
    GEMM_CLUSTER_N,
    GEMM_STAGES,
    GEMM_SPLIT,
    GEMM_PARTS,
    GEMM_REST,
    GEMM_SUMS,
    GEMM_DEPENDENT
};

// Bytes of a row of a box, which are the bytes of K of a step; lines of a box of 16-bit elements that lies by line; rows
// of a warp group and of a warp; rows of clusters that are worked on side by side, so that what they read stays in L2;
// bytes after which a swizzle pattern repeats, at a multiple of which the stages begin.
enum {
    GEMM_ROW = 128,
    GEMM_BOX = 64,
    GEMM_GROUP_ROWS = 64,
    GEMM_WARP_ROWS = 16,
    GEMM_SIDE_BY_SIDE = 8,
    GEMM_GROUP = 128,
    GEMM_WARPS = 4,
    GEMM_WARP = 32,
    GEMM_SHARED_ALIGN = 1024
};

// A warp's buffer for results on their way out, and how many it has.
enum { GEMM_STORE_BYTES = GEMM_WARP_ROWS * GEMM_ROW, GEMM_STORES = 2 };

enum {
    GEMM_STAGES_MIN = 2,
    GEMM_CLUSTER_MAX = 4,
    GEMM_PIECES_MAX = 8,
    GEMM_KEPT_MAX = 4,
    GEMM_SUMS_MAX = 128,
    GEMM_BIAS_MAX = 8
};

// In the order of the words of `rest`.
enum { GEMM_REST_AUTO, GEMM_REST_WHOLE, GEMM_REST_SHARED };

// In the order of the words of `sums`.
enum { GEMM_SUMS_AUTO, GEMM_SUMS_APART, GEMM_SUMS_RING };

// Blocks of a cluster, and clusters, that share the K of a tile.
enum { GEMM_SPLIT_MAX = 16, GEMM_PARTS_MAX = 64 };

// Elements of matrices.
typedef struct gemm_type {
    const char       *name;
    uint32_t          bytes;
    cj_tensormap_type in_map;
    double            rounding;  // half a unit in the last place, of a number from 1 to 2
} gemm_type;

// What is added to D: a value for each of its columns or of its rows, as the kernel sees it.
typedef enum gemm_bias { GEMM_NO_BIAS, GEMM_BIAS_COLUMNS, GEMM_BIAS_ROWS } gemm_bias;

typedef enum gemm_activation { GEMM_NO_ACTIVATION, GEMM_RELU, GEMM_GELU, GEMM_SILU } gemm_activation;

// A product as the kernel sees it: D lies in rows. (D in columns is D' = B' A' in rows: `flipped`.)
typedef struct gemm_shape {
    const gemm_type *a_type, *b_type, *c_type, *d_type;  // the bias is as C
    uint64_t         m, n, k, batches;
    bool             flipped, adds_c, clustered;
    bool             shared_a, shared_b, shared_c;  // by all products of a batch
    cj_matrix_order  a, b;
    gemm_bias        bias;
    gemm_activation  activation;
    uint32_t         tile_m, tile_n;
    uint32_t         cluster_m, cluster_n;    // blocks that share what they load
    bool             rest;                    // the tiles that are left behind whole rounds are shared by all clusters
    uint32_t         split, parts;            // groups of such blocks in a cluster, and clusters, that share a tile's K
    bool             in_ring;                 // peers' sums come into the ring's stages
    uint32_t         step;                    // K of a step
    uint32_t         groups, pieces, stages;  // consumer warp groups; pieces of a tile; of the ring
    uint32_t         piece;                   // columns of a piece, which leaves by a tensor store a warp
    uint32_t         kept;                    // pieces that are kept to leave behind the next tile's steps: all, or none
    uint32_t         a_bytes, b_bytes;        // of a stage
    uint64_t         tiles_m, tiles_n, steps;  // tiles of clusters; steps of K a tile
} gemm_shape;

static inline bool     cj__gemm_is_scaled(const gemm_shape *g) { return g->a_type->bytes == 1; }
static inline bool     cj__gemm_is_d_scaled(const gemm_shape *g) { return g->d_type->bytes == 1; }
static inline uint32_t cj__gemm_blocks(const gemm_shape *g) { return g->cluster_m * g->cluster_n; }
// At most 2^48, more than any grid holds: so that nothing that is computed of it wraps.
static inline uint64_t cj__gemm_tiles(const gemm_shape *g) {
    const uint64_t most = UINT64_C(1) << 48, tiles = g->tiles_m * g->tiles_n;
    return tiles > most / g->batches ? most : tiles * g->batches;
}

// The problem that the parameters describe, without the way it is done; what is refused of it.
void      cj__gemm_problem(const cj_params *params, gemm_shape *g);
cj_status cj__gemm_check_problem(const cj_params *params, const gemm_shape *g, cj_error *error);

// How far a result may be from the exact one, relative to the size of what is added up.
double cj__gemm_error_bound(const gemm_shape *g);

// Of parameters whose tile, cluster and stages are chosen.
void cj__gemm_read(const cj_params *params, gemm_shape *g);

// How many stages a block has room for.
uint32_t cj__gemm_stages_most(const gemm_shape *g, const cj_limits *limits);

cj_status cj__gemm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// The tensor maps that a kernel takes, in its order.
enum { GEMM_MAP_A, GEMM_MAP_B, GEMM_MAP_C, GEMM_MAP_D, GEMM_MAPS };

// One of them as numbers: dimension 0 is the contiguous one, 2 the batch, where each product has its own.
typedef struct gemm_map {
    const gemm_type     *type;
    cj_tensormap_swizzle swizzle;
    uint32_t             rank;
    uint64_t             length;  // elements of the matrix's lines; D's map may have fewer
    uint64_t             dims[3];
    uint32_t             box[3];
} gemm_map;

void cj__gemm_map(const gemm_shape *g, unsigned which, gemm_map *map);

// A block's place among those that share a tile's K.
typedef struct gemm_range {
    cj_reg rank, part;      // its group's number in the cluster, and its cluster's among those of the tile
    cj_reg mate, mates;     // its number among the blocks that load together, and the first one's rank
    cj_reg first, steps;    // of K
    cj_reg arrived, slots;  // mbarriers and memory for peers' sums
} gemm_range;

// What the steps share.
typedef struct gemm_kernel {
    const cj_plan    *plan;
    const gemm_shape *g;
    cj_func          *f;
    cj_var            map[GEMM_MAPS], alpha, beta, bias, scale_a, scale_b, scale_d;
    cj_var            d, d_leading, d_stride, d_rows, d_columns;  // where D's lines are ragged
    cj_var            tiles_m, tiles_n, steps, batches, bias_length, workspace;
    cj_reg            thread, lane, warp, group;  // the warp's and the group's number in the block
    cj_reg            leader;                     // lane 0
    cj_reg            rank_m, rank_n;             // the block's place in its cluster, in clusters of several blocks
    cj_reg            cluster, clusters;          // this one's number and how many there are
    cj_reg            rows, columns, count;       // tiles_m, tiles_n, and tiles in all
    cj_reg            of_one;                     // tiles of one product of a batch
    cj_reg            whole, rest_tiles;          // where the rest is shared: tiles before it, and its own
    cj_pipeline       ring;
    cj_reg            shared;   // where the stages of A begin
    gemm_range        range;    // where K is shared
    cj_reg            c_ready;  // the warps' mbarriers for C
} gemm_kernel;

// Element coordinates of a block's tile, s32; `batch` where there are several.
typedef struct gemm_place {
    cj_reg row, column, batch;
} gemm_place;

// Coordinates for a tensor copy: returns how many, 3 where each product of a batch has its own such matrix.
uint32_t cj__gemm_at(const gemm_kernel *k, cj_reg at[3], cj_reg inner, cj_reg outer, cj_reg batch, bool shared);

// The generic address of a tensor map: a new u64 register. A u64 parameter's lower half, a new u32 register.
cj_reg   cj__gemm_map_address(const gemm_kernel *k, unsigned which);
cj_reg   cj__gemm_load_u32(const gemm_kernel *k, cj_var param, const char *name);
uint32_t cj__gemm_log2(uint32_t power);

// Until the kernels before have ended: what comes before it touches no global memory.
void cj__gemm_wait(const gemm_kernel *k);

// ---- tiles (gemm.c)

// The loop over this cluster's tiles, all or those before the rest: the tile's number, and the labels at the loop's head
// and behind its end.
typedef struct gemm_tiles {
    cj_reg   tile;
    cj_label next, end;
} gemm_tiles;

gemm_tiles cj__gemm_tiles_begin(const gemm_kernel *k);
void       cj__gemm_tiles_end(const gemm_kernel *k, const gemm_tiles *loop);
gemm_place cj__gemm_place(const gemm_kernel *k, cj_reg tile);

// ---- the roles (gemm_load.c, gemm_multiply.c); the producer goes to `done`

void cj__gemm_load(gemm_kernel *k, cj_label done);
void cj__gemm_multiply(gemm_kernel *k);

// ---- from sums to values (gemm_value.c)

// What a thread's values are made with.
typedef struct gemm_values {
    cj_reg alpha, beta, scale_d;  // alpha with the scales of A and B
    cj_reg quarter;               // lane % 4
    cj_reg bias[GEMM_BIAS_MAX];   // columns 64 j + 2 lane + i of the tile at 2 j + i; or the thread's two rows
} gemm_values;

void cj__gemm_values_begin(const gemm_kernel *k, gemm_values *v);

// The bias of a tile, before its sums are there.
void cj__gemm_values_bias(const gemm_kernel *k, const gemm_values *v, const gemm_place *place);

// The bias of the 8 columns `group` of the tile: new registers for the two of them that a thread has.
void cj__gemm_values_columns(const gemm_kernel *k, const gemm_values *v, uint32_t group, cj_reg bias[2]);

// A sum becomes a value, as f32: scaled, `addend` (of C; none: zero id) and `bias` (the same) added, activated.
void cj__gemm_value(const gemm_kernel *k, const gemm_values *v, cj_reg sum, cj_reg addend, cj_reg bias);

// ---- from values to D (gemm_epilogue.c)

// A warp's results on their way out.
typedef struct gemm_results {
    gemm_values values;
    cj_reg      buffer;                     // the first one
    cj_reg      fragment, cell;             // where a lane reads and writes in it: by matrices, by itself
    cj_reg      packed[GEMM_SUMS_MAX / 2];  // of the pieces that are kept, or of one
    gemm_place  place;                      // of the warp's rows
    cj_reg      some;                       // predicate: there are any
    cj_reg      map, map_c;
    cj_reg      c_ready, c_parity;
    cj_reg      columns, whole;  // of D, where its lines are ragged, and those of whole 16 bytes
    cj_reg      sends;           // predicate: this lane starts a box's store
} gemm_results;

void cj__gemm_results_begin(gemm_kernel *k, gemm_results *r);

// The sums of a tile become packed results, which cj__gemm_results_store sends on piece by piece, at once or later.
void cj__gemm_results_take(gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);
void cj__gemm_results_store(gemm_kernel *k, const gemm_results *r, uint32_t piece);

// The same for single pieces: where the tile is, and the sums of a piece.
void cj__gemm_results_place(gemm_kernel *k, gemm_results *r, const gemm_place *place);
void cj__gemm_results_take_piece(gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t piece);

// ---- the ends of D's lines (gemm_tail.c)

// Whether D's lines end within 16 bytes, of which tensor stores write all or none. Then the kernel takes D's address,
// leading dimension and stride (elements) too, behind the scales.
bool cj__gemm_is_ragged(const gemm_shape *g);

// The same of a plan's kernel, for launches: nothing is worked out.
bool cj__gemm_takes_ends(const cj_plan *plan);

// Columns of such a D's tensor map.
uint64_t cj__gemm_tail_map(const gemm_shape *g);

// Of the box that begins at `column` and lies in `buffer`: who starts its store, and the store of what that leaves out.
void   cj__gemm_tail_begin(const gemm_kernel *k, gemm_results *r);
cj_reg cj__gemm_tail_sender(const gemm_kernel *k, const gemm_results *r, cj_reg column);
void   cj__gemm_tail_store(const gemm_kernel *k, const gemm_results *r, cj_reg column, cj_reg buffer);

// ---- tiles whose K is shared (gemm_split.c)

// Whether a tile's sums come from several blocks. Then each cluster makes one tile, or its part of one, and is done.
bool     cj__gemm_is_split(const gemm_shape *g);
uint32_t cj__gemm_shares(const gemm_shape *g);  // blocks that take turns with the steps of a tile

// Shared memory for the sums that come from peers; what of it is none of the ring's, behind all else.
uint32_t cj__gemm_split_bytes(const gemm_shape *g);
uint32_t cj__gemm_split_apart(const gemm_shape *g);
size_t   cj__gemm_split_workspace(const gemm_shape *g);

// How many blocks and clusters share a tile, where the parameters leave that open; returns what the product then takes,
// in steps of the largest tile. `cost`, `end`: what a step and the results of the chosen tile take; `whole`: the tile may
// be one block's.
double    cj__gemm_split_choose(const cj_plan *plan, const cj_limits *limits, double cost, double end, bool whole,
                                gemm_shape *g);
cj_status cj__gemm_split_check(const gemm_shape *g, cj_error *error);
cj_status cj__gemm_split_check_ring(const gemm_shape *g, cj_error *error);
cj_status cj__gemm_split_no_room(const gemm_shape *g, cj_error *error);

// Which steps of which tile are this block's; the mbarriers for peers' sums; from the sums of these steps to D.
void cj__gemm_split_identity(gemm_kernel *k, cj_reg steps);
void cj__gemm_split_begin(gemm_kernel *k, cj_reg first_thread);
void cj__gemm_split_results(gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);

// ---- sums that meet in global memory (gemm_meet.c)

// A lane's sums as they lie in posts: four of them, the lanes of a warp side by side.
enum { GEMM_VECTOR = 4, GEMM_VECTOR_BYTES = GEMM_WARP * 16 };

// `count` sums, a multiple of GEMM_VECTOR, from or to where this lane's lie.
void cj__gemm_sums_load(const gemm_kernel *k, const char *space, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset);
void cj__gemm_sums_post(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at);

// The warp has posted, and counts itself, which wraps behind `others`, a u32; it goes on if it comes last. `before` and
// `last`, a u32 and a predicate, are made by the caller.
void cj__gemm_come_last(const gemm_kernel *k, cj_reg counter, cj_arg others, cj_reg before, cj_reg last,
                        cj_label not_last);

// ---- tiles that are left (gemm_rest.c)

// The loop over a cluster's shares of them: the share's tile, its first step there and how many it has. All else is of
// the row of steps: where the cluster is and where its part ends, how it was dealt out, the tile's number.
typedef struct gemm_rest {
    cj_reg   tile, first, steps;
    cj_reg   at, last, each, longer, number, of_tile;
    cj_label next, end;
} gemm_rest;

void      cj__gemm_rest_identity(gemm_kernel *k);
gemm_rest cj__gemm_rest_begin(const gemm_kernel *k, cj_reg steps);
void      cj__gemm_rest_end(const gemm_kernel *k, const gemm_rest *rest);

// The sums of a share: whoever comes last takes those of the tile.
void   cj__gemm_rest_results(gemm_kernel *k, gemm_results *r, const gemm_rest *rest, const cj_reg *sum);
size_t cj__gemm_rest_workspace(const gemm_shape *g, uint64_t clusters);

// Whether the plan may choose it, which takes a workspace: parts=1 rules that out; and whether so many clusters are done
// earlier by it (gemm_split_plan.c).
bool cj__gemm_rest_may(const cj_params *p);
bool cj__gemm_rest_pays(const gemm_shape *g, uint64_t clusters);

#endif
