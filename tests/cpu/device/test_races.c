// SPDX-License-Identifier: Apache-2.0
// Kernels that lack one synchronization each: whatever the schedule, the CPU device names the rule and both lines.
// Each has a correct twin, of which nothing is reported. And the kernels that we ship, with one synchronization taken
// away.
#include <clusterjit/kernel.h>
#include <stdlib.h>

#include "kernel.h"

enum { SEEDS = 12 };  // schedule 0 is the fixed one

// Text of a body; `missing` stands where the fault has nothing or something weaker, and the twin what is needed.
typedef struct fault {
    const char  *rule;
    launch_shape shape;
    const char  *variables, *before, *fault, *twin, *after;
    const char  *words;  // in the message
} fault;

#define TILE "    .shared .align 16 .b32 tile[64];\n"

// %r0: thread in the block. %r2: 4 * %r0 + tile. %r3: the same of the neighbour in the block, in a ring of ntid.
#define OWN "    mov.u32 %r0, %tid.x; shl.b32 %r2, %r0, 2; mov.u32 %r1, tile; add.u32 %r2, %r2, %r1;\n"
#define NEIGHBOUR(distance)                                                                                    \
    "    mov.u32 %r3, %ntid.x; add.u32 %r4, %r0, " #distance "; rem.u32 %r4, %r4, %r3; shl.b32 %r4, %r4, 2;\n" \
    "    add.u32 %r3, %r4, %r1;\n"
#define STARTED "    barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
#define TOGETHER "    barrier.cluster.arrive; barrier.cluster.wait;\n"
// %r5: tile of the next rank; %p1: rank 0; %p2: thread 0; %p3: both.
#define PEER                                                                                        \
    "    mov.u32 %r6, %cluster_ctarank; add.u32 %r5, %r6, 1; mov.u32 %r7, %cluster_nctarank;\n"     \
    "    rem.u32 %r5, %r5, %r7; mapa.shared::cluster.u32 %r5, %r1, %r5; setp.eq.u32 %p1, %r6, 0;\n" \
    "    setp.eq.u32 %p2, %r0, 0; and.pred %p3, %p1, %p2;\n"
// %p4: block 0 of the grid.
#define BLOCK_0 "    mov.u32 %r0, %tid.x; mov.u32 %r6, %ctaid.x; setp.eq.u32 %p4, %r6, 0;\n"
// A thread's copies of 4 bytes each to where %r1 points.
#define COPY_700(label)                                                           \
    "    mov.u32 %r2, 0; mov.u32 %r3, %r1;\n" label ":\n"                         \
    "    cp.async.ca.shared.global [%r3], [%out], 4;\n    add.u32 %r3, %r3, 4;\n" \
    "    add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 700; @%p4 bra " label ";\n"
// Two mbarriers of 32 arrivals each; thread 0 is %p1.
#define BARRIERS "    .shared .align 8 .b64 bar[2];\n"
#define INIT                                                                       \
    "    setp.eq.u32 %p1, %r0, 0;\n    @%p1 mbarrier.init.shared.b64 [bar], 32;\n" \
    "    @%p1 mbarrier.init.shared.b64 [bar + 8], 32;\n    bar.sync 0;\n"
#define COPY_ARRIVES(to, bar)                              \
    "    cp.async.ca.shared.global [" to "], [%out], 4;\n" \
    "    cp.async.mbarrier.arrive.noinc.shared.b64 [" bar "];\n"
#define AWAIT_PHASE(label, bar) \
    label ":\n    mbarrier.try_wait.parity.shared.b64 %p3, [" bar "], 0;\n    @!%p3 bra " label ";\n"
#define WRITE "    st.global.u32 [%out], 9;\n    bar.warp.sync -1;\n"
#define READ "    ld.global.u32 %r9, [%out];\n"
#define READ_FAR "    ld.global.u32 %r9, [%out + 128];\n"
// Where %p4, waits for the flag and reads; what follows is the others', up to the label done.
#define AWAIT                                                                        \
    "    @!%p4 bra write;\nspin:\n    ld.acquire.gpu.global.u32 %r8, [%out + 64];\n" \
    "    setp.eq.u32 %p5, %r8, 0; @%p5 bra spin;\n" READ "    bra done;\nwrite:\n"
