// SPDX-License-Identifier: Apache-2.0
// Small kernels on the CPU device: control flow, warps, blocks, clusters, memory, and the device's own calls.
#include <pthread.h>
#include <stdlib.h>

#include "kernel.h"

static uint64_t results[RESULTS];

// Runs a kernel, and holds result i of the first `count` against expected(i).
static void expect(const char *ptx, launch_shape shape, unsigned count, uint64_t (*expected)(unsigned i)) {
    cj_error error = {0};
    memset(results, 0, sizeof results);
    cj_test_ok(run_kernel(ptx, shape, results, &error), &error);
    for (unsigned i = 0; i < count; i++) {
        if (results[i] == expected(i)) continue;
        fail_msg("result %u is 0x%llx, not 0x%llx", i, (unsigned long long)results[i], (unsigned long long)expected(i));
    }
}

#define TILE36 "    .shared .align 4 .b8 tile[36];\n"
#define STORE_R "    st.global.u32 [%at], %r1;"

// ---- control flow

static uint64_t nested(unsigned i) { return i % 2 ? (i % 4 == 1 ? 11 : 13) : (i < 16 ? 20 : 22); }

static void branches_join_again(void **state) {
    (void)state;
    expect(KERNEL("",
                  "    and.b32 %r2, %thread, 1; and.b32 %r3, %thread, 3;\n"
                  "    setp.eq.u32 %p0, %r2, 1; setp.eq.u32 %p1, %r3, 1; setp.lt.u32 %p2, %thread, 16;\n"
                  "    @%p0 bra odd;\n    mov.u32 %r1, 22;\n    @!%p2 bra done;\n    mov.u32 %r1, 20;\n    bra done;\n"
                  "odd:\n    mov.u32 %r1, 13;\n    @!%p1 bra done;\n    mov.u32 %r1, 11;\n"
                  "done:\n    activemask.b32 %r4;\n    setp.eq.u32 %p3, %r4, -1;\n    @!%p3 mov.u32 %r1, 0;\n" STORE_R),
           (launch_shape){1, 32, 0, 0}, 32, nested);
}

static uint64_t triangle(unsigned i) { return i * (i + 1) / 2; }

static void loops_of_different_length(void **state) {
    (void)state;
    expect(KERNEL("", "    mov.u32 %r1, 0; mov.u32 %r2, %thread;\nnext:\n    add.u32 %r1, %r1, %r2;\n"
                      "    setp.eq.u32 %p0, %r2, 0;\n    @%p0 bra done;\n    sub.u32 %r2, %r2, 1;\n    bra next;\n"
                      "done:\n    bar.sync 0;\n" STORE_R),
           (launch_shape){2, 96, 0, 0}, 192, triangle);
}

static uint64_t fives(unsigned i) { return i < 3 ? 0 : 5; }

static void some_threads_leave_early(void **state) {
    (void)state;
    expect(
        KERNEL("", "    setp.lt.u32 %p0, %thread, 3;\n    @%p0 exit;\n    bar.sync 0;\n    mov.u32 %r1, 5;\n" STORE_R),
        (launch_shape){1, 50, 0, 0}, 50, fives);
}

static uint64_t two_after_one(unsigned i) { return i == 1024 ? 32 : 0; }

// Lane 0 spins, earlier in the program, until lane 31 has set the flag.
static void lanes_of_one_warp_wait_for_each_other(void **state) {
    (void)state;
    expect(KERNEL("", "    setp.ne.u32 %p0, %thread, 31;\n    @!%p0 bra set;\nspin:\n    ld.relaxed.gpu.global.u32 "
                      "%r1, [%out + 8192];\n"
                      "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra spin;\n    bra done;\nset:\n"
                      "    st.relaxed.gpu.global.u32 [%out + 8192], 32;\ndone:\n"),
           (launch_shape){1, 32, 0, 0}, 1025, two_after_one);
}

static uint64_t order_of_a_lock(unsigned i) { return i == 1024 ? 32 : 0; }

