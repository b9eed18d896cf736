// SPDX-License-Identifier: Apache-2.0
// A matrix of which half of the elements are stored, with the metadata that says which, as "Sparse matrix storage" of
// the PTX ISA has them.
#ifndef CJ_TESTS_MATRIX_SPARSE_H
#define CJ_TESTS_MATRIX_SPARSE_H

#include "matrix.h"

// How many selectors there are for elements of so many bits in rows of k.
unsigned cj_sparse_selectors(unsigned bits, unsigned k);

// Draws what is not zero, and its values. `full` has k columns, `stored` half as many. `metadata` are the registers of
// the threads of rows / 16 warps; those that the selector leaves out hold noise.
void cj_sparse_fill(cj_matrix *full, cj_matrix *stored, uint32_t *metadata, const cj_matrix_case *c, unsigned rows,
                    unsigned selector, uint64_t *random);

#endif
