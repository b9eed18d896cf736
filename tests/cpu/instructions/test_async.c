// SPDX-License-Identifier: Apache-2.0
// Asynchronous stores, copies and reductions on the CPU device: they come late, and a thread that does not wait for them is
// caught.
#include "async_cases.h"

static void every_case(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(async_cases); i++) run_case(&async_cases[i]);
}

static void every_mutant(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(async_mutants); i++) run_mutant(&async_mutants[i]);
}

// Which of its two values result 0 of a pair has, as a bit.
static unsigned value_of(const async_pair *p, const cj_cpu_options *options) {
    const async_case c = {p->name, p->shape, p->variables, p->body, 1, NULL, NULL, NULL};
    cj_error         error = {0};
    cj_test_ok(run_async(&c, options, &error), &error);
    const uint64_t got = async_results[0];
    if (got != p->either && got != p->other) fail_msg("%s: %llu", p->name, (unsigned long long)got);
    return got == p->either ? 1 : 2;
}

static void two_operations_without_order_end_in_both_orders(void **state) {
    (void)state;
    enum { SEEDS = 32 };
    for (size_t i = 0; i < CJ_TEST_COUNT(async_pairs); i++) {
        unsigned seen = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            seen |= value_of(&async_pairs[i], &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1,
                                                                .random_schedule = true, .seed = seed});
        if (seen != 3) fail_msg("%s: only in one order, under %d seeds", async_pairs[i].name, SEEDS);
        // Late: the youngest first, always.
        assert_int_equal(
            value_of(&async_pairs[i], &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .late_schedule = true}),
            1);
    }
}

static void what_only_the_watch_sees(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(async_unordered); i++) {
        cj_error  error = {0};
        cj_status status = run_async(&async_unordered[i],
                                     &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .hazards = true}, &error);
        assert_int_equal(status, CJ_HAZARD);
        assert_string_equal(error.rule, async_unordered[i].rule);
    }
}

// Bulk reductions of one element of every type: bits in memory, bits given, bits expected.
typedef struct reduction {
    const char *operation;
    uint64_t    old, given, expected;
} reduction;

static const reduction reductions[] = {
    {"and.b32", 0xff00ff00, 0x0ff00ff0, 0x0f000f00},
    {"and.b64", 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0x0f000f000f000f00},
    {"or.b32", 0xf0, 0x0f, 0xff},
    {"or.b64", 0xf000000000000000, 0x0f, 0xf00000000000000f},
    {"xor.b32", 0xff, 0x0f, 0xf0},
    {"xor.b64", 1, 0x8000000000000001, 0x8000000000000000},
    {"add.u32", 0xffffffff, 2, 1},
    {"add.s32", 5, 0xfffffffd, 2},
    {"add.u64", 0xffffffff, 1, 0x100000000},
    {"min.u32", 0x80000000, 5, 5},
    {"max.u32", 0x80000000, 5, 0x80000000},
    {"min.s32", 0x80000000, 5, 0x80000000},
    {"max.s32", 0x80000000, 5, 5},
    {"min.u64", 0x8000000000000000, 5, 5},
    {"max.u64", 0x8000000000000000, 5, 0x8000000000000000},
    {"min.s64", 0x8000000000000000, 5, 0x8000000000000000},
    {"max.s64", 0x8000000000000000, 5, 5},
    {"inc.u32", 6, 7, 7},
    {"inc.u32", 7, 7, 0},
    {"dec.u32", 3, 7, 2},
    {"dec.u32", 0, 7, 7},
    {"dec.u32", 9, 7, 7},
    {"add.f32", 0x3fc00000, 0x40100000, 0x40700000},                          // 1.5 + 2.25
    {"add.f64", 0x3ff8000000000000, 0x4002000000000000, 0x400e000000000000},  // the same
    {"add.noftz.f16", 0x3e00, 0x4080, 0x4380},                                // the same
    {"add.noftz.f16", 0x0001, 0x0002, 0x0003},                                // subnormals
    {"add.noftz.f16", 0x03ff, 0x0001, 0x0400},                                // up to the least normal
    {"add.noftz.f16", 0x3c00, 0x1000, 0x3c00},                                // ties go to even
    {"add.noftz.f16", 0x3c01, 0x1000, 0x3c02},
    {"add.noftz.f16", 0x3bff, 0x1000, 0x3c00},  // into the next binade
    {"add.noftz.f16", 0x7bff, 0x7bff, 0x7c00},  // infinity
    {"add.noftz.f16", 0xc000, 0x3c00, 0xbc00},  // -2 + 1
    {"min.f16", 0xc000, 0x3c00, 0xc000},
    {"max.f16", 0x7e00, 0x3c00, 0x3c00},  // a number wins over NaN
    {"add.noftz.bf16", 0x3f80, 0x3f80, 0x4000},
    {"add.noftz.bf16", 0x3f80, 0x3b80, 0x3f80},  // ties go to even
    {"add.noftz.bf16", 0x3f81, 0x3b80, 0x3f82},
    {"min.bf16", 0x3f80, 0xbf80, 0xbf80},
    {"max.bf16", 0x3f80, 0xbf80, 0x3f80},
};

static void reductions_of_every_type(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(reductions); i++) {
        const reduction *r = &reductions[i];
        cj_error         error = {0};
        char             ptx[16384];
        async_reduction_ptx(ptx, sizeof ptx, r->operation, r->old, r->given);
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
        cj_test_ok(run_kernel(ptx, (launch_shape){1, 1, 0, 0}, async_results, &error), &error);
        if (async_results[0] == r->expected) continue;
        fail_msg("%s of 0x%llx and 0x%llx is 0x%llx, not 0x%llx", r->operation, (unsigned long long)r->old,
                 (unsigned long long)r->given, (unsigned long long)async_results[0], (unsigned long long)r->expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(every_mutant),
                                       cmocka_unit_test(two_operations_without_order_end_in_both_orders),
                                       cmocka_unit_test(what_only_the_watch_sees),
                                       cmocka_unit_test(reductions_of_every_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
