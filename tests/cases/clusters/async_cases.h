// SPDX-License-Identifier: Apache-2.0
// Kernels with asynchronous stores, copies and reductions: run by test_async.c, assembled by tests/ptxas.
#include "async_case.h"

#define BAR "    .shared .align 8 .b64 bar;\n"
#define TILE "    .shared .align 128 .b8 tile[1024];\n"
#define IN "    add.u64 %l15, %out, 16384;\n"  // the input, in which word 2i is i
#define MINE "    mov.u32 %r1, tile;\n    mad.lo.u32 %r1, %r0, 8, %r1;\n"  // the thread's 8 bytes of the tile
#define READ_MINE "    ld.shared.u64 %l1, [%r1];\n    st.global.u64 [%at], %l1;\n"
#define RANK "    mov.u32 %r3, %cluster_ctarank;\n"
#define EXPECT(bytes) "    @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 %l14, [bar], " bytes ";\n"
// Bulk copy of the first thread, of bytes of the input from an offset on, to the tile.
#define LOAD(bytes, offset)                                                                                        \
    "    @%p7 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%l15 + " offset "], " bytes \
    ", [bar];\n"

static uint64_t same(unsigned i) { return i; }
static uint64_t left_neighbour(unsigned i) { return (i / 32 + 3) % 4 * 1000 + i % 32; }
static uint64_t counted(unsigned i) { return i ? 0 : 4 * 32; }
static uint64_t halves(unsigned i) { return i % 2 ? i : i & 0xff; }
static uint64_t none_or_same(unsigned i) { return i % 2 ? 0 : i; }
static uint64_t subset(unsigned i) { return i / 32 == 2 ? 5 : i % 32; }
static uint64_t ring(unsigned i) { return (i / 32 + 3) % 4 * 100 + i % 32; }
static uint64_t doubled(unsigned i) { return 2 * i; }
static uint64_t sums_of_ranks(unsigned i) { return i < 32 ? 4 * i + 6 : 0; }

// FEATURES: every block sends its values to its right neighbour.
#define HALO(wait)                                                                                           \
    FIRST(INIT("bar", "1")) EXPECT("128") PUBLISH CLUSTER RANK                                               \
    "    add.u32 %r4, %r3, 1;\n    and.b32 %r4, %r4, 3;\n    mov.u32 %r1, tile;\n"                           \
    "    mad.lo.u32 %r1, %r0, 4, %r1;\n    mapa.shared::cluster.u32 %r5, %r1, %r4;\n    mov.u32 %r6, bar;\n" \
    "    mapa.shared::cluster.u32 %r6, %r6, %r4;\n    mad.lo.u32 %r7, %r3, 1000, %r0;\n"                     \
    "    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], %r7, [%r6];\n" wait                \
    "    ld.shared.u32 %r8, [%r1];\n    st.global.u32 [%at], %r8;\n" CLUSTER

// Four blocks' numbers go once around a ring, from shared memory to shared memory.
#define RING(wait)                                                                                                    \
    "    .shared .align 128 .b8 from[256];\n", FIRST(INIT("bar", "1")) EXPECT("256") RANK                             \
    "    mov.u32 %r2, from;\n    mad.lo.u32 %r2, %r0, 8, %r2;\n    mad.lo.u32 %r4, %r3, 100, %r0;\n"                  \
    "    cvt.u64.u32 %l1, %r4;\n    st.shared.u64 [%r2], %l1;\n" PUBLISH CLUSTER                                      \
    "    add.u32 %r4, %r3, 1;\n    and.b32 %r4, %r4, 3;\n    mov.u32 %r5, tile;\n"                                    \
    "    mapa.shared::cluster.u32 %r5, %r5, %r4;\n    mov.u32 %r6, bar;\n    mapa.shared::cluster.u32 %r6, %r6, %r4;" \
    "\n    @%p7 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [from], 256, [%r6];\n"  \
    wait MINE READ_MINE CLUSTER

