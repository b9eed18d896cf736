// SPDX-License-Identifier: Apache-2.0
// Matrix products on the CPU device, which watches every access.
#include "gemm_cases.h"

#include <string.h>

#include "device.h"
#include "emit.h"
#include "test.h"

// A device of so few SMs that each gets several tiles of a small problem.
enum { FEW_SMS = 16 };

static cj_device *whole;

static int open_few_sms(void **state) {
    whole = cj_test_device;
    if (cj_test_open_cpu(state)) return 1;
    cj_limits *limits = &cj_test_device->limits;
    memset(limits->gpc_sms, 0, sizeof limits->gpc_sms);
    limits->sm_count = limits->gpc_sms[0] = FEW_SMS;
    return 0;
}

static int close_few_sms(void **state) {
    const int closed = cj_test_close(state);
    cj_test_device = whole;
    return closed;
}

// The tests that take longest: with CJ_FEW one of them, which the seed chooses.
enum { CLUSTER_OF_TWO, RANDOM, DEPENDENT, LONGEST };

// FEATURES, row 24: a cluster of two blocks, multicast loads feed wgmma.
static void a_cluster_of_two_shares_what_it_loads(void **state) {
    (void)state;
    uint64_t random = 1;
    if (!cj_test_chosen(CLUSTER_OF_TWO, LONGEST)) skip();
    for (uint64_t seed = 0; seed < (cj_test_few() ? 1 : 2); seed++) {
        cj_test_watch(seed);
        cj_test_gemm(cj_test_device, "m=200 n=264 k=330 b=column tile=128x256 cluster=2", &random);
    }
}

static void every_layout_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=72 a=row b=row tile=64x64 cluster=2",
        "m=70 n=90 k=72 a=row b=column tile=64x64 cluster=1 cluster-n=2",
        "m=70 n=90 k=72 a=column b=row tile=64x128 cluster=4 dtype=f16",
        "m=70 n=90 k=72 a=column b=column tile=64x64 cluster=1 cluster-n=4",
        "m=130 n=70 k=72 a=column b=row d=column tile=128x128 cluster=2",
        "m=130 n=70 k=72 a=row b=row d=column c=yes tile=64x64 cluster=2 cluster-n=2",
        "m=130 n=140 k=20 a=row b=column c=yes tile=128x128 cluster=0 dtype=f16",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Steps that do not come out even, fewer steps than blocks, pieces that do not come out even, edges of M and N.
static void tiles_whose_k_is_shared_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=64 n=64 k=330 tile=64x64 cluster=1 split=2",
        "m=40 n=130 k=200 tile=64x128 cluster=1 cluster-n=1 split=8 d=column",
        "m=30 n=60 k=70 tile=64x64 cluster=1 split=16 parts=2",
        "m=90 n=70 k=400 tile=64x64 cluster=0 parts=3 c=yes",
        "m=100 n=100 k=500 tile=128x128 cluster=1 split=3 parts=2 a=column",
        "m=120 n=90 k=300 tile=64x64 cluster=2 cluster-n=2 split=2 parts=2 b=column dtype=f16",
        "m=50 n=250 k=200 tile=64x256 cluster=1 split=2 c=yes",
        "m=120 n=250 k=200 tile=128x256 cluster=2 parts=2",
        "m=50 n=250 k=200 tile=64x256 cluster=1 split=2 parts=2 out=f32 c=yes bias=n activation=silu",
        "m=50 n=250 k=500 tile=64x128 cluster=2 cluster-n=1 split=2 dtype=e4m3 b=column out=e4m3 c=yes bias=m",
        "m=70 n=70 k=150 tile=64x64 cluster=1 split=2 parts=2 dtype=tf32 b=column batch=2 shared=a",
        "m=40 n=60 k=70 tile=64x64 cluster=1 split=16 parts=2 sums=stages",
        "m=100 n=100 k=700 tile=128x128 cluster=1 split=3 parts=2 sums=stages a=column",
        "m=50 n=250 k=400 tile=64x128 cluster=1 cluster-n=2 split=4 stages=3 sums=stages c=yes d=column",
        "m=200 n=250 k=600 tile=128x256 cluster=2 split=4 sums=stages b=column out=f32 bias=m",
        "m=70 n=500 k=400 tile=64x192 cluster=1 split=8 parts=2 c=yes bias=n",
        "m=130 n=500 k=400 tile=128x160 cluster=2 split=4 b=column bias=n activation=relu",
        "m=130 n=500 k=400 tile=128x96 cluster=1 split=16 b=row out=f32",
        "m=130 n=300 k=900 tile=128x224 cluster=1 split=2 parts=3 sums=stages b=row c=yes",
        "m=200 n=200 k=700 tile=192x128 cluster=1 split=4 parts=2 c=yes",
        "m=200 n=205 k=700 tile=192x160 cluster=2 split=2 b=column out=f32 c=yes",
        "m=80 n=300 k=500 b=column tile=64x160 cluster=2 cluster-n=2 split=2 c=yes",
        "m=130 n=261 k=130 b=column tile=128x160 cluster=1 parts=3 d=row c=yes",
        "m=72 n=80 k=200 b=column tile=64x64 cluster=4 cluster-n=1 split=2 d=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Widths between those: an odd number of subtiles, which share two buffers; subtiles of 32 columns, boxes of lines that the tile
