// SPDX-License-Identifier: Apache-2.0
// Matrix products by mma.sync on the CPU device, which watches every access.
#include "gemm_cases.h"

#include <string.h>

#include "emit.h"
#include "test.h"

// Each order of A and B in boxes of 64 lines and in half a box; each tile at an edge of M and of N.
static void every_layout_and_tile_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "form=mma m=70 n=90 k=72 tile=64x64",
        "form=mma m=70 n=90 k=72 a=column b=column tile=64x64 dtype=f16",
        "form=mma m=130 n=70 k=136 a=column tile=128x128 d=column",
        "form=mma m=130 n=70 k=72 b=column d=column c=yes tile=128x64",
        "form=mma m=40 n=140 k=20 a=column tile=32x128",
        "form=mma m=17 n=257 k=200 a=column b=column tile=16x128",
        "form=mma m=130 n=270 k=65 a=column tile=128x256",
        "form=mma m=270 n=130 k=65 b=column tile=256x128 dtype=f16 out=f32",
        "form=mma m=65 n=255 k=129 tile=64x256 stages=2",
        "form=mma m=65 n=127 k=129 a=column b=column tile=64x128 stages=3",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Fewer steps than stages, than parts; one element.
static void every_end_of_k_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "form=mma m=1 n=1 k=1",
        "form=mma m=16 n=16 k=7 a=column",
        "form=mma m=40 n=40 k=63 tile=64x64 stages=4",
        "form=mma m=40 n=40 k=64 tile=64x64 stages=4 b=column",
        "form=mma m=40 n=40 k=65 tile=64x64 stages=2 a=column b=column",
        "form=mma m=40 n=40 k=500 tile=64x64 stages=3 parts=3",
        "form=mma m=40 n=130 k=200 tile=16x128 parts=7 batch=2 a=column",
        "form=mma m=100 n=100 k=129 tile=64x64 parts=2 c=yes bias=m activation=relu",
        "form=mma m=40 n=40 k=33 dtype=tf32 b=column tile=64x64",
        "form=mma m=40 n=40 k=127 dtype=e4m3 b=column tile=64x64",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void every_epilogue_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "form=mma m=70 n=90 k=72 bias=n tile=64x64",
        "form=mma m=70 n=90 k=72 bias=m activation=relu tile=64x128 d=column",
        "form=mma m=131 n=259 k=40 bias=n activation=gelu c=yes tile=128x256",
        "form=mma m=131 n=90 k=72 bias=n activation=silu c=yes tile=64x64 d=column dtype=f16",
        "form=mma m=70 n=271 k=40 out=f32 c=yes bias=n tile=64x256",
        "form=mma m=70 n=70 k=72 dtype=f16 out=f32 c=yes tile=64x64",
        "form=mma m=70 n=141 k=40 out=e4m3 c=yes bias=n tile=64x128",
        "form=mma m=70 n=60 k=40 out=e5m2 activation=relu tile=64x256 d=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void every_type_and_batch_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "form=mma m=70 n=90 k=101 dtype=tf32 b=column tile=64x64 c=yes d=column out=bf16",
        "form=mma m=70 n=90 k=300 dtype=e4m3 b=column tile=64x64",
        "form=mma m=70 n=260 k=140 dtype=e5m2 b=column tile=64x128 out=f32 bias=n",
        "form=mma m=70 n=90 k=140 dtype=e4m3 dtype-b=e5m2 b=column tile=64x64 out=e4m3 c=yes d=column",
        "form=mma m=70 n=90 k=300 dtype=i8 b=column tile=64x64",
        "form=mma m=130 n=270 k=140 dtype=u8 b=column tile=128x256 d=column",
        "form=mma m=70 n=91 k=500 dtype=i8 dtype-b=u8 b=column tile=64x128 out=i8 c=yes bias=n activation=gelu parts=3",
        "form=mma m=270 n=130 k=140 dtype=u8 dtype-b=i8 b=column tile=256x128 out=f16 bias=m",
        "form=mma m=40 n=140 k=700 dtype=i8 b=column tile=32x128 parts=4 batch=2",
        "form=mma m=70 n=90 k=72 out=i8 tile=64x64 d=column",
        "form=mma m=70 n=90 k=72 batch=3 tile=64x64",
        "form=mma m=70 n=90 k=72 batch=2 shared=a tile=64x128 c=yes",
        "form=mma m=70 n=90 k=72 batch=3 shared=bc tile=64x64 c=yes d=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void every_alignment_is_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_watch(1);
    cj_test_gemm_unaligned(cj_test_device, 5, &random);
}

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (unsigned i = 0; i < (cj_test_few() ? 1 : 3); i++) {
        cj_test_watch(i);
        cj_test_gemm_random_mma(cj_test_device, cj_test_few() ? 2 : 8, cj_test_few() ? 100 : 200, &random);
    }
}

