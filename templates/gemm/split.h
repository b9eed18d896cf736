// SPDX-License-Identifier: Apache-2.0
// Tiles whose K several blocks or clusters split: partials.c combines their sums through global memory, split.c computes every
// tile by split-K, stream_k.c the tiles that are left after whole rounds.
#ifndef CJ_TEMPLATES_GEMM_SPLIT_H
#define CJ_TEMPLATES_GEMM_SPLIT_H

#include "epilogue.h"

// ---- partials in global memory (partials.c)

// A lane's sums as they lie there: four of them, the lanes of a warp side by side.
enum { GEMM_VECTOR = 4, GEMM_VECTOR_BYTES = GEMM_WARP * 16 };

// `count` sums, a multiple of GEMM_VECTOR, from or to where this lane's lie.
void cj__gemm_sums_load(const gemm_kernel *k, const char *space, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset);
void cj__gemm_sums_store(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at);

// The warp has stored its partials and increments a counter, which wraps after `others`, a u32; it goes on if it is the last
// one, else to `not_last`. `before` and `last`, a u32 and a predicate, are made by the caller.
void cj__gemm_come_last(const gemm_kernel *k, cj_reg counter, cj_arg others, cj_reg before, cj_reg last,
                        cj_label not_last);

// ---- split-K (split.c)

// The mbarriers for the sums of peers, made by one thread; from the sums of this block's steps to D.
void cj__gemm_split_begin(gemm_kernel *k, cj_reg first_thread);
void cj__gemm_split_results(gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);

// ---- stream-K (stream_k.c)

// The loop over this cluster's shares of tiles: the share's tile, its first step of it and how many it has. All else is of the
// row of steps: where the cluster is and where its part ends, how the row is divided, the tile's number.
typedef struct gemm_stream {
    cj_reg   tile, first, steps;
    cj_reg   at, last, each, longer, number, of_tile;
    cj_label next, end;
} gemm_stream;

gemm_stream cj__gemm_stream_begin(const gemm_kernel *k, cj_reg steps);
void        cj__gemm_stream_end(const gemm_kernel *k, const gemm_stream *s);

// The sums of a share: the warp that is the last one of the tile's turns those of all into results.
void cj__gemm_stream_results(gemm_kernel *k, gemm_results *r, const gemm_stream *s, const cj_reg *sum);

#endif
