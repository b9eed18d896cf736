// SPDX-License-Identifier: Apache-2.0
// gemm: random normal matrices (of integers 32 times as large, those of u8 around 128), or those of a fill or a file (A, then B, then C,
// then the bias), compared with sums in long double of some elements of D.
#include <clusterjit/gemm.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas.h"
#include "gemm_model.h"
#include "message.h"
#include "output.h"
#include "sets.h"
#include "source.h"
#include "workload.h"

enum { ALIGNED_BYTES = 16, SAMPLES = 404, CORNERS = 4, POISON = 0xff, PATTERN = (1 << 20) - 3, CHUNK = 1024 };

enum { A, B, C, BIAS, D, MATRICES };

// `lines` lines of `length` elements, `leading` apart; `products` of them, `stride` apart.
typedef struct matrix {
    cj_dtype       type;
    bool           is_there, by_columns;
    uint64_t       lines, length, leading, products, stride;
    unsigned char *host;    // the elements for reading and writing
    unsigned char *normal;  // PATTERN numbers of the type; shared with another matrix of the same type
    uint32_t       align;   // bytes that its address and lines are multiples of, and no more than that below 16
    cj_ptr        *memory;  // of each set: the matrix begins `align` bytes after it, if these are fewer than 16
} matrix;

// The factors of matrices of 8 bits, in the device's memory.
enum { SCALE_A, SCALE_B, SCALE_D, SCALES };

// An element of D.
typedef struct place {
    uint64_t product, row, column;
} place;

typedef struct sum {
    double value, size;  // size: of the summands without their signs
} sum;

typedef struct gemm {
    uint64_t           m, n, k, batch;
    unsigned           bias;  // 1: of n, 2: of m
    cj_gemm_activation activation;
    matrix             matrix[MATRICES];
    cj_gemm_desc       desc;  // the leading dimensions and strides
    float              alpha, beta, scale[SCALES];
    cj_ptr             scales;
    bool               is_normal;
    source             source;
    sum    *expected;  // of each element that is checked, once they are known: all sets have the same numbers
    cublas *cublas;    // NULL: not asked for, or not found
} gemm;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for a matrix product"); }

static size_t bytes_of(const matrix *x) {
    return (size_t)(x->products > 1 ? x->products * x->stride : x->lines * x->leading) * cj_dtype_size(x->type);
}

static double elements_of(const matrix *x) { return x->is_there ? (double)(x->products * x->lines * x->length) : 0; }

// ---- numbers

