// SPDX-License-Identifier: Apache-2.0
// The lowest layer of the matrix product: the problem that the parameters describe, and the shape of the kernel that computes
// it, as numbers. A folder sees those above it in this list:
//
//   problem/  gemm.h params.def       parameters, types, tile and cluster, bytes of shared memory and of the workspace
//             problem.c shape.c
//             constants.def           what was fitted to a GPU
//   plan/     model.c choose.c        what a shape would cost; which one is chosen; plan.c refuses and makes the launch
//   tile/     kernel.c                parameters of the kernel, thread identity, the order of tiles
//             value.c epilogue.c turned.c tail.c  from f32 sums to D
//             partials.c              (epilogue.h) sums of several blocks combine through global memory
//   wgmma/    producer.c consumer.c   the warp groups
//             split.c                 split-K
//   mma/                              the form for every GPU from sm_80 on
//   skinny/                           and the one for a few rows
//   gemm.c                            the family: algorithm, emit
#ifndef CJ_TEMPLATES_GEMM_H
#define CJ_TEMPLATES_GEMM_H

#include <clusterjit/tensormap.h>
#include <clusterjit/warpgroup.h>

#include "kit.h"

// The constants of constants.def, as the plan reads them. There is one table: sm_90a, which the form wgmma needs, is
// the H100 and H200; of the form mma (mma_*) nothing is measured yet.
typedef struct gemm_constants {
#define GEMM_CONSTANT(name, ...) double name;
#include "constants.def"
} gemm_constants;

extern const gemm_constants cj__gemm_constants;

// In the order of the words of `tile`, of all forms: of the form wgmma, of mma (4 more), of skinny (3), of wgmma again.
#define GEMM_TILES_FIRST(T) T(128, 256) T(128, 128) T(64, 256) T(64, 128) T(64, 64)
#define GEMM_TILES_LAST(T) \
    T(128, 224) T(128, 192) T(128, 160) T(128, 96) T(64, 192) T(64, 160) T(64, 96) T(192, 192) T(192, 160) T(192, 128)
#define GEMM_TILE_NAME(m, n) GEMM_TILE_##m##x##n,
enum { GEMM_TILE_AUTO, GEMM_TILES_FIRST(GEMM_TILE_NAME) GEMM_TILE_MMA, GEMM_TILE_SKINNY = GEMM_TILE_MMA + 4 };
enum { GEMM_TILE_LAST_SKINNY = GEMM_TILE_SKINNY + 2, GEMM_TILES_LAST(GEMM_TILE_NAME) GEMM_TILES };

// Of the form wgmma; m is 0 where a word names no tile of it.
typedef struct gemm_tile {
    uint32_t m, n;
} gemm_tile;

extern const gemm_tile cj__gemm_tiles[GEMM_TILES];

// Parameters.
enum {
#define PARAM(id, ...) GEMM_##id,
#include "params.def"
};

enum {
    GEMM_TURN_COLUMNS = 128,   // of a tile that the plan gives to consumers in turn, at least
    GEMM_WIDEST = 256,         // columns of the widest tile
    GEMM_ROW = 128,            // bytes of a row of a stage: the bytes of K of a step, and a row of a swizzle pattern
    GEMM_BOX = 64,             // lines of a tensor copy's box, where 16-bit elements lie by line
    GEMM_NARROW = 32,          // columns of a subtile of results that is narrower
    GEMM_PATTERN_ROWS = 8,     // rows after which a swizzle pattern repeats
    GEMM_INTEGER_COLUMNS = 16, // of which wgmma of integers takes multiples
    GEMM_GROUP_ROWS = 64,      // rows of D of a consumer warp group
    GEMM_WARP_ROWS = 16,       // and of each of its warps
    GEMM_GROUP = 128,          // threads of a warp group
    GEMM_WARPS = 4,            // warps of a warp group
    GEMM_WARP = 32,            // lanes
    GEMM_SHARED_ALIGN = 1024,  // bytes after which a swizzle pattern repeats: the stages begin at a multiple
    GEMM_STORE_BYTES = GEMM_WARP_ROWS * GEMM_ROW,  // a warp's buffer for a subtile of results
    GEMM_BEYOND = 1 << 30,     // a row that no matrix has
    GEMM_LEADING_MAX = INT32_MAX,
    GEMM_ALIGN = 16,           // bytes that addresses and lines are multiples of, where nothing else is said
    GEMM_CLEARED = 16,         // bytes that a thread clears at a time
    GEMM_MBARRIER_BYTES = 512  // static shared memory: the mbarriers, at most
};

