// SPDX-License-Identifier: Apache-2.0
#include "cublas.h"

#include <stdio.h>
#include <stdlib.h>

#include "toolchain.h"

// From cublasLt.h, cublas_api.h and library_types.h, whose numbers are part of the library's interface;
// tests/unit/cuda/test_cublas.c compares them with those headers if they are installed.
#include "cublas_abi.h"

enum { WORKSPACE = 64 << 20 };

// The functions used: field, name, parameters. They return 0 for success.
#define FUNCTIONS(X)                                                                                                 \
    X(create, "cublasLtCreate", (void **))                                                                           \
    X(destroy, "cublasLtDestroy", (void *))                                                                          \
    X(product_create, "cublasLtMatmulDescCreate", (void **, int, int))                                               \
    X(product_destroy, "cublasLtMatmulDescDestroy", (void *))                                                        \
    X(product_set, "cublasLtMatmulDescSetAttribute", (void *, int, const void *, size_t))                            \
    X(layout_create, "cublasLtMatrixLayoutCreate", (void **, int, uint64_t, uint64_t, int64_t))                      \
    X(layout_destroy, "cublasLtMatrixLayoutDestroy", (void *))                                                       \
    X(layout_set, "cublasLtMatrixLayoutSetAttribute", (void *, int, const void *, size_t))                           \
    X(wish_create, "cublasLtMatmulPreferenceCreate", (void **))                                                      \
    X(wish_destroy, "cublasLtMatmulPreferenceDestroy", (void *))                                                     \
    X(wish_set, "cublasLtMatmulPreferenceSetAttribute", (void *, int, const void *, size_t))                         \
    X(choose, "cublasLtMatmulAlgoGetHeuristic",                                                                      \
      (void *, void *, void *, void *, void *, void *, void *, int, cublas_choice *, int *))                         \
    X(multiply, "cublasLtMatmul",                                                                                    \
      (void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *, void *, \
       void *, void *, const cublas_algorithm *, void *, size_t, cj_stream))

struct cublas {
#define X(field, name, parameters) int(*field) parameters;
    FUNCTIONS(X)
#undef X
    size_t (*version)(void);
    cj_device     *device;
    cublas_problem problem;
    void          *handle, *product, *wish, *layout[CUBLAS_MATRICES];
    cj_ptr         workspace;
    cublas_choice  choice[CUBLAS_ALGORITHMS];
};

static bool load(cublas *c) {
    toolchain_item item;
    void          *library = toolchain_library(&item, "cuBLAS", "cublasLt");
#define X(field, name, parameters) \
    if (!library || !toolchain_function(library, name, &c->field)) return false;
    FUNCTIONS(X)
#undef X
    return toolchain_function(library, "cublasLtGetVersion", &c->version);
}

size_t cublas_version(const cublas *c) { return c->version(); }

// ---- describing the problem

static int type_of(cj_dtype type) {
    switch (type) {
    case CJ_F64: return CUBLAS_R_64F;
    case CJ_F16: return CUBLAS_R_16F;
    case CJ_BF16: return CUBLAS_R_16BF;
    case CJ_E4M3: return CUBLAS_R_8F_E4M3;
    case CJ_E5M2: return CUBLAS_R_8F_E5M2;
    case CJ_I8: return CUBLAS_R_8I;
    case CJ_I32: return CUBLAS_R_32I;
    default: return CUBLAS_R_32F;
    }
}

static int set(const cublas *c, int which, const void *value, size_t size) {
    return c->product_set(c->product, which, value, size);
}

static int set_number(const cublas *c, int which, int32_t value) { return set(c, which, &value, sizeof value); }

// cuBLAS's matrices are column-major: a row-major matrix is its transpose. If D is row-major, the product is D' = B'
// A'.
static int describe_layouts(cublas *c) {
    const cublas_problem *p = &c->problem;
    int                   status = 0;
    for (int i = 0; i < CUBLAS_MATRICES; i++) {
        const cublas_matrix *x = &p->matrix[i];
        const int32_t        batch = (int32_t)p->batch;
        const int64_t        stride = (int64_t)x->stride;
        status |= c->layout_create(&c->layout[i], type_of(x->type), x->length, x->lines, (int64_t)x->leading);
        if (status || batch == 1) continue;
        status |= c->layout_set(c->layout[i], CUBLAS_LAYOUT_BATCH, &batch, sizeof batch);
        status |= c->layout_set(c->layout[i], CUBLAS_LAYOUT_STRIDE, &stride, sizeof stride);
    }
    return status;
}