static uint64_t random_bits(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static bool is_integer(cj_dtype type) { return element_kind_of(type) != ELEMENT_FLOAT; }

// A number of a standard normal distribution as an element.
static element spread(cj_dtype type, double number) {
    return element_of_number(type, is_integer(type) ? (type == CJ_U8 ? 128 : 0) + 32 * number : number);
}

// Normally distributed numbers, by Box and Muller. Their number is odd, so that no two lines are the same.
static int make_normal(gemm *g, matrix *x) {
    for (const matrix *other = g->matrix; other < x; other++)
        if (other->normal && other->type == x->type) {
            x->normal = other->normal;
            return CODE_OK;
        }
    const size_t bytes = cj_dtype_size(x->type);
    x->normal = malloc(PATTERN * bytes);
    if (!x->normal) return no_memory();
    for (uint64_t i = 0; i < PATTERN; i++) {
        const double u = (double)((random_bits(2 * i) >> 11) + 1) * 0x1p-53,
                     v = (double)random_bits(2 * i + 1) * 0x1p-64;
        const element number = spread(x->type, sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
        element_narrow(x->type, &number, 1, x->normal + i * bytes);
    }
    return CODE_OK;
}

static void free_normal(gemm *g, matrix *x) {
    for (const matrix *other = g->matrix; other < x; other++)
        if (other->normal == x->normal) return;
    free(x->normal);
}

static void copy_normal(const matrix *x, uint64_t from, unsigned char *to) {
    const size_t bytes = cj_dtype_size(x->type);
    for (uint64_t done = 0; done < x->length;) {
        const uint64_t at = (from + done) % PATTERN, room = PATTERN - at, left = x->length - done;
        const uint64_t count = left < room ? left : room;
        memcpy(to + done * bytes, x->normal + at * bytes, (size_t)count * bytes);
        done += count;
    }
}

// The source's numbers have A's type.
static int copy_source(gemm *g, const matrix *x, unsigned char *to) {
    element       wide[CHUNK];
    unsigned char narrow[CHUNK * sizeof(double)];
    int           code = CODE_OK;
    for (uint64_t done = 0; !code && done < x->length; done += CHUNK) {
        const size_t count = x->length - done < CHUNK ? (size_t)(x->length - done) : CHUNK;
        code = source_read(&g->source, narrow, count);
        element_widen(g->source.type, narrow, count, wide);
        for (size_t i = 0; i < count; i++) wide[i] = element_of_number(x->type, element_number(g->source.type, wide[i]));
        element_narrow(x->type, wide, count, to + done * cj_dtype_size(x->type));
    }
    return code;
}

static int fill_matrix(gemm *g, unsigned which) {
    matrix      *x = &g->matrix[which];
    const size_t bytes = cj_dtype_size(x->type);
    int          code = g->is_normal ? make_normal(g, x) : CODE_OK;
    if (code) return code;
    memset(x->host, POISON, bytes_of(x));
    for (uint64_t line = 0; !code && line < x->products * x->lines; line++) {
        unsigned char *to = x->host + (line / x->lines * x->stride + line % x->lines * x->leading) * bytes;
        if (g->is_normal)
            copy_normal(x, line * x->length + 7919 * which, to);
        else
            code = copy_source(g, x, to);
    }
    return code;
}

static double value(const gemm *g, unsigned which, uint64_t product, uint64_t row, uint64_t column) {
    const matrix  *x = &g->matrix[which];
    const uint64_t first = x->products > 1 ? product * x->stride : 0;
    const uint64_t at = first + (x->by_columns ? column * x->leading + row : row * x->leading + column);
    element        wide;
    element_widen(x->type, x->host + at * cj_dtype_size(x->type), 1, &wide);
    return element_number(x->type, wide);
}

// ---- the workload

static uint64_t skew_of(const matrix *x) { return x->align < ALIGNED_BYTES ? x->align : 0; }

static cj_ptr address_of(const matrix *x, unsigned copy) { return x->memory[copy] + skew_of(x); }

static uint64_t aligned(const matrix *x, uint64_t count) {
    const uint64_t unit = x->align / cj_dtype_size(x->type);
    return (count + unit - 1) / unit * unit;
}

// What the plan takes: at least an element's bytes.
static uint32_t align_of(const workload *w, const char *param, cj_dtype type) {
    const uint64_t own = cj_params_get(&w->params, param), all = cj_params_get(&w->params, "align");
    const uint32_t align = own ? 2u * ALIGNED_BYTES >> own : (uint32_t)ALIGNED_BYTES >> all, least = (uint32_t)cj_dtype_size(type);
    return align > least ? align : least;
}

static void shape_matrix(matrix *x, cj_dtype type, uint32_t align, uint64_t leading, bool by_columns, uint64_t rows, uint64_t columns,
                         uint64_t products) {
    *x = (matrix){.type = type,
                  .is_there = true,
                  .by_columns = by_columns,
                  .lines = by_columns ? columns : rows,
                  .length = by_columns ? rows : columns,
                  .products = products,
                  .align = align};
    x->leading = leading ? leading : aligned(x, x->length);
    x->stride = aligned(x, x->lines * x->leading);
}

static cj_dtype type_of(const workload *w, const char *param, cj_dtype otherwise) {
    char     word[16];
    cj_dtype type;
    return element_type(cj_params_word(&w->params, param, word, sizeof word), &type) ? type : otherwise;
}

static bool is_narrow(cj_dtype type) { return cj_dtype_size(type) == 1; }

static void read_types(const workload *w, cj_dtype type[MATRICES]) {
    type[A] = type_of(w, "dtype", CJ_BF16);
    type[B] = type_of(w, "dtype-b", type[A]);
    type[D] = type_of(w, "out", type[A] == CJ_TF32 ? CJ_F32 : is_integer(type[A]) ? CJ_I32 : is_narrow(type[A]) ? CJ_BF16 : type[A]);
    type[C] = type[BIAS] = is_narrow(type[D]) ? CJ_BF16 : type[D];
}

// Scales whose product is 1, of integers what undoes their spread, and one that brings random sums near 1, of i8 near 32. Sums that
// leave as they are have none.
static void choose_scales(gemm *g) {
    const cj_dtype a = g->matrix[A].type, d = g->matrix[D].type;
    const bool     scaled = is_narrow(a) && d != CJ_I32;
    g->scale[SCALE_A] = !scaled ? 1 : is_integer(a) ? 0x1p-11F : 0.5F;
    g->scale[SCALE_B] = scaled ? 2 : 1;
    g->scale[SCALE_D] = is_narrow(d) ? (float)exp2((d == CJ_I8 ? 5 : 0) - ceil(log2((double)g->k) / 2)) : 1;
}

static void read_params(const workload *w, gemm *g) {
    const bool     d = cj_params_get(&w->params, "d");
    const uint64_t shared = cj_params_get(&w->params, "shared");  // none a b c ac bc
    const bool     each[] = {shared != 1 && shared != 4, shared != 2 && shared != 5, shared < 3};
    cj_dtype       type[MATRICES];
    read_types(w, type);
    g->m = cj_params_get(&w->params, "m");
    g->n = cj_params_get(&w->params, "n");
    g->k = cj_params_get(&w->params, "k");
    g->batch = cj_params_get(&w->params, "batch");
    g->bias = (unsigned)cj_params_get(&w->params, "bias");
    g->activation = (cj_gemm_activation)cj_params_get(&w->params, "activation");
    const bool a = cj_params_get(&w->params, "a"), b = cj_params_get(&w->params, "b");
    const cj_params *p = &w->params;
    shape_matrix(&g->matrix[A], type[A], align_of(w, "align-a", type[A]), cj_params_get(p, "lda"), a, g->m, g->k, each[A] ? g->batch : 1);
    shape_matrix(&g->matrix[B], type[B], align_of(w, "align-b", type[B]), cj_params_get(p, "ldb"), b, g->k, g->n, each[B] ? g->batch : 1);
    shape_matrix(&g->matrix[C], type[C], align_of(w, "align-c", type[C]), cj_params_get(p, "ldc"), d, g->m, g->n, each[C] ? g->batch : 1);
    shape_matrix(&g->matrix[BIAS], type[BIAS], ALIGNED_BYTES, 0, false, 1, g->bias == 2 ? g->m : g->n, 1);
    shape_matrix(&g->matrix[D], type[D], align_of(w, "align-d", type[D]), cj_params_get(p, "ldd"), d, g->m, g->n, g->batch);
    g->matrix[C].is_there = cj_params_get(&w->params, "c");
    g->matrix[BIAS].is_there = g->bias;
    g->alpha = 1;
    g->beta = g->matrix[C].is_there ? 0.5F : 0;
    choose_scales(g);
    const matrix *x = g->matrix;
    g->desc = (cj_gemm_desc){CJ_INIT(cj_gemm_desc),   .lda = x[A].leading,     .ldb = x[B].leading,
                             .ldc = x[C].leading,     .ldd = x[D].leading,     .stride_a = x[A].stride,
                             .stride_b = x[B].stride, .stride_c = x[C].stride, .stride_d = x[D].stride};
}

// Computed in floating point, since whole numbers could wrap.
static int check_sizes(const gemm *g) {
    int code = CODE_OK;
    for (unsigned i = 0; !code && i < MATRICES; i++) {
        const matrix *x = &g->matrix[i];
        const double  elements = (double)x->products * (double)x->lines * (double)x->leading;
        if (x->is_there) code = workload_fits("m, n, k, batch", elements * (double)cj_dtype_size(x->type));
    }
    return code;
}

static cj_ptr place_of_scale(const gemm *g, unsigned which) { return g->scales + (cj_ptr)which * ALIGNED_BYTES; }

static int allocate(workload *w, gemm *g) {
    cj_error error;
    double   bytes = 0;
    for (unsigned i = 0; i < MATRICES; i++) {
        const matrix *x = &g->matrix[i];
        if (x->is_there) bytes += (double)bytes_of(x);
        if (i < D) w->bytes_read += elements_of(x) * (double)cj_dtype_size(x->type);
    }
    w->copies = workload_copies(w, bytes);
    w->bytes_written = elements_of(&g->matrix[D]) * (double)cj_dtype_size(g->matrix[D].type);
    w->operations = 2 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    w->unit = "FLOP";
    for (unsigned i = 0; i < MATRICES; i++) {
        matrix *x = &g->matrix[i];
        if (!x->is_there) continue;
        x->host = malloc(bytes_of(x));
        int code = x->host ? sets_alloc(w, skew_of(x) + bytes_of(x), &x->memory) : no_memory();
        if (code) return code;
    }
    if (cj_mem_alloc(w->device, SCALES * ALIGNED_BYTES, &g->scales, &error)) return message_failure(&error);
    for (unsigned i = 0; i < SCALES; i++)
        if (cj_mem_write(w->device, place_of_scale(g, i), &g->scale[i], sizeof g->scale[i], NULL, &error))
            return message_failure(&error);
    return CODE_OK;
}

static int send(const workload *w, const matrix *x) {
    cj_error error;
    for (unsigned copy = 0; copy < w->copies; copy++)
        if (cj_mem_write(w->device, address_of(x, copy), x->host, bytes_of(x), NULL, &error)) return message_failure(&error);
    return CODE_OK;
}

static int upload(workload *w, gemm *g) {
    int code = CODE_OK;
    for (unsigned i = 0; !code && i < D; i++) {
        const matrix *x = &g->matrix[i];
        if (!x->is_there) continue;
        code = fill_matrix(g, i);
        if (!code) code = send(w, x);
    }
    return code;
}

static int open_numbers(workload *w, gemm *g) {
    double wanted = 0;
    g->is_normal = !w->input && !w->fill;
    if (g->is_normal) return CODE_OK;
    for (unsigned i = 0; i < D; i++) wanted += elements_of(&g->matrix[i]);
    int code = source_open(&g->source, g->matrix[A].type, w->input, w->fill);
    if (!code && (double)g->source.available < wanted)
        code = message_error(CJ_INVALID_ARGUMENT, "'%s' holds only %" PRIu64 " elements of %.0f", g->source.name,
                             g->source.available, wanted);
    return code;
}

static int open_gemm(workload *w) {
    gemm *g = w->state = calloc(1, sizeof *g);
    if (!g) return no_memory();
    read_params(w, g);
    int code = workload_plan_check(w);  // lines that are too short end here, before they are filled
    if (!code) code = check_sizes(g);
    if (!code) code = open_numbers(w, g);
    if (!code) code = allocate(w, g);
    return code ? code : upload(w, g);
}

static void close_gemm(workload *w) {
    gemm *g = w->state;
    if (!g) return;
    for (unsigned i = 0; i < MATRICES; i++) {
        sets_free(w, g->matrix[i].memory);
        free(g->matrix[i].host);
    }
    for (unsigned i = MATRICES; i-- > 0;) free_normal(g, &g->matrix[i]);
    cj_mem_free(w->device, g->scales);
    free(g->expected);
    if (!g->is_normal) source_close(&g->source);
    free(g);
}

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const gemm *g = w->state;
    return cj_mem_fill(w->device, address_of(&g->matrix[D], copy), POISON, bytes_of(&g->matrix[D]), NULL, error);
}

static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    const gemm            *g = w->state;
    const matrix          *x = g->matrix;
    const cj_gemm_operands operands = {CJ_INIT(operands),
                                       .a = address_of(&x[A], copy),
                                       .b = address_of(&x[B], copy),
                                       .c = x[C].is_there ? address_of(&x[C], copy) : 0,
                                       .d = address_of(&x[D], copy),
                                       .alpha = g->alpha,
                                       .beta = g->beta,
                                       .bias = x[BIAS].is_there ? address_of(&x[BIAS], copy) : 0,
                                       .scale_a = place_of_scale(g, SCALE_A),
                                       .scale_b = place_of_scale(g, SCALE_B),
                                       .scale_d = place_of_scale(g, SCALE_D)};
    return cj_gemm_kernel_launch(w->device, kernel, &g->desc, &operands, stream, error);
}

