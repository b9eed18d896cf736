// SPDX-License-Identifier: Apache-2.0
// Elements of matrices, and products of matrices of them.
//
// All matrices are multiplied in double, which holds the product of two elements exactly; only products of f64 are
// rounded, by IEEE fma in the order of k. Integers and their sums are exact, too; a sum of floats is rounded once, to
// the result's type.
//
// The hardware is less exact. It aligns the products of a step of k, and the accumulator, to the largest of them and
// truncates to about 24 bits (14 bits if the elements are e4m3 or e5m2); f16 accumulators are rounded at each step.
// Relative to the sum of all magnitudes its result differs from the CPU device's by less than 2^-21 (2^-10; 2^-9).
#ifndef CJ_CPU_ELEMENT_H
#define CJ_CPU_ELEMENT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "flush.h"
#include "table.h"

typedef struct cj_element {
    uint16_t type;  // cj_word
    uint16_t bits;
    void (*decode)(const uint64_t *bits, unsigned count, double *value);
    // Rounds to nearest; takes the lower bits of an integer. NULL: no accumulator has this type.
    void (*encode)(const double *value, unsigned count, uint64_t *bits);
} cj_element;

// The element types that a mnemonic names, in order; returns how many, 4 at most.
enum { CJ_ELEMENTS_MAX = 4 };
unsigned          cj__elements_of(const cj_mnemonic *mnemonic, const cj_element *found[CJ_ELEMENTS_MAX]);
const cj_element *cj__element(cj_word type);  // NULL: not an element type of a matrix

// Copies between an array in memory and words `step` apart. Elements of less than a byte, which are never stored, begin
// at the lowest bit.
void cj__elements_load(const unsigned char *array, unsigned bits, unsigned count, uint64_t *to, unsigned step);
void cj__elements_store(unsigned char *array, unsigned bits, unsigned count, const uint64_t *from, unsigned step);

// How elements are multiplied and added: exactly; by IEEE fma in the order of k; as bits, counting those that differ, or
// those that are both set.
typedef enum cj_multiply {
    CJ_MULTIPLY_SUM,
    CJ_MULTIPLY_FMA,
    CJ_MULTIPLY_XOR,
    CJ_MULTIPLY_AND,
    CJ_MULTIPLY_COUNT
} cj_multiply;

// A step of a product of f64: fma. If operands are NaN, the result is one of them, made quiet: y, then x, then the sum. On the host
// the choice would depend on the compiler's order of operands, and ARM makes a new NaN of an infinity, 0 and a NaN.
static inline double cj__element_fma(double x, double y, double sum) {
    return y != y ? y + y : x != x ? x + x : sum != sum ? sum + sum : cj__cpu_made(fma(x, y, sum), false);
}

// d += a * b, dense matrices of m x k, k x n, m x n numbers, rows one after the other.
void cj__multiply(cj_multiply how, unsigned m, unsigned n, unsigned k, const double *a, const double *b, double *d);

// Extents of a product of matrices: m x k times k x n.
typedef struct cj_shape {
    unsigned m, n, k;
} cj_shape;

// The extents that a mnemonic names, m16n8k16; all 0 if it names none.
cj_shape cj__shape_of(const cj_mnemonic *mnemonic);

#endif
