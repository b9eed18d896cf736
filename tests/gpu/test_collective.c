// SPDX-License-Identifier: Apache-2.0
// All ten collectives, for clusters, on a GPU. CJ_FEW=1 runs a few, for compute-sanitizer.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collective_cases.h"
#include "collective_user.h"
#include "test.h"

enum { ROUNDS = 1000, ARRAY_ROUNDS = 20 };

static void all_ten_collectives_are_right_for_any_type_and_cluster(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_collectives(cj_test_device, &random, cj_test_few() ? 1 : 20, 700);
}

// Prints what a round takes, in cycles of the SM: rounds that collided would give wrong results.
static void many_rounds_in_a_row_are_right(void **state) {
    (void)state;
    static const char *const ops[] = {"broadcast", "reduce", "allreduce", "gather", "allgather", "scatter", "reduce-scatter",
                                      "all-to-all", "scan", "shift"};
    for (size_t i = 0; i < CJ_TEST_COUNT(ops) && !cj_test_few(); i++)
        for (int array = 0; array < 2; array++) {
            const bool many = strstr(ops[i], "gather") || strstr(ops[i], "scatter") || strstr(ops[i], "all-to");
            const bool combines = strstr(ops[i], "reduce") || !strcmp(ops[i], "scan");
            char       line[200] = "";
            for (unsigned cluster = 2; cluster <= 16; cluster *= 2)
                for (int push = 0; push < 2; push++) {
                    const unsigned count = !array ? 1 : many ? 4096 / cluster : 4096, rounds = array ? ARRAY_ROUNDS : ROUNDS;
                    char           params[160];
                    snprintf(params, sizeof params, "op=%s strategy=%s cluster=%u count=%u%s rounds=%u", ops[i],
                             push ? "push" : "pull", cluster, count, combines ? " combine=max" : "", rounds);
                    const uint64_t cycles = cj_test_collective(cj_test_device, params) / rounds;
                    char          *end = line + strlen(line);
                    const size_t   room = sizeof line - strlen(line);
                    if (push) snprintf(end, room, " / %" PRIu64, cycles);
                    else snprintf(end, room, "  %u: %" PRIu64, cluster, cycles);
                }
            print_message("%s of %s, cycles a round by pull / push, of clusters of%s\n", ops[i],
                          array ? "16 KiB a block" : "one value", line);
        }
}

static void a_users_kernel_takes_two_collectives_in_a_loop(void **state) {
    (void)state;
    cj_test_collective_user(cj_test_device, CJ_STRATEGY_PULL);
    cj_test_collective_user(cj_test_device, CJ_STRATEGY_PUSH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ten_collectives_are_right_for_any_type_and_cluster),
        cmocka_unit_test(a_users_kernel_takes_two_collectives_in_a_loop),
        cmocka_unit_test(many_rounds_in_a_row_are_right),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