#define STORE_BULK(before, after)                                                                               \
    MINE "    cvt.u64.u32 %l2, %thread;\n    add.u64 %l2, %l2, %l2;\n    st.shared.u64 [%r1], %l2;\n" before    \
    "    bar.sync 0;\n" FIRST("    @%p7 cp.async.bulk.global.shared::cta.bulk_group [%at], [tile], 512;\n")     \
    "    @%p7 cp.async.bulk.commit_group;\n" after

// The first block of the cluster loads tiles that all of its blocks get, in two stages: a stage is full when its bytes
// have arrived, and empty when every thread of every block has read it.
#define PIPELINE(arrive)                                                                                              \
    "    .shared .align 8 .b64 full[2], empty[2];\n    .shared .align 128 .b8 tile[512];\n",                          \
    FIRST(INIT("full", "1") INIT("full + 8", "1")) RANK                                                               \
    "    mov.u32 %r14, %cluster_nctarank;\n    shl.b32 %r13, %r14, 5;\n"                                             \
    INIT("empty", "%r13") INIT("empty + 8", "%r13") PUBLISH CLUSTER IN                                                \
    "    mov.u32 %r10, 0;\n    mov.u64 %l10, 0;\n    mov.u32 %r9, 1;\n    shl.b32 %r9, %r9, %r14;\n"                   \
    "    sub.u32 %r9, %r9, 1;\n    cvt.u16.u32 %h1, %r9;\nnext:\n"                                                    \
    "    and.b32 %r11, %r10, 1;\n    shr.u32 %r12, %r10, 1;\n    and.b32 %r12, %r12, 1;\n    xor.b32 %r8, %r12, 1;\n"  \
    "    mov.u32 %r4, full;\n    mad.lo.u32 %r4, %r11, 8, %r4;\n    mov.u32 %r5, empty;\n"                            \
    "    mad.lo.u32 %r5, %r11, 8, %r5;\n    mov.u32 %r6, tile;\n    mad.lo.u32 %r6, %r11, 256, %r6;\n"                \
    "    @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 %l1, [%r4], 256;\n"                                           \
    "    setp.ne.u32 %p1, %r3, 0;\n    @%p1 bra consume;\n    @!%p7 bra consume;\n"                                   \
    WAIT_CLUSTER("emptied", "%r5", "%r8")                                                                             \
    "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r6], [%l15], 256, "   \
    "[%r4], %h1;\nconsume:\n" WAIT_CLUSTER("filled", "%r4", "%r12")                                                   \
    "    mad.lo.u32 %r6, %r0, 8, %r6;\n    ld.shared.u64 %l2, [%r6];\n    add.u64 %l10, %l10, %l2;\n"                 \
    "    mapa.shared::cluster.u32 %r5, %r5, 0;\n" arrive                                                              \
    "    add.u64 %l15, %l15, 256;\n    add.u32 %r10, %r10, 1;\n    setp.lt.u32 %p2, %r10, 6;\n    @%p2 bra next;\n"   \
    "    st.global.u64 [%at], %l10;\n" CLUSTER
#define RELEASE_STAGE "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n"

static uint64_t pipelined(unsigned i) { return 6 * (i % 32) + 32 * 15; }

// One thread reduces 16 bytes, of which 8 are `given` and the others zeros, to global memory.
static inline void async_reduction_ptx(char *ptx, size_t size, const char *operation, uint64_t old, uint64_t given) {
    static const char reduce[] =
        "    st.shared.v2.u64 [tile], {%l1, 0};\n    fence.proxy.async;\n"
        "    cp.reduce.async.bulk.global.shared::cta.bulk_group.";
    static const char wait[] = "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n" CLOSE;
    snprintf(ptx, size,
             "%s    mov.u64 %%l1, 0x%llx;\n    st.global.u64 [%%out], %%l1;\n    mov.u64 %%l1, 0x%llx;\n"
             "%s%s [%%out], [tile], 16;\n%s",
             ASYNC_HEAD ENTRY TILE OPEN, (unsigned long long)old, (unsigned long long)given, reduce, operation, wait);
}