// Each lane takes a lock in turn: a compare-and-swap loop that needs progress of the lane that holds it.
static void lanes_take_a_lock(void **state) {
    (void)state;
    expect(KERNEL("",
                  "take:\n    atom.acquire.gpu.global.cas.b32 %r1, [%out + 8200], 0, 1;\n    setp.ne.u32 %p0, %r1, 0;\n"
                  "    @%p0 bra take;\n    ld.global.u32 %r2, [%out + 8192];\n    add.u32 %r2, %r2, 1;\n"
                  "    st.global.u32 [%out + 8192], %r2;\n    fence.acq_rel.gpu;\n"
                  "    atom.release.gpu.global.exch.b32 %r1, [%out + 8200], 0;\n"),
           (launch_shape){1, 32, 0, 0}, 1025, order_of_a_lock);
}

// ---- warps

static uint64_t shuffled(unsigned i) {
    const unsigned lane = i % 32, group = lane & ~7u;
    const unsigned up = lane >= 3 ? lane - 3 : lane, down = lane + 5 < 32 ? lane + 5 : lane, segment = group + 2;
    return up | down << 8 | (lane ^ 9) << 16 | segment << 24;
}

static void shuffles(void **state) {
    (void)state;
    expect(KERNEL("", "    mov.u32 %r0, %laneid;\n    shfl.sync.up.b32 %r1, %r0, 3, 0, -1;\n"
                      "    shfl.sync.down.b32 %r2|%p0, %r0, 5, 31, -1;\n    shfl.sync.bfly.b32 %r3, %r0, 9, 31, -1;\n"
                      "    shfl.sync.idx.b32 %r4, %r0, 2, 0x1807, -1;\n    shl.b32 %r2, %r2, 8; shl.b32 %r3, %r3, 16;\n"
                      "    shl.b32 %r4, %r4, 24;\n    or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; or.b32 %r1, %r1, "
                      "%r4;\n" STORE_R),
           (launch_shape){1, 64, 0, 0}, 64, shuffled);
}

static uint64_t halves(unsigned i) { return i < 16 ? 120 : 376; }

// The halves of a warp reduce apart from each other, in different branches, with their own member masks.
static void parts_of_a_warp(void **state) {
    (void)state;
    expect(KERNEL("", "    setp.lt.u32 %p0, %thread, 16;\n    @%p0 bra low;\n"
                      "    redux.sync.add.u32 %r1, %thread, 0xffff0000;\n    bra done;\nlow:\n"
                      "    redux.sync.add.u32 %r1, %thread, 0x0000ffff;\ndone:\n    bar.warp.sync -1;\n" STORE_R),
           (launch_shape){1, 32, 0, 0}, 32, halves);
}

static uint64_t voted(unsigned i) { return (0x55555555u ^ (i == 4 ? 1u : 0u)) & 0xffffffffu; }

static void votes_and_elections(void **state) {
    (void)state;
    expect(KERNEL("", "    and.b32 %r2, %thread, 1;\n    setp.eq.u32 %p0, %r2, 0;\n"
                      "    vote.sync.ballot.b32 %r1, %p0, -1;\n    vote.sync.any.pred %p1, %p0, -1;\n"
                      "    vote.sync.all.pred %p2, %p0, -1;\n    vote.sync.uni.pred %p3, !%p0, -1;\n"
                      "    @!%p1 mov.u32 %r1, 0;\n    @%p2 mov.u32 %r1, 0;\n    @%p3 mov.u32 %r1, 0;\n"
                      "    setp.ge.u32 %p5, %thread, 4;\n    @!%p5 bra done;\n"
                      "    elect.sync %r5|%p4, 0xfffffff0;\n    @%p4 xor.b32 %r1, %r1, 1;\n"
                      "    setp.ne.u32 %p6, %r5, 4;\n    @%p6 mov.u32 %r1, 0;\ndone:\n" STORE_R),
           (launch_shape){1, 32, 0, 0}, 32, voted);
}

// ---- blocks

static uint64_t reversed(unsigned i) { return 127 - i; }

static void shared_memory_and_barriers(void **state) {
    (void)state;
    expect(KERNEL("    .shared .align 4 .b32 tile[128];\n",
                  "    mov.u32 %r2, tile;\n    shl.b32 %r3, %thread, 2;\n    add.u32 %r3, %r2, %r3;\n"
                  "    st.shared.u32 [%r3], %thread;\n    bar.sync 3;\n    sub.u32 %r4, 127, %thread;\n"
                  "    shl.b32 %r4, %r4, 2;\n    add.u32 %r4, %r2, %r4;\n    ld.shared.u32 %r1, [%r4];\n" STORE_R),
           (launch_shape){1, 128, 0, 0}, 128, reversed);
}