// ends within; several tiles a block, with C and ragged lines; and consumers in turn.
static void tiles_of_other_widths_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=500 k=300 tile=64x192 cluster=1 batch=5 b=column c=yes bias=n",
        "m=70 n=500 k=300 tile=64x96 cluster=2 batch=4 a=column b=row c=yes dtype=f16 bias=m activation=gelu",
        "m=130 n=517 k=450 tile=128x224 cluster=0 batch=3 b=row c=yes bias=n",
        "m=130 n=517 k=450 tile=128x160 cluster=1 cluster-n=2 batch=3 b=column c=yes bias=n activation=silu",
        "m=200 n=517 k=70 tile=128x160 cluster=2 cluster-n=2 batch=2 b=row c=yes d=column",
        "m=200 n=421 k=300 tile=128x96 cluster=4 batch=2 out=f32 c=yes bias=n",
        "m=130 n=447 k=170 tile=128x224 cluster=1 batch=3 out=f32 b=column c=yes bias=n",
        "m=130 n=387 k=330 tile=128x192 cluster=2 batch=3 out=f32 b=row c=yes",
        "m=70 n=309 k=700 tile=64x160 cluster=1 batch=5 dtype=e4m3 b=column out=e4m3 c=yes bias=n",
        "m=70 n=400 k=900 tile=64x192 cluster=1 cluster-n=4 batch=3 dtype=e5m2 b=column out=e5m2 c=yes d=column",
        "m=70 n=309 k=90 tile=64x96 cluster=0 dtype=tf32 b=column out=bf16 c=yes",
        "m=500 n=700 k=130 tile=64x96 cluster=2 batch=2 consumers=in-turn c=yes bias=n",
        "m=500 n=703 k=130 tile=64x192 cluster=1 cluster-n=2 batch=2 consumers=in-turn c=yes out=f32",
        "m=500 n=703 k=130 tile=64x160 cluster=1 batch=2 consumers=in-turn b=column c=yes",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Three consumer groups, whose warps have one buffer each for results that are deferred or not.
static void tiles_of_three_groups_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=300 n=309 k=450 tile=192x128 cluster=1 batch=4 b=column c=yes bias=n",
        "m=300 n=320 k=330 tile=192x160 cluster=2 cluster-n=2 batch=3 a=column b=row bias=m activation=gelu",
        "m=200 n=381 k=200 tile=192x192 cluster=1 cluster-n=2 batch=5 b=row c=yes",
        "m=400 n=309 k=130 tile=192x128 cluster=2 batch=5 out=f32 b=row c=yes bias=n",
        "m=300 n=261 k=130 tile=192x160 cluster=0 batch=4 dtype=e4m3 b=column out=e4m3 c=yes d=column",
        "m=300 n=261 k=230 tile=192x192 cluster=4 batch=4 dtype=tf32 b=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Rows just beyond a multiple of a tile's: a warp's rows that the next tile has, or that no tile has, are stored by none or once.
static void few_tiles_share_rows_evenly(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=65 n=125 k=200 b=row tile=64x64 cluster=0 bias=m activation=gelu out=f32",
        "m=80 n=300 k=330 b=column tile=64x96 cluster=1 cluster-n=4 batch=3 c=yes bias=n",
        "m=144 n=390 k=700 b=column tile=128x128 cluster=2 batch=3 bias=m",
        "m=208 n=381 k=330 b=column tile=192x128 cluster=1 cluster-n=2 batch=2 c=yes dtype=f16",
        "m=200 n=309 k=400 dtype=e4m3 b=column out=e4m3 tile=64x160 batch=2 consumers=in-turn",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
    char *text = cj_test_emit("gemm", "m=80 n=300 k=500 b=column tile=64x160", "sm_90a");
    assert_non_null(strstr(text, "48 rows of a tile are stored"));
    cj_text_free(text);
}

