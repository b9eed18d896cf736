// SPDX-License-Identifier: Apache-2.0
// What a random schedule delays, as PTX allows: warps, blocks of a cluster, clusters, and the answer of
// mbarrier.try_wait. Each kernel's result 0 says how long; some seed must give more than a lot, and the fixed schedule must not.
#include "kernel.h"

enum { SEEDS = 64 };

typedef struct delay {
    const char  *name;
    launch_shape shape;
    const char  *variables, *body;  // result 0 grows with the delay
    uint64_t     fixed, least;      // at most, under the fixed schedule; at least, under some seed
    uint64_t     often;             // at least so many seeds
} delay;

// One side stores `flag` as the first thing it does; the other one counts, up to 100000, how often it does not see it.
#define COUNT(mine)                                                                                                  \
    "    setp.eq.u32 %p0, " mine                                                                                     \
    ", 0;\n    @%p0 bra count;\n    st.volatile.global.u32 [%out + 512], 1;\n    bra done;\n"                        \
    "count:\n    mov.u64 %l1, 0;\nagain:\n    ld.volatile.global.u32 %r2, [%out + 512];\n    add.u64 %l1, %l1, 1;\n" \
    "    setp.eq.u32 %p1, %r2, 0;\n    setp.lt.and.u64 %p1, %l1, 100000, %p1;\n    @%p1 bra again;\n"                \
    "    st.global.u64 [%out], %l1;\ndone:\n"

static const delay delays[] = {
    {"a warp gets no turn for long", {1, 64, 0, 0}, "", "    shr.u32 %r3, %r0, 5;\n" COUNT("%r3"), 300, 800, 2},
    {"a block of the cluster begins late",
     {2, 32, 2, 0},
     "",
     "    mov.u32 %r3, %cluster_ctarank;\n" COUNT("%r3"),
     300,
     600,
     2},
    {"clusters begin in another order",
     {16, 32, 0, 0},
     "",
     "    setp.ne.u32 %p0, %r0, 0;\n    @%p0 bra done;\n    atom.global.add.u32 %r1, [%out + 512], 1;\n"
     "    mov.u32 %r2, %ctaid.x;\n    setp.ne.u32 %p1, %r1, %r2;\n    @%p1 st.global.u64 [%out], 1;\ndone:\n",
     0,
     1,
     8},
    {"mbarrier.try_wait answers before the phase is complete",
     {1, 64, 0, 0},
     "    .shared .align 8 .b64 bar;\n",
     "    setp.eq.u32 %p7, %r0, 0;\n    @%p7 mbarrier.init.shared::cta.b64 [bar], 1;\n    bar.sync 0;\n"
     "    shr.u32 %r3, %r0, 5;\n    setp.eq.u32 %p0, %r3, 0;\n    @%p0 bra wait;\n    mov.u32 %r4, 0;\nspend:\n"
     "    add.u32 %r4, %r4, 1;\n    setp.lt.u32 %p1, %r4, 3000;\n    @%p1 bra spend;\n    setp.eq.u32 %p7, %r0, 32;\n"
     "    @%p7 mbarrier.arrive.shared::cta.b64 %l1, [bar];\n    bra done;\nwait:\n"
     "    mbarrier.try_wait.parity.shared::cta.b64 %p6, [bar], 0;\n    @%p6 bra done;\n    st.global.u64 [%out], "
     "1;\ndone:\n",
     0,
     1,
     8},
};

static uint64_t result_of(const delay *d, cj_cpu_options options) {
    static uint64_t results[RESULTS];
    char            ptx[8192];
    cj_error        error = {0};
    memset(results, 0, sizeof results);
    snprintf(ptx, sizeof ptx, "%s%s%s%s%s%s", HEAD, ENTRY, d->variables, OPEN, d->body, CLOSE);
    options.threads = 1;
    cpu_options = options;
    cj_test_ok(run_kernel(ptx, d->shape, results, &error), &error);
    return results[0];
}

static void what_nothing_orders_is_delayed(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(delays); i++) {
        const delay *d = &delays[i];
        uint64_t     longest = 0, seen = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const uint64_t got = result_of(
                d, (cj_cpu_options){CJ_INIT(cj_cpu_options), .random_schedule = true, .seed = seed});
            seen += got >= d->least;
            longest = got > longest ? got : longest;
        }
        print_message("%s: %llu at most, %llu seeds\n", d->name, (unsigned long long)longest, (unsigned long long)seen);
        assert_true(seen >= d->often);
        for (unsigned late = 0; late < 2; late++)
            assert_true(result_of(d, (cj_cpu_options){CJ_INIT(cj_cpu_options), .late_schedule = late}) <= d->fixed);
    }
}

static void a_schedule_is_of_one_kind(void **state) {
    (void)state;
    cj_error             error = {0};
    const cj_cpu_options both = {CJ_INIT(both), .random_schedule = true, .late_schedule = true};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
    cj_device *device = open_cpu();
    assert_int_equal(cj_cpu_configure(device, &both, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "both random_schedule and late_schedule"));
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_orders_is_delayed),
        cmocka_unit_test(a_schedule_is_of_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
