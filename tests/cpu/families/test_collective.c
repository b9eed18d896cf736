// SPDX-License-Identifier: Apache-2.0
// All ten collectives, for clusters, on the CPU device, which watches every access.
#include <stdio.h>
#include <string.h>

#include "collective_cases.h"
#include "collective_user.h"
#include "emit.h"
#include "test.h"

static void watch(uint64_t seed) {
    cj_error       error = {0};
    cj_cpu_options options = {CJ_INIT(options), .hazards = true, .random_schedule = seed > 0,
                              .seed = seed,     .threads = 1,    .instruction_limit = 100 * 1000 * 1000};
    cj_test_ok(cj_cpu_configure(cj_test_device, &options, &error), &error);
}

static void all_ten_collectives_are_right_for_any_type_and_cluster(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    watch(0);
    cj_test_collectives(cj_test_device, &random, cj_test_few() ? 1 : 3, 40);
}

static void every_cluster_size_is_right(void **state) {
    (void)state;
    for (unsigned size = 1; size <= 16; size += cj_test_few() ? 3 : 1)
        for (unsigned form = 0; form < 4; form++) {
            char params[128];
            snprintf(params, sizeof params, "op=allreduce cluster=%u strategy=%s count=%u rounds=3", size,
                     form & 1 ? "push" : "pull", form & 2 ? 9 : 1);
            watch(size);
            cj_test_collective(cj_test_device, params);
        }
}

// Rounds follow each other with nothing between them but what the collectives bring along.
static void no_schedule_makes_rounds_collide(void **state) {
    (void)state;
    static const char *const params[] = {
        "op=allreduce cluster=3 rounds=6",
        "op=all-to-all cluster=4 rounds=5 dtype=u64 block=64",
        "op=shift around=no cluster=5 rounds=4 strategy=pull",
        "op=broadcast cluster=3 count=20 rounds=4 root=2 block=64",
        "op=gather cluster=3 count=20 rounds=4 root=1 block=64",
        "op=scan cluster=3 count=21 rounds=4 block=64",
        "op=reduce cluster=4 count=9 rounds=4 block=32",
        "op=reduce-scatter cluster=2 count=20 rounds=4 strategy=pull block=64",
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(params); i++)
        for (uint64_t seed = 0; seed < (cj_test_few() ? 2 : 5); seed++) {
            watch(seed);
            cj_test_collective(cj_test_device, params[i]);
        }
}

static void a_users_kernel_takes_two_collectives_in_a_loop(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        watch(seed);
        cj_test_collective_user(cj_test_device, seed % 2 ? CJ_STRATEGY_PULL : CJ_STRATEGY_PUSH);
    }
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *params, *names;
    } wrong[] = {
        {"cluster=0", "a collective is of a cluster"},
        {"cluster=8 cluster-y=3", "is 24 blocks"},
        {"op=reduce cluster=4 root=4", "root: 4 is no rank"},
        {"op=scan dtype=u8", "op=scan does not go with dtype=u8"},
        {"op=allgather cluster=16 count=65536", "bytes of shared memory"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        cj_params params;
        cj_plan   plan;
        cj_error  error = {0};
        cj_test_ok(cj_test_params("collective", wrong[i].params, &params, &error), &error);
        assert_int_not_equal(cj_plan_make(&params, cj_device_limits(cj_test_device), NULL, &plan, &error), CJ_OK);
        if (!strstr(error.message, wrong[i].names)) fail_msg("'%s' does not say '%s'", error.message, wrong[i].names);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ten_collectives_are_right_for_any_type_and_cluster),
        cmocka_unit_test(every_cluster_size_is_right),
        cmocka_unit_test(no_schedule_makes_rounds_collide),
        cmocka_unit_test(a_users_kernel_takes_two_collectives_in_a_loop),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
