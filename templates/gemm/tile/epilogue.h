// SPDX-License-Identifier: Apache-2.0
// From a tile's sums to D: value.c scales, adds and activates, epilogue.c rounds, packs and stores, tail.c stores the ends of
// lines that are no whole 16 bytes.
#ifndef CJ_TEMPLATES_GEMM_EPILOGUE_H
#define CJ_TEMPLATES_GEMM_EPILOGUE_H

#include "kernel.h"

// ---- sums (partials.c): f32, f64 of f64, or s32 of integers, in registers of the type b32, which become the values in f32

const char *cj__gemm_sum_type(const gemm_shape *g);  // of a register and in memory
cj_reg      cj__gemm_sum(const gemm_kernel *k, const char *name);
void        cj__gemm_sum_clear(const gemm_kernel *k, cj_reg sum);

// ---- from sums to values (value.c)

// What a thread's values are made with.
typedef struct gemm_values {
    cj_reg alpha, beta, scale_d;  // alpha with the scales of A and B
    cj_reg quarter;               // lane % 4
    cj_reg bias[GEMM_BIAS_MAX];   // columns 64 j + 2 lane + i of the tile at 2 j + i, as memory has them; or the thread's two rows
} gemm_values;

void cj__gemm_values_begin(const gemm_kernel *k, gemm_values *v);

// Loads the bias of a tile, if there is one, before its sums are there.
void cj__gemm_values_bias(const gemm_kernel *k, const gemm_values *v, const gemm_place *place);

// The bias of the 8 columns `eight` of the tile: new registers for the two of them that a thread has.
void cj__gemm_values_columns(const gemm_kernel *k, const gemm_values *v, uint32_t eight, cj_reg bias[2]);

// One sum or two become values, as f32 (f64): scaled, `addend` (of C) and `bias` added if they are there (a zero id is none), activated. Where D is
// i32 they stay as they are.
void cj__gemm_value(const gemm_kernel *k, const gemm_values *v, const cj_reg *sum, const cj_reg *addend,
                    const cj_reg *bias, uint32_t count);

// Two values as elements of D of 8 bits, the first one in the low byte: a new register of 16 bits. NaN becomes NaN or, of i8, 0; what is
// too large the largest number.
cj_reg cj__gemm_narrow(const gemm_kernel *k, cj_reg low, cj_reg high);

// ---- subtiles of which D lies in columns (turned.c): 16-bit elements and f32, C's as D's

// Where a lane reads and writes in a buffer that begins at `own`; then the registers of a subtile of so many columns, packed as D's elements
// are, to it, and those of one of C from it.
cj_reg cj__gemm_turned_address(const gemm_kernel *k, cj_reg own);
void   cj__gemm_turned_write(const gemm_kernel *k, cj_reg at, const cj_reg *packed, uint32_t columns);
void   cj__gemm_turned_read(const gemm_kernel *k, cj_reg at, const cj_reg *packed);

// ---- the ends of D's lines (tail.c)

typedef struct gemm_tail {
    cj_reg columns, whole;  // of D, and those of whole 16 bytes
    cj_reg sends;           // predicate: this lane starts a box's store
} gemm_tail;

gemm_tail cj__gemm_tail_begin(const gemm_kernel *k);

// Of a box of D: the predicate of the lane that starts its store, if there is one. Then the store of what that leaves out, of so many rows,
// from the box's buffer.
cj_reg cj__gemm_tail_sender(const gemm_kernel *k, const gemm_tail *t, const gemm_place *box);
void   cj__gemm_tail_store(const gemm_kernel *k, const gemm_tail *t, const gemm_place *box, uint32_t rows, cj_reg buffer);

// ---- from values to D (epilogue.c)

// A warp's results on their way to D.
typedef struct gemm_results {
    gemm_values values;
    gemm_tail   tail;
    cj_reg      buffer;                     // the first one
    cj_reg      fragment, cell, turned;     // where a lane reads and writes in it: by matrices, by itself, where D lies in columns
    cj_reg      packed[GEMM_PACKED_MAX];    // of the deferred subtiles, or of one
    gemm_place  place;                      // of the warp's rows
    cj_reg      some;                       // predicate: `packed` has results that are not stored yet
    cj_reg      map, map_c, map_last;  // of D, of C, of D by boxes of the last subtile
    cj_reg      c_ready, c_parity;
} gemm_results;

void cj__gemm_results_begin(const gemm_kernel *k, gemm_results *r);

// The sums of a tile become packed results, which cj__gemm_results_store stores subtile by subtile, at once or later.
void cj__gemm_results_take(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);
void cj__gemm_results_store(const gemm_kernel *k, const gemm_results *r, uint32_t subtile);

// The same for single subtiles: where the tile is, and the sums of one.
void cj__gemm_results_place(const gemm_kernel *k, gemm_results *r, const gemm_place *place);
void cj__gemm_results_take_subtile(const gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t subtile);

// ---- sums that blocks or clusters which split the K of a tile combine through global memory (partials.c)

// A lane's sums as they lie there: 16 bytes of them, four or two of f64, the lanes of a warp side by side.
enum { GEMM_VECTOR = 4, GEMM_LANE_BYTES = 16, GEMM_VECTOR_BYTES = GEMM_WARP * GEMM_LANE_BYTES };
static inline uint32_t cj__gemm_vector(const gemm_shape *g) { return GEMM_LANE_BYTES / cj__gemm_sum_bytes(g); }

// `count` sums, a multiple of cj__gemm_vector, from or to where this lane's lie; `load` is "ld.global" or "ld.shared".
void cj__gemm_sums_load(const gemm_kernel *k, const char *load, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset);
void cj__gemm_sums_store(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at);
void cj__gemm_sums_add(const gemm_kernel *k, const cj_reg *sum, const cj_reg *summand, uint32_t count);

#endif
