// SPDX-License-Identifier: Apache-2.0
// Step 4: the two halves of the cluster barrier. Rank 0 sums the parts of all blocks; no block leaves before
// rank 0 has read its part.
#include "step.h"

enum { CLUSTER = 4, CLUSTERS = 3, BLOCKS = CLUSTER * CLUSTERS };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   x = cj_param(f, "u64", "x", "u32 x[12]"), out = cj_param(f, "u64", "out", "u32 out[3]");
    cj_block(f, 1, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    cj_var part = cj_shared(f, "u32", "part", 1, 0);

    cj_reg block = cj_mov(f, "u32", "block", "%ctaid.x");
    cj_reg value = cj_let(f, "u32", "value", "ld.global.u32 $1, [$2];", element(f, x, block));
    cj_ptx(f, "st.shared.u32 [$1], $2;", cj_shared_address(f, part), value);
    cj_ptx(f, "barrier.cluster.arrive; // releases: the store is visible to every block that waits");
    cj_reg rank = cj_cluster_rank(f),
           cluster = cj_cluster_index(f);  // work of the block's own, while the others arrive
    cj_reg first = cj_eq(f, "first", rank, 0), sum = cj_mov(f, "u32", "sum", 0);
    cj_ptx(f, "barrier.cluster.wait; // acquires");

    CJ_IF(f, first, "summed") {
        CJ_FOR(f, peer, "u32", "peer", 0, CLUSTER, 1) {
            cj_reg got = cj_u32(f, "got");
            cj_dsmem_load(f, cj_always(), "u32", &got, 1, cj_cluster_map(f, part, peer), 0);
            cj_update(f, sum, "add", got);
        }
        cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, cluster), sum);
    }
    if (!mistake) cj_cluster_sync(f, "rank 0 has read every part: the blocks may leave");
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t from[BLOCKS], sums[CLUSTERS];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90");
    for (unsigned i = 0; i < BLOCKS; i++) from[i] = i * i;
    write_kernel(s.builder, s.mistake);
    cj_ptr x = step_memory(&s, from, sizeof from), out = step_memory(&s, NULL, sizeof sums);
    step_launch(&s, .grid = {BLOCKS, 1, 1}, .block = {1, 1, 1}, CJ_ARGS(x, out));
    step_read(&s, sums, out, sizeof sums);
    for (unsigned i = 0; i < CLUSTERS; i++) {
        const uint32_t *p = from + i * CLUSTER;
        printf("cluster %u: %u + %u + %u + %u = %u\n", i, p[0], p[1], p[2], p[3], sums[i]);
        right &= sums[i] == p[0] + p[1] + p[2] + p[3];
    }
    return step_end(&s, right);
}