// Warp 0 of block 0 waits for warp 1, which writes at + 0, and for block 1, which writes at + 128.
#define AWAIT_BOTH                                                                                           \
    BLOCK_0 "    setp.ge.u32 %p2, %r0, 32;\n    @!%p4 bra far;\n    @%p2 bra near;\nspin:\n"                 \
            "    ld.relaxed.cta.global.u32 %r8, [%out + 64]; ld.relaxed.gpu.global.u32 %r9, [%out + 192];\n" \
            "    min.u32 %r8, %r8, %r9; setp.eq.u32 %p5, %r8, 0; @%p5 bra spin;\n"
#define WRITE_BOTH                                                                                        \
    "    bra done;\nnear:\n" WRITE "    st.release.cta.global.u32 [%out + 64], 1;\n    bra done;\nfar:\n" \
    "    @%p2 bra done;\n    st.global.u32 [%out + 128], 9;\n    bar.warp.sync -1;\n"                     \
    "    st.release.gpu.global.u32 [%out + 192], 1;\ndone:\n"

// clang-format off
static const fault faults[] = {
    {"race-warp", {1, 32, 0, 0}, TILE,
     OWN NEIGHBOUR(1) "    st.shared.u32 [%r2], %r0;\n", "", "    bar.warp.sync -1;\n",
     "    ld.shared.u32 %r8, [%r3];\n", "tile + "},
    {"race-warp", {1, 32, 0, 0}, TILE, OWN "    and.b32 %r3, %r2, -8;\n", "    st.shared.u32 [%r3], %r0;\n",
     "    st.shared.u32 [%r3], %r6;\n", "", "thread (1, 0, 0)"},
    {"race-warp", {1, 32, 0, 0}, TILE, OWN "    and.b32 %r3, %r2, -8;\n", "    st.shared.u32 [%r3], %r0;\n",
     "    st.shared.u32 [%r3], %r6;\n", "", "nothing says whose value stays"},
    {"race-block", {1, 64, 0, 0}, TILE, OWN NEIGHBOUR(32) "    st.shared.u32 [%r2], %r0;\n", "    bar.warp.sync -1;\n",
     "    bar.sync 0;\n", "    ld.shared.u32 %r8, [%r3];\n", "4 bytes of shared memory of rank 0"},
    {"race-block", {1, 64, 0, 0}, TILE,
     OWN NEIGHBOUR(32) "    st.shared.u32 [%r2], %r0;\n    bar.sync 0;\n    ld.shared.u32 %r8, [%r3];\n", "",
     "    bar.sync 0;\n", "    st.shared.u32 [%r2], 7;\n", " reads tile"},
    {"race-block", {1, 64, 0, 0}, TILE, OWN "    and.b32 %r3, %r0, 31; add.u32 %r3, %r3, %r1;\n",
     "    shl.b32 %r4, %r3, 0;\n", "    shr.u32 %r5, %r0, 5; shl.b32 %r5, %r5, 5; add.u32 %r4, %r3, %r5;\n",
     "    st.shared.u8 [%r4], %r0;\n", "1 bytes of shared memory"},
    {"race-block", {1, 64, 0, 0}, TILE,
     OWN "    setp.eq.u32 %p2, %r0, 0;\n    @%p2 st.shared.u32 [tile], 0;\n    bar.sync 0;\n"
         "    red.shared.add.u32 [tile], %r0;\n",
     "    bar.warp.sync -1;\n", "    bar.sync 0;\n", "    @%p2 ld.shared.u32 %r8, [tile];\n", "tile + 0"},
    // Warp 0 produces, warp 1 consumes: what arrives is published, what only arrives has seen nothing.
    {"race-block", {1, 64, 0, 0}, TILE,
     OWN NEIGHBOUR(32) "    setp.lt.u32 %p2, %r0, 32;\n    @%p2 bra produce;\n",
     "    bar.arrive 1, 64;\n", "    bar.sync 1, 64;\n",
     "    ld.shared.u32 %r8, [%r3];\n    bra done;\nproduce:\n    st.shared.u32 [%r2], %r0;\n"
     "    bar.sync 1, 64;\ndone:\n",
     "tile + "},
    // More copies of a thread under way than 16 bits number in a block of 96 threads: none of them is left unwatched.
    {"race-block", {1, 96, 0, 0}, "    .shared .align 16 .b32 many[1400];\n",
     "    mov.u32 %r0, %tid.x; mov.u32 %r1, many;\n    setp.ne.u32 %p1, %r0, 0; @%p1 bra first;\n"
     COPY_700("copy_first") "first:\n    bar.sync 0;\n    add.u32 %r1, %r1, 2800;\n"
     "    setp.ne.u32 %p2, %r0, 95; @%p2 bra second;\n" COPY_700("copy_second")
     "second:\n    cp.async.wait_all;\n",
     "", "    bar.sync 0;\n", "    setp.eq.u32 %p3, %r0, 64; @%p3 ld.shared.u32 %r8, [many + 5596];\n", "many + 5596"},
    // A thread's copies before an arrival are all that the arrival brings, whichever of two comes first; the thread may still wait
    // for them itself.
    {"race-block", {1, 64, 0, 0}, TILE BARRIERS,
     OWN INIT "    setp.ge.u32 %p2, %r0, 32;\n    @%p2 bra consume;\n" COPY_ARRIVES("%r2", "bar")
     COPY_ARRIVES("%r2 + 128", "bar + 8") "    bra done;\nconsume:\n" AWAIT_PHASE("first", "bar")
     "    ld.shared.u32 %r8, [%r2 + -128];\n",
     "", AWAIT_PHASE("second", "bar + 8"),
     "    ld.shared.u32 %r8, [%r2];\n    bar.warp.sync -1;\n    setp.eq.u32 %p3, %r0, 32;\n"
     "    @%p3 mbarrier.inval.shared.b64 [bar];\ndone:\n",
     "tile + "},
    {"race-block", {1, 32, 0, 0}, TILE BARRIERS,
     OWN INIT COPY_ARRIVES("%r2", "bar") "    cp.async.commit_group;\n    mov.u32 %r3, 0;\nspin:\n"
     "    add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 2048; @%p3 bra spin;\n",
     "    cp.async.wait_group 1;\n", "    cp.async.wait_group 0;\n", "    ld.shared.u32 %r8, [%r2];\n", "tile + "},
    {"race-cluster", {4, 32, 2, 0}, TILE,
     OWN PEER STARTED "    shl.b32 %r8, %r0, 2; add.u32 %r5, %r5, %r8; st.shared::cluster.u32 [%r5], %r0;\n",
     "    bar.sync 0;\n", TOGETHER, "    ld.shared.u32 %r9, [%r2];\n" TOGETHER, "rank 1 in its cluster"},
    {"relaxed-arrive", {4, 32, 2, 0}, TILE,
     OWN PEER STARTED "    shl.b32 %r8, %r0, 2; add.u32 %r5, %r5, %r8; st.shared::cluster.u32 [%r5], %r0;\n",
     STARTED, TOGETHER, "    ld.shared.u32 %r9, [%r2];\n" TOGETHER, "only a relaxed arrive is between them"},
    {"relaxed-arrive", {4, 32, 2, 0}, TILE,
     OWN PEER STARTED "    shl.b32 %r8, %r0, 2; add.u32 %r5, %r5, %r8; st.shared::cluster.u32 [%r5], %r0;\n",
     STARTED, "    fence.acq_rel.cluster;\n" STARTED, "    ld.shared.u32 %r9, [%r2];\n" TOGETHER, "relaxed arrive"},
    {"peer-not-entered", {2, 32, 2, 0}, TILE, OWN PEER, "", STARTED,
     "    st.shared::cluster.u32 [%r5], 5;\n" TOGETHER, "nothing says that this block has started"},
    {"peer-exited", {2, 32, 2, 0}, TILE,
     OWN PEER "    st.shared.u32 [%r2], 1;\n" TOGETHER "    ld.shared::cluster.u32 %r8, [%r5];\n",
     "", TOGETHER, "", "nothing keeps this block from exiting before"},
    {"relaxed-arrive", {2, 32, 2, 0}, TILE,
     OWN PEER "    st.shared.u32 [%r2], 1;\n" TOGETHER "    ld.shared::cluster.u32 %r8, [%r5];\n",
     STARTED, TOGETHER, "",
     "the block's exit"},
    // Block 0 waits for a later cluster: a flag that is released and acquired, or not.
    {"race-grid", {2, 32, 0, 0}, "", BLOCK_0 "    @!%p4 bra write;\nspin:\n",
     "    ld.relaxed.gpu.global.u32 %r8, [%out + 64];\n", "    ld.acquire.gpu.global.u32 %r8, [%out + 64];\n",
     "    setp.eq.u32 %p5, %r8, 0; @%p5 bra spin;\n    ld.global.u32 %r9, [%out];\n    bra done;\n"
     "write:\n    st.global.u32 [%out], 9;\n    bar.warp.sync -1;\n"
     "    st.release.gpu.global.u32 [%out + 64], 1;\ndone:\n",
     "an allocation + 0, 4 bytes of global memory"},
    {"race-grid", {2, 32, 0, 0}, "", BLOCK_0 "    @!%p4 bra write;\nspin:\n",
     "    ld.acquire.cluster.global.u32 %r8, [%out + 64];\n", "    ld.acquire.gpu.global.u32 %r8, [%out + 64];\n",
     "    setp.eq.u32 %p5, %r8, 0; @%p5 bra spin;\n    ld.global.u32 %r9, [%out];\n    bra done;\n"
     "write:\n    st.global.u32 [%out], 9;\n    bar.warp.sync -1;\n"
     "    st.release.gpu.global.u32 [%out + 64], 1;\ndone:\n",
     "nothing orders them"},
    {"race-grid", {2, 32, 0, 0}, "",
     BLOCK_0 "    @!%p4 bra write;\nspin:\n    ld.relaxed.gpu.global.u32 %r8, [%out + 64];\n"
     "    setp.eq.u32 %p5, %r8, 0; @%p5 bra spin;\n    fence.acq_rel.gpu;\n    ld.global.u32 %r9, [%out];\n"
     "    bra done;\nwrite:\n    st.global.u32 [%out], 9;\n    bar.warp.sync -1;\n",
     "", "    membar.gl;\n", "    st.relaxed.gpu.global.u32 [%out + 64], 1;\ndone:\n", "nothing orders them"},
    // Warp 0 of block 0 has seen a near flag and a far one: a fence acquires what is released within its scope.
    {"race-grid", {2, 64, 0, 0}, "", AWAIT_BOTH "    fence.acq_rel.cta;\n" READ, "", "    fence.acq_rel.gpu;\n",
     READ_FAR WRITE_BOTH, "an allocation + 128, 4 bytes of global memory"},
    {"race-block", {2, 64, 0, 0}, "", AWAIT_BOTH, "", "    fence.acq_rel.cta;\n", READ WRITE_BOTH,
     "an allocation + 0, 4 bytes of global memory"},
    // A narrower fence after a wider one takes back nothing of what that released, and adds to it only in its scope.
    {"race-grid", {2, 32, 0, 0}, "", BLOCK_0 AWAIT, "    fence.acq_rel.gpu;\n" WRITE, WRITE "    fence.acq_rel.gpu;\n",
     "    fence.acq_rel.cta;\n    st.relaxed.gpu.global.u32 [%out + 64], 1;\ndone:\n", "nothing orders them"},
    {"race-block", {1, 64, 0, 0}, "",
     "    mov.u32 %r0, %tid.x; setp.lt.u32 %p4, %r0, 32;\n" AWAIT "    fence.acq_rel.gpu;\n" WRITE, "",
     "    fence.acq_rel.cta;\n", "    st.relaxed.gpu.global.u32 [%out + 64], 1;\ndone:\n", "nothing orders them"},
    {"race-grid", {2, 32, 0, 0}, "", BLOCK_0, "    red.cta.global.add.u32 [%out], 1;\n",
     "    red.gpu.global.add.u32 [%out], 1;\n", "", "both are atomic, but the scope"},
    {"race-grid", {2, 32, 0, 0}, "", BLOCK_0, "    st.global.u32 [%out], %thread;\n",
     "    st.relaxed.gpu.global.u32 [%out], %thread;\n", "",
     "writes it"},
    {"uninitialized", {1, 32, 0, 0}, TILE, OWN "    st.shared.u32 [%r2], %r0;\n    bar.sync 0;\n",
     "    ld.shared.u32 %r8, [%r2 + 4];\n", "    ld.shared.u32 %r8, [%r2];\n", "    st.global.u32 [%at], %r8;\n",
     "tile + 128, 4 bytes of shared memory"},
};
// clang-format on

