// SPDX-License-Identifier: Apache-2.0
// The reduction's test, for both devices: every type and operation, sizes around every boundary, shapes of every kind,
// compared with references in higher precision. Outputs are poisoned and each kernel is launched twice on its
// workspace.
#ifndef CJ_TESTS_REDUCE_CASES_H
#define CJ_TESTS_REDUCE_CASES_H

#include <clusterjit/clusterjit.h>

// As in cj_reduce_desc: 0 means default.
typedef struct cj_reduce_shape {
    uint32_t block, cluster, grid;
} cj_reduce_shape;

typedef struct cj_reduce_cases {
    const uint64_t        *n;  // sizes, ascending
    size_t                 n_count;
    const cj_reduce_shape *shape;
    size_t                 shape_count;
    size_t                 shapes_each;  // shapes for each size and operation, in turn; 0: all
    uint64_t               unaligned_n;  // sizes up to this are also tested with x moved by one element
    cj_device             *twin;         // sizes up to twin_n must give the same bits on this device, too; NULL: none
    uint64_t               twin_n;
} cj_reduce_cases;

enum { CJ_REDUCE_TYPES = 12 };  // of cj_dtype

// Tests one type; fails the running cmocka test at the first wrong value. Returns the number of launches.
size_t cj_test_reduce(cj_device *device, cj_dtype type, const cj_reduce_cases *cases);

// Which of equal elements is found, what NaN does, and that -0 equals 0.
void cj_test_reduce_ties_and_nan(cj_device *device);

// Mean and variance of numbers far from 0 with a small spread.
void cj_test_reduce_offsets(cj_device *device);

// The ends of grids, for each of the sizes: one warp reads what the blocks have sent, one partial a lane or several, or
// all threads of a block do, depending on the grid and on the words of a partial.
void cj_test_reduce_ends(cj_device *device, const uint64_t *n, size_t n_count);

// Parts of blocks, weighted or not, with and without the total, in random shapes: integers, against the definition.
void cj_test_reduce_parts(cj_device *device, uint64_t seed, int cases);

// With result=total, too, each block of a cluster or grid that is asked for has its own part of x.
void cj_test_reduce_shares(cj_device *device);

// The published examples of four blocks of 256 elements: every block's part.
void cj_test_reduce_four_blocks(cj_device *device);

#endif