enum {
    GEMM_STAGES_MIN = 2,
    GEMM_STAGES_MAX = 8,       // that the plan chooses
    GEMM_TILES_HELD = 2,       // of a block, at most, that has no more stages than these have steps
    GEMM_CLUSTER_MAX = 4,
    GEMM_SPLIT_MAX = 16,       // blocks of a cluster, and clusters, that split the K of a tile
    GEMM_PORTABLE_CLUSTER = 8,
    GEMM_PARTS_MAX = 64,
    GEMM_SUBTILES_MAX = 8,
    GEMM_SUBTILE_LEAST = 16,  // columns, of a turned tile that reads C
    GEMM_SUMS_MAX = 128,   // sums of a thread
    GEMM_PACKED_MAX = 84,  // registers of a tile's packed results, and of these and the next tile's sums: of one or two
    GEMM_HELD_MAX = 168,   // consumer groups, and of three
    GEMM_HELD_MAX_OF_THREE = 120,
    GEMM_BIAS_MAX = 8
};

// In the order of the words of `sums`, `lines`, `consumers` and `swap`.
enum { GEMM_SUMS_AUTO, GEMM_SUMS_APART, GEMM_SUMS_STAGES };
enum { GEMM_LINES_AUTO, GEMM_LINES_WHOLE, GEMM_LINES_CUT };
enum { GEMM_CONSUMERS_AUTO, GEMM_CONSUMERS_TOGETHER, GEMM_CONSUMERS_IN_TURN };
enum { GEMM_SWAP_AUTO, GEMM_SWAP_NO, GEMM_SWAP_YES };

// In the order of the words of `form`. Which instructions multiply: wgmma (sm_90a), or mma.sync (mma.h, skinny.h).
enum { GEMM_FORM_AUTO, GEMM_FORM_WGMMA, GEMM_FORM_MMA, GEMM_FORM_SKINNY };

// Elements of matrices.
typedef struct gemm_type {
    const char       *name;
    const char       *in_ptx;  // in instructions
    uint32_t          bytes;
    cj_tensormap_type in_map;
    double            rounding;  // half a unit in the last place, of a number from 1 to 2; of integers 0
    uint32_t          most;      // of integers: the greatest magnitude; else 0
} gemm_type;

static inline bool cj__gemm_is_narrow_float(const gemm_type *type) { return type->bytes == 1 && !type->most; }
static inline bool cj__gemm_is_f64(const gemm_type *type) { return type->bytes == 8; }

// The vector that is added to each row of D (it has a value for each column) or to each column.
typedef enum gemm_bias { GEMM_NO_BIAS, GEMM_BIAS_COLUMNS, GEMM_BIAS_ROWS } gemm_bias;

typedef enum gemm_activation { GEMM_NO_ACTIVATION, GEMM_RELU, GEMM_GELU, GEMM_SILU } gemm_activation;

// A or B. Its lines are the rows of A, the columns of B.
typedef struct gemm_operand {
    const gemm_type *type;
    cj_matrix_order  order;
    bool             shared;   // one matrix for all products of a batch
    bool             is_cut;   // its lines begin within the 128 bytes that L2 reads at once
    uint32_t         align;    // bytes that its address and its lines are multiples of, 16 at most
    uint64_t         extent;   // lines of the matrix
    uint32_t         lines;    // and of a tile
    uint32_t         bytes;    // of a stage
    uint32_t         loaders;  // blocks of a multicast group that load a part of them each
    uint32_t         loaded;   // lines that all of these load: fewer than the tile's where fewer of the matrix are a tile's
} gemm_operand;

// A product as the kernel computes it: D lies in rows. (D in columns is D' = B' A' in rows: `flipped`.) Where the plan swaps A and B,
// it is the other one of these two, and D lies in columns of it: `turned`. Rows, columns, m and n are then those of this product.
//
// The blocks of a cluster: cluster_m x cluster_n of them, a multicast group, load tiles side by side and multicast what they
// have in common. `split` such groups in a cluster, and `parts` clusters, split the K of a tile.
typedef struct gemm_shape {
    gemm_operand     a, b;
    const gemm_type *c_type, *d_type;  // the bias has C's type
    uint32_t         c_align, d_align;
    uint64_t         m, n, k, batches;
    bool             flipped, turned, adds_c, shared_c;
    bool             in_turn;  // the parameter consumers asks for it
    gemm_bias        bias;
    gemm_activation  activation;

    uint32_t tile, tile_m, tile_n;  // the tile's number in cj__gemm_tiles; its rows and columns, one block's (turned: fewer columns)
    uint32_t rows;                  // of D that a tile stores: the next one begins after them, up to tile_m
    bool     clustered;             // the kernel is launched in clusters
    uint32_t cluster_m, cluster_n;
    uint32_t split, parts;
    bool     sums_in_stages;  // split-K sums of peers come into the pipeline's stages
    uint32_t step;            // elements of K of a step of the mainloop
    uint32_t stages;
    uint32_t groups;             // consumer warp groups that multiply a tile together, 64 rows each
    uint32_t teams;              // of so many groups, which compute tiles in turn: 1, or, of tiles of 64 rows, 2
    uint32_t subtiles, subtile;  // a warp's rows leave in so many tensor stores, of so many columns each,
    uint32_t last;               // but the last one of a turned tile that reads no C, which may have fewer
    uint32_t deferred;           // subtiles that are stored during the next tile's mainloop: all, or none
    uint64_t tiles_m, tiles_n;   // tiles of a multicast group
    uint64_t steps;              // steps of K of a tile
} gemm_shape;

