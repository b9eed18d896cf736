// SPDX-License-Identifier: Apache-2.0
// A mainloop of wgmma over a pipeline of stages in shared memory, as CUTLASS writes it: a producer copies A and B in, the
// consumers' one thread frees a stage for the whole warp group. With hazards on it is right and silent; its faulty twins,
// which free a stage that may still be read, are found under every schedule.
#include "kernel.h"

enum {
    STEPS = 7,
    STAGES = 2,
    CONSUMERS = 128,
    THREADS = 256,
    A_BYTES = 2048,
    B_BYTES = 256,
    STAGE_BYTES = A_BYTES + B_BYTES
};

// Stage: A, 64 x 16 of f16, then B, 16 x 8; step s finds s + 1 in all of A and 1 in all of B. `full` and `empty`: an
// mbarrier a stage. Thread 128 produces. %stage and %phase: of the running step; %i counts steps.
#define KERNEL_HEAD                                                                                          \
    ".version 8.3\n.target sm_90a\n.address_size 64\n" ENTRY                                                 \
    "    .shared .align 128 .b8 tile[4608];\n    .shared .align 8 .b64 full[2];\n    .shared .align 8 .b64 " \
    "empty[2];\n"                                                                                            \
    "    .reg .b32 %i, %stage, %phase, %at_stage, %full, %empty, %last;\n    .reg .f32 %e<4>;\n" OPEN        \
    "    mov.u32 %r0, %tid.x;\n    setp.ne.u32 %p0, %r0, 0;\n    @%p0 bra ready;\n"                          \
    "    mbarrier.init.shared::cta.b64 [full], 1;\n    mbarrier.init.shared::cta.b64 [full+8], 1;\n"         \
    "    mbarrier.init.shared::cta.b64 [empty], 1;\n    mbarrier.init.shared::cta.b64 [empty+8], 1;\n"       \
    "    fence.proxy.async.shared::cta;\nready:\n    bar.sync 0;\n"                                          \
    "    mov.u32 %i, 0;\n    setp.ge.u32 %p0, %r0, 128;\n    @%p0 bra produce;\n"
#define STAGE_OF(i)                                                                                  \
    "    and.b32 %stage, " i ", 1;\n    shr.u32 %phase, " i ", 1;\n    and.b32 %phase, %phase, 1;\n" \
    "    mov.u32 %at_stage, tile;\n    mad.lo.u32 %at_stage, %stage, 2304, %at_stage;\n"             \
    "    mov.u32 %full, full;\n    mad.lo.u32 %full, %stage, 8, %full;\n"                            \
    "    mov.u32 %empty, empty;\n    mad.lo.u32 %empty, %stage, 8, %empty;\n"
#define WAIT_FOR(label, barrier, parity)                                                                              \
    label ":\n    mbarrier.try_wait.parity.shared::cta.b64 %p4, [" barrier "], " parity ";\n    @!%p4 bra " label ";" \
                                                                                                                  "\n"
#define ARRIVE(guard) "    @" guard " mbarrier.arrive.shared::cta.b64 _, [%empty];\n"
#define MMA                                                                                                  \
    "    shr.u32 %r2, %at_stage, 4;\n    cvt.u64.u32 %l1, %r2;\n    or.b64 %l2, %l1, 0x0000001000080000;\n"  \
    "    add.u64 %l3, %l2, 128;\n    wgmma.fence.sync.aligned;\n"                                            \
    "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%e0, %e1, %e2, %e3}, %l2, %l3, 1, 1, 1, 0, 0;\n" \
    "    wgmma.commit_group.sync.aligned;\n"
#define WAIT_GROUP(n) "    wgmma.wait_group.sync.aligned " n ";\n"
#define CONSUME(step)                                                                                     \
    "    mov.f32 %e0, 0f00000000;\n    mov.f32 %e1, %e0;\n    mov.f32 %e2, %e0;\n    mov.f32 %e3, %e0;\n" \
    "    setp.eq.u32 %p1, %r0, 37;\n"                                                                     \
    "consume:\n" STAGE_OF("%i") WAIT_FOR("wait_full", "%full", "%phase") MMA step                         \
        "    add.u32 %i, %i, 1;\n    setp.lt.u32 %p2, %i, 7;\n    @%p2 bra consume;\n" WAIT_GROUP(        \
            "0") "    st.global.v2.f32 [%at], {%e0, %e3};\n    ret;\n"
