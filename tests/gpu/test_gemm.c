// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU. CJ_FEW=1 runs a few, for compute-sanitizer.
#include "gemm_cases.h"

#include "test.h"

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_gemm_random(cj_test_device, cj_test_few() ? 4 : 24, cj_test_few() ? 200 : 700, &random);
}

static void are_right(const char *const *words, size_t count) {
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) cj_test_gemm(cj_test_device, words[i], &random);
}

// Several tiles a block, so that results are stored after the next tile's steps.
static void large_problems_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=3000 n=4500 k=520 b=column",
        "m=4096 n=4096 k=256 tile=128x256 cluster=2 cluster-n=2 a=column",
        "m=2500 n=2600 k=700 tile=128x128 cluster=1 cluster-n=4 d=column c=yes",
        "m=3333 n=1999 k=300 tile=64x64 cluster=4 dtype=f16",
        "m=2000 n=2500 k=130 tile=64x256 cluster=0 a=column b=column",
        "m=3000 n=4500 k=520 b=column bias=n activation=gelu c=yes",
        "m=3000 n=4500 k=520 b=column out=f32 c=yes bias=m activation=silu d=column",
        "m=3000 n=4500 k=520 dtype=tf32 b=column tile=128x256",
        "m=3000 n=4500 k=1040 dtype=e4m3 b=column tile=128x256 out=e4m3 bias=n activation=relu",
        "m=3000 n=4500 k=1040 dtype=e5m2 dtype-b=e4m3 b=column c=yes",
        "m=3000 n=4500 k=1040 dtype=i8 b=column tile=128x256 cluster=2",
        "m=3000 n=4501 k=1040 dtype=u8 dtype-b=i8 b=column out=i8 c=yes bias=n activation=gelu",
        "m=264 n=4097 k=9000 dtype=i8 dtype-b=u8 b=column swap=yes tile=128x256 cluster=1 split=4",
        "m=250 n=500 k=30000 dtype=u8 b=column tile=128x128 cluster=2 cluster-n=2 split=2 parts=3 sums=stages out=f32",
        "m=700 n=900 k=520 batch=9 shared=b c=yes",
        "m=3000 n=4501 k=520 tile=128x160 b=row cluster=2 c=yes bias=n",
        "m=3000 n=4500 k=520 tile=64x96 a=column b=row cluster=1 cluster-n=2 c=yes consumers=in-turn",
        "m=3000 n=4501 k=1040 tile=128x224 dtype=e4m3 b=column out=e4m3 cluster=2 cluster-n=2 bias=n activation=gelu",
        "m=3000 n=4500 k=520 tile=128x192 b=column out=f32 c=yes bias=m d=column",
        "m=3000 n=4501 k=520 tile=192x192 b=row cluster=2 c=yes bias=n",
        "m=3000 n=4501 k=520 tile=192x160 b=column cluster=1 cluster-n=4 bias=n activation=silu",
        "m=3000 n=4500 k=520 tile=192x128 b=column cluster=2 cluster-n=2 out=f32",
        "m=208 n=20000 k=700 tile=192x128 b=column cluster=1 cluster-n=2 c=yes bias=m",
        "m=80 n=50001 k=300 tile=64x192 b=column cluster=2 out=f32 activation=gelu",
    };
    are_right(words, cj_test_few() ? 0 : CJ_TEST_COUNT(words));
}