static uint32_t host_threads = 1;

static cj_status run_text(const char *ptx, launch_shape shape, uint64_t seed, cj_error *error) {
    static uint64_t results[RESULTS];
    memset(results, 0, sizeof results);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = seed != 0, .seed = seed,
                                   .threads = host_threads};
    return run_kernel(ptx, shape, results, error);
}

// One missing barrier may show in several ways: one of them is the one that we mean.
static bool is_found(const fault *f) {
    for (size_t i = 0; i < found_count; i++) {
        const cj_hazard *h = &found[i];
        if (!strcmp(h->rule, f->rule) && strstr(h->message, f->words) && h->second.line) return true;
    }
    return false;
}

enum { TEXT = 8192 };

static void write_text(const fault *f, const char *body, char ptx[TEXT]) {
    snprintf(ptx, TEXT, "%s%s%s%s%s%s%s", HEAD ENTRY, f->variables, OPEN, f->before, body, f->after, CLOSE);
}

static void every_missing_synchronization_is_named(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(faults); k++) {
        const fault *f = &faults[k];
        char         ptx[TEXT];
        write_text(f, f->fault, ptx);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            cj_error  error = {0};
            cj_status status = run_text(ptx, f->shape, seed, &error);
            if (status == CJ_HAZARD && is_found(f)) continue;
            fail_msg("%s, number %zu, seed %u: %s %s %s", f->rule, k, (unsigned)seed, cj_status_name(status),
                     error.rule, error.message);
        }
    }
}

