// SPDX-License-Identifier: Apache-2.0
// Matrix products by mma.sync on a GPU. CJ_FEW=1 runs a few, for compute-sanitizer.
#include "gemm_cases.h"

#include "test.h"

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_gemm_random_mma(cj_test_device, cj_test_few() ? 4 : 48, cj_test_few() ? 200 : 700, &random);
}

static void random_problems_of_f64_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_gemm_random_f64(cj_test_device, cj_test_few() ? 4 : 48, cj_test_few() ? 100 : 600, &random);
}

static void every_alignment_is_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_gemm_unaligned(cj_test_device, cj_test_few() ? 43 : 5, &random);
}

static void are_right(const char *const *words, size_t count) {
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) cj_test_gemm(cj_test_device, words[i], &random);
}

static void large_problems_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "form=mma m=2100 n=3150 k=264 b=column",
        "form=mma m=2900 n=2900 k=136 tile=128x256 a=column",
        "form=mma m=2100 n=2100 k=350 tile=256x128 d=column c=yes",
        "form=mma m=2333 n=1399 k=150 tile=64x64 dtype=f16",
        "form=mma m=2100 n=3150 k=264 b=column bias=n activation=gelu c=yes",
        "form=mma m=2101 n=3150 k=264 b=column out=f32 c=yes bias=m activation=silu d=column",
        "form=mma m=2100 n=3150 k=264 dtype=tf32 b=column tile=128x256",
        "form=mma m=2100 n=3150 k=528 dtype=e4m3 b=column tile=64x128 out=e4m3 bias=n activation=relu",
        "form=mma m=2100 n=3150 k=528 dtype=e5m2 dtype-b=e4m3 b=column c=yes",
        "form=mma m=2100 n=3150 k=528 dtype=i8 b=column tile=128x256",
        "form=mma m=2100 n=3151 k=1055 dtype=u8 dtype-b=i8 b=column out=i8 c=yes bias=n activation=gelu align=1",
        "form=mma m=100 n=300 k=9000 dtype=i8 dtype-b=u8 b=column parts=7 out=bf16 bias=m",
        "form=mma m=700 n=900 k=520 batch=9 shared=b c=yes",
        "m=2100 n=3150 k=264 dtype=f64 b=column tile=128x128",
        "m=2101 n=1399 k=511 dtype=f64 a=column align=8 c=yes bias=n activation=relu",
        "m=100 n=300 k=9000 dtype=f64 parts=7 bias=m",
        "m=2099 n=3151 k=261 align=2 b=column",
        "m=2101 n=1399 k=511 align=2 dtype=f16 a=column c=yes bias=n activation=gelu",
        "m=2100 n=3150 k=261 align=4 dtype=tf32 b=column",
        "m=2101 n=3151 k=521 align=1 dtype=e4m3 b=column bias=n",
        "m=4096 n=11 k=2048 align-b=2 align-d=2",
    };
    are_right(words, cj_test_few() ? 0 : CJ_TEST_COUNT(words));
}

static void tiles_whose_k_is_shared_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "form=mma m=16 n=512 k=8192 b=column",
        "form=mma m=256 n=512 k=8192",
        "form=mma m=128 n=256 k=20000 tile=128x128 parts=7 c=yes a=column",
        "form=mma m=60 n=60 k=40000 tile=64x64 parts=64 dtype=f16 batch=2",
    };
    are_right(words, cj_test_few() ? 1 : CJ_TEST_COUNT(words));
}

static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_specials(cj_test_device, "form=mma m=300 n=400 k=180", &random);
    cj_test_gemm_specials(cj_test_device, "form=mma m=165 n=270 k=31 a=column dtype=f16 c=yes", &random);
    cj_test_gemm_specials(cj_test_device, "form=mma m=165 n=270 k=31 activation=relu bias=n", &random);
    cj_test_gemm_specials(cj_test_device, "form=mma m=165 n=270 k=31 activation=silu dtype=tf32 b=column", &random);
    cj_test_gemm_specials(cj_test_device, "m=165 n=270 k=31 dtype=f64 activation=relu bias=n", &random);
    cj_test_gemm_specials(cj_test_device, "form=mma m=165 n=270 k=31 dtype=e5m2 b=column out=e4m3", &random);
}

static void dependent_launches_wait_for_each_other(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_chain(cj_test_device, "form=mma m=1000 n=1000 k=1000", &random);
    if (cj_test_few()) return;
    cj_test_gemm_chain(cj_test_device, "form=mma m=200 n=200 k=200 tile=64x64 parts=3", &random);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(random_problems_of_f64_are_right),
        cmocka_unit_test(every_alignment_is_right),
        cmocka_unit_test(large_problems_are_right),
        cmocka_unit_test(tiles_whose_k_is_shared_are_right),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
