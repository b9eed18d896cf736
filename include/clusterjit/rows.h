// SPDX-License-Identifier: Apache-2.0
// What the calls on rows of a matrix share (clusterjit/softmax.h, norm.h, crossentropy.h): its shape and types.
#ifndef CLUSTERJIT_ROWS_H
#define CLUSTERJIT_ROWS_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_rows_out { CJ_ROWS_OUT_SAME, CJ_ROWS_OUT_F32, CJ_ROWS_OUT_F16, CJ_ROWS_OUT_BF16 } cj_rows_out;

// Zero-initialize, then set what matters: a zero field takes the default in brackets. What is written overlaps nothing
// that is read. Arithmetic is in f32 whatever the types. Rows are fastest where columns and strides are whole multiples
// of 16 bytes.
// Few long rows (up to some 60, of 32768 columns and more) are spread over all of the GPU. Such a launch is cooperative:
// it begins when there is room for all of its blocks. And it is a programmatic dependent one, where the GPU has those: it
// may begin while the kernel before it on the stream still runs, reads nothing before that one has ended, and lets the
// next kernel do the same.
typedef struct cj_rows {
    uint64_t    rows, columns;  // 1 to 2^31 - 1 and 1 to 2^28
    cj_dtype    dtype;          // of matrices and columns that are read: CJ_F32, CJ_F16, CJ_BF16 [f32]
    cj_rows_out out;            // of matrices and sums over rows that are written [that of those read]
    uint64_t    stride;         // elements from row to row of matrices that are read, columns to 2^29 [columns]
    uint64_t    out_stride;     // of those that are written [columns]
    uint32_t    align;  // bytes that pointers to matrices and columns are multiples of: 16, 8, 4, 2 [16]. The calls
                        // without a handle look at the pointers instead
} cj_rows;

#ifdef __cplusplus
}
#endif
#endif
