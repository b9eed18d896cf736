// SPDX-License-Identifier: Apache-2.0
// Matrix products against cuBLAS:  bench_gemm [--rounds N] [PROBLEM …] A problem is the family's words ("m=8192
// n=8192 k=8192 b=column"); without any, the usual ones. Both sides work in turns on the same random normal numbers;
// cuBLAS by the fastest of the first 8 that its heuristics name (libcublasLt, loaded here, on the library path).
// Medians; the results are held against each other.
#include <clusterjit/clusterjit.h>
#include <cublasLt.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 11, TRIES = 3, ALGORITHMS = 8, WORKSPACE = 64 << 20, PATTERN = (1 << 22) - 3, COMPARED = 1 << 20 };

// ---- cuBLAS, without linking to it

#define LT_FUNCTIONS(X)                                                                                                \
    X(Create, (cublasLtHandle_t *))                                                                                    \
    X(MatmulDescCreate, (cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t))                                 \
    X(MatmulDescSetAttribute, (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t))            \
    X(MatrixLayoutCreate, (cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t))                       \
    X(MatmulPreferenceCreate, (cublasLtMatmulPreference_t *))                                                          \
    X(MatmulPreferenceSetAttribute,                                                                                    \
      (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t))                        \
    X(MatmulAlgoGetHeuristic,                                                                                          \
      (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, \
       cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, int *))             \
    X(Matmul, (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t,             \
               const void *, cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t, void *,       \
               cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t))

typedef struct lt_functions {
#define CJ_X(name, parameters) cublasStatus_t(*name) parameters;
    LT_FUNCTIONS(CJ_X)
#undef CJ_X
} lt_functions;

typedef struct bench {
    cj_device   *device;
    cj_ptr       a, b, ours, theirs, workspace;
    lt_functions lt;
    // of the problem
    const char                     *words;
    cj_params                       params;
    uint64_t                        m, n, k;
    cj_kernel                      *kernel;
    cublasLtHandle_t                handle;
    cublasLtMatmulDesc_t            product;
    cublasLtMatrixLayout_t          first, second, result;
    cublasLtMatmulHeuristicResult_t algorithm[ALGORITHMS];
    int                             chosen;
} bench;

static cj_status failed(cj_error *error, const char *what) {
    snprintf(error->message, sizeof error->message, "%s", what);
    return error->status = CJ_DRIVER;
}

static cj_status load_lt(bench *b, cj_error *error) {
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcublasLt.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) return failed(error, "libcublasLt is not on the library path");
#define CJ_X(name, parameters) *(void **)&b->lt.name = dlsym(library, "cublasLt" #name);
    LT_FUNCTIONS(CJ_X)
#undef CJ_X
    return b->lt.Create(&b->handle) ? failed(error, "cublasLtCreate failed") : CJ_OK;
}

// cuBLAS counts by columns: it makes D' = B' A' where D lies in rows.
static cj_status open_lt(bench *b, cj_error *error) {
    const cublasOperation_t turned[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    const cudaDataType_t    type = cj_params_get(&b->params, "dtype") ? CUDA_R_16F : CUDA_R_16BF;
    const uint64_t          by_columns = cj_params_get(&b->params, "d"),
                   order[2] = {cj_params_get(&b->params, "a"), cj_params_get(&b->params, "b")};
    const uint64_t             extent[2][2] = {{b->m, b->k}, {b->k, b->n}}, left = by_columns ? 0 : 1;
    cublasLtMatrixLayout_t    *layout[2] = {&b->first, &b->second};
    const size_t               room = WORKSPACE;
    cublasLtMatmulPreference_t preference;
    int status = (int)b->lt.MatmulDescCreate(&b->product, CUBLAS_COMPUTE_32F, CUDA_R_32F), found = 0;
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t x = left ^ i, in_rows = order[x] == 0;  // matrix x is cuBLAS's first (i = 0) or second one
        const uint64_t rows = extent[x][in_rows], columns = extent[x][!in_rows];
        status |= (int)b->lt.MatrixLayoutCreate(layout[i], type, rows, columns, (int64_t)rows);
        status |= (int)b->lt.MatmulDescSetAttribute(b->product,
                                                    i ? CUBLASLT_MATMUL_DESC_TRANSB : CUBLASLT_MATMUL_DESC_TRANSA,
                                                    &turned[in_rows == by_columns], sizeof turned[0]);
    }
    const uint64_t rows = by_columns ? b->m : b->n, columns = by_columns ? b->n : b->m;
    status |= (int)b->lt.MatrixLayoutCreate(&b->result, type, rows, columns, (int64_t)rows);
    status |= (int)b->lt.MatmulPreferenceCreate(&preference);
    status |= (int)b->lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                                      sizeof room);
    status |= (int)b->lt.MatmulAlgoGetHeuristic(b->handle, b->product, b->first, b->second, b->result, b->result,
                                                preference, ALGORITHMS, b->algorithm, &found);
    for (int i = found; i < ALGORITHMS; i++) b->algorithm[i].state = CUBLAS_STATUS_NOT_SUPPORTED;
    return status || !found ? failed(error, "cuBLAS has no algorithm for this problem") : CJ_OK;
}

