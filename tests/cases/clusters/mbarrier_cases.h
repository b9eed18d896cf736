// SPDX-License-Identifier: Apache-2.0
// Kernels with mbarriers: run by test_mbarrier.c, assembled by tests/ptxas.
#include "async_case.h"

#define BAR "    .shared .align 8 .b64 bar;\n"
#define STORE_1 "    st.global.u32 [%at], %r1;"
#define STORE_FIRST "    @%p7 st.global.u32 [%at], %r1;"
#define ALONE "    setp.eq.u32 %p7, %r0, 0;\n    @!%p7 bra done;\n    mov.u32 %r1, 0;\n"
#define DONE "    st.global.u32 [%at], %r1;\ndone:"
// Shifts the answer of a test into %r1.
#define TEST(parity)                                                                                        \
    "    mbarrier.test_wait.parity.shared::cta.b64 %p0, [bar], " parity ";\n    selp.u32 %r2, 1, 0, %p0;\n" \
    "    shl.b32 %r1, %r1, 1;\n    or.b32 %r1, %r1, %r2;\n"
// Each block stores `base` plus its rank into block 0's slot and arrives at block 0's mbarrier, which block 0 waits for.
// clang-format off
#define PEERS_ARRIVE(order, base)                                                                                    \
    BAR "    .shared .align 8 .b64 slot[4];\n",                                                                      \
        FIRST(INIT("bar", "4")) PUBLISH CLUSTER                                                                      \
        "    mov.u32 %r1, bar;\n    mapa.shared::cluster.u32 %r1, %r1, 0;\n"                                         \
        "    mov.u32 %r2, slot;\n    mapa.shared::cluster.u32 %r2, %r2, 0;\n"                                        \
        "    mov.u32 %r3, %cluster_ctarank;\n    mad.lo.u32 %r2, %r3, 8, %r2;\n    add.u32 %r4, %r3, " base ";\n"    \
        "    cvt.u64.u32 %l1, %r4;\n    @%p7 st.shared::cluster.u64 [%r2], %l1;\n"                                   \
        "    @%p7 mbarrier.arrive." order ".cluster.shared::cluster.b64 _, [%r1];\n"                                 \
        "    setp.ne.u32 %p0, %r3, 0;\n    @%p0 bra join;\n" WAIT_CLUSTER("wait", "bar", "0")                        \
        "    setp.lt.u32 %p1, %r0, 4;\n    mov.u32 %r5, slot;\n    mad.lo.u32 %r5, %r0, 8, %r5;\n"                   \
        "    @%p1 ld.shared.u64 %l2, [%r5];\n    @%p1 st.global.u64 [%at], %l2;\njoin:\n" CLUSTER
// clang-format on

static uint64_t pending_of_lane(unsigned i) { return 32 - i; }
static uint64_t answers_01010(unsigned i) { return i ? 0 : 0xa; }
static uint64_t answers_01(unsigned i) { return i ? 0 : 1; }
static uint64_t answers_0011(unsigned i) { return i ? 0 : 3; }
static uint64_t dropped(unsigned i) { return i ? 0 : 2 << 8 | 1; }
static uint64_t gathered(unsigned i) { return i < 4 ? 100 + i : 0; }
static uint64_t handed_over(unsigned i) { return i < 32 ? 0 : 7 * (i - 32); }

