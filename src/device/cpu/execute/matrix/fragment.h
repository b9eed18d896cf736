// SPDX-License-Identifier: Apache-2.0
// Fragments: the layout of a matrix in the registers of a warp (PTX ISA, "Matrix Fragments for mma", "Register
// Fragments for wgmma"), and what all matrix instructions share.
//
// All layouts are linear in the bits of the indices: each bit of a lane's number, and of an element's number within its
// lane, adds its own step to the element's place in the matrix. All have the same form: with t = lane % 4, g = lane / 4
//
//             along: t * run + 0 … run-1,  then the same 4 * run further
//           +---------------------------------------------------------------
//    across | g     elements 0 … run-1      after those, the next elements
//           | g+8   the next elements       …
//
// An operand of mma runs along k, run elements to a register: A across its rows, B across its columns. An accumulator
// runs along its columns, in runs of two, across its rows. A fragment with more elements than its matrix holds some of
// them twice. PTX leaves the fragments of wmma open; here they are the same ones.
#ifndef CJ_CPU_FRAGMENT_H
#define CJ_CPU_FRAGMENT_H

#include "element.h"
#include "machine.h"
#include "prepare.h"
#include "tile.h"

enum { CJ_FRAGMENT_MAX = 128 };  // elements of a lane

// An element's place in its dense matrix is the sum of its lane's step and its own.
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

// Reads the bits of a matrix's elements from the registers in these slots, or writes them. A register has 32 bits, or
// 64 if an element has 64.
void cj__fragment_get(const cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, uint64_t *matrix);
void cj__fragment_put(cj_cpu_warp *w, const uint32_t *slot, const cj_fragment *f, const uint64_t *matrix);

// A product as one of tiles (tile.h). The registers of A are its tiles, those of one chunk of k after those of the chunk
// before; those of B and of the sums as well.
typedef struct cj_tiling {
    const cj_tile_set  *set;
    const cj_tile_type *a, *b;
    cj_tile_panel       panel;
    uint16_t            columns;           // of tiles
    uint16_t            stored;            // tiles along k of A as it is stored
    uint16_t            of_b, of_c, of_d;  // of a panel: numbers of B, registers of C and of D
    bool                in_one_call;       // cj_tile_product
    bool                crossed;           // a register of D is one of A, B or elsewhere in C, and must be written last
} cj_tiling;

// A product of one warp: D = A * B + C.
typedef struct cj_product {
    cj_shape          shape;
    unsigned          stored;  // elements of a row of A: k; half as many if A is sparse
    const cj_element *a_type, *b_type, *c_type, *d_type;
    cj_multiply       how;
    bool              saturate;
    cj_fragment       a, b, c, d;  // their matrices are dense and row-major
    cj_tiling         tiling;
    bool              in_quads;  // four products of eight lanes each
    cj_tile_quads     quads;
} cj_product;

enum { CJ_A_MAX = 16 * 128, CJ_B_MAX = 128 * 8, CJ_D_MAX = 32 * 16 };  // numbers of the largest matrices

// A product of that shape and of these types: how its elements are multiplied, and its standard fragments. `least`: the
// fewest elements that a lane has of A and of B.
cj_product cj__product_make(const cj_mnemonic *mnemonic, cj_shape shape, const cj_element *d, const cj_element *a,
                            const cj_element *b, const cj_element *c, unsigned least);
// Makes A sparse: half of its elements are stored.
void cj__product_make_sparse(cj_product *product);
// Makes it four products, each of eight lanes: m8n8k4 of f16.
void cj__product_make_quads(cj_product *product, bool a_by_rows, bool b_by_rows);
// Checks that the instruction has exactly the registers of D, A, B and C, and `more` further slots, and notes how they overlap.
bool cj__product_fits(cj_cpu_prepare *p, cj_product *product, unsigned more);
// Executes a product; the slots are those of D, A, B and C, in that order.
void cj__product_run(cj_cpu_warp *w, const uint32_t *slot, const cj_product *product);
// The same of undefined bits: an element of D is undefined, if one is in its row of A, in its column of B, or in its element of C.
void cj__product_undefined(cj_cpu_warp *w, const uint32_t *slot, const cj_product *product);
// A's registers as tiles.
void cj__product_get_a(const cj_cpu_warp *w, const uint32_t *slot, const cj_product *product, double *a);
// With the tiles of a sparse A, of all k, elsewhere: reads them, B and C, and writes D.
void cj__product_run_sparse(cj_cpu_warp *w, const uint32_t *slot, const cj_product *product, cj_tile_registers a);

// The numbers of a tile of A or B.
unsigned cj__tiling_numbers(const cj_tiling *t);
// For an instruction that a whole warp executes: NEXT once its 32 lanes are here, WAIT as long as some are missing,
// STOP if they can never come.
cj_cpu_step cj__cpu_whole_warp(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

#endif
