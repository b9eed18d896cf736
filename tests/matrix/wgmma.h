// SPDX-License-Identifier: Apache-2.0
// What the tests of wgmma with a dense and with a sparse A share: how matrices lie in shared memory and in registers, and the
// kernel around the instruction.
#ifndef CJ_TESTS_WGMMA_H
#define CJ_TESTS_WGMMA_H

#include "matrix.h"

enum {
    CJ_WGMMA_THREADS = 128,
    CJ_WGMMA_M = 64,
    CJ_WGMMA_B_AT = 16 * 1024,
    CJ_WGMMA_IMAGE = 48 * 1024,                // bytes: A, then B in shared memory
    CJ_WGMMA_A_REGISTERS_AT = CJ_WGMMA_IMAGE,  // in `in`, after the image
    CJ_WGMMA_METADATA_AT = 52 * 1024,
    CJ_WGMMA_D_AT = 64 * 1024,
    CJ_WGMMA_LINE = CJ_WGMMA_THREADS * 4  // bytes of one register
};

// A canonical layout, in bytes. Width: chunks of 16 bytes in a row of the swizzled pattern, 1 for none.
typedef struct cj_wgmma_layout {
    unsigned origin;  // of the pattern, from which `start` counts
    unsigned start, leading, stride, width;
    bool     by_k;
} cj_wgmma_layout;

// What both vary of an instruction.
typedef struct cj_wgmma_way {
    bool a_in_registers, a_by_k, b_by_k, adds, a_negated, b_negated;
} cj_wgmma_way;

// Of `chunks` of 16 bytes along k, which follow each other closely; the pattern begins `origin` times 128 bytes in. Where a
// row of the pattern has room for several steps of k the last one is taken.
cj_wgmma_layout cj_wgmma_lay_out(unsigned origin, unsigned width, bool by_k, unsigned chunks);
uint64_t        cj_wgmma_describe(const cj_wgmma_layout *l, unsigned at);  // the matrix descriptor

// The kernel up to its registers, and from the instruction on. `metadata`: its operands, each with a comma after it.
void cj_wgmma_load(const cj_matrix_case *c, const cj_wgmma_way *way, cj_text *text);
void cj_wgmma_multiply(const cj_matrix_case *c, const cj_wgmma_way *way, const char *metadata, cj_text *text);

// A matrix to its place in shared memory; A, and D in both directions, to the slots of registers.
void cj_wgmma_store(unsigned char *image, const cj_wgmma_layout *l, const cj_matrix *matrix, bool is_a);
void cj_wgmma_store_a(unsigned char *slots, const cj_matrix *a);
void cj_wgmma_move_d(unsigned char *slots, cj_matrix *d, bool out_of_registers);

#endif
