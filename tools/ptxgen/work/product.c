// SPDX-License-Identifier: Apache-2.0
// gemm on several GPUs (--gpus): cj_gpus_gemm_reduce_scatter or cj_gpus_all_gather_gemm, which plan the product of a chunk themselves. Some
// elements of each GPU are compared with sums in double; all of them where the matrices are small.
#include <clusterjit/gpus.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "families.h"
#include "message.h"
#include "output.h"
#include "ranks.h"
#include "workload.h"

enum { POISON = 0xa5, SHOWN = 8, CHECKED = 4096 };

enum { A, B, OUT, MATRICES };

typedef struct product {
    cj_gpus_gemm_desc desc;
    bool              gathers;
    cj_dtype          stored;           // the type in memory: f32 of tf32
    uint64_t          count[MATRICES];  // elements of a GPU
    ranks             ranks;
    cj_ptr            at[MATRICES][CJ_GPUS_MAX];
    unsigned char    *found;            // out of a GPU
} product;

static int no_memory(void) { return message_error(CJ_OUT_OF_MEMORY, "no host memory for the matrices of several GPUs"); }

// Element i of a matrix of all GPUs: eighths from -1 to 1, which are exact in every type, from splitmix64.
static double value_at(unsigned which, uint64_t i) {
    uint64_t z = (2 * i + which + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(int)((z ^ z >> 31) % 17) / 8 - 1;
}

// ---- the problem

// What the calls take of the family's parameters.
static int check_given(const workload *w) {
    static const char *const known[] = {"m", "n", "k", "dtype", "b"};
    for (size_t i = 0; i < cj_family_param_count(w->params.family); i++) {
        const char *name = cj_family_param(w->params.family, i)->name;
        bool        is_known = !w->given[i];
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) is_known = is_known || !strcmp(name, known[k]);
        if (!is_known)
            return message_error(CJ_INVALID_ARGUMENT, "--%s is for one GPU\nproducts of several GPUs take --m, --n, --k, --dtype, --b, --collective and --chunks",
                                 name);
    }
    if (w->forms)
        return message_error(CJ_INVALID_ARGUMENT, "products of several GPUs plan their kernels themselves, so there are no forms to compare\n"
                                                  "ptxgen bench measures one");
    if (w->fill || w->input) return message_error(CJ_INVALID_ARGUMENT, "products of several GPUs make up their input\nleave --input and --fill out");
    return CODE_OK;
}

static int describe(const workload *w, product *p) {
    const char *collective = w->collective ? w->collective : "reduce-scatter";
    p->gathers = !strcmp(collective, "all-gather");
    if (!p->gathers && strcmp(collective, "reduce-scatter"))
        return message_error(CJ_INVALID_ARGUMENT, "--collective is '%s'; it must be reduce-scatter or all-gather", collective);
    p->desc = (cj_gpus_gemm_desc){CJ_INIT(p->desc), .m = cj_params_get(&w->params, "m"), .n = cj_params_get(&w->params, "n"),
                                  .k = cj_params_get(&w->params, "k"), .dtype = workload_dtype(w),
                                  .b = workload_has_word(w, "b", "column") ? CJ_GEMM_COLUMN : CJ_GEMM_ROW, .chunks = w->chunks};
    p->stored = p->desc.dtype == CJ_TF32 ? CJ_F32 : p->desc.dtype;
    p->count[A] = (p->gathers ? p->desc.m / w->gpus : p->desc.m) * p->desc.k;
    p->count[B] = p->desc.k * p->desc.n;
    p->count[OUT] = (p->gathers ? p->desc.m : p->desc.m / w->gpus) * p->desc.n;
    return CODE_OK;
}

static int fill_matrix(const product *p, unsigned which, uint32_t i) {
    const uint64_t size = cj_dtype_size(p->stored), first = (p->ranks.first + i) * p->count[which];
    unsigned char *host = malloc((size_t)(p->count[which] * size) + 1);
    cj_error       error;
    if (!host) return no_memory();
    for (uint64_t k = 0; k < p->count[which]; k++) {
        const element one = {.f = value_at(which, first + k)};
        element_narrow(p->stored, &one, 1, host + k * size);
    }
    const cj_status status = cj_mem_write(p->ranks.device[i], p->at[which][i], host, (size_t)(p->count[which] * size), NULL, &error);
    free(host);
    return status ? message_failure(&error) : CODE_OK;
}

