// SPDX-License-Identifier: Apache-2.0
// The forms of a row of the instruction table, spelled out, and values to try as operands.
#ifndef CJ_TESTS_ROW_FORMS_H
#define CJ_TESTS_ROW_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "table.h"

typedef struct cj_form {
    const cj_row *row;
    unsigned      index;      // of the form in its row; tests vary other things with it
    char          text[128];  // the mnemonic
    cj_mnemonic   mnemonic;   // of `text`
} cj_form;

// Calls `use` for mnemonics of a row that sm_90 has: every word of every alternative once, then random words. If it
// returns false, since those words exclude each other, other words are tried.
void cj_row_forms(const cj_row *row, uint64_t *random, bool (*use)(const cj_form *form, void *user), void *user);

// Whether some target of compute capability 9.0 executes it.
bool cj_row_is_sm_90(const cj_row *row);

// The i-th edge value of a type, in its low bits; after the last one the first follows: zeros, ones, signs, limits,
// halves, subnormals, infinities, NaN. Types of 16 bits give two values, one in each half.
uint64_t cj_edge_value(cj_word type, uint64_t i);

// Random bits; half of the floats are near 1, some are NaN or subnormal; small integers are as frequent as large ones.
uint64_t cj_random_value(cj_word type, uint64_t *random);

// A whole number as a value of the float or integer type (twice in a packed one), exact up to 256.
uint64_t cj_whole_value(cj_word type, unsigned number);

// Part `part` of a float value, as a number.
double cj_value_number(cj_word type, uint64_t bits, unsigned part);

#endif
