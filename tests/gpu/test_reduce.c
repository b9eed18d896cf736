// SPDX-License-Identifier: Apache-2.0
// The reduction on a GPU, up to 2^30 elements; the smaller sizes must give the CPU device's bits. CJ_FEW=1 runs a
// few sizes and clusters, for compute-sanitizer.
#include "reduce_cases.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static const uint64_t sizes[] = {1, 2, 31, 255, 256, 257, 1023, 1024, 1025, 65537, (1 << 20) + 3, 1 << 28, 1 << 30};
static const uint64_t few_sizes[] = {1, 257, 65537};
static const uint32_t clusters[] = {1, 2, 4, 8, 16}, few_clusters[] = {1, 4, 16}, blocks[] = {256};

static cj_device *gpu, *cpu;

static int open_devices(void **state) {
    (void)state;
    gpu = cj_test_gpu();
    print_message("%s: %s\n", cj_device_name(gpu), cj_device_reason(gpu));
    return cj_device_open(&(cj_device_options){.spec = "cpu"}, &cpu, NULL) != CJ_OK;
}

static int close_devices(void **state) {
    (void)state;
    cj_device_close(gpu);
    cj_device_close(cpu);
    return 0;
}

static bool few(void) {
    const char *value = getenv("CJ_FEW");
    return value && !strcmp(value, "1");
}

static void right_for(cj_dtype type) {
    cj_reduce_cases cases = {.n = sizes, .n_count = CJ_TEST_COUNT(sizes), .cluster = clusters,
                             .cluster_count = CJ_TEST_COUNT(clusters), .block = blocks, .block_count = 1,
                             .unaligned_n = 1 << 21, .twin = cpu, .twin_n = 65537};
    if (few())
        cases = (cj_reduce_cases){.n = few_sizes, .n_count = CJ_TEST_COUNT(few_sizes), .cluster = few_clusters,
                                  .cluster_count = CJ_TEST_COUNT(few_clusters), .block = blocks, .block_count = 1};
    size_t launches = cj_test_reduce(gpu, type, &cases);
    print_message("%s: %zu launches right\n", cj_dtype_name(type), launches);
}

#define CJ_X(name, text, bytes, type)        \
    static void text##_is_right(void **state) { \
        (void)state;                         \
        right_for(CJ_##name);                \
    }
#define CJ_EACH(X) X(F32, f32, 4, float) X(F64, f64, 8, double) X(I32, i32, 4, int32_t) X(U32, u32, 4, uint32_t) \
    X(I64, i64, 8, int64_t) X(U64, u64, 8, uint64_t)
CJ_EACH(CJ_X)
#undef CJ_X

static void every_block_size_is_right(void **state) {
    (void)state;
    if (few()) return;
    static const uint64_t n[] = {1, 33, 5000, 100003};
    static const uint32_t some[] = {1, 3, 16}, all[] = {32, 64, 96, 512, 992, 1024};
    const cj_reduce_cases cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .cluster = some,
                                   .cluster_count = CJ_TEST_COUNT(some), .block = all, .block_count = CJ_TEST_COUNT(all),
                                   .unaligned_n = 5000};
    cj_test_reduce(gpu, CJ_F32, &cases);
    cj_test_reduce(gpu, CJ_U64, &cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_is_right), cmocka_unit_test(f64_is_right), cmocka_unit_test(i32_is_right),
        cmocka_unit_test(u32_is_right), cmocka_unit_test(i64_is_right), cmocka_unit_test(u64_is_right),
        cmocka_unit_test(every_block_size_is_right),
    };
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