static void no_twin_is_reported(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(faults); k++) {
        const fault *f = &faults[k];
        char         ptx[TEXT];
        write_text(f, f->twin, ptx);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            cj_error error = {0};
            if (run_text(ptx, f->shape, seed, &error)) {
                fail_msg("twin of %s, number %zu, seed %u: %s", f->rule, k, (unsigned)seed, error.message);
            }
        }
    }
}

// A kernel that stops since it has read too early: the copy that it did not wait for is named, too.
static void a_fault_tells_what_is_in_flight(void **state) {
    (void)state;
    static const char ptx[] = KERNEL(
        TILE, OWN "    st.shared.u32 [%r2], %r0;\n    cp.async.ca.shared.global [%r2], [%out + 64], 4;\n"
                  "    ld.shared.u32 %r8, [%r2];\n    trap;\n");
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const fault race = {.rule = "race-block", .words = "cp.async.ca.shared.global (asynchronous)"};
        cj_error    error = {0};
        assert_int_equal(run_text(ptx, (launch_shape){1, 32, 0, 0}, seed, &error), CJ_HAZARD);
        assert_string_equal(error.rule, "trap");
        assert_true(is_found(&race));
    }
}

// Clusters that run at the same time, each on a host thread of its own.
static int four_host_threads(void **state) {
    (void)state;
    host_threads = 4;
    return 0;
}

