// SPDX-License-Identifier: Apache-2.0
// Step 1: eight blocks in two clusters of four. Each block writes which cluster it is in, and its rank there.
#include "step.h"

enum { CLUSTER = 4, BLOCKS = 8 };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   out = cj_param(f, "u64", "out", "u32 out[blocks]");
    cj_block(f, 1, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);

    cj_reg block = cj_mov(f, "u32", "block", "%ctaid.x");
    cj_reg rank = cj_mov(f, "u32", "rank", "%cluster_ctarank");
    cj_reg cluster = cj_mov(f, "u32", "cluster", "%clusterid.x");
    cj_reg value = cj_mad(f, "value", cluster, 10, rank);
    cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, mistake ? rank : block), value);
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t values[BLOCKS];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90");
    write_kernel(s.builder, s.mistake);
    cj_ptr out = step_memory(&s, NULL, sizeof values);
    step_launch(&s, .grid = {BLOCKS, 1, 1}, .block = {1, 1, 1}, CJ_ARGS(out));
    step_read(&s, values, out, sizeof values);
    for (unsigned i = 0; i < BLOCKS; i++) {
        printf("block %u: cluster %u, rank %u\n", i, values[i] / 10, values[i] % 10);
        right &= values[i] == 10 * (i / CLUSTER) + i % CLUSTER;
    }
    return step_end(&s, right);
}