static bool is_narrow(cj_dtype type) { return type == CJ_E4M3 || type == CJ_E5M2; }

static bool is_integer(const cublas *c) { return c->problem.matrix[CUBLAS_A].type == CJ_I8; }

// What a product is computed in, and the type of its factors alpha and beta.
typedef struct arithmetic {
    int compute, factors;
} arithmetic;

static arithmetic arithmetic_of(cj_dtype type) {
    switch (type) {
    case CJ_F64: return (arithmetic){CUBLAS_COMPUTE_F64, CUBLAS_R_64F};
    case CJ_I8: return (arithmetic){CUBLAS_COMPUTE_I32, CUBLAS_R_32I};
    case CJ_TF32: return (arithmetic){CUBLAS_COMPUTE_TF32, CUBLAS_R_32F};
    default: return (arithmetic){CUBLAS_COMPUTE_F32, CUBLAS_R_32F};
    }
}

// Of the first and the second factor, which are B and A if D is row-major.
static int describe_factor(const cublas *c, bool second) {
    const cublas_problem *p = &c->problem;
    const bool            by_columns = p->matrix[CUBLAS_D].by_columns, is_b = second == by_columns;
    const cublas_matrix  *x = &p->matrix[is_b ? CUBLAS_B : CUBLAS_A];
    const cj_ptr         *scale = is_b ? &p->scale_b : &p->scale_a;
    int                   status = set_number(c, second ? CUBLAS_TRANSB : CUBLAS_TRANSA, x->by_columns != by_columns);
    if (is_narrow(x->type)) status |= set(c, second ? CUBLAS_B_SCALE : CUBLAS_A_SCALE, scale, sizeof *scale);
    return status;
}

static int describe_product(cublas *c) {
    const cublas_problem *p = &c->problem;
    const bool            narrow = is_narrow(p->matrix[CUBLAS_A].type);
    static const int      epilogues[] = {CUBLAS_EPILOGUE_PLAIN, CUBLAS_EPILOGUE_RELU, CUBLAS_EPILOGUE_GELU};
    const int             plain = epilogues[p->activation];
    const int8_t          fast = 1;
    const arithmetic      how = arithmetic_of(p->matrix[CUBLAS_A].type);
    int                   status = c->product_create(&c->product, how.compute, how.factors);
    if (status) return status;
    status = describe_factor(c, false) | describe_factor(c, true);
    if (narrow) status |= set(c, CUBLAS_FAST_ACCUMULATION, &fast, sizeof fast);
    if (is_narrow(p->matrix[CUBLAS_D].type)) status |= set(c, CUBLAS_D_SCALE, &p->scale_d, sizeof p->scale_d);
    if (!p->has_bias) return status | set_number(c, CUBLAS_EPILOGUE, plain);
    status |= set_number(c, CUBLAS_BIAS_TYPE, type_of(p->bias_type));
    status |= set(c, CUBLAS_BIAS_POINTER, &c->workspace, sizeof c->workspace);  // each launch sets its own
    return status | set_number(c, CUBLAS_EPILOGUE, (plain & ~CUBLAS_EPILOGUE_PLAIN) | CUBLAS_EPILOGUE_BIAS);
}

// Algorithms that take addresses as they are: without this, those for multiples of 256 bytes, too.
static int wish_for_addresses(const cublas *c, bool by_columns) {
    const int first = by_columns ? CUBLAS_A : CUBLAS_B, second = by_columns ? CUBLAS_B : CUBLAS_A;
    const int of[CUBLAS_MATRICES] = {first, second, CUBLAS_C, CUBLAS_D};
    int       status = 0;
    for (int i = 0; i < CUBLAS_MATRICES; i++) {
        const uint32_t align = c->problem.matrix[of[i]].align;
        if (align) status |= c->wish_set(c->wish, CUBLAS_WISH_ALIGN_A + i, &align, sizeof align);
    }
    return status;
}