// A and B exchanged: D is stored by columns of tiles; several tiles a block, split-K, consumers in turn, ragged lines.
static void swapped_products_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=264 n=8192 k=1000 b=column c=yes bias=n activation=gelu",
        "m=300 n=4097 k=700 swap=yes b=row c=yes bias=n",
        "m=129 n=20000 k=520 swap=yes a=column b=column tile=128x256 cluster=2 bias=m",
        "m=511 n=20001 k=300 swap=yes tile=192x128 cluster=1 cluster-n=2 out=f32 c=yes bias=m activation=silu",
        "m=1000 n=9001 k=520 swap=yes b=column tile=64x192 cluster=2 consumers=in-turn c=yes batch=2",
        "m=700 n=9000 k=1040 swap=yes dtype=e4m3 b=column tile=128x160 cluster=4 out=f16 bias=n",
        "m=264 n=9000 k=300 swap=yes dtype=tf32 b=column tile=64x256 cluster=0 c=yes",
        "m=136 n=9000 k=520 swap=yes d=column tile=128x96 cluster=2 cluster-n=2 c=yes bias=n",
        "m=264 n=520 k=9000 swap=yes b=column tile=128x256 cluster=1 split=4 c=yes bias=n",
        "m=300 n=500 k=9000 swap=yes tile=192x160 cluster=2 split=2 parts=3 out=f32 c=yes bias=m",
        "m=200 n=500 k=9000 swap=yes b=column tile=192x192 cluster=1 split=4 parts=2 sums=stages c=yes",
        "m=112 n=505 k=20000 swap=yes a=column tile=64x128 cluster=1 cluster-n=2 split=8 dtype=f16",
    };
    are_right(words, cj_test_few() ? 1 : CJ_TEST_COUNT(words));
}

static void tiles_whose_k_is_shared_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=256 n=512 k=8192 b=column",
        "m=80 n=4096 k=4096 b=column c=yes bias=n",
        "m=144 n=4100 k=1000 b=column tile=128x160 cluster=2 split=2",
        "m=100 n=500 k=30000 tile=64x128 cluster=1 cluster-n=1 split=8",
        "m=128 n=256 k=20000 tile=128x128 cluster=1 cluster-n=2 split=8 parts=2 c=yes",
        "m=60 n=60 k=40000 tile=64x64 cluster=1 split=16 parts=7 dtype=f16",
        "m=120 n=500 k=9000 tile=128x256 cluster=1 cluster-n=2 parts=30 d=column",
        "m=130 n=70 k=5000 tile=64x64 cluster=0 parts=5 a=column",
        "m=250 n=500 k=30000 tile=128x128 cluster=2 cluster-n=2 split=2 parts=3 sums=stages c=yes",
        "m=120 n=500 k=20000 tile=128x256 cluster=1 cluster-n=2 split=8 sums=stages",
        "m=250 n=500 k=9000 tile=64x160 cluster=2 split=4 parts=2 c=yes",
        "m=250 n=500 k=9000 tile=192x128 cluster=1 split=3 parts=5 b=column",
    };
    are_right(words, cj_test_few() ? 1 : CJ_TEST_COUNT(words));
}

static void lines_end_where_they_should(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_ragged(cj_test_device, cj_test_few() ? 5 : 7, &random);
}

static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_specials(cj_test_device, "m=300 n=400 k=180 cluster=2", &random);
    cj_test_gemm_specials(cj_test_device, "m=165 n=270 k=31 a=column dtype=f16 c=yes", &random);
    cj_test_gemm_specials(cj_test_device, "m=165 n=270 k=31 activation=relu bias=n", &random);
    cj_test_gemm_specials(cj_test_device, "m=165 n=270 k=31 activation=gelu out=f32", &random);
    cj_test_gemm_specials(cj_test_device, "m=165 n=270 k=31 activation=silu dtype=tf32 b=column", &random);
    cj_test_gemm_specials(cj_test_device, "m=165 n=270 k=31 dtype=e5m2 b=column out=e4m3", &random);
}

static void dependent_launches_wait_for_each_other(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_chain(cj_test_device, "m=1000 n=1000 k=1000", &random);
    if (cj_test_few()) return;
    cj_test_gemm_chain(cj_test_device, "m=3000 n=3000 k=3000 b=column", &random);
    cj_test_gemm_chain(cj_test_device, "m=200 n=200 k=200 tile=64x64 cluster=1 cluster-n=1 split=2 parts=2", &random);
    cj_test_gemm_chain(cj_test_device, "m=70 n=70 k=70 tile=64x64 cluster=0 parts=2", &random);
}

static void typed_calls_are_right(void **state) {
    (void)state;
    cj_test_gemm_calls(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(large_problems_are_right),
        cmocka_unit_test(swapped_products_are_right),
        cmocka_unit_test(tiles_whose_k_is_shared_are_right),
        cmocka_unit_test(lines_end_where_they_should),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
        cmocka_unit_test(typed_calls_are_right),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
