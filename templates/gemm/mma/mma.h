// SPDX-License-Identifier: Apache-2.0
// The form of the matrix product for every GPU from sm_80 on: mma.sync out of stages that cp.async fills. It computes the problem
// of gemm.h with the values and the partials of epilogue.h; all else is its own:
//
//   mma.h  plan.c     its tiles, what a tile costs, what is refused, the launch
//          kernel.c   parameters, thread identity, the order of tiles
//          copy.c     global memory to stages: whose copies they are
//          load.c     and the elements that no copy takes
//          f64.c      fragments and products of f64
//          loop.c     stages to sums: the mainloop
//          results.c  sums to D, split-K
//          mma.c      the algorithm, emit
#ifndef CJ_TEMPLATES_GEMM_MMA_H
#define CJ_TEMPLATES_GEMM_MMA_H

#include "epilogue.h"

// A tile and its warps: each computes m / warps_m rows of n / warps_n columns.
typedef struct mma_tile {
    uint32_t m, n, warps_m, warps_n;
} mma_tile;

enum {
    MMA_LINES = 16,   // lines of an operand that one ldmatrix.x4 loads: 16 rows of A, 16 columns of B
    MMA_COLUMNS = 8,  // columns of D of one mma.sync, of MMA_LINES rows
    MMA_SLICE = 32,   // bytes of K of one mma.sync, of all types but f64,
    MMA_SLICE_F64 = 64,  // of which a slice is 8 elements
    MMA_F64_TURN = 2, MMA_F64_LINES = 4,  // of f64 chunk c of line l lies at chunk c ^ 2 (l % 4)
    MMA_CHUNK = 16,   // bytes of a copy, and of a row of a matrix that ldmatrix loads
    MMA_FRAGMENTS = 4,                    // of MMA_LINES lines, that a warp has of an operand at most
    MMA_SUMS_MAX = 128,                   // of a thread
    MMA_COPY_LEAST = 4,                   // bytes that cp.async copies at least: elements of less aligned lines are loaded into registers
    MMA_LOADED_MAX = 96,                  // of a stage, by a thread at once: with 128 of 8 bits ptxas spilled on sm_89 and sm_90
    MMA_PAD = 16,                         // bytes after each row of a staged result: rows begin in different banks,
    MMA_PAD_F64 = 64                      // of f64 too, of which four lanes write half of the banks at once
};

// In the order of the words of `tile`; 0 is auto. The last ones are those of the form skinny. The tile of a shape: of f64 a thread has at most
// half as many sums, each of two registers, so that 128x128 has more warps, and tiles that are larger have no warps at all.
enum { MMA_TILES = GEMM_TILE_SKINNY, MMA_ALL_TILES = MMA_TILES + 3 };
extern const mma_tile cj__mma_tiles[MMA_ALL_TILES];
const mma_tile       *cj__mma_tile(const gemm_type *type, uint64_t tile);

static inline uint32_t cj__mma_warps(const mma_tile *t) { return t->warps_m * t->warps_n; }
static inline uint32_t cj__mma_sums(const mma_tile *t) { return t->m / t->warps_m * (t->n / t->warps_n) / GEMM_WARP; }

// Bytes of K of a slice, of which a step has so many. Of an operand that lies by line: lines side by side in a row of a stage, a box, and
// rows of K of a step.
static inline uint32_t cj__mma_slice(const gemm_shape *g) { return cj__gemm_is_f64(g->a.type) ? MMA_SLICE_F64 : MMA_SLICE; }
static inline uint32_t cj__mma_slices(const gemm_shape *g) { return GEMM_ROW / cj__mma_slice(g); }
static inline uint32_t cj__mma_box(const gemm_operand *o) { return GEMM_ROW / o->type->bytes; }
static inline uint32_t cj__mma_box_bytes(const gemm_operand *o) { return cj__mma_box(o) * GEMM_ROW; }