static int two_host_threads(void **state) {
    (void)state;
    host_threads = 2;
    return 0;
}

static int one_host_thread(void **state) {
    (void)state;
    host_threads = 1;
    return 0;
}

// A poll that never ends reaches the limit of instructions, also where the other clusters have ended, or poll, on other host threads.
static void an_endless_poll_reaches_the_limit(void **state) {
    (void)state;
    static const char ptx[] = KERNEL("", "    mov.u32 %r1, %ctaid.x;\n    setp.lt.u32 %p0, %r1, 2;\n    @%p0 ret;\n"
                                         "wait:\n    ld.relaxed.gpu.global.u32 %r2, [%out];\n"
                                         "    setp.eq.u32 %p1, %r2, 0;\n    @%p1 bra wait;\n");
    static uint64_t   results[RESULTS];
    for (uint32_t k = 0; k < 2 * 3 * 3 * 2; k++) {
        const uint32_t seed = k / 2 % 3, grid = 3 + k / 18 * 5;
        cj_error       error = {0};
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options),      .hazards = k % 2,
                                       .random_schedule = seed != 0, .seed = seed,
                                       .threads = 1 + k / 6 % 3,     .instruction_limit = 20000};
        const cj_status status = run_kernel(ptx, (launch_shape){grid, 1, 0, 0}, results, &error);
        if (status != CJ_HAZARD || strcmp(error.rule, "livelock"))
            fail_msg("%u blocks, seed %u, %u host threads: %s %s", grid, seed, cpu_options.threads,
                     cj_status_name(status), error.message);
    }
}

// ---- what a hazard says

static void a_hazard_names_both_sides(void **state) {
    (void)state;
    static const char ptx[] = KERNEL(
        TILE, OWN NEIGHBOUR(32) "\n    st.shared.u32 [%r2], %r0;\n\n    ld.shared.u32 %r8, [%r3];\n"
                                "    st.global.u32 [%at], %r8;\n");
    cj_error     error = {0};
    cj_device   *device = NULL;
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       memory = 0;
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .threads = 1};
    device = open_cpu();
    cj_test_ok(cj_mem_alloc(device, RESULTS * 8, &memory, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &function, &error), &error);
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {2, 1, 1},
                                     .block = {64, 1, 1},
                                     .arguments = (void *[]){&memory},
                                     .argument_count = 1};
    assert_null(cj_cpu_hazard_at(device, 0));
    assert_int_equal(cj_launch(device, &config, &error), CJ_HAZARD);
    assert_int_equal(cj_cpu_hazard_count(device), 3);  // written, then read; read, then written; never written before
    assert_null(cj_cpu_hazard_at(device, 3));
    const cj_hazard *h = NULL;
    for (size_t i = 0; i < 3; i++) {
        const cj_hazard *at = cj_cpu_hazard_at(device, i);
        if (!strcmp(at->rule, "race-block") && !strcmp(at->first.what, "st.shared.u32")) h = at;
    }
    assert_non_null(h);
    assert_int_equal(h->first.line + 2, h->second.line);
    assert_string_equal(h->second.what, "ld.shared.u32");
    assert_int_equal((h->first.thread.x + 32) % 64, h->second.thread.x);
    assert_int_equal(h->first.block.x, h->second.block.x);
    assert_string_equal(h->symbol, "tile");
    assert_int_equal(h->offset, 4 * h->first.thread.x);
    assert_int_equal(h->bytes, 4);
    assert_int_equal(h->count, 64);  // 32 threads of 2 blocks
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
}

