// SPDX-License-Identifier: Apache-2.0
// Powers of e along a row, which softmax and cross-entropy share: with t = scale * x + mask, the largest t and the sum
// of e^(t - largest), values 0 and 1 of a partial that folds as ROW_FOLD_EXP.
// The distance t - largest comes first and is multiplied then: with log2 e, for ex2. The other way round, by one fma of
// x * log2 e and largest * log2 e, what rounding that product loses would grow with |x|: 0.06 where it is 10^6, and all of the
// result where a row is all -3.4 * 10^38, which masks of attention make.
// Without a mask, and with a scale above 0, t is x itself, and the scale is multiplied with log2 e.
// A thread takes powers of the distance from its own largest t. f32 elements may become these powers in their
// registers, and then need only a factor in the end; narrower ones stay packed, and their powers are taken again.
#ifndef CJ_TEMPLATES_ROW_EXP_H
#define CJ_TEMPLATES_ROW_EXP_H

#include "row.h"

// The first member of what a family's row_op.own points to.
typedef struct row_exp {
    double   factor;
    bool     stays;  // elements in place become powers; else they stay, or become t
    bool     masked;
    unsigned mask;       // the operand, one value for each column; or
    bool     mask_rows;  // it is the second input
    bool     prepared;   // t is not x: it is made before the largest is looked for

    // Values of a row.
    cj_reg scale;        // if prepared
    cj_reg masks[ROW_ELEMENTS];  // of a vector
    cj_reg pair;         // the largest of the even and of the odd elements, if they come in pairs
    cj_reg own_largest;  // of the thread, if elements are in place
    cj_reg log2_factor;  // in the end: of one over the row's sum
} row_exp;

// row_op's functions; `fold`, values, before, the sweeps, between and after are set.
void cj__row_exp_describe(row_op *op);
void cj__row_exp_prepare(row_kernel *k);
void cj__row_exp_largest(row_kernel *k, const row_vector *v);  // the first sweep

// log2_factor, once k->part is the row's.
void cj__row_exp_logarithm(row_kernel *k);

// to = t - from of element e; `mask` is what cj__row_exp_mask gave.
void cj__row_exp_distance(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask, cj_reg from, cj_reg to);
// to = e^(t - largest) over the row's sum of these.
void cj__row_exp_share(row_kernel *k, const row_vector *v, unsigned e, const cj_reg *mask, cj_reg to);
const cj_reg *cj__row_exp_mask(row_kernel *k, const row_vector *v);  // of the vector, NULL without a mask

// The factor that makes shares of a thread's powers in place.
cj_reg cj__row_exp_rebase(row_kernel *k);

#endif