// Bytes of an operand's line that a thread brings into a stage at a time, 16 or what its alignment allows; and as how many elements it
// loads them into registers, 0 where cp.async copies them.
static inline uint32_t cj__mma_piece(const gemm_operand *o) { return o->align > MMA_COPY_LEAST ? o->align : MMA_COPY_LEAST; }
static inline uint32_t cj__mma_piece_loads(const gemm_operand *o) { return o->align < MMA_COPY_LEAST ? MMA_COPY_LEAST / o->type->bytes : 0; }

// Whether those of A are stored before those of B are loaded: both of 8 bits have no registers at once where ptxas converts them.
static inline bool cj__mma_loads_in_turn(const gemm_shape *g) {
    return cj__mma_piece_loads(&g->a) + cj__mma_piece_loads(&g->b) > MMA_COPY_LEAST;
}

// Elements of a stage that wait in a thread's registers at once. Where there are such, more than two stages have no use.
uint32_t cj__mma_loads(const gemm_shape *g, const mma_tile *t);

// Whether lines of D end within the bytes that a lane stores at a time.
static inline bool cj__mma_has_tail(const gemm_shape *g) { return g->n * g->d_type->bytes % g->d_align != 0; }

// Bytes of shared memory in which a warp arranges MMA_LINES rows of its results.
static inline uint32_t cj__mma_result_row(const gemm_shape *g, const mma_tile *t) {
    return t->n / t->warps_n * g->d_type->bytes + (cj__gemm_is_f64(g->d_type) ? MMA_PAD_F64 : MMA_PAD);
}
static inline uint32_t cj__mma_result_bytes(const gemm_shape *g, const mma_tile *t) {
    return MMA_LINES * cj__mma_result_row(g, t);
}

// A problem gets a tile; turned: its columns and rows.
void cj__mma_set_tile(gemm_shape *g, uint64_t tile, bool turned);

// The shape of a plan's parameters, all of which are chosen.
void cj__mma_read(const cj_params *params, gemm_shape *g);

cj_status cj__mma_plan(cj_plan *plan, const cj_limits *limits, cj_error *error);

// Of the plans without clusters: what is refused of a target and of parameters, and the choices as parameters.
cj_status cj__mma_check_target(const cj_plan *plan, const gemm_shape *g, cj_error *error);
cj_status cj__mma_check_given(const cj_params *params, const char *form, cj_error *error);
void      cj__mma_keep_choices(cj_plan *plan, const gemm_shape *g);

void      cj__mma_emit(const cj_plan *plan, cj_builder *builder);

// ---- the kernel

typedef struct mma_kernel {
    gemm_kernel     base;  // what value.c, partials.c and cj__gemm_place use
    const mma_tile *tile;
    cj_var          matrix[GEMM_MAPS], leading[GEMM_MAPS], stride[GEMM_MAPS];  // A, B, C, D
    cj_var          m, n, k, part_steps;
    cj_reg          part, steps;     // this block's part of the tile's K, and its steps of it
    cj_reg          warp_m, warp_n;  // the warp's place in the tile
    cj_reg          pool;            // where the stages begin; the results follow the last products there
    gemm_place      place;
} mma_kernel;

static inline uint32_t cj__mma_stage_bytes(const gemm_shape *g) { return g->a.bytes + g->b.bytes; }

void cj__mma_declare(mma_kernel *k);
void cj__mma_identify(mma_kernel *k);
void cj__mma_identify_tile(gemm_kernel *b);  // rows and columns of tiles; the block's number

// The address of a matrix of this block's product, u64, and the bytes from one of its lines (rows of D) to the next.
cj_reg cj__mma_matrix(const mma_kernel *k, unsigned which, bool shared, uint32_t bytes);
cj_reg cj__mma_line_bytes(const mma_kernel *k, unsigned which, uint32_t bytes);

// The address of an element of a matrix, `bytes` wide. An element of C or of the bias as f32; 0 where `when` does not hold.
cj_reg cj__mma_element_at(cj_func *f, cj_reg matrix, cj_reg row, cj_reg pitch, cj_reg column, uint32_t bytes);
cj_reg cj__mma_element(const gemm_kernel *b, cj_reg when, cj_reg at, uint32_t offset, const char *name);