// Reads two words: whether that is reported depends on which thread has written the second.
static cj_status read_two(cj_device *device, cj_function *function, cj_ptr memory, cj_error *error) {
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {1, 1, 1},
                                     .block = {1, 1, 1},
                                     .arguments = (void *[]){&memory},
                                     .argument_count = 1};
    return cj_launch(device, &config, error);
}

static void memory_that_somebody_has_written(void **state) {
    (void)state;
    static const char reads[] = KERNEL("", "    ld.global.v2.u32 {%r1, %r2}, [%out];\n"
                                           "    add.u32 %r1, %r1, %r2; st.global.u32 [%out + 8], %r1;\n");
    static const char writes[] = KERNEL("", "    st.global.u32 [%out + 4], 1;\n");
    cj_error          error = {0};
    cj_module        *module[2] = {NULL};
    cj_function      *reader = NULL, *writer = NULL;
    cj_ptr            memory[3] = {0};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true};
    cj_device *device = open_cpu();
    for (int i = 0; i < 3; i++) cj_test_ok(cj_mem_alloc(device, 64, &memory[i], &error), &error);
    cj_test_ok(cj_module_from_ptx(device, reads, strlen(reads), &module[0], &error), &error);
    cj_test_ok(cj_module_from_ptx(device, writes, strlen(writes), &module[1], &error), &error);
    cj_test_ok(cj_module_function(module[0], "kernel", &reader, &error), &error);
    cj_test_ok(cj_module_function(module[1], "kernel", &writer, &error), &error);

    assert_int_equal(read_two(device, reader, memory[0], &error), CJ_HAZARD);
    assert_string_equal(error.rule, "uninitialized");
    cj_test_ok(cj_mem_fill(device, memory[0], 0, 4, NULL, &error), &error);
    assert_int_equal(read_two(device, reader, memory[0], &error), CJ_HAZARD);
    assert_int_equal(cj_cpu_hazard_at(device, 0)->offset, 4);
    cj_test_ok(read_two(device, writer, memory[0], &error), &error);
    cj_test_ok(read_two(device, reader, memory[0], &error), &error);

    assert_int_equal(read_two(device, reader, memory[1], &error), CJ_HAZARD);
    cj_test_ok(cj_mem_write(device, memory[1], &error, 64, NULL, &error), &error);
    cj_test_ok(read_two(device, reader, memory[1], &error), &error);

    // A launch that is not watched may have written anything.
    assert_int_equal(read_two(device, reader, memory[2], &error), CJ_HAZARD);
    cj_test_ok(cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options)}, &error), &error);
    cj_test_ok(read_two(device, writer, memory[2], &error), &error);
    cj_test_ok(cj_cpu_configure(device, &cpu_options, &error), &error);
    cj_test_ok(read_two(device, reader, memory[2], &error), &error);
    for (int i = 0; i < 2; i++) cj_module_unload(module[i]);
    for (int i = 0; i < 3; i++) cj_mem_free(device, memory[i]);
    cj_device_close(device);
}

// More warps than are remembered of one word: that ends, and a write among them is still found.
static void thousands_of_warps_read_one_word(void **state) {
    (void)state;
    static const char  reads[] = KERNEL("", "    ld.global.u32 %r1, [%out];\n");
    static const char  writes[] = KERNEL("", "    ld.global.u32 %r1, [%out];\n    mov.u32 %r6, %ctaid.x;\n"
                                              "    setp.eq.u32 %p1, %r6, 4999;\n    @%p1 st.global.u32 [%out], 1;\n");
    const launch_shape shape = {.grid = 5000, .block = 64};
    cj_error           error = {0};
    for (uint64_t seed = 0; seed < 2; seed++) {
        cj_test_ok(run_text(reads, shape, seed, &error), &error);
        assert_int_equal(run_text(writes, shape, seed, &error), CJ_HAZARD);
        assert_string_equal(error.rule, "race-grid");
    }
}