// A and B exchanged, in every layout and type: D is stored by columns of tiles, whose width is what D's rows share evenly.
static void swapped_products_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=129 n=200 k=72 swap=yes tile=128x256 cluster=1",
        "m=136 n=330 k=200 b=column swap=yes tile=64x96 cluster=2 batch=2 c=yes bias=n",
        "m=200 n=149 k=330 a=column b=column swap=yes tile=128x128 cluster=1 cluster-n=2 bias=m activation=gelu dtype=f16",
        "m=264 n=520 k=130 a=column swap=yes tile=192x128 cluster=0 c=yes",
        "m=264 n=301 k=330 b=column swap=yes tile=128x160 cluster=2 cluster-n=2 c=yes activation=relu",
        "m=300 n=260 k=200 b=column swap=yes tile=64x256 cluster=4 c=yes bias=n out=f32",
        "m=511 n=130 k=100 swap=yes tile=128x224 cluster=1 c=yes bias=m out=f32 activation=silu",
        "m=511 n=133 k=300 b=column dtype=tf32 swap=yes tile=64x192 cluster=1 cluster-n=4 c=yes",
        "m=150 n=261 k=500 b=column dtype=e4m3 swap=yes tile=128x96 cluster=2 c=yes bias=n",
        "m=150 n=90 k=70 b=column dtype=e5m2 dtype-b=e4m3 out=f32 swap=yes tile=64x64 cluster=1",
        "m=136 n=200 k=200 d=column swap=yes tile=128x96 cluster=2 c=yes bias=n activation=gelu",
        "m=203 n=270 k=72 a=column b=column d=column swap=yes tile=192x160 cluster=1 cluster-n=2 bias=m out=f32",
        "m=77 n=500 k=450 b=column swap=yes tile=64x256 cluster=1 batch=3 c=yes shared=bc",
        "m=5 n=3 k=9 swap=yes tile=64x64 c=yes",
        "m=700 n=700 k=330 b=column swap=yes tile=64x160 cluster=2 batch=2 consumers=in-turn c=yes bias=n",
        "m=500 n=1001 k=130 swap=yes tile=64x128 cluster=1 batch=2 consumers=in-turn out=f32 activation=gelu",
        "m=264 n=400 k=900 b=column swap=yes tile=128x256 cluster=1 split=4 c=yes bias=n",
        "m=300 n=130 k=700 swap=yes tile=128x160 cluster=2 split=2 parts=3 out=f32 c=yes bias=m",
        "m=200 n=200 k=700 b=column swap=yes tile=192x192 cluster=1 split=4 parts=2 sums=stages c=yes",
        "m=112 n=205 k=500 a=column swap=yes tile=64x128 cluster=1 cluster-n=2 split=8 dtype=f16",
        "m=168 n=70 k=300 swap=yes tile=64x192 cluster=0 parts=5 c=yes activation=silu",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Widths that are no whole number of equal subtiles: the last one is a box of its own, also where ranks and parts share K.
static void swapped_tiles_of_any_width_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=264 n=300 k=330 b=column swap=yes tile=128x256 cluster=1 cluster-n=2 batch=2 bias=n",
        "m=264 n=515 k=200 swap=yes tile=192x128 cluster=0 activation=relu",
        "m=88 n=260 k=520 a=column swap=yes tile=64x96 cluster=1 batch=3 bias=m",
        "m=129 n=301 k=400 b=column swap=yes tile=64x192 cluster=1 out=f32 batch=2",
        "m=152 n=203 k=72 swap=yes tile=128x160 cluster=2 dtype=f16 d=column",
        "m=207 n=130 k=900 b=column swap=yes tile=128x224 cluster=0 dtype=tf32 activation=silu bias=n",
        "m=500 n=401 k=200 b=column swap=yes tile=64x128 cluster=1 consumers=in-turn dtype=e4m3",
        "m=136 n=205 k=900 b=column swap=yes tile=128x160 cluster=1 split=4 bias=n activation=gelu",
        "m=136 n=200 k=700 swap=yes tile=64x160 cluster=1 split=2 parts=3 out=f32",
        "m=104 n=131 k=700 b=column swap=yes tile=128x128 cluster=1 split=8 sums=stages",
        "m=184 n=70 k=500 swap=yes tile=64x192 cluster=0 parts=7 bias=m",
        "m=248 n=300 k=600 b=column swap=yes tile=128x256 cluster=1 split=3 sums=stages",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
    char *text = cj_test_emit("gemm", "m=264 n=8192 k=8192 b=column tile=128x256 cluster=1 swap=yes", "sm_90a");
    assert_non_null(strstr(text, "tile 128x136"));
    cj_text_free(text);
}