#define PRODUCE                                                                                                    \
    "produce:\n    setp.ne.u32 %p0, %r0, 128;\n    @%p0 ret;\n"                                                    \
    "fill:\n" STAGE_OF("%i") "    xor.b32 %phase, %phase, 1;\n" WAIT_FOR(                                          \
        "wait_empty", "%empty", "%phase") "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 2304;\n"      \
                                          "    mad.wide.u32 %l4, %i, 2304, %out;\n    add.u64 %l4, %l4, 2048;\n"   \
                                          "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " \
                                          "[%at_stage], [%l4], 2304, [%full];\n"                                   \
                                          "    add.u32 %i, %i, 1;\n    setp.lt.u32 %p2, %i, 7;\n    @%p2 bra fill;\n"
#define STAGES_KERNEL(step)   \
    KERNEL_HEAD CONSUME(step) \
    PRODUCE     CLOSE

// Frees the stage of the step before this one, if there is one.
#define FREE_PREVIOUS(guard) \
    "    setp.gt.and.u32 %p3, %i, 0, " guard ";\n    sub.u32 %last, %i, 1;\n" STAGE_OF("%last") ARRIVE("%p3")

static const struct {
    const char *name, *step;
    bool        right;
} manners[] = {
    {"a thread frees the stage that was waited for", STAGES_KERNEL(WAIT_GROUP("0") ARRIVE("%p1")), true},
    {"a thread frees the stage before, one product in flight", STAGES_KERNEL(WAIT_GROUP("1") FREE_PREVIOUS("%p1")),
     true},
    {"freed before any wait", STAGES_KERNEL(ARRIVE("%p1") WAIT_GROUP("0")), false},
    {"freed while its product is in flight", STAGES_KERNEL(WAIT_GROUP("1") ARRIVE("%p1")), false},
    {"two products in flight, the first one's stage is freed", STAGES_KERNEL(WAIT_GROUP("2") FREE_PREVIOUS("%p1")),
     false},
};

static void put_inputs(uint64_t results[RESULTS]) {
    static const uint16_t number[STEPS + 1] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
    unsigned char        *at = (unsigned char *)results + 2048;
    memset(results, 0, 2048);
    for (unsigned step = 0; step < STEPS; step++, at += STAGE_BYTES) {
        // As descriptors have it: 64 rows in panels of 8, 256 bytes apart, the halves of k 128 bytes apart; B follows A.
        for (unsigned i = 0; i < STAGE_BYTES / 2; i++) memcpy(at + 2 * i, &number[i < A_BYTES / 2 ? step + 1 : 1], 2);
    }
}

static bool is_race(void) {
    for (size_t i = 0; i < found_count; i++) {
        if (!strcmp(found[i].rule, "race-block")) return true;
    }
    return false;
}

static void check_sums(const uint64_t results[CONSUMERS], const char *name) {
    const float sum = 16 * STEPS * (STEPS + 1) / 2;
    for (unsigned i = 0; i < CONSUMERS; i++) {
        float d[2];
        memcpy(d, &results[i], 8);
        if (d[0] != sum || d[1] != sum)
            fail_msg("%s: thread %u has %g and %g, not %g", name, i, (double)d[0], (double)d[1], (double)sum);
    }
}

// A stage that is freed too early is a race. Where the schedule lets the producer fill it twice before a warp has waited for
// the first time, that warp waits for a phase that is over: the multiplication is never whole, and the launch is a deadlock.
static void one_thread_frees_a_stage_for_its_warp_group(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    for (unsigned seed = 0; seed < 8; seed++) {  // 0: the fixed schedule
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = seed,
                                       .seed = seed + cj_test_seed()};
        for (size_t i = 0; i < CJ_TEST_COUNT(manners); i++) {
            cj_error error = {0};
            put_inputs(results);
            const cj_status status = run_kernel(manners[i].step, (launch_shape){1, THREADS, 0, 0}, results, &error);
            if (manners[i].right) {
                cj_test_ok(status, &error);
                check_sums(results, manners[i].name);
            } else if (!is_race() && (!seed || strcmp(error.rule, "deadlock") != 0)) {
                fail_msg("%s, seed %u: no race is reported (%s)", manners[i].name, seed, error.message);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_thread_frees_a_stage_for_its_warp_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