// Whether sums are s32, of integers; and whether D is these sums as they are. Bytes of a sum: those of f64 are f64.
static inline uint32_t cj__gemm_sum_bytes(const gemm_shape *g) { return cj__gemm_is_f64(g->a.type) ? 8 : 4; }
static inline bool     cj__gemm_is_integer(const gemm_shape *g) { return g->a.type->most > 0; }
static inline bool     cj__gemm_is_exact(const gemm_shape *g) { return g->d_type->most > 0 && g->d_type->bytes == 4; }
static inline bool     cj__gemm_is_scaled(const gemm_shape *g) { return g->a.type->bytes == 1 && !cj__gemm_is_exact(g); }
static inline bool     cj__gemm_is_d_scaled(const gemm_shape *g) { return g->d_type->bytes == 1; }
static inline const char *cj__gemm_factor_type(const gemm_shape *g) { return cj__gemm_is_f64(g->a.type) ? "f64" : "f32"; }  // of alpha and beta
static inline uint32_t cj__gemm_multicast(const gemm_shape *g) { return g->cluster_m * g->cluster_n; }

// Whether each cluster computes one tile, or its part of the tile's K, and is done.
static inline bool     cj__gemm_is_split(const gemm_shape *g) { return g->split > 1 || g->parts > 1; }
// Threads of a block: a warp group of the producer, and those of the consumers.
static inline uint32_t cj__gemm_threads(const gemm_shape *g) { return GEMM_GROUP * (g->groups * g->teams + 1); }

// Registers of a thread at the start; the roles then give up and take some (setmaxnreg), which must not be more in all.
typedef struct gemm_registers {
    uint32_t start, producer, consumer;
} gemm_registers;

static inline gemm_registers cj__gemm_registers(const gemm_shape *g) {
    return g->groups > 2 ? (gemm_registers){128, 32, 160} : (gemm_registers){168, 40, 232};
}

static inline uint32_t cj__gemm_splits(const gemm_shape *g) { return g->split * g->parts; }

// ---- the problem (problem.c)

void      cj__gemm_problem(const cj_params *params, gemm_shape *g);
bool      cj__gemm_keeps_sums(const cj_params *params);  // D is the sums of integers as they are: without alpha and scales
bool      cj__gemm_multiplies_f64(const cj_params *params);  // then alpha and beta are f64, and form is mma
void      cj__gemm_swap(gemm_shape *g);  // becomes D' = B' A', of which D lies in columns
bool      cj__gemm_can_swap(const gemm_shape *g);

// The parameter that says of a matrix that its address or its lines are no multiples of 16 bytes, and of how many they are; NULL: none does.
const char *cj__gemm_unaligned(const cj_params *params, uint32_t *align);
cj_status cj__gemm_check_problem(const cj_params *params, const gemm_shape *g, cj_error *error);
cj_status cj__gemm_check_tiles(const cj_params *params, const gemm_shape *g, uint32_t parts, cj_error *error);  // a grid holds them

// How far a result may be from the exact one, relative to the size of what is added up.
double cj__gemm_error_bound(const gemm_shape *g);

// ---- the shape (shape.c)

// A problem gets a tile (of cj__gemm_tiles), and a multicast group of so many blocks (along_m 0: no cluster).
void cj__gemm_set_tile(gemm_shape *g, uint64_t tile);
void cj__gemm_set_cluster(gemm_shape *g, uint64_t along_m, uint64_t along_n);

// The shape of a plan's parameters, all of which are chosen.
void cj__gemm_read(const cj_params *params, gemm_shape *g);

// Tiles of multicast groups; at most 2^48, which is more than any grid holds and lets no product of it wrap.
uint64_t cj__gemm_tile_count(const gemm_shape *g);

static inline uint32_t cj__gemm_columns_of(const gemm_shape *g, uint32_t subtile) { return subtile + 1 < g->subtiles ? g->subtile : g->last; }

// Whether the last subtile is a box of its own: its tensor map takes the place of C's.
static inline bool cj__gemm_has_last(const gemm_shape *g) { return g->last < g->subtile; }

