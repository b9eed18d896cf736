// SPDX-License-Identifier: Apache-2.0
// Step 6: each thread pushes a value into the next block's shared memory; that block's mbarrier counts the bytes.
#include "step.h"

enum { THREADS = 32, CLUSTER = 4, COUNT = CLUSTER * THREADS };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   out = cj_param(f, "u64", "out", "u32 out[128]");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    cj_var mailbox = cj_shared(f, "u32", "mailbox", THREADS, 0), full = cj_shared(f, "b64", "full", 1, 8);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), rank = cj_cluster_rank(f);
    cj_reg first = cj_eq(f, "first", thread, 0), barrier = cj_shared_address(f, full);
    cj_mbarrier_init(f, first, barrier, CJ_ARG(1), "one arrival, and the bytes that it expects");
    cj_mbarrier_init_done(f, NULL);
    cj_cluster_sync(f, "every block's mbarrier is ready");

    const int bytes = mistake ? 4 * THREADS - 4 : 4 * THREADS;
    cj_mbarrier_arrive_expect(f, first, barrier, CJ_ARG(bytes), "the peer pushes a word for each thread");
    cj_reg right = cj_rem(f, "right", cj_add(f, "next", rank, 1), CLUSTER),
           value = cj_mad(f, "value", rank, 1000, thread);
    cj_reg own = shared_element(f, mailbox, thread);
    cj_st_async(f, cj_always(), "u32", &value, 1, cj_cluster_map_address(f, own, right), 0,
                cj_cluster_map(f, full, right));

    cj_mbarrier_wait(f, barrier, CJ_ARG(0), CJ_SCOPE_CLUSTER, "all words of the left neighbour are here");
    cj_reg got = cj_let(f, "u32", "got", "ld.shared.u32 $1, [$2];", own),
           index = cj_mad(f, "index", rank, THREADS, thread);
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
    for (unsigned i = 0; i < COUNT; i++)
        right &= values[i] == (i / THREADS + CLUSTER - 1) % CLUSTER * 1000 + i % THREADS;
    for (unsigned r = 0; r < CLUSTER; r++)
        printf("rank %u got %u ... %u\n", r, values[r * THREADS], values[r * THREADS + 31]);
    return step_end(&s, right);
}