// More tiles than clusters, an odd number of them, fewer steps than stages and many more.
static void tiles_that_consumers_take_in_turn_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=700 n=700 k=130 tile=64x64 cluster=1 cluster-n=1 batch=2 consumers=in-turn",
        "m=260 n=500 k=700 tile=64x64 cluster=2 batch=2 stages=2 consumers=in-turn c=yes bias=m",
        "m=500 n=1000 k=60 tile=64x128 cluster=2 cluster-n=2 batch=2 consumers=in-turn b=column out=f32 bias=n activation=gelu",
        "m=130 n=1100 k=300 tile=64x256 cluster=0 batch=3 consumers=in-turn dtype=e4m3 b=column out=e4m3 c=yes d=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// What becomes of a sum: every activation, both biases, C, types of D, each also where D lies in columns.
static void every_epilogue_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=72 bias=n tile=64x64 cluster=2",
        "m=70 n=90 k=72 bias=m activation=relu tile=64x128 cluster=0 d=column",
        "m=131 n=259 k=40 bias=n activation=gelu c=yes tile=128x256 cluster=0",
        "m=131 n=90 k=72 bias=n activation=silu c=yes tile=64x64 d=column dtype=f16",
        "m=70 n=270 k=40 out=f32 c=yes bias=n tile=64x256 cluster=1",
        "m=70 n=150 k=40 out=f32 tile=128x128 bias=m activation=gelu d=column",
        "m=70 n=70 k=72 dtype=f16 out=f32 c=yes tile=64x64 cluster=2",
        "m=70 n=140 k=40 out=e4m3 c=yes bias=n tile=64x128 cluster=2",
        "m=70 n=60 k=40 out=e5m2 activation=relu tile=64x256 d=column cluster=1",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Sums in s32, as they are and as each type of D; where D lies in columns; shared between ranks and parts; every width of tiles.
static void integers_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=300 dtype=i8 b=column tile=64x64 cluster=2",
        "m=131 n=259 k=400 dtype=u8 b=column tile=128x256 cluster=0 d=column",
        "m=131 n=90 k=72 dtype=i8 dtype-b=u8 b=column tile=64x64 out=f32 bias=n activation=silu c=yes",
        "m=70 n=270 k=140 dtype=u8 dtype-b=i8 b=column tile=64x256 cluster=1 out=i8 c=yes bias=m activation=relu",
        "m=70 n=150 k=40 dtype=i8 b=column tile=128x128 out=bf16 bias=m activation=gelu d=column",
        "m=70 n=150 k=140 dtype=i8 b=column tile=128x128 out=e4m3 bias=n",
        "m=131 n=90 k=72 out=i8 bias=n c=yes tile=64x64 d=column dtype=f16",
        "m=64 n=64 k=900 dtype=i8 b=column tile=64x64 cluster=1 split=2",
        "m=50 n=250 k=900 dtype=u8 b=column tile=64x256 cluster=1 split=2 parts=2 out=f32 c=yes bias=n",
        "m=40 n=60 k=700 dtype=i8 b=column tile=64x64 cluster=1 split=16 parts=2 sums=stages",
        "m=50 n=250 k=500 dtype=i8 dtype-b=u8 b=column tile=64x128 cluster=2 cluster-n=1 split=2 out=i8 c=yes bias=m",
        "m=264 n=300 k=330 dtype=i8 b=column swap=yes tile=128x256 cluster=1 cluster-n=2 batch=2",
        "m=207 n=130 k=900 dtype=u8 b=column swap=yes tile=128x224 cluster=0 out=f16 activation=silu bias=n",
        "m=40 n=301 k=400 dtype=i8 b=column swap=yes tile=64x192 cluster=1 out=f32 batch=2",
        "m=184 n=70 k=1500 dtype=i8 b=column swap=yes tile=64x192 cluster=0 parts=7",
        "m=500 n=703 k=230 dtype=i8 b=column tile=64x160 cluster=1 batch=2 consumers=in-turn",
        "m=300 n=261 k=130 dtype=i8 b=column tile=192x160 cluster=0 batch=4 out=i8 c=yes d=column",
        "m=70 n=309 k=700 dtype=u8 b=column tile=64x96 cluster=1 batch=3 shared=a",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void no_schedule_finds_fault_with_shared_k(void **state) {
    (void)state;
    const uint64_t seeds = cj_test_few() ? 2 : 24;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        uint64_t random = 1;
        cj_test_watch(seed);
        cj_test_gemm(cj_test_device, "m=64 n=64 k=200 tile=64x64 cluster=1 split=2 parts=2", &random);
    }
}