// Sums as they travel between blocks. A subtile is the work of one warp: `cj__gemm_sums` of it lie in a lane, a block has
// `cj__gemm_block_subtiles`, and a rank of the split owns at most `cj__gemm_owned` of those, whose sums it adds up.
static inline uint32_t cj__gemm_sums(const gemm_shape *g) { return g->subtile / 2; }
static inline uint32_t cj__gemm_subtile_bytes(const gemm_shape *g) { return GEMM_WARP * 4 * cj__gemm_sums(g); }
static inline uint32_t cj__gemm_consumer_warps(const gemm_shape *g) { return g->groups * g->teams * GEMM_WARPS; }
static inline uint32_t cj__gemm_block_subtiles(const gemm_shape *g) { return cj__gemm_consumer_warps(g) * g->subtiles; }
static inline uint32_t cj__gemm_owned(const gemm_shape *g) {
    return (uint32_t)cj__ceil_div(cj__gemm_block_subtiles(g), g->split);
}

// Shared memory for the split-K sums of peers; what of it is not in the stages.
static inline uint32_t cj__gemm_peer_bytes(const gemm_shape *g) {
    return cj__gemm_owned(g) * (g->split - 1) * cj__gemm_subtile_bytes(g);
}
static inline uint32_t cj__gemm_peer_bytes_apart(const gemm_shape *g) {
    return g->sums_in_stages ? 0 : cj__gemm_peer_bytes(g);
}

// Bytes of shared memory of a block. The stages that fit beside all else.
static inline uint32_t cj__gemm_stage_bytes(const gemm_shape *g) { return g->a.bytes + g->b.bytes; }

// Bytes that copies bring of an operand's stage, and of a stage.
static inline uint32_t cj__gemm_loaded_bytes(const gemm_operand *o) {
    return o->order == CJ_BY_K ? o->loaded * GEMM_ROW : o->bytes;
}
static inline uint32_t cj__gemm_loaded_stage_bytes(const gemm_shape *g) {
    return cj__gemm_loaded_bytes(&g->a) + cj__gemm_loaded_bytes(&g->b);
}

// Buffers of a warp for subtiles of results: of three groups one, which makes room for a stage more.
static inline uint32_t cj__gemm_stores(const gemm_shape *g) { return g->groups > 2 ? 1 : 2; }
static inline uint32_t cj__gemm_store_bytes(const gemm_shape *g) {
    return cj__gemm_consumer_warps(g) * cj__gemm_stores(g) * GEMM_STORE_BYTES;
}
uint32_t cj__gemm_stages_most(const gemm_shape *g, const cj_limits *limits);

// The workspace, through which the parts of a tile combine their sums, as registers hold them; the bytes of a block, of all parts.
//   | a counter for each consumer warp of the blocks of a tile | per block: subtile 0: part 0, part 1, …; subtile 1: … |
size_t                 cj__gemm_workspace(const gemm_shape *g);
static inline uint32_t cj__gemm_partials_bytes(const gemm_shape *g) {
    return cj__gemm_block_subtiles(g) * g->parts * cj__gemm_subtile_bytes(g);
}

// D's lines in memory, and what one has; the rows and columns of the box by which a warp stores a subtile of so many columns.
static inline uint64_t cj__gemm_lines(const gemm_shape *g) { return g->turned ? g->n : g->m; }
static inline uint64_t cj__gemm_line(const gemm_shape *g) { return g->turned ? g->m : g->n; }
static inline uint32_t cj__gemm_box_rows(const gemm_shape *g, uint32_t columns) { return g->turned ? columns : GEMM_WARP_ROWS; }
static inline uint32_t cj__gemm_box_columns(const gemm_shape *g) { return g->turned ? GEMM_WARP_ROWS : g->subtile; }

// Whether D's lines end within 16 bytes, of which tensor stores write all or none. Then the kernel takes D's address,
// leading dimension and stride (elements) too, after the scales.
enum { GEMM_STORED_UNIT = 16 };  // bytes that a tensor store writes as a whole
static inline bool cj__gemm_has_tail(const gemm_shape *g) { return cj__gemm_line(g) * g->d_type->bytes % GEMM_STORED_UNIT != 0; }

// The same of a plan's kernel, for launches: nothing is worked out.
bool cj__gemm_takes_ends(const cj_plan *plan);

// The tensor maps that a kernel takes, in its order. Without C its place has the map of D, or that of D by boxes of the last subtile.
enum { GEMM_MAP_A, GEMM_MAP_B, GEMM_MAP_C, GEMM_MAP_D, GEMM_MAPS };

// One of them as numbers: dimension 0 is the contiguous one, 2 the batch, where each product has a matrix of its own.
typedef struct gemm_map {
    const gemm_type     *type;
    cj_tensormap_swizzle swizzle;
    uint32_t             rank, align;
    uint64_t             length;  // elements of the matrix's lines; D's map may have fewer
    uint64_t             dims[3];
    uint32_t             box[3];
} gemm_map;

void cj__gemm_map(const gemm_shape *g, unsigned which, gemm_map *map);

#endif
