// SPDX-License-Identifier: Apache-2.0
// Kernels with tensor copies, written for a rank: run by test_tensor.c, assembled by tests/ptxas.
#ifndef CJ_TESTS_CPU_TENSOR_KERNELS_H
#define CJ_TESTS_CPU_TENSOR_KERNELS_H

#include <stdbool.h>
#include <stdio.h>

#define TENSOR_HEAD                                                                                         \
    ".version 8.3\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"             \
    ".visible .entry kernel(.param .u64 out, .param .align 64 .b8 map[128], .param .u32 bytes,\n"           \
    "                       .param .align 4 .b8 at[20])\n{\n    .shared .align 8 .b64 bar;\n"               \
    "    .reg .b32 %r<24>, %c<5>;\n    .reg .b64 %l<8>;\n    .reg .b16 %h<2>;\n    .reg .pred %p<8>;\n"     \
    "    ld.param.u64 %l0, [out];\n    mov.b64 %l1, map;\n    cvta.param.u64 %l1, %l1;\n"                   \
    "    ld.param.u32 %r2, [bytes];\n    ld.param.u32 %c0, [at];\n    ld.param.u32 %c1, [at + 4];\n"        \
    "    ld.param.u32 %c2, [at + 8];\n    ld.param.u32 %c3, [at + 12];\n    ld.param.u32 %c4, [at + 16];\n" \
    "    mov.u32 %r0, %tid.x;\n    setp.eq.u32 %p0, %r0, 0;\n    shr.u32 %r3, %r2, 2;\n"                    \
    "    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;\n    fence.mbarrier_init.release.cluster;\n"          \
    "    bar.sync 0;\n"
#define TENSOR_WAIT "wait:\n    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], %r9;\n    @!%p1 bra wait;\n"
// All threads copy words of shared memory from or to `out`.
#define TENSOR_WORDS(name, lines)                                                                   \
    "    mov.u32 %r4, %r0;\n    mov.u32 %r7, %ntid.x;\n" name ":\n    setp.lt.u32 %p2, %r4, %r3;\n" \
    "    @!%p2 bra " name "_end;\n    mov.u32 %r5, tile;\n    mad.lo.u32 %r5, %r4, 4, %r5;\n"       \
    "    mad.wide.u32 %l2, %r4, 4, %l0;\n" lines "    add.u32 %r4, %r4, %r7;\n    bra " name ";\n" name "_end:\n"
#define TENSOR_END "    ret;\n}\n"

static inline const char *tensor_coordinates(unsigned rank) {
    static const char *const lists[] = {"%c0", "%c0, %c1", "%c0, %c1, %c2", "%c0, %c1, %c2, %c3",
                                        "%c0, %c1, %c2, %c3, %c4"};
    return lists[rank - 1];
}

// Copies the tile's bytes in shared memory, which start as zeros, to `out`.
static inline void tensor_load_ptx(char *ptx, size_t size, unsigned rank, unsigned expected) {
    static const char begin[] = TENSOR_HEAD TENSOR_WORDS(
        "clear", "    st.shared.u32 [%r5], 0;\n") "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mov.u32 "
                                                  "%r9, 0;\n    @!%p0 bra wait;\n";
    static const char end[] = TENSOR_WAIT TENSOR_WORDS(
        "copy", "    ld.shared.u32 %r6, [%r5];\n    st.global.u32 [%l2], %r6;\n") TENSOR_END;
    snprintf(ptx, size,
             "%s    mbarrier.arrive.expect_tx.shared::cta.b64 %%l3, [bar], %u;\n"
             "    cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], "
             "[%%l1, {%s}], [bar];\n%s",
             begin, expected, rank, tensor_coordinates(rank), end);
}