static int allocate(workload *w, product *p) {
    const uint64_t size = cj_dtype_size(p->stored);
    cj_error       error;
    int            code = CODE_OK;
    p->found = malloc((size_t)(p->count[OUT] * size) + 1);
    if (!p->found) return no_memory();
    for (unsigned which = 0; which < MATRICES; which++)
        if (cj_gpus_alloc(p->ranks.gpus, (size_t)(p->count[which] * size) + 16, p->at[which], &error)) return message_failure(&error);
    for (unsigned which = A; which <= B; which++)
        for (uint32_t i = 0; i < p->ranks.local && !code; i++) code = fill_matrix(p, which, i);
    w->copies = 1;
    w->bytes_read = (double)((p->count[A] + p->count[B]) * size);
    w->bytes_written = (double)(p->count[OUT] * size);
    w->operations = 2.0 * (double)p->desc.m * (double)p->desc.n * (double)p->desc.k;
    w->unit = "FLOP";
    return code;
}

static int open_gemm(workload *w) {
    product *p = w->state = calloc(1, sizeof *p);
    if (!p) return no_memory();
    int code = check_given(w);
    if (!code) code = workload_plan_check(w);
    if (!code) code = describe(w, p);
    if (!code) code = ranks_open(w, w->gpus, &p->ranks);
    return code ? code : allocate(w, p);
}

static void close_gemm(workload *w) {
    product *p = w->state;
    if (!p) return;
    for (unsigned which = 0; which < MATRICES; which++) cj_gpus_free(p->ranks.gpus, p->at[which]);
    ranks_close(&p->ranks);
    free(p->found);
    free(p);
}

// ---- launches

static cj_status poison(workload *w, unsigned copy, cj_error *error) {
    const product *p = w->state;
    cj_status      status = CJ_OK;
    (void)copy;
    for (uint32_t i = 0; i < p->ranks.local && !status; i++)
        status = cj_mem_fill(p->ranks.device[i], p->at[OUT][i], POISON, (size_t)p->count[OUT] * cj_dtype_size(p->stored), NULL, error);
    return status;
}

// Rank 0 launches on `stream`, the others on their default stream. The command's kernel, of the whole product, is not used.
static cj_status launch(workload *w, cj_kernel *kernel, unsigned copy, cj_stream stream, cj_error *error) {
    product        *p = w->state;
    const cj_stream streams[CJ_GPUS_MAX] = {stream};
    (void)kernel, (void)copy;
    return (p->gathers ? cj_gpus_all_gather_gemm : cj_gpus_gemm_reduce_scatter)(p->ranks.gpus, &p->desc, p->at[A], p->at[B], p->at[OUT],
                                                                                streams, error);
}

// ---- results

static double product_at(const product *p, uint32_t q, uint64_t row, uint64_t column) {
    const uint64_t n = p->desc.n, k = p->desc.k, a = (p->gathers ? 0 : q * p->count[A]) + row * k, b = q * p->count[B];
    double         sum = 0;
    for (uint64_t i = 0; i < k; i++)
        sum += value_at(A, a + i) * value_at(B, b + (p->desc.b == CJ_GEMM_COLUMN ? column * k + i : i * n + column));
    return sum;
}

// Element `at` of GPU r, and how far it may be off: each product is rounded to its type, and so is their sum.
static double expected_at(const product *p, uint32_t r, uint64_t at, double *bound) {
    const double   half_ulp = p->stored == CJ_BF16 ? 0x1p-8 : p->stored == CJ_F16 ? 0x1p-11 : 0x1p-22;
    const uint64_t row = at / p->desc.n, column = at % p->desc.n;
    double         sum = 0, size = 0;
    for (uint32_t q = 0; q < (p->gathers ? 1 : p->ranks.count); q++) {
        const double one = product_at(p, p->gathers ? r : q, p->gathers ? row : r * (p->desc.m / p->ranks.count) + row, column);
        sum += one;
        size += (p->gathers ? 1 : 2) * fabs(one);
    }
    *bound = 1.01 * half_ulp * size + (double)p->desc.k * 0x1p-20;
    return sum;
}