static void plan_for(const char *words, cj_plan *plan) {
    cj_limits h200;
    cj_error  error = {0};
    cj_test_ok(cj_limits_named("h200", &h200, &error), &error);
    cj_test_plan("gemm", words, &h200, plan);
}

// A cluster that finds no room waits for another one's end: all of them fit at once.
static void few_tiles_and_a_long_k_are_shared(void **state) {
    (void)state;
    static const char *const words[] = {"m=256 n=512 k=65536", "m=128 n=512 k=65536", "m=64 n=512 k=8192",
                                        "m=64 n=64 k=65536", "m=1 n=1 k=100000"};
    static const uint32_t    room[] = {[1] = 132, [2] = 66, [4] = 30, [8] = 15, [16] = 7};
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++) {
        cj_plan plan;
        plan_for(words[i], &plan);
        const uint32_t cluster = plan.cluster.x ? plan.cluster.x : 1;
        assert_true(cj_params_get(&plan.params, "split") * cj_params_get(&plan.params, "parts") >= 4);
        if (cluster < CJ_TEST_COUNT(room) && room[cluster]) assert_in_range(plan.grid.x / cluster, 1, room[cluster]);
    }
}

// Where stages would be few for a long K, peers' sums come into them.
static void sums_come_into_the_ring_where_it_pays(void **state) {
    (void)state;
    static const struct {
        const char *words;
        uint64_t    sums, stages;
    } cases[] = {{"m=256 n=512 k=65536 b=column tile=128x128 split=2 parts=7", 2, 6},
                 {"m=256 n=512 k=65536 b=column tile=128x128 split=2 parts=7 sums=apart", 1, 5},
                 {"m=256 n=512 k=16384 b=column tile=128x128 split=2 parts=7", 1, 5},
                 {"m=256 n=512 k=16384 b=column tile=128x128 split=2 parts=7 stages=6", 2, 6},
                 {"m=256 n=512 k=16384 tile=128x256 cluster=1 cluster-n=2 split=8", 2, 4},
                 {"m=64 n=512 k=65536 b=column", 1, 8},
                 {"m=4096 n=4096 k=4096", 1, 4}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan plan;
        plan_for(cases[i].words, &plan);
        assert_int_equal(cj_params_get(&plan.params, "sums"), cases[i].sums);
        assert_int_equal(cj_params_get(&plan.params, "stages"), cases[i].stages);
    }
}

// Of one or two tiles a block has no more stages than these have steps of K: the next launch's blocks fit beside it.
static void stages_are_no_more_than_a_blocks_steps(void **state) {
    (void)state;
    static const struct {
        const char *words;
        uint64_t    stages;
    } cases[] = {{"m=9 n=12288 k=84 dtype=i8 b=column", 2},     {"m=256 n=3584 k=81 dtype=e4m3 b=column", 2}, {"m=96 n=6144 k=128 dtype=f16 b=column", 2},
                 {"m=4096 n=8 k=808 dtype=e4m3 b=column", 7},   {"m=2304 n=60 k=256 b=column", 4},            {"m=8192 n=8192 k=64 b=column", 4},
                 {"m=9 n=12288 k=84 dtype=i8 b=column stages=5", 5}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan plan;
        plan_for(cases[i].words, &plan);
        const uint64_t stages = cj_params_get(&plan.params, "stages");
        if (stages != cases[i].stages) fail_msg("%s: %u stages", cases[i].words, (unsigned)stages);
    }
}