// ---- the check

// The value as D stores it: a number that is too large for 8 bits becomes the largest one, in other types infinity.
static double in_range(cj_dtype type, double x) {
    if (is_integer(type)) return isnan(x) ? 0 : fmax(-128, fmin(127, x));
    const double most = type == CJ_E4M3 ? 448 : type == CJ_E5M2 ? 57344 : INFINITY;
    const double stored = element_stored(type, (element){.f = x}).f;
    if (fabs(x) > most) return copysign(most, x);
    return isinf(stored) ? stored : x;
}

static sum expected(const gemm *g, uint64_t product, uint64_t row, uint64_t column) {
    const double scale_d = g->scale[SCALE_D], alpha = (double)g->alpha * g->scale[SCALE_A] * g->scale[SCALE_B];
    const double c = g->matrix[C].is_there ? g->beta * value(g, C, product, row, column) : 0;
    const double bias = g->bias ? value(g, BIAS, 0, 0, g->bias == 2 ? row : column) : 0;
    long double  exact = 0;  // enough for products of f64, whose bound is below that of a sum in f64
    double       size = 0;
    for (uint64_t i = 0; i < g->k; i++) {
        const long double term = (long double)value(g, A, product, row, i) * value(g, B, product, i, column);
        exact += term;
        size += (double)fabsl(term);
    }
    if (g->matrix[D].type == CJ_I32) return (sum){(double)exact, size};
    return (sum){in_range(g->matrix[D].type, gemm_model_activated(g->activation, (double)(alpha * exact + c + bias)) * scale_d),
                 (fabs(alpha) * size + fabs(c) + fabs(bias)) * scale_d};
}

