// SPDX-License-Identifier: Apache-2.0
// What the typed calls of the families of rows share: the way from a description to a row_spec, and from its arrays to
// a row_call.
#ifndef CJ_LAUNCH_ROWS_H
#define CJ_LAUNCH_ROWS_H

#include <clusterjit/rows.h>

#include "call.h"
#include "error.h"

enum { ROW_SPEC_REALS = 3, ROW_SPEC_CHOICES = 7, ROW_CALL_ARRAYS = 9 };

// A family and its own parameters: real numbers, choices of two words, a whole number.
typedef struct row_spec_family {
    const char *name;
    const char *real[ROW_SPEC_REALS];
    struct {
        const char *name, *words[2];
    } choice[ROW_SPEC_CHOICES];
    const char *number;
} row_spec_family;

typedef struct row_spec {
    const row_spec_family *family;  // NULL: no family of this kind
    unsigned               kind;
    cj_rows                shape;
    double                 real[ROW_SPEC_REALS];
    uint8_t                choice[ROW_SPEC_CHOICES];
    uint64_t               number;  // 0: the default
} row_spec;

// The kernel's arguments, in its order.
typedef struct row_call {
    cj_ptr      array[ROW_CALL_ARRAYS];
    const char *name[ROW_CALL_ARRAYS];
    uint8_t     value[ROW_CALL_ARRAYS];  // bytes of one value, if the array has one for each row; else 0
    uint32_t    count;
    cj_ptr      bits;   // of all pointers to matrices and columns, combined by OR
    bool        wrong;  // an array is 0, or its values (one for each row) are not aligned
} row_call;

// Adds a matrix, or an array with one value for each column; adds an array with one value, of so many bytes, for each
// row.
void cj__row_call_add(row_call *call, const char *name, cj_ptr array);
void cj__row_call_add_each(row_call *call, const char *name, cj_ptr array, uint8_t bytes);

cj_status cj__row_describe(const row_spec *spec, cj_params *params, cj_error *error);

// `align`: of the description's shape.
cj_status cj__row_call_run(cj_kernel *kernel, uint32_t align, row_call *call, cj_stream stream, cj_error *error);

// The one-call functions: launches the kernel of the spec on that stream, for the alignment that the arrays have.
cj_status cj__row_call_launch(cj_device *device, row_spec *spec, row_call *call, cj_stream stream, cj_error *error);

// The public functions of a family of rows, such as cj_softmax, made from the file's own
//     row_spec spec_of(const noun_desc *desc)
//     row_call call_of(const noun_desc *desc, const noun_arrays *arrays)
#define ROW_CALL(noun)                                                                                                 \
    static cj_status describe(const void *desc, cj_params *params, cj_error *error) {                                  \
        const row_spec spec = spec_of(desc);                                                                           \
        return cj__row_describe(&spec, params, error);                                                                 \
    }                                                                                                                  \
    CALL_HANDLE(noun)                                                                                                  \
    cj_status noun##_run(struct noun *made, const noun##_arrays *arrays, cj_stream stream, cj_error *error) {          \
        REQUIRE(made);                                                                                                 \
        SIZED(noun##_arrays, arrays);                                                                                  \
        row_call call = call_of(&made->desc, arrays);                                                                  \
        return cj__row_call_run(made->call.kernel, made->desc.shape.align, &call, stream, error);                      \
    }                                                                                                                  \
    cj_status noun##_launch(cj_device *device, const noun##_desc *desc, const noun##_arrays *arrays, cj_stream stream, \
                            cj_error *error) {                                                                         \
        REQUIRE(device);                                                                                               \
        SIZED(noun##_desc, desc);                                                                                      \
        SIZED(noun##_arrays, arrays);                                                                                  \
        row_spec spec = spec_of(desc);                                                                                 \
        row_call call = call_of(desc, arrays);                                                                         \
        return cj__row_call_launch(device, &spec, &call, stream, error);                                               \
    }

#endif
