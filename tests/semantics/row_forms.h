// SPDX-License-Identifier: Apache-2.0
// The forms of a row of the instruction table, spelled out, and values that are worth trying as operands.
#ifndef CJ_TESTS_ROW_FORMS_H
#define CJ_TESTS_ROW_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "table.h"

typedef struct cj_form {
    const cj_row *row;
    unsigned      index;      // of the form in its row: what else varies may vary with it
    char          text[128];  // the mnemonic
    cj_mnemonic   mnemonic;   // of `text`
} cj_form;

// A row's mnemonics that sm_90 knows, each given to `use`: every word of every alternative once, then words at random.
// Where that gives false, since those words do not go together, some other words are tried.
void cj_row_forms(const cj_row *row, uint64_t *random, bool (*use)(const cj_form *form, void *user), void *user);

// Whether some target of compute capability 9.0 executes it.
bool cj_row_is_sm_90(const cj_row *row);

// The i-th edge value of a type, in its low bits, and again from the first behind the last: zeros, ones, signs, limits,
// halves, subnormals, infinities, NaN. Types of 16 bits give two values, one above the other.
uint64_t cj_edge_value(cj_word type, uint64_t i);

// Random bits; of floats half near 1, some NaN or subnormal, of integers as many small ones as large ones.
uint64_t cj_random_value(cj_word type, uint64_t *random);

// A whole number in the float or integer type (twice in a packed one), exact up to 256.
uint64_t cj_whole_value(cj_word type, unsigned number);

// Part `part` of a float value, as a number.
double cj_value_number(cj_word type, uint64_t bits, unsigned part);

#endif
