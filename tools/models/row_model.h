// SPDX-License-Identifier: Apache-2.0
// The families of rows by definition, in f64: their arrays, in the order of the kernel's arguments, what these are
// filled with, and the expected results of a row. The tests use it, too.
#ifndef CJ_MODELS_ROW_MODEL_H
#define CJ_MODELS_ROW_MODEL_H

#include <clusterjit/kernel.h>
#include <stdbool.h>

// A matrix of rows with a stride; one value for each column; one for each row; a sum over all rows for each column.
typedef enum row_array_kind { ROW_ARRAY_MATRIX, ROW_ARRAY_COLUMN, ROW_ARRAY_EACH, ROW_ARRAY_TOTAL } row_array_kind;

typedef struct row_array {
    const char    *name;
    row_array_kind kind;
    cj_dtype       type;
    bool           written;
    double         low, high;  // the range of its random values
    uint64_t       period;     // rows after which a matrix repeats; 0: none
} row_array;

enum { ROW_ARRAYS = 9 };

typedef struct row_model row_model;

struct row_model {
    uint64_t  rows, columns, stride, out_stride;
    cj_dtype  in, out;
    unsigned  count;
    row_array array[ROW_ARRAYS];
    double    scale, epsilon, smoothing, ignore;  // parameters of the family
    bool      log, centered;                      // logsoftmax; layernorm
    // value[i] is array i's row: `columns` values, or one. Computes the rows of written arrays; adds to sums over rows
    // what this row contributes. size[i] is the scale of array i's errors besides the value itself: |error| <= bound *
    // (|value| + size); for sums with the sum of sizes.
    void (*row)(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]);
};

// False if the family has no rows.
bool row_model_make(row_model *m, const cj_params *params);

// The number of elements of array i; the distance from row to row; the offset of what row `row` has of it.
uint64_t row_model_elements(const row_model *m, unsigned i);
uint64_t row_model_stride(const row_model *m, unsigned i);
uint64_t row_model_begin(const row_model *m, unsigned i, uint64_t row);
uint64_t row_model_width(const row_model *m, unsigned i);  // of a row

// The index of the array of that name; ROW_ARRAYS if there is none.
unsigned row_model_find(const row_model *m, const char *name);

// Element `at` of array i when it is filled from `seed`, rounded to its type.
double row_model_fill(const row_model *m, unsigned i, uint64_t at, uint64_t seed);

// The distance between a type's smallest numbers; smaller errors cannot be required.
double row_model_least(cj_dtype type);

// Whether `found` is the infinity that the type has for `want`, or for what is as far beyond it as `error`.
bool row_model_overflows(cj_dtype type, double found, double want, double error);

// For element types and i32, i64.
double row_model_read(cj_dtype type, const void *from, uint64_t at);
void   row_model_write(cj_dtype type, void *to, uint64_t at, double value);

#endif
