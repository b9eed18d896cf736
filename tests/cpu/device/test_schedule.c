// SPDX-License-Identifier: Apache-2.0
// How the CPU device runs a launch: schedules from a seed, host threads, clusters that wait for each other, limits,
// progress, and what it counts.
#define _POSIX_C_SOURCE 200809L
#include "kernel.h"

#include <time.h>

static uint64_t results[RESULTS];

// Runs with these options on memory that starts as zeros.
static cj_status run_with(cj_cpu_options options, const char *ptx, launch_shape shape, cj_error *error) {
    memset(results, 0, sizeof results);
    cpu_options = options;
    return run_kernel(ptx, shape, results, error);
}

// ---- seeds

// Each thread notes as the how manieth it took a ticket: the schedule, made visible.
static const char tickets[] = KERNEL(
    "", "    atom.global.add.u32 %r1, [%out + 30000], 1;\n    st.global.u32 [%at], %r1;\n");

static void a_seed_gives_one_schedule(void **state) {
    (void)state;
    enum { BYTES = 512 * 8 };
    static uint64_t    first[RESULTS];
    const launch_shape shape = {8, 64, 4, 0};
    cj_error           error = {0};
    unsigned           different = 0;
    cj_test_ok(run_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1}, tickets, shape, &error), &error);
    for (unsigned i = 0; i < 512; i++) assert_int_equal(results[i], i);  // the fixed one: in order
    for (uint64_t seed = 1; seed < 8; seed++) {
        const cj_cpu_options options = {CJ_INIT(options), .random_schedule = true, .seed = seed, .threads = 1};
        cj_test_ok(run_with(options, tickets, shape, &error), &error);
        if (memcmp(first, results, BYTES)) different++;
        memcpy(first, results, BYTES);
        for (int again = 0; again < 2; again++) {
            cj_test_ok(run_with(options, tickets, shape, &error), &error);
            assert_memory_equal(first, results, BYTES);
        }
    }
    assert_int_equal(different, 7);
}

// ---- host threads

// A block's sum of its threads' numbers, by a tree in shared memory, plus what atomics add up to in the whole grid.
static const char sums[] = KERNEL(
    "    .shared .align 4 .b32 tile[128];\n",
    "    mov.u32 %r0, %tid.x; shl.b32 %r2, %r0, 2; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3;\n"
    "    st.shared.u32 [%r2], %thread;\n    mov.u32 %r4, 64;\nnext:\n    bar.sync 0;\n"
    "    setp.ge.u32 %p0, %r0, %r4; shl.b32 %r5, %r4, 2; add.u32 %r5, %r5, %r2;\n"
    "    @%p0 bra skip;\n    ld.shared.u32 %r6, [%r5]; ld.shared.u32 %r7, [%r2]; add.u32 %r6, %r6, %r7;\n"
    "    st.shared.u32 [%r2], %r6;\nskip:\n    shr.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0;\n    @%p1 bra next;\n"
    "    setp.eq.u32 %p2, %r0, 0; mov.u32 %r8, %ctaid.x; mul.wide.u32 %l1, %r8, 8; add.u64 %l1, %out, %l1;\n"
    "    @%p2 st.global.u32 [%l1], %r6;\n    red.global.add.u64 [%out + 8192], 1;\n"
    "    cvt.rn.f32.u32 %f1, 1; red.global.add.f32 [%out + 8200], %f1;\n");

static void host_threads_change_nothing(void **state) {
    (void)state;
    const launch_shape shape = {96, 128, 2, 0};
    cj_error           error = {0};
    for (uint32_t threads = 0; threads < 6; threads++) {
        cj_test_ok(run_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = threads}, sums, shape, &error),
                   &error);
        for (uint64_t i = 0; i < 96; i++) assert_int_equal(results[i], (i * 128 + i * 128 + 127) * 64);
        assert_int_equal(results[1024], 96 * 128);
        float adds;
        memcpy(&adds, &results[1025], 4);
        assert_true(adds == 96.0f * 128.0f);
    }
    cj_test_ok(run_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .threads = 4}, sums, shape, &error),
               &error);
}

// ---- clusters that wait for each other