// d += a b: 16 lines of A, 8 of B, 32 bytes of K.
void cj__mma_multiply(cj_func *f, const gemm_type *a_type, const gemm_type *b_type, const cj_reg a[4], const cj_reg b[2],
                      const cj_reg d[4]);

// ---- copies (copy.c)

// A thread's copies of an operand: each stage gets `count` pieces of it, `lines` lines of the stage apart, in each of `boxes`. Where
// `loads` is not 0, a piece comes as so many elements, which wait in registers until they are stored.
typedef struct mma_copies {
    const gemm_operand *operand;
    uint32_t            count, lines, boxes, first;  // first: bytes from the stage to the operand's part of it
    uint32_t            piece, loads;
    bool                wide;     // by line: all boxes are one, whose pieces are side by side in the matrix
    cj_reg at, pass, next;        // the first piece of the next stage; bytes to the next line, and to the next stage
    cj_reg left;                  // by K: elements from the piece to the end of K; by line: lines of K
    cj_reg inside;                // by K: lines of the matrix from this thread's first one on
    cj_reg size[MMA_FRAGMENTS];   // by line: bytes of the matrix in the piece of each box
    cj_reg to;                    // where the first piece lies in stage 0
    cj_reg from, bytes, line_to;  // within a stage
    cj_reg loaded[MMA_LOADED_MAX];
} mma_copies;

void cj__mma_copies_begin(const mma_kernel *k, mma_copies *c, const gemm_operand *operand);

// The copies of a stage, `stage` bytes after stage 0, by threads for which `when` holds: begins one, starts its i-th of `count`
// lines, moves on to the stage that follows.
void cj__mma_copies_stage(const mma_kernel *k, const mma_copies *c, cj_reg stage);
void cj__mma_copies_line(const mma_kernel *k, const mma_copies *c, cj_reg when, uint32_t i);
void cj__mma_copies_next(const mma_kernel *k, const mma_copies *c);

// Stores the elements that were loaded for a stage, by threads for which `when` holds.
void cj__mma_copies_store(const mma_kernel *k, const mma_copies *c, cj_reg when);

// Where the i-th line of a stage lies, which cj__mma_copies_stage began, and how far from that its piece of a box.
cj_reg   cj__mma_line_at(const mma_kernel *k, const mma_copies *c, uint32_t i);
uint32_t cj__mma_line_offset(const mma_copies *c, uint32_t i, uint32_t box);

// Of elements that are loaded (load.c): a piece of `size` bytes of the matrix.
void cj__mma_load(const mma_kernel *k, const mma_copies *c, cj_reg when, uint32_t i, uint32_t box, cj_reg size);

// ---- fragments

// One operand's fragments: where the lane's row of the first one lies in stage 0.
typedef struct mma_fragments {
    const gemm_operand *operand;
    uint32_t            count, sets;  // of MMA_LINES lines; sets of registers for them
    cj_reg              at, in_stage;
    cj_reg              value[2][MMA_FRAGMENTS][4];
} mma_fragments;

// Of f64 (f64.c): where this lane reads an operand's fragments, of a warp whose first line is `line` of the tile; the i-th fragment of
// a slice, by warps for which `when` holds; d += a b of 16 lines of A, 8 of B and a slice.
bool cj__mma_f64_spares(const mma_kernel *k);  // A's fragments have one set of registers
void cj__mma_f64_begin(const mma_kernel *k, mma_fragments *x, cj_reg line, uint32_t first);
void cj__mma_f64_load(const mma_kernel *k, const mma_fragments *x, cj_reg when, uint32_t slice, uint32_t i, const cj_reg to[4]);
void cj__mma_f64_multiply(const mma_kernel *k, const cj_reg a[4], const cj_reg b[2], const cj_reg d[4]);

// ---- the mainloop and the results (loop.c, results.c)

void cj__mma_loop(const mma_kernel *k, cj_reg sum[MMA_SUMS_MAX]);

// With split-K the warp that comes last adds up the sums of all parts, and has the results; the others go to `done`.
void cj__mma_results(const mma_kernel *k, const cj_reg sum[MMA_SUMS_MAX], cj_label done);

#endif