// clang-format off
static const async_case mbarrier_cases[] = {
    {"an arrival returns the state before it",
     {1, 32, 0, 0},
     BAR,
     FIRST(INIT("bar", "32")) "    bar.sync 0;\n    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n"
     "    mbarrier.pending_count.b64 %r1, %l1;\n"
     "again:\n    mbarrier.test_wait.shared::cta.b64 %p0, [bar], %l1;\n    @!%p0 bra again;\n" STORE_1,
     32, pending_of_lane, NULL, NULL},
    {"phases have parities",
     {1, 32, 0, 0},
     BAR,
     ALONE INIT("bar", "2") TEST("0") TEST("1") "    mov.u64 %l0, bar;\n    cvta.shared.u64 %l0, %l0;\n"
     "    mbarrier.arrive.b64 _, [%l0];\n" TEST("0")
     "    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n" TEST("0") TEST("1") DONE,
     32, answers_01010, NULL, NULL},
    {"arrivals with counts",
     {1, 32, 0, 0},
     BAR,
     ALONE INIT("bar", "5") "    mbarrier.arrive.noComplete.shared::cta.b64 %l1, [bar], 3;\n" TEST("0")
     "    mbarrier.arrive.shared::cta.b64 %l1, [bar], 2;\n" TEST("0") DONE,
     32, answers_01, NULL, NULL},
    {"a thread that drops out is not waited for",
     {1, 32, 0, 0},
     BAR,
     ALONE INIT("bar", "3") "    mbarrier.arrive_drop.shared::cta.b64 %l1, [bar];\n"
     "    mbarrier.arrive.shared::cta.b64 %l1, [bar], 2;\n    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n"
     "    mbarrier.pending_count.b64 %r3, %l1;\n    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n"
     "    mbarrier.test_wait.shared::cta.b64 %p0, [bar], %l1;\n    selp.u32 %r1, 1, 0, %p0;\n"
     "    shl.b32 %r3, %r3, 8;\n    or.b32 %r1, %r1, %r3;\n" DONE,
     32, dropped, NULL, NULL},
    {"a phase waits for its bytes",
     {1, 32, 0, 0},
     BAR,
     ALONE INIT("bar", "1") "    mbarrier.arrive.expect_tx.shared::cta.b64 %l1, [bar], 64;\n" TEST("0")
     "    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;\n" TEST("0")
     "    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;\n" TEST("0")
     "    mbarrier.inval.shared::cta.b64 [bar];\n" INIT("bar", "1")
     "    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"  // too early: the count becomes negative
     "    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"
     "    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n" TEST("0") DONE,
     32, answers_0011, NULL, NULL},
    {"peers arrive", {4, 32, 4, 0}, PEERS_ARRIVE("release", "100"), 32, gathered, NULL, NULL},
    {"a producer warp and a consumer warp",
     {1, 64, 0, 0},
     "    .shared .align 8 .b64 full, empty;\n    .shared .align 4 .b32 tile[32];\n",
     FIRST(INIT("full", "32") INIT("empty", "32")) "    bar.sync 0;\n    mov.u32 %r1, 0;\n    mov.u32 %r9, 0;\n"
     "    and.b32 %r8, %r0, 31;\n    mov.u32 %r2, tile;\n    mad.lo.u32 %r2, %r8, 4, %r2;\n"
     "    setp.ge.u32 %p0, %r0, 32;\nnext:\n    and.b32 %r3, %r1, 1;\n    xor.b32 %r4, %r3, 1;\n"
     "    @%p0 bra consume;\n"
     WAIT("emptied", "empty", "%r4")
     "    st.shared.u32 [%r2], %r8;\n    mbarrier.arrive.shared::cta.b64 %l1, [full];\n    bra more;\nconsume:\n"
     WAIT("filled", "full", "%r3")
     "    ld.shared.u32 %r5, [%r2];\n    add.u32 %r9, %r9, %r5;\n    mbarrier.arrive.shared::cta.b64 %l1, [empty];\n"
     "more:\n    add.u32 %r1, %r1, 1;\n    setp.lt.u32 %p1, %r1, 7;\n    @%p1 bra next;\n"
     "    @%p0 st.global.u32 [%at], %r9;\n",
     64, handed_over, NULL, NULL},

    // faults: one thread is enough for most
    {"used before it is initialized", {1, 1, 0, 0}, BAR, "    mbarrier.arrive.shared::cta.b64 %l1, [bar];", 0, NULL,
     "no-mbarrier", "has not been initialized"},
    {"used after it was invalidated", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "1")) "    mbarrier.inval.shared::cta.b64 [bar];\n"
     "    mbarrier.test_wait.parity.shared::cta.b64 %p0, [bar], 0;", 0, NULL, "no-mbarrier", "has been invalidated"},
    {"initialized twice", {1, 1, 0, 0}, BAR, FIRST(INIT("bar", "1") INIT("bar", "1")), 0, NULL, "mbarrier-twice",
     "line"},
    {"overwritten", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "1")) "    st.shared.u32 [bar], 5;\n    mbarrier.arrive.shared::cta.b64 %l1, [bar];", 0, NULL,
     "mbarrier-overwritten", "overwritten"},
    {"for nobody", {1, 1, 0, 0}, BAR, FIRST("    mov.u32 %r1, 0;\n" INIT("bar", "%r1")), 0, NULL, "mbarrier-count",
     "0 arrivals"},
    {"more arrivals than expected", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "2")) "    mbarrier.arrive.shared::cta.b64 %l1, [bar], 3;", 0, NULL, "mbarrier-count",
     "3 arrivals at once, where the phase waits for 2 of 2"},
    {"noComplete completes", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "2")) "    mbarrier.arrive.noComplete.shared::cta.b64 %l1, [bar], 2;", 0, NULL,
     "mbarrier-count",
     "complete the phase"},
    {"too many bytes", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "1")) "    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048576;", 0, NULL,
     "transaction-count", "becomes 1048576"},
    {"a parity of 2", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "1")) "    mov.u32 %r1, 2;\n    mbarrier.test_wait.parity.shared::cta.b64 %p0, [bar], %r1;",
     0, NULL, "mbarrier-phase",
     "parity 2"},
    {"a state of long ago", {1, 1, 0, 0}, BAR,
     FIRST(INIT("bar", "1")) "    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n"
     "    mbarrier.arrive.shared::cta.b64 %l2, [bar];\n    mbarrier.test_wait.shared::cta.b64 %p0, [bar], %l1;", 0,
     NULL,
     "mbarrier-phase", "neither the running one"},
    {"waiting for a peer's", {2, 1, 2, 0}, BAR,
     FIRST(INIT("bar", "1")) CLUSTER "    mov.u64 %l1, bar;\n    cvta.shared.u64 %l1, %l1;\n"
     "    mapa.u64 %l1, %l1, 1;\n    mbarrier.test_wait.parity.b64 %p0, [%l1], 0;\n" CLUSTER, 0, NULL, "wrong-window",
     "another block"},
    {"a phase that nobody completes", {1, 32, 0, 0}, BAR,
     FIRST(INIT("bar", "33")) "    bar.sync 0;\n    mbarrier.arrive.shared::cta.b64 %l1, [bar];\n" WAIT("wait",
     "bar", "0"),
     0, NULL, "deadlock", "in phase 0 lacks 1 of 33 arrivals and 0 bytes"},
    {"bytes that never come", {1, 32, 0, 0}, BAR,
     FIRST(INIT("bar", "1")) "    bar.sync 0;\n    @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 %l1, [bar], 96;\n"
     WAIT("wait", "bar", "0"), 0, NULL, "deadlock", "lacks 0 of 1 arrivals and 96 bytes"},
};

// The arrival does not order memory across the cluster.
static const async_case mbarrier_mutants[] = {
    {"peers arrive without a release", {4, 32, 4, 0}, PEERS_ARRIVE("relaxed", "0"), 32, gathered, NULL, NULL},
};
