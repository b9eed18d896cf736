// SPDX-License-Identifier: Apache-2.0
// Replaces libcublasLt for `ptxgen bench gemm` on the CPU device, whose memory is the host's: computes what the
// descriptors say, sum by sum, so that a product with a wrong description gives wrong results. It has three algorithms:
// the first cannot run, and the last is wrong if CJ_FAKE_CUBLAS=wrong. With CJ_FAKE_CUBLAS=none it has none.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_abi.h"
#include "half.h"

enum { INVALID = 7, NOT_SUPPORTED = 15, FIRST = 0, LAST = 2, ALGORITHMS = 3 };

#define EXPORT __attribute__((visibility("default")))

typedef struct layout {
    int      type;
    uint64_t rows, columns;
    int64_t  leading, stride;
    int32_t  batch;
} layout;

typedef struct product {
    int32_t      compute, turned[2], epilogue, bias_type;
    const void  *bias;
    const float *scale[3];  // of the first and the second matrix and of the result
    int8_t       fast;
} product;

static bool is_mode(const char *mode) {
    const char *asked = getenv("CJ_FAKE_CUBLAS");
    return asked && !strcmp(asked, mode);
}

// ---- numbers

static const half_format *format_of(int type) {
    return type == CUBLAS_R_16F       ? &half_f16
           : type == CUBLAS_R_16BF    ? &half_bf16
           : type == CUBLAS_R_8F_E4M3 ? &half_e4m3
           : type == CUBLAS_R_8F_E5M2 ? &half_e5m2
                                      : NULL;
}

static size_t size_of(int type) {
    return type == CUBLAS_R_64F ? 8 : type == CUBLAS_R_32F || type == CUBLAS_R_32I ? 4 : type == CUBLAS_R_16F || type == CUBLAS_R_16BF ? 2 : 1;
}

static double get(int type, const void *from, int64_t at) {
    const half_format   *format = format_of(type);
    const unsigned char *bytes = (const unsigned char *)from + (size_t)at * size_of(type);
    uint16_t             bits = 0;
    float                single;
    double               wide;
    int32_t              whole;
    if (type == CUBLAS_R_64F) return memcpy(&wide, bytes, sizeof wide), wide;
    if (type == CUBLAS_R_8I) return (int8_t)*bytes;
    if (type == CUBLAS_R_32I) return memcpy(&whole, bytes, sizeof whole), whole;
    memcpy(&single, bytes, format ? 0 : sizeof single);
    memcpy(&bits, bytes, format ? size_of(type) : 0);
    return format ? half_to(*format, bits) : (double)single;
}

static void put(int type, double value, void *to, int64_t at) {
    const half_format *format = format_of(type);
    unsigned char     *bytes = (unsigned char *)to + (size_t)at * size_of(type);
    const float        single = (float)value;
    const uint16_t     bits = format ? half_from(*format, value) : 0;
    const int32_t      whole = type == CUBLAS_R_32I ? (int32_t)value : 0;
    const void        *from = type == CUBLAS_R_64F   ? (const void *)&value
                              : type == CUBLAS_R_32I ? (const void *)&whole
                              : format               ? (const void *)&bits
                                                     : &single;
    memcpy(bytes, from, size_of(type));
}

// ---- the library

EXPORT size_t cublasLtGetVersion(void) { return 130100; }

EXPORT int cublasLtCreate(void **handle) { return (*handle = malloc(1)) == NULL; }

EXPORT int cublasLtDestroy(void *handle) { return free(handle), 0; }

EXPORT int cublasLtMatmulDescCreate(void **made, int compute, int scale) {
    product *p = calloc(1, sizeof *p);
    *made = p;
    const int factors = compute == CUBLAS_COMPUTE_I32 ? CUBLAS_R_32I : compute == CUBLAS_COMPUTE_F64 ? CUBLAS_R_64F : CUBLAS_R_32F;
    if (!p || scale != factors) return INVALID;
    p->compute = compute;
    p->epilogue = CUBLAS_EPILOGUE_PLAIN;
    return 0;
}

EXPORT int cublasLtMatmulDescDestroy(void *p) { return free(p), 0; }

EXPORT int cublasLtMatmulDescSetAttribute(void *to, int which, const void *value, size_t size) {
    product *p = to;
    struct {
        int    which;
        void  *field;
        size_t size;
    } fields[] = {
        {CUBLAS_TRANSA, &p->turned[0], sizeof p->turned[0]}, {CUBLAS_TRANSB, &p->turned[1], sizeof p->turned[1]},
        {CUBLAS_EPILOGUE, &p->epilogue, sizeof p->epilogue}, {CUBLAS_BIAS_TYPE, &p->bias_type, sizeof p->bias_type},
        {CUBLAS_BIAS_POINTER, &p->bias, sizeof p->bias},     {CUBLAS_A_SCALE, &p->scale[0], sizeof p->scale[0]},
        {CUBLAS_B_SCALE, &p->scale[1], sizeof p->scale[1]},  {CUBLAS_D_SCALE, &p->scale[2], sizeof p->scale[2]},
        {CUBLAS_FAST_ACCUMULATION, &p->fast, sizeof p->fast}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].which == which && fields[i].size == size) return memcpy(fields[i].field, value, size), 0;
    return INVALID;
}

EXPORT int cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    layout *x = malloc(sizeof *x);
    *made = x;
    if (!x || leading < (int64_t)rows) return INVALID;
    *x = (layout){.type = type, .rows = rows, .columns = columns, .leading = leading, .batch = 1};
    return 0;
}

EXPORT int cublasLtMatrixLayoutDestroy(void *x) { return free(x), 0; }