#define COPIES(copy, wait) IN "    mad.wide.u32 %l15, %r0, 8, %l15;\n" MINE copy wait READ_MINE
#define COPY "    cp.async.ca.shared.global [%r1], [%l15], 8;\n"

// clang-format off
static const async_case async_cases[] = {
    {"st.async to a neighbour", {4, 32, 4, 0}, BAR TILE, HALO(WAIT_CLUSTER("wait", "bar", "0")), 128, left_neighbour,
     NULL, NULL},
    {"red.async to the first block", {4, 32, 4, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) EXPECT("512") "    @%p7 st.shared.u32 [tile], 0;\n" PUBLISH CLUSTER
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 0;\n    mov.u32 %r2, bar;\n"
     "    mapa.shared::cluster.u32 %r2, %r2, 0;\n"
     "    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], 1, [%r2];\n" RANK
     "    setp.ne.u32 %p0, %r3, 0;\n    @%p0 bra join;\n" WAIT_CLUSTER("wait", "bar", "0")
     "    ld.shared.u32 %r4, [tile];\n    @%p7 st.global.u32 [%at], %r4;\njoin:\n" CLUSTER,
     128, counted, NULL, NULL},

    {"cp.async", {1, 64, 0, 0}, TILE, COPIES(COPY, "    cp.async.wait_all;\n"), 64, same, NULL, NULL},
    {"cp.async with less source", {1, 64, 0, 0}, TILE,
     COPIES("    and.b32 %r4, %r0, 1;\n    mad.lo.u32 %r4, %r4, 7, 1;\n"
            "    cp.async.ca.shared::cta.global [%r1], [%l15], 8, %r4;\n", "    cp.async.wait_all;\n"),
     64, halves, NULL, NULL},
    {"cp.async with no source", {1, 64, 0, 0}, TILE,
     COPIES("    and.b32 %r4, %r0, 1;\n    setp.ne.u32 %p0, %r4, 0;\n"
            "    cp.async.ca.shared::cta.global [%r1], [%l15], 8, %p0;\n", "    cp.async.wait_all;\n"),
     64, none_or_same, NULL, NULL},
    {"cp.async in groups", {1, 64, 0, 0}, TILE,
     COPIES(COPY "    cp.async.commit_group;\n    cp.async.ca.shared.global [%r1 + 512], [%l15 + 64], 8;\n"
            "    cp.async.commit_group;\n", "    cp.async.wait_group 1;\n"),
     64, same, NULL, NULL},
    {"cp.async on an mbarrier", {1, 64, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "64")) "    bar.sync 0;\n"
     COPIES(COPY, "    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n" WAIT("wait", "bar", "0")
            "    xor.b32 %r4, %r0, 33;\n    mov.u32 %r1, tile;\n    mad.lo.u32 %r1, %r4, 8, %r1;\n"
            "    mad.wide.u32 %at, %r4, 8, %out;\n"),
     64, same, NULL, NULL},
    {"cp.async counted besides an arrival", {1, 64, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "64")) "    bar.sync 0;\n"
     COPIES(COPY, "    cp.async.mbarrier.arrive.shared.b64 [bar];\n    mbarrier.arrive.shared::cta.b64 %l3, [bar];\n"
            WAIT("wait", "bar", "0")),
     64, same, NULL, NULL},

    {"a bulk copy", {1, 64, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) PUBLISH "    bar.sync 0;\n" IN EXPECT("512") LOAD("512", "0") WAIT("wait", "bar", "0")
     MINE READ_MINE, 64, same, NULL, NULL},
    {"a bulk copy to some blocks of a cluster", {4, 32, 4, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) EXPECT("256") "    setp.eq.u32 %p5, %r0, 0;\n" RANK MINE
     "    mov.u64 %l1, 5;\n    st.shared.u64 [%r1], %l1;\n" PUBLISH CLUSTER IN
     "    setp.eq.u32 %p0, %r3, 2;\n    @%p0 bra read;\n    setp.eq.u32 %p0, %r3, 1;\n    and.pred %p5, %p5, %p0;\n"
     "    mov.u16 %h1, 0xb;\n"
     "    @%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%l15], "
     "256, [bar], %h1;\n" WAIT_CLUSTER("wait", "bar", "0") "read:\n" READ_MINE CLUSTER,
     128, subset, NULL, NULL},
    {"a bulk copy round a ring", {4, 32, 4, 0}, BAR TILE RING(WAIT_CLUSTER("wait", "bar", "0")), 128, ring, NULL,
     NULL},
    {"a bulk store", {1, 64, 0, 0}, TILE,
     STORE_BULK("    fence.proxy.async.shared::cta;\n", "    @%p7 cp.async.bulk.wait_group 0;\n"), 64, doubled, NULL,
     NULL},
    {"a bulk store whose source is used again", {1, 64, 0, 0}, TILE,
     STORE_BULK("    fence.proxy.async.shared::cta;\n",
                "    @%p7 cp.async.bulk.wait_group.read 0;\n    bar.sync 0;\n    mov.u64 %l2, 1;\n"
                "    st.shared.u64 [%r1], %l2;\n"),
     64, doubled, NULL, NULL},
    {"bulk stores in groups", {1, 64, 0, 0}, TILE,
     STORE_BULK("    fence.proxy.async.shared::cta;\n",
                "    @%p7 cp.async.bulk.global.shared::cta.bulk_group [%at + 512], [tile], 512;\n"
                "    @%p7 cp.async.bulk.commit_group;\n    @%p7 cp.async.bulk.wait_group 1;\n    bar.sync 0;\n"
                "    ld.global.u64 %l3, [%at];\n    st.global.u64 [%at], %l3;\n"
     "    @%p7 cp.async.bulk.wait_group 0;\n"),
     64, doubled, NULL, NULL},
    {"a bulk reduction to global memory", {4, 32, 4, 0}, TILE,
     RANK MINE "    add.u32 %r4, %r3, %r0;\n    cvt.u64.u32 %l2, %r4;\n    st.shared.u64 [%r1], %l2;\n"
     "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"
     FIRST("    @%p7 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%out], [tile], 256;\n")
     "    @%p7 cp.async.bulk.commit_group;\n    @%p7 cp.async.bulk.wait_group 0;\n",
     128, sums_of_ranks, NULL, NULL},
    {"a bulk reduction to shared memory", {4, 32, 4, 0}, BAR TILE "    .shared .align 128 .b8 from[256];\n",
     FIRST(INIT("bar", "1")) EXPECT("1024") RANK MINE "    mov.u64 %l2, 0;\n    st.shared.u64 [%r1], %l2;\n"
     "    mov.u32 %r2, from;\n    mad.lo.u32 %r2, %r0, 8, %r2;\n    add.u32 %r4, %r3, %r0;\n"
     "    cvt.u64.u32 %l2, %r4;\n"
     "    st.shared.u64 [%r2], %l2;\n" PUBLISH CLUSTER
     "    mov.u32 %r5, tile;\n    mapa.shared::cluster.u32 %r5, %r5, 0;\n    mov.u32 %r6, bar;\n"
     "    mapa.shared::cluster.u32 %r6, %r6, 0;\n"
     "    @%p7 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 [%r5], [from], "
     "256, [%r6];\n    setp.ne.u32 %p0, %r3, 0;\n    @%p0 bra join;\n" WAIT_CLUSTER("wait", "bar", "0") READ_MINE
     "join:\n" CLUSTER,
     128, sums_of_ranks, NULL, NULL},
    {"tiles for 2 blocks, two stages deep", {2, 32, 2, 0}, PIPELINE(RELEASE_STAGE), 64, pipelined, NULL, NULL},
    {"tiles for 4 blocks", {8, 32, 4, 0}, PIPELINE(RELEASE_STAGE), 256, pipelined, NULL, NULL},
    {"tiles for 16 blocks", {16, 32, 16, 0}, PIPELINE(RELEASE_STAGE), 512, pipelined, NULL, NULL},
    {"hints", {1, 32, 0, 0}, "",
     "    prefetch.global.L2 [%out];\n    cp.async.bulk.prefetch.L2.global [%out], 64;\n    griddepcontrol.wait;\n"
     "    griddepcontrol.launch_dependents;\n    cvt.u64.u32 %l1, %thread;\n    st.global.u64 [%at], %l1;\n",
     32, same, NULL, NULL},

    // kernels with faults
    {"a size of 24", {1, 1, 0, 0}, BAR TILE, FIRST(INIT("bar", "1")) IN "    mov.u32 %r1, 24;\n" LOAD("%r1", "0"), 0,
     NULL, "copy-size",
     "24 bytes; a bulk copy's size is a multiple of 16"},
    {"a source at 8", {1, 1, 0, 0}, BAR TILE, FIRST(INIT("bar", "1")) IN LOAD("16", "8"), 0, NULL, "misaligned",
     "no multiple of 16"},
    {"a prefetch at 8", {1, 1, 0, 0}, "", "    cp.async.bulk.prefetch.L2.global [%out + 8], 64;\n", 0, NULL, "misaligned",
     "no multiple of 16"},
    {"a prefetch of 24", {1, 1, 0, 0}, "", "    mov.u32 %r1, 24;\n    cp.async.bulk.prefetch.L2.global [%out], %r1;\n", 0, NULL,
     "copy-size", "24 bytes; a bulk prefetch's size is a multiple of 16"},
    {"past the tile", {1, 1, 0, 0}, BAR TILE, FIRST(INIT("bar", "1")) IN LOAD("2048", "0"), 0, NULL, "out-of-bounds",
     "2048 bytes at shared address"},
    {"past the input", {1, 1, 0, 0}, BAR TILE, FIRST(INIT("bar", "1")) IN LOAD("512", "16128"), 0, NULL,
     "out-of-bounds", "512 bytes at global address"},
    {"a mask of 3 in a cluster of 1", {1, 1, 1, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) IN "    mov.u16 %h1, 3;\n"
     "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%l15], 16, "
     "[bar], %h1;", 0, NULL, "multicast-mask", "mask 0x3 in a cluster of 1"},
    {"nobody waits for a copy", {1, 1, 0, 0}, BAR TILE, FIRST(INIT("bar", "1")) IN EXPECT("64") LOAD("64", "0"), 0,
     NULL,
     "exit-in-flight", "writes the shared memory of the block of rank 0"},
    {"nobody waits for a store's reading", {1, 1, 0, 0}, TILE,
     FIRST("    cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 64;\n"), 0, NULL, "exit-in-flight",
     "reads the shared memory"},
    {"an mbarrier of another block", {2, 1, 2, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) CLUSTER "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 1;\n"
     "    mov.u32 %r2, bar;\n    mapa.shared::cluster.u32 %r2, %r2, 0;\n"
     "    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], 1, [%r2];\n" CLUSTER, 0, NULL,
     "wrong-window", "not in the block of the destination"},
};