static int choose(cublas *c, unsigned *algorithms) {
    const bool by_columns = c->problem.matrix[CUBLAS_D].by_columns;
    void *first = c->layout[by_columns ? CUBLAS_A : CUBLAS_B], *second = c->layout[by_columns ? CUBLAS_B : CUBLAS_A];
    const size_t room = WORKSPACE;
    int          found = 0, status = c->wish_create(&c->wish);
    if (!status) status = c->wish_set(c->wish, CUBLAS_WISH_WORKSPACE, &room, sizeof room);
    if (!status) status = wish_for_addresses(c, by_columns);
    if (!status)
        status = c->choose(c->handle, c->product, first, second, c->layout[CUBLAS_C], c->layout[CUBLAS_D], c->wish,
                           CUBLAS_ALGORITHMS, c->choice, &found);
    *algorithms = 0;
    for (int i = 0; !status && i < found; i++)
        if (!c->choice[i].status) c->choice[(*algorithms)++] = c->choice[i];
    return status;
}

// ---- the interface

cublas *cublas_open(cj_device *device, const cublas_problem *problem, unsigned *algorithms, char *reason, size_t size) {
    cublas     *c = calloc(1, sizeof *c);
    const char *why = NULL;
    int         status = 0;
    if (!c) {
        snprintf(reason, size, "no host memory");
        return NULL;
    }
    *c = (cublas){.device = device, .problem = *problem};
    if (!load(c))
        why = "no libcublasLt.so with all that it takes is found; its folder belongs into LD_LIBRARY_PATH";
    else if (cj_mem_alloc(device, WORKSPACE, &c->workspace, NULL))
        why = "its workspace of 64 MiB finds no room on the device";
    else if ((status = c->create(&c->handle)))
        why = "cublasLtCreate failed";
    else if ((status = describe_layouts(c)) || (status = describe_product(c)))
        why = "it cannot describe this problem";
    else if ((status = choose(c, algorithms)) || !*algorithms)
        why = "it has no algorithm for this problem";
    if (!why) return c;
    snprintf(reason, size, status ? "%s (status %d)" : "%s", why, status);
    cublas_close(c);
    return NULL;
}

void cublas_close(cublas *c) {
    if (!c) return;
    for (int i = 0; i < CUBLAS_MATRICES; i++)
        if (c->layout[i]) c->layout_destroy(c->layout[i]);
    if (c->wish) c->wish_destroy(c->wish);
    if (c->product) c->product_destroy(c->product);
    if (c->handle) c->destroy(c->handle);
    cj_mem_free(c->device, c->workspace);
    free(c);
}

static void *pointer(cj_ptr at) { return (void *)(uintptr_t)at; }

// If beta is 0 nothing is read from C, but C may be D only if both have the same layout.
static cj_ptr place_of_c(const cublas *c, const cj_ptr *at) {
    const cublas_problem *p = &c->problem;
    if (p->beta != 0) return at[CUBLAS_C];
    return p->matrix[CUBLAS_C].type == p->matrix[CUBLAS_D].type ? at[CUBLAS_D] : c->workspace;
}

// alpha or beta, of f64 as a double, and of integers as an integer: 1 and 0, the only ones of their products.
static const void *factor(const cublas *c, const float *of_floats, double *wide) {
    static const int32_t zero = 0, one = 1;
    *wide = (double)*of_floats;
    if (c->problem.matrix[CUBLAS_A].type == CJ_F64) return wide;
    return !is_integer(c) ? (const void *)of_floats : *of_floats != 0 ? &one : &zero;
}

cj_status cublas_launch(cublas *c, unsigned algorithm, const cublas_operands *operands, cj_stream stream,
                        cj_error *error) {
    const cublas_problem *p = &c->problem;
    const bool            by_columns = p->matrix[CUBLAS_D].by_columns;
    const int             first = by_columns ? CUBLAS_A : CUBLAS_B, second = by_columns ? CUBLAS_B : CUBLAS_A;
    const cj_ptr         *at = operands->matrix;
    double                wide[2];
    int status = p->has_bias ? set(c, CUBLAS_BIAS_POINTER, &operands->bias, sizeof operands->bias) : 0;
    if (!status)
        status = c->multiply(c->handle, c->product, factor(c, &p->alpha, &wide[0]), pointer(at[first]), c->layout[first],
                             pointer(at[second]), c->layout[second], factor(c, &p->beta, &wide[1]), pointer(place_of_c(c, at)),
                             c->layout[CUBLAS_C], pointer(at[CUBLAS_D]), c->layout[CUBLAS_D],
                             &c->choice[algorithm].algorithm, pointer(c->workspace), WORKSPACE, stream);
    if (!status) return CJ_OK;
    *error = (cj_error){.status = CJ_DRIVER};
    snprintf(error->message, sizeof error->message,
             "cublasLtMatmul failed with status %d, by algorithm %u of its heuristics", status, algorithm);
    return CJ_DRIVER;
}
