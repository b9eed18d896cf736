// SPDX-License-Identifier: Apache-2.0
// Sparse matrices A (PTX ISA, "Sparse matrix storage" of mma.sp and wgmma.mma_async.sp): half of the elements of each
// row are stored, and metadata says which. Of four units, a chunk, two are stored; two indices of 2 bits name them. A
// unit is an element of 8 or 16 bits, two of 4 bits, or half of a tf32, both of whose halves are stored or neither.
//
// The lanes and bits that hold the indices of a warp's 16 rows; the selector chooses among groups of lanes:
//
//   16 bits and more  row g in bits 0 to 15, row g + 8 in bits 16 to 31: of 4 chunks a lane, one or two lanes of a quad
//   8 bits and less   row g in a lane, row g + 8 in the next one: of 8 chunks a lane, two or four lanes of a quad
#ifndef CJ_CPU_SPARSE_H
#define CJ_CPU_SPARSE_H

#include "fragment.h"

enum { CJ_SPARSE_TILES_MAX = 8 };

typedef struct cj_sparse {
    unsigned       bits, k;  // of an element; of a whole row
    unsigned       selector;
    bool           ordered;  // indices must ascend
    cj_tile_sparse tiles;
    uint32_t       place[CJ_SPARSE_TILES_MAX];  // of the tiles that it becomes, in the order of registers
} cj_sparse;

// Prepares for the matrix A of a product; operand `selector` is a constant. False if it is too large.
bool cj__sparse_select(cj_cpu_prepare *p, unsigned selector, const cj_product *product, cj_sparse *s);

// Spreads a stored A to the words of tiles of all k by the metadata in that slot; false, with a hazard, if the
// metadata is invalid.
bool cj__sparse_spread(cj_cpu_warp *w, const cj_cpu_op *op, const cj_sparse *s, const cj_tiling *t, uint32_t metadata,
                       cj_tile_registers stored, uint32_t *words);

#endif
