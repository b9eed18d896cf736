// SPDX-License-Identifier: Apache-2.0
// Step 3: a ring in distributed shared memory. Each thread reads what the block of the next rank has in its shared memory.
#include "step.h"

enum { THREADS = 32, CLUSTER = 4, COUNT = CLUSTER * THREADS };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   out = cj_param(f, "u64", "out", "u32 out[128]");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    cj_var slot = cj_shared(f, "u32", "slot", THREADS, 0);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), rank = cj_cluster_rank(f);
    cj_reg own = shared_element(f, slot, thread), value = cj_mad(f, "value", rank, 1000, thread);
    cj_ptx(f, "st.shared.u32 [$1], $2;", own, value);
    cj_cluster_sync(f, "every block has started, and has stored its values");

    cj_reg      right = cj_rem(f, "right", cj_add(f, "next", rank, 1), CLUSTER);
    cj_reg      theirs = cj_let(f, "u32", "theirs", "mapa.shared::cluster.u32 $1, $2, $3;", own, right);
    const char *window = mistake ? "shared" : "shared::cluster";
    cj_reg      got = cj_let(f, "u32", "got", "ld.$3.u32 $1, [$2];", theirs, window);
    cj_cluster_sync(f, "no block leaves while its memory is read");

    cj_reg index = cj_mad(f, "index", rank, THREADS, thread);
    cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, index), got);
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t values[COUNT];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90");
    write_kernel(s.builder, s.mistake);
    cj_ptr out = step_memory(&s, NULL, sizeof values);
    step_launch(&s, .grid = {CLUSTER, 1, 1}, .block = {THREADS, 1, 1}, CJ_ARGS(out));
    step_read(&s, values, out, sizeof values);
    for (unsigned i = 0; i < COUNT; i++) right &= values[i] == (i / THREADS + 1) % CLUSTER * 1000 + i % THREADS;
    for (unsigned r = 0; r < CLUSTER; r++)
        printf("rank %u got %u ... %u\n", r, values[r * THREADS], values[r * THREADS + 31]);
    return step_end(&s, right);
}