// All clusters of the grid wait for each other, twice.
static const char meetings[] = KERNEL(
    "", "    mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; mov.u32 %r1, %nctaid.x;\n"
        "    st.global.u32 [%at], 1;\n    mov.u32 %r2, 0;\njoin:\n    bar.sync 0; @%p0 bra joined;\n"
        "    add.u32 %r2, %r2, %r1; atom.acq_rel.gpu.global.add.u32 %r3, [%out + 32000], 1;\n"
        "spin:\n    ld.acquire.gpu.global.u32 %r3, [%out + 32000]; setp.lt.u32 %p1, %r3, %r2;\n    @%p1 bra spin;\n"
        "joined:\n    bar.sync 0;\n    mov.u32 %r6, %nctaid.x; add.u32 %r5, %r5, 1; setp.eq.u32 %p2, %r4, 77;\n"
        "    @%p2 bra done;\n    mov.u32 %r4, 77;\n"
        "    mov.u32 %r6, %ctaid.x; add.u32 %r6, %r6, 1; rem.u32 %r6, %r6, %r1; mul.wide.u32 %l1, %r6, 512;\n"
        "    mul.wide.u32 %l2, %r0, 8; add.u64 %l1, %l1, %l2; add.u64 %l1, %l1, %out;\n"
        "    ld.global.u32 %r7, [%l1]; bra join;\ndone:\n    st.global.u32 [%at], %r7;\n");

static void clusters_wait_for_each_other(void **state) {
    (void)state;
    const launch_shape          shape = {20, 64, 0, 0};
    static const cj_cpu_options options[] = {
        {CJ_INIT(cj_cpu_options), .threads = 1},
        {CJ_INIT(cj_cpu_options), .threads = 3},
        {CJ_INIT(cj_cpu_options), .hazards = true},
        {CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = true, .seed = 3}};
    for (size_t k = 0; k < CJ_TEST_COUNT(options); k++) {
        cj_error error = {0};
        cj_test_ok(run_with(options[k], meetings, shape, &error), &error);
        for (unsigned i = 0; i < 20 * 64; i++) assert_int_equal(results[i], 1);
    }
}

// ---- limits

static void a_livelock_ends_with_a_picture(void **state) {
    (void)state;
    static const char ptx[] = KERNEL(
        "", "    setp.lt.u32 %p0, %r0, 32;\n    @%p0 bra wait;\nspin:\n    ld.relaxed.gpu.global.u32 %r1, [%out];\n"
            "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra spin;\nwait:\n    bar.sync 0;\n");
    for (uint32_t threads = 1; threads < 3; threads++) {
        cj_error             error = {0};
        const cj_cpu_options options = {CJ_INIT(options), .instruction_limit = 1000000, .threads = threads};
        assert_int_equal(run_with(options, ptx, (launch_shape){2, 64, 0, 0}, &error), CJ_HAZARD);
        assert_string_equal(error.rule, "livelock");
        assert_non_null(strstr(error.message, "its limit of 1000000 thread instructions"));
        assert_non_null(strstr(error.message, "32 threads at line "));
        assert_non_null(strstr(error.message, "bar.sync"));
        assert_true(error.line > 0);
    }
    cj_error error = {0};
    cj_test_ok(run_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .instruction_limit = 1000000}, tickets,
                        (launch_shape){8, 64, 4, 0}, &error),
               &error);
}

// ---- progress

typedef struct progress {
    unsigned calls;
    uint64_t done, clusters, instructions;
} progress;

static void note_progress(void *user, uint64_t done, uint64_t clusters, uint64_t instructions) {
    progress *p = user;
    assert_true(done >= p->done && done <= clusters);
    assert_true(instructions >= p->instructions);
    *p = (progress){p->calls + 1, done, clusters, instructions};
}

