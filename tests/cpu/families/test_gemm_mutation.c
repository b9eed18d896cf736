// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of the matrix product is needed, and the CPU device sees that it is missing
// (mutation.h). The kernels themselves run under many schedules without a report.
#include <clusterjit/clusterjit.h>
#include <string.h>

#include "emit.h"
#include "gemm.h"
#include "mutation.h"

enum { SEEDS = 12, BYTES = 1 << 18, ARGUMENTS_MAX = 24 };

// A grid of one cluster makes all tiles: the stages are used again, and results are stored after other tiles' steps. Where K is
// shared, the grid stays.
static const char *const kernels[] = {
    "m=190 n=76 k=200 tile=64x64 cluster=2 cluster-n=1 stages=2",
    "m=70 n=190 k=130 tile=64x64 cluster=1 cluster-n=2 stages=2 a=column c=yes",
    "m=60 n=384 k=200 tile=64x128 consumers=together cluster=0 stages=3",
    "m=60 n=320 k=260 tile=64x128 consumers=together cluster=1 cluster-n=1 stages=2 split=1 parts=1 c=yes",
    "m=60 n=70 k=700 tile=64x64 cluster=1 cluster-n=1 stages=2 split=2 parts=2",
    "m=60 n=120 k=380 tile=64x64 cluster=1 cluster-n=2 stages=2 split=2 parts=1 c=yes",
    "m=60 n=120 k=380 tile=64x64 cluster=1 cluster-n=2 stages=2 split=2 parts=1 sums=stages",
    "m=180 n=200 k=600 tile=64x128 consumers=together cluster=1 cluster-n=2 stages=2 split=1 parts=1 dtype=e4m3 b=column out=e4m3 "
    "c=yes bias=n",
    "m=9 n=250 k=200 tile=64x64 cluster=1 cluster-n=1 stages=2 split=1 parts=1 b=column",
    "m=9 n=500 k=200 tile=64x64 cluster=1 cluster-n=2 stages=2 split=1 parts=1 b=column",
    "m=72 n=248 k=200 tile=64x64 cluster=2 cluster-n=1 stages=2 split=1 parts=1 b=column",
    "m=300 n=100 k=330 tile=64x64 cluster=1 cluster-n=1 stages=2 split=1 parts=1 consumers=in-turn c=yes",
    "m=100 n=381 k=330 tile=64x192 consumers=together cluster=1 cluster-n=1 stages=2 split=1 parts=1 c=yes",
    "m=100 n=287 k=400 tile=64x96 cluster=1 cluster-n=1 stages=2 split=1 parts=1 b=column",
    "m=100 n=287 k=800 tile=64x96 cluster=1 cluster-n=1 stages=2 split=1 parts=1 dtype=e4m3 b=column out=e4m3 c=yes",
    "m=300 n=253 k=300 tile=192x128 cluster=1 cluster-n=1 stages=2 split=1 parts=1 b=column c=yes",
    "m=200 n=252 k=130 tile=192x128 cluster=1 cluster-n=1 stages=2 split=1 parts=1 b=column out=f32 c=yes",
    "m=60 n=510 k=130 tile=64x256 consumers=together cluster=1 cluster-n=1 stages=2 split=1 parts=1 c=yes",
    "m=60 n=300 k=100 tile=64x256 consumers=together cluster=1 cluster-n=1 stages=2 split=1 parts=1 out=f32 c=yes batch=2 shared=b",
    "m=150 n=130 k=200 swap=yes tile=64x96 consumers=together cluster=1 cluster-n=1 stages=2 split=1 parts=1 b=column c=yes",
    "m=80 n=381 k=260 swap=yes tile=64x96 consumers=together cluster=2 cluster-n=1 stages=2 split=1 parts=1 c=yes",
    "m=70 n=131 k=330 swap=yes tile=64x128 consumers=in-turn cluster=1 cluster-n=1 stages=2 split=1 parts=1 out=f32 c=yes b=column",
    "m=88 n=252 k=260 swap=yes tile=64x96 consumers=together cluster=1 cluster-n=1 stages=2 split=1 parts=1 b=column",
    "m=88 n=60 k=600 swap=yes tile=64x96 cluster=1 cluster-n=1 stages=2 split=2 parts=2",
    "m=60 n=120 k=2100 tile=64x64 cluster=1 cluster-n=2 stages=2 split=2 parts=2 dtype=i8 b=column",
    "m=180 n=200 k=600 tile=64x128 consumers=together cluster=1 cluster-n=2 stages=2 split=1 parts=1 dtype=u8 b=column out=i8 c=yes bias=n",
    "m=72 n=60 k=900 swap=yes tile=64x96 cluster=1 cluster-n=2 stages=2 split=2 parts=2 c=yes",
};

typedef struct kernel {
    cj_params  params;
    cj_plan    plan;
    gemm_shape shape;
    char      *ptx;
    cj_ptr     at[GEMM_MAPS], workspace;
} kernel;

// Small numbers of a type, of which no two lines have the same: from 0.5 on, of 8 bits from 0.125 to 2.
static void fill(const gemm_type *type, unsigned char *to) {
    uint64_t random = 1;
    for (size_t i = 0; i < BYTES; i += type->bytes) {
        const uint64_t bits = cj_test_random(&random);
        const uint32_t number = type->bytes == 1   ? (uint32_t)(0x20 + bits % 32)
                                : type->bytes == 2 ? (uint32_t)(0x3f00 + bits % 256)
                                                   : (uint32_t)(0x3f000000 + bits % (1 << 24));
        memcpy(to + i, &number, type->bytes);
    }
}

