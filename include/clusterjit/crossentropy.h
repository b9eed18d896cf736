// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of rows of logits and a label each, in one reading: loss, logarithm of the sum of e^x, gradient.
//
//     cj_crossentropy_desc   desc = {CJ_INIT(desc), .shape = {.rows = 8192, .columns = 131072, .dtype = CJ_BF16}};
//     cj_crossentropy_arrays arrays = {CJ_INIT(arrays), .x = logits, .label = labels, .loss = loss, .lse = lse};
//     cj_crossentropy_launch(device, &desc, &arrays, stream, &error);
#ifndef CLUSTERJIT_CROSSENTROPY_H
#define CLUSTERJIT_CROSSENTROPY_H

#include <clusterjit/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

// What to do. Begin with CJ_INIT, then set what matters.
// With lse = ln(sum of e^x), p = e^(x - lse), s = smoothing and C columns:
//   loss = lse - (1 - s) * x[label] - s / C * (sum of x)
//   dx   = scale * (p - (1 - s) * [column = label] - s / C)
// A row with the label `ignore` has a loss of 0 and a gradient of zeros (of NaN where its logits have no sum: NaN or +infinity among
// them, or all -infinity); any other outside 0 to C - 1 a loss of NaN.
typedef struct cj_crossentropy_desc {
    CJ_STRUCT_SIZE(cj_crossentropy_desc);
    cj_rows  shape;
    cj_dtype label;       // CJ_I64 or CJ_I32 [i64]
    int      has_ignore;  // else `ignore` is -100
    int32_t  ignore;
    double   smoothing;  // 0 to 1
    int      gradient;   // dx is written too
    double   scale;      // of the gradient [1]
} cj_crossentropy_desc;

// Device pointers. What a description does not use stays 0.
typedef struct cj_crossentropy_arrays {
    CJ_STRUCT_SIZE(cj_crossentropy_arrays);
    cj_ptr x;          // [rows, columns]
    cj_ptr label;      // [rows], aligned to the element
    cj_ptr loss, lse;  // f32 [rows], written
    cj_ptr dx;         // [rows, columns], written
} cj_crossentropy_arrays;

typedef struct cj_crossentropy cj_crossentropy;

// As cj_softmax_create and the calls below it (clusterjit/softmax.h).
CJ_API cj_status        cj_crossentropy_create(cj_device *device, const cj_crossentropy_desc *desc,
                                               cj_crossentropy **crossentropy, cj_error *error);
CJ_API void             cj_crossentropy_destroy(cj_crossentropy *crossentropy);
CJ_API cj_status        cj_crossentropy_run(cj_crossentropy *crossentropy, const cj_crossentropy_arrays *arrays,
                                            cj_stream stream, cj_error *error);
CJ_API cj_status        cj_crossentropy_launch(cj_device *device, const cj_crossentropy_desc *desc,
                                               const cj_crossentropy_arrays *arrays, cj_stream stream, cj_error *error);
CJ_API const cj_kernel *cj_crossentropy_kernel(const cj_crossentropy *crossentropy);

#ifdef __cplusplus
}
#endif
#endif
