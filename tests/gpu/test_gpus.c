// SPDX-License-Identifier: Apache-2.0
// The collectives and the fused kernels of several GPUs, on as many as there are. Of one GPU two ranks share it, each with a stream of
// its own: small kernels are on it at once. CJ_TEST='products*' runs those tests alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused_cases.h"
#include "gpus_cases.h"
#include "gpus_gemm_cases.h"
#include "streams.h"
#include "test.h"

static cj_device *device[CJ_GPUS_MAX];
static uint32_t   count;  // ranks
static cj_stream  own[CJ_GPUS_MAX];
static cj_stream *streams;  // of ranks that share a GPU

static void share_the_gpu(void) {
    streams = own;
    device[1] = device[0];
    count = 2;
    for (uint32_t r = 0; r < count; r++)
        if (!cj_test_streams(0, (cj_stream *const[]){&own[r]}, 1)) cj_test_skip("libcuda.so.1 makes no stream");
}

static void every_collective_is_right_for_any_type_and_size(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (uint32_t many = 2; many <= count; many++) {
        cj_error error = {0};
        cj_gpus *gpus = NULL;
        cj_test_ok(cj_gpus_create(device, many, NULL, &gpus, &error), &error);
        cj_test_gpus_all(gpus, streams, &random, cj_test_few() ? 10 : 500);
        cj_gpus_destroy(gpus);
    }
}

static void large_arrays_take_two_shots(void **state) {
    (void)state;
    cj_error error = {0};
    cj_gpus *gpus = NULL;
    cj_test_ok(cj_gpus_create(device, count, NULL, &gpus, &error), &error);
    for (uint64_t elements = 4096; elements <= 1 << 20; elements *= 4)
        for (uint64_t off = 0; off < 2; off++) {
            const cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_BF16, .count = elements + off};
            cj_test_gpus(gpus, &sum, streams, 0);
        }
    cj_gpus_destroy(gpus);
}

static void every_fused_kernel_is_right_for_any_type_and_size(void **state) {
    (void)state;
    const uint64_t              mail = 128 << 20;
    const cj_gpus_options       options = {CJ_INIT(options), .mail_bytes = mail};
    uint64_t                    random = cj_test_seed();
    static const struct {
        const char *family, *words;
    } large[] = {
        {"allreducenorm", "rows=1 columns=8192 dtype=bf16"},
        {"allreducenorm", "rows=256 columns=8192 dtype=bf16"},
        {"allreducenorm", "rows=256 columns=8192 dtype=bf16 shots=1 norm=layer bias=yes"},
        {"allreducenorm", "rows=700 columns=4000 dtype=f16"},
        {"shardedcrossentropy", "rows=300 columns=32064 dtype=bf16 gradient=yes"},
        {"shardedcrossentropy", "rows=300 columns=70000 dtype=f16 gradient=yes smoothing=0.1"},
        {"shardedcrossentropy", "rows=600 columns=8192 dtype=f32"},
        {"shardedsoftmax", "rows=300 columns=32768 dtype=bf16"},
        {"shardedtopk", "rows=128 columns=32064 dtype=bf16"},
        {"shardedtopk", "rows=300 columns=32064 k=2048 dtype=f32 order=smallest"},
    };
    for (uint32_t many = 2; many <= count; many++) {
        cj_error error = {0};
        cj_gpus *gpus = NULL;
        cj_test_ok(cj_gpus_create(device, many, &options, &gpus, &error), &error);
        cj_test_fused_all(gpus, mail, streams, &random, cj_test_few() ? 9 : 300);
        const bool all = !cj_test_few() || many == count;  // the host computes millions of elements for each GPU
        for (size_t i = 0; i < CJ_TEST_COUNT(large) && !streams && all; i++)
            if (cj_test_chosen(i, 3)) cj_test_fused(gpus, mail, large[i].family, large[i].words, 0, NULL, NULL);
        cj_gpus_destroy(gpus);
    }
}

static void products_with_a_collective_are_right_for_any_shape(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (uint32_t many = 2; many <= count; many++) {
        cj_error error = {0};
        cj_gpus *gpus = NULL;
        cj_test_ok(cj_gpus_create(device, many, NULL, &gpus, &error), &error);
        cj_test_gpus_gemm_all(gpus, streams, 200, &random, cj_test_few() ? 4 : 40);
        for (uint32_t chunks = 1; chunks <= 8 && !streams; chunks *= 2) {
            const cj_gpus_gemm_desc large = {CJ_INIT(large), .m = 64 * 8 * many, .n = 256, .k = 512, .dtype = CJ_BF16, .chunks = chunks};
            cj_test_gpus_gemm(gpus, &large, true, NULL);
            cj_test_gpus_gemm(gpus, &large, false, NULL);
        }
        cj_gpus_destroy(gpus);
    }
}

int main(void) {
    for (; count < CJ_GPUS_MAX; count++) {
        char spec[16];
        snprintf(spec, sizeof spec, "gpu:%u", count);
        const cj_device_options options = {CJ_INIT(options), .spec = spec};
        if (cj_device_open(&options, &device[count], NULL)) break;
    }
    if (!count) cj_test_skip("there is no GPU");
    if (count == 1) share_the_gpu();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_is_right_for_any_type_and_size),
        cmocka_unit_test(large_arrays_take_two_shots),
        cmocka_unit_test(every_fused_kernel_is_right_for_any_type_and_size),
        cmocka_unit_test(products_with_a_collective_are_right_for_any_shape),
    };
    if (getenv("CJ_TEST")) cmocka_set_test_filter(getenv("CJ_TEST"));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t r = 0; r < count; r++)
        if (!streams || !r) cj_device_close(device[r]);
    return failed;
}