static uint64_t sixty_four(unsigned i) { return i < 128 ? 64 : 0; }

// The system's part of shared memory is the block's, and begins as zeros: tiles of several warps synchronize there.
static void reserved_shared_memory(void **state) {
    (void)state;
    static const char counts[] = KERNEL(
        TILE36, "    mov.u32 %r2, %reserved_smem_offset_1;\n    atom.shared.add.u32 %r3, [%r2], 1;\n"
                "    bar.sync 0;\n    ld.shared.u32 %r1, [%r2];\n" STORE_R);
    static const char *const outside[] = {
        KERNEL(TILE36, "    mov.u32 %r2, %reserved_smem_offset_begin;\n    ld.shared.u32 %r1, [%r2 + -4];\n"),
        KERNEL(TILE36, "    mov.u32 %r2, %reserved_smem_offset_end;\n    ld.shared.u32 %r1, [%r2];\n"),
        KERNEL(TILE36, "    mov.u32 %r2, %reserved_smem_offset_cap;\n    ld.shared.u32 %r1, [tile + 36];\n"),
    };
    cpu_options.hazards = true;
    expect(counts, (launch_shape){2, 64, 0, 0}, 129, sixty_four);
    for (size_t i = 0; i < CJ_TEST_COUNT(outside); i++) {
        cj_error error = {0};
        assert_int_equal(run_kernel(outside[i], (launch_shape){1, 1, 0, 0}, results, &error), CJ_HAZARD);
        assert_string_equal(error.rule, "out-of-bounds");
    }
    cpu_options.hazards = false;
}

static uint64_t produced(unsigned i) { return i < 32 ? 0 : 7 + (i - 32); }

// Warp 0 produces, warp 1 consumes: bar.arrive and bar.sync with a count. Dynamic memory follows the static.
static void producer_and_consumer(void **state) {
    (void)state;
    expect(HEAD
           ".extern .shared .align 16 .b8 buffer[];\n" ENTRY "    .shared .align 4 .b32 first;\n" OPEN
           "    mov.u32 %r2, buffer;\n    mov.u32 %r1, 0;\n    and.b32 %r3, %thread, 31;\n    shl.b32 %r4, %r3, 2;\n"
           "    add.u32 %r4, %r4, %r2;\n    setp.lt.u32 %p0, %thread, 32;\n    @!%p0 bra consume;\n"
           "    add.u32 %r3, %r3, 7;\n    st.shared.u32 [%r4], %r3;\n    st.shared.u32 [first], 1;\n"
           "    bar.arrive 1, 64;\n    bra done;\n"
           "consume:\n    barrier.sync.aligned 1, 64;\n    ld.shared.u32 %r1, [%r4];\ndone:\n" STORE_R CLOSE,
           (launch_shape){1, 64, 0, 128}, 64, produced);
}

static uint64_t votes(unsigned i) { return i < 64 ? 48 : 21; }

// Two warps count at one barrier while the third one asks for all and for any at another, phase after phase.
static void votes_at_barriers(void **state) {
    (void)state;
    expect(KERNEL("",
                  "    and.b32 %r3, %thread, 3;\n    setp.eq.u32 %p1, %r3, 0;\n    setp.lt.u32 %p0, %thread, 64;\n"
                  "    mov.u32 %r4, 5;\nagain:\n    @!%p0 bra third;\n"
                  "    bar.red.popc.u32 %r1, 1, 64, !%p1;\n    bra next;\n"
                  "third:\n    barrier.red.and.aligned.pred %p2, 2, 32, %p1;\n"
                  "    barrier.cta.red.or.pred %p3, 2, 32, %p1;\n    selp.u32 %r1, 10, 20, %p2;\n"
                  "    @%p3 add.u32 %r1, %r1, 1;\nnext:\n    sub.u32 %r4, %r4, 1;\n"
                  "    setp.ne.u32 %p2, %r4, 0;\n    @%p2 bra again;\n" STORE_R),
           (launch_shape){1, 96, 0, 0}, 96, votes);
}

// ---- clusters

static uint64_t neighbour(unsigned i) {
    const unsigned rank = i / 64 % 4, cluster = i / 64 / 4;
    return cluster * 1000 + (rank + 1) % 4 * 100 + i % 64;
}

