// SPDX-License-Identifier: Apache-2.0
// Kernels of one matrix instruction each, run on any device and held against plain loops. Where an element lies in
// registers and in memory is written down here once more, from the formulas of the PTX ISA.
#ifndef CJ_TESTS_MATRIX_H
#define CJ_TESTS_MATRIX_H

#include <clusterjit/device.h>
#include <stdbool.h>
#include <stdint.h>

#include "text.h"

// A type of elements: a float of so many bits, or an integer.
typedef struct cj_matrix_type {
    const char *name;
    unsigned    bits, exponent, fraction;  // exponent 0: an integer
    unsigned    unused;                    // low bits that count for nothing
    bool        is_signed;
} cj_matrix_type;

const cj_matrix_type *cj_matrix_type_find(const char *name, size_t length);  // NULL when unknown

// A matrix of bits: as long as rows * columns.
enum { CJ_MATRIX_MAX = 256 * 256 };

typedef struct cj_matrix {
    const cj_matrix_type *type;
    unsigned              rows, columns;
    uint64_t              bits[CJ_MATRIX_MAX];
} cj_matrix;

// One kernel: its instruction, taken apart.
typedef struct cj_matrix_case {
    char                  text[128];  // the mnemonic
    unsigned              m, n, k;
    const cj_matrix_type *type[4];  // as the mnemonic names them
    bool                  satfinite, xor;
    uint64_t              a, b;     // arguments of the kernel
    unsigned              variant;  // what else a family varies
} cj_matrix_case;

double cj_matrix_value(const cj_matrix_type *type, uint64_t bits);
// Random elements; where the case saturates, positive ones, so that it does not matter when.
void cj_matrix_fill(cj_matrix *matrix, const cj_matrix_case *c, const cj_matrix_type *type, unsigned rows,
                    unsigned columns, uint64_t *random);
// The matrix that is added; where the case saturates, of sums that overflow.
void cj_matrix_fill_addend(cj_matrix *matrix, const cj_matrix_case *c, const cj_matrix_type *type, unsigned rows,
                           unsigned columns, uint64_t *random);
// Of `bits` bits each, in an array in memory.
uint64_t cj_matrix_load(const unsigned char *array, unsigned bits, size_t i);
void     cj_matrix_store(unsigned char *array, unsigned bits, size_t i, uint64_t value);

void cj_matrix_parse(cj_matrix_case *c, const char *mnemonic);

// Whether D is A * B (negated: with the opposite sign) + C, to the precision that the hardware gives; says where not.
bool cj_matrix_agrees(const cj_matrix_case *c, const cj_matrix *a, const cj_matrix *b, const cj_matrix *addend,
                      const cj_matrix *d, bool negated);

// What all kernels of a family have in common: (.param .u64 in, .param .u64 out, .param .u64 a, .param .u64 b).
enum { CJ_MATRIX_BYTES = 256 * 1024 };

typedef struct cj_matrix_buffers {
    unsigned char in[CJ_MATRIX_BYTES], out[CJ_MATRIX_BYTES];
} cj_matrix_buffers;

// A family: its kernels as text, what to put into `in`, and whether `out` is right.
typedef struct cj_matrix_family {
    const char *name;
    unsigned    threads;
    unsigned (*count)(void);
    void (*make)(unsigned index, cj_matrix_case *c);
    void (*write)(const cj_matrix_case *c, cj_text *text);  // the body; %in, %out, %a, %b, %thread are there
    bool (*run)(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random);
} cj_matrix_family;

extern const cj_matrix_family cj_matrix_rows, cj_matrix_mma, cj_matrix_wmma, cj_matrix_wgmma, cj_matrix_mma_sparse,
    cj_matrix_wgmma_sparse;

// A test of one family: `call` finds it in *state.
#define CJ_MATRIX_TEST(call, name) \
    { #name, call, NULL, NULL, (void *)(uintptr_t)&cj_matrix_##name }

// All kernels of a family, k0, k1, …; freed with cj__text_free.
void cj_matrix_text(const cj_matrix_family *family, cj_text *text);
// Runs them; returns how many fail, each of which is named.
unsigned cj_matrix_run(const cj_matrix_family *family, cj_device *device, uint64_t seed);

#endif