// Each lacks one wait, arrival or fence of the case with its name.
static const async_case async_mutants[] = {
    {"st.async to a neighbour, no wait", {4, 32, 4, 0}, BAR TILE, HALO(""), 128, left_neighbour, NULL, NULL},
    {"cp.async, no wait", {1, 64, 0, 0}, TILE, COPIES(COPY, ""), 64, same, NULL, NULL},
    {"cp.async, one group too few", {1, 64, 0, 0}, TILE, COPIES(COPY "    cp.async.commit_group;\n",
     "    cp.async.wait_group 1;\n"), 64, same, NULL, NULL},
    {"cp.async, not committed", {1, 64, 0, 0}, TILE, COPIES(COPY, "    cp.async.wait_group 0;\n"), 64, same, NULL,
     NULL},
    {"a bulk copy, no wait", {1, 64, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) PUBLISH "    bar.sync 0;\n" IN EXPECT("512") LOAD("512", "0") MINE READ_MINE
     WAIT("wait", "bar", "0"), 64, same, NULL, NULL},
    {"a bulk copy, nothing expected", {1, 64, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) PUBLISH "    bar.sync 0;\n" IN LOAD("512", "0")
     "    @%p7 mbarrier.arrive.shared::cta.b64 %l1, [bar];\n" WAIT("wait", "bar", "0") MINE READ_MINE, 64, same, NULL,
     NULL},
    {"a bulk copy round a ring, no wait", {4, 32, 4, 0}, BAR TILE RING(""), 128, ring, NULL, NULL},
    {"a bulk store whose source is used too early", {1, 64, 0, 0}, TILE,
     STORE_BULK("    fence.proxy.async.shared::cta;\n",
                "    bar.sync 0;\n    mov.u64 %l2, 1;\n    st.shared.u64 [%r1], %l2;\n    bar.sync 0;\n"
                "    @%p7 cp.async.bulk.wait_group.read 0;\n"),
     64, doubled, NULL, NULL},
    {"red.async to the first block, no wait", {4, 32, 4, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) EXPECT("512") "    @%p7 st.shared.u32 [tile], 0;\n" PUBLISH CLUSTER
     "    mov.u32 %r1, tile;\n    mapa.shared::cluster.u32 %r1, %r1, 0;\n    mov.u32 %r2, bar;\n"
     "    mapa.shared::cluster.u32 %r2, %r2, 0;\n"
     "    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], 1, [%r2];\n" RANK
     "    setp.ne.u32 %p0, %r3, 0;\n    @%p0 bra join;\n"
     "    ld.shared.u32 %r4, [tile];\n    @%p7 st.global.u32 [%at], %r4;\njoin:\n" CLUSTER,
     128, counted, NULL, NULL},
    {"cp.async on an mbarrier, no wait", {1, 64, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "64")) "    bar.sync 0;\n"
     COPIES(COPY, "    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"), 64, same, NULL, NULL},
    {"a bulk store that is read too early", {1, 64, 0, 0}, TILE,
     MINE "    cvt.u64.u32 %l2, %r0;\n    st.shared.u64 [%r1], %l2;\n    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"
     FIRST("    @%p7 cp.async.bulk.global.shared::cta.bulk_group [%out + 4096], [tile], 512;\n")
     "    @%p7 cp.async.bulk.commit_group;\n    @%p7 cp.async.bulk.wait_group.read 0;\n    bar.sync 0;\n"
     "    ld.global.u64 %l3, [%at + 4096];\n    @%p7 cp.async.bulk.wait_group 0;\n    st.global.u64 [%at], %l3;\n", 64, same,
     NULL, NULL},
    {"a bulk reduction that is read too early", {1, 32, 0, 0}, TILE,
     MINE "    cvt.u64.u32 %l2, %r0;\n    st.shared.u64 [%r1], %l2;\n    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"
     FIRST("    @%p7 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%out + 4096], [tile], 256;\n")
     "    @%p7 cp.async.bulk.commit_group;\n    ld.global.u64 %l3, [%at + 4096];\n    @%p7 cp.async.bulk.wait_group 0;\n"
     "    st.global.u64 [%at], %l3;\n", 32, same, NULL, NULL},
    {"a bulk reduction to shared memory, no wait", {1, 32, 1, 0}, BAR TILE "    .shared .align 128 .b8 from[256];\n",
     FIRST(INIT("bar", "1")) EXPECT("256") MINE "    mov.u64 %l2, 0;\n    st.shared.u64 [%r1], %l2;\n"
     "    mov.u32 %r2, from;\n    mad.lo.u32 %r2, %r0, 8, %r2;\n    cvt.u64.u32 %l2, %r0;\n"
     "    st.shared.u64 [%r2], %l2;\n" PUBLISH CLUSTER "    mov.u32 %r5, tile;\n    mov.u32 %r6, bar;\n"
     "    @%p7 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 [%r5], [from], "
     "256, [%r6];\n" READ_MINE WAIT("wait", "bar", "0"), 32, same, NULL, NULL},
    {"a bulk copy to some blocks of a cluster, no wait", {4, 32, 4, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) EXPECT("256") RANK MINE "    mov.u64 %l1, 5;\n    st.shared.u64 [%r1], %l1;\n" PUBLISH CLUSTER
     IN "    setp.eq.u32 %p0, %r3, 1;\n    and.pred %p5, %p7, %p0;\n    mov.u16 %h1, 0xf;\n"
     "    @%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%l15], "
     "256, [bar], %h1;\n" READ_MINE WAIT_CLUSTER("wait", "bar", "0") CLUSTER, 128, subset, NULL, NULL},
    {"tiles for 2 blocks, whoever reads does not say so", {2, 32, 2, 0}, PIPELINE(""), 64, pipelined, NULL, NULL},
};

