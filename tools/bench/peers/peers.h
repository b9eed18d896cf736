// SPDX-License-Identifier: Apache-2.0
// What ours is held against, as a shared object that nvcc builds where it is found (peers.cu): CUB, and kernels in plain
// CUDA without clusters. One call for all of them.
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum peer_work { PEER_SUM, PEER_ARGMAX, PEER_MEAN_VARIANCE, PEER_HISTOGRAM, PEER_STENCIL, PEER_ALL_TO_ALL,
               PEER_SCAN, PEER_SCAN_ROWS, PEER_SCAN_FLAGS, PEER_TOPK, PEER_SORT, PEER_SORT_ROWS, PEER_SORT_RADIX, PEER_OURS } peer_work;
typedef enum peer_type { PEER_F32, PEER_F64, PEER_BF16, PEER_I32, PEER_U32 } peer_type;
typedef enum peer_fill { PEER_UNIFORM, PEER_SKEWED, PEER_EQUAL, PEER_SORTED } peer_fill;

// One problem; what a work does not have is 0. OURS is none of the peers': another kernel of ours does it, in f32.
typedef struct peer_problem {
    peer_work work;
    peer_type type;
    peer_fill fill;
    uint64_t  n;                                // elements of an input
    uint32_t  bins;                             // histogram: samples are bin numbers, below this
    uint32_t  height, width, problems, steps;   // stencil: f32, zero outside; 1/2 of the point + 1/8 of each neighbour
    uint32_t  columns;                          // scan, top-k, sort along rows; flags: about the elements of a segment
    uint32_t  k;                                // top-k: so many a row
    uint32_t  blocks, cluster, bytes, rounds;   // all-to-all: so many bytes a block among groups of `cluster` blocks
} peer_problem;

// Enqueues the work on `stream` (a cudaStream_t), which may be captured into a graph. Like CUB it is called with a NULL
// `temporary` first, which enqueues nothing and gives *bytes of device memory that it needs. Outputs:
//   sum            one element: of the type, of bf16 an f32
//   argmax         one f32, then (8 bytes after it) an int64_t index
//   mean, variance two f32: the sum, and the sum of squared deviations
//   histogram      uint32_t [bins]
//   stencil        f32 [problems][height][width], as the input
//   all-to-all     as the input, [blocks][bytes]: part j of block i of a group becomes part i of its block j
//   scans          inclusive sums, f32 [n]: of all, of each row, of each segment; after the input of the latter lie its
//                  flags, uint8_t [n]
//   top-k          the largest of each row in any order, of equal ones those in front: f32 [rows][k], uint32_t [rows][k]
//   sorts          f32 [n] ascending, and uint32_t [n], where each was in its row: of one row, of rows by CUB's sort of segments, and by
//                  its radix sort of segments
// Returns NULL, or what went wrong.
const char *peers_run(const peer_problem *problem, void *temporary, size_t *bytes, const void *in, void *out, void *stream);

// What a work wants in its temporary memory before it runs, once: sorts the indices of the elements, of which they are given pairs.
// Returns NULL, or what went wrong.
const char *peers_prepare(const peer_problem *problem, void *temporary);

// Whether this library can do the work: CUB has a top-k of rows since CUDA 13.5.
int peers_have(const peer_problem *problem);

// Makes up an input: a function of the problem and the element's index alone. Returns NULL, or what went wrong.
const char *peers_fill(const peer_problem *problem, void *in);

#ifdef __cplusplus
}
#endif
#endif