// How many elements are checked: all of a small product, else corners of the last product, and random elements.
static uint64_t checked(const gemm *g) {
    const double all = (double)g->m * (double)g->n * (double)g->batch;
    return all < SAMPLES ? (uint64_t)all : SAMPLES;
}

static place place_of(const gemm *g, uint64_t i) {
    if (checked(g) < SAMPLES) return (place){i / g->m / g->n, i / g->n % g->m, i % g->n};
    if (i < CORNERS) return (place){g->batch - 1, i % 2 ? g->m - 1 : 0, i / 2 ? g->n - 1 : 0};
    return (place){i % g->batch, random_bits(2 * i) % g->m, random_bits(2 * i + 1) % g->n};
}

static int expect(gemm *g) {
    if (g->expected) return CODE_OK;
    g->expected = malloc(SAMPLES * sizeof *g->expected);
    if (!g->expected) return no_memory();
    for (uint64_t i = 0; i < checked(g); i++) {
        const place at = place_of(g, i);
        g->expected[i] = expected(g, at.product, at.row, at.column);
    }
    return CODE_OK;
}

// Half of D's smallest number: the rounding error of results below its normal numbers, and of all integers.
static double least_rounding(cj_dtype type) {
    switch (type) {
    case CJ_E4M3: return 0x1p-10;
    case CJ_E5M2: return 0x1p-17;
    case CJ_F16: return 0x1p-25;
    case CJ_I8: return 0.5;
    default: return 0;  // types with 8 bits of exponent: smaller than any product of f32 that is not 0
    }
}

