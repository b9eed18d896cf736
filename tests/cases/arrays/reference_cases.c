// SPDX-License-Identifier: Apache-2.0
#include "reference_cases.h"

#include <clusterjit/clusterjit.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "reference.h"
#include "test.h"

enum { BLOCK = 256, BLOCKS = 32, N = BLOCK * BLOCKS + 77, WORKSPACE = 16 + 8 * BLOCKS };

static const struct {
    cj_dtype     type;
    cj_reduce_op ours;
    const char  *op, *identity;
} cases[] = {
    {CJ_F32, CJ_REDUCE_SUM, "a + b", "0"},
    {CJ_F64, CJ_REDUCE_SUM, "a + b", "0"},
    {CJ_I32, CJ_REDUCE_MIN, "a < b ? a : b", "0x7fffffff"},
    {CJ_U64, CJ_REDUCE_MAX, "a > b ? a : b", "0"},
};

// Small whole numbers, whose sums are exact.
static void fill(cj_dtype type, unsigned char *x) {
    for (int i = 0; i < N; i++) {
        int     small = (i * 37) % 101;
        float   f = (float)small;
        double  d = small;
        int64_t wide = small;
        switch (type) {
        case CJ_F32: memcpy(x + 4 * i, &f, 4); break;
        case CJ_F64: memcpy(x + 8 * i, &d, 8); break;
        case CJ_I32:
        case CJ_U32: memcpy(x + 4 * i, &small, 4); break;
        case CJ_I64:
        case CJ_U64: memcpy(x + 8 * i, &wide, 8); break;
        default: fail_msg("the references are not tried with %s", cj_dtype_name(type));
        }
    }
}

static void run_reference(cj_device *device, size_t which, uint32_t cluster, cj_ptr x, cj_ptr out, cj_ptr workspace) {
    char        *ptx = NULL;
    cj_error     error = {0};
    cj_module   *module = NULL;
    cj_function *function = NULL;
    uint64_t     n = N;
    void        *arguments[] = {&x, &out, &n, &workspace};
    cj_test_ok(cj__reference_compile("reduce", "sm_90", cases[which].type, cases[which].op, cases[which].identity,
                                     cluster, &ptx, &error),
               &error);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "reduce_reference", &function, &error), &error);
    cj_test_ok(cj_mem_fill(device, workspace, 0, WORKSPACE, NULL, &error), &error);
    for (int time = 0; time < 2; time++) {
        cj_launch_config config = {CJ_INIT(config),        .function = function,   .grid = {BLOCKS, 1, 1},
                                   .block = {BLOCK, 1, 1}, .arguments = arguments, .argument_count = 4};
        if (cluster) config.cluster = (cj_dim3){cluster, 1, 1};
        cj_test_ok(cj_mem_fill(device, out, 0xa5, 8, NULL, &error), &error);
        cj_test_ok(cj_launch(device, &config, &error), &error);
        cj_test_ok(cj_synchronize(device, NULL, &error), &error);
    }
    cj_module_unload(module);
    free(ptx);
}

void cj_test_references(cj_device *device) {
    static const uint32_t clusters[] = {0, 8};
    static unsigned char  host[N * 8];
    char                  path[4096];
    cj_nvrtc              nvrtc;
    cj_error              error = {0};
    cj_ptr                x = 0, out = 0, workspace = 0;
    if (cj__nvrtc_open(&nvrtc, &error)) cj_test_skip("%s", error.message);
    if (!cj__cuda_include(path, sizeof path))
        cj_test_skip("no CUDA headers beneath CUDA_HOME, CUDA_PATH or /usr/local/cuda");
    cj_test_ok(cj_mem_alloc(device, sizeof host, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, 8, &out, &error), &error);
    cj_test_ok(cj_mem_alloc(device, WORKSPACE, &workspace, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        size_t         bytes = cj_dtype_size(cases[i].type);
        uint64_t       want = 0, got = 0;
        cj_reduce_desc desc = {CJ_INIT(desc), .n = N, .op = cases[i].ours, .dtype = cases[i].type};
        fill(cases[i].type, host);
        cj_test_ok(cj_mem_write(device, x, host, N * bytes, NULL, &error), &error);
        cj_test_ok(cj_reduce_launch(device, &desc, x, out, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, &want, out, bytes, NULL, &error), &error);
        for (size_t k = 0; k < CJ_TEST_COUNT(clusters); k++) {
            run_reference(device, i, clusters[k], x, out, workspace);
            cj_test_ok(cj_mem_read(device, &got, out, bytes, NULL, &error), &error);
            if (got != want)
                fail_msg("%s, clusters of %u: the reference gives another result", cj_dtype_name(cases[i].type),
                         clusters[k]);
        }
    }
    cj_mem_free(device, workspace);
    cj_mem_free(device, out);
    cj_mem_free(device, x);
}