static void open_kernel(const char *words, kernel *k) {
    static unsigned char numbers[BYTES];
    cj_error             error = {0};
    cj_test_ok(cj_test_params("gemm", words, &k->params, &error), &error);
    cj_test_ok(cj_plan_make(&k->params, cj_device_limits(cj_test_device), NULL, &k->plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k->plan, &k->ptx, NULL, &error), &error);
    cj__gemm_read(&k->plan.params, &k->shape);
    if (!cj__gemm_is_split(&k->shape)) k->plan.grid.x = k->plan.cluster.x ? k->plan.cluster.x : 1;
    for (unsigned i = 0; i < GEMM_MAPS; i++) {
        gemm_map map;
        cj__gemm_map(&k->shape, i, &map);
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

static uint64_t line_bytes(const kernel *k, unsigned which) {
    gemm_map m;
    cj__gemm_map(&k->shape, which, &m);
    return (m.length * m.type->bytes + 15) / 16 * 16;
}

static cj_status encode(const kernel *k, unsigned which, cj_tensormap *map, cj_error *error) {
    static const uint32_t ones[] = {1, 1, 1};
    gemm_map              m;
    cj__gemm_map(&k->shape, which, &m);
    const uint64_t line = line_bytes(k, which), strides[] = {line, line * m.dims[1]};
    assert_true(strides[1] * (m.rank > 2 ? m.dims[2] : 1) <= BYTES);
    if (which == GEMM_MAP_C && !k->shape.adds_c) which = GEMM_MAP_D;
    return cj_tensormap_encode_tiled(cj_test_device, map, m.type->in_map, m.rank, k->at[which], m.dims, strides, m.box,
                                     ones, CJ_TENSORMAP_INTERLEAVE_NONE, m.swizzle, CJ_TENSORMAP_L2_NONE,
                                     CJ_TENSORMAP_FILL_ZEROS, error);
}

// C's numbers are the bias too.
static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    kernel      *k = specimen->user;
    cj_tensormap map[GEMM_MAPS];
    cj_status    status = CJ_OK;
    float        alpha = 0.5F, beta = 2;
    uint64_t     leading = line_bytes(k, GEMM_MAP_D) / k->shape.d_type->bytes, stride = leading * cj__gemm_lines(&k->shape);
    cj_ptr       no_scale = 0;
    void        *arguments[ARGUMENTS_MAX] = {&map[0],   &map[1],   &map[2],  &map[3], &alpha, &beta, &k->at[GEMM_MAP_C],
                                             &no_scale, &no_scale, &no_scale};
    uint32_t     count = 10;
    if (cj__gemm_has_tail(&k->shape)) {
        arguments[count++] = &k->at[GEMM_MAP_D];
        arguments[count++] = &leading;
        arguments[count++] = &stride;
    }
    for (uint32_t i = 0; i < k->plan.derived_count; i++) arguments[count++] = &k->plan.derived[i];
    arguments[count++] = &k->workspace;
    for (unsigned i = 0; !status && i < GEMM_MAPS; i++) status = encode(k, i, &map[i], error);
    cj_launch_config config = {
        CJ_INIT(config),        .function = function,       .grid = k->plan.grid,
        .block = k->plan.block, .cluster = k->plan.cluster, .dynamic_shared = k->plan.dynamic_shared,
        .nonportable = true,    .arguments = arguments,     .argument_count = count};
    if (!status) status = cj_mem_fill(cj_test_device, k->at[GEMM_MAP_D], 0xa5, BYTES, NULL, error);
    if (!status) status = cj_mem_fill(cj_test_device, k->workspace, 0, k->plan.workspace_bytes + 1, NULL, error);
    if (!status) status = cj_launch(cj_test_device, &config, error);
    if (!status) status = cj_mem_read(cj_test_device, out, k->at[GEMM_MAP_D], BYTES, NULL, error);
    return status;
}

// What is needed, but where the CPU device cannot miss it: it lets a block's own copies see mbarriers without a
// fence, and ptxas wants a wgmma.fence in each step, not only in a tile's first.
static bool can_miss(const cj_specimen *specimen, const char *line, size_t length) {
    const kernel *k = specimen->user;
    const char   *first = strstr(k->ptx, "wgmma.fence"), *at = strstr(line, "wgmma.fence");
    const char   *init = strstr(line, "fence.mbarrier_init");
    if (at && at < line + length) return at == first;
    return !init || init >= line + length || k->plan.cluster.x > 1;
}

static cj_specimen open_specimen(const char *words) {
    static kernel one;  // one specimen is open at a time
    kernel       *k = &one;
    *k = (kernel){0};
    open_kernel(words, k);
    return (cj_specimen){.words = words,
                         .ptx = k->ptx,
                         .entry = k->plan.entry,
                         .bytes = BYTES,
                         .run = run,
                         .can_miss = can_miss,
                         .user = k};
}

static void close_specimen(const cj_specimen *specimen) { close_kernel(specimen->user); }

enum { SHARE = CJ_TEST_COUNT(kernels) };  // under a sanitizer one kernel

static const cj_specimens specimens = {
    .words = kernels, .count = CJ_TEST_COUNT(kernels), .share = SHARE, .open = open_specimen, .close = close_specimen};

int main(void) { return cj_mutation_main(&specimens, SEEDS); }