static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_specials(cj_test_device, "form=mma m=65 n=70 k=31 a=column dtype=f16 c=yes tile=64x64", &random);
    cj_test_gemm_specials(cj_test_device, "form=mma m=65 n=70 k=31 activation=silu dtype=tf32 b=column", &random);
    cj_test_gemm_specials(cj_test_device, "form=mma m=65 n=70 k=31 dtype=e5m2 b=column out=e4m3", &random);
}

static void dependent_launches_wait_for_each_other(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_watch(1);
    cj_test_gemm_chain(cj_test_device, "form=mma m=70 n=70 k=70 tile=64x64 parts=2", &random);
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *words, *arch, *says;
        cj_status   status;
    } cases[] = {
        {"", "sm_75", "wgmma (sm_90a), or mma.sync with cp.async (from sm_80 on); the target is sm_75", CJ_UNSUPPORTED},
        {"dtype=e4m3 b=column", "sm_86", "dtype: e4m3 needs sm_89; the target is sm_86", CJ_UNSUPPORTED},
        {"out=e5m2", "sm_80", "out: e5m2 needs sm_89", CJ_UNSUPPORTED},
        {"form=mma cluster=1", NULL, "cluster: 1, but form=mma has no clusters", CJ_INVALID_ARGUMENT},
        {"form=mma cluster-n=4", NULL, "cluster-n: 4", CJ_INVALID_ARGUMENT},
        {"form=mma split=2", NULL, "split: 2", CJ_INVALID_ARGUMENT},
        {"form=mma consumers=in-turn", NULL, "consumers: in-turn", CJ_INVALID_ARGUMENT},
        {"form=mma sums=stages", NULL, "sums: stages", CJ_INVALID_ARGUMENT},
        {"form=mma stages=1", NULL, "stages: 1", CJ_INVALID_ARGUMENT},
        {"align=2 stages=4", NULL, "stages: 4, but A and B come through registers", CJ_INVALID_ARGUMENT},
        {"form=mma tile=128x256 stages=5", NULL, "5 stages of 49152 bytes", CJ_CONTRACT},
        {"form=mma dtype=e4m3 b=column tile=128x128", NULL, "tile: 128x128 leaves no registers", CJ_INVALID_ARGUMENT},
        {"form=mma dtype=tf32 a=column b=column", NULL, "a: column", CJ_INVALID_ARGUMENT},
        {"form=mma tile=32x128 align=1 dtype=e4m3 b=column", NULL, "tile: 32x128 leaves no registers for elements", CJ_INVALID_ARGUMENT},
        {"form=mma tile=128x128 align=2", NULL, "tile: 128x128 leaves no registers for elements", CJ_INVALID_ARGUMENT},
        {"align-a=2 dtype=tf32 b=column", NULL, "align-a: 2 bytes are less than an element of tf32, 4", CJ_INVALID_ARGUMENT},
        {"form=skinny m=8 b=column align-d=4", NULL, "align-d: 4 bytes, but form=skinny", CJ_INVALID_ARGUMENT},
        {"form=wgmma align=8", NULL, "align: 8 bytes, but form=wgmma", CJ_INVALID_ARGUMENT},
        {"k=100 lda=99", NULL, "lda: 99 elements are less than the 100", CJ_INVALID_ARGUMENT},
        {"n=99 align-b=2 ldb=99 ldd=99", NULL, "ldd: 99 elements of 2 bytes are not a multiple of 16 bytes", CJ_INVALID_ARGUMENT},
        {"form=mma m=2^20 n=2^20 batch=2^20", NULL, "1048576 times", CJ_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params params;
        cj_plan   plan;
        cj_error  error = {0};
        cj_test_ok(cj_test_params("gemm", cases[i].words, &params, &error), &error);
        assert_int_equal(cj_plan_make(&params, cj_device_limits(cj_test_device), cases[i].arch, &plan, &error),
                         cases[i].status);
        if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", cases[i].words, error.message);
    }
}