// By rows and by columns of a cluster, where that leaves less to load; what is asked for stays.
static void clusters_that_share_a_k_share_both_operands(void **state) {
    (void)state;
    static const struct {
        const char *words;
        uint64_t    cluster, cluster_n;
    } cases[] = {{"m=256 n=512 k=65536 b=column", 2, 2},
                 {"m=128 n=512 k=65536 b=column", 1, 2},
                 {"m=64 n=512 k=65536 b=column", 1, 2},
                 {"m=256 n=512 k=65536 b=column cluster=2", 2, 1},
                 {"m=256 n=512 k=65536 b=column cluster-n=2", 2, 2},
                 {"m=256 n=512 k=65536 b=column cluster=1 cluster-n=1", 1, 1}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan plan;
        plan_for(cases[i].words, &plan);
        assert_int_equal(cj_params_get(&plan.params, "cluster"), cases[i].cluster);
        assert_int_equal(cj_params_get(&plan.params, "cluster-n"), cases[i].cluster_n);
    }
}

// What an H200 computed these by fastest, or within 3 % of that.
static void tiles_that_were_measured_to_be_fast_are_taken(void **state) {
    (void)state;
    static const struct {
        const char *words, *tile;
        uint64_t    cluster, cluster_n;
    } cases[] = {{"m=5120 n=512 k=3592 b=column", "192x128", 2, 2},
                 {"m=2880 n=3072 k=3072 bias=n lines=cut b=column", "192x192", 1, 4},
                 {"m=8192 n=8192 k=8192 b=column", "192x128", 1, 2},
                 {"m=4096 n=4096 k=4096 b=column", "128x256", 2, 1},
                 {"m=208 n=1152 k=14288 out=f32 b=column", "128x96", 2, 2},
                 {"m=32 n=7168 k=3072 b=column", "64x64", 1, 4},
                 {"m=7168 n=8 k=5120 b=row", "64x64", 4, 1},
                 {"m=16 n=8192 k=8192 b=column", "64x128", 1, 1}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char    word[16];
        cj_plan plan;
        plan_for(cases[i].words, &plan);
        assert_string_equal(cj_params_word(&plan.params, "tile", word, sizeof word), cases[i].tile);
        assert_int_equal(cj_params_get(&plan.params, "cluster"), cases[i].cluster);
        assert_int_equal(cj_params_get(&plan.params, "cluster-n"), cases[i].cluster_n);
    }
}

// A and B are exchanged where D's rows are far from multiples of a tile's, and not where that is near to as fast.
static void few_rows_are_columns_of_tiles(void **state) {
    (void)state;
    static const struct {
        const char *words, *swap;
    } cases[] = {{"m=264 n=8192 k=8192 b=column", "yes"},
                 {"m=300 n=4096 k=7168 b=column", "yes"},
                 {"m=80 n=4096 k=4096 b=column", "yes"},
                 {"m=66 n=72 k=104 b=column bias=n activation=gelu", "yes"},
                 {"m=66 n=72 k=104 b=column d=column bias=m activation=gelu", "yes"},
                 {"m=8192 n=264 k=8192 b=column d=column", "yes"},
                 {"m=264 n=8192 k=8192 b=column out=f32 c=yes bias=n activation=gelu", "yes"},
                 {"m=264 n=8192 k=8192 b=column swap=no", "no"},
                 {"m=264 n=8192 k=8192 b=column dtype=e4m3 out=e4m3", "no"},
                 {"m=264 n=8192 k=8192 b=column tile=128x256", "no"},
                 {"m=256 n=8192 k=8192 b=column", "no"},
                 {"m=64 n=8192 k=8192 b=column", "no"},
                 {"m=8192 n=8192 k=8192 b=column", "no"},
                 {"m=16 n=2048 k=624 b=column", "no"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char    word[16];
        cj_plan plan;
        plan_for(cases[i].words, &plan);
        assert_string_equal(cj_params_word(&plan.params, "swap", word, sizeof word), cases[i].swap);
    }
    char *text = cj_test_emit("gemm", "m=264 n=8192 k=8192 b=column", "sm_90a");
    assert_non_null(strstr(text, "D lies by columns"));
    cj_text_free(text);
}

static void many_tiles_or_a_short_k_are_not_shared(void **state) {
    (void)state;
    static const char *const words[] = {"m=8192 n=8192 k=8192", "m=2048 n=2048 k=2048", "m=1024 n=1024 k=1024",
                                        "m=512 n=512 k=512", "m=1 n=1 k=64"};
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++) {
        cj_plan plan;
        plan_for(words[i], &plan);
        assert_int_equal(cj_params_get(&plan.params, "split"), 1);
        assert_int_equal(cj_params_get(&plan.params, "parts"), 1);
        assert_int_equal(plan.workspace_bytes, 0);
    }
}