static void a_ring_through_mapa(void **state) {
    (void)state;
    expect(
        KERNEL(
            "    .shared .align 4 .b32 tile[64];\n",
            "    mov.u32 %r0, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %clusterid.x;\n"
            "    mul.lo.u32 %r1, %r3, 1000;\n    mad.lo.u32 %r1, %r2, 100, %r1;\n    add.u32 %r1, %r1, %r0;\n"
            "    mov.u32 %r4, tile;\n    mad.lo.u32 %r4, %r0, 4, %r4;\n    st.shared.u32 [%r4], %r1;\n"
            "    barrier.cluster.arrive.release.aligned;\n    barrier.cluster.wait.acquire.aligned;\n"
            "    add.u32 %r5, %r2, 1;\n    and.b32 %r5, %r5, 3;\n    mapa.shared::cluster.u32 %r6, %r4, %r5;\n"
            "    ld.shared::cluster.u32 %r1, [%r6];\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n" STORE_R),
        (launch_shape){12, 64, 4, 0}, 768, neighbour);
}

static uint64_t counted(unsigned i) { return i % 96 == 0 ? (i / 96 ? 0 : 96 * 3) : 0; }

// Every thread adds to a counter of rank 0 through a generic address, as C++ compiles map_shared_rank.
static void generic_addresses(void **state) {
    (void)state;
    expect(
        KERNEL("    .shared .align 4 .b32 counter;\n",
               "    mov.u32 %r0, %tid.x; mov.u32 %r2, %cluster_ctarank;\n    setp.eq.u32 %p0, %r0, 0;\n"
               "    @%p0 st.shared.u32 [counter], 0;\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
               "    mov.u64 %l1, counter;\n    cvta.shared.u64 %l1, %l1;\n    mapa.u64 %l2, %l1, 0;\n"
               "    atom.add.u32 %r3, [%l2], 1;\n    getctarank.u64 %r4, %l2;\n"
               "    setp.ne.u32 %p1, %r4, 0;\n    @%p1 trap;\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
               "    mov.u32 %r1, 0;\n    setp.eq.and.u32 %p2, %r2, 0, %p0;\n    @%p2 ld.shared.u32 %r1, "
               "[counter];\n" STORE_R),
        (launch_shape){3, 96, 3, 0}, 288, counted);
}

static uint64_t maximum(unsigned i) { return i ? 0 : 7 | 700 << 8 | (uint64_t)1 << 32; }

static void remote_reductions(void **state) {
    (void)state;
    expect(
        KERNEL("    .shared .align 8 .b32 cell[3];\n",
               "    mov.u32 %r2, %cluster_ctarank;\n    setp.eq.u32 %p0, %r2, 0;\n    mov.u32 %r3, cell;\n"
               "    st.shared.u32 [cell], 0; st.shared.u32 [cell + 4], 0; st.shared.u32 [cell + 8], 0;\n"
               "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    mapa.shared::cluster.u32 %r4, %r3, 0;\n"
               "    red.shared::cluster.max.u32 [%r4], %r2;\n    mul.lo.u32 %r5, %r2, 25;\n"
               "    red.shared::cluster.add.u32 [%r4 + 4], %r5;\n    atom.shared::cluster.inc.u32 %r6, [%r4 + 8], 6;\n"
               "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    @!%p0 exit;\n"
               "    ld.shared.u32 %r1, [cell];\n    ld.shared.v2.u32 {%r7, %r8}, [cell];\n    shl.b32 %r8, %r8, 8;\n"
               "    or.b32 %r1, %r7, %r8;\n    st.global.u32 [%out], %r1;\n    ld.shared.u32 %r9, [cell + 8];\n"
               "    st.global.u32 [%out + 4], %r9;\n"),
        (launch_shape){8, 1, 8, 0}, 1, maximum);
}

static uint64_t identity(unsigned i) {
    const unsigned block = i / 40, thread = i % 40;
    const unsigned rank = block % 2, cluster = block / 2, warp = thread / 32;
    return block | 6u << 4 | rank << 8 | 2u << 12 | cluster << 16 | 3u << 20 | warp << 24 | 1u << 28;
}

