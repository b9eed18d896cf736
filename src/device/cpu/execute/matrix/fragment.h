// SPDX-License-Identifier: Apache-2.0
// Fragments: how a matrix lies in the registers of a warp (PTX ISA, "Matrix Fragments for mma", "Register Fragments for
// wgmma"), and what all instructions on matrices begin with.
//
// All layouts are linear in the bits of the indices: each bit of a lane's number, and of an element's number within its
// lane, adds its own step to the element's place in the matrix. They are alike, too: with t = lane % 4, g = lane / 4
//
//             along: t * run + 0 … run-1,  then the same 4 * run further
//           +---------------------------------------------------------------
//    across | g     elements 0 … run-1      after those, the next elements
//           | g+8   the next elements       …
//
// An operand of mma lies along k, run elements filling a register: A across its rows, B across its columns. An
// accumulator lies along its columns, in runs of two, across its rows. A fragment with more elements than its matrix
// has some twice. The fragments of wmma, which PTX leaves open, are these here as well.
#ifndef CJ_CPU_FRAGMENT_H
#define CJ_CPU_FRAGMENT_H

#include "element.h"
#include "machine.h"
#include "prepare.h"

enum { CJ_FRAGMENT_MAX = 128 };  // elements of a lane

// An element's place in its dense matrix is the sum of its lane's and its element's.
typedef struct cj_fragment {
    uint8_t  bits;       // of an element
    uint16_t elements;   // of a lane
    uint16_t registers;  // of a lane, each full of elements
    uint16_t lane[CJ_LANES], element[CJ_FRAGMENT_MAX];
} cj_fragment;

// A direction in a matrix: its length, and what one step adds to an element's place.
typedef struct cj_axis {
    unsigned extent, step;
} cj_axis;

void cj__fragment_make(cj_fragment *f, unsigned bits, unsigned elements, unsigned run, cj_axis along, cj_axis across);
// By the steps of each bit of the lane and of the element; as many of these as there are elements.
void cj__fragment_make_by_bits(cj_fragment *f, unsigned bits, unsigned elements, const uint16_t lane_step[5],
                               const uint16_t *element_step);

// The bits of a matrix's elements, from the registers in these slots and back. A register has 32 bits, or 64 where an
// element has.
void cj__fragment_get(const cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, uint64_t *matrix);
void cj__fragment_put(cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, const uint64_t *matrix);

// A product of one warp: D = A * B + C, or several such side by side.
typedef struct cj_product {
    cj_shape          shape;
    unsigned          stored;  // elements of a row of A: k, or of a sparse A half as many
    unsigned          batches;
    const cj_element *a_type, *b_type, *c_type, *d_type;
    cj_multiply       how;
    bool              saturate;
    cj_fragment       a, b, c, d;  // their matrices are dense, rows one after the other
} cj_product;

enum { CJ_A_MAX = 16 * 256, CJ_B_MAX = 256 * 8, CJ_D_MAX = 32 * 16 };  // numbers in the largest matrices

// A product of that shape and of these types, how they are multiplied, and its standard fragments. `least`: elements
// that a lane has of A and of B.
cj_product cj__product_make(const cj_mnemonic *mnemonic, cj_shape shape, const cj_element *d, const cj_element *a,
                            const cj_element *b, const cj_element *c, unsigned least);
// Makes A sparse: half of its elements are stored.
void cj__product_make_sparse(cj_product *product);
// Whether the instruction has exactly the registers of D, A, B and C, and so many further slots.
bool cj__product_fits(cj_cpu_prepare *p, const cj_product *product, unsigned more);
// Reads the numbers of A (as many as are stored), B, and C.
void cj__product_get(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *product, double *a, double *b,
                     double *c);
// Executes a product whose D, A, B and C lie in these slots, in that order.
void cj__product_run(cj_cpu_warp *w, const uint32_t *slot, const cj_product *product);
// Writes the numbers of D.
void cj__product_put(cj_cpu_warp *w, const uint32_t *slot, const cj_product *product, double *d);

// An instruction that a whole warp executes: NEXT when its 32 lanes are here, WAIT as long as some are missing, STOP
// where they can never come.
cj_cpu_step cj__cpu_whole_warp(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

#endif