// The form that each target has: what is asked for with cluster=0 or 1 and split=1 is what mma does anyway.
static void the_form_follows_the_target(void **state) {
    (void)state;
    static const struct {
        const char *arch, *words;
        bool        mma, dependent;
    } cases[] = {
        {"sm_80", "", true, false},        {"sm_86", "cluster=0", true, false}, {"sm_89", "cluster-n=1", true, false},
        {"sm_90", "split=1", true, true},  {"sm_90a", "", false, true},         {"sm_90a", "form=mma", true, true},
        {"sm_100", "parts=2", true, true}, {"sm_103", "", true, true},          {"sm_120", "sums=apart", true, true},
        {"sm_121", "", true, true},        {"sm_90a", "align-d=8", true, true}, {"sm_90a", "align-c=8", false, true}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params        params;
        cj_plan          plan;
        const cj_limits *limits;
        cj_error         error = {0};
        cj_test_ok(cj_limits_builtin(cases[i].arch, &limits, &error), &error);
        cj_test_ok(cj_test_params("gemm", cases[i].words, &params, &error), &error);
        cj_test_ok(cj_plan_make(&params, limits, cases[i].arch, &plan, &error), &error);
        if (!strstr(plan.entry, "mma") == cases[i].mma || plan.programmatic != cases[i].dependent)
            fail_msg("%s %s: %s", cases[i].arch, cases[i].words, plan.entry);
    }
}

// In a few rounds of two blocks an SM; not where there are tiles for all SMs. Skinny products have skinny tiles.
static void few_tiles_and_a_long_k_are_shared(void **state) {
    (void)state;
    static const struct {
        const char *words, *arch;
        bool        shares, skinny;
    } cases[] = {{"m=16 n=512 k=8192", "sm_80", true, true},           {"m=256 n=512 k=65536", "sm_90", true, false},
                 {"m=1 n=1 k=100000", "sm_120", true, true},           {"m=8192 n=8192 k=8192", "sm_80", false, false},
                 {"m=16 n=65536 k=4096", "sm_86", false, true},        {"m=64 n=64 k=64", "sm_89", false, false},
                 {"m=4096 n=16 k=16384 d=column", "sm_80", true, true}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params        params;
        cj_plan          plan;
        const cj_limits *limits;
        cj_error         error = {0};
        cj_test_ok(cj_limits_builtin(cases[i].arch, &limits, &error), &error);
        cj_test_ok(cj_test_params("gemm", cases[i].words, &params, &error), &error);
        cj_test_ok(cj_plan_make(&params, limits, cases[i].arch, &plan, &error), &error);
        const uint64_t parts = cj_params_get(&plan.params, "parts");
        if (cases[i].shares != (parts > 1) || cases[i].shares != (plan.workspace_bytes > 0) ||
            (cases[i].skinny && !strstr(plan.entry, "_16x128")))
            fail_msg("%s for %s: %s, parts %u", cases[i].words, cases[i].arch, plan.entry, (unsigned)parts);
        if (parts > 1) assert_in_range(plan.grid.x, 2, 3 * 2 * limits->sm_count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_and_tile_is_right),
        cmocka_unit_test(every_end_of_k_is_right),
        cmocka_unit_test(every_epilogue_is_right),
        cmocka_unit_test(every_type_and_batch_is_right),
        cmocka_unit_test(every_alignment_is_right),
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(the_form_follows_the_target),
        cmocka_unit_test(few_tiles_and_a_long_k_are_shared),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
