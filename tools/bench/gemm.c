// SPDX-License-Identifier: Apache-2.0
// Matrix products against cuBLAS:  bench_gemm [--rounds N] [PROBLEM …] A problem is the family's words ("m=8192
// n=8192 k=8192 b=column"): any type with out=auto, a bias along the lines of D, relu or gelu; without any, the usual
// ones. Both sides work in turns on the same random normal numbers; cuBLAS by the fastest of the first 8 that its
// heuristics name (libcublasLt, loaded here, on the library path), with fast accumulation of 8-bit types, as ours is.
// Medians of graph replays; the results are held against each other.
#include <clusterjit/clusterjit.h>
#include <cublasLt.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ptxgen/half.h"
#include "../ptxgen/measure.h"

enum {
    ROUNDS = 11,
    TRIES = 3,
    ALGORITHMS = 8,
    WORKSPACE = 64 << 20,
    PATTERN = (1 << 22) - 3,
    COMPARED = 1 << 20,
    INPUTS = 3,
    BUFFERS = 5
};

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

// Elements; of 4 bytes there are floats.
typedef struct number {
    cudaDataType type;
    size_t       bytes;
    half_format  format;
} number;

// In the order of the words of dtype; what D is of each.
static const number bf16 = {CUDA_R_16BF, 2, {7, 8, false}}, f32 = {CUDA_R_32F, 4, {10, 8, false}};
static const struct {
    number              in;
    const number       *out;
    cublasComputeType_t compute;
} types[] = {{{CUDA_R_16BF, 2, {7, 8, false}}, &bf16, CUBLAS_COMPUTE_32F},
             {{CUDA_R_16F, 2, {10, 5, false}}, NULL, CUBLAS_COMPUTE_32F},
             {{CUDA_R_32F, 4, {10, 8, false}}, &f32, CUBLAS_COMPUTE_32F_FAST_TF32},
             {{CUDA_R_8F_E4M3, 1, {3, 4, true}}, &bf16, CUBLAS_COMPUTE_32F},
             {{CUDA_R_8F_E5M2, 1, {2, 5, false}}, &bf16, CUBLAS_COMPUTE_32F}};

