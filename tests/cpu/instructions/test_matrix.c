// SPDX-License-Identifier: Apache-2.0
// Instructions on matrices: every shape, type and layout against plain loops; and what kernels must not do with them.
#include "matrix.h"

#include "kernel.h"

static void agrees_with_plain_loops(void **state) {
    const cj_matrix_family *family = *state;
    cj_device              *device = open_cpu();
    const unsigned          failed = cj_matrix_run(family, device, cj_test_seed());
    cj_device_close(device);
    if (failed) fail_msg("%u of %u kernels fail", failed, family->count());
}

// ---- what must not be done, each with its correct twin

// Results: D's first register of thread 0, of which every element is 16 when all is right.
#define MATRIX_HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n"
#define GEMM_OPEN                                                                                                  \
    MATRIX_HEAD ENTRY "    .shared .align 128 .b32 tile[640];\n    .reg .f32 %e<4>;\n" OPEN                        \
                      "    mov.u32 %r0, %tid.x;\n    shl.b32 %r1, %r0, 2;\n    mov.u32 %r2, tile;\n"               \
                      "    add.u32 %r3, %r1, %r2;\n    setp.eq.u32 %p1, %r0, 0;\n    setp.ne.u32 %p2, %r0, %r0;\n" \
                      "    shr.u32 %r2, %r2, 4;\n    cvt.u64.u32 %l1, %r2;\n"                                      \
                      "    or.b64 %l2, %l1, 0x0000001000080000;\n    add.u64 %l3, %l2, 128;\n"                     \
                      "    st.shared.b32 [%r3], 0x3c003c00;\n    st.shared.b32 [%r3+512], 0x3c003c00;\n"           \
                      "    st.shared.b32 [%r3+1024], 0x3c003c00;\n    st.shared.b32 [%r3+1536], 0x3c003c00;\n"     \
                      "    st.shared.b32 [%r3+2048], 0x3c003c00;\n    mov.f32 %e0, 0f00000000;\n"                  \
                      "    mov.f32 %e1, %e0;\n    mov.f32 %e2, %e0;\n    mov.f32 %e3, %e0;\n"
#define PROXY "    fence.proxy.async.shared::cta;\n"
#define BAR "    bar.sync 0;\n"
#define FENCE "    wgmma.fence.sync.aligned;\n"
#define MMA "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%e0, %e1, %e2, %e3}, %l2, %l3, %p2, 1, 1, 0, 0;\n"
#define COMMIT "    wgmma.commit_group.sync.aligned;\n"
#define WAIT "    wgmma.wait_group.sync.aligned 0;\n"
#define WAIT_1 "    wgmma.wait_group.sync.aligned 1;\n"
#define GEMM_CLOSE "    @%p1 st.global.f32 [%out], %e0;\n" CLOSE
#define GEMM(...) GEMM_OPEN __VA_ARGS__ GEMM_CLOSE

#define ROWS(address, ...)                                                                             \
    HEAD ENTRY "    .shared .align 16 .b32 tile[32];\n" OPEN                                           \
               "    mov.u32 %r0, %tid.x;\n    shl.b32 %r1, %r0, 2;\n    mov.u32 %r2, tile;\n"          \
               "    add.u32 %r3, %r1, %r2;\n    st.shared.b32 [%r3], %r0;\n    and.b32 %r4, %r0, 7;\n" \
               "    mad.lo.u32 %r4, %r4, 16, %r2;\n" __VA_ARGS__                                       \
               "    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4" address                      \
               "];\nskip:\n    st.global.u32 [%at], %r5;\n" CLOSE
#define SYNC "    bar.warp.sync -1;\n"

typedef struct fault {
    const char *rule;
    unsigned    fault_block, twin_block;  // threads
    const char *fault, *twin;
} fault;