static void every_type_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=72 dtype=tf32 b=column tile=64x64 cluster=2",
        "m=70 n=90 k=101 dtype=tf32 b=column tile=64x64 c=yes d=column out=bf16 cluster=1 cluster-n=2",
        "m=70 n=90 k=300 dtype=e4m3 b=column tile=64x64 cluster=2 cluster-n=2",
        "m=70 n=260 k=140 dtype=e5m2 b=column tile=64x256 cluster=1 out=f32 bias=n",
        "m=70 n=90 k=140 dtype=e4m3 dtype-b=e5m2 b=column tile=64x64 out=e4m3 c=yes d=column",
        "m=70 n=90 k=33 dtype=e5m2 dtype-b=e4m3 b=column tile=64x128 out=f16 activation=silu",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void batches_and_what_they_share_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=72 batch=3 tile=64x64 cluster=2",
        "m=70 n=90 k=40 batch=4 shared=a c=yes tile=64x128 cluster=1 cluster-n=2 a=column",
        "m=130 n=70 k=72 batch=2 shared=bc c=yes tile=128x128 b=column d=column bias=n",
        "m=1 n=1 k=1 batch=5 shared=c c=yes tile=64x64",
        "m=66 n=70 k=72 batch=2 dtype=e4m3 b=column shared=ac c=yes out=e5m2 tile=64x64 cluster=4",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void lines_end_where_they_should(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_watch(1);
    cj_test_gemm_ragged(cj_test_device, 5, &random);
}

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    if (!cj_test_chosen(RANDOM, LONGEST)) skip();
    cj_test_watch(random % 5);
    cj_test_gemm_random(cj_test_device, cj_test_few() ? 1 : 6, 140, &random);
}

static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_watch(0);
    cj_test_gemm_specials(cj_test_device, "m=70 n=40 k=80 tile=64x64 cluster=2", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 a=column dtype=f16 c=yes tile=64x64 cluster=0", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 activation=relu bias=n tile=64x64", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 activation=gelu out=f32 tile=64x64", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 activation=silu dtype=tf32 b=column tile=64x64", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 dtype=e5m2 b=column out=e4m3 tile=64x64", &random);
}

static void dependent_launches_wait_for_each_other(void **state) {
    (void)state;
    uint64_t random = 1;
    if (!cj_test_chosen(DEPENDENT, LONGEST)) skip();
    cj_test_gemm_chain(cj_test_device, "m=70 n=70 k=70 tile=64x64 cluster=1 split=2 parts=2", &random);
}

static void typed_calls_are_right(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_gemm_calls(cj_test_device);
}

// FEATURES, rows 22 and 24: what the kernel's head promises.
static void the_head_states_block_registers_and_cluster(void **state) {
    (void)state;
    static const char *const directives[] = {".reqntid 384", ".maxnreg 168", ".explicitcluster",
                                             ".reqnctapercluster 2"};
    char                    *text = cj_test_emit("gemm", "m=4096 n=4096 k=4096", "sm_90a");
    for (size_t i = 0; i < CJ_TEST_COUNT(directives); i++)
        if (!strstr(text, directives[i])) fail_msg("there is no %s", directives[i]);
    cj_text_free(text);
}