// ---- the reduction, with one synchronization less

typedef struct mutation {
    const char *rule;
    const char *from[2], *to[2];  // the first occurrence of each, in this order; or the last one
} mutation;

#define LAST "\n"
#define ARRIVE "barrier.cluster.arrive"
#define WAIT "barrier.cluster.wait"
static const mutation mutations[] = {
    {"", {""}, {""}},
    {"race-block", {"bar.sync"}, {"// "}},
    {"race-grid", {"st.relaxed.gpu.global.b64"}, {"st.global.b64"}},
    {"race-grid", {"ld.relaxed.gpu.global.b64"}, {"ld.global.b64"}},
    {"race-grid", {LAST "st.relaxed.gpu.global.u32"}, {"st.global.u32"}},
    {"race-grid", {"st.relaxed.gpu.global.b64"}, {"st.relaxed.cluster.global.b64"}},
    {"relaxed-arrive", {"fence.mbarrier_init"}, {"// "}},
    {"peer-not-entered", {ARRIVE, WAIT}, {"// ", "// "}},
    {"deadlock", {"@%receiver mbarrier.arrive.expect_tx"}, {"// "}},
    {"deadlock", {"@%warp_leader st.async"}, {"// "}},
};

static char *find(char *text, const char *what) {
    const bool is_last = *what == *LAST;
    char      *found_at = strstr(text, what + is_last);
    for (char *next = found_at; is_last && next; next = strstr(next + 1, what + 1)) found_at = next;
    return found_at;
}

static void replace(char *text, size_t size, const char *from, const char *to) {
    char        *at = find(text, from);
    const size_t gone = strlen(from) - (*from == *LAST), come = strlen(to);
    if (!at) fail_msg("the reduction has no '%s'", from);
    assert_true(strlen(text) + come < size);
    memmove(at + come, at + gone, strlen(at + gone) + 1);
    memcpy(at, to, come);
}

typedef struct reduction {
    cj_plan   plan;
    char     *text;
    uint64_t  n;
    cj_status status;
    uint32_t  bits;  // of the result
    cj_error  error;
} reduction;

static void plan_reduction(reduction *r, const char *dtype, const char *cluster, const char *grid) {
    const cj_family *family = NULL;
    const cj_limits *limits = NULL;
    cj_params        params;
    char             n[32];
    snprintf(n, sizeof n, "%llu", (unsigned long long)r->n);
    cj_test_ok(cj_family_find("reduce", &family, &r->error), &r->error);
    cj_params_init(&params, family);
    cj_test_ok(cj_params_set(&params, "n", n, &r->error), &r->error);
    cj_test_ok(cj_params_set(&params, "dtype", dtype, &r->error), &r->error);
    cj_test_ok(cj_params_set(&params, "block", "64", &r->error), &r->error);
    cj_test_ok(cj_params_set(&params, "cluster", cluster, &r->error), &r->error);
    cj_test_ok(cj_params_set(&params, "grid", grid, &r->error), &r->error);
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &r->error), &r->error);
    cj_test_ok(cj_plan_make(&params, limits, "sm_90", &r->plan, &r->error), &r->error);
    cj_test_ok(cj_plan_emit(&r->plan, &r->text, NULL, &r->error), &r->error);
}

static void run_reduction(reduction *r, const char *text) {
    cj_device   *device = open_cpu();
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       x = 0, out = 0, workspace = 0;
    float       *values = malloc(r->n * 4);
    assert_non_null(values);
    for (uint64_t i = 0; i < r->n; i++) values[i] = (float)(i * 2654435761u % 1000) * 0.001f;
    cj_test_ok(cj_mem_alloc(device, r->n * 4, &x, &r->error), &r->error);
    cj_test_ok(cj_mem_alloc(device, 4, &out, &r->error), &r->error);
    cj_test_ok(cj_mem_alloc(device, r->plan.workspace_bytes, &workspace, &r->error), &r->error);
    cj_test_ok(cj_mem_write(device, x, values, r->n * 4, NULL, &r->error), &r->error);
    cj_test_ok(cj_mem_fill(device, workspace, 0, r->plan.workspace_bytes, NULL, &r->error), &r->error);
    cj_test_ok(cj_module_from_ptx(device, text, strlen(text), &module, &r->error), &r->error);
    cj_test_ok(cj_module_function(module, r->plan.entry, &function, &r->error), &r->error);
    void    *arguments[4 + CJ_TEST_COUNT(r->plan.derived)] = {&x, &out, &r->n};
    uint32_t count = 3;
    for (uint32_t i = 0; i < r->plan.derived_count; i++) arguments[count++] = &r->plan.derived[i];
    arguments[count++] = &workspace;
    const cj_launch_config config = {CJ_INIT(config),        .function = function,       .grid = r->plan.grid,
                                     .block = r->plan.block, .cluster = r->plan.cluster, .nonportable = true,
                                     .arguments = arguments, .argument_count = count};
    r->status = cj_launch(device, &config, &r->error);
    keep_found(device);
    cj_test_ok(cj_mem_read(device, &r->bits, out, 4, NULL, NULL), NULL);
    cj_module_unload(module);
    cj_mem_free(device, x);
    cj_mem_free(device, out);
    cj_mem_free(device, workspace);
    cj_device_close(device);
    free(values);
}