static const fault faults[] = {
    {"proxy-fence", 128, 128, GEMM(BAR FENCE MMA COMMIT WAIT), GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"race-block", 128, 128, GEMM(PROXY FENCE MMA COMMIT WAIT), GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"wgmma-registers", 128, 128, GEMM(PROXY BAR MMA COMMIT WAIT), GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"wgmma-registers", 128, 128, GEMM(PROXY BAR FENCE MMA COMMIT "    mov.f32 %e1, 0f3f800000;\n" WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT WAIT "    mov.f32 %e1, 0f3f800000;\n")},
    {"race-block", 128, 128, GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT WAIT_1 "    st.shared.b32 [%r3], 0;\n" WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT WAIT "    st.shared.b32 [%r3], 0;\n")},
    {"race-block", 128, 128, GEMM(PROXY BAR FENCE MMA COMMIT BAR "    st.shared.b32 [%r3], 0;\n" WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT WAIT BAR "    st.shared.b32 [%r3], 0;\n")},
    {"wgmma-registers", 128, 128, GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT "    mov.f32 %e1, 0f3f800000;\n" WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT WAIT)},
    // What is read in flight is old, whether or not it is written later: also where products before have ended.
    {"wgmma-registers", 128, 128, GEMM(PROXY BAR FENCE MMA COMMIT "    add.f32 %f1, %e3, %e3;\n" WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT WAIT "    add.f32 %f1, %e3, %e3;\n")},
    {"wgmma-registers", 128, 128,
     GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT WAIT_1 "    mov.b64 %l4, {%e0, %e1};\n" WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT WAIT_1 WAIT "    mov.b64 %l4, {%e0, %e1};\n")},
    {"wgmma-registers", 128, 128, GEMM(PROXY BAR FENCE MMA COMMIT), GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"divergent", 96, 128, GEMM(PROXY BAR FENCE MMA COMMIT WAIT), GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"deadlock", 128, 128,
     GEMM(PROXY BAR FENCE "    setp.lt.u32 %p3, %r0, 32;\n    @%p3 bra skip;\n" MMA "skip:\n" COMMIT WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"out-of-bounds", 128, 128, GEMM("    add.u64 %l3, %l3, 0x100;\n" PROXY BAR FENCE MMA COMMIT WAIT),
     GEMM(PROXY BAR FENCE MMA COMMIT WAIT)},
    {"race-warp", 32, 32, ROWS("", ""), ROWS("", SYNC)},
    {"misaligned", 32, 32, ROWS("+4", SYNC), ROWS("", SYNC)},
    {"out-of-bounds", 32, 32, ROWS("+128", SYNC), ROWS("", SYNC)},
    {"divergent", 16, 32, ROWS("", SYNC), ROWS("", SYNC)},
    {"divergent", 32, 32, ROWS("", SYNC "    setp.lt.u32 %p1, %r0, 4;\n    @%p1 bra skip;\n"),
     ROWS("", SYNC "    setp.gt.u32 %p1, %r0, 64;\n    @%p1 bra skip;\n")},
};

static bool reported(const char *rule) {
    for (size_t i = 0; i < found_count; i++) {
        if (!strcmp(found[i].rule, rule)) return true;
    }
    return false;
}

static void faults_are_reported_and_their_twins_are_not(void **state) {
    (void)state;
    unsigned        failed = 0;
    static uint64_t results[RESULTS];
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true};
    for (unsigned seed = 0; seed < 6; seed++) {  // 0: the fixed schedule
        cpu_options.random_schedule = seed;
        cpu_options.seed = seed;
        for (size_t i = 0; i < CJ_TEST_COUNT(faults); i++) {
            cj_error error = {0};
            run_kernel(faults[i].fault, (launch_shape){1, faults[i].fault_block, 0, 0}, results, &error);
            if (!reported(faults[i].rule)) {
                print_error("fault %zu, seed %u: no %s, but %s %s\n", i, seed, faults[i].rule, error.rule,
                            error.message);
                failed++;
            }
            error = (cj_error){0};
            if (!run_kernel(faults[i].twin, (launch_shape){1, faults[i].twin_block, 0, 0}, results, &error)) continue;
            print_error("twin %zu, seed %u: %s %s\n", i, seed, error.rule, error.message);
            failed++;
        }
    }
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
    assert_int_equal(failed, 0);
}

// What nobody has waited for has not happened.
static void results_come_with_the_wait(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    const struct {
        const char *ptx;
        float       expected;
    } runs[] = {{GEMM(PROXY BAR FENCE MMA COMMIT), 0},
                {GEMM(PROXY BAR FENCE MMA COMMIT WAIT), 16},
                {GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT "    wgmma.wait_group.sync.aligned 2;\n"), 0},
                {GEMM(PROXY BAR FENCE MMA COMMIT MMA COMMIT "    wgmma.wait_group.sync.aligned 1;\n"), 16}};
    for (size_t i = 0; i < 2 * CJ_TEST_COUNT(runs); i++) {  // under the fixed schedule, then under the late one
        const size_t k = i % CJ_TEST_COUNT(runs);
        cj_error     error = {0};
        float        got;
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .late_schedule = i != k};
        cj_test_ok(run_kernel(runs[k].ptx, (launch_shape){1, 128, 0, 0}, results, &error), &error);
        memcpy(&got, results, sizeof got);
        if (got != runs[k].expected) fail_msg("run %zu: %g, not %g", i, (double)got, (double)runs[k].expected);
    }
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
}

int main(void) {
    const struct CMUnitTest tests[] = {CJ_MATRIX_TEST(agrees_with_plain_loops, rows),
                                       CJ_MATRIX_TEST(agrees_with_plain_loops, mma),
                                       CJ_MATRIX_TEST(agrees_with_plain_loops, wmma),
                                       CJ_MATRIX_TEST(agrees_with_plain_loops, wgmma),
                                       cmocka_unit_test(faults_are_reported_and_their_twins_are_not),
                                       cmocka_unit_test(results_come_with_the_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
