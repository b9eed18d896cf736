// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of the forms mma and skinny is needed, and the CPU device sees that it is missing (mutation.h). The kernels
// themselves run under many schedules without a report.
#include <clusterjit/clusterjit.h>
#include <string.h>

#include "emit.h"
#include "mma.h"
#include "mutation.h"
#include "skinny.h"

enum { SEEDS = 12, BYTES = 1 << 17, ARGUMENTS_MAX = 32 };

// Each stage is used more than once; more stages than steps; parts, one of them without a step; C, which is D.
static const char *const kernels[] = {
    "form=mma m=70 n=70 k=330 tile=64x64 stages=2",
    "form=mma m=60 n=60 k=450 tile=64x64 stages=3 a=column b=column c=yes",
    "form=mma m=30 n=130 k=130 tile=16x128 stages=4 dtype=tf32 b=column bias=n",
    "form=mma m=70 n=70 k=260 tile=64x64 stages=3 parts=4 batch=2 shared=b",
    "form=mma m=60 n=70 k=700 tile=32x128 stages=3 dtype=e4m3 b=column out=e4m3 c=yes parts=2",
    "form=mma m=41 n=43 k=199 tile=64x64 stages=2 align=2 c=yes",
    "form=mma m=60 n=70 k=700 tile=32x128 stages=3 dtype=i8 dtype-b=u8 b=column parts=2",
    "form=mma m=33 n=37 k=397 tile=64x64 stages=2 align=1 dtype=e4m3 b=column parts=2",
    "form=mma m=61 n=70 k=331 tile=64x64 stages=3 align-a=4 align-b=2 parts=1",
    "form=mma m=70 n=60 k=83 tile=64x64 stages=2 dtype=f64 c=yes",
    "form=mma m=30 n=60 k=130 tile=16x128 stages=3 dtype=f64 a=column b=column parts=3 bias=n align=8",
    "form=skinny m=10 n=70 k=328 b=column tile=16x64 c=yes",
};

typedef struct kernel {
    cj_params  params;
    cj_plan    plan;
    gemm_shape shape;
    char      *ptx;
    cj_ptr     at[GEMM_MAPS], workspace;
    uint64_t   leading[GEMM_MAPS], stride[GEMM_MAPS];
} kernel;

// Small numbers of a type, of which no two lines have the same: from 0.5 on, of 8 bits from 0.125 to 2.
static void fill(const gemm_type *type, unsigned char *to) {
    uint64_t random = 1;
    for (size_t i = 0; i < BYTES; i += type->bytes) {
        const uint64_t bits = cj_test_random(&random);
        const double   wide = 0.5 + (double)(bits >> 11) * 0x1p-54;
        const uint32_t number = type->bytes == 1   ? (uint32_t)(0x20 + bits % 32)
                                : type->bytes == 2 ? (uint32_t)(0x3f00 + bits % 256)
                                                   : (uint32_t)(0x3f000000 + bits % (1 << 24));
        memcpy(to + i, type->bytes == 8 ? (const void *)&wide : &number, type->bytes);
    }
}

static void open_kernel(const char *words, kernel *k) {
    static unsigned char numbers[BYTES];
    cj_error             error = {0};
    cj_test_ok(cj_test_params("gemm", words, &k->params, &error), &error);
    cj_test_ok(cj_plan_make(&k->params, cj_device_limits(cj_test_device), NULL, &k->plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k->plan, &k->ptx, NULL, &error), &error);
    (strstr(words, "form=skinny") ? cj__skinny_read : cj__mma_read)(&k->plan.params, &k->shape);
    for (unsigned i = 0; i < GEMM_MAPS; i++) {
        gemm_map map;
        cj__gemm_map(&k->shape, i, &map);
        k->leading[i] = (map.length * map.type->bytes + map.align - 1) / map.align * map.align / map.type->bytes;
        k->stride[i] = k->leading[i] * map.dims[1];
        assert_true(k->stride[i] * map.type->bytes * (map.rank > 2 ? map.dims[2] : 1) <= BYTES);
        fill(map.type, numbers);
        cj_test_ok(cj_mem_alloc(cj_test_device, BYTES, &k->at[i], &error), &error);
        cj_test_ok(cj_mem_write(cj_test_device, k->at[i], numbers, BYTES, NULL, &error), &error);
    }
    cj_test_ok(cj_mem_alloc(cj_test_device, k->plan.workspace_bytes + 1, &k->workspace, &error), &error);
}