static void check_element(const gemm *g, place at, sum want, workload_verdict *verdict) {
    const double got = value(g, D, at.product, at.row, at.column), away = fabs(got - want.value);
    const double beyond = away <= least_rounding(g->matrix[D].type) ? 0 : away - least_rounding(g->matrix[D].type);
    const double error = isnan(want.value) && isnan(got)    ? 0
                         : got == want.value || beyond == 0 ? 0
                                                            : beyond / want.size;
    if (!(error <= verdict->error)) verdict->error = error;
    if (error <= verdict->bound || !verdict->ok) return;
    verdict->ok = false;
    snprintf(verdict->text, sizeof verdict->text,
             "D(%" PRIu64 ", %" PRIu64 ") of product %" PRIu64 " is %.9g, not %.9g", at.row, at.column, at.product, got,
             want.value);
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    gemm         *g = w->state;
    const matrix *d = &g->matrix[D];
    cj_error      error;
    if (cj_mem_read(w->device, d->host, address_of(d, copy), bytes_of(d), NULL, &error)) return message_failure(&error);
    *verdict = (workload_verdict){.ok = true, .bound = cj_kernel_plan(kernel)->error_bound};
    int code = expect(g);
    for (uint64_t i = 0; !code && i < checked(g); i++) check_element(g, place_of(g, i), g->expected[i], verdict);
    return code;
}

// ---- what run shows

static void print(const workload *w, const cj_kernel *kernel) {
    const gemm *g = w->state;
    const sum   want = expected(g, g->batch - 1, g->m - 1, g->n - 1);
    printf("D: %" PRIu64 " x %" PRIu64 ", K: %" PRIu64 ", kernel: %s\n", g->m, g->n, g->k,
           cj_kernel_plan(kernel)->entry);
    printf("Last element: %.9g (expected %.9g)\n", value(g, D, g->batch - 1, g->m - 1, g->n - 1), want.value);
    printf("Elements checked: %" PRIu64 "\n", checked(g));
}

