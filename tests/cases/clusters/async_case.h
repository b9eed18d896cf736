// SPDX-License-Identifier: Apache-2.0
// Kernels with asynchronous work as a table: each runs under the fixed schedule and under random ones, with and without
// hazards, and must give the same results; a mutant of it, which lacks one wait, must not. tests/ptxas assembles all of
// them.
#ifndef CJ_TESTS_CPU_ASYNC_CASE_H
#define CJ_TESTS_CPU_ASYNC_CASE_H

#include "kernel.h"

#define ASYNC_HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"

// Thread 0 executes this alone; every thread waits for a phase. `name` is a unique label.
#define FIRST(lines) "    setp.eq.u32 %p7, %r0, 0;\n" lines
#define INIT(bar, count) "    @%p7 mbarrier.init.shared::cta.b64 [" bar "], " count ";\n"
#define PUBLISH "    fence.mbarrier_init.release.cluster;\n    fence.proxy.async;\n"
#define WAIT(name, bar, parity) \
    name ":\n    mbarrier.try_wait.parity.shared::cta.b64 %p6, [" bar "], " parity ";\n    @!%p6 bra " name ";\n"
#define WAIT_CLUSTER(name, bar, parity)                                                            \
    name ":\n    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p6, [" bar "], " parity \
         ";\n    @!%p6 bra " name ";\n"
#define CLUSTER "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"

enum { INPUT = 2048 };  // results from this index on start as (index - INPUT), the others as 0

typedef struct async_case {
    const char  *name;
    launch_shape shape;
    const char  *variables, *body;
    unsigned     count;
    uint64_t (*expected)(unsigned i);  // of result i below `count`; NULL: the kernel has a fault,
    const char *rule, *words;          // which is reported by this rule, with these words
} async_case;

static inline void async_ptx(const async_case *c, char *ptx, size_t size) {
    snprintf(ptx, size, "%s%s%s%s%s%s", ASYNC_HEAD, ENTRY, c->variables, OPEN, c->body, CLOSE);
}

static uint64_t async_results[RESULTS];

static inline cj_status run_async(const async_case *c, const cj_cpu_options *options, cj_error *error) {
    char ptx[16384];
    async_ptx(c, ptx, sizeof ptx);
    for (unsigned i = 0; i < RESULTS; i++) async_results[i] = i < INPUT ? 0 : i - INPUT;
    cpu_options = *options;
    return run_kernel(ptx, c->shape, async_results, error);
}

// The index of the first result that differs from its expected value; the case's count if none does.
static inline unsigned first_wrong(const async_case *c) {
    unsigned i = 0;
    while (i < c->count && async_results[i] == c->expected(i)) i++;
    return i;
}

static inline void expect_right(const async_case *c, const cj_cpu_options *options) {
    cj_error  error = {0};
    cj_status status = run_async(c, options, &error);
    if (status) print_error("%s, seed %llu: rule %s\n", c->name, (unsigned long long)options->seed, error.rule);
    cj_test_ok(status, &error);
    const unsigned wrong = first_wrong(c);
    if (wrong < c->count) {
        fail_msg("%s, seed %llu: result %u is 0x%llx, not 0x%llx", c->name, (unsigned long long)options->seed, wrong,
                 (unsigned long long)async_results[wrong], (unsigned long long)c->expected(wrong));
    }
}

static inline void expect_fault(const async_case *c) {
    const cj_cpu_options options = {CJ_INIT(options), .threads = 1};
    cj_error             error = {0};
    cj_status            status = run_async(c, &options, &error);
    if (status != CJ_HAZARD) fail_msg("%s: %s %s", c->name, cj_status_name(status), error.message);
    if (strcmp(error.rule, c->rule)) fail_msg("%s: rule %s: %s", c->name, error.rule, error.message);
    if (!strstr(error.message, c->words)) fail_msg("%s: no '%s' in '%s'", c->name, c->words, error.message);
}

static inline void run_case(const async_case *c) {
#ifdef __SANITIZE_ADDRESS__
    enum { SEEDS = 1 };  // the tests are slow there
#else
    enum { SEEDS = 12 };
#endif
    if (!c->expected) {
        expect_fault(c);
        return;
    }
    for (unsigned hazards = 0; hazards < 2; hazards++) {
        for (unsigned seed = 0; seed <= SEEDS; seed++) {
            expect_right(c, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .random_schedule = seed > 0,
                                              .seed = seed, .hazards = hazards});
        }
        expect_right(
            c, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .late_schedule = true, .hazards = hazards});
    }
}

// A kernel that lacks a wait: its results are wrong under the fixed and the late schedule, or the run reports a hazard; with
// hazards on, it always reports one.
static inline void run_mutant(const async_case *c) {
    cj_error error = {0};
    for (unsigned late = 0; late < 2; late++) {
        if (!run_async(c, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .late_schedule = late}, &error) &&
            first_wrong(c) == c->count)
            fail_msg("%s: the results are right, late %u", c->name, late);
    }
    if (run_async(c, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .hazards = true}, &error) != CJ_HAZARD)
        fail_msg("%s: no hazard was seen", c->name);
}

#endif
