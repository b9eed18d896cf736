// SPDX-License-Identifier: Apache-2.0
// With hazards on, asynchronous work that no thread ever waits for takes time in proportion to its number, under each schedule.
// So do multiplications of wgmma that end long after they began. Eight times as many rounds of a loop take 7 to 14 times as long,
// for the caches of the host; where an operation cost more for each one before it, they took 20 to 64 times as long. Times are of the processor.
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "kernel.h"

#ifdef __SANITIZE_THREAD__
enum { SCHEDULES = 1 };  // so many of them, from one that the seed chooses: all take seven minutes
#else
enum { SCHEDULES = 3 };
#endif
enum { TRIES_FEW = 3, TRIES_MANY = 1, ROUNDS = 2048, FACTOR = 8, RATIO_MOST = 24 };

// Round %i of %n; `bar`: two mbarriers, the first of which never completes a phase; %r8 and %r9: the second one's parity, and 1.
#define LOOP(body)                                                                                                      \
    ".version 8.7\n.target sm_90a\n.address_size 64\n"                                                                  \
    ".visible .entry kernel(.param .u64 out, .param .u32 rounds)\n{\n"                                                  \
    "    .shared .align 128 .b8 tile[256];\n    .shared .align 8 .b64 bar[2];\n    .reg .b32 %i, %n;\n" OPEN            \
    "    ld.param.u32 %n, [rounds];\n    mov.u32 %i, 0;\n    mov.u32 %r8, 0;\n    mov.u32 %r9, 1;\n"                    \
    "    mbarrier.init.shared.b64 [bar], 1048575;\n    mbarrier.init.shared.b64 [bar+8], 1;\n"                          \
    "    st.shared.v4.u32 [tile], {%r9, %r9, %r9, %r9};\n    fence.proxy.async;\n"                                      \
    "next:\n" body "    add.u32 %i, %i, 1;\n    setp.lt.u32 %p0, %i, %n;\n    @%p0 bra next;\n" CLOSE

#define STORE   "    cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 16;\n"
#define REDUCE  "    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [tile], 16;\n"
#define COMMIT  "    cp.async.bulk.commit_group;\n"
#define READ(n) "    cp.async.bulk.wait_group.read " n ";\n"
#define FILL    "    st.shared.v4.u32 [tile], {%r9, %r9, %r9, %r9};\n    fence.proxy.async;\n"
#define LOAD(at)                                                                                                  \
    "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+64], [%out+256], 16, [bar+" at   \
    "];\n"
#define ASK     "    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"
#define AWAITED                                                                                                      \
    "    mbarrier.arrive.expect_tx.shared.b64 _, [bar+8], 16;\n" LOAD("8")                                           \
    "wait:\n    mbarrier.try_wait.parity.shared.b64 %p1, [bar+8], %r8;\n    @!%p1 bra wait;\n    xor.b32 %r8, %r8, " \
    "1;\n"
#define ASK4   "    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 4;\n"
#define SIGNAL ".shared::cluster.mbarrier::complete_tx::bytes"
#define PEER                                                                            \
    "    mov.u32 %r2, tile;\n    mapa.shared::cluster.u32 %r2, %r2, 0;\n"               \
    "    mov.u32 %r3, bar;\n    mapa.shared::cluster.u32 %r3, %r3, 0;\n"
#define COPY    "    cp.async.ca.shared.global [tile+64], [%out+256], 16;\n"
#define COPIED  "    cp.async.commit_group;\n    cp.async.wait_group 0;\n"
#define ARRIVE  "    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"

// Multiplications of a warpgroup, of registers %acc, of zeros in shared memory; before the loop one of %old is awaited.
#define WGMMAS(body, end)                                                                                            \
    ".version 8.7\n.target sm_90a\n.address_size 64\n"                                                               \
    ".visible .entry kernel(.param .u64 out, .param .u32 rounds)\n{\n"                                               \
    "    .shared .align 128 .b8 tile[4096];\n    .reg .b32 %i, %n, %a<4>;\n    .reg .b64 %s;\n"                      \
    "    .reg .f32 %acc<4>, %old<4>;\n    .reg .pred %more, %adds;\n    ld.param.u32 %n, [rounds];\n"                \
    "    mov.u32 %i, %tid.x;\n    mul.lo.u32 %i, %i, 4;\nfill:\n    st.shared.b32 [%i], 0;\n"                        \
    "    add.u32 %i, %i, 512;\n    setp.lt.u32 %more, %i, 4096;\n    @%more bra fill;\n"                             \
    "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mov.b64 %s, 68720001024;\n"                            \
    "    mov.b32 %a0, 0;\n    mov.b32 %a1, 0;\n    mov.b32 %a2, 0;\n    mov.b32 %a3, 0;\n"                           \
    "    setp.ne.u32 %adds, 0, 0;\n    mov.u32 %i, 0;\n    wgmma.fence.sync.aligned;\n" WGMMA("old", "%s", ", 0")    \
        END WAIT "next:\n" body "    add.u32 %i, %i, 1;\n    setp.lt.u32 %more, %i, %n;\n    @%more bra next;\n" end \
                 "    ret;\n}\n"