// Two operations that nothing orders land in the same place: result 0 is one of two values.
typedef struct async_pair {
    const char  *name;
    launch_shape shape;
    const char  *variables, *body;
    uint64_t     either, other;
} async_pair;

#define COPY_ONE(offset) "    @%p7 cp.async.ca.shared.global [tile], [%l15 + " offset "], 8;\n"
#define TWO_STORES(first, second)                                                                           \
    FIRST("    @%p7 st.shared.v2.u64 [tile], {5, 0};\n    @%p7 st.shared.v2.u64 [tile + 16], {6, 0};\n")    \
    "    fence.proxy.async.shared::cta;\n    @%p7 cp" first " [%out], [tile], 16;\n" "    @%p7 cp" second   \
    " [%out], [tile + 16], 16;\n    @%p7 cp.async.bulk.commit_group;\n    @%p7 cp.async.bulk.wait_group 0;\n"
#define STORE_ASYNC(value) "    @%p7 st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r1], " value ", [%r2];\n"

static const async_pair async_pairs[] = {
    {"two cp.async of a group", {1, 32, 0, 0}, TILE,
     IN FIRST(COPY_ONE("40") COPY_ONE("48")) "    cp.async.wait_all;\n" MINE READ_MINE, 5, 6},
    {"two cp.async of two groups", {1, 32, 0, 0}, TILE,
     IN FIRST(COPY_ONE("40") "    cp.async.commit_group;\n" COPY_ONE("48")) "    cp.async.wait_all;\n" MINE READ_MINE, 5, 6},
    {"two bulk copies", {1, 32, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) PUBLISH "    bar.sync 0;\n" IN EXPECT("32") LOAD("16", "16") LOAD("16", "32")
     WAIT("wait", "bar", "0") MINE READ_MINE, 2, 4},
    {"two bulk stores", {1, 32, 0, 0}, TILE,
     TWO_STORES(".async.bulk.global.shared::cta.bulk_group", ".async.bulk.global.shared::cta.bulk_group"), 5, 6},
    {"a bulk store and a bulk reduction", {1, 32, 0, 0}, TILE,
     TWO_STORES(".async.bulk.global.shared::cta.bulk_group", ".reduce.async.bulk.global.shared::cta.bulk_group.add.u64"), 5,
     11},
    {"two st.async", {1, 32, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) PUBLISH "    bar.sync 0;\n" EXPECT("16") "    mov.u32 %r1, tile;\n    mov.u32 %r2, bar;\n"
     "    mov.u64 %l2, 5;\n    mov.u64 %l3, 6;\n" STORE_ASYNC("%l2") STORE_ASYNC("%l3") WAIT("wait", "bar", "0")
     MINE READ_MINE, 5, 6},
    {"a st.async and a red.async", {1, 32, 0, 0}, BAR TILE,
     FIRST(INIT("bar", "1")) "    @%p7 st.shared.u64 [tile], 0;\n" PUBLISH "    bar.sync 0;\n" EXPECT("16")
     "    mov.u32 %r1, tile;\n    mov.u32 %r2, bar;\n    mov.u64 %l2, 5;\n" STORE_ASYNC("%l2")
     "    @%p7 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1], 6, [%r2];\n"
     WAIT("wait", "bar", "0") MINE READ_MINE, 5, 11},
};

// The missing order rarely changes a value: only the watch reports it.
static const async_case async_unordered[] = {
    {"a bulk store without a proxy fence", {1, 64, 0, 0}, TILE, STORE_BULK("",
     "    @%p7 cp.async.bulk.wait_group 0;\n"),
     64, doubled, "proxy-fence", ""},
};
