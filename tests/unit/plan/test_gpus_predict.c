// SPDX-License-Identifier: Apache-2.0
// The model of collectives of GPUs, held against what was measured, and the choices that follow from it.
#include <inttypes.h>

#include "predict.h"
#include "test.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static double us(cj_gpus_by by, uint32_t gpus, double bytes) { return cj__gpus_predict(by, CJ_TRAFFIC_ALLREDUCE, gpus, bytes) * 1e-3; }

static void expect_near(const char *what, double predicted, double measured, double share) {
    if (predicted < measured * (1 - share) || predicted > measured * (1 + share))
        fail_msg("%s: predicted %.2f us, measured %.2f", what, predicted, measured);
}

// 4 x H200, NCCL 2.28.9 in a graph, without NVLS: all-reduce of bf16; all-gather and reduce-scatter of 64 MiB.
static void nccl_takes_what_was_measured(void **state) {
    (void)state;
    static const struct {
        double bytes, us;
    } measured[] = {{16 * KIB, 13.6}, {64 * KIB, 14.2}, {256 * KIB, 14.6}, {MIB, 21.1}, {4 * MIB, 41.9}, {64 * MIB, 324}};
    for (size_t i = 0; i < CJ_TEST_COUNT(measured); i++)
        expect_near("NCCL", us(CJ_BY_NCCL_CALL, 4, measured[i].bytes), measured[i].us, 0.1);
    expect_near("all-gather", cj__gpus_predict(CJ_BY_NCCL_CALL, CJ_TRAFFIC_PART_EACH, 4, 64 * MIB) * 1e-3, 664, 0.1);
    expect_near("reduce-scatter", cj__gpus_predict(CJ_BY_NCCL_CALL, CJ_TRAFFIC_PART_EACH, 4, 16 * MIB) * 1e-3, 193, 0.15);
}

// A trial of one shot on 2 x H200.
static void one_shot_takes_what_a_trial_measured(void **state) {
    (void)state;
    static const struct {
        double bytes, us;
    } measured[] = {{16 * KIB, 2.9}, {64 * KIB, 3.2}, {256 * KIB, 4.5}, {MIB, 9.6}};
    for (size_t i = 0; i < CJ_TEST_COUNT(measured); i++)
        expect_near("one shot", us(CJ_BY_ONE_SHOT, 2, measured[i].bytes), measured[i].us, 0.12);
}

// Of 2 GPUs one and two shots send the same bytes, and one shot waits once; of more, two shots send less. Without tags half the bytes go.
static void shots_follow_from_the_model(void **state) {
    (void)state;
    assert_int_equal(cj__gpus_by_mail(2, 256 * KIB), CJ_BY_ONE_SHOT);
    assert_int_equal(cj__gpus_by_mail(4, 64 * KIB), CJ_BY_ONE_SHOT);
    assert_int_equal(cj__gpus_by_mail(4, 128 * KIB), CJ_BY_TWO_SHOTS);
    assert_int_equal(cj__gpus_by_mail(4, 4 * MIB), CJ_BY_BLOCKS);
    assert_int_equal(cj__gpus_by_mail(8, 16 * KIB), CJ_BY_ONE_SHOT);
    assert_int_equal(cj__gpus_by_mail(8, 64 * KIB), CJ_BY_TWO_SHOTS);
    for (uint32_t gpus = 2; gpus <= 8; gpus++) {
        assert_true(us(CJ_BY_ARRAYS, gpus, 16 * KIB) > us(CJ_BY_ONE_SHOT, gpus, 16 * KIB));
        assert_true(us(CJ_BY_ARRAYS, gpus, 4 * MIB) < us(CJ_BY_TWO_SHOTS, gpus, 4 * MIB));
        assert_true(us(CJ_BY_ARRAYS, gpus, 16.0 * MIB) < us(CJ_BY_NCCL_CALL, gpus, 16.0 * MIB));
        assert_true(us(CJ_BY_BLOCKS, gpus, 4 * MIB) < us(CJ_BY_NCCL_CALL, gpus, 4 * MIB));
        assert_true(us(CJ_BY_ARRAYS, gpus, 256.0 * MIB) > us(CJ_BY_NCCL_CALL, gpus, 256.0 * MIB));
    }
}

// Chunks divide the rows, and a product that is shorter than its launch is left whole.
static void chunks_divide_the_rows(void **state) {
    (void)state;
    assert_int_equal(cj__gpus_chunks(4, 132, 16, 256, 256, 256, 2), 1);
    assert_int_equal(cj__gpus_chunks(4, 132, 8191, 8192, 8192, 8192, 2), 1);
    for (uint64_t rows = 64; rows <= 16384; rows += 96) {
        const uint32_t chunks = cj__gpus_chunks(4, 132, rows, 8192, 2048, 8192, 2);
        assert_true(chunks >= 1 && chunks <= 16 && rows % chunks == 0);
    }
    assert_true(cj__gpus_chunks(4, 132, 8192, 8192, 2048, 8192, 2) > 1);
    assert_int_equal(cj__gpus_side_blocks(), 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nccl_takes_what_was_measured),
        cmocka_unit_test(one_shot_takes_what_a_trial_measured),
        cmocka_unit_test(shots_follow_from_the_model),
        cmocka_unit_test(chunks_divide_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