EXPORT int cublasLtMatrixLayoutSetAttribute(void *to, int which, const void *value, size_t size) {
    layout *x = to;
    if (which == CUBLAS_LAYOUT_BATCH && size == sizeof x->batch) return memcpy(&x->batch, value, size), 0;
    if (which == CUBLAS_LAYOUT_STRIDE && size == sizeof x->stride) return memcpy(&x->stride, value, size), 0;
    return INVALID;
}

EXPORT int cublasLtMatmulPreferenceCreate(void **made) { return (*made = malloc(1)) == NULL; }

EXPORT int cublasLtMatmulPreferenceDestroy(void *wish) { return free(wish), 0; }

EXPORT int cublasLtMatmulPreferenceSetAttribute(void *wish, int which, const void *value, size_t size) {
    const bool aligns = which >= CUBLAS_WISH_ALIGN_A && which <= CUBLAS_WISH_ALIGN_D;
    const bool is_known = aligns || which == CUBLAS_WISH_WORKSPACE;
    return !wish || !is_known || !value || size != (aligns ? sizeof(uint32_t) : sizeof(size_t)) ? INVALID : 0;
}

// As in the real library: fast accumulation must be asked for with 8-bit floats, and scale factors must be at multiples
// of 16 bytes. Integers are multiplied in i32, and the first matrix lies by k, so it is turned, and the second one is not.
static bool can(const product *p, const layout *a, const layout *d) {
    for (int i = 0; i < 3; i++)
        if ((uintptr_t)p->scale[i] % 16) return false;
    if (a->type == CUBLAS_R_8I)
        return p->compute == CUBLAS_COMPUTE_I32 && d->type == CUBLAS_R_32I && p->turned[0] && !p->turned[1] && !p->fast;
    return (size_of(a->type) == 1) == (p->fast == 1) &&
           (a->type == CUBLAS_R_32F) == (p->compute == CUBLAS_COMPUTE_TF32) && (a->type == CUBLAS_R_64F) == (p->compute == CUBLAS_COMPUTE_F64);
}

static bool fits(const product *p, const layout *a, const layout *b, const layout *c, const layout *d) {
    const uint64_t m = p->turned[0] ? a->columns : a->rows, k = p->turned[0] ? a->rows : a->columns;
    const uint64_t n = p->turned[1] ? b->rows : b->columns, other = p->turned[1] ? b->columns : b->rows;
    return k == other && d->rows == m && d->columns == n && c->rows == m && c->columns == n;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *p, void *a, void *b, void *c, void *d, void *wish,
                                          int asked, cublas_choice *choices, int *found) {
    *found = 0;
    if (!handle || !wish || !fits(p, a, b, c, d)) return INVALID;
    if (is_mode("none") || !can(p, a, d)) return NOT_SUPPORTED;
    for (int i = 0; i < ALGORITHMS && i < asked; i++, ++*found)
        choices[i] = (cublas_choice){.algorithm = {{(uint64_t)i}}};
    return 0;
}

static double activated(int epilogue, double x) {
    if (epilogue & CUBLAS_EPILOGUE_RELU) return x < 0 ? 0 : x;
    if (epilogue & CUBLAS_EPILOGUE_GELU) return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

static double element(const product *p, const layout *a, const void *from_a, const layout *b, const void *from_b,
                      int64_t t, int64_t row, int64_t column) {
    const int64_t count = (int64_t)(p->turned[0] ? a->rows : a->columns);
    double        sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at_a = t * a->stride + (p->turned[0] ? row * a->leading + i : i * a->leading + row);
        const int64_t at_b = t * b->stride + (p->turned[1] ? i * b->leading + column : column * b->leading + i);
        sum += get(a->type, from_a, at_a) * get(b->type, from_b, at_b);
    }
    return sum * (p->scale[0] ? (double)*p->scale[0] : 1) * (p->scale[1] ? (double)*p->scale[1] : 1);
}

static double factor(const product *p, const void *from) {
    float   single;
    double  wide;
    int32_t whole;
    if (p->compute == CUBLAS_COMPUTE_F64) return memcpy(&wide, from, sizeof wide), wide;
    memcpy(&single, from, sizeof single);
    memcpy(&whole, from, sizeof whole);
    return p->compute == CUBLAS_COMPUTE_I32 ? (double)whole : (double)single;
}

EXPORT int cublasLtMatmul(void *handle, void *described, const void *from_alpha, const void *from_a, void *of_a,
                          const void *from_b, void *of_b, const void *from_beta, const void *from_c, void *of_c, void *to_d,
                          void *of_d, const cublas_algorithm *algorithm, void *workspace, size_t room, void *stream) {
    const product *p = described;
    const layout  *c = of_c, *d = of_d;
    const double   alpha = factor(p, from_alpha), beta = factor(p, from_beta);
    const double   wrong = algorithm->data[0] == LAST && is_mode("wrong") ? 1.25 : 1;
    if (!handle || !workspace || !room || stream) return INVALID;
    if (algorithm->data[0] == FIRST) return NOT_SUPPORTED;
    for (int32_t t = 0; t < d->batch; t++)
        for (int64_t column = 0; column < (int64_t)d->columns; column++)
            for (int64_t row = 0; row < (int64_t)d->rows; row++) {
                double x = alpha * element(p, of_a, from_a, of_b, from_b, t, row, column);
                if (beta != 0) x += beta * get(c->type, from_c, t * c->stride + column * c->leading + row);
                if (p->epilogue & CUBLAS_EPILOGUE_BIAS) x += get(p->bias_type, p->bias, row);
                x = activated(p->epilogue, x) * (p->scale[2] ? (double)*p->scale[2] : 1) * wrong;
                put(d->type, x, to_d, t * d->stride + column * d->leading + row);
            }
    return 0;
}
