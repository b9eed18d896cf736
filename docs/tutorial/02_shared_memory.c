// SPDX-License-Identifier: Apache-2.0
// Step 2: each block turns its 64 elements round, by way of its own shared memory.
#include "step.h"

enum { THREADS = 64, CLUSTER = 2, BLOCKS = 4, COUNT = BLOCKS * THREADS };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   x = cj_param(f, "u64", "x", "u32 x[256]"), out = cj_param(f, "u64", "out", "u32 out[256]");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    cj_var tile = cj_shared(f, "u32", "tile", THREADS, 0);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), block = cj_mov(f, "u32", "block", "%ctaid.x");
    cj_reg index = cj_mad(f, "index", block, THREADS, thread);
    cj_reg value = cj_let(f, "u32", "value", "ld.global.u32 $1, [$2];", element(f, x, index));
    cj_ptx(f, "st.shared.u32 [$1], $2;", shared_element(f, tile, thread), value);
    if (!mistake) cj_ptx(f, "bar.sync 0; // every thread of the block has stored its element");
    cj_reg opposite = cj_sub(f, "opposite", THREADS - 1, thread);
    cj_reg other = cj_let(f, "u32", "other", "ld.shared.u32 $1, [$2];", shared_element(f, tile, opposite));
    cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, index), other);
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t from[COUNT], to[COUNT];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90");
    for (unsigned i = 0; i < COUNT; i++) from[i] = i;
    write_kernel(s.builder, s.mistake);
    cj_ptr x = step_memory(&s, from, sizeof from), out = step_memory(&s, NULL, sizeof to);
    step_launch(&s, .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, CJ_ARGS(x, out));
    step_read(&s, to, out, sizeof to);
    for (unsigned i = 0; i < COUNT; i++) right &= to[i] == i / THREADS * THREADS + THREADS - 1 - i % THREADS;
    printf("block 0: %u %u %u ... %u\n", to[0], to[1], to[2], to[THREADS - 1]);
    printf("block 1: %u %u %u ... %u\n", to[64], to[65], to[66], to[2 * THREADS - 1]);
    return step_end(&s, right);
}
