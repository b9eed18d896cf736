// SPDX-License-Identifier: Apache-2.0
// The families of rows by definition: their arrays, in the order of the kernel's arguments, what these are filled
// with, and what a row becomes, in f64. The tests use it too.
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
    double         low, high;  // what it is filled with, uniformly
    uint64_t       period;     // rows after which a matrix repeats; 0: none
} row_array;

enum { ROW_ARRAYS = 9 };

typedef struct row_model row_model;

struct row_model {
    uint64_t  rows, columns, stride, out_stride;
    cj_dtype  in, out;
    unsigned  count;
    row_array array[ROW_ARRAYS];
    double    scale, epsilon, smoothing, ignore;  // parameters, as the family has them
    bool      log, centered;                      // logsoftmax; layernorm
    // value[i] is array i's row: `columns` values or one. Fills those that are written, sums over rows with what this
    // row adds to them; size[i] is what their errors are measured against besides their own value:
    // |error| <= bound * (|value| + size), of sums with the sum of sizes.
    void (*row)(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]);
};

// False where the family has no rows.
bool row_model_make(row_model *m, const cj_params *params);

// Elements of array i from its pointer on; from row to row; and from its pointer to what row `row` has of it.
uint64_t row_model_elements(const row_model *m, unsigned i);
uint64_t row_model_stride(const row_model *m, unsigned i);
uint64_t row_model_begin(const row_model *m, unsigned i, uint64_t row);
uint64_t row_model_width(const row_model *m, unsigned i);  // of a row

// The index of the array of that name; ROW_ARRAYS if there is none.
unsigned row_model_find(const row_model *m, const char *name);

// Element `at` of array i when it is filled from `seed`: what its type holds of it.
double row_model_fill(const row_model *m, unsigned i, uint64_t at, uint64_t seed);

// The distance between a type's smallest numbers, below which no relative error can be kept.
double row_model_least(cj_dtype type);

// Of element types and i32, i64.
double row_model_read(cj_dtype type, const void *from, uint64_t at);
void   row_model_write(cj_dtype type, void *to, uint64_t at, double value);

#endif