static cj_status run_theirs(void *user, cj_error *error) {
    bench                                 *b = user;
    const float                            one = 1, zero = 0;
    const bool                             by_columns = cj_params_get(&b->params, "d");
    const cj_ptr                           first = by_columns ? b->a : b->b, second = by_columns ? b->b : b->a;
    const cublasLtMatmulHeuristicResult_t *algorithm = &b->algorithm[b->chosen];
    void                                  *d = (void *)(uintptr_t)b->theirs;
    return b->lt.Matmul(b->handle, b->product, &one, (const void *)(uintptr_t)first, b->first,
                        (const void *)(uintptr_t)second, b->second, &zero, d, b->result, d, b->result, &algorithm->algo,
                        (void *)(uintptr_t)b->workspace, WORKSPACE, NULL)
               ? failed(error, "cublasLtMatmul failed")
               : CJ_OK;
}

// ---- ours

static cj_status run_ours(void *user, cj_error *error) {
    const bench           *b = user;
    const cj_gemm_desc     packed = {0};
    const cj_gemm_operands operands = {b->a, b->b, 0, b->ours, 1, 0};
    return cj_gemm_kernel_launch(b->device, b->kernel, &packed, &operands, NULL, error);
}

static cj_status read_words(bench *b, cj_error *error) {
    const cj_family *family;
    char             name[32], value[32];
    int              length;
    cj_status        status = cj_family_find("gemm", &family, error);
    if (status) return status;
    cj_params_init(&b->params, family);
    for (const char *at = b->words; !status && sscanf(at, " %31[^= ]=%31s%n", name, value, &length) == 2; at += length)
        status = cj_params_set(&b->params, name, value, error);
    b->m = cj_params_get(&b->params, "m");
    b->n = cj_params_get(&b->params, "n");
    b->k = cj_params_get(&b->params, "k");
    return status;
}

// ---- numbers

static uint64_t random_bits(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint16_t to_half(bool is_f16, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (!is_f16) return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    const int32_t exponent = (int32_t)(bits >> 23 & 255) - 112;  // small ones become 0
    return (uint16_t)(bits >> 16 & 0x8000) |
           (uint16_t)(exponent > 0 ? (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff) : 0);
}

static float from_half(bool is_f16, uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    if (is_f16) bits = (half & 0x8000u) << 16 | (half & 0x7c00 ? ((half & 0x7fffu) << 13) + (112u << 23) : 0);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Normal numbers (Box and Muller), a pattern of an odd length over and over, so that no two rows are the same.
static cj_status fill(const bench *b, cj_ptr to, uint64_t count, uint64_t seed, cj_error *error) {
    uint16_t  *pattern = malloc(PATTERN * sizeof *pattern);
    const bool is_f16 = cj_params_get(&b->params, "dtype");
    cj_status  status = pattern ? CJ_OK : failed(error, "no host memory");
    for (uint64_t i = 0; !status && i < PATTERN; i++) {
        const double u = (double)((random_bits(seed + 2 * i) >> 11) + 1) * 0x1p-53,
                     v = (double)random_bits(seed + 2 * i + 1) * 0x1p-64;
        pattern[i] = to_half(is_f16, (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v)));
    }
    for (uint64_t done = 0; !status && done < count; done += PATTERN)
        status = cj_mem_write(b->device, to + 2 * done, pattern, 2 * (count - done < PATTERN ? count - done : PATTERN),
                              NULL, error);
    free(pattern);
    return status;
}

// Both round sums of f32 once, added up in another order: they differ by a unit in the last place at most, but for
// sums that nearly vanish.
static cj_status compare(const bench *b, bool *agree, cj_error *error) {
    static uint16_t ours[COMPARED], theirs[COMPARED];
    const bool      is_f16 = cj_params_get(&b->params, "dtype");
    const uint64_t  count = b->m * b->n < COMPARED ? b->m * b->n : COMPARED, last = b->m * b->n - count;
    cj_status       status = cj_mem_read(b->device, ours, b->ours + 2 * last, 2 * count, NULL, error);
    if (!status) status = cj_mem_read(b->device, theirs, b->theirs + 2 * last, 2 * count, NULL, error);
    *agree = true;
    for (uint64_t i = 0; i < count; i++) {
        const double x = (double)from_half(is_f16, ours[i]), y = (double)from_half(is_f16, theirs[i]);
        if (!(fabs(x - y) <= ldexp(fabs(y), is_f16 ? -9 : -6) + 1e-3 * sqrt((double)b->k))) *agree = false;
    }
    return status;
}

// ---- figures

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *value, int count) {
    qsort(value, (size_t)count, sizeof *value, by_value);
    return value[count / 2];
}