// Thread 0 stores the tile, or adds it.
static inline void tensor_store_ptx(char *ptx, size_t size, unsigned rank, bool adds) {
    static const char end[] = "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n" TENSOR_END;
    snprintf(ptx, size, "%s    @%%p0 %s.tensor.%ud.global.shared::cta%s.tile.bulk_group [%%l1, {%s}], [tile];\n%s",
             TENSOR_HEAD, adds ? "cp.reduce.async.bulk" : "cp.async.bulk", rank, adds ? ".add" : "",
             tensor_coordinates(rank), end);
}

// FEATURES, row 5: rank 0 of the cluster multicasts 64 x 64 words, `bytes` / 65536 tiles one below the other, all on
// one mbarrier. Each thread adds up its words. `wait` may be empty.
static inline void tensor_multicast_ptx(char *ptx, size_t size, const char *wait) {
    static const char begin[] = TENSOR_HEAD
        "    shr.u32 %r10, %r2, 16;\n    mov.u32 %r9, 0;\n    mov.u32 %r11, 0;\n    mov.u32 %r12, %cluster_ctarank;\n"
        "    setp.eq.u32 %p3, %r12, 0;\n    and.pred %p3, %p3, %p0;\n    mov.u16 %h0, 15;\n    mov.u32 %r16, "
        "0;\nnext:\n"
        "    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %l3, [bar], 16384;\n"
        "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"
        "    @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[tile], [%l1, {%c0, %c1}], [bar], %h0;\n";
    static const char end[] =
        "    mov.u32 %r4, %r0;\nadd:\n    mov.u32 %r5, tile;\n    mad.lo.u32 %r5, %r4, 4, %r5;\n"
        "    ld.shared.u32 %r6, [%r5];\n    add.u32 %r16, %r16, %r6;\n    add.u32 %r4, %r4, 128;\n"
        "    setp.lt.u32 %p2, %r4, 4096;\n    @%p2 bra add;\n"
        "    add.u32 %c1, %c1, 64;\n    xor.b32 %r9, %r9, 1;\n    add.u32 %r11, %r11, 1;\n"
        "    setp.lt.u32 %p2, %r11, %r10;\n    @%p2 bra next;\n"
        "    mov.u32 %r13, %ctaid.x;\n    mad.lo.u32 %r13, %r13, 128, %r0;\n    mad.wide.u32 %l2, %r13, 4, %l0;\n"
        "    st.global.u32 [%l2], %r16;\n    barrier.cluster.arrive.aligned;\n    "
        "barrier.cluster.wait.aligned;\n" TENSOR_END;
    snprintf(ptx, size, "%s%s%s", begin, wait, end);
}

// Changes the map's address and height in shared memory, publishes it at `out`, and loads from there.
static const char tensor_replace[] = TENSOR_HEAD
    "    ld.param.u64 %l0, [out];\n    setp.lt.u32 %p3, %r0, 16;\n    mov.u32 %r5, tile;\n    add.u32 %r6, %r5, 4096;\n"
    "    mad.lo.u32 %r7, %r0, 8, %r6;\n    mad.wide.u32 %l2, %r0, 8, %l1;\n    @%p3 ld.u64 %l3, [%l2];\n"
    "    @%p3 st.shared.u64 [%r7], %l3;\n    bar.warp.sync -1;\n    add.u64 %l4, %l0, 4096;\n"
    "    @%p0 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r6], %l4;\n"
    "    @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r6], 1, 3;\n    bar.warp.sync -1;\n"
    "    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%l0], [%r6], 128;\n"
    "    fence.proxy.tensormap::generic.acquire.gpu [%l0], 128;\n    mov.u32 %r9, 0;\n    @!%p0 bra wait;\n"
    "    mbarrier.arrive.expect_tx.shared::cta.b64 %l3, [bar], 256;\n"
    "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%l0, {%c0, %c1}], "
    "[bar];\n" TENSOR_WAIT
    "    mad.lo.u32 %r5, %r0, 8, %r5;\n    ld.shared.u64 %l3, [%r5];\n    mad.wide.u32 %l2, %r0, 8, %l0;\n"
    "    st.global.u64 [%l2 + 8192], %l3;\n" TENSOR_END;

#endif