static void identities(void **state) {
    (void)state;
    static const char *const reads[] = {"%ctaid.x",     "%nctaid.x",     "%cluster_ctarank", "%cluster_nctarank",
                                        "%clusterid.x", "%nclusterid.x", "%warpid"};
    char                     body[2048] = "    mov.u32 %r1, 0;\n", ptx[4096];
    for (unsigned i = 0; i < CJ_TEST_COUNT(reads); i++) {
        snprintf(body + strlen(body), sizeof body - strlen(body),
                 "    mov.u32 %%r2, %s;\n    shl.b32 %%r2, %%r2, %u;\n    or.b32 %%r1, %%r1, %%r2;\n", reads[i], 4 * i);
    }
    snprintf(ptx, sizeof ptx, "%s%s%s%s", HEAD ENTRY OPEN, body,
             "    mov.pred %p0, %is_explicit_cluster;\n    @%p0 or.b32 %r1, %r1, 0x10000000;\n" STORE_R, CLOSE);
    expect(ptx, (launch_shape){6, 40, 2, 0}, 240, identity);
}

// ---- memory

static uint64_t swapped(unsigned i) { return (uint64_t)i << 32 | (i + 100); }

static void vectors(void **state) {
    (void)state;
    expect(KERNEL("", "    add.u32 %r1, %thread, 100;\n    st.global.v2.u32 [%at], {%thread, %r1};\n"
                      "    ld.global.v2.b32 {%r2, %r3}, [%at];\n    st.global.v2.b32 [%at], {%r3, %r2};"),
           (launch_shape){1, 70, 0, 0}, 70, swapped);
}

static uint64_t extended(unsigned i) { return i == 0 ? 0xfffffff0ffff80f0u : 0; }

static void narrow_types(void **state) {
    (void)state;
    expect(
        KERNEL("    .local .align 8 .b8 mine[8];\n",
               "    setp.ne.u32 %p0, %thread, 0;\n    mov.u32 %r1, 0xf0;\n    st.local.u8 [mine], %r1;\n"
               "    ld.local.s8 %r2, [mine];\n    st.local.u16 [mine + 2], 0x80f0;\n    ld.local.s16 %r3, [mine + 2];\n"
               "    mov.b64 %l1, {%r3, %r2};\n    @%p0 exit;\n    st.global.u64 [%out], %l1;\n"),
        (launch_shape){1, 33, 0, 0}, 1, extended);
}

static uint64_t private_value(unsigned i) { return i * 3; }

// Local memory is a thread's own, also through a generic address.
static void local_memory(void **state) {
    (void)state;
    expect(KERNEL("    .local .align 4 .b32 mine[2];\n",
                  "    mul.lo.u32 %r1, %thread, 3;\n    mov.u64 %l1, mine;\n    cvta.local.u64 %l2, %l1;\n"
                  "    st.u32 [%l2 + 4], %r1;\n    bar.sync 0;\n    ld.local.u32 %r1, [mine + 4];\n" STORE_R),
           (launch_shape){1, 80, 0, 0}, 80, private_value);
}

static uint64_t table_entry(unsigned i) { return i ? i : 0; }

static void module_variables(void **state) {
    (void)state;
    expect(HEAD ".global .align 4 .u32 table[64];\n" ENTRY OPEN
                "    mov.u64 %l1, table;\n    mul.wide.u32 %l2, %thread, 4;\n    add.u64 %l1, %l1, %l2;\n"
                "    red.global.add.u32 [%l1], %thread;\n    ld.global.u32 %r1, [%l1];\n" STORE_R CLOSE,
           (launch_shape){1, 64, 0, 0}, 64, table_entry);
}

// ---- the reduction that the design shows

typedef struct reduction {
    cj_device   *device;
    cj_function *function;
    cj_ptr       x, out;
    uint64_t     n;
} reduction;

static cj_status launch_reduction(void *user, cj_error *error) {
    reduction             *r = user;
    const cj_launch_config config = {CJ_INIT(config),      .function = r->function,
                                     .grid = {4, 1, 1},    .block = {256, 1, 1},
                                     .cluster = {4, 1, 1}, .arguments = (void *[]){&r->x, &r->out, &r->n},
                                     .argument_count = 3};
    return cj_launch(r->device, &config, error);
}