static cj_status choose_algorithm(bench *b, cj_error *error) {
    double    best = INFINITY, time[TRIES];
    int       choice = 0;
    cj_status status = CJ_OK;
    for (b->chosen = 0; !status && b->chosen < ALGORITHMS; b->chosen++) {
        if (b->algorithm[b->chosen].state) continue;
        for (int i = 0; !status && i < TRIES; i++) status = cj_time(b->device, NULL, run_theirs, b, &time[i], error);
        if (!status && median(time, TRIES) < best) best = median(time, TRIES), choice = b->chosen;
    }
    b->chosen = choice;
    return status;
}

static cj_status measure(bench *b, int rounds, cj_error *error) {
    double    ours[99], theirs[99];
    bool      agree = false;
    cj_status status = cj_mem_fill(b->device, b->ours, 0xff, 2 * b->m * b->n, NULL, error);
    if (!status) status = choose_algorithm(b, error);
    for (int i = -1; !status && i < rounds; i++) {
        status = cj_time(b->device, NULL, run_ours, b, &ours[i < 0 ? 0 : i], error);
        if (!status) status = cj_time(b->device, NULL, run_theirs, b, &theirs[i < 0 ? 0 : i], error);
    }
    if (!status) status = compare(b, &agree, error);
    if (status) return status;
    const cj_plan *plan = cj_kernel_plan(b->kernel);
    const double   flops = 2e-9 * (double)b->m * (double)b->n * (double)b->k, mine = median(ours, rounds),
                 other = median(theirs, rounds);
    printf("%-72s %-20s grid %3u  %8.4f ms %6.1f TFLOP/s  cuBLAS %6.1f  ratio %.3f%s\n", b->words, plan->entry,
           plan->grid.x, mine, flops / mine, flops / other, other / mine, agree ? "" : "  RESULTS DIFFER");
    fflush(stdout);
    return CJ_OK;
}

static cj_status run_problem(bench *b, const char *words, int rounds, cj_error *error) {
    b->words = words;
    cj_status      status = read_words(b, error);
    const uint64_t size[] = {b->m * b->k, b->k * b->n, b->m * b->n, b->m * b->n};
    cj_ptr        *to[] = {&b->a, &b->b, &b->ours, &b->theirs};
    for (int i = 0; !status && i < 4; i++) status = cj_mem_alloc(b->device, 2 * size[i], to[i], error);
    if (!status) status = fill(b, b->a, size[0], 1, error);
    if (!status) status = fill(b, b->b, size[1], UINT64_C(1) << 32, error);
    if (!status) status = open_lt(b, error);
    if (!status) status = cj_kernel_create(b->device, &b->params, &b->kernel, error);
    if (!status) status = measure(b, rounds, error);
    cj_kernel_destroy(b->kernel);
    for (int i = 0; i < 4; i++) cj_mem_free(b->device, *to[i]), *to[i] = 0;
    b->kernel = NULL;
    return status;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {
        "m=4096 n=4096 k=4096 b=column", "m=8192 n=8192 k=8192 b=column", "m=16384 n=16384 k=16384 b=column",
        "m=2048 n=2048 k=2048 b=column", "m=8192 n=8192 k=1024 b=column", "m=1024 n=8192 k=8192 b=column",
    };
    static bench b;
    const bool   says = argc > 2 && !strcmp(argv[1], "--rounds");
    const int    first = says ? 3 : 1, given = argc - first, asked = says ? atoi(argv[2]) : ROUNDS;
    const int    count = given > 0 ? given : (int)(sizeof usual / sizeof *usual),
              rounds = asked < 1 || asked > 99 ? ROUNDS : asked;
    cj_error  error = {0};
    cj_status status = cj_device_open(&(cj_device_options){.spec = "gpu"}, &b.device, &error);
    if (!status) status = cj_mem_alloc(b.device, WORKSPACE, &b.workspace, &error);
    if (!status) status = load_lt(&b, &error);
    for (int i = 0; !status && i < count; i++)
        status = run_problem(&b, given > 0 ? argv[first + i] : usual[i], rounds, &error);
    if (status) fprintf(stderr, "bench_gemm: %s\n%s%s", error.message, error.hint, *error.hint ? "\n" : "");
    cj_mem_free(b.device, b.workspace);
    cj_device_close(b.device);
    return status != CJ_OK;
}
