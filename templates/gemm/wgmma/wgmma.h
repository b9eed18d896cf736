// SPDX-License-Identifier: Apache-2.0
// The form wgmma: a producer's warp group and those of consumers (producer.c, consumer.c). Several blocks or clusters may split the K
// of a tile: split.c computes every tile by split-K, stream_k.c the tiles that are left after whole rounds.
#ifndef CJ_TEMPLATES_GEMM_WGMMA_H
#define CJ_TEMPLATES_GEMM_WGMMA_H

#include "partials.h"

// ---- split-K (split.c)

// The mbarriers for the sums of peers, made by one thread; from the sums of this block's steps to D.
void cj__gemm_split_begin(gemm_kernel *k, cj_reg first_thread);
void cj__gemm_split_results(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);

// ---- stream-K (stream_k.c)

// This cluster's part of the row of steps: the next step, which the loop over its shares advances, and its end. Each cluster has
// `each` steps, and the first `longer` clusters one more; a tile has `of_tile`.
typedef struct gemm_stream {
    cj_reg at, end, each, longer, of_tile;
} gemm_stream;

gemm_stream cj__gemm_stream(const gemm_kernel *k, cj_reg steps);

// The share that begins at the next step: its tile, the tile's number among those that are left, its first step of the tile and
// how many it has.
typedef struct gemm_share {
    cj_reg tile, number, first, steps;
} gemm_share;

gemm_share cj__gemm_share(const gemm_kernel *k, const gemm_stream *s);

// The sums of a share: the warp that comes last of a tile's turns those of all shares into results.
void cj__gemm_stream_results(const gemm_kernel *k, gemm_results *r, const gemm_stream *s, const gemm_share *share,
                             const cj_reg *sum);

// ---- the warp groups' roles: one produces stages, all others consume them (producer.c, consumer.c)

// The producer goes to `done`; the consumers fall through.
void cj__gemm_produce(gemm_kernel *k, cj_label done);
void cj__gemm_consume(gemm_kernel *k);

#endif
