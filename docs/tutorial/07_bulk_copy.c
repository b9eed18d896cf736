// SPDX-License-Identifier: Apache-2.0
// Step 7: one thread starts a copy of 1 KiB into shared memory; all threads square their word; one thread starts the copy
// back.
#include "step.h"

enum { THREADS = 256, BLOCKS = 3, COUNT = BLOCKS * THREADS, BYTES = 4 * THREADS };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   x = cj_param(f, "u64", "x", "u32 x[768], squared in place");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, 1, 1, 1);
    cj_var tile = cj_shared(f, "u32", "tile", THREADS, 128), full = cj_shared(f, "b64", "full", 1, 8);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), block = cj_mov(f, "u32", "block", "%ctaid.x");
    cj_reg first = cj_eq(f, "first", thread, 0), barrier = cj_shared_address(f, full),
           stage = cj_shared_address(f, tile);
    cj_reg global = element(f, x, cj_mul(f, "begin", block, THREADS));
    cj_mbarrier_init(f, first, barrier, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, "the copy engine sees the mbarrier");
    cj_mbarrier_arrive_expect(f, first, barrier, CJ_ARG(BYTES), NULL);
    cj_bulk_load(f, first, stage, global, CJ_ARG(BYTES), barrier);
    cj_ptx(f, "bar.sync 0; // nobody waits at the mbarrier before it is ready");
    cj_mbarrier_wait(f, barrier, CJ_ARG(0), CJ_SCOPE_BLOCK, "the kibibyte is here");

    cj_reg slot = shared_element(f, tile, thread), value = cj_let(f, "u32", "value", "ld.shared.u32 $1, [$2];", slot);
    cj_update(f, value, "mul", value);
    cj_ptx(f, "st.shared.u32 [$1], $2;", slot, value);
    if (!mistake) cj_async_fence(f, "what this thread has stored is visible to the copy engine");
    cj_ptx(f, "bar.sync 0; // every thread has stored and fenced");
    cj_bulk_store(f, first, global, stage, CJ_ARG(BYTES));
    cj_bulk_commit(f);
    cj_bulk_wait(f, 0, "the block stays until its memory has been read, and all is written");
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t values[COUNT];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90");
    for (unsigned i = 0; i < COUNT; i++) values[i] = i;
    write_kernel(s.builder, s.mistake);
    cj_ptr x = step_memory(&s, values, sizeof values);
    step_launch(&s, .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, CJ_ARGS(x));
    step_read(&s, values, x, sizeof values);
    for (unsigned i = 0; i < COUNT; i++) right &= values[i] == i * i;
    printf("squares: %u %u %u ... %u\n", values[1], values[2], values[3], values[COUNT - 1]);
    return step_end(&s, right);
}