static void *launch_often(void *user) {
    const reduction *shared = user;
    reduction        r = *shared;
    float            sum = 0;
    cj_error         error = {0};
    intptr_t         wrong = 0;
    for (int i = 0; i < 8; i++) {
        if (cj_mem_alloc(r.device, 4, &r.out, &error) || launch_reduction(&r, &error) ||
            cj_mem_read(r.device, &sum, r.out, 4, NULL, &error) || sum != 523776.0f) {
            wrong++;
        }
        cj_mem_free(r.device, r.out);
    }
    return (void *)wrong;
}

static void the_sum_of_the_design(void **state) {
    (void)state;
    char      *ptx = cj_test_read(CJ_TEST_DIR "/cpu/device/cluster_sum.ptx");
    reduction  r = {.device = open_cpu(), .n = 1024};
    cj_module *module = NULL;
    cj_error   error = {0};
    float      x[1024], sum = 0;
    double     milliseconds = -1;
    assert_non_null(ptx);
    for (int i = 0; i < 1024; i++) x[i] = (float)i;
    cj_test_ok(cj_module_from_ptx(r.device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "reduce_sum_f32", &r.function, &error), &error);
    cj_test_ok(cj_mem_alloc(r.device, sizeof x, &r.x, &error), &error);
    cj_test_ok(cj_mem_alloc(r.device, sizeof sum, &r.out, &error), &error);
    cj_test_ok(cj_mem_write(r.device, r.x, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_time(r.device, NULL, launch_reduction, &r, &milliseconds, &error), &error);
    cj_test_ok(cj_mem_read(r.device, &sum, r.out, sizeof sum, NULL, &error), &error);
    assert_true(sum == 523776.0f);
    assert_true(milliseconds >= 0);

    // One function, launched by several host threads, while they allocate.
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, launch_often, &r), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    cj_mem_free(r.device, r.x);
    cj_mem_free(r.device, r.out);
    cj_module_unload(module);
    cj_device_close(r.device);
    free(ptx);
}

static void memory_calls(void **state) {
    (void)state;
    cj_device    *device = open_cpu();
    cj_ptr        memory[3];
    cj_error      error = {0};
    unsigned char bytes[4] = {0};
    for (int i = 0; i < 3; i++) {
        cj_test_ok(cj_mem_alloc(device, 4, &memory[i], &error), &error);
        assert_int_equal(memory[i] % 256, 0);
    }
    cj_mem_free(device, memory[1]);
    cj_test_ok(cj_mem_read(device, bytes, memory[0], 4, NULL, &error), &error);
    assert_int_equal(bytes[3], 0xff);  // poison
    cj_test_ok(cj_mem_fill(device, memory[2] + 1, 7, 3, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, bytes, memory[2], 4, NULL, &error), &error);
    assert_int_equal(bytes[0], 0xff);
    assert_int_equal(bytes[3], 7);
    assert_int_equal(cj_mem_read(device, bytes, memory[0] + 1, 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_mem_read(device, bytes, memory[1], 4, NULL, &error), CJ_INVALID_ARGUMENT);
    cj_mem_free(device, memory[0]);
    cj_mem_free(device, memory[2]);
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_join_again),
        cmocka_unit_test(loops_of_different_length),
        cmocka_unit_test(some_threads_leave_early),
        cmocka_unit_test(lanes_of_one_warp_wait_for_each_other),
        cmocka_unit_test(lanes_take_a_lock),
        cmocka_unit_test(shuffles),
        cmocka_unit_test(parts_of_a_warp),
        cmocka_unit_test(votes_and_elections),
        cmocka_unit_test(reserved_shared_memory),
        cmocka_unit_test(shared_memory_and_barriers),
        cmocka_unit_test(producer_and_consumer),
        cmocka_unit_test(votes_at_barriers),
        cmocka_unit_test(a_ring_through_mapa),
        cmocka_unit_test(generic_addresses),
        cmocka_unit_test(remote_reductions),
        cmocka_unit_test(identities),
        cmocka_unit_test(vectors),
        cmocka_unit_test(narrow_types),
        cmocka_unit_test(local_memory),
        cmocka_unit_test(module_variables),
        cmocka_unit_test(the_sum_of_the_design),
        cmocka_unit_test(memory_calls),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = true,
                                   .seed = 1};  // these kernels are correct
    return failed + cmocka_run_group_tests_name("under watch", tests, NULL, NULL);
}