#define WGMMA(d, a, transposes)                                                                      \
    "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%" d "0, %" d "1, %" d "2, %" d "3}, " a \
    ", %s, %adds, 1, 1, 0" transposes ";\n"
#define IN_MEMORY WGMMA("acc", "%s", ", 0")
#define IN_REGISTERS WGMMA("acc", "{%a0, %a1, %a2, %a3}", "")
#define END "    wgmma.commit_group.sync.aligned;\n"
#define WAIT "    wgmma.wait_group.sync.aligned 0;\n"
#define USE "    add.f32 %old0, %old0, %old1;\n"

static const struct {
    const char *name, *ptx;
    unsigned    threads;
} loops[] = {
    {"stores whose reads alone are awaited", LOOP(FILL STORE COMMIT READ("0")), 1},
    {"one of their reads is not awaited either", LOOP(STORE COMMIT READ("1")), 1},
    {"stores that nobody awaits", LOOP(STORE COMMIT), 1},
    {"stores without groups", LOOP(STORE), 1},
    {"reductions whose reads alone are awaited", LOOP(REDUCE COMMIT READ("0")), 1},
    {"loads that are awaited, stores that are not", LOOP(AWAITED STORE COMMIT), 1},
    {"loads that are awaited, stores whose reads are", LOOP(AWAITED STORE COMMIT READ("0")), 1},
    {"loads that nobody awaits", LOOP(ASK LOAD("0")), 1},
    {"loads that nobody awaits, and some that are", LOOP(ASK LOAD("0") AWAITED), 1},
    {"asynchronous stores that nobody awaits", LOOP(PEER ASK4 "    st.async" SIGNAL ".u32 [%r2], %r9, [%r3];\n"), 1},
    {"asynchronous reductions that nobody awaits",
     LOOP(PEER ASK4 "    red.async.relaxed.cluster" SIGNAL ".add.u32 [%r2], %r9, [%r3];\n"), 1},
    {"small copies that nobody awaits", LOOP(COPY), 1},
    {"small copies that arrive where nobody waits", LOOP(COPY ARRIVE), 1},
    {"small copies outside of the groups that are awaited", LOOP(COPY "    cp.async.wait_group 0;\n"), 1},
    {"small copies that are awaited, stores that are not", LOOP(COPY COPIED STORE COMMIT), 1},
    {"multiplications that nobody awaits", WGMMAS(IN_MEMORY END USE, ""), 128},
    {"multiplications that nobody awaits, of registers", WGMMAS(IN_REGISTERS END USE, ""), 128},
    {"multiplications that end together", WGMMAS(IN_REGISTERS USE, END WAIT), 128},
    {"multiplications that end one by one", WGMMAS(IN_MEMORY END USE, WAIT), 128},
};

// The least of several launches.
static double seconds(cj_device *device, const cj_launch_config *config, unsigned tries) {
    double least = 1e9;
    for (unsigned i = 0; i < tries; i++) {
        struct timespec begin, end;
        cj_error        error = {0};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        const cj_status status = cj_launch(device, config, &error);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        if (status != CJ_OK && status != CJ_HAZARD) cj_test_ok(status, &error);
        const double took = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
        if (took < least) least = took;
    }
    return least;
}

static void measure(const char *name, const char *ptx, unsigned threads) {
    cj_device   *device = open_cpu();
    cj_module   *module;
    cj_function *function;
    cj_ptr       memory;
    uint32_t     rounds;
    cj_error     error = {0};
    cj_test_ok(cj_mem_alloc(device, 4096, &memory, &error), &error);
    cj_test_ok(cj_mem_write(device, memory, (unsigned char[4096]){0}, 4096, NULL, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &function, &error), &error);
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {1, 1, 1},
                                     .block = {threads, 1, 1},
                                     .arguments = (void *[]){&memory, &rounds},
                                     .argument_count = 2};
    rounds = ROUNDS;
    const double few = seconds(device, &config, TRIES_FEW);
    rounds = ROUNDS * FACTOR;
    const double many = seconds(device, &config, TRIES_MANY);
    print_message("%5.1f  %s\n", many / few, name);
    if (many > few * RATIO_MOST)
        fail_msg("%s: %d rounds take %.1f ms, %d take %.1f ms", name, ROUNDS, few * 1e3, ROUNDS * FACTOR, many * 1e3);
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
}

static void unawaited_work_takes_time_in_proportion(void **state) {
    (void)state;
    const uint64_t       seed = cj_test_seed();
    const cj_cpu_options schedules[] = {
        {CJ_INIT(cj_cpu_options), .hazards = true, .threads = 1},
        {CJ_INIT(cj_cpu_options), .hazards = true, .threads = 1, .late_schedule = true},
        {CJ_INIT(cj_cpu_options), .hazards = true, .threads = 1, .random_schedule = true, .seed = seed},
    };
    for (size_t k = 0; k < SCHEDULES; k++) {
        cpu_options = schedules[(seed + k) % CJ_TEST_COUNT(schedules)];
        for (size_t i = 0; i < CJ_TEST_COUNT(loops); i++) measure(loops[i].name, loops[i].ptx, loops[i].threads);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unawaited_work_takes_time_in_proportion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