// With several host threads a mutant may also wait for ever. Without its bar.sync, the last cluster's first warp may write the new tag
// before another cluster has read the old one: that cluster then sends with a tag that the last cluster's second warp does
// not wait for.
static bool is_named(const mutation *m, const reduction *r) {
    if (!*m->rule) return !r->status;
    for (size_t i = 0; i < found_count; i++) {
        if (!strcmp(found[i].rule, m->rule) || (host_threads > 1 && !strcmp(found[i].rule, "livelock"))) return true;
    }
    return false;
}

static void the_reduction_needs_each_of_its_barriers(void **state) {
    (void)state;
    reduction r = {.n = 5000};
    plan_reduction(&r, "f32", "4", "1056");  // so many clusters that more than a warp takes their parts
    const size_t size = strlen(r.text) + 256;
    char        *text = malloc(size);
    assert_non_null(text);
    for (size_t k = 0; k < CJ_TEST_COUNT(mutations); k++) {
        const mutation *m = &mutations[k];
        memcpy(text, r.text, strlen(r.text) + 1);
        for (unsigned i = 0; i < 2 && m->from[i]; i++) replace(text, size, m->from[i], m->to[i]);
        for (uint64_t seed = 0; seed < 4; seed++) {
            cpu_options = (cj_cpu_options){
                CJ_INIT(cj_cpu_options),      .hazards = true,
                .random_schedule = seed != 0, .seed = seed,
                .threads = host_threads,      .instruction_limit = 20 * 1000 * 1000};  // it executes 7 million
            memset(&r.error, 0, sizeof r.error);
            run_reduction(&r, text);
            if (is_named(m, &r)) continue;
            fail_msg("mutation %zu, seed %u: '%s', not '%s': %s", k, (unsigned)seed, r.error.rule, m->rule,
                     r.error.message);
        }
    }
    free(text);
    cj_text_free(r.text);
}

static void the_reduction_is_right_under_any_schedule(void **state) {
    (void)state;
    static const char *const clusters[] = {"4", "16", "1", "0"};
    for (size_t k = 0; k < CJ_TEST_COUNT(clusters); k++) {
        reduction r = {.n = 3001 + 700 * k};
        uint32_t  bits = 0;
        plan_reduction(&r, "f32", clusters[k], "32");
        for (uint64_t seed = 0; seed < (k ? 8 : 101); seed++) {
            cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = seed != 0,
                                           .seed = seed, .threads = host_threads};
            run_reduction(&r, r.text);
            cj_test_ok(r.status, &r.error);
            if (!seed) bits = r.bits;
            assert_int_equal(r.bits, bits);
        }
        cj_text_free(r.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_missing_synchronization_is_named),
        cmocka_unit_test(a_fault_tells_what_is_in_flight),
        cmocka_unit_test(no_twin_is_reported),
        cmocka_unit_test_setup_teardown(every_missing_synchronization_is_named, four_host_threads, one_host_thread),
        cmocka_unit_test_setup_teardown(no_twin_is_reported, four_host_threads, one_host_thread),
        cmocka_unit_test(an_endless_poll_reaches_the_limit),
        cmocka_unit_test(a_hazard_names_both_sides),
        cmocka_unit_test(memory_that_somebody_has_written),
        cmocka_unit_test(thousands_of_warps_read_one_word),
        cmocka_unit_test(the_reduction_needs_each_of_its_barriers),
        cmocka_unit_test(the_reduction_is_right_under_any_schedule),
        cmocka_unit_test_setup_teardown(the_reduction_needs_each_of_its_barriers, two_host_threads, one_host_thread),
        cmocka_unit_test_setup_teardown(the_reduction_is_right_under_any_schedule, two_host_threads, one_host_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
