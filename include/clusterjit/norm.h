// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm along the rows of a matrix, with weights, bias and a residual, and their gradients.
//
//     cj_norm_desc   desc = {CJ_INIT(desc), .shape = {.rows = 4096, .columns = 8192}, .residual = 1, .weight = 1};
//     cj_norm_arrays arrays = {CJ_INIT(arrays), .x = x, .residual = r, .weight = w, .y = y, .sum = s};
//     cj_norm_launch(device, &desc, &arrays, stream, &error);
#ifndef CLUSTERJIT_NORM_H
#define CLUSTERJIT_NORM_H

#include <clusterjit/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_norm_kind { CJ_NORM_RMS, CJ_NORM_LAYER } cj_norm_kind;

// What to do. Begin with CJ_INIT, then set what matters. With h = x + residual:
//   RMS       rstd = 1 / sqrt(mean(h^2) + epsilon)             y = h * rstd * weight + bias
//   LAYER     rstd = 1 / sqrt(mean((h - mean)^2) + epsilon)    y = (h - mean) * rstd * weight + bias
//   backward  with g = dy * weight and n = (h - mean) * rstd:  dx = rstd * (g - mean(g) - n * mean(g * n));
//             RMS has no mean and no mean(g). Also dw = sum over rows of dy * n, and db = sum over rows of dy, added
//             up in an order that the shape and the device fix: the same bits in every run. The parts of these sums
//             take memory of the kernel's own: as a rule a row of f32 for each of them and each block that the device
//             holds at once
typedef struct cj_norm_desc {
    CJ_STRUCT_SIZE(cj_norm_desc);
    cj_rows      shape;
    cj_norm_kind kind;  // [RMS]
    int          backward;
    int          weight;           // there is a weight for each column
    int          bias;             // forward: … and a bias
    int          residual;         // forward: a second matrix is added first, and h is written too
    int          stats;            // forward: rstd, and with LAYER mean, are written
    int          weight_gradient;  // backward: dw is written, with or without `weight`
    int          bias_gradient;    // backward: db is written
    double       epsilon;          // finite, not negative [1e-5]
} cj_norm_desc;

// Device pointers. What a description does not use stays 0.
typedef struct cj_norm_arrays {
    CJ_STRUCT_SIZE(cj_norm_arrays);
    cj_ptr x, residual;   // [rows, columns], read; backward: x is h
    cj_ptr weight, bias;  // [columns], of the type of x
    cj_ptr y, sum;        // written: the norm, and h
    cj_ptr mean, rstd;    // f32 [rows], aligned to 4: written by stats, read by backward (mean: with LAYER alone)
    cj_ptr dy, dx;        // backward: read, written
    cj_ptr dw, db;        // [columns], written: of the type of dx
} cj_norm_arrays;

typedef struct cj_norm cj_norm;

// As cj_softmax_create and the calls below it (clusterjit/softmax.h).
CJ_API cj_status        cj_norm_create(cj_device *device, const cj_norm_desc *desc, cj_norm **norm, cj_error *error);
CJ_API void             cj_norm_destroy(cj_norm *norm);
CJ_API cj_status        cj_norm_run(cj_norm *norm, const cj_norm_arrays *arrays, cj_stream stream, cj_error *error);
CJ_API cj_status        cj_norm_launch(cj_device *device, const cj_norm_desc *desc, const cj_norm_arrays *arrays,
                                       cj_stream stream, cj_error *error);
CJ_API const cj_kernel *cj_norm_kernel(const cj_norm *norm);

#ifdef __cplusplus
}
#endif
#endif