static double found_at(const product *p, uint64_t at) {
    element value;
    element_widen(p->stored, p->found + at * cj_dtype_size(p->stored), 1, &value);
    return value.f;
}

static int read_out(const product *p, uint32_t i) {
    cj_error error;
    if (cj_mem_read(p->ranks.device[i], p->found, p->at[OUT][i], (size_t)p->count[OUT] * cj_dtype_size(p->stored), NULL, &error) ||
        cj_synchronize(p->ranks.device[i], NULL, &error))
        return message_failure(&error);
    return CODE_OK;
}

static void check_one(const product *p, uint32_t r, uint64_t at, workload_verdict *verdict) {
    double       bound;
    const double expected = expected_at(p, r, at, &bound), error = fabs(found_at(p, at) - expected);
    if (error > verdict->error || verdict->bound == 0) verdict->error = error, verdict->bound = bound;
    if (error <= bound) return;
    if (verdict->ok)
        snprintf(verdict->text, sizeof verdict->text, "element (%" PRIu64 ", %" PRIu64 ") of GPU %" PRIu32 " is %g, not %g", at / p->desc.n,
                 at % p->desc.n, r, found_at(p, at), expected);
    verdict->ok = false;
}

static int check(workload *w, const cj_kernel *kernel, unsigned copy, workload_verdict *verdict) {
    const product *p = w->state;
    cj_error       error;
    (void)kernel, (void)copy;
    *verdict = (workload_verdict){.ok = true};
    if (cj_gpus_check(p->ranks.gpus, &error)) return message_failure(&error);
    for (uint32_t i = 0; i < p->ranks.local; i++) {
        const int      code = read_out(p, i);
        const uint64_t step = p->count[OUT] > CHECKED ? p->count[OUT] / CHECKED | 1 : 1;
        if (code) return code;
        for (uint64_t at = 0; at < p->count[OUT]; at += step) check_one(p, p->ranks.first + i, at, verdict);
    }
    return CODE_OK;
}

static void print(const workload *w, const cj_kernel *kernel) {
    const product *p = w->state;
    double         bound;
    (void)kernel;
    printf("GPUs: %" PRIu32 ", %s, %" PRIu64 " x %" PRIu64 " x %" PRIu64 " of each\n", p->ranks.count,
           p->gathers ? "all-gather, then the product" : "the product, then reduce-scatter", p->desc.m, p->desc.n, p->desc.k);
    for (uint32_t i = 0; i < p->ranks.local && !read_out(p, i); i++) {
        printf("Result of GPU %" PRIu32 ":", p->ranks.first + i);
        for (uint64_t at = 0; at < p->count[OUT] && at < SHOWN; at++) printf(" %.6g", found_at(p, at));
        printf("%s, expected", p->count[OUT] > SHOWN ? " …" : "");
        for (uint64_t at = 0; at < p->count[OUT] && at < SHOWN; at++) printf(" %.6g", expected_at(p, p->ranks.first + i, at, &bound));
        puts(p->count[OUT] > SHOWN ? " …" : "");
    }
}

// Of the first GPU of this process: the first row.
static void json(const workload *w, const cj_kernel *kernel, json_t *object) {
    const product *p = w->state;
    json_t        *expected = json_array(), *result = json_array();
    double         bound;
    (void)kernel;
    for (uint64_t at = 0; at < p->desc.n && !read_out(p, 0); at++) {
        json_array_append_new(expected, json_real(expected_at(p, p->ranks.first, at, &bound)));
        json_array_append_new(result, json_real(found_at(p, at)));
    }
    json_object_set_new(object, "gpus", json_integer((json_int_t)p->ranks.count));
    json_object_set_new(object, "expected", expected);
    json_object_set_new(object, "result", result);
}

static unsigned outputs(const workload *w, const cj_kernel *kernel, workload_output *list) {
    const product *p = w->state;
    (void)kernel;
    list[0] = (workload_output){.name = "out", .type = p->stored, .at = p->at[OUT][0], .dims = 2,
                                .extent = {p->count[OUT] / p->desc.n, p->desc.n}, .stride = {p->desc.n, 1}};
    return 1;
}

const workload_type work_whole_gemm = {.family = "gemm", .open = open_gemm, .close = close_gemm, .poison = poison, .launch = launch,
                                       .check = check, .print = print, .json = json, .outputs = outputs};