static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const gemm *g = w->state;
    const sum   want = expected(g, g->batch - 1, g->m - 1, g->n - 1);
    json_object_set_new(object, "expected", json_pack("{s:f}", "last", want.value));
    json_object_set_new(object, "result",
                        json_pack("{s:f, s:o, s:s}", "last", value(g, D, g->batch - 1, g->m - 1, g->n - 1), "checked",
                                  output_json_uint(checked(g)), "kernel", cj_kernel_plan(kernel)->entry));
}

// ---- cuBLAS

// The matrices in the layout of our kernels; names what cuBLAS does not support.
static const char *lacks(const gemm *g) {
    const unsigned along_lines = g->matrix[D].by_columns ? 2 : 1;
    const matrix  *x = g->matrix;
    if (is_integer(x[A].type) != is_integer(x[D].type) || x[D].type == CJ_I8 || x[A].type == CJ_U8 || x[B].type == CJ_U8)
        return "of integers it has products of i8 in i32 alone";
    if (g->activation == CJ_GEMM_SILU) return "it has no silu";
    if (g->bias && g->bias != along_lines) return "it adds a bias along the lines of D only";
    return NULL;
}

static void describe(const gemm *g, cublas_problem *problem) {
    static const unsigned          from[CUBLAS_MATRICES] = {A, B, C, D};
    static const cublas_activation activations[] = {CUBLAS_NONE, CUBLAS_RELU, CUBLAS_GELU};
    *problem = (cublas_problem){.batch = g->batch,
                                .alpha = g->alpha,
                                .beta = g->beta,
                                .has_bias = g->bias,
                                .bias_type = g->matrix[BIAS].type,
                                .activation = activations[g->activation],
                                .scale_a = place_of_scale(g, SCALE_A),
                                .scale_b = place_of_scale(g, SCALE_B),
                                .scale_d = place_of_scale(g, SCALE_D)};
    for (unsigned i = 0; i < CUBLAS_MATRICES; i++) {
        const matrix *x = &g->matrix[from[i]];
        problem->matrix[i] = (cublas_matrix){x->type,   x->by_columns, x->lines,
                                             x->length, x->leading,    x->products > 1 ? x->stride : 0,
                                             (uint32_t)skew_of(x)};
    }
}

static int open_cublas(workload *w, peer_facts *facts) {
    gemm          *g = w->state;
    cublas_problem problem;
    const char    *lack = lacks(g);
    *facts = (peer_facts){0};
    if (lack) {
        snprintf(facts->absent, sizeof facts->absent, "%s", lack);
        return CODE_OK;
    }
    describe(g, &problem);
    g->cublas = cublas_open(w->device, &problem, &facts->ways, facts->absent, sizeof facts->absent);
    const size_t version = g->cublas ? cublas_version(g->cublas) : 0;
    snprintf(facts->version, sizeof facts->version, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    return CODE_OK;
}

static void close_cublas(workload *w) {
    gemm *g = w->state;
    cublas_close(g->cublas);
    g->cublas = NULL;
}

static cj_status launch_cublas(workload *w, unsigned way, unsigned copy, cj_stream stream, cj_error *error) {
    const gemm           *g = w->state;
    const matrix         *x = g->matrix;
    const cublas_operands operands = {
        .matrix = {address_of(&x[A], copy), address_of(&x[B], copy), x[C].is_there ? address_of(&x[C], copy) : 0, address_of(&x[D], copy)},
        .bias = x[BIAS].is_there ? address_of(&x[BIAS], copy) : 0};
    return cublas_launch(g->cublas, way, &operands, stream, error);
}

static const workload_peer peer_cublas = {
    .name = "cuBLAS",
    .open = open_cublas,
    .close = close_cublas,
    .launch = launch_cublas,
};

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const gemm   *g = w->state;
    const matrix *d = &g->matrix[D];
    const bool    batch = g->batch > 1;
    (void)kernel;
    workload_output found = {
        .name = "d", .type = d->type, .at = address_of(d, 0), .dims = 2 + batch, .extent = {g->batch}, .stride = {d->stride}};
    found.extent[batch] = g->m, found.stride[batch] = d->by_columns ? 1 : d->leading;
    found.extent[batch + 1] = g->n, found.stride[batch + 1] = d->by_columns ? d->leading : 1;
    list[0] = found;
    return 1;
}

const workload_type work_gemm = {
    .family = "gemm",
    .open = open_gemm,
    .close = close_gemm,
    .poison = poison,
    .launch = launch,
    .check = check,
    .print = print,
    .json = json,
    .outputs = outputs,
    .peer = &peer_cublas,
};