static void close_kernel(kernel *k) {
    for (unsigned i = 0; i < GEMM_MAPS; i++) cj_mem_free(cj_test_device, k->at[i]);
    cj_mem_free(cj_test_device, k->workspace);
    cj_text_free(k->ptx);
}

// C's numbers are the bias too. Where C has D's type it is D, so that it must be read before it is written.
static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    kernel              *k = specimen->user;
    const gemm_type     *type = k->shape.d_type;
    const bool           in_place = k->shape.adds_c && k->shape.c_type == type;
    float                alpha = 0.5F, beta = 2;
    double               wide_alpha = 0.5, wide_beta = 2;
    const bool           is_f64 = type->bytes == 8;
    cj_ptr               no_scale = 0, d = k->at[GEMM_MAP_D];
    void                *arguments[ARGUMENTS_MAX];
    uint32_t             count = 0;
    static unsigned char numbers[BYTES];
    for (unsigned i = 0; i < GEMM_MAPS; i++) arguments[count++] = i == GEMM_MAP_C && in_place ? &d : &k->at[i];
    for (unsigned i = 0; i < GEMM_MAPS; i++) arguments[count++] = &k->leading[i];
    for (unsigned i = 0; i < GEMM_MAPS; i++) arguments[count++] = &k->stride[i];
    void *const scalars[] = {is_f64 ? (void *)&wide_alpha : &alpha, is_f64 ? (void *)&wide_beta : &beta, &k->at[GEMM_MAP_C], &no_scale, &no_scale, &no_scale};
    for (size_t i = 0; i < CJ_TEST_COUNT(scalars); i++) arguments[count++] = scalars[i];
    for (uint32_t i = 0; i < k->plan.derived_count; i++) arguments[count++] = &k->plan.derived[i];
    arguments[count++] = &k->workspace;
    cj_launch_config config = {CJ_INIT(config),
                               .function = function,
                               .grid = k->plan.grid,
                               .block = k->plan.block,
                               .dynamic_shared = k->plan.dynamic_shared,
                               .arguments = arguments,
                               .argument_count = count};
    fill(type, numbers);
    cj_status status = cj_mem_write(cj_test_device, d, numbers, BYTES, NULL, error);
    if (!status) status = cj_mem_fill(cj_test_device, k->workspace, 0, k->plan.workspace_bytes + 1, NULL, error);
    if (!status) status = cj_launch(cj_test_device, &config, error);
    if (!status) status = cj_mem_read(cj_test_device, out, d, BYTES, NULL, error);
    return status;
}

static cj_specimen open_specimen(const char *words) {
    static kernel one;  // one specimen is open at a time
    kernel       *k = &one;
    *k = (kernel){0};
    open_kernel(words, k);
    return (cj_specimen){.words = words, .ptx = k->ptx, .entry = k->plan.entry, .bytes = BYTES, .run = run, .user = k};
}

static void close_specimen(const cj_specimen *specimen) { close_kernel(specimen->user); }

enum { SHARE = CJ_TEST_COUNT(kernels) };  // under a sanitizer one kernel

static const cj_specimens specimens = {
    .words = kernels, .count = CJ_TEST_COUNT(kernels), .share = SHARE, .open = open_specimen, .close = close_specimen};

int main(void) { return cj_mutation_main(&specimens, SEEDS); }