static double seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void progress_is_told_about_twice_a_second(void **state) {
    (void)state;
    // Slow instructions, so that half a second passes before many are executed.
    static const char    ptx[] = KERNEL("", "    mov.u64 %l1, 0x123456789abcdef;\nnext:\n    rem.u64 %l2, %l1, %at;\n"
                                               "    rem.u64 %l3, %l1, %out;\n    bra next;\n");
    cj_error             error = {0};
    progress             seen = {0};
    const double         start = seconds();
    const cj_cpu_options options = {CJ_INIT(options), .threads = 1, .progress = note_progress, .progress_user = &seen,
                                    .instruction_limit = 500000000};
    assert_int_equal(run_with(options, ptx, (launch_shape){3, 32, 0, 0}, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "livelock");
    assert_int_equal(seen.clusters, 3);
    assert_true(seen.calls >= 1 && seen.calls <= 2 * (seconds() - start) + 1);
}

// ---- what is counted

static void check_counts(const cj_cpu_stats *stats) {
    enum { THREADS = 4 * 64 };
    assert_int_equal(stats->shared_written, THREADS * 4);
    assert_int_equal(stats->shared_read, 0);
    assert_int_equal(stats->dsmem_read, THREADS * 4);
    assert_int_equal(stats->dsmem_written, 0);
    assert_int_equal(stats->global_read, THREADS * 4);  // by the red
    assert_int_equal(stats->global_written, THREADS * 4);
    assert_int_equal(stats->atomics, THREADS);
    assert_int_equal(stats->block_barriers, THREADS);
    assert_int_equal(stats->cluster_barriers, 2 * THREADS);
    assert_int_equal(stats->bank_conflicts, THREADS / 32 * 7);  // 4 banks for 32 words; the peer's word is one for all
    assert_int_equal(stats->by_class[CJ_CPU_FLOAT], THREADS);
    assert_int_equal(stats->by_class[CJ_CPU_BARRIER], 5 * THREADS);
    uint64_t sum = 0;
    for (int i = 0; i < CJ_CPU_CLASS_COUNT; i++) sum += stats->by_class[i];
    assert_int_equal(sum, stats->thread_instructions);
    assert_int_equal(stats->thread_instructions, stats->warp_instructions * 32);
    assert_true(stats->seconds > 0);
}

static void counts_are_those_of_threads(void **state) {
    (void)state;
    // Per thread: one shared store of 4 bytes, 8 banks apart; a barrier; a v4 load; a load from the peer; an atomic.
    static const char ptx[] = KERNEL(
        "    .shared .align 16 .b32 tile[2048];\n",
        "    mov.u32 %r0, %tid.x; mov.u32 %r1, tile; shl.b32 %r2, %r0, 5; add.u32 %r2, %r2, %r1;\n"
        "    st.shared.u32 [%r2], %r0;\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
        "    mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1; mapa.shared::cluster.u32 %r4, %r1, %r3;\n"
        "    ld.shared::cluster.u32 %r5, [%r4];\n    bar.sync 0;\n"
        "    cvt.rn.f32.u32 %f0, %r5; fma.rn.f32 %f0, %f0, %f0, %f0;\n"
        "    red.global.add.u32 [%out + 32000], %r5;\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n");
    cj_error     error = {0};
    cj_device   *device = NULL;
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       memory = 0;
    cj_cpu_stats stats = {CJ_INIT(stats)};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .stats = true};
    device = open_cpu();
    cj_test_ok(cj_mem_alloc(device, RESULTS * 8, &memory, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &function, &error), &error);
    const cj_launch_config config = {CJ_INIT(config),     .function = function, .grid = {4, 1, 1},
                                     .block = {64, 1, 1}, .cluster = {2, 1, 1}, .arguments = (void *[]){&memory},
                                     .argument_count = 1};
    cj_test_ok(cj_launch(device, &config, &error), &error);
    cj_test_ok(cj_cpu_stats_read(device, &stats, &error), &error);
    check_counts(&stats);
    const cj_cpu_stats once = stats;
    cj_test_ok(cj_launch(device, &config, &error), &error);
    cj_test_ok(cj_cpu_stats_read(device, &stats, &error), &error);
    assert_int_equal(stats.global_written, 2 * once.global_written);
    assert_int_equal(stats.thread_instructions, 2 * once.thread_instructions);
    assert_true(stats.seconds > once.seconds);
    cj_test_ok(cj_cpu_stats_clear(device, &error), &error);
    cj_test_ok(cj_launch(device, &config, &error), &error);
    cj_test_ok(cj_cpu_stats_read(device, &stats, &error), &error);
    stats.seconds = once.seconds;
    assert_memory_equal(&stats, &once, sizeof stats);
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_one_schedule),
        cmocka_unit_test(host_threads_change_nothing),
        cmocka_unit_test(clusters_wait_for_each_other),
        cmocka_unit_test(a_livelock_ends_with_a_picture),
        cmocka_unit_test(progress_is_told_about_twice_a_second),
        cmocka_unit_test(counts_are_those_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