typedef struct bench {
    cj_device   *device;
    cj_ptr       a, b, bias, ours, theirs, workspace;
    lt_functions lt;
    // of the problem
    const char                     *words;
    cj_params                       params;
    uint64_t                        m, n, k, biases;
    const number                   *in, *out;
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

static int set_attribute(const bench *b, cublasLtMatmulDescAttributes_t which, const void *value, size_t size) {
    return (int)b->lt.MatmulDescSetAttribute(b->product, which, value, size);
}

static int describe_epilogue(const bench *b) {
    static const cublasLtEpilogue_t plain[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU,
                                               CUBLASLT_EPILOGUE_GELU},
                                    biased[] = {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                                                CUBLASLT_EPILOGUE_GELU_BIAS};
    const cublasLtEpilogue_t *epilogue = &(b->biases ? biased : plain)[cj_params_get(&b->params, "activation")];
    const void               *bias = (const void *)(uintptr_t)b->bias;
    const int8_t              fast = b->in->bytes == 1;
    int                       status = set_attribute(b, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue, sizeof *epilogue);
    if (fast) status |= set_attribute(b, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
    if (b->biases) status |= set_attribute(b, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    return status;
}

// cuBLAS counts by columns: it makes D' = B' A' where D lies in rows.
static cj_status open_lt(bench *b, cj_error *error) {
    const cublasOperation_t turned[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    const uint64_t          by_columns = cj_params_get(&b->params, "d"),
                   order[2] = {cj_params_get(&b->params, "a"), cj_params_get(&b->params, "b")};
    const uint64_t             extent[2][2] = {{b->m, b->k}, {b->k, b->n}}, left = by_columns ? 0 : 1;
    cublasLtMatrixLayout_t    *layout[2] = {&b->first, &b->second};
    const size_t               room = WORKSPACE;
    cublasLtMatmulPreference_t preference;
    const cublasComputeType_t  compute = types[cj_params_get(&b->params, "dtype")].compute;
    int                        status = (int)b->lt.MatmulDescCreate(&b->product, compute, CUDA_R_32F), found = 0;
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t x = left ^ i, in_rows = order[x] == 0;  // matrix x is cuBLAS's first (i = 0) or second one
        const uint64_t rows = extent[x][in_rows], columns = extent[x][!in_rows];
        status |= (int)b->lt.MatrixLayoutCreate(layout[i], b->in->type, rows, columns, (int64_t)rows);
        status |= set_attribute(b, i ? CUBLASLT_MATMUL_DESC_TRANSB : CUBLASLT_MATMUL_DESC_TRANSA,
                                &turned[in_rows == by_columns], sizeof turned[0]);
    }
    const uint64_t rows = by_columns ? b->m : b->n, columns = by_columns ? b->n : b->m;
    status |= describe_epilogue(b);
    status |= (int)b->lt.MatrixLayoutCreate(&b->result, b->out->type, rows, columns, (int64_t)rows);
    status |= (int)b->lt.MatmulPreferenceCreate(&preference);
    status |= (int)b->lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                                      sizeof room);
    status |= (int)b->lt.MatmulAlgoGetHeuristic(b->handle, b->product, b->first, b->second, b->result, b->result,
                                                preference, ALGORITHMS, b->algorithm, &found);
    for (int i = found; i < ALGORITHMS; i++) b->algorithm[i].state = CUBLAS_STATUS_NOT_SUPPORTED;
    return status || !found ? failed(error, "cuBLAS has no algorithm for this problem") : CJ_OK;
}

static cj_status run_theirs(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    bench                                 *b = user;
    const float                            one = 1, zero = 0;
    const bool                             by_columns = cj_params_get(&b->params, "d");
    const cj_ptr                           first = by_columns ? b->a : b->b, second = by_columns ? b->b : b->a;
    const cublasLtMatmulHeuristicResult_t *algorithm = &b->algorithm[b->chosen];
    void                                  *d = (void *)(uintptr_t)b->theirs;
    (void)copy;
    return b->lt.Matmul(b->handle, b->product, &one, (const void *)(uintptr_t)first, b->first,
                        (const void *)(uintptr_t)second, b->second, &zero, d, b->result, d, b->result, &algorithm->algo,
                        (void *)(uintptr_t)b->workspace, WORKSPACE, stream)
               ? failed(error, "cublasLtMatmul failed")
               : CJ_OK;
}

// ---- ours

static cj_status run_ours(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    const bench           *b = user;
    const cj_gemm_desc     packed = {0};
    const cj_gemm_operands operands = {.a = b->a, .b = b->b, .d = b->ours, .alpha = 1, .bias = b->bias};
    (void)copy;
    return cj_gemm_kernel_launch(b->device, b->kernel, &packed, &operands, stream, error);
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
    if (status) return status;
    const uint64_t dtype = cj_params_get(&b->params, "dtype"), bias = cj_params_get(&b->params, "bias");
    const uint64_t along_lines = cj_params_get(&b->params, "d") ? 2 : 1;  // m where D lies in columns, else n
    const bool     other = cj_params_get(&b->params, "out") || cj_params_get(&b->params, "dtype-b") ||
                       cj_params_get(&b->params, "c") || cj_params_get(&b->params, "batch") > 1;
    if (other || cj_params_get(&b->params, "activation") > 2 || (bias && bias != along_lines))
        return failed(error, "a problem has no out, dtype-b, c, batch or silu here, and a bias along the lines of D");
    b->in = &types[dtype].in;
    b->out = types[dtype].out ? types[dtype].out : b->in;
    b->biases = !bias ? 0 : bias == 2 ? b->m : b->n;
    return CJ_OK;
}

// ---- numbers

static uint64_t random_bits(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void put(const number *type, double value, unsigned char *to) {
    const float    single = (float)value;
    const uint16_t half = type->bytes < 4 ? half_from(type->format, value) : 0;
    memcpy(to, type->bytes < 4 ? (const void *)&half : &single, type->bytes);
}

static double get(const number *type, const unsigned char *from) {
    uint16_t half = 0;
    float    single = 0;
    memcpy(type->bytes < 4 ? (void *)&half : &single, from, type->bytes);
    return type->bytes < 4 ? half_to(type->format, half) : (double)single;
}

// Normal numbers (Box and Muller), a pattern of an odd length over and over, so that no two rows are the same.
static cj_status fill(const bench *b, const number *type, cj_ptr to, uint64_t count, uint64_t seed, cj_error *error) {
    const size_t   bytes = type->bytes;
    unsigned char *pattern = malloc(PATTERN * bytes);
    cj_status      status = pattern ? CJ_OK : failed(error, "no host memory");
    for (uint64_t i = 0; !status && i < PATTERN; i++) {
        const double u = (double)((random_bits(seed + 2 * i) >> 11) + 1) * 0x1p-53,
                     v = (double)random_bits(seed + 2 * i + 1) * 0x1p-64;
        put(type, sqrt(-2 * log(u)) * cos(6.283185307179586 * v), pattern + i * bytes);
    }
    for (uint64_t done = 0; !status && done < count; done += PATTERN)
        status = cj_mem_write(b->device, to + bytes * done, pattern,
                              bytes * (count - done < PATTERN ? count - done : PATTERN), NULL, error);
    free(pattern);
    return status;
}

// Both round sums of f32 once, added up in another order: they differ by two units in the last place at most, but for
// sums that nearly vanish, where 8-bit elements leave 14 bits to a sum, and where f32 become tf32: ours are rounded.
static cj_status compare(const bench *b, bool *agree, cj_error *error) {
    static unsigned char ours[COMPARED * sizeof(float)], theirs[COMPARED * sizeof(float)];
    const size_t         bytes = b->out->bytes;
    const uint64_t       count = b->m * b->n < COMPARED ? b->m * b->n : COMPARED, last = b->m * b->n - count;
    const bool           is_tf32 = b->in->bytes == 4;
    const double         small = (b->in->bytes == 1 ? 0x1p-5 : is_tf32 ? 0x1p-8 : 1e-3) * sqrt((double)b->k);
    const int            bits = is_tf32 ? 8 : b->out->format.fraction - 1;
    cj_status            status = cj_mem_read(b->device, ours, b->ours + bytes * last, bytes * count, NULL, error);
    if (!status) status = cj_mem_read(b->device, theirs, b->theirs + bytes * last, bytes * count, NULL, error);
    *agree = true;
    for (uint64_t i = 0; i < count; i++) {
        const double x = get(b->out, ours + bytes * i), y = get(b->out, theirs + bytes * i);
        if (!(fabs(x - y) <= ldexp(fabs(y), -bits) + small)) *agree = false;
    }
    return status;
}

// ---- figures

// The fastest of those that cuBLAS's heuristics name.
static cj_status choose_algorithm(bench *b, contender *theirs, cj_error *error) {
    double    best = INFINITY;
    int       choice = 0;
    cj_status status = CJ_OK;
    for (b->chosen = 0; !status && b->chosen < ALGORITHMS; b->chosen++) {
        if (b->algorithm[b->chosen].state) continue;
        status = run_theirs(b, 0, NULL, error);
        if (!status) status = measure(b->device, theirs, 1, TRIES, error);
        if (!status && theirs->time.median < best) best = theirs->time.median, choice = b->chosen;
    }
    b->chosen = choice;
    return status;
}

static cj_status race(bench *b, unsigned rounds, cj_error *error) {
    contender both[] = {{.launch = run_ours, .user = b, .copies = 1}, {.launch = run_theirs, .user = b, .copies = 1}};
    bool      agree = false;
    cj_status status = cj_mem_fill(b->device, b->ours, 0xff, b->out->bytes * b->m * b->n, NULL, error);
    if (!status) status = choose_algorithm(b, &both[1], error);
    if (!status) status = run_ours(b, 0, NULL, error);
    if (!status) status = measure(b->device, both, 2, rounds, error);
    if (!status) status = compare(b, &agree, error);
    if (status) return status;
    const cj_plan *plan = cj_kernel_plan(b->kernel);
    const double   flops = 2e-9 * (double)b->m * (double)b->n * (double)b->k, mine = both[0].time.median,
                 other = both[1].time.median;
    printf("%-72s %-26s grid %3u  %8.4f ms %6.1f TFLOP/s  cuBLAS %6.1f  ratio %.3f%s\n", b->words, plan->entry,
           plan->grid.x, mine, flops / mine, flops / other, other / mine, agree ? "" : "  RESULTS DIFFER");
    fflush(stdout);
    return CJ_OK;
}

static cj_status run_problem(bench *b, const char *words, unsigned rounds, cj_error *error) {
    b->words = words;
    cj_status      status = read_words(b, error);
    const uint64_t count[] = {b->m * b->k, b->k * b->n, b->biases, b->m * b->n, b->m * b->n};
    const number  *type[] = {b->in, b->in, b->out, b->out, b->out};
    cj_ptr        *to[] = {&b->a, &b->b, &b->bias, &b->ours, &b->theirs};
    for (int i = 0; !status && i < BUFFERS; i++)
        if (count[i]) status = cj_mem_alloc(b->device, type[i]->bytes * count[i], to[i], error);
    for (int i = 0; !status && i < INPUTS; i++) status = fill(b, type[i], *to[i], count[i], (uint64_t)i << 32, error);
    if (!status) status = open_lt(b, error);
    if (!status) status = cj_kernel_create(b->device, &b->params, &b->kernel, error);
    if (!status) status = race(b, rounds, error);
    cj_kernel_destroy(b->kernel);
    for (int i = 0; i < BUFFERS; i++) cj_mem_free(b->device, *to[i]), *to[i] = 0;
    b->kernel = NULL;
    return status;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {
        "m=4096 n=4096 k=4096 b=column",
        "m=8192 n=8192 k=8192 b=column",
        "m=16384 n=16384 k=16384 b=column",
        "m=2048 n=2048 k=2048 b=column",
        "m=8192 n=8192 k=1024 b=column",
        "m=1024 n=8192 k=8192 b=column",
        "m=64 n=512 k=8192 b=column",
        "m=64 n=512 k=65536 b=column",
        "m=128 n=512 k=8192 b=column",
        "m=128 n=512 k=65536 b=column",
        "m=256 n=512 k=8192 b=column",
        "m=256 n=512 k=65536 b=column",
        "m=256 n=256 k=65536 b=column",
        "m=64 n=64 k=65536 b=column",
        "m=8192 n=8192 k=8192 b=column dtype=e4m3",
        "m=4096 n=4096 k=4096 b=column dtype=e4m3",
        "m=4096 n=4096 k=4096 b=column dtype=tf32",
        "m=8192 n=8192 k=8192 b=column bias=n",
        "m=8192 n=8192 k=8192 b=column bias=n activation=gelu",
        "m=8192 n=8192 k=1024 b=column bias=n activation=gelu",
    };
    static bench b;
    const bool   says = argc > 2 && !strcmp(argv[1], "--rounds");
    const int    first = says ? 3 : 1, given = argc - first, asked = says ? atoi(argv[2]) : ROUNDS;
    const int    count = given > 0 ? given : (int)(sizeof usual / sizeof *usual),
              rounds = asked < 1 || asked > MEASURE_ROUNDS_MAX ? ROUNDS : asked;
    cj_error  error = {0};
    cj_status status = cj_device_open(&(cj_device_options){.spec = "gpu"}, &b.device, &error);
    if (!status) status = cj_mem_alloc(b.device, WORKSPACE, &b.workspace, &error);
    if (!status) status = load_lt(&b, &error);
    for (int i = 0; !status && i < count; i++)
        status = run_problem(&b, given > 0 ? argv[first + i] : usual[i], (unsigned)rounds, &error);
    if (status) fprintf(stderr, "bench_gemm: %s\n%s%s", error.message, error.hint, *error.hint ? "\n" : "");
    cj_mem_free(b.device, b.workspace);
    cj_device_close(b.device);
    return status != CJ_OK;
}