// FEATURES, row 22.
static void a_block_that_is_no_multiple_of_128_is_refused_by_name(void **state) {
    (void)state;
    char      *text = cj_test_emit("gemm", "", "sm_90a"), *at = strstr(text, ".reqntid ");
    cj_module *module = NULL;
    cj_error   error = {0};
    assert_non_null(at);
    memcpy(at + strlen(".reqntid "), "160", 3);
    assert_int_not_equal(cj_module_from_ptx(cj_test_device, text, strlen(text), &module, &error), CJ_OK);
    assert_string_equal(error.rule, "warpgroup-block");
    cj_text_free(text);
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *words, *arch, *says;
        cj_status   status;
    } cases[] = {
        {"form=wgmma", "sm_80", "wgmma", CJ_UNSUPPORTED},
        {"form=wgmma", "sm_90", "only sm_90a has; the target is sm_90", CJ_UNSUPPORTED},
        {"tile=16x128", NULL, "tile: 16x128 is none of form=wgmma", CJ_INVALID_ARGUMENT},
        {"cluster=4 cluster-n=2", NULL, "4 x 2 blocks", CJ_INVALID_ARGUMENT},
        {"cluster=3", NULL, "3 x 1 blocks", CJ_INVALID_ARGUMENT},
        {"cluster=0 cluster-n=2", NULL, "cluster-n: 2", CJ_INVALID_ARGUMENT},
        {"dtype=e4m3", NULL, "b: row", CJ_INVALID_ARGUMENT},
        {"dtype=tf32 a=column b=column", NULL, "a: column", CJ_INVALID_ARGUMENT},
        {"dtype-b=e4m3", NULL, "dtype-b: e4m3", CJ_INVALID_ARGUMENT},
        {"shared=a", NULL, "shared: with batch 1", CJ_INVALID_ARGUMENT},
        {"m=2^20 n=2^20 batch=2^20", NULL, "1048576 times", CJ_INVALID_ARGUMENT},
        {"stages=1", NULL, "stages: 1", CJ_INVALID_ARGUMENT},
        {"tile=128x256 stages=5", NULL, "5 stages of 49152 bytes", CJ_CONTRACT},
        {"", "sm_75", "wgmma", CJ_UNSUPPORTED},
        {"cluster=0 split=2", NULL, "split: 2, but cluster=0", CJ_INVALID_ARGUMENT},
        {"cluster=4 split=8", NULL, "split: 8 times 4 x 1 blocks", CJ_INVALID_ARGUMENT},
        {"tile=64x64 cluster=1 split=1 sums=stages", NULL, "sums: stages, but no blocks of a cluster split K: split 1",
         CJ_INVALID_ARGUMENT},
        {"tile=64x64 cluster=1 split=16 sums=stages stages=2", NULL,
         "sums: stages, but the sums of 16 blocks take 61440 bytes, and 2 stages have 32768", CJ_CONTRACT},
        {"tile=128x128 consumers=in-turn", NULL, "consumers: in-turn, but a tile of 128x128", CJ_INVALID_ARGUMENT},
        {"split=2 cluster=1 consumers=in-turn", NULL, "consumers: in-turn, but a tile of", CJ_INVALID_ARGUMENT},
        {"out=e4m3 swap=yes", NULL, "swap: yes, but results of e4m3", CJ_INVALID_ARGUMENT},
        {"form=mma swap=yes", NULL, "swap: yes, but form=mma", CJ_INVALID_ARGUMENT},
        {"m=16 form=skinny b=column swap=yes", NULL, "swap: yes, but form=skinny", CJ_INVALID_ARGUMENT},
        {"tile=128x256 cluster=1 split=8 sums=apart", NULL, "split: the sums of 8 blocks take 114688 bytes", CJ_CONTRACT},
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_of_two_shares_what_it_loads),
        cmocka_unit_test(every_layout_is_right),
        cmocka_unit_test(tiles_whose_k_is_shared_are_right),
        cmocka_unit_test_setup_teardown(tiles_of_other_widths_are_right, open_few_sms, close_few_sms),
        cmocka_unit_test_setup_teardown(tiles_of_three_groups_are_right, open_few_sms, close_few_sms),
        cmocka_unit_test_setup_teardown(few_tiles_share_rows_evenly, open_few_sms, close_few_sms),
        cmocka_unit_test_setup_teardown(swapped_products_are_right, open_few_sms, close_few_sms),
        cmocka_unit_test_setup_teardown(swapped_tiles_of_any_width_are_right, open_few_sms, close_few_sms),
        cmocka_unit_test_setup_teardown(tiles_that_consumers_take_in_turn_are_right, open_few_sms, close_few_sms),
        cmocka_unit_test(no_schedule_finds_fault_with_shared_k),
        cmocka_unit_test(few_tiles_and_a_long_k_are_shared),
        cmocka_unit_test(stages_are_no_more_than_a_blocks_steps),
        cmocka_unit_test(clusters_that_share_a_k_share_both_operands),
        cmocka_unit_test(sums_come_into_the_ring_where_it_pays),
        cmocka_unit_test(tiles_that_were_measured_to_be_fast_are_taken),
        cmocka_unit_test(few_rows_are_columns_of_tiles),
        cmocka_unit_test(many_tiles_or_a_short_k_are_not_shared),
        cmocka_unit_test(every_epilogue_is_right),
        cmocka_unit_test(integers_are_right),
        cmocka_unit_test(every_type_is_right),
        cmocka_unit_test(batches_and_what_they_share_are_right),
        cmocka_unit_test(lines_end_where_they_should),
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
        cmocka_unit_test(typed_calls_are_right),
        cmocka_unit_test(the_head_states_block_registers_and_cluster),
        cmocka_unit_test(a_block_that_is_no_multiple_of_128_is_refused_by_name),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
