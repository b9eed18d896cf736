// SPDX-License-Identifier: Apache-2.0
// What a copy costs on the CPU device does not depend on how many threads copy, nor on how many copies are in flight: cp.async
// and a wait for it take the same time in a cluster of 16 blocks as in blocks without one, under each schedule.
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "kernel.h"

// 256 threads a block copy 16 bytes each, 32 times; before they wait they start `copies`, text that starts some.
#define COPIES(turns, copies)                                                                                      \
    HEAD ENTRY                                                                                                     \
        "    .shared .align 16 .b8 tile[4096];\n" OPEN                                                             \
        "    mov.u32 %r1, %tid.x;\n    shl.b32 %r1, %r1, 4;\n    mov.u32 %r2, tile;\n    add.u32 %r2, %r2, %r1;\n" \
        "    cvt.u64.u32 %l1, %r1;\n    add.u64 %l1, %out, %l1;\n    mov.u32 %r3, 0;\n"                            \
        "AGAIN:\n" copies "    cp.async.wait_group 0;\n    bar.sync 0;\n    add.u32 %r3, %r3, 1;\n"                \
        "    setp.lt.u32 %p1, %r3, " turns ";\n    @%p1 bra AGAIN;\n" CLOSE
#define COPY "    cp.async.cg.shared.global [%r2], [%l1], 16;\n    cp.async.commit_group;\n"
#define FOUR COPY COPY COPY COPY

enum { BLOCKS = 16, TRIES = 7 };

// Of the process, so that other work on the machine counts little.
static double seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// The least of several launches.
static double cost(const char *ptx, unsigned cluster) {
    static uint64_t results[RESULTS];
    double          least = 1e9;
    for (unsigned i = 0; i < TRIES; i++) {
        cj_error     error = {0};
        const double start = seconds();
        cj_test_ok(run_kernel(ptx, (launch_shape){BLOCKS, 256, cluster, 0}, results, &error), &error);
        if (seconds() - start < least) least = seconds() - start;
    }
    return least;
}

// 2 is what is allowed, and 1.0 what is usual; searching the cluster's copies made it 20.
static void waits_cost_the_same_in_any_cluster(void **state) {
    const double alone = cost(COPIES("32", COPY), 1), four = cost(COPIES("32", COPY), 4),
                 sixteen = cost(COPIES("32", COPY), 16);
    (void)state;
    print_message("clusters of 1, 4, 16: %.1f, %.1f, %.1f ms\n", alone * 1e3, four * 1e3, sixteen * 1e3);
    assert_true(four < 2 * alone && sixteen < 2 * alone);
}

// 3 is what is allowed, and 1.7 usual, for the memory of 65,536 copies in flight. Looking at all of them each round made it 5.5.
static void copies_cost_the_same_however_many_are_in_flight(void **state) {
    (void)state;
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .random_schedule = true,
                                   .seed = cj_test_seed()};
    const double few = cost(COPIES("32", COPY), 1), many = cost(COPIES("2", FOUR FOUR FOUR FOUR), 16);
    print_message("256 and 65,536 copies in flight: %.1f, %.1f ms\n", few * 1e3, many * 1e3);
    assert_true(many < 3 * few);
}

int main(void) {
    cpu_options.threads = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_cost_the_same_in_any_cluster),
        cmocka_unit_test(copies_cost_the_same_however_many_are_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
